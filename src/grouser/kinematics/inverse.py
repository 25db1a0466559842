"""Inverse kinematics on level ground: steering angles and wheel rates of a wanted body velocity, within limits, L §2.1.

The body moves in its own plane, as if the ground were level under it: bogies at rest, no contact angles. On rough
ground the difference shows as slip. (`actuate` solves the same problem on a given ground, without limits.)
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from grouser import checks
from grouser._kernels.kinematics import steering as kernels
from grouser.checks import FloatArray
from grouser.errors import SimulationError
from grouser.once import once_each
from grouser.vehicles import Vehicle
from grouser.vehicles.tree import forward_kinematics

__all__ = ["InverseKinematics", "JointMotion", "Limits", "steering_plan", "wheels_beyond"]

LEAST_GAP = 1e-12
"""Residual of the projection onto the feasible motions at which there are none."""

PerJoint = float | Mapping[str, float]
"""One number for all, or one by joint name."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits of the joints; infinity: none."""

    steering: PerJoint = math.pi / 2
    """Largest steering angle to either side [rad], 0 < angle ≤ π; a quarter turn is enough for every motion."""
    steering_rate: PerJoint = math.inf
    """Largest rate of a steering joint [rad/s], > 0."""
    wheel_rate: PerJoint = math.inf
    """Largest rate of a driven wheel [rad/s], > 0."""
    hold_below: float = 1e-3
    """Speed of a steering pivot [m/s], ≥ 0, below which the steering angle is held: its direction is not defined."""

    def __post_init__(self) -> None:
        if checks.number(self.hold_below, "limits hold_below") < 0.0:
            raise SimulationError(f"limits hold_below: {self.hold_below:g} m/s is negative")


@dataclass(frozen=True)
class JointMotion:
    """Steering angles and wheel rates for a body velocity, and the velocity they really give."""

    steering: FloatArray
    """Angle of each steering joint [rad], in the order of `InverseKinematics.steering_joints`."""
    wheel_rates: FloatArray
    """Rate of each driven wheel [rad/s], in the order of `InverseKinematics.driven_wheels`."""
    velocity: FloatArray
    """(forward, left [m/s], turn [rad/s]) of the drive point that these give, shape (3,)."""
    scale: float
    """Share of the wanted speed that the wheel rates allow, 0 < scale ≤ 1; the path stays."""
    within_reach: bool
    """Whether the wanted turning centre is within the steering limits; else the nearest one is taken."""


