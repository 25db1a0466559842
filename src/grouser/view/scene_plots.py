"""Curves of a run over time. A page shows the first few at first; its reader chooses others."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from grouser.checks import FloatArray
from grouser.kinematics.rollover import rollover_margin
from grouser.simulation.run import Run
from grouser.view import arrays

Plot = dict[str, Any]


def plot(
    key: str, title: str, unit: str, least: float, names: Sequence[str], curves: FloatArray, whole: str, of: FloatArray
) -> Plot:
    """A plot of curves (k, n) and of their whole (n,). `least` is its smallest range: rounding errors stay flat."""
    about = {"key": key, "title": title, "unit": unit, "least": least, "names": list(names)}
    return {**about, "curves": arrays.single(curves), "wholeName": whole, "whole": arrays.single(of)}


def plots_of(run: Run, rows: arrays.Rows) -> list[Plot]:
    """Plots of a run at the chosen rows; a kinematic run has neither forces nor energy."""
    return [*_contacts(run, rows), *_energy(run, rows), *_body(run, rows), *_motors(run, rows), *_joints(run, rows)]


def _contacts(run: Run, rows: arrays.Rows) -> Iterator[Plot]:
    wheels, slip = run.vehicle.wheels, run.contact.slip_speed[rows].T
    yield plot("slip", "Slip speed", "m/s", 1e-3, wheels, slip, "mean of the wheels", slip.mean(axis=0))
    if run.contact.force is not None:
        load = run.contact.force[rows, :, 2].T
        yield plot("force", "Normal force", "N", 1.0, wheels, load, "sum of the wheels", load.sum(axis=0))


def _energy(run: Run, rows: arrays.Rows) -> Iterator[Plot]:
    if run.solver is None:
        return
    energies = {"kinetic": run.solver.kinetic, "potential": run.solver.potential - run.solver.potential[0]}
    for name, power in (("motors", run.power), ("ground", run.contact.power)):
        if power is not None:
            # Their work so far: a recorded power is the mean of the step that begins there.
            energies[name] = np.append(0.0, np.cumsum(power[:-1].sum(axis=1) * np.diff(run.time)))
    curves = np.array(list(energies.values()))[:, rows]
    yield plot("energy", "Energy", "J", 0.1, list(energies), curves, "kinetic and potential", curves[0] + curves[1])


def _body(run: Run, rows: arrays.Rows) -> Iterator[Plot]:
    tilt = np.degrees(np.arccos(np.clip(np.cos(run.roll) * np.cos(run.pitch), -1.0, 1.0)))[rows]
    angles = np.degrees(run.rpy)[rows].T
    yield plot("attitude", "Attitude", "°", 0.2, ("roll", "pitch"), angles[:2], "tilt", tilt)
    if run.vehicle.n_wheels > 2 and run.vehicle.mass > 0.0:
        states, points = run.state[rows], run.contact.point[rows]
        margin = rollover_margin(run.vehicle, states, run.velocity[rows], points, gravity=run.gravity)
        yield _single("margin", "Tip margin", "°", 0.2, "tip margin", np.degrees(margin.angle))
    v = run.velocity[rows, 3:6]
    speed: FloatArray = np.linalg.norm(v, axis=1)
    yield plot("speed", "Speed", "m/s", 1e-3, ("ahead", "left"), v[:, :2].T, "speed", speed)
    yield _single("height", "Height", "m", 1e-3, "height of the body", run.position[rows, 2])
    yield _single("heading", "Heading", "°", 0.2, "heading", angles[2])


def _motors(run: Run, rows: arrays.Rows) -> Iterator[Plot]:
    names = run.vehicle.actuated
    if run.torque is not None and len(names):
        torque = run.torque[rows].T
        yield plot(
            "torque", "Motor torque", "N m", 1e-3, names, torque, "largest of the motors", np.abs(torque).max(axis=0)
        )
    if run.power is not None and len(names):
        power = run.power[rows].T
        yield plot("power", "Motor power", "W", 1e-2, names, power, "sum of the motors", power.sum(axis=0))


def _joints(run: Run, rows: arrays.Rows) -> Iterator[Plot]:
    vehicle = run.vehicle
    wheels = vehicle.arrays.wheel - 1
    rates = run.joint_rates[rows][:, wheels].T
    yield plot("rates", "Wheel rates", "rad/s", 1e-3, vehicle.wheels, rates, "mean of the wheels", rates.mean(axis=0))
    frames = vehicle.frames[1:]
    for key, title, unit, least, letter, scale in (
        ("joints", "Joint angles", "°", 0.2, "R", 180.0 / np.pi),
        ("slides", "Joint displacements", "m", 1e-4, "P", 1.0),
    ):
        chosen = [i for i, frame in enumerate(frames) if not frame.is_wheel and (frame.joint or "").startswith(letter)]
        if chosen:
            moved = scale * run.joints[rows][:, chosen].T
            names = [frames[i].name for i in chosen]
            yield plot(key, title, unit, least, names, moved, "largest of the joints", np.abs(moved).max(axis=0))


def _single(key: str, title: str, unit: str, least: float, name: str, curve: FloatArray) -> Plot:
    """A plot of one curve (n,), which is its own whole."""
    return {**plot(key, title, unit, least, (name,), curve[None], name, curve), "whole": None}
