"""From body velocities to joint rates at a control rate: modes of motion, rate limits, wheels that wait for their
steering."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from grouser import checks
from grouser.checks import FloatArray
from grouser.kinematics.inverse import InverseKinematics, Limits
from grouser.vehicles import Vehicle

MODES = {"ackermann": (1.0, 0.0, 1.0), "crab": (1.0, 1.0, 0.0), "combined": (1.0, 1.0, 1.0)}
"""Components (forward, left, turn) that a mode lets through. L §2.1 has the first two; the third is its outlook."""


@dataclass(frozen=True)
class JointCommand:
    """Commands to the motors for one control step."""

    rates: FloatArray
    """Rates of the actuated joints [rad/s], in the order of `vehicle.actuated`: what a drive of the engine returns."""
    target: FloatArray
    """Steering angles that are sought [rad], in the order of `vehicle.steering`."""
    velocity: FloatArray
    """(forward, left [m/s], turn [rad/s]) once the steering is there, within limits, shape (3,)."""
    alignment: float
    """Share of that speed the wheels are driven at while they still turn to their angles, 0 … 1."""


class ModeDriver:
    """Turns wanted body velocities into rate-limited joint commands, step after step.

    Steering follows its target by the gain the vehicle states for the joint, never faster than the limits. While
    wheels are misaligned, all slow down by the same factor, the cosine of the largest misalignment: from
    one mode to the next the vehicle stops, turns its wheels and continues. At rest angles are held.
    """

    def __init__(self, vehicle: Vehicle, *, mode: str = "combined", limits: Limits | None = None) -> None:
        """mode: "ackermann" (no sideways motion), "crab" (no turning) or "combined"."""
        self.inverse = InverseKinematics(vehicle, limits=limits)
        self.mode = checks.choice(mode, "mode", tuple(MODES))
        self.angles = np.zeros(len(self.inverse.steering_joints))
        """Present steering angles [rad]: measured, or as commanded."""
        actuated = list(vehicle.actuated)
        self._steering = np.array([actuated.index(j) for j in self.inverse.steering_joints], dtype=np.int64)
        self._wheels = np.array([actuated.index(vehicle.motors[w]) for w in self.inverse.driven_wheels], dtype=np.int64)
        self._gain = np.array([s.gain for s in vehicle.steering])
        self._fastest = np.minimum(self.inverse.steering_rate, [s.limit for s in vehicle.steering])
        self._count = len(actuated)

    def reset(self, angles: ArrayLike | None = None) -> None:
        """Start again with the steering at angles [rad]; None: straight."""
        n = len(self.angles)
        self.angles = np.zeros(n) if angles is None else checks.array(angles, "angles", (n,))

    def update(
        self, forward: float, left: float, turn: float, dt: float, *, angles: ArrayLike | None = None
    ) -> JointCommand:
        """Joint rates for the next dt [s] towards a velocity of the drive point [m/s, m/s, rad/s].

        angles: measured steering angles [rad]; None: those the commands so far have led to.
        """
        step = checks.positive(dt, "dt")
        if angles is not None:
            self.angles = checks.array(angles, "angles", self.angles.shape)
        given = ((forward, "forward"), (left, "left"), (turn, "turn"))
        wanted = [
            share * checks.number(value, name) for (value, name), share in zip(given, MODES[self.mode], strict=True)
        ]
        motion = self.inverse.solve(*wanted, angles=self.angles)
        gain = np.minimum(self._gain, 1.0 / step)  # beyond 1/dt the angle would overshoot
        steering = np.clip(gain * (motion.steering - self.angles), -self._fastest, self._fastest)
        away = self.inverse.misalignment(motion.velocity, self.angles)
        alignment = float(math.cos(away.max())) if len(away) else 1.0
        wheels = self.inverse.wheel_rates(alignment * motion.velocity, self.angles)
        over = float(np.max(np.abs(wheels) / self.inverse.wheel_rate))
        rates = np.zeros(self._count)
        rates[self._steering] = steering
        rates[self._wheels] = wheels / max(over, 1.0)
        self.angles = self.angles + step * steering
        return JointCommand(rates, motion.steering, motion.velocity, alignment)
