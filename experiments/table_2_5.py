"""T Table 2.5: the stepped force balance against stiff solvers, LandTamer over a ramp and through two turns."""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np

from experiments.contacts import start_rolling
from experiments.experiment import Experiment, Progress, Result, Row
from experiments.landtamer import GAIN, landtamer
from grouser import terrain
from grouser.checks import FloatArray
from grouser.dynamics import Dynamics
from grouser.rotation import from_quaternion, to_rpy
from grouser.simulation import Run, Status, drive, simulate
from grouser.terrain import Terrain

DURATION = 20.0  # s
HEIGHT, DEG = 1.5, 20.0
FOOT, TOP = 3.5, 5.0
"""Where the ramp begins and how long its top is [m]: the wheels are on it from about 2 to 10 s."""
CELL = 0.25  # m, over which the edges of the ramp are rounded
SCHEDULE = drive.schedule(
    [
        (0.0, drive.arc(1.0)),
        (1.0, drive.arc(2.0)),
        (10.0, drive.twist(forward=2.0, turn=1.0)),
        (15.0, drive.twist(forward=2.0, turn=-1.0)),
    ]
)
DAE = "DAE"
STEPS = (0.01, 0.02, 0.04, 0.10, 0.20)  # s; the first is the reference
COMPARED = 0.04  # s, the DAE that the solvers are held against
SOLVERS = ("Radau", "BDF", "LSODA")
RELATIVE, MOST_STEP = 1e-2, 0.04
REPEATS = 5

PAPER: list[Row] = [
    # Times of the table are multiples of real time, in MATLAB.
    {"method": method, "dt": dt, "position_error": error, "seconds": round(DURATION * times, 3), "iterations": newton}
    for method, dt, error, times, newton in (
        (DAE, 0.01, None, 0.3204, None),
        (DAE, 0.02, 0.0041, 0.1635, None),
        (DAE, 0.04, 0.0766, 0.0903, 0.87),
        (DAE, 0.10, 0.0053, 0.0435, None),
        (DAE, 0.20, 0.3780, 0.0281, None),
        ("ode15s", 0.0025, 0.0742, 9.7647, None),
        ("ode23s", 0.0114, 0.0503, 7.0499, None),
        ("ode23tb", 0.0141, 0.0508, 1.5267, None),
    )
]


def rounded_ramp() -> terrain.Terrain:
    """The ramp with its edges rounded over a grid cell: at a sharp edge the normal jumps, where Radau and BDF stall."""
    sharp = terrain.ramp(HEIGHT, DEG, top=TOP, x=FOOT)
    x, y = np.arange(-10.0, 50.1, CELL), np.arange(-25.0, 25.1, CELL)
    return terrain.grid(sharp.height(*np.meshgrid(x, y, indexing="ij")), x, y, interpolation="bicubic")


def run_table(quick: bool, progress: Progress) -> Result:
    """The DAE at five steps and three stiff solvers; the quick version takes one solver."""
    from experiments.stiff_ode import simulate_ode

    model = landtamer()
    ground = rounded_ramp()
    start, velocity = start_rolling(model, ground, SCHEDULE)
    solvers = SOLVERS[-1:] if quick else SOLVERS
    given: dict[str, Any] = {"duration": DURATION, "start": start, "velocity": velocity}
    runs = {dt: simulate(model, ground, SCHEDULE, dt=dt, **given) for dt in STEPS}
    reference = runs[STEPS[0]]
    rows = [_dae_row(model, ground, run, reference, start, velocity) for run in runs.values()]
    progress(1, 1 + len(solvers))
    paths: dict[str, FloatArray] = {f"DAE, dt {COMPARED:g} s": runs[COMPARED].state}
    compared = runs[COMPARED].position[-1]
    apart = {}
    for done, method in enumerate(solvers):
        ode = simulate_ode(
            model,
            ground,
            SCHEDULE,
            duration=DURATION,
            start=start,
            velocity=velocity,
            method=method,
            rtol=RELATIVE,
            max_step=MOST_STEP,
        )
        rows.append(_ode_row(method, ode, reference))
        if str(ode.status) == str(Status.OK):
            paths[method] = ode.state
            apart[method] = float(np.linalg.norm(ode.state[-1, 4:7] - compared))
        progress(2 + done, 1 + len(solvers))
    return Result(
        name=TABLE_2_5.name,
        rows=rows,
        paper=PAPER,
        notes=_notes(rows, apart, reference),
        settings={
            "vehicle": model.vehicle.name,
            "contact": "pacejka",
            "friction": 1.0,
            "actuator": {"kind": "P", "gain": GAIN},
            "ground": {"ramp": HEIGHT, "deg": DEG, "foot": FOOT, "top": TOP, "edges rounded over": CELL},
            "schedule": "1 m/s; 2 m/s from 1 s; turning +1 rad/s from 10 s, -1 rad/s from 15 s",
            "duration": DURATION,
            "rtol": RELATIVE,
            "max_step": MOST_STEP,
            "quick": quick,
        },
        keys=("method", "dt"),
        draw=lambda result, path: draw(result, paths, path),
    )


