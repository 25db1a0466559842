"""Time stamps as robots give them: seconds since any epoch, so far larger than the quantities of a simulation."""

from __future__ import annotations

import math
from typing import Any

from grouser._kernels.odometry.slots import LATEST
from grouser.errors import SimulationError


def time_stamp(value: Any, name: str = "t") -> float:
    """A finite time [s]; Unix time, 1.7e9 s, is one."""
    try:
        result = float(value)
    except (TypeError, ValueError, OverflowError):
        raise SimulationError(f"{name}: {value!r:.60} is not a number") from None
    if not (math.isfinite(result) and abs(result) < LATEST):
        raise SimulationError(f"{name}: {result:g} is not a finite time below {LATEST:g} s")
    return result
