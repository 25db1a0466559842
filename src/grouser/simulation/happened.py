"""What happened in a run, for every summary: tilt, tip margin, slip, sliding, energy, why it ended, and remarks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from grouser._kernels.simulation.happened import MARGIN, SLIDING, TILT
from grouser.checks import FloatArray
from grouser.simulation.outcome import happened_at, sliding_of, slip_ratio
from grouser.simulation.status import Status

if TYPE_CHECKING:
    from grouser.simulation.run import Run

NOTHING: dict[str, Any] = {
    "largest_tilt_deg": None, "least_tip_margin_deg": None, "tips_from": None, "largest_slip": None, "slid": 0.0,
    "slid_down": 0.0, "sliding_time": 0.0, "energy": None,
}  # fmt: skip
"""Of a run that ended before its first step."""
MENTIONED = 0.1
"""Way [m] from which a slide is worth a remark."""
STEEP = math.radians(45.0)
"""Tilt above which wheels need a friction above 1 to hold."""


def happened(run: Run) -> dict[str, Any]:
    """A run in the numbers that say whether a real vehicle would do it, as JSON takes them.

    largest_tilt_deg: of the body's z axis from the vertical. least_tip_margin_deg: angle that the force at the centre
    of mass may turn before a wheel lifts; tips_from: time at which it first is negative [s]. largest_slip: speed of
    slip along the wheels over their rim speed, mean over the wheels. slid: way on which more than half of the motion
    was slip, sliding_time [s], and slid_down, the height lost there [m]. energy: work of the actuators where they
    drive, none is won back [J]; a kinematic model does not know it. ended: why. remarks: sentences.
    """
    if not len(run.time):
        return {**NOTHING, "ended": run.status.meaning, "remarks": []}
    every = float(run.time[1] - run.time[0]) if len(run.time) > 1 else run.dt
    seen = happened_in(run)
    slid, seconds = sliding_of(seen[:, SLIDING], every)
    sinking = -np.diff(run.position[:, 2])[seen[:-1, SLIDING] > 0.0]
    tips = np.flatnonzero(seen[:, MARGIN] < 0.0)
    power = None if run.power is None else np.maximum(run.power[: max(len(run.time) - 1, 1)], 0.0).sum()
    found: dict[str, Any] = {
        "largest_tilt_deg": _finite(np.degrees(seen[:, TILT].max())),
        "least_tip_margin_deg": _finite(np.degrees(seen[:, MARGIN].min())),
        "tips_from": float(run.time[tips[0]]) if len(tips) else None,
        "largest_slip": _finite(slip_ratio(run.vehicle, run.velocity, run.contact.velocity[..., 0]).max()),
        "slid": float(slid),
        "slid_down": float(sinking.sum()),
        "sliding_time": float(seconds),
        "energy": None if power is None else float(power * every),
        "ended": run.status.meaning,
    }
    return found | {"remarks": remarks(run, found)}


def happened_in(run: Run) -> FloatArray:
    """Tilt [rad], tip margin [rad] and speed while sliding [m/s] at each recorded state, shape (T, 3)."""
    c = run.contact
    touching = None if run.hull is None else run.hull.touching
    loads = None if c.force is None else c.force[..., 2]
    return happened_at(run.vehicle, run.gravity, run.state, run.velocity, c.columns(), loads=loads, touching=touching)


def remarks(run: Run, found: dict[str, Any]) -> list[str]:
    """What a reader of the distance alone would miss, a sentence each."""
    said = []
    if found["slid"] >= MENTIONED:
        low, time = found["slid_down"], found["sliding_time"]
        lost = f" and lost {low:.1f} m of height" if low > 0.1 * found["slid"] else ""
        said.append(f"it slid {found['slid']:.1f} m in {time:.1f} s{lost}")
    if run.solver is not None:
        if run.rolled_over and run.status is not Status.ROLLED_OVER:
            said.append("it rolled over, and the run continued")
        return said
    if found["tips_from"] is not None:
        said.append(
            f"kinematic: no forces; the tip margin is negative from t = {found['tips_from']:.1f} s: "
            "a real vehicle would tip"
        )
    tilt = found["largest_tilt_deg"]
    if tilt is not None and STEEP < math.radians(tilt) < 0.5 * math.pi:
        needed = math.tan(math.radians(tilt))
        said.append(f"kinematic: no forces; at a tilt of {tilt:.0f}° it holds only with a friction above {needed:.1f}")
    return said


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
