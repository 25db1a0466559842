"""Forward kinematics of any frame, for people who stand outside the engine."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from grouser import checks
from grouser._kernels.kinematics import probe as kernels
from grouser.checks import FloatArray
from grouser.collision.contacts import normalise
from grouser.rooms import give_scratch, take_scratch
from grouser.vehicles import Vehicle


def frame_poses(vehicle: Vehicle, state: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """R_world_frame (nf, 3, 3) and p_world_frame (nf, 3) [m] of every frame, T Algorithm 1."""
    checks.instance(vehicle, Vehicle, "vehicle", "use grouser.vehicle(name)")
    q = checks.array(state, "state", (7 + vehicle.n_joints,))
    normalise(q)
    nf = len(vehicle.frames)
    R, p = np.zeros((nf, 3, 3)), np.zeros((nf, 3))
    arrays = vehicle.arrays
    s = take_scratch(arrays)
    kernels.pose(arrays, q, R, p, s)
    give_scratch(arrays, s)
    return R, p


def frame_jacobian(vehicle: Vehicle, state: ArrayLike, frame: str, offset: ArrayLike = (0.0, 0.0, 0.0)) -> FloatArray:
    """Velocity of a point of a frame per joint-space velocity, shape (6, nv): angular, linear, in body coordinates.

    `offset` [m] is the point in the frame's own axes.
    """
    checks.instance(vehicle, Vehicle, "vehicle", "use grouser.vehicle(name)")
    q = checks.array(state, "state", (7 + vehicle.n_joints,))
    normalise(q)
    J = np.zeros((6, 6 + vehicle.n_joints))
    point = checks.array(offset, "offset", (3,))
    arrays, index = vehicle.arrays, vehicle.frame_index(frame)
    s = take_scratch(arrays)
    kernels.frame_jacobian(arrays, q, index, point, J, s)
    give_scratch(arrays, s)
    return J
