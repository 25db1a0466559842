"""Drives to random poses on rough ground, T ch. 4 and Howard & Kelly 2007: how many are reached, how closely, how fast.

Poses are uniform in a disc of 8 m around the start with any yaw; each ground has its own seed. Every command found is
driven again by `gr.simulate`, and the errors are those of that run.
"""

from __future__ import annotations

import math
import os
import time
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

import grouser as gr
from experiments.experiment import Experiment, Progress, Result, Row
from grouser.motion import Powertrain
from grouser.motion.on_ground import driven_rates

RADIUS = 8.0  # m
LENGTH = 0.8  # of the ground's correlation [m]
PER_GROUND = 25
"""Poses on a ground before the next one."""
TRAIN = Powertrain(delay=0.2, time_constant=0.3)
VEHICLES = {"zoe": "passive steering", "husky": "skid", "recbot": "Ackermann", "rocky7": "rocker-bogie"}
TOLERANCE = 1e-3, 1e-2  # m, rad


@dataclass(frozen=True)
class Case:
    """One row."""

    vehicle: str
    model: str
    """kinematic, powertrain or dynamic."""
    rms: float
    poses: int


def cases(quick: bool) -> list[Case]:
    """All rows; `quick`: few poses of each."""
    many, fewer, few = (5, 3, 2) if quick else (50, 25, 10)
    found = [Case(name, "kinematic", rms, many) for name in VEHICLES for rms in (0.05, 0.1, 0.2)]
    found += [Case(name, "powertrain", 0.1, fewer) for name in VEHICLES]
    return found + [Case(name, "dynamic", 0.1, few) for name in ("rocky7", "husky")]


def run(quick: bool, progress: Progress) -> Result:
    """Each case."""
    todo = cases(quick)
    rows = []
    for k, case in enumerate(todo):
        rows.append(measure(case))
        progress(k + 1, len(todo))
    plain = [row for row in rows if row["model"] == "kinematic"]
    return Result(
        name="planning-reach",
        rows=rows,
        paper=[],
        notes=[
            f"poses: uniform within {RADIUS:g} m of the start, any yaw; grounds: seeds 0, 1, …, a new one every "
            f"{PER_GROUND} poses, correlation length {LENGTH:g} m",
            "reached: within 1 mm and .01 rad and within the vehicle's limits, in percent; times in ms of one call, "
            "first call of a case left out; CPU time is the process's",
            "errors: largest of those reached, when driven again by gr.simulate; with a powertrain by commands that "
            "were delayed and lagged outside the planner",
            "cannot_stand: of those not reached, poses or starts where the vehicle would tip by standing there",
        ],
        settings={"cpu": os.cpu_count(), "delay": TRAIN.delay, "lag": TRAIN.time_constant, "dt": 0.08, "quick": quick},
        keys=("vehicle",),
        draw=draw,
        summary={
            "poses": sum(row["poses"] for row in plain),
            "reached_percent": 100.0 * sum(row["reached"] for row in plain) / sum(row["poses"] for row in plain),
            "reached_percent_below_rms_02": 100.0
            * sum(row["reached"] for row in plain if row["rms"] < 0.2)
            / sum(row["poses"] for row in plain if row["rms"] < 0.2),
            "median_cpu_ms": max(row["cpu_ms"] for row in plain if row["rms"] < 0.2),
            "median_wall_ms": max(row["wall_ms"] for row in plain if row["rms"] < 0.2),
            "median_cpu_ms_rms_02": max(row["cpu_ms"] for row in plain if row["rms"] >= 0.2),
            "largest_error_mm": max(row["error_mm"] or 0.0 for row in plain),
            "largest_yaw_error": max(row["yaw_error"] or 0.0 for row in plain),
        },
    )


