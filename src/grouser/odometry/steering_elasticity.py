"""Elastic steering: wheels whose spokes give way when the ground resists the steering, L §4.4.3."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from grouser.checks import FloatArray
from grouser.errors import OdometryError
from grouser.odometry.inputs import check


@dataclass(frozen=True, kw_only=True)
class SteeringElasticity:
    """A wheel as a torsion spring about its steering axis, whose deflection ends at a limit, L Fig. 4.6.

    Sign: torques are those of the steering motor on the wheel, positive to the left, as motor currents tell them. The
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
            value = check.number(getattr(self, name), name)
            if value < 0.0:
                raise OdometryError(f"{name}: {value:g} must be at least 0")
            object.__setattr__(self, name, value)

    def offset(self, torque: ArrayLike) -> FloatArray:
        """How far the wheel lags behind its steering motor [rad] under the motor's torque [N m]; odd in the torque."""
        bent = self.compliance * np.asarray(torque, dtype=np.float64)
        result: FloatArray
        if self.smooth and self.limit > 0.0:
            result = self.limit * np.tanh(bent / self.limit)
        else:
            result = np.clip(bent, -self.limit, self.limit)
        return result

    def true_angle(self, measured: ArrayLike, torque: ArrayLike) -> FloatArray:
        """The wheel's angle [rad] from its motor's [rad] and torque [N m]; without torque (NaN) it is stiff."""
        bent = np.nan_to_num(self.offset(torque), nan=0.0)
        result: FloatArray = np.asarray(measured, dtype=np.float64) - bent
        return result

    def torque(self, offset: ArrayLike) -> FloatArray:
        """The torque [N m] that bends it so far [rad]; NaN at the limit and beyond, and for a rigid wheel."""
        bent = np.asarray(offset, dtype=np.float64)
        result = np.full(bent.shape, np.nan)
        inside = np.abs(bent) < self.limit
        if self.compliance > 0.0:
            share = np.where(inside, bent / max(self.limit, 1e-300), 0.0)
            straight = self.limit * np.arctanh(share) if self.smooth else bent
            result = np.where(inside, straight / self.compliance, np.nan)
        return result


LRU1 = SteeringElasticity()
"""Wheels of three titanium spokes: 2°/N m up to 5°, L §4.4.3."""
LRU2 = SteeringElasticity(compliance=0.0, limit=0.0)
"""Wheels of twelve steel spokes: rigid, L §4.4.3."""
