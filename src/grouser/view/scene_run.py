"""One run as a scene: poses of its frames, contacts with forces and slip in world axes, curves over time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from grouser.checks import FloatArray
from grouser.collision.frames import frame_poses
from grouser.kinematics.rollover import rollover_margin
from grouser.rotation import to_quaternion
from grouser.simulation.run import Run
from grouser.spacing import evenly
from grouser.vehicles.vehicle import Vehicle
from grouser.view import arrays
from grouser.view.scene_vehicle import scene_vehicle

if TYPE_CHECKING:
    from grouser.vehicles.visual import Visual

Plot = dict[str, Any]
MOST_ROWS = 12_000
"""States of a run that go into a page; of more, evenly chosen ones, and the page says so."""


def good_rows(run: Run) -> int:
    """Number of finite states from the first on."""
    finite = np.isfinite(run.state).all(axis=1) & np.isfinite(run.contact.point).all(axis=(1, 2))
    return len(run.time) if finite.all() else int(np.argmin(finite))


def scene_run(run: Run, name: str, origin: FloatArray, ground: int | None, meshes: dict[str, Visual]) -> dict[str, Any]:
    """A run as JSON types; without states it has a vehicle and a status only."""
    total = good_rows(run)
    rows = evenly(total, MOST_ROWS)
    scene: dict[str, Any] = {
        "name": name,
        "vehicle": scene_vehicle(run.vehicle, meshes),
        "status": str(run.status),
        "meaning": run.status.meaning,
        "distance": run.distance if total == len(run.time) else 0.0,
        "rows": total,
        "drawn": len(rows),
        "ground": ground,
        "time": arrays.exact(run.time[rows]),
        "poses": [],
        "contact": None,
        "plots": [],
    }
    if total == 0:
        return scene
    R_world_frame, p_world_frame = frame_poses(run.vehicle, run.state[rows])
    quaternion, position = frames_in_parents(run.vehicle, R_world_frame, p_world_frame)
    quaternion = _continuous(quaternion, run.vehicle, run.joints[rows])
    slip, force = world_contacts(run, rows, R_world_frame)
    scene["poses"] = [
        # The body moves far from the origin, where float32 is too coarse.
        {"quaternion": arrays.exact(quaternion[:, 0]), "position": arrays.exact(position[:, 0] - origin)},
        *(
            {"quaternion": _changing(quaternion[:, i]), "position": _changing(position[:, i])}
            for i in range(1, len(run.vehicle.frames))
        ),
    ]
    scene["contact"] = {
        "point": arrays.single(run.contact.point[rows] - origin),
        "slip": arrays.single(slip),
        "force": None if force is None else arrays.single(force),
    }
    scene["plots"] = plots_of(run, rows)
    return scene


def frames_in_parents(vehicle: Vehicle, R: FloatArray, p: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Quaternions w x y z (n, nf, 4) and positions (n, nf, 3) [m] relative to the parent frame; the body's: world."""
    up = vehicle.arrays.parent[1:]
    R_up = R[:, up].swapaxes(-1, -2)
    R_parent, p_parent = R.copy(), p.copy()
    R_parent[:, 1:] = R_up @ R[:, 1:]
    p_parent[:, 1:] = (R_up @ (p[:, 1:] - p[:, up])[..., None])[..., 0]
    return to_quaternion(R_parent), p_parent


def world_contacts(run: Run, rows: arrays.Rows, R_world_frame: FloatArray) -> tuple[FloatArray, FloatArray | None]:
    """Slip velocity in the ground plane [m/s] and, where known, force [N] of the wheels; world axes, (n, nw, 3)."""
    axles = R_world_frame[:, run.vehicle.arrays.wheel][..., 1]
    R_world_contact = ground_axes(axles, run.contact.normal[rows])
    slip = in_world(R_world_contact, run.contact.velocity[rows] * (1.0, 1.0, 0.0))
    return slip, None if run.contact.force is None else in_world(R_world_contact, run.contact.force[rows])


def ground_axes(axle: FloatArray, normal: FloatArray) -> FloatArray:
    """R_world_contact (..., 3, 3) of axles and ground normals (..., 3): columns ahead, left, normal; T Fig. 2.3."""
    ahead = np.cross(axle, normal)
    ahead /= np.maximum(np.linalg.norm(ahead, axis=-1, keepdims=True), 1e-12)
    axes: FloatArray = np.stack([ahead, np.cross(normal, ahead), normal], axis=-1)
    return axes


def in_world(R_world_contact: FloatArray, vectors: FloatArray) -> FloatArray:
    """Vectors of contact frames (rows, nw, 3) in world axes."""
    turned: FloatArray = np.einsum("twij,twj->twi", R_world_contact, vectors)
    return turned


def _continuous(quaternion: FloatArray, vehicle: Vehicle, joints: FloatArray) -> FloatArray:
    """Signs such that the arc between rows is the rotation of the joint, up to 2π, and not its complement."""
    turned = np.zeros(quaternion.shape[:2])
    revolute = [i for i, frame in enumerate(vehicle.frames) if (frame.joint or "").startswith("R")]
    turned[:, revolute] = joints[:, [i - 1 for i in revolute]]
    along = np.sum(quaternion[1:] * quaternion[:-1], axis=-1) * np.cos(0.5 * np.diff(turned, axis=0))
    signed = quaternion.copy()
    signed[1:] *= np.cumprod(np.where(along < 0.0, -1.0, 1.0), axis=0)[..., None]
    return signed


def _changing(values: FloatArray) -> arrays.Encoded:
    """Rows (n, k), or one (1, k) where all are equal: a turning joint keeps its place, a sliding one its rotation."""
    constant = np.ptp(values, axis=0).max() < 1e-12
    return arrays.single(values[:1] if constant else values)


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
