"""Planar odometries: differential drive, with a yaw gain, a four-number fit, a bicycle, wheels with rollers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple, Self

import numpy as np

from grouser.checks import FloatArray
from grouser.errors import CalibrationError
from grouser.logs.log import IntArray
from grouser.motion.vehicle_fields import ASIDE, changed, numbers
from grouser.motion.velocity import Inputs, VelocityModel
from grouser.once import once_each
from grouser.vehicles import Vehicle

WEAKEST = 1e-6
"""Least singular value of the directions of the measured wheels for which they determine the motion."""


class Baseline(VelocityModel):
    """A velocity model, a dataclass, whose parameters are its fields of numbers: model.<field>."""

    @property
    def parameters(self) -> dict[str, float]:
        """Values that calibration may change."""
        numbers = [f.name for f in fields(self) if isinstance(f.default, float)]  # type: ignore[arg-type]
        return {f"model.{name}": float(getattr(self, name)) for name in numbers}

    def with_parameters(self, values: Mapping[str, float]) -> Self:
        """The same model with some of them changed, each in its unit."""
        unknown = [name for name in values if name not in self.parameters]
        if unknown:
            known = ", ".join(self.parameters)
            raise CalibrationError(f"no parameter {unknown[0]!r:.60} in {type(self).__name__}; there are {known}")
        changes = {name.partition(".")[2]: float(value) for name, value in values.items()}
        return replace(self, **changes)  # type: ignore[type-var]


@dataclass(frozen=True, eq=False, kw_only=True)
class TwoSided(Baseline):
    """A baseline driven by the mean rim speeds v_l, v_r of the measured wheels of each side."""

    vehicle: Vehicle
    """The vehicle."""
    left: tuple[str, ...] | None = None
    """Wheels of the left side; None: those left of the body's middle."""
    right: tuple[str, ...] | None = None
    """Wheels of the right side."""

    def _ahead_and_turn(self, inputs: Inputs) -> tuple[FloatArray, FloatArray]:
        """(v_l + v_r)/2 [m/s] and (v_r − v_l)/B [rad/s], (n,) each."""
        vehicle, g = self.vehicle, _geometry(self.vehicle)
        rims = inputs.rates[:, g.joint] * g.radius
        measured = np.isin(g.joint, inputs.measured)
        speeds, places = [], []
        for side, sign, names in (("left", 1.0, self.left), ("right", -1.0, self.right)):
            unknown = [name for name in names or () if name not in vehicle.wheels]
            if unknown:
                raise CalibrationError(
                    f"'{vehicle.name}' has no wheel {unknown[0]!r:.40}; wheels are {', '.join(vehicle.wheels)}"
                )
            used = measured & (sign * g.y > ASIDE if names is None else np.isin(vehicle.wheels, names))
            if not used.any():
                raise CalibrationError(
                    f"the log measures no wheel on the {side} of '{vehicle.name}'; differential drive needs both sides"
                )
            speeds.append(rims[:, used].mean(axis=1))
            places.append(g.y[used].mean())
        return 0.5 * (speeds[0] + speeds[1]), (speeds[1] - speeds[0]) / (places[0] - places[1])

    @property
    def spec(self) -> dict[str, Any]:
        """Fields that a fit file holds besides parameters and vehicle."""
        return {side: list(getattr(self, side)) for side in ("left", "right") if getattr(self, side) is not None}


@dataclass(frozen=True, eq=False, kw_only=True)
class DifferentialDrive(TwoSided):
    """v_x = (v_l + v_r)/2, ω_z = α (v_r − v_l)/B in the plane of the body, T (3.64)–(3.66).

    v_l, v_r are mean rim speeds of the measured wheels of each side and B the distance between the sides. No sideways
    motion of the vehicle's `drive_point`.
    """

    yaw_gain: float = 1.0
    """α of (3.66), a ratio of turn rates; 1 is plain differential drive."""

    def twists(self, inputs: Inputs) -> FloatArray:
        """Body velocity (ω, v) at each sample, (n, 6)."""
        forward, turn = self._ahead_and_turn(inputs)
        return planar(forward, self.yaw_gain * turn, _geometry(self.vehicle).point)


