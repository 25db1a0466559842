"""How noisy the inputs of wheel odometry are, L §4.5."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from grouser import checks
from grouser.checks import FloatArray
from grouser.errors import SimulationError
from grouser.vehicles import Vehicle

LRU_RATES = {"FL": 0.0076, "FR": 0.0077, "BR": 0.0095, "BL": 0.0097}
"""Variance of the wheel rates of the LRU at 100 Hz [rad²/s²], (4.43): its wheels 1, 2, 3, 4."""


@dataclass(frozen=True, eq=False, kw_only=True)
class EncoderNoise:
    """Noise of what odometry takes in; the covariance of the body's velocity is its propagation, (4.47).

    The defaults are those of the LRU: rates as (4.43), angles without noise as in L §4.5.1.
    """

    rate: float | Mapping[str, float] = 0.0086
    """Variance of a sampled wheel rate [rad²/s²], for all wheels or by joint; the mean of (4.43)."""
    angle: float | Mapping[str, float] = 0.0
    """One sigma of a measured steering or joint angle [rad or m], for all joints that are not wheels, or by joint."""
    contact_angle: float = 0.0
    """One sigma of the contact angles [rad]: how rough the ground is where they are assumed to be zero."""
    attitude: float = 0.005
    """One sigma of measured roll and of measured pitch [rad]."""
    attitude_time: float = 0.0
    """How long an error of roll or pitch lasts [s]; 0: every sample has its own."""
    gyro: float = 0.005
    """One sigma of a sampled turn rate of the gyro [rad/s], about each axis."""
    white: float = 1.0
    """Share of the variance of the rates that is independent from sample to sample, 0 to 1, and so moves the pose.

    Rates that are differences of encoder positions, (4.42), take back in the next sample what quantisation added in
    this one: their share is near zero. 1 is the careful choice.
    """
    period: float = 0.01
    """Period of the samples [s], used where a step is not known yet."""

    def __post_init__(self) -> None:
        for name in ("contact_angle", "attitude", "attitude_time", "gyro", "white"):
            value = checks.number(getattr(self, name), f"noise {name}")
            if value < 0.0 or (name == "white" and value > 1.0):
                bound = "between 0 and 1" if name == "white" else "at least 0"
                raise SimulationError(f"noise {name}: {value:g} must be {bound}")
            object.__setattr__(self, name, value)
        object.__setattr__(self, "period", checks.positive(self.period, "noise period"))
        for name in ("rate", "angle"):
            given = getattr(self, name)
            values = dict(given) if isinstance(given, Mapping) else {"": given}
            for joint, value in values.items():
                where = f"noise {name}" + (f" of '{joint}'" if joint else "")
                if checks.number(value, where) < 0.0:
                    raise SimulationError(f"{where}: {value:g} must be at least 0")
            object.__setattr__(
                self, name, {k: float(v) for k, v in values.items()} if "" not in values else float(given)
            )

    @classmethod
    def lru(cls) -> EncoderNoise:
        """That of the LRU, wheel by wheel, (4.43)."""
        return cls(rate=LRU_RATES)

    def of_joints(self, vehicle: Vehicle) -> tuple[FloatArray, FloatArray]:
        """Variance of the rate and sigma of the angle of every joint, (nj,) each; joints without a wheel: rate 0."""
        variance, sigma = np.zeros(vehicle.n_joints), np.zeros(vehicle.n_joints)
        wheels = set(vehicle.wheels)
        for given, out, default in (
            (self.rate, variance, [j for j in vehicle.joints if j in wheels]),
            (self.angle, sigma, [j for j in vehicle.joints if j not in wheels]),
        ):
            values = given if isinstance(given, Mapping) else dict.fromkeys(default, given)
            for joint, value in values.items():
                out[vehicle.joint_index(joint)] = value
        return variance, sigma


def slip_factor(slip: float, scale: float) -> float:
    """f(s) of (4.48), by which slip enlarges the covariance: (1 + k s)², so that one sigma grows by k times the slip.

    L leaves f open. With the default k = 10 a slip of a tenth doubles one sigma; this is a choice, not a measurement.
    """
    return (1.0 + scale * abs(slip)) ** 2
