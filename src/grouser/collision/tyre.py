"""Where on a wheel a contact lies: how far from the axle, how far to its side, and how the wheel leans there."""

from __future__ import annotations

import numpy as np

from grouser._kernels.kinematics import probe as kernels
from grouser.checks import FloatArray
from grouser.collision.contacts import normalise
from grouser.rooms import give_scratch, take_scratch
from grouser.vehicles import Vehicle


def contact_on_wheel(vehicle: Vehicle, state: FloatArray, point: FloatArray) -> FloatArray:
    """Contact points `point` (nw, 3) of one state, world [m], in the axes of their wheels, shape (nw, 3) [m].

    y runs along the axle to the left: it is how far a round tyre has moved its contact sideways.
    """
    R, p = _wheels(vehicle, state)
    result: FloatArray = np.einsum("wji,wj->wi", R, point - p)
    return result


def rolling_radius(vehicle: Vehicle, state: FloatArray, point: FloatArray) -> FloatArray:
    """Distance of each contact point (nw, 3), world, from its axle [m], shape (nw,)."""
    local = contact_on_wheel(vehicle, state, point)
    result: FloatArray = np.hypot(local[:, 0], local[:, 2])
    return result


def camber(vehicle: Vehicle, state: FloatArray, normal: FloatArray) -> FloatArray:
    """Angle of each wheel's plane from the ground normal (nw, 3), world [rad], shape (nw,); top to the right positive.

    It is the wheel's roll against the ground: positive as roll is, about the axis ahead.
    """
    R, _ = _wheels(vehicle, state)
    result: FloatArray = np.arcsin(np.clip(np.einsum("wj,wj->w", R[:, :, 1], normal), -1.0, 1.0))
    return result


def _wheels(vehicle: Vehicle, state: FloatArray) -> tuple[FloatArray, FloatArray]:
    """R_world_wheel (nw, 3, 3) and p_world_wheel (nw, 3) of one state."""
    nf, wheel = len(vehicle.frames), vehicle.arrays.wheel
    R, p = np.zeros((nf, 3, 3)), np.zeros((nf, 3))
    q = np.array(state, dtype=np.float64)
    normalise(q)
    s = take_scratch(vehicle.arrays)
    kernels.pose(vehicle.arrays, q, R, p, s)
    give_scratch(vehicle.arrays, s)
    return R[wheel], p[wheel]
