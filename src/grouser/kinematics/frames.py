"""Forward kinematics and Jacobians of any frame."""

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
    """R_world_frame (nf, 3, 3) and p_world_frame (nf, 3) [m] of every frame, T Algorithm 1.

    Of rows of states (n, nq) the results are (n, nf, 3, 3) and (n, nf, 3).
    """
    checks.instance(vehicle, Vehicle, "vehicle", "use grouser.vehicle(name)")
    if np.ndim(state) == 2:
        return _rows_of_poses(vehicle, _unit_rows(vehicle, state))
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

    `offset` [m] is the point in the frame's own axes. Of rows of states (n, nq), with a point each (n, 3) or one for
    all, the result is (n, 6, nv).
    """
    checks.instance(vehicle, Vehicle, "vehicle", "use grouser.vehicle(name)")
    if np.ndim(state) == 2:
        return _rows_of_jacobians(vehicle, _unit_rows(vehicle, state), frame, offset)
    q = checks.array(state, "state", (7 + vehicle.n_joints,))
    normalise(q)
    J = np.zeros((6, 6 + vehicle.n_joints))
    point = checks.array(offset, "offset", (3,))
    arrays, index = vehicle.arrays, vehicle.frame_index(frame)
    s = take_scratch(arrays)
    kernels.frame_jacobian(arrays, q, index, point, J, s)
    give_scratch(arrays, s)
    return J


def _unit_rows(vehicle: Vehicle, states: ArrayLike) -> FloatArray:
    q = checks.array(states, "state", (None, 7 + vehicle.n_joints))
    for row in q:
        normalise(row)
    return q


def _rows_of_poses(vehicle: Vehicle, q: FloatArray) -> tuple[FloatArray, FloatArray]:
    R, p = np.zeros((len(q), len(vehicle.frames), 3, 3)), np.zeros((len(q), len(vehicle.frames), 3))
    s = take_scratch(vehicle.arrays)
    kernels.pose_rows(vehicle.arrays, q, R, p, s)
    give_scratch(vehicle.arrays, s)
    return R, p


def _rows_of_jacobians(vehicle: Vehicle, q: FloatArray, frame: str, offset: ArrayLike) -> FloatArray:
    points = np.ascontiguousarray(np.broadcast_to(checks.real(offset, "offset"), (len(q), 3)))
    J = np.zeros((len(q), 6, 6 + vehicle.n_joints))
    s = take_scratch(vehicle.arrays)
    kernels.frame_jacobian_rows(vehicle.arrays, q, vehicle.frame_index(frame), points, J, s)
    give_scratch(vehicle.arrays, s)
    return J