@dataclass(frozen=True, eq=False, kw_only=True)
class FourNumbers(TwoSided):
    """Differential drive with two gains, a sideways motion in turns and a turn in straight drives.

    v_x = g_v (v_l + v_r)/2, ω_z = g_ω (v_r − v_l)/B + c v_x, v_y = d ω_z: the point of the body d behind its origin has
    no sideways motion. Signs as in the fit of the Warthog logs, which this repeats.
    """

    speed_gain: float = 1.0
    """g_v, ratio of the speed over the ground to the rims'."""
    yaw_gain: float = 1.0
    """g_ω, ratio of the turn rate to that of the wheels."""
    lateral: float = 0.0
    """d, sideways speed per turn rate [m]."""
    yaw_per_speed: float = 0.0
    """c, turn per distance [rad/m]."""

    def twists(self, inputs: Inputs) -> FloatArray:
        """Body velocity (ω, v) at each sample, (n, 6)."""
        ahead, turn = self._ahead_and_turn(inputs)
        forward = self.speed_gain * ahead
        return planar(forward, self.yaw_gain * turn + self.yaw_per_speed * forward, (-self.lateral, 0.0))


@dataclass(frozen=True, eq=False, kw_only=True)
class Bicycle(Baseline):
    """Ackermann steering as one wheel amid each axle: ω_z = v_x tan δ/L, and no sideways motion of the rear axle.

    v_x is from the mean rim speed of the measured wheels that do not steer, or of those that do where no other is
    measured. The curvature is the mean of those of the steered wheels.
    """

    vehicle: Vehicle
    """The vehicle: some wheels steer, some do not."""
    speed_gain: float = 1.0
    """Ratio of the speed over the ground to the rim speed."""
    steering_offset: float = 0.0
    """Added to every measured steering angle [rad]."""
    wheelbase: float = 0.0
    """L [m] from the axle that does not steer to the one that does; 0 takes the vehicle's."""

    def __post_init__(self) -> None:
        if self.wheelbase == 0.0:
            object.__setattr__(self, "wheelbase", _geometry(self.vehicle).wheelbase)

    def twists(self, inputs: Inputs) -> FloatArray:
        """Body velocity (ω, v) at each sample, (n, 6)."""
        g = _geometry(self.vehicle)
        steers = g.steering >= 0
        measured = steers & np.isfinite(inputs.angles[:, g.steering]).all(axis=0)
        if not measured.any():
            raise CalibrationError(
                f"the log measures no steering angle of '{self.vehicle.name}'; its manifest must map columns to"
                f" {', '.join(self.vehicle.joints[j] for j in g.steering[steers])} in [angles]"
            )
        ahead = np.where(steers, self.wheelbase / g.wheelbase, 1.0) * g.ahead
        slope = np.tan(inputs.angles[:, g.steering[measured]] + self.steering_offset)
        curvature = (slope / (ahead[measured] + g.aside[measured] * slope)).mean(axis=1, keepdims=True)
        used = np.isin(g.joint, inputs.measured)
        if not used.any():
            raise CalibrationError(f"the log measures no wheel of '{self.vehicle.name}', so its speed is not known")
        used = used & ~steers if (used & ~steers).any() else used
        # Path of a wheel per path of the drive point; 1 − κ y for one to its left.
        longer = np.hypot(1.0 - curvature * g.aside[used], curvature * ahead[used])
        forward = self.speed_gain * (inputs.rates[:, g.joint[used]] * g.radius[used] / longer).mean(axis=1)
        return planar(forward, forward * curvature[:, 0], g.point)

    @property
    def driven_vehicle(self) -> Vehicle:
        """The vehicle with its steered wheels at this wheelbase, and turned by the steering offset."""
        g, values, change = _geometry(self.vehicle), numbers(self.vehicle), {}
        for wheel in np.flatnonzero(g.steering >= 0):
            name = self.vehicle.joints[g.steering[wheel]]
            change[f"{name}.x"] = values[f"{name}.x"] + (self.wheelbase / g.wheelbase - 1.0) * g.ahead[wheel]
            change[f"{name}.yaw"] = values[f"{name}.yaw"] + self.steering_offset
        return changed(self.vehicle, change)


