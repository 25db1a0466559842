"""Commands for a wanted motion on level ground: each wheel rolls along its heading, each steering joint finds it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

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
    plan = _plan(vehicle)
    x_reference, y_reference = plan.reference

    def velocity_at(point: FloatArray) -> tuple[float, float]:
        return forward - turn * (float(point[1]) - y_reference), left + turn * (float(point[0]) - x_reference)

    joints = plan.rest.copy()
    R, p = plan.R, plan.p
    for frame, wheel, carried in plan.steered:
        if carried:
            R, p = _poses(plan, joints)
        wanted = velocity_at(p[frame])
        if math.hypot(*wanted) < 1e-12:
            continue
        heading = _heading(R[wheel])
        change = math.atan2(heading[0] * wanted[1] - heading[1] * wanted[0], _along(wanted, heading))
        change -= math.pi * round(change / math.pi)  # beyond ±90° the wheel rolls backwards instead
        joints[frame - 1] += change if R[frame][2, 2] >= 0.0 else -change

    R, p = _poses(plan, joints)
    segment = Segment(*np.zeros((5, len(plan.driven))))
    for a, (frame, radius, steered, gain, limit) in enumerate(plan.driven):
        if radius is not None:
            heading = _heading(R[frame])
            segment.rate[a] = _along(velocity_at(p[frame]), heading) / radius
            if steered is not None:
                R_axle = R[steered]
                side = math.copysign(1.0, p[frame][1] - p[steered][1]) * math.copysign(1.0, R_axle[2, 2])
                sense = math.copysign(1.0, heading[0] * R_axle[0, 0] + heading[1] * R_axle[1, 0])
                gain, limit = -side * sense * gain / radius, limit / radius
        if steered is not None:
            segment.gain[a], segment.limit[a] = gain, limit
            segment.joint[a], segment.target[a] = steered - 1, joints[steered - 1]
    return segment


class _Plan(NamedTuple):
    """What `level_motion` needs of a vehicle; frames are numbers, 0 is the body."""

    rest: FloatArray
    """Displacements the steering starts from, shape (nj,)."""
    R: list[FloatArray]
    """R_body_frame of each frame at rest."""
    p: list[FloatArray]
    """Its origin in body axes [m]."""
    reference: tuple[float, float]
    """The drive point [m]."""
    steered: list[tuple[int, int, bool]]
    """Steering joint, the first wheel it carries, and whether a steering joint before it moves that wheel."""
    moving: list[tuple[int, int, FloatArray, FloatArray, int]]
    """Frames that steering moves, parents first: frame, parent, R_parent_frame, offset [m], joint."""
    driven: list[tuple[int, float | None, int | None, float, float]]
    """Each actuated joint, its radius [m] if it is a wheel, the joint it steers, and that one's gain and limit."""


@once_each
def _plan(vehicle: Vehicle) -> _Plan:
    arrays = vehicle.arrays
    rest = vehicle.rest
    R, p = forward_kinematics(vehicle.frames, rest)
    gains = {vehicle.frame_index(s.joint): s for s in vehicle.steering}
    steered, moved = [], set[int]()
    for frame in gains:
        wheel = _first_wheel_beyond(vehicle, frame)
        if wheel is not None:
            steered.append((frame, wheel, wheel in moved))
            moved |= _beyond(vehicle, frame)
    driven: list[tuple[int, float | None, int | None, float, float]] = []
    for joint in arrays.actuated:
        frame = int(joint) + 1
        radius = vehicle.frames[frame].radius
        turned = _passive_steering_above(vehicle, frame, gains) if radius is not None else frame
        known = None if turned is None else gains.get(turned)
        if turned is None or known is None:
            driven.append((frame, radius, None, 0.0, 0.0))
        else:
            driven.append((frame, radius, turned, known.gain, known.limit))
    moving = [
        (f, int(arrays.parent[f]), arrays.rotation[f], arrays.offset[f], int(arrays.joint[f])) for f in sorted(moved)
    ]
    return _Plan(rest, list(R), list(p), vehicle.drive_point, steered, moving, driven)


def _poses(plan: _Plan, joints: FloatArray) -> tuple[list[FloatArray], list[FloatArray]]:
    """R_body_frame and p_body_frame with steering joints turned; as `forward_kinematics`, where anything moves."""
    R, p = plan.R.copy(), plan.p.copy()
    for frame, parent, rotation, offset, axis in plan.moving:
        theta = float(joints[frame - 1])
        R[frame] = R[parent] @ rotation
        p[frame] = p[parent] + R[parent] @ offset
        if axis >= 3:
            p[frame] = p[frame] + R[frame][:, axis - 3] * theta
        elif theta != 0.0:
            R[frame] = R[frame] @ _turn(axis, theta)
    return R, p


def _turn(axis: int, angle: float) -> FloatArray:
    c, s = float(np.cos(angle)), float(np.sin(angle))
    j, k = (axis + 1) % 3, (axis + 2) % 3
    rows = [[0.0] * 3, [0.0] * 3, [0.0] * 3]
    rows[axis][axis] = 1.0
    rows[j][j], rows[j][k], rows[k][j], rows[k][k] = c, -s, s, c
    return np.array(rows)


def _heading(R_body_wheel: FloatArray) -> tuple[float, float]:
    """Where a wheel rolls to, in the plan: its axle × up."""
    return float(R_body_wheel[1, 1]), 0.0 - float(R_body_wheel[0, 1])


def _along(velocity: tuple[float, float], heading: tuple[float, float]) -> float:
    return float(np.dot(np.array([*velocity, 0.0]), np.array([*heading, 0.0])))


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
