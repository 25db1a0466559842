"""What each wheel carries at rest on level ground, from which contact models take their defaults."""

from __future__ import annotations

import numpy as np

from grouser._kernels.constants import GRAVITY
from grouser.once import once_each
from grouser.vehicles import Vehicle
from grouser.vehicles.tree import forward_kinematics

LEAST_SHARE = 0.2
"""Least load of a wheel, as a share of the mean: what carries nothing at rest may do so later."""


@once_each
def wheel_loads(vehicle: Vehicle) -> dict[str, float]:
    """Load of each wheel [N], by name: an equal share of the weight, or, with balls that slide, that of statics.

    A ball that carries a tenth of the weight would else stand on a spring for a third of it, and hold the vehicle's end
    up. Of all loads that balance the weight it is those that differ least from equal ones.
    """
    equal = np.full(vehicle.n_wheels, vehicle.mass * GRAVITY / vehicle.n_wheels)
    if vehicle.sliding and vehicle.mass > 0.0:
        R, p = forward_kinematics(vehicle.frames, vehicle.rest)
        mass = np.array([frame.mass for frame in vehicle.frames])
        com = np.array([frame.com for frame in vehicle.frames])
        centre = mass @ (p + np.einsum("fij,fj->fi", R, com)) / mass.sum()
        balance = np.vstack([np.ones(vehicle.n_wheels), (vehicle.wheel_positions - centre)[:, :2].T])
        missing = np.array([vehicle.mass * GRAVITY, 0.0, 0.0]) - balance @ equal
        equal = np.maximum(equal + np.linalg.pinv(balance) @ missing, LEAST_SHARE * equal)
    return dict(zip(vehicle.wheels, equal.tolist(), strict=True))
