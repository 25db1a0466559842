"""Cost and error of models and step sizes: measured (minutes, one core), written into the page on step sizes.

Truth is the dynamic model in steps of half a millisecond, so this measures models against a model, not against a robot.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import grouser as gr

VEHICLE, SPEED, DURATION = "husky", 1.0, 6.0
CURVATURES = (-0.5, -0.25, 0.0, 0.25, 0.5)
LEARNT, JUDGED = 100, range(1, 7)
"""Seed of the ground that slip is learnt on, and those of the grounds that all are judged on."""
HEADINGS = (0.0, 1.5, 3.0, 4.5)
"""Of the drives that slip is learnt from [rad]."""
FRICTION = 0.6
FINE = 0.0005
REPEATS = 15
PLACE = re.compile(r"(<!-- cost: begin -->\n).*?(<!-- cost: end -->)", re.DOTALL)


@dataclass(frozen=True)
class Row:
    """A model at one step size."""

    name: str
    dt: float
    microseconds: float
    """CPU time of a step, one thread, least of some repeats."""
    position: float
    """Root mean square distance from the truth after DURATION, over the distance driven."""
    yaw: float
    """Root mean square difference of yaw after DURATION [rad]."""


def ground(seed: int) -> gr.terrain.Terrain:
    """Hills 0.4 m RMS and 5 m long under bumps of 0.03 m RMS and 0.5 m; wheels of a Husky have a radius of 0.165 m."""
    x = y = np.linspace(-10.0, 10.0, 401)
    mesh = np.meshgrid(x, y, indexing="ij")
    hills = gr.terrain.rough(rms=0.4, length=5.0, seed=seed, size=20.0)
    bumps = gr.terrain.rough(rms=0.03, length=0.5, seed=seed + 1000, size=20.0)
    return gr.terrain.grid(hills.height(*mesh) + bumps.height(*mesh), x, y)


def commands(dt: float) -> np.ndarray:
    """Wheel rates of arcs, (N, T, 4) [rad/s], as if the wheels did not slip."""
    husky = gr.vehicle(VEHICLE)
    y = husky.wheel_positions[:, 1]
    rates = SPEED * (1.0 - np.array(CURVATURES)[:, None] * y[None, :]) / husky.arrays.radius
    return np.repeat(rates[:, None, :], round(DURATION / dt), axis=1)


def dynamic(integrator: str = "euler") -> gr.Dynamics:
    """Rubber tyres on firm ground with some dust on it."""
    return gr.Dynamics(gr.vehicle(VEHICLE), contact=gr.contact.Pacejka(friction=FRICTION), integrator=integrator)


def enhanced() -> gr.Kinematics:
    """Kinematics with six slip parameters, learnt from runs of the dynamic model on another ground."""
    model, here = dynamic(), ground(LEARNT)
    runs = [
        gr.simulate(model, here, gr.drive.constant(rates), duration=DURATION, dt=0.01, start=(0.0, 0.0, yaw))
        for rates in commands(0.01)[:, 0]
        for yaw in HEADINGS
    ]
    # With the ground: the fit then leaves to the model what bumps do, and slip is only what tyres do.
    fit = gr.calibrate(gr.Kinematics(model.vehicle), gr.calibration.log_of_run(runs), ["slip", "noise"], ground=here)
    found = fit.model.model
    assert isinstance(found, gr.Kinematics)
    return found


def ends(model: gr.Kinematics | gr.Dynamics, dt: float) -> np.ndarray:
    """x, y [m] and yaw [rad] at the end of every judged drive, (grounds × arcs, 3)."""
    rows = []
    for seed in JUDGED:
        done = gr.rollout(model, ground(seed), commands(dt), dt=dt)
        assert done.ok.all(), done
        rows.append(np.column_stack([done.final_position[:, :2], done.final_yaw]))
    return np.concatenate(rows)


def seconds_per_step(model: gr.Kinematics | gr.Dynamics, dt: float) -> float:
    """CPU time of a step on one thread: least of some repeats over all arcs, as other work only adds to it."""
    many = np.repeat(commands(dt), 8, axis=0)
    here = ground(JUDGED[0])
    start = gr.settle(model.vehicle, here).state

    def once() -> float:
        began = time.process_time()
        done = gr.rollout(model, here, many, start=start, dt=dt, threads=1)
        return (time.process_time() - began) / float(done.steps.sum())

    once()
    return min(once() for _ in range(REPEATS))


def measure() -> list[Row]:
    """All rows, cheapest kind of model first."""
    truth = ends(dynamic(), FINE)
    slipping = enhanced()
    cases: list[tuple[str, gr.Kinematics | gr.Dynamics, tuple[float, ...]]] = [
        ("kinematic", gr.Kinematics(slipping.vehicle), (0.1, 0.04, 0.01)),
        ("enhanced kinematic", slipping, (0.1, 0.04, 0.01)),
        ("dynamic, Euler", dynamic(), (0.1, 0.04, 0.01, 0.002)),
        ("dynamic, midpoint", dynamic("midpoint"), (0.1, 0.04, 0.01, 0.002)),
    ]
    rows = []
    for name, model, steps in cases:
        for dt in steps:
            off = ends(model, dt) - truth
            turned = np.remainder(off[:, 2] + np.pi, 2.0 * np.pi) - np.pi
            position = float(np.sqrt(np.mean(np.sum(off[:, :2] ** 2, axis=1)))) / (SPEED * DURATION)
            rows.append(Row(name, dt, 1e6 * seconds_per_step(model, dt), position, float(np.sqrt(np.mean(turned**2)))))
    return rows


def table(rows: list[Row]) -> str:
    """As Markdown, with where and how it was measured."""
    from grouser.bench.engine import machine

    here = machine()
    lines = [
        "| model | dt [s] | µs per step | times real time | off after 6 m | yaw off |",
        "|---|---|---|---|---|---|",
    ]
    for r in rows:
        lines.append(
            f"| {r.name} | {r.dt:g} | {r.microseconds:.1f} | {r.dt / (1e-6 * r.microseconds):,.0f} "
            f"| {100.0 * r.position:.2g} % | {np.degrees(r.yaw):.2g}° |"
        )
    drives = len(JUDGED) * len(CURVATURES)
    lines.append("")
    lines.append(
        f"Husky at {SPEED:g} m/s, {drives} arcs of {DURATION:g} s with curvatures up to {max(CURVATURES):g} per metre "
        f"over {len(JUDGED)} grounds: hills of 0.4 m RMS and 5 m length under bumps of 0.03 m and 0.5 m. Pacejka "
        f"tyres, friction {FRICTION:g}, ideal actuators. Truth is the dynamic model in steps of {1000.0 * FINE:g} ms. "
        f"Slip of the enhanced model was fitted to {len(CURVATURES) * len(HEADINGS)} drives on another ground. "
        f"CPU time on one thread, the least of {REPEATS} repeats: "
        f"{here['cpu']}, {here['cores']} cores, Python {here['python']}, Numba {here['numba']}."
    )
    return "\n".join(_wrapped(line) for line in lines) + "\n"


def _wrapped(line: str) -> str:
    import textwrap

    return line if line.startswith("|") or not line else textwrap.fill(line, 120)


def write(page: Path) -> list[Path]:
    """Measure and put the table between the marks of the page."""
    text = page.read_text(encoding="utf-8")
    assert PLACE.search(text), f"{page} has no marks for the table"
    made = table(measure())
    page.write_text(PLACE.sub(lambda m: f"{m[1]}\n{made}\n{m[2]}", text), encoding="utf-8")
    return [page]


if __name__ == "__main__":
    for changed in write(Path(__file__).parents[1] / "how-to" / "step-size-and-model.md"):
        print(f"wrote {changed}")
