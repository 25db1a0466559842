"""What a vehicle can be commanded to do: speeds, turns and how fast they change."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

import numpy as np

from grouser.checks import Checker, FloatArray
from grouser.errors import PlanError
from grouser.kinematics.inverse import steering_plan
from grouser.once import once_each
from grouser.vehicles import Vehicle

checked = Checker(PlanError)
STEERED = 0.5
"""Largest steering angle of an axle or a wheel that shares its steering with others [rad], if the vehicle has none."""
ALL_WAYS = 1.5
"""Largest angle of all wheels above which a vehicle moves sideways and turns on the spot [rad]."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Largest commands (forward, left, turn) of the drive point, and their largest changes."""

    speed: float = 1.0
    """Largest forward speed [m/s], > 0."""
    reverse: float = 0.3
    """Largest speed backwards [m/s], ≥ 0."""
    lateral: float = 0.0
    """Largest speed to either side [m/s], ≥ 0; 0 for vehicles that cannot move sideways."""
    turn: float = 0.8
    """Largest turn rate [rad/s], > 0."""
    curvature: float = math.inf
    """Largest turn per way [1/m], > 0; infinite for vehicles that turn on the spot."""
    acceleration: float = 1.0
    """Largest change of the speeds [m/s²], > 0."""
    turn_acceleration: float = 2.0
    """Largest change of the turn rate [rad/s²], > 0."""

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            check = checked.not_negative if field.name in ("reverse", "lateral") else checked.positive
            if not (field.name == "curvature" and value == math.inf):
                object.__setattr__(self, field.name, check(value, f"limits {field.name}"))

    @property
    def least(self) -> FloatArray:
        """Smallest command (forward, left [m/s], turn [rad/s]), (3,)."""
        return np.array([-self.reverse, -self.lateral, -self.turn])

    @property
    def most(self) -> FloatArray:
        """Largest command (forward, left [m/s], turn [rad/s]), (3,)."""
        return np.array([self.speed, self.lateral, self.turn])

    @property
    def change(self) -> FloatArray:
        """Largest change of a command in a second [m/s², m/s², rad/s²], (3,)."""
        return np.array([self.acceleration, self.acceleration, self.turn_acceleration])

    @classmethod
    def of(cls, vehicle: Vehicle) -> Limits:
        """Those of a vehicle by its geometry: how tightly it turns, whether it moves sideways; speeds are defaults."""
        if not np.isin(vehicle.arrays.wheel - 1, vehicle.arrays.actuated).any():
            raise PlanError(f"'{vehicle.name}': no wheel has a motor, so it has no limits; set actuated = true")
        crab = bool(vehicle.arrays.rollers.all())
        if not vehicle.steering:
            return cls(lateral=0.5 if crab else 0.0)
        most = min(one.angle for one in vehicle.steering)
        if len(vehicle.steering) >= vehicle.n_wheels and most > ALL_WAYS:
            return cls(lateral=0.5)
        plan = steering_plan(vehicle)
        pivots, wheels = plan.p[plan.joint, 0], vehicle.wheel_positions[:, 0]
        middle = float(wheels.mean())
        if not pivots.min() < middle < pivots.max():  # one end steers; the other wheels hold the turning centre
            middle = float(wheels.min() if pivots.mean() > middle else wheels.max())
        # The inner wheel stands nearer to the turning centre than the middle by half of the track, and turns most.
        ahead, aside = np.abs(plan.p[plan.joint, :2] - (middle, 0.0)).max(axis=0)
        known = math.isfinite(most)
        radius = ahead / math.tan(min(most, 0.5 * math.pi) if known else STEERED) + known * aside
        return cls(curvature=1.0 / max(float(radius), 1e-3))


@once_each
def own_limits(vehicle: Vehicle) -> Limits:
    """Limits of a vehicle by its geometry."""
    return Limits.of(vehicle)


def limits_for(vehicle: Vehicle, limits: Limits | None) -> Limits:
    """The given limits, or those of the vehicle."""
    return own_limits(vehicle) if limits is None else checked.instance(limits, Limits, "limits", "use Limits(…)")