def measure(case: Case) -> Row:
    """One row."""
    vehicle = gr.vehicle(case.vehicle)
    model: Any = gr.Dynamics(vehicle) if case.model == "dynamic" else gr.Kinematics(vehicle)
    options: dict[str, Any] = {"powertrain": TRAIN} if case.model == "powertrain" else {}
    rng = np.random.default_rng([17, *case.vehicle.encode(), round(1000 * case.rms)])
    spent, rollouts, errors, reasons, refused = [], [], [], Counter[str](), 0
    for k in range(case.poses):
        if k % PER_GROUND == 0:
            ground = gr.terrain.rough(rms=case.rms, length=LENGTH, seed=k // PER_GROUND)
            gr.plan.reach(model, ground, None, (2.0, 0.0, 0.0), **options)  # compiles; a ground's first call is slower
        away, aim, yaw = RADIUS * math.sqrt(rng.uniform()), *rng.uniform(-math.pi, math.pi, 2)
        pose = away * math.cos(aim), away * math.sin(aim), yaw
        cpu, wall = time.process_time(), time.perf_counter()
        way = gr.plan.reach(model, ground, None, pose, **options)
        spent.append((time.process_time() - cpu, time.perf_counter() - wall))
        rollouts.append(way.rollouts)
        if way.reached:
            errors.append(error_again(way, model, ground, options.get("powertrain")))
        else:
            reasons[way.reason] += 1
            refused += not (stands(vehicle, ground, (0.0, 0.0, 0.0)) and stands(vehicle, ground, pose))
    off = np.reshape(errors, (-1, 2))
    ms = 1e3 * np.array(spent)
    close = int(((off[:, 0] <= TOLERANCE[0]) & (off[:, 1] <= TOLERANCE[1])).sum())
    return {
        "vehicle": case.vehicle,
        "model": case.model,
        "rms": case.rms,
        "poses": case.poses,
        "reached": close,
        "reached_percent": 100.0 * close / case.poses,
        "cannot_stand": refused,
        "cpu_ms": float(np.median(ms[:, 0])),
        "cpu_ms_95": float(np.percentile(ms[:, 0], 95)),
        "wall_ms": float(np.median(ms[:, 1])),
        "wall_ms_95": float(np.percentile(ms[:, 1], 95)),
        "rollouts": float(np.median(rollouts)),
        "error_mm": float(1e3 * off[:, 0].max()) if len(off) else None,
        "yaw_error": float(off[:, 1].max()) if len(off) else None,
        "why_not": "; ".join(f"{n} × {reason}" for reason, n in reasons.most_common()) or "-",
    }


def stands(vehicle: gr.Vehicle, ground: gr.terrain.Terrain, pose: tuple[float, float, float]) -> bool:
    """Whether the vehicle can be put there at all, with all wheels loaded."""
    try:
        still = gr.plan.roll_out(gr.Kinematics(vehicle), ground, np.zeros((1, 1, 3)), start=pose)
    except gr.GrouserError:
        return False
    return bool(still.ok[0])


def error_again(
    way: gr.plan.Reach, model: Any, ground: gr.terrain.Terrain, train: Powertrain | None
) -> tuple[float, float]:
    """Error of the end [m, rad] when a plain simulation drives the commands."""
    twists = way.twists
    if train is not None:
        # A row of rest before: the powertrain begins as if its first command had been held for long.
        twists = driven_rates(train, np.vstack([np.zeros((1, 3)), twists]), way.dt)[1:]
        twists[np.abs(twists) < 1e-12] = 0.0  # a rounding error has a direction, to which wheels would steer
    begin = np.maximum(np.arange(len(twists)) - 0.5, 0.0) * way.dt
    rows = [(t, gr.drive.twist(*row)) for t, row in zip(begin.tolist(), twists.tolist(), strict=True)]
    drive = gr.drive.schedule(rows)
    rest = None if isinstance(model, gr.Kinematics) else np.zeros(6 + model.vehicle.n_joints)
    run = gr.simulate(model, ground, drive, duration=len(twists) * way.dt, dt=way.dt, velocity=rest)
    x, y, yaw = way.pose
    end = run.position[-1]
    return math.hypot(end[0] - x, end[1] - y), abs(math.remainder(run.yaw[-1] - yaw, math.tau))


def draw(result: Result, path: str | os.PathLike[str]) -> None:
    """Share reached and time of each row."""
    from grouser.view import style

    labels = [f"{row['vehicle']}, {row['model']}, {row['rms']:g} m" for row in result.rows]
    place = np.arange(len(labels))
    with style.look():
        figure = style.new_figure(10.0, 0.3 * len(labels) + 1.5)
        left, right = figure.subplots(1, 2, sharey=True)
        left.barh(place, [row["reached_percent"] for row in result.rows])
        left.axvline(99.0, color=style.INK, lw=0.8)
        left.set_yticks(place, labels)
        left.invert_yaxis()
        style.label(left, x="reached to 1 mm and .01 rad [%]")
        right.barh(place, [row["cpu_ms_95"] for row in result.rows], alpha=0.4, label="95 %")
        right.barh(place, [row["cpu_ms"] for row in result.rows], label="median")
        right.axvline(20.0, color=style.INK, lw=0.8)
        right.set_xscale("log")
        right.legend()
        style.label(right, x="CPU time of a call [ms]")
        style.save(figure, path)


PLANNING_REACH = Experiment(
    "planning-reach", "Drives to random poses on rough ground: share reached, errors, time", run
)
