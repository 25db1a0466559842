"""Commands for a wanted motion on level ground: each wheel rolls along its heading, each steering joint finds it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from grouser.checks import FloatArray
from grouser.vehicles import Vehicle
from grouser.vehicles.tree import forward_kinematics

UP = np.array([0.0, 0.0, 1.0])


class Segment(NamedTuple):
    """Command of every actuated joint: rate + clip(gain (target − θ_joint), ±limit)."""

    rate: FloatArray
    gain: FloatArray
    joint: FloatArray
    target: FloatArray
    limit: FloatArray

    def pack(self) -> FloatArray:
        """As the `schedule` law reads it."""
        return np.column_stack([self.rate, self.gain, self.joint, self.target, self.limit]).ravel()


def fixed_rates(rates: FloatArray) -> Segment:
    """Constant rates without feedback."""
    zero = np.zeros(len(rates))
    return Segment(rates, zero, zero, zero, zero)


def level_motion(vehicle: Vehicle, forward: float, left: float, turn: float) -> Segment:
    """Commands that move the drive point forward and left [m/s] while turning [rad/s], if the ground were level.

    Steering joints are driven to their angle by the feedback their vehicle states; passive ones (Zoë's axles) by a
    difference of left and right wheel speeds.
    """
    joints = vehicle.rest.copy()
    reference = np.array([*vehicle.drive_point, 0.0])

    def velocity_at(point: FloatArray) -> FloatArray:
        arm = point - reference
        return np.array([forward - turn * arm[1], left + turn * arm[0], 0.0])

    for steering in vehicle.steering:
        R, p = forward_kinematics(vehicle.frames, joints)
        frame = vehicle.frame_index(steering.joint)
        wheel = _first_wheel_beyond(vehicle, frame)
        if wheel is None:
            continue
        wanted = velocity_at(p[frame])
        heading = np.cross(R[wheel][:, 1], UP)
        if np.hypot(wanted[0], wanted[1]) < 1e-12:
            continue
        change = math.atan2(heading[0] * wanted[1] - heading[1] * wanted[0], float(heading @ wanted))
        change -= math.pi * round(change / math.pi)  # beyond ±90° the wheel rolls backwards instead
        joints[frame - 1] += change if R[frame][2, 2] >= 0.0 else -change

    R, p = forward_kinematics(vehicle.frames, joints)
    n = len(vehicle.actuated)
    segment = Segment(*(np.zeros(n) for _ in range(5)))
    gains = {vehicle.joint_index(s.joint): s for s in vehicle.steering}
    for a, joint in enumerate(vehicle.arrays.actuated):
        frame = int(joint) + 1
        radius = vehicle.frames[frame].radius
        if radius is not None:
            heading = np.cross(R[frame][:, 1], UP)
            segment.rate[a] = float(velocity_at(p[frame]) @ heading) / radius
            axle = _passive_steering_above(vehicle, frame, gains)
            if axle is not None:
                side = math.copysign(1.0, p[frame][1] - p[axle][1]) * math.copysign(1.0, R[axle][2, 2])
                sense = math.copysign(1.0, float(heading @ R[axle][:, 0]))
                segment.gain[a] = -side * sense * gains[axle - 1].gain / radius
                segment.joint[a] = axle - 1
                segment.target[a] = joints[axle - 1]
                segment.limit[a] = gains[axle - 1].limit / radius
        elif frame - 1 in gains:
            segment.gain[a] = gains[frame - 1].gain
            segment.joint[a] = frame - 1
            segment.target[a] = joints[frame - 1]
            segment.limit[a] = gains[frame - 1].limit
    return segment


def _first_wheel_beyond(vehicle: Vehicle, frame: int) -> int | None:
    carried = {frame}
    for i, parent in enumerate(vehicle.arrays.parent):
        if int(parent) in carried:
            carried.add(i)
    return next((int(w) for w in vehicle.arrays.wheel if int(w) in carried), None)


def _passive_steering_above(vehicle: Vehicle, frame: int, gains: Mapping[int, object]) -> int | None:
    """The steered but unactuated frame between a wheel and the body, if there is one."""
    at = int(vehicle.arrays.parent[frame])
    while at > 0:
        if at - 1 in gains and not vehicle.frames[at].actuated:
            return at
        at = int(vehicle.arrays.parent[at])
    return None
