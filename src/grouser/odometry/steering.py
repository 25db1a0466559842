"""Steering angles: from potentiometers with offset and gain, L §4.4.1, and of wheels that give way, L §4.4.3."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from grouser.checks import FloatArray
from grouser.errors import OdometryError
from grouser.odometry.inputs import check

LRU_RANGE = 10_000.0  # Values of the LRU's steering potentiometers over 360°, L §4.4.1


@dataclass(frozen=True)
class Potentiometer:
    """angle = gain · (value − offset), wrapped to ±π.

    L's Table 4.2 lists offsets before and after calibration and the change in degrees. With 10 000 values per turn, as
    in its text, 130 values are 4.68°; the table prints .74°, smaller by 2π, as are all its entries, as if the range
    were one radian. Wheel 1 has the other sign than wheels 2, 3 and 4 in both rovers, as if mounted the other way
    round. This class takes the text's gain.
    """

    offset: float
    """Value [counts] at angle zero."""
    gain: float = 2.0 * math.pi / LRU_RANGE
    """Angle per value [rad]; negative where it is mounted the other way round."""
    range: float | None = LRU_RANGE
    """Values [counts] after which it wraps; None if it has stops."""

    def __post_init__(self) -> None:
        for name in ("offset", "gain"):
            object.__setattr__(self, name, check.number(getattr(self, name), name))
        if self.gain == 0.0:
            raise OdometryError("gain: is zero; it is the angle per value, such as 2π/10000")
        if self.range is not None:
            object.__setattr__(self, "range", check.positive(self.range, "range"))

    def angle(self, value: ArrayLike) -> FloatArray:
        """Angle [rad] of one or more values, between −π and π; NaN where the value is outside the range or missing."""
        values = np.asarray(value, dtype=np.float64)
        with np.errstate(invalid="ignore"):
            if self.range is not None:
                values = np.where((values >= 0.0) & (values <= self.range), values, np.nan)
            turned = self.gain * (values - self.offset)
            return np.asarray(turned - 2.0 * math.pi * np.round(turned / (2.0 * math.pi)))

    def value(self, angle: ArrayLike) -> FloatArray:
        """The value it shows at an angle [rad]."""
        values: FloatArray = np.asarray(angle, dtype=np.float64) / self.gain + self.offset
        return values if self.range is None else np.mod(values, self.range)

    def change(self, offset: float) -> float:
        """By how much every angle changes [rad] if the offset is corrected to this value: gain · (old − new)."""
        turned = self.gain * (self.offset - check.number(offset, "offset"))
        return turned - 2.0 * math.pi * round(turned / (2.0 * math.pi))


@dataclass(frozen=True)
class Calibration:
    """A potentiometer found from pairs of value and angle."""

    potentiometer: Potentiometer
    """With the offset and gain found."""
    residual: FloatArray
    """Angle measured less angle found, of every pair [rad]."""
    sigma_offset: float
    """One sigma of the offset, in values; infinite where the pairs are too few."""
    sigma_gain: float
    """One sigma of the gain [rad]; zero if it was given."""


def calibrate(
    values: ArrayLike, angles: ArrayLike, *, gain: float | None = None, range: float | None = LRU_RANGE
) -> Calibration:
    """Offset, and gain if it is not given, from pairs of value and true angle [rad], by least squares.

    One pair gives the offset of a known gain, as L did with wheels aligned straight ahead. Two or more that differ in
    angle give both. Values that wrap are followed from one angle to the next, so neighbours must be less than half the
    range apart.
    """
    x, y = check.array(values, "values", (None,)), check.array(angles, "angles", (None,))
    if len(x) != len(y) or not len(x):
        raise OdometryError(f"values, angles: {len(x)} and {len(y)} do not make pairs; give one angle for each value")
    order = np.argsort(y, kind="stable")
    u, v = x[order], y[order]
    if range is not None:
        u = np.unwrap(u, period=check.positive(range, "range"))
    if gain is not None:
        slope = Potentiometer(0.0, gain).gain
    elif len(u) < 2 or np.ptp(u) == 0.0 or np.ptp(v) == 0.0:
        raise OdometryError("values, angles: one position does not give a gain; give two or more, or gain=…")
    else:
        slope = float(np.cov(u, v)[0, 1] / np.var(u, ddof=1))
    middle, height = float(u.mean()), float(v.mean())
    offset = middle - height / slope
    free = len(u) - (2 if gain is None else 1)
    residual = v - slope * (u - offset)
    scatter = math.sqrt(float(residual @ residual) / free) if free > 0 else math.inf
    spread = float(((u - middle) ** 2).sum())
    sigma_gain = scatter / math.sqrt(spread) if gain is None else 0.0
    sigma_offset = math.hypot(scatter / math.sqrt(len(u)), sigma_gain * (middle - offset)) / abs(slope)
    back = np.empty_like(residual)
    back[order] = residual
    found = Potentiometer(offset if range is None else offset % range, slope, range)
    return Calibration(found, back, sigma_offset, sigma_gain)


@dataclass(frozen=True, kw_only=True)
class SteeringElasticity:
    """A wheel as a torsion spring about its steering axis, whose deflection ends at a limit, L Fig. 4.6.

    Sign: torques are those of the steering motor on the wheel, positive to the left, as from motor currents. The
    ground holds the wheel back, so the true angle lags behind the measured one: true = measured − offset(torque). L
    states the size of the offset, not its sign; torques of the ground on the wheel enter with the other sign.
    """

    compliance: float = math.radians(2.0)
    """Deflection per torque [rad/(N m)], ≥ 0; L's 2°/N m."""
    limit: float = math.radians(5.0)
    """Largest deflection [rad], ≥ 0; L's 5°."""
    smooth: bool = False
    """Whether it bends into the limit as limit·tanh(compliance·torque/limit), for filters that need a slope."""

    def __post_init__(self) -> None:
        for name in ("compliance", "limit"):
            object.__setattr__(self, name, check.not_negative(getattr(self, name), name))

    def offset(self, torque: ArrayLike) -> FloatArray:
        """How far the wheel lags behind its steering motor [rad] under the motor's torque [N m]; odd in the torque."""
        bent = self.compliance * np.asarray(torque, dtype=np.float64)
        if self.smooth and self.limit > 0.0:
            return np.asarray(self.limit * np.tanh(bent / self.limit))
        return np.clip(bent, -self.limit, self.limit)

    def true_angle(self, measured: ArrayLike, torque: ArrayLike) -> FloatArray:
        """The wheel's angle [rad] from its motor's [rad] and torque [N m]; without torque (NaN) it is stiff."""
        bent = np.nan_to_num(self.offset(torque), nan=0.0)
        return np.asarray(np.asarray(measured, dtype=np.float64) - bent)

    def torque(self, offset: ArrayLike) -> FloatArray:
        """The torque [N m] for a deflection [rad]; NaN at the limit and beyond, and for a rigid wheel."""
        bent = np.asarray(offset, dtype=np.float64)
        if self.compliance == 0.0:
            return np.full(bent.shape, np.nan)
        inside = np.abs(bent) < self.limit
        if self.smooth:
            bent = self.limit * np.arctanh(np.where(inside, bent / max(self.limit, 1e-300), 0.0))
        return np.where(inside, bent / self.compliance, np.nan)


LRU1 = SteeringElasticity()
"""Wheels of three titanium spokes: 2°/N m up to 5°, L §4.4.3."""
LRU2 = SteeringElasticity(compliance=0.0, limit=0.0)
"""Wheels of twelve steel spokes: rigid, L §4.4.3."""