@dataclass(frozen=True, eq=False, kw_only=True)
class Holonomic(Baseline):
    """(v_x, v_y, ω) = G (v_x, v_y, ω) of the wheels without slip, in the plane of the body.

    On soft ground such a robot slips differently ahead and sideways, and turns as it drives sideways: rollers sink in,
    and the wheels carry unequal loads. Without slip h·(v + ω × p) = h_x R q̇ at all measured wheels, with the direction
    h that the rollers hold.
    """

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
        rows, rims = _directions(self.vehicle)
        joints = [self.vehicle.joint_index(name) for name in self.vehicle.wheels]
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


def nominal_model(vehicle: Vehicle) -> DifferentialDrive | Bicycle:
    """The odometry of a vehicle's kind: a bicycle if some wheels steer and some do not, else differential drive."""
    steered = vehicle.steered
    if vehicle.drives_any_way or all(steered):
        how = "drives in any direction on rollers" if vehicle.drives_any_way else "steers all its wheels"
        raise CalibrationError(
            f"'{vehicle.name}' {how}; odometry of two sides or of a bicycle does not describe it,"
            " use grouser.Kinematics"
        )
    return Bicycle(vehicle=vehicle) if any(steered) else DifferentialDrive(vehicle=vehicle)


def planar(forward: FloatArray, turn: FloatArray, point: tuple[float, float]) -> FloatArray:
    """Velocity (ω, v) of the body, (n, 6), whose point (x, y) moves straight ahead [m/s] while it turns [rad/s]."""
    out = np.zeros((len(forward), 6))
    out[:, 2] = turn
    out[:, 3] = forward + point[1] * turn
    out[:, 4] = -point[0] * turn
    return out


class _Geometry(NamedTuple):
    """The wheels of a vehicle, (nw,) each."""

    joint: IntArray
    radius: FloatArray
    y: FloatArray
    """To the left of the body's middle [m]."""
    ahead: FloatArray
    """Ahead of the drive point [m]."""
    aside: FloatArray
    """To the left of it [m]."""
    steering: IntArray
    """Joint that steers each wheel, −1 where none does."""
    point: tuple[float, float]
    """The drive point in the body [m]."""
    wheelbase: float
    """Mean distance of the steered wheels ahead of the drive point [m]; 1 if there are none."""


@once_each
def _geometry(vehicle: Vehicle) -> _Geometry:
    (x, y, _), point = vehicle.wheel_positions.T, vehicle.drive_point
    turned_by: dict[str | None, int] = {None: -1}
    turning = {one.joint for one in vehicle.steering}
    for frame in vehicle.frames:
        own = frame.name in turning
        turned_by[frame.name] = vehicle.joint_index(frame.name) if own else turned_by[frame.parent]
    steering, ahead = np.array([turned_by[wheel] for wheel in vehicle.wheels]), x - point[0]
    return _Geometry(
        joint=vehicle.arrays.wheel - 1,
        radius=vehicle.arrays.radius,
        y=y,
        ahead=ahead,
        aside=y - point[1],
        steering=steering,
        point=point,
        wheelbase=float(np.mean(ahead[steering >= 0])) if (steering >= 0).any() else 1.0,
    )


@once_each
def _directions(vehicle: Vehicle) -> tuple[FloatArray, FloatArray]:
    """Rows (nw, 3): the velocity along the direction each wheel holds per (v_x, v_y, ω); that per wheel rate [m]."""
    held = vehicle.held_directions
    x, y, _ = vehicle.wheel_positions.T
    rows = np.stack([held[:, 0], held[:, 1], x * held[:, 1] - y * held[:, 0]], axis=1)
    return rows, vehicle.arrays.held[:, 0] * vehicle.arrays.radius
