"""Commands for a wanted motion on level ground, as drives take them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from grouser._kernels.kinematics.steering import level_motion as kernel
from grouser.checks import FloatArray
from grouser.kinematics.inverse import steering_plan
from grouser.vehicles import Vehicle


class Segment(NamedTuple):
    """Command of every actuated joint: rate + clip(gain (target − θ_joint), ±limit)."""

    rate: FloatArray
    gain: FloatArray
    joint: FloatArray
    target: FloatArray
    limit: FloatArray

    def pack(self) -> FloatArray:
        """As the `schedule` law reads it."""
        return np.array(self).T.ravel()


def fixed_rates(rates: FloatArray) -> Segment:
    """Constant rates without feedback."""
    zero = np.zeros(len(rates))
    return Segment(rates, zero, zero, zero, zero)


def level_motion(vehicle: Vehicle, forward: float, left: float, turn: float) -> Segment:
    """Commands that move the drive point forward and left [m/s] while turning [rad/s], if the ground were level.

    Steering joints are driven to their angle by the feedback their vehicle states; passive ones (Zoë's axles) by a
    difference of left and right wheel speeds.
    """
    out = np.empty((len(vehicle.arrays.actuated), 5))
    write_level_motion(vehicle, forward, left, turn, out)
    return Segment(*out.T)


def write_level_motion(vehicle: Vehicle, forward: float, left: float, turn: float, out: FloatArray) -> None:
    """As `level_motion`, into out (na, 5): the columns are the fields of a Segment."""
    kernel(steering_plan(vehicle), np.array((forward, left, turn), dtype=np.float64), out)
