"""T §2.5.3, Fig. 2.20 and 2.21: a sharp turn at speed lifts wheels, and a high load rolls the LandTamer over."""

from __future__ import annotations

import os

import numpy as np

from experiments.experiment import Experiment, Progress, Result, Row
from experiments.landtamer import GAIN, landtamer
from grouser import terrain
from grouser.checks import FloatArray
from grouser.simulation import Run, drive, simulate

SPEED, TURN, AT = 5.0, 7.0, 1.0  # m/s, rad/s, s
HEIGHTS = {0.83: 0.414, 1.25: 0.828}
"""Centre of mass over the ground, as the paper names it, and the body's over the axles [m]."""
DT = 0.01  # s
DAMPINGS = (0.01, 0.005)
"""K_d/K_p of the tyres [s] that the low one is also driven with: T does not give it, and it decides how many lift."""
PAPER: list[Row] = [
    {"cg_height": 0.83, "wheels_lifted": 4, "rolled_over": False},
    {"cg_height": 1.25, "wheels_lifted": None, "rolled_over": True},
]


def run_rollover(quick: bool, progress: Progress) -> Result:
    """Both heights; the quick version simulates 6 s, the full one 20 s, most of it on its back."""
    duration = 6.0 if quick else 20.0
    command = drive.schedule([(0.0, drive.arc(SPEED)), (AT, drive.twist(forward=SPEED, turn=TURN))])
    runs = {}
    for done, (height, com) in enumerate(HEIGHTS.items()):
        runs[height] = simulate(landtamer(com_height=com), terrain.plane(), command, duration=duration, dt=DT)
        progress(done + 1, len(HEIGHTS) + len(DAMPINGS))
    low = min(HEIGHTS)
    softer = {}
    for done, time in enumerate(DAMPINGS):
        model = landtamer(com_height=HEIGHTS[low], damping_time=time)
        softer[time] = _row(low, simulate(model, terrain.plane(), command, duration=duration, dt=DT))
        progress(len(HEIGHTS) + done + 1, len(HEIGHTS) + len(DAMPINGS))
    return Result(
        name=ROLLOVER.name,
        rows=[
            _row(height, run)
            | {
                f"wheels_lifted_at_{t:g}_s": row["wheels_lifted"] if height == low else None
                for t, row in softer.items()
            }
            for height, run in runs.items()
        ],
        paper=PAPER,
        notes=[*_notes(runs), _damping_note(softer)],
        settings={
            "vehicle": "landtamer",
            "contact": "pacejka",
            "friction": 1.0,
            "actuator": {"kind": "P", "gain": GAIN},
            "schedule": f"{SPEED:g} m/s; turning {TURN:g} rad/s from {AT:g} s",
            "duration": duration,
            "dt": DT,
            "com_over_axles": list(HEIGHTS.values()),
            "quick": quick,
        },
        keys=("cg_height",),
        draw=lambda result, path: draw(runs, path),
    )


ROLLOVER = Experiment(
    name="rollover",
    description="LandTamer turned sharply at 5 m/s with its load low and high: lifted wheels, and rollover",
    body=run_rollover,
)


def _tilt(run: Run) -> FloatArray:
    """Angle between the body's z axis and the vertical [rad]."""
    w, x, y, z = run.quaternion.T
    tilt: FloatArray = np.arccos(np.clip(w * w - x * x - y * y + z * z, -1.0, 1.0))
    return tilt


def _load(run: Run) -> FloatArray:
    """Normal forces of the wheels [N], shape (T, nw)."""
    assert run.contact.force is not None
    return run.contact.force[..., 2]


def _sideways(run: Run) -> float:
    """Largest force of all wheels to the side, over the weight."""
    assert run.contact.force is not None
    pushed = np.abs(run.contact.force[..., 1].sum(axis=1))
    return float(pushed[run.time > AT].max()) / (run.vehicle.mass * 9.81)


def _row(height: float, run: Run) -> Row:
    lifted = (_load(run) <= 0.0) & (run.time[:, None] > AT)
    any_lifted = lifted.any(axis=1)
    return {
        "cg_height": height,
        "wheels_lifted": int(lifted.any(axis=0).sum()),
        "rolled_over": run.rolled_over,
        "first_lift": float(run.time[any_lifted][0]) if any_lifted.any() else None,
        "largest_tilt_deg": float(np.degrees(_tilt(run).max())),
        "finite": bool(np.isfinite(run.state).all() and np.isfinite(run.velocity).all()),
        "status": str(run.status),
    }


def _damping_note(softer: dict[float, Row]) -> str:
    counts = "; ".join(f"{row['wheels_lifted']} at {time:g} s" for time, row in softer.items())
    ends = "none rolls over" if not any(row["rolled_over"] for row in softer.values()) else "some roll over"
    return (
        "How many wheels lift at the low height depends on the damping of the tyres over their stiffness, which T does "
        f"not give and which is assumed to be 0.05 s here: {counts}; {ends}."
    )


def _notes(runs: dict[float, Run]) -> list[str]:
    low, high = (runs[height] for height in HEIGHTS)
    grip = _sideways(low)
    over = high.time[_tilt(high) > np.pi / 2]
    notes = [
        "A wheel is lifted when its normal force is zero at some step after the turn began; rolled over means that the "
        "body's z axis pointed below the horizon.",
        "Half the track over the cg height is the sideways force over weight that tips it; the low one's tyres reach "
        f"{grip:.2f}. The paper sees four wheels lift at the low height, and does not give its friction: here μ is 1.",
    ]
    if len(over):
        notes.append(
            f"The high one lies on its side at {over[0]:.2f} s and the simulation goes on to {high.time[-1]:g} s, "
            "on its back; only wheels touch the ground, so the body sinks between them. All numbers stay finite."
        )
    return notes


def draw(runs: dict[float, Run], path: str | os.PathLike[str]) -> None:
    """Normal forces and tilt over the first 5 s, after T Fig. 2.21."""
    from grouser.view import style

    with style.picture(path, 10.0, 6.5) as figure:
        axes = figure.subplots(2, 2, sharex=True, height_ratios=(2, 1))
        for column, (height, run) in enumerate(runs.items()):
            shown = run.time <= 5.0
            for i, wheel in enumerate(run.vehicle.wheels):
                axes[0, column].plot(
                    run.time[shown], 1e-3 * _load(run)[shown, i], color=style.PALETTE[i], label=wheel, lw=1.2
                )
            axes[0, column].set_title(f"cg {height:g} m above ground")
            axes[0, column].set_ylabel("normal force [kN]")
            axes[0, column].set_ylim(-0.5, 16.0)
            axes[1, column].plot(run.time[shown], np.degrees(_tilt(run)[shown]), color=style.PALETTE[0])
            axes[1, column].set_ylabel("tilt [°]")
            axes[1, column].set_xlabel("time [s]")
        axes[0, 0].legend(ncols=3)
        figure.suptitle(f"LandTamer at {SPEED:g} m/s commanded to turn at {TURN:g} rad/s (T Fig. 2.21)")