TABLE_2_5 = Experiment(
    name="table-2.5",
    description="LandTamer over a ramp and through two turns: stepped force balance against stiff solvers",
    body=run_table,
)


def _dae_row(
    model: Dynamics, ground: Terrain, run: Run, reference: Run, start: FloatArray, velocity: FloatArray
) -> Row:
    times = []
    for _ in range(REPEATS):
        began = time.process_time()
        simulate(model, ground, SCHEDULE, duration=DURATION, dt=run.dt, start=start, velocity=velocity, every=run.steps)
        times.append(time.process_time() - began)
    return {
        "method": DAE,
        "dt": run.dt,
        "position_error": float(np.linalg.norm(run.position[-1] - reference.position[-1])),
        "yaw_error": abs(float(run.yaw[-1] - reference.yaw[-1])),
        "seconds": float(np.median(times)),
        "iterations": None if run.solver is None else float(run.solver.iterations.mean()),
        "evaluations": run.steps,
        "status": str(run.status),
    }


def _ode_row(method: str, ode: Any, reference: Run) -> Row:
    finished = str(ode.status) == str(Status.OK)
    turn = _yaw(ode.state[-1:])[0] - reference.yaw[-1]
    return {
        "method": method,
        "dt": None,
        "position_error": float(np.linalg.norm(ode.state[-1, 4:7] - reference.position[-1])) if finished else None,
        "yaw_error": float(abs((turn + np.pi) % (2.0 * np.pi) - np.pi)) if finished else None,
        "seconds": float(ode.seconds),
        "iterations": None,
        "evaluations": int(ode.evaluations),
        "status": str(ode.status),
    }


def _notes(rows: list[Row], apart: dict[str, float], reference: Run) -> list[str]:
    dae = next(row for row in rows if row["dt"] == COMPARED)
    on_ramp = reference.time[np.abs(reference.pitch) > 0.02]
    notes = [
        f"Errors are distances to the DAE at dt {STEPS[0]:g} s at the end of {reference.distance:.0f} m. The ramp has "
        f"a flat top of {TOP:g} m, so that the vehicle is on it from {on_ramp[0]:.1f} to {on_ramp[-1]:.1f} s. "
        "Evaluations are of frames, contacts, inertia and bias force: one a step in the DAE. The paper has MATLAB's "
        "ode15s, ode23s and ode23tb in place of SciPy's solvers.",
        "Commanded to turn at 1 rad/s it turns at 0.4: six tyres dragged sideways.",
    ]
    each = dae["seconds"] / dae["evaluations"]
    for method, distance in apart.items():
        solver = next(row for row in rows if row["method"] == method)
        notes.append(
            f"{method} and the DAE at dt {COMPARED:g} s end {distance:.3f} m apart. The DAE is "
            f"{solver['seconds'] / dae['seconds']:.0f} times cheaper, but it is compiled and the solver's equations "
            f"are Python; if an evaluation cost the solver no more than a whole step of the DAE, {1e6 * each:.0f} µs, "
            f"it would be {solver['evaluations'] / dae['evaluations']:.0f} times (paper: 17 to 108, both in MATLAB)."
        )
    return notes


def draw(result: Result, paths: dict[str, FloatArray], path: str | os.PathLike[str]) -> None:
    """The paths in plan and in height, and the cost."""
    from grouser.view import style

    with style.picture(path, 12.0, 4.2) as figure:
        plan, height, cost = figure.subplots(1, 3)
        for i, (name, state) in enumerate(paths.items()):
            width, dashes = (3.0, "-") if i == 0 else (1.2, "--")
            line: dict[str, Any] = {"color": style.PALETTE[i], "lw": width, "ls": dashes, "label": name}
            plan.plot(state[:, 4], state[:, 5], **line)
            height.plot(state[:, 4], state[:, 6], **line)
        plan.set_aspect("equal", adjustable="datalim")
        plan.set(xlabel="x [m]", ylabel="y [m]", title="from above")
        height.set(xlabel="x [m]", ylabel="height of the body [m]", title="from the side")
        plan.legend()
        names = [r["method"] if r["method"] != DAE else f"DAE {r['dt']:g} s" for r in result.rows]
        cost.barh(names, [r["seconds"] for r in result.rows], color=style.PALETTE[0])
        cost.set_xscale("log")
        cost.invert_yaxis()
        cost.set(xlabel=f"CPU time for {DURATION:g} s [s]", title="cost")
        figure.suptitle("LandTamer over a ramp, then left and right (T Table 2.5)")


def _yaw(state: FloatArray) -> FloatArray:
    yaw: FloatArray = to_rpy(from_quaternion(state[:, :4])).reshape(-1, 3)[:, 2]
    return yaw
