"""Placing a vehicle on the ground, T §2.2.4."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from grouser import checks, rotation
from grouser._kernels.simulation.settle import settle as kernel
from grouser._kernels.terrain.ground import sample_ground
from grouser.checks import FloatArray
from grouser.collision.frames import checked_state, with_scratch
from grouser.errors import SimulationError
from grouser.kinematics.suspension import suspension_of
from grouser.once import once_each
from grouser.terrain import Terrain
from grouser.vehicles import Vehicle

TOUCHING = 1e-3
"""A wheel whose height error is further than this from its target [m] does not touch as it should."""


@dataclass(frozen=True)
class Settled:
    """A state on the ground, with the height errors of the wheels."""

    state: FloatArray
    """[quaternion w x y z, position x y z, joints], shape (nq,)."""
    height_error: FloatArray
    """Δz of each wheel [m], negative is penetration, shape (nw,)."""
    off_ground: tuple[str, ...]
    """Wheels that cannot touch in this pose: more than a millimetre above where they should be."""
    iterations: int
    """Newton iterations taken."""
    converged: bool
    """Whether they came to rest; not where the springs are too weak to hold the vehicle up."""


def settle(
    vehicle: Vehicle,
    ground: Terrain,
    *,
    x: float = 0.0,
    y: float = 0.0,
    yaw: float = 0.0,
    joints: ArrayLike | None = None,
    penetration: float = 0.0,
) -> Settled:
    """Put a vehicle on the ground at x, y [m] and yaw [rad].

    Height, roll, pitch and the passive joints are found so that the wheels touch, the couplings hold and the springs
    carry the weight; actuated joints, wheels and steering stay as in `joints` (default: at rest). A vehicle whose
    wheels cannot all touch is placed with the smallest squared height errors, and the wheels left in the air are named.
    Springs yield to the ground as long as they push a wheel up with less than its share of the weight.
    """
    check_place(vehicle, ground)
    q = np.zeros(7 + vehicle.n_joints)
    q[4], q[5] = checks.number(x, "x"), checks.number(y, "y")
    q[:4] = _facing(checks.number(yaw, "yaw"))
    q[7:] = _rest(vehicle) if joints is None else checks.array(joints, "joints", (vehicle.n_joints,))
    sample = np.zeros((1, 3))
    law = ground.kernel
    sample_ground(law.address, law.par, q[None, 4:6], sample)
    height = sample.item(0)
    if not math.isfinite(height):
        from grouser.terrain.source import covers

        raise _cannot_place(vehicle, q, f"there is no ground; the map lies within {covers(ground.bounds)}")
    q[6] = height - _lowest(vehicle)
    return _settled(vehicle, ground, q, checks.number(penetration, "penetration"))


def settle_state(vehicle: Vehicle, ground: Terrain, state: ArrayLike, *, penetration: float = 0.0) -> Settled:
    """As `settle`, starting from a full state: its position, yaw and fixed joints stay."""
    q = checked_state(vehicle, state)
    return _settled(vehicle, ground, q, checks.number(penetration, "penetration"))


def _settled(vehicle: Vehicle, ground: Terrain, q: FloatArray, penetration: float) -> Settled:
    """Settle a state in place."""
    target, height_error = np.full(vehicle.n_wheels, -penetration), np.zeros(vehicle.n_wheels)
    iterations, converged, inside = with_scratch(
        kernel, vehicle.arrays, ground.kernel, target, suspension_of(vehicle), 1e-13, q, height_error
    )
    if not inside:
        raise _cannot_place(vehicle, q, "the ground ends under one of its wheels")
    if not q.dot(q) < math.inf:
        raise _cannot_place(vehicle, q, "no resting pose found")
    errors = height_error.tolist()
    lifted = [wheel for wheel, error in zip(vehicle.wheels, errors, strict=True) if error + penetration > TOUCHING]
    return Settled(q, height_error, tuple(lifted), iterations, converged)


def _cannot_place(vehicle: Vehicle, q: FloatArray, reason: str) -> SimulationError:
    return SimulationError(f"cannot place '{vehicle.name}' at x = {q[4]:.10g}, y = {q[5]:.10g} m: {reason}")


def check_place(vehicle: Any, ground: Any) -> None:
    """Refuse what is not a vehicle on a ground."""
    checks.instance(vehicle, Vehicle, "vehicle", "use grouser.vehicle(name)")
    checks.instance(ground, Terrain, "ground", "use grouser.terrain.plane() or another")


@lru_cache(maxsize=256)
def _facing(yaw: float) -> tuple[float, ...]:
    """Quaternion of a yaw [rad]; a planner starts many runs with the same."""
    return tuple(rotation.to_quaternion(rotation.from_rpy(0.0, 0.0, yaw)).tolist())


@once_each
def _rest(vehicle: Vehicle) -> FloatArray:
    return vehicle.rest


@once_each
def _lowest(vehicle: Vehicle) -> float:
    """Height of the lowest point of the wheels above the body frame, with the joints at rest [m]."""
    wheels = (frame for frame in vehicle.frames if frame.is_wheel)
    return min(float(p[2]) - (w.radius or 0.0) for p, w in zip(vehicle.wheel_positions, wheels, strict=True))


def start_state(vehicle: Vehicle, ground: Terrain, start: ArrayLike | None, penetration: float) -> FloatArray:
    """The state a run begins with: given whole, or settled at (x, y, yaw), or at the origin."""
    if start is None:
        return settle(vehicle, ground, penetration=penetration).state
    values = checks.real(start, "start")
    if values.shape == (3,):
        x, y, yaw = checks.array(values, "start", (3,))
        return settle(vehicle, ground, x=x, y=y, yaw=math.remainder(yaw, 2 * math.pi), penetration=penetration).state
    if values.shape != (7 + vehicle.n_joints,):
        raise SimulationError(
            f"start: has shape {values.shape}; give (x, y, yaw) or a whole state ({7 + vehicle.n_joints},)"
        )
    return checked_state(vehicle, values, "start")
