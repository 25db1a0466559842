"""Which motions need dynamics? `grouser.plan.Auto` against dynamics for all: cost, misses and false alarms.

Random commands for Zoë on rough grounds: each is rolled out by dynamics, by kinematics, and by both as `Auto` does.
A verdict is whether a motion reaches its end or is refused: tipping, rolling over, stuck. Dynamics is the reference.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import grouser as gr
from experiments.experiment import Experiment, Progress, Result, Row
from grouser.checks import FloatArray
from grouser.plan.fidelity import AutoRoller
from grouser.plan.trials import Trials, roller_for, start_states

SEEDS, QUICK = range(1, 5), range(1, 2)
"""Grounds; the thresholds of `Auto` are assumed and were not fitted to any seed."""
ROUGHNESS = (0.1, 0.2, 0.3, 0.4)  # m rms
SPEEDS = (0.5, 1.0, 2.0)  # m/s
LENGTH, DT, STEPS = 1.0, 0.05, 56  # m, s: correlation length; 2.8 s
EACH, QUICK_EACH = 96, 32  # commands of each ground and speed
FRICTION = 0.6
SIZE = 30.0  # m


def run(quick: bool, progress: Progress) -> Result:
    """All grounds and speeds."""
    seeds, each = (list(QUICK), QUICK_EACH) if quick else (list(SEEDS), EACH)
    rover = gr.vehicle("zoe")
    auto = gr.plan.Auto.of(gr.Dynamics(rover, contact=gr.contact.Pacejka(friction=FRICTION)))
    rows, done = [], 0
    for rms in ROUGHNESS:
        for speed in SPEEDS:
            rows.append(_row(rms, speed, [measured(auto, rms, speed, each, seed) for seed in seeds]))
            done += 1
            progress(done, len(ROUGHNESS) * len(SPEEDS))
    total = _total(rows)
    return Result(
        name=PLANNING_FIDELITY.name,
        rows=[*rows, total],
        paper=[],
        notes=[
            "by dynamics: share of the motions that Auto rolled out again. time: CPU time of Auto by that of dynamics "
            "for all, one thread. missed: share of all motions that dynamics refuses and Auto (kinematics) does not; "
            "false: the reverse. tip error: rms difference of the least tip margin from dynamics [deg], motions that "
            "both finish.",
            f"Thresholds: tip margin {math.degrees(auto.tip_margin):.0f}°, slip {auto.slip:g}, speed {auto.speed:g} m/s"
            "; assumed, not tuned.",
        ],
        settings={
            "vehicle": "zoe", "friction": FRICTION, "length": LENGTH, "dt": DT, "steps": STEPS, "each": each,
            "seeds": [seeds[0], seeds[-1]], "quick": quick,
        },
        keys=("rms [m]", "speed"),
        draw=draw,
        summary={k.replace(" ", "_"): v for k, v in total.items() if k not in ("rms [m]", "speed")},
    )  # fmt: skip


def commands(n: int, speed: float, rng: np.random.Generator) -> FloatArray:
    """Random (N, T, 3): a steady speed and a turn rate that wanders."""
    knots = rng.normal(0.0, 0.35, (n, 8))
    at = np.linspace(0.0, 7.0, STEPS)
    turn = np.array([np.interp(at, np.arange(8.0), row) for row in knots])
    forward = speed * rng.uniform(0.6, 1.0, (n, 1)) * np.ones((1, STEPS))
    return np.ascontiguousarray(np.stack([forward, np.zeros_like(turn), turn], axis=-1))


def measured(auto: Any, rms: float, speed: float, n: int, seed: int) -> dict[str, Any]:
    """One ground: rollouts from the same random places by each of the three."""
    rng = np.random.default_rng([seed, 31])
    ground = gr.terrain.rough(rms, LENGTH, seed, size=(SIZE, SIZE))
    reach = 0.5 * SIZE - 3.0 * speed - 2.0
    places = np.column_stack([rng.uniform(-reach, reach, (n, 2)), rng.uniform(-math.pi, math.pi, n)])
    wanted = commands(n, speed, rng)
    found: dict[str, Any] = {}
    states = start_states(auto.model, ground, places, n)
    first = np.array([speed * 0.8, 0.0, 0.0])
    velocities = rolling(auto.full, states, first)
    for name, model in (("full", auto.full), ("cheap", auto.model), ("auto", auto)):
        roller = roller_for(model, ground, None, dt=DT, threads=1)
        begin = states.copy()
        begin[:, 6] -= auto.full.penetration if name == "full" else 0.0
        more: dict[str, Any] = {} if name == "cheap" else {"velocities": velocities}
        found[name], found[f"{name}_time"] = timed(partial(roller.run, wanted, begin, moving=first, **more))
        if isinstance(roller, AutoRoller):
            found["share"] = roller.share
    return found


def rolling(full: Any, states: FloatArray, command: FloatArray) -> FloatArray:
    """Velocities of vehicles that roll along without slip, (N, nv)."""
    from grouser.simulation.drive import twist
    from grouser.simulation.simulate import start_velocity

    bound = twist(*command).bind(full.vehicle, DT)
    flat = gr.terrain.plane()
    one = start_velocity(full, flat, [bound], gr.settle(full.vehicle, flat).state[None], None, DT)
    assert one is not None
    return np.repeat(np.atleast_2d(one), len(states), axis=0)


def timed(work: Callable[[], Trials]) -> tuple[Trials, float]:
    """The result, and the least CPU time of three runs after one that makes room [s]."""
    found, times = work(), []
    for _ in range(3):
        begun = time.process_time()
        work()
        times.append(time.process_time() - begun)
    return found, min(times)


def _row(rms: float, speed: float, found: list[dict[str, Any]]) -> Row:
    def joined(name: str, field: str) -> Any:
        return np.concatenate([getattr(one[name], field) for one in found])

    ok = {name: joined(name, "status") == "ok" for name in ("full", "cheap", "auto")}
    both = ok["full"] & ok["auto"]
    margin = np.degrees(joined("auto", "least_tip_margin") - joined("full", "least_tip_margin"))[both]
    full_time = sum(one["full_time"] for one in found)
    return {
        "rms [m]": rms,
        "speed": speed,
        "motions": len(both),
        "refused": float(np.mean(~ok["full"])),
        "by dynamics": float(np.mean([one["share"] for one in found])),
        "time": sum(one["auto_time"] for one in found) / full_time,
        "missed": float(np.mean(ok["auto"] & ~ok["full"])),
        "false": float(np.mean(~ok["auto"] & ok["full"])),
        "missed by kinematics": float(np.mean(ok["cheap"] & ~ok["full"])),
        "false by kinematics": float(np.mean(~ok["cheap"] & ok["full"])),
        "tip error": float(np.sqrt(np.mean(margin**2))) if len(margin) else None,
    }


def _total(rows: list[Row]) -> Row:
    def mean(name: str) -> float:
        return float(np.average([row[name] for row in rows], weights=[row["motions"] for row in rows]))

    shares = ("refused", "by dynamics", "time", "missed", "false", "missed by kinematics", "false by kinematics")
    return {
        "rms [m]": "all", "speed": "all", "motions": sum(row["motions"] for row in rows),
        **{name: mean(name) for name in shares},
        "tip error": mean("tip error") if all(row["tip error"] is not None for row in rows) else None,
    }  # fmt: skip


def draw(result: Result, path: str | os.PathLike[str]) -> None:
    """Share by dynamics, time, and verdicts that differ, over roughness for each speed."""
    from grouser.view import style

    rows = [row for row in result.rows if row["rms [m]"] != "all"]
    with style.picture(path, 11.0, 4.0) as figure:
        panels = figure.subplots(1, 3)
        for speed, colour in zip(SPEEDS, (style.BLUE, style.GREEN, style.VERMILLION), strict=True):
            mine = [row for row in rows if row["speed"] == speed]
            x = [row["rms [m]"] for row in mine]
            panels[0].plot(x, [row["by dynamics"] for row in mine], "o-", color=colour, label=f"{speed:g} m/s")
            panels[1].plot(x, [row["time"] for row in mine], "o-", color=colour)
            panels[2].plot(x, [row["missed"] + row["false"] for row in mine], "o-", color=colour)
            other = [row["missed by kinematics"] + row["false by kinematics"] for row in mine]
            panels[2].plot(x, other, ":", color=colour)
        panels[0].legend()
        for axes, label in zip(
            panels, ("share rolled out by dynamics", "time by dynamics for all", "verdicts that differ"), strict=True
        ):
            axes.set_ylim(bottom=0.0)
            style.label(axes, x="roughness, rms [m]", y=f"{label} [1]")
        figure.suptitle("Auto against dynamics for all; dotted: kinematics alone")


PLANNING_FIDELITY = Experiment(
    "planning-fidelity", "Kinematics re-checked by dynamics where needed: cost, and verdicts that differ", run
)