class InverseKinematics:
    """Ackermann, crab and combined motion of a vehicle whose wheels are driven and steered, or only driven.

    A velocity (forward, left, turn) is that of the vehicle's drive point. A wheel may point along its path or against
    it and roll backwards: the angle nearer to the present one is taken. A vehicle with unsteered wheels does not move
    sideways, unless they have rollers: `left` is dropped. One with no steered wheels turns by skidding, each side at
    its own speed.
    """

    def __init__(self, vehicle: Vehicle, *, limits: Limits | None = None) -> None:
        """For a vehicle, whose steering joints must be actuated."""
        self.vehicle = checks.instance(vehicle, Vehicle, "vehicle", "use grouser.vehicle(name)")
        self.limits = checks.instance(limits or Limits(), Limits, "limits", "use grouser.traction.Limits(…)")
        self.steering_joints = tuple(s.joint for s in vehicle.steering)
        self.driven_wheels = tuple(
            sorted(vehicle.motors, key=lambda wheel: vehicle.actuated.index(vehicle.motors[wheel]))
        )
        _check_steering(vehicle)
        if not self.driven_wheels:
            raise SimulationError(f"inverse kinematics: '{vehicle.name}' has no driven wheel")
        self._plan = plan = steering_plan(vehicle)
        self._wheels = np.flatnonzero(plan.radius > 0.0)
        # Velocity of each pivot along and across its wheel's heading at rest, per (forward, left, turn).
        x, y = (plan.p[plan.joint, :2] - plan.reference).T
        a_x, a_y = plan.R[plan.wheel, 1, 1], -plan.R[plan.wheel, 0, 1]
        self._along = np.stack((a_x, a_y, a_y * x - a_x * y), axis=-1)
        self._across = np.stack((-a_y, a_x, a_x * x + a_y * y), axis=-1)
        self._sideways = all(
            steered or vehicle.frames[int(frame)].rollers is not None
            for steered, frame in zip(vehicle.steered, vehicle.arrays.wheel, strict=True)
            if vehicle.frames[int(frame)].slides is None
        )
        self.arm = float(np.linalg.norm(plan.p[plan.driven[self._wheels], :2] - plan.reference, axis=1).max())
        """Distance of the farthest driven wheel from the drive point [m]."""
        per_joint, wheels = self.steering_joints, self.driven_wheels
        steering_limit = _per_joint(self.limits.steering, per_joint, "limits steering", math.pi)
        self.steering_limit = np.minimum(steering_limit, [s.angle for s in vehicle.steering])
        self.steering_rate = _per_joint(self.limits.steering_rate, per_joint, "limits steering_rate", math.inf)
        self.wheel_rate = _per_joint(self.limits.wheel_rate, wheels, "limits wheel_rate", math.inf)

    def solve(
        self, forward: float = 0.0, left: float = 0.0, turn: float = 0.0, *, angles: ArrayLike | None = None
    ) -> JointMotion:
        """Joint angles and rates for a velocity of the drive point [m/s, m/s, rad/s].

        angles: present steering angles [rad], which decide between an angle and its opposite, and are held at rest;
        None: zero.
        """
        names = ("forward", "left", "turn")
        wanted = np.array([checks.number(v, name) for v, name in zip((forward, left, turn), names, strict=True)])
        present = np.zeros(len(self.steering_joints))
        if angles is not None:
            present = checks.array(angles, "angles", present.shape)
        motion, within = self._feasible(wanted)
        steering, rates = self._steer(motion, present, self.steering_limit)
        scale = float(min(1.0, np.min(self.wheel_rate / np.maximum(np.abs(rates), 1e-300))))
        return JointMotion(steering, scale * rates, scale * motion, scale, within)

    def wheel_rates(self, velocity: FloatArray, angles: FloatArray) -> FloatArray:
        """Rates [rad/s] at which the driven wheels roll along at given steering angles, without limits.

        Each takes the part of its velocity that lies along its heading; what lies across, it slips.
        """
        rates = np.empty(len(self._plan.driven))
        kernels.roll_along(self._plan, velocity, angles, rates)
        return rates[self._wheels]

    def misalignment(self, velocity: FloatArray, angles: FloatArray) -> FloatArray:
        """Angle [rad], at most π/2, between each steered wheel's heading at given angles and its velocity."""
        nearest, _ = self._steer(velocity, angles, np.full(len(angles), math.inf))
        return np.minimum(np.abs(nearest - angles), 0.5 * math.pi)

    def _steer(self, motion: FloatArray, present: FloatArray, most: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Steering angles and wheel rates of a motion that the wheels can follow."""
        steering, rates = np.empty(len(present)), np.empty(len(self._plan.driven))
        kernels.steer(self._plan, motion, present, most, float(self.limits.hold_below), steering, rates)
        return steering, rates[self._wheels]

    def _feasible(self, wanted: FloatArray) -> tuple[FloatArray, bool]:
        """The wanted motion, or the one nearest to it that the wheels can follow."""
        motion = wanted.copy()
        if not self._sideways:
            motion[1] = 0.0
        within = bool(motion[1] == wanted[1])
        narrow = np.flatnonzero(self.steering_limit < math.pi / 2 - kernels.ROUNDING)
        along, across, limit = self._along[narrow], self._across[narrow], self.steering_limit[narrow]
        u, v = along @ motion, across @ motion
        reached = np.arctan2(np.abs(v), np.abs(u)) <= limit + kernels.ROUNDING
        if (np.hypot(u, v) < self.limits.hold_below).all() or reached.all():
            return motion, within
        # Wheels roll in the directions of the wanted motion, or all in that of the body, whichever comes nearer.
        signs = [np.where(u >= 0.0, 1.0, -1.0)]
        if motion[0] != 0.0:
            signs.append(np.full(len(u), np.sign(motion[0])))
        tangent = np.tan(limit)[:, None]
        found = [self._projected(motion, tangent * sign[:, None] * along, across) for sign in signs]
        reachable = [one for one in found if one is not None]
        if not reachable:
            return np.zeros(3), False
        return min(reachable, key=lambda m: float(np.hypot(m[1] - motion[1], self.arm * (m[2] - motion[2])))), False

    def _projected(self, wanted: FloatArray, widest: FloatArray, across: FloatArray) -> FloatArray | None:
        """The motion of |across| ≤ widest nearest to the wanted one, at the same forward speed; None if there is none.

        Near is in z = (left, arm · turn) from the wanted one, both speeds. The constraints G z + c ≥ 0 are linear, and
        the z of least length is found from a non-negative least-squares problem (Lawson and Hanson, ch. 23).
        """
        from scipy.optimize import nnls

        rows = np.concatenate((widest + across, widest - across))
        G = rows[:, 1:] / np.array([1.0, self.arm]) * np.array([float(self._sideways), 1.0])
        E = np.vstack((G.T, -(rows @ wanted)))
        residual = E @ nnls(E, np.array([0.0, 0.0, 1.0]))[0] - np.array([0.0, 0.0, 1.0])
        if not -residual[2] > LEAST_GAP:
            return None
        left, turn = -residual[:2] / residual[2]
        motion: FloatArray = wanted + np.array([0.0, left, turn / self.arm])
        return motion


@once_each
def steering_plan(vehicle: Vehicle) -> kernels.SteeringPlan:
    """A vehicle's steering as the kernels take it."""
    arrays = vehicle.arrays
    R, p = forward_kinematics(vehicle.frames, vehicle.rest)
    steering = {vehicle.frame_index(s.joint): s for s in vehicle.steering}
    joint, wheel, before, trail, moved = [], [], [], [], set[int]()
    for frame in steering:
        carried = _beyond(vehicle, frame)
        first = next((int(w) for w in arrays.wheel if int(w) in carried), None)
        if first is None:
            continue
        joint.append(frame)
        wheel.append(first)
        before.append(first in moved)
        # Where a wheel is steered twice, neither of its pivots alone determines how it swings.
        twice = sum(first in _beyond(vehicle, other) for other in steering) > 1
        ahead = np.array([R[first][1, 1], -R[first][0, 1]])
        trail.append(0.0 if twice else float((p[first] - p[frame])[:2] @ ahead / np.linalg.norm(ahead)))
        moved |= carried
    turned_by = {motor: wheel for wheel, motor in vehicle.motors.items()}
    driven = [vehicle.frame_index(turned_by.get(joint, joint)) for joint in vehicle.actuated]
    radius, aside, steered = [], [], []
    for frame in driven:
        r = vehicle.frames[frame].radius or 0.0
        turned = _passive_steering_above(vehicle, frame, steering) if r else frame
        radius.append(r * math.hypot(R[frame][1, 1], R[frame][0, 1]))
        along, left = vehicle.frames[frame].held_direction
        aside.append(left / along)
        steered.append(turned if turned in steering else -1)
    feedback = [steering.get(frame) for frame in steered]
    moving = sorted(moved)
    return kernels.SteeringPlan(
        rest=vehicle.rest,
        R=np.array(R),
        p=np.array(p),
        reference=vehicle.drive_point,
        joint=joint,
        wheel=wheel,
        moved=before,
        trail=trail,
        moving=moving,
        parent=arrays.parent[moving],
        axis=arrays.joint[moving],
        rotation=arrays.rotation[moving].reshape(-1, 3, 3),
        offset=arrays.offset[moving].reshape(-1, 3),
        driven=driven,
        radius=radius,
        aside=aside,
        steered=steered,
        gain=[0.0 if s is None else s.gain for s in feedback],
        limit=[0.0 if s is None else s.limit for s in feedback],
        angle=[math.inf if s is None else s.angle for s in feedback],
    )


def wheels_beyond(vehicle: Vehicle, joint: str) -> list[int]:
    """Indices of the wheels that a steering joint carries; it must carry one."""
    carried = _beyond(vehicle, vehicle.frame_index(joint))
    wheels = [i for i, frame in enumerate(vehicle.arrays.wheel) if int(frame) in carried]
    if not wheels:
        raise SimulationError(f"steering joint '{joint}' of '{vehicle.name}' carries no wheel; do not list it")
    return wheels


def _beyond(vehicle: Vehicle, frame: int) -> set[int]:
    """A frame and those it carries."""
    carried = {frame}
    for i, parent in enumerate(vehicle.arrays.parent):
        if int(parent) in carried:
            carried.add(i)
    return carried


def _passive_steering_above(vehicle: Vehicle, frame: int, steered: Mapping[int, object]) -> int:
    """The steered but unactuated frame between a wheel and the body; −1 if there is none."""
    at = int(vehicle.arrays.parent[frame])
    while at > 0 and (at not in steered or vehicle.frames[at].actuated):
        at = int(vehicle.arrays.parent[at])
    return at if at > 0 else -1


def _check_steering(vehicle: Vehicle) -> None:
    """Refuse steering by wheel speeds, joints that steer nothing, and wheels that are steered twice."""
    above: dict[int, str] = {}
    for steering in vehicle.steering:
        if steering.joint not in vehicle.actuated:
            raise SimulationError(
                f"inverse kinematics: steering joint '{steering.joint}' of '{vehicle.name}' is passive, its wheels "
                "steer it by their speeds; use grouser.drive.twist"
            )
        for wheel in wheels_beyond(vehicle, steering.joint):
            if wheel in above:
                raise SimulationError(
                    f"inverse kinematics: wheel '{vehicle.wheels[wheel]}' of '{vehicle.name}' is steered twice, by "
                    f"'{above[wheel]}' and '{steering.joint}'"
                )
            above[wheel] = steering.joint


def _per_joint(value: PerJoint, names: tuple[str, ...], what: str, most: float) -> FloatArray:
    """A positive number for each name, at most `most`; infinity is no limit."""
    if isinstance(value, Mapping):
        unknown = [name for name in value if name not in names]
        if unknown:
            raise SimulationError(f"{what}: '{unknown[0]}' is not one of {', '.join(names)}")
        missing = [name for name in names if name not in value]
        if missing:
            raise SimulationError(f"{what}: gives nothing for {', '.join(missing)}")
        numbers = [value[name] for name in names]
    else:
        numbers = [value] * len(names)
    result = [math.inf if x == math.inf else checks.positive(x, what) for x in numbers]
    over = [x for x in result if x > most]
    if over:
        raise SimulationError(f"{what}: {over[0]:g} is more than {most:g}; is it in degrees?")
    return np.array(result, dtype=np.float64)
