"""Inverse kinematics: the steering angles and wheel rates of a wanted body velocity, within limits, L §2.1.

The body moves in its own plane, as if the ground were level under it: bogies at rest, no contact angles. On rough
ground the difference shows as slip. (`kinematics.actuate` solves the same problem on a given ground and knows no
limits; `simulation.steering.level_motion` makes the drives of a simulation, one motion at a time. Neither runs at a
control rate.)
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from grouser import checks
from grouser.checks import FloatArray
from grouser.errors import SimulationError
from grouser.traction.turning_centre import Wedge, nearest_motion
from grouser.vehicles import Vehicle
from grouser.vehicles.tree import forward_kinematics

UP = np.array([0.0, 0.0, 1.0])
ROUNDING = 1e-9
"""Angle [rad] by which rounding may exceed a limit."""

PerJoint = float | Mapping[str, float]
"""One number for all, or one by joint name."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What the joints can do; no limit is infinity."""

    steering: PerJoint = math.pi / 2
    """Largest steering angle to either side [rad], 0 < angle ≤ π; a quarter turn is enough for every motion."""
    steering_rate: PerJoint = math.inf
    """Largest rate of a steering joint [rad/s], > 0."""
    wheel_rate: PerJoint = math.inf
    """Largest rate of a driven wheel [rad/s], > 0."""
    hold_below: float = 1e-3
    """Speed of a steering pivot [m/s], ≥ 0, below which its direction means nothing: the steering angle is held."""

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
    sideways: `left` is dropped. One with no steered wheels turns by skidding, each side at its own speed.
    """

    def __init__(self, vehicle: Vehicle, *, limits: Limits | None = None) -> None:
        """For a vehicle, whose steering joints must be actuated."""
        self.vehicle = checks.instance(vehicle, Vehicle, "vehicle", "use grouser.vehicle(name)")
        self.limits = checks.instance(limits or Limits(), Limits, "limits", "use grouser.traction.Limits(…)")
        self.steering_joints = tuple(s.joint for s in vehicle.steering)
        self.driven_wheels = tuple(name for name in vehicle.actuated if name in vehicle.wheels)
        for joint in self.steering_joints:
            if joint not in vehicle.actuated:
                raise SimulationError(
                    f"inverse kinematics: steering joint '{joint}' of '{vehicle.name}' is passive, its wheels steer it "
                    f"by their speeds; use grouser.drive.twist"
                )
        if not self.driven_wheels:
            raise SimulationError(f"inverse kinematics: '{vehicle.name}' has no driven wheel")
        self._geometry()
        self.steering_limit = _per_joint(self.limits.steering, self.steering_joints, "limits steering", math.pi)
        self.steering_rate = _per_joint(
            self.limits.steering_rate, self.steering_joints, "limits steering_rate", math.inf
        )
        self.wheel_rate = _per_joint(self.limits.wheel_rate, self.driven_wheels, "limits wheel_rate", math.inf)

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
        steering = self._angles(motion, present)
        rates = self._rates(motion, steering)
        scale = float(min(1.0, np.min(self.wheel_rate / np.maximum(np.abs(rates), 1e-300))))
        return JointMotion(steering, scale * rates, scale * motion, scale, within)

    def wheel_rates(self, velocity: FloatArray, angles: FloatArray) -> FloatArray:
        """Rates [rad/s] at which the driven wheels roll along at given steering angles, without limits.

        Each takes the part of its velocity that lies along its heading; what lies across, it slips.
        """
        return self._rates(velocity, angles)

    def misalignment(self, velocity: FloatArray, angles: FloatArray) -> FloatArray:
        """Angle [rad], at most π/2, between each steered wheel's heading at given angles and its velocity."""
        choices, speed = self._choices(velocity)
        away = choices - angles[:, None]
        away -= 2.0 * math.pi * np.round(away / (2.0 * math.pi))
        nearest = np.minimum(np.abs(away).min(axis=1), 0.5 * math.pi)
        return np.where(speed < self.limits.hold_below, 0.0, nearest)

    def _geometry(self) -> None:
        """Pivots, headings and radii with the joints at rest; z is left out."""
        vehicle = self.vehicle
        R, p = forward_kinematics(vehicle.frames, vehicle.rest)
        reference = np.array(vehicle.drive_point)
        carrier = {f: _steering_above(vehicle, f, self.steering_joints) for f in vehicle.wheels}
        pivots, axes, senses, trails = [], [], [], []
        for joint in self.steering_joints:
            wheels = [w for w in vehicle.wheels if carrier[w] == joint]
            if not wheels:
                raise SimulationError(f"steering joint '{joint}' of '{vehicle.name}' carries no wheel; do not list it")
            frame = vehicle.frame_index(joint)
            ahead = _heading(R[vehicle.frame_index(wheels[0])])
            pivots.append(p[frame][:2] - reference)
            axes.append(ahead)
            senses.append(1.0 if R[frame][2, 2] >= 0.0 else -1.0)
            # Wheels of one joint share an axle, so one trail stands for all.
            trails.append(float((p[vehicle.frame_index(wheels[0])][:2] - p[frame][:2]) @ ahead))
        self._pivot = np.array(pivots).reshape(-1, 2)
        self._axis = np.array(axes).reshape(-1, 2)
        self._sense = np.array(senses)
        self._trail = np.array(trails)
        index = {joint: k for k, joint in enumerate(self.steering_joints)}
        frames = [vehicle.frame_index(w) for w in self.driven_wheels]
        self._carrier = np.array([index.get(carrier[w] or "", -1) for w in self.driven_wheels])
        self._heading = np.array([_heading(R[f]) for f in frames])
        self._centre = np.array([p[f][:2] for f in frames]) - reference
        self._radius = np.array([vehicle.frames[f].radius for f in frames], dtype=np.float64)
        self._has_fixed = not all(vehicle.steered)
        self.arm = float(np.linalg.norm(self._centre, axis=1).max())
        """Distance of the farthest driven wheel from the drive point [m]."""

    def _pivot_velocity(self, velocity: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Velocity of each pivot along and across its wheel's heading at angle zero, (ns, 2), and its speed."""
        v = np.stack([velocity[0] - velocity[2] * self._pivot[:, 1], velocity[1] + velocity[2] * self._pivot[:, 0]], 1)
        along = np.einsum("ij,ij->i", v, self._axis)
        across = v[:, 1] * self._axis[:, 0] - v[:, 0] * self._axis[:, 1]
        return np.stack([along, across], 1), np.hypot(v[:, 0], v[:, 1])

    def _choices(self, velocity: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The angles at which each wheel rolls along its path and against it, (ns, 2), and the speed of its pivot."""
        u, speed = self._pivot_velocity(velocity)
        direction = np.arctan2(u[:, 1], u[:, 0])
        # A wheel ahead of its pivot is turned further, so that it too rolls along its heading.
        swing = np.arcsin(np.clip(velocity[2] * self._trail / np.maximum(speed, 1e-12), -1.0, 1.0))
        ways = np.stack([direction + swing, direction + math.pi - swing], axis=1)
        return ways * self._sense[:, None], speed

    def _feasible(self, wanted: FloatArray) -> tuple[FloatArray, bool]:
        """The wanted motion, or the one nearest to it that the wheels can follow."""
        motion = wanted.copy()
        if self._has_fixed:
            motion[1] = 0.0
        within = bool(motion[1] == wanted[1])
        narrow = np.flatnonzero(self.steering_limit < math.pi / 2 - ROUNDING)
        if len(narrow) == 0:
            return motion, within
        u, speed = self._pivot_velocity(motion)
        needed = np.abs(np.arctan2(u[narrow, 1], np.abs(u[narrow, 0])))
        if (speed[narrow] < self.limits.hold_below).all() or (needed <= self.steering_limit[narrow] + ROUNDING).all():
            return motion, within
        wedges = [Wedge(self._pivot[k], self._axis[k], math.tan(self.steering_limit[k])) for k in narrow]
        return nearest_motion(motion, wedges, self.arm, sideways=not self._has_fixed), False

    def _angles(self, motion: FloatArray, present: FloatArray) -> FloatArray:
        if len(present) == 0:
            return present
        ways, speed = self._choices(motion)
        # Every full turn of either is the same; the nearest to the present angle within the limit counts.
        choices = np.concatenate([ways, ways - 2.0 * math.pi, ways + 2.0 * math.pi], axis=1)
        allowed = np.abs(choices) <= self.steering_limit[:, None] + ROUNDING
        cost = np.where(allowed, np.abs(choices - present[:, None]), np.inf)
        best = np.argmin(cost, axis=1)
        rows = np.arange(len(present))
        chosen = np.clip(choices[rows, best], -self.steering_limit, self.steering_limit)
        held = (speed < self.limits.hold_below) | ~np.isfinite(cost[rows, best])
        result: FloatArray = np.where(held, present, chosen)
        return result

    def _rates(self, motion: FloatArray, angles: FloatArray) -> FloatArray:
        turned = np.append(angles * self._sense, 0.0)[self._carrier]
        c, s = np.cos(turned), np.sin(turned)
        heading = np.stack(
            [c * self._heading[:, 0] - s * self._heading[:, 1], s * self._heading[:, 0] + c * self._heading[:, 1]], 1
        )
        offset = self._centre.copy()
        steered = self._carrier >= 0
        pivot = self._pivot[self._carrier[steered]]
        arm = offset[steered] - pivot
        c, s = c[steered], s[steered]
        offset[steered] = pivot + np.stack([c * arm[:, 0] - s * arm[:, 1], s * arm[:, 0] + c * arm[:, 1]], 1)
        v_x = motion[0] - motion[2] * offset[:, 1]
        v_y = motion[1] + motion[2] * offset[:, 0]
        rates: FloatArray = (v_x * heading[:, 0] + v_y * heading[:, 1]) / self._radius
        return rates


def _heading(R_body_wheel: FloatArray) -> FloatArray:
    """Direction (x, y) in which a wheel rolls when it turns forward: wheel y × up."""
    ahead = np.cross(R_body_wheel[:, 1], UP)[:2]
    result: FloatArray = ahead / np.linalg.norm(ahead)
    return result


def _steering_above(vehicle: Vehicle, wheel: str, joints: tuple[str, ...]) -> str | None:
    """The steering joint between a wheel and the body; refused where there are two."""
    found = None
    at = int(vehicle.arrays.parent[vehicle.frame_index(wheel)])
    while at > 0:
        name = vehicle.frames[at].name
        if name in joints:
            if found is not None:
                raise SimulationError(
                    f"inverse kinematics: wheel '{wheel}' of '{vehicle.name}' is steered twice, by '{found}' "
                    f"and '{name}'"
                )
            found = name
        at = int(vehicle.arrays.parent[at])
    return found


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
