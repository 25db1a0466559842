"""The steepest slope that a vehicle climbs, by bisection: each try is a run uphill from rest."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from grouser.checks import FloatArray
from grouser.simulation.engine import launch
from grouser.simulation.settle import start_state
from grouser.simulation.status import Status
from grouser.study.drives import Driven
from grouser.terrain import slope


def climb_angle(
    model: Any, drive: Driven, changes: Mapping[str, FloatArray], options: Mapping[str, float], *, steps: int, dt: float
) -> tuple[float, str]:
    """Steepest slope [°] of those tried that it climbs, and a remark; NaN where it does not climb the least steep.

    It starts at rest. It climbs a slope where it advances uphill, in the second half of the run, by more than 1 − slip
    of what its wheels would roll. `changes` are of a row, (1,) each; the run has `steps` steps of dt [s].
    """
    pairs, kept = drive.bind(model.vehicle, 1, changes)
    speed = abs(float(changes["drive.speed"][0]) if "drive.speed" in changes else drive.parts[-1][1])
    half = max(steps // 2, 1)
    least = (1.0 - options["slip"]) * speed * dt * (2 * half - half)
    rest = np.zeros((1, 6 + model.vehicle.n_joints))

    def climbs(deg: float) -> bool:
        ground = slope(deg=deg)
        start = start_state(model.vehicle, ground, None, model.penetration)
        records = launch(
            model, ground, pairs, start[None], dt=dt, steps=2 * half, every=half, detailed=False, velocities=rest
        )
        if records.status[0] is not Status.OK:
            return False
        moved = records.final[0, 4:7] - records.state[0, 1, 4:7]
        angle = math.radians(deg)
        return bool(moved[0] * math.cos(angle) + moved[2] * math.sin(angle) > least)

    low, high = options["low"], options["high"]
    if not climbs(low):
        return math.nan, f"it does not climb {low:g}°"
    if climbs(high):
        return high, f"it climbs {high:g}°, the steepest slope tried"
    while high - low > options["tolerance"]:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if climbs(middle) else (low, middle)
    del kept
    return 0.5 * (low + high), ""
