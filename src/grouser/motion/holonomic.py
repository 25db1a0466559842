"""A robot on rollers whose motion is a linear map of that of its wheels: nine numbers, as four are of a skid steer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from grouser.checks import FloatArray
from grouser.errors import CalibrationError
from grouser.motion.planar import Baseline
from grouser.motion.velocity import Inputs
from grouser.vehicles import Vehicle

WEAKEST = 1e-6
"""Least singular value of the directions of the measured wheels for which they determine the motion."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Holonomic(Baseline):
    """(v_x, v_y, ω) = G (v_x, v_y, ω) by the wheels without slip, in the plane of the body.

    On soft ground such a robot slips by another share ahead than sideways, and turns as it drives sideways: rollers
    sink in, and the wheels carry unequal loads. The wheels' own motion solves h·(v + ω × p) = h_x R q̇ of all measured
    wheels, with the direction h that the rollers hold.
    """

    FIELDS: ClassVar[tuple[str, ...]] = (
        "gain_x", "gain_y", "gain_turn", "x_per_y", "y_per_x", "turn_per_x", "turn_per_y", "x_per_turn", "y_per_turn",
    )  # fmt: skip

    vehicle: Vehicle
    """The vehicle, all of whose wheels have rollers."""
    gain_x: float = 1.0
    """Forward speed over that of the wheels, a ratio."""
    gain_y: float = 1.0
    """Sideways speed over that of the wheels, a ratio."""
    gain_turn: float = 1.0
    """Turn rate over that of the wheels, a ratio."""
    x_per_y: float = 0.0
    """Forward speed per sideways speed of the wheels, a ratio."""
    y_per_x: float = 0.0
    """Sideways speed per forward speed of the wheels, a ratio."""
    turn_per_x: float = 0.0
    """Turn per distance ahead [rad/m]."""
    turn_per_y: float = 0.0
    """Turn per distance to the left [rad/m]."""
    x_per_turn: float = 0.0
    """Forward speed per turn rate [m]."""
    y_per_turn: float = 0.0
    """Sideways speed per turn rate [m]."""

    def __post_init__(self) -> None:
        if not self.vehicle.arrays.rollers.all():
            raise CalibrationError(
                f"'{self.vehicle.name}' has wheels without rollers, so it cannot drive in any direction; take another"
                " model, such as kinematic"
            )

    def twists(self, inputs: Inputs) -> FloatArray:
        """Body velocity (ω, v) at each sample, (n, 6)."""
        names, rows, rims = _directions(self.vehicle)
        joints = [self.vehicle.joint_index(name) for name in names]
        used = [k for k, joint in enumerate(joints) if joint in inputs.measured]
        if len(used) < 3 or np.linalg.svd(rows[used], compute_uv=False)[-1] < WEAKEST:
            raise CalibrationError(
                f"the log measures {len(used)} wheels of '{self.vehicle.name}', which do not determine its motion;"
                " at least three are needed"
            )
        rim = inputs.rates[:, [joints[k] for k in used]] * rims[used]
        by_wheels = rim @ np.linalg.pinv(rows[used]).T
        G = np.array([
            [self.gain_x, self.x_per_y, self.x_per_turn],
            [self.y_per_x, self.gain_y, self.y_per_turn],
            [self.turn_per_x, self.turn_per_y, self.gain_turn],
        ])  # fmt: skip
        moved = by_wheels @ G.T
        out = np.zeros((len(moved), 6))
        out[:, 2], out[:, 3], out[:, 4] = moved[:, 2], moved[:, 0], moved[:, 1]
        return out


@lru_cache(maxsize=16)
def _directions(vehicle: Vehicle) -> tuple[tuple[str, ...], FloatArray, FloatArray]:
    """Wheels; how each feels (v_x, v_y, ω) along the direction that it holds, (nw, 3); its rim's share [m], (nw,)."""
    held = vehicle.held_directions
    x, y, _ = vehicle.wheel_positions.T
    rows = np.stack([held[:, 0], held[:, 1], x * held[:, 1] - y * held[:, 0]], axis=1)
    return tuple(vehicle.wheels), rows, vehicle.arrays.held[:, 0] * vehicle.arrays.radius
