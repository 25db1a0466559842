"""What a vehicle moves more than its kinematic model says, learned from one step to the next."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from grouser.checks import FloatArray
    from grouser.plan.mppi import Command

QUICKLY = 0.5
"""Time in which the difference between predicted and estimated motion becomes a bias of the planner's model [s]."""
SLOWEST = 0.3
"""Speed [m/s] below which that difference, per way, is taken as if at this one."""


def bias_change(order: Command, pose: FloatArray, dt: float) -> FloatArray:
    """Change of `MPPI.bias` (6,) by a step of dt [s] that ended at an estimated pose: x, y [m], yaw [rad]."""
    x, y, _, yaw = order.path[1]
    c, s = math.cos(yaw), math.sin(yaw)
    dx, dy, turned = pose[0] - x, pose[1] - y, math.remainder(pose[2] - yaw, 2.0 * math.pi)
    way = dt * max(float(np.hypot(order.twist[0], order.twist[1])), SLOWEST)
    return np.array([0.0, 0.0, turned, c * dx + s * dy, c * dy - s * dx, 0.0]) * (dt / QUICKLY / way)
