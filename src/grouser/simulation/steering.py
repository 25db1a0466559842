"""Commands for a wanted motion on level ground: each wheel rolls along its heading, each steering joint finds it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from grouser._kernels.kinematics.steering import SteeringPlan
from grouser._kernels.kinematics.steering import level_motion as kernel
from grouser.checks import FloatArray
from grouser.once import once_each
from grouser.vehicles import Vehicle
from grouser.vehicles.tree import forward_kinematics


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
    out = np.empty((len(_plan(vehicle).driven), 5))
    write_level_motion(vehicle, forward, left, turn, out)
    return Segment(*out.T)


def write_level_motion(vehicle: Vehicle, forward: float, left: float, turn: float, out: FloatArray) -> None:
    """As `level_motion`, into out (na, 5): the columns are the fields of a Segment."""
    plan = _plan(vehicle)
    R, p = plan.R, plan.p
    kernel(plan, forward, left, turn, np.empty(plan.rest.shape), np.empty(R.shape), np.empty(p.shape), out)


@once_each
def _plan(vehicle: Vehicle) -> SteeringPlan:
    arrays = vehicle.arrays
    R, p = forward_kinematics(vehicle.frames, vehicle.rest)
    gains = {vehicle.frame_index(s.joint): s for s in vehicle.steering}
    steered, moved = [], set[int]()
    for frame in gains:
        wheel = _first_wheel_beyond(vehicle, frame)
        if wheel is not None:
            steered.append((frame, wheel, wheel in moved))
            moved |= _beyond(vehicle, frame)
    driven, numbers = [], []
    for joint in arrays.actuated:
        frame = int(joint) + 1
        radius = vehicle.frames[frame].radius
        turned = _passive_steering_above(vehicle, frame, gains) if radius is not None else frame
        known = None if turned is None else gains.get(turned)
        driven.append((frame, radius is not None, -1 if turned is None or known is None else turned))
        numbers.append((radius or 0.0, *((0.0, 0.0) if known is None else (known.gain, known.limit))))
    moving = sorted(moved)
    return SteeringPlan(
        rest=vehicle.rest,
        R=np.array(R),
        p=np.array(p),
        reference=vehicle.drive_point,
        steered=np.array(steered, dtype=np.int64).reshape(-1, 3),
        moving=np.array([(f, arrays.parent[f], arrays.joint[f]) for f in moving], dtype=np.int64).reshape(-1, 3),
        rotation=arrays.rotation[moving].reshape(-1, 3, 3),
        offset=arrays.offset[moving].reshape(-1, 3),
        driven=np.array(driven, dtype=np.int64).reshape(-1, 3),
        numbers=np.array(numbers).reshape(-1, 3),
    )


def _beyond(vehicle: Vehicle, frame: int) -> set[int]:
    """A frame and those it carries."""
    carried = {frame}
    for i, parent in enumerate(vehicle.arrays.parent):
        if int(parent) in carried:
            carried.add(i)
    return carried


def _first_wheel_beyond(vehicle: Vehicle, frame: int) -> int | None:
    carried = _beyond(vehicle, frame)
    return next((int(w) for w in vehicle.arrays.wheel if int(w) in carried), None)


def _passive_steering_above(vehicle: Vehicle, frame: int, steered: Mapping[int, object]) -> int | None:
    """The steered but unactuated frame between a wheel and the body, if there is one."""
    at = int(vehicle.arrays.parent[frame])
    while at > 0:
        if at in steered and not vehicle.frames[at].actuated:
            return at
        at = int(vehicle.arrays.parent[at])
    return None
