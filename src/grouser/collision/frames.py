"""Frames of one state: checked states, poses and Jacobians of any frame."""

from __future__ import annotations

import math
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from grouser import checks, rotation
from grouser._kernels.kinematics import probe as kernels
from grouser._kernels.scratch import Scratch, make_scratch
from grouser._kernels.vehicles.arrays import VehicleArrays
from grouser.checks import FloatArray
from grouser.errors import SimulationError
from grouser.once import Pool
from grouser.terrain import Terrain
from grouser.vehicles import Vehicle

Room = TypeVar("Room", bound=Any)
SCRATCH: Pool[Scratch] = Pool(make_scratch)
"""Work space of the kernels for a vehicle, by its arrays; entries clear it."""


def with_scratch(kernel: Any, vehicle: VehicleArrays, *arguments: Any) -> Any:
    """Call an entry that takes a vehicle first and work space last."""
    s = SCRATCH.take(vehicle)
    result = kernel(vehicle, *arguments, s)
    SCRATCH.give(vehicle, s)
    return result


def checked_state(vehicle: Vehicle, state: ArrayLike, name: str = "state") -> FloatArray:
    """A new state [quaternion w x y z, position x y z, joints], shape (nq,), its quaternion of length one."""
    checks.instance(vehicle, Vehicle, "vehicle", "use grouser.vehicle(name)")
    q = checks.array(state, name, (7 + vehicle.n_joints,))
    normalise(q)
    return q


def made_ready(pool: Pool[Room], model: Any, state: ArrayLike, command: ArrayLike, ground: Any, dt: float) -> Room:
    """Work space out of a pool for a step of dt [s] of a model on a ground, with state and command in it."""
    checks.instance(ground, Terrain, "ground", "use grouser.terrain.plane() or another")
    step, law = checks.positive(dt, "dt"), ground.kernel
    room = pool.take(model, law, step)
    if room.ground is not law or room.dt != step:
        room.repoint(model=model.arrays(step, soils=law.keep), ground=law, dt=step)
    checks.fill(room.q, state, "state")
    normalise(room.q)
    checks.fill(room.command, command, "command")
    return room


def planar_pose(states: FloatArray) -> FloatArray:
    """x, y [m] and yaw [rad] of states (…, nq), (…, 3)."""
    return np.concatenate([states[..., 4:6], rotation.yaw_of(states[..., :4])[..., None]], axis=-1)


def normalise(q: FloatArray) -> None:
    """Scale the quaternion of a state to length one; a zero quaternion is refused."""
    quaternion = q[:4]
    size = math.sqrt(quaternion.dot(quaternion))
    if size < 1e-6:
        raise SimulationError("state: its quaternion (the first four entries, w x y z) is zero; (1, 0, 0, 0) is level")
    if size != 1.0:
        quaternion /= size


def frame_poses(vehicle: Vehicle, state: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """R_world_frame (nf, 3, 3) and p_world_frame (nf, 3) [m] of every frame, T Algorithm 1.

    Of rows of states (n, nq) the results are (n, nf, 3, 3) and (n, nf, 3).
    """
    rows = np.asarray(state).ndim == 2
    q = _checked_rows(vehicle, state) if rows else checked_state(vehicle, state)[None]
    nf = len(vehicle.frames)
    R, p = np.zeros((len(q), nf, 3, 3)), np.zeros((len(q), nf, 3))
    with_scratch(kernels.pose_rows, vehicle.arrays, q, R, p)
    return (R, p) if rows else (R[0], p[0])


def frame_jacobian(vehicle: Vehicle, state: ArrayLike, frame: str, offset: ArrayLike = (0.0, 0.0, 0.0)) -> FloatArray:
    """Velocity of a point of a frame per joint-space velocity, shape (6, nv): angular, linear, in body coordinates.

    `offset` [m] is the point in the frame's own axes. Of rows of states (n, nq), with a point each (n, 3) or one for
    all, the result is (n, 6, nv).
    """
    rows = np.asarray(state).ndim == 2
    q = _checked_rows(vehicle, state) if rows else checked_state(vehicle, state)[None]
    point = checks.real(offset, "offset")
    point = checks.array(np.tile(point, (len(q), 1)) if point.shape == (3,) else point, "offset", (len(q), 3))
    J = np.zeros((len(q), 6, 6 + vehicle.n_joints))
    with_scratch(kernels.frame_jacobian_rows, vehicle.arrays, q, vehicle.frame_index(frame), point, J)
    return J if rows else J[0]


def _checked_rows(vehicle: Vehicle, states: ArrayLike) -> FloatArray:
    checks.instance(vehicle, Vehicle, "vehicle", "use grouser.vehicle(name)")
    q = checks.array(states, "state", (None, 7 + vehicle.n_joints))
    for row in q:
        normalise(row)
    return q
