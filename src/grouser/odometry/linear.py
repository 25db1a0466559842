"""The simple odometries sample by sample: velocity as a map of the joint rates, and the slip surface of P on it."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from grouser.checks import FloatArray
from grouser.errors import CalibrationError, SimulationError
from grouser.motion.planar import Bicycle, DifferentialDrive, FourNumbers, nominal_model
from grouser.motion.slip_surface import Perturbative
from grouser.motion.velocity import Inputs, VelocityModel
from grouser.vehicles import Vehicle

NO_SLIP = np.zeros(13)


class RateMap:
    """Velocity (ω, v) per unit rate of each joint, (6, nj), for the joints that are measured in a sample."""

    def __init__(self, model: VelocityModel, surface: FloatArray) -> None:
        """Of a model whose twists are linear in the rates; `surface` are α₁…α₁₃ of P (13)."""
        self.surface = surface
        self._model = model
        self._measured: bytes | None = None
        self._columns = np.zeros((6, model.vehicle.n_joints))

    def fill(self, rates: FloatArray, angles: FloatArray, out: FloatArray) -> None:
        """Write the map for a sample; NaN if its measured wheels do not suffice."""
        measured = np.isfinite(rates).tobytes()
        if measured != self._measured:
            self._measured = measured
            self._columns = self._made(np.flatnonzero(np.isfinite(rates)), angles)
        out[:] = self._columns

    def _made(self, joints: NDArray[np.int64], angles: FloatArray) -> FloatArray:
        """The velocities that a unit rate of each measured joint alone would give: one sample each."""
        n, nj = len(joints), len(angles)
        rates = np.full((n, nj), math.nan)
        rates[:, joints] = np.eye(n)
        given = Inputs(time=np.arange(float(n)), attitude=np.zeros((n, 2)), rates=rates, angles=np.tile(angles, (n, 1)))
        out = np.zeros((6, nj))
        try:
            out[:, joints] = self._model.twists(given).T
        except CalibrationError:
            out[:] = math.nan
        return out


class BicycleMap(RateMap):
    """The map of a bicycle, whose curvature follows the steering angles: `Bicycle.twists` for one sample.

    Steering angles that are missing keep their last value, straight ahead at first.
    """

    def __init__(self, model: Bicycle, surface: FloatArray) -> None:
        """For a bicycle."""
        super().__init__(model, surface)
        vehicle = model.vehicle
        self._gain, self._offset = model.speed_gain, model.steering_offset
        self._point = x, y = vehicle.drive_point
        steering = steering_joints(vehicle)
        places = dict(zip(vehicle.wheels, vehicle.wheel_positions, strict=True))
        base = float(np.mean([places[w][0] - x for w in steering]))
        self._last = dict.fromkeys(steering.values(), 0.0)
        self._wheels = []
        for wheel, radius in zip(vehicle.wheels, vehicle.arrays.radius, strict=True):
            ahead = float(places[wheel][0] - x)
            if wheel in steering:  # where the model says that the steered axle is
                ahead *= model.wheelbase / base
            row = (
                vehicle.joint_index(wheel),
                float(radius),
                ahead,
                float(places[wheel][1] - y),
                steering.get(wheel, -1),
            )
            self._wheels.append(row)

    def fill(self, rates: FloatArray, angles: FloatArray, out: FloatArray) -> None:
        """Write the map for a sample; NaN if no wheel is measured."""
        given, spins = angles.tolist(), rates.tolist()
        curvature = 0.0
        steered = 0
        for _, _, ahead, aside, j in self._wheels:
            if j < 0:
                continue
            if math.isfinite(given[j]):
                self._last[j] = given[j]
            slope = math.tan(self._last[j] + self._offset)
            curvature += slope / (ahead + aside * slope)
            steered += 1
        curvature /= steered
        measured = [row for row in self._wheels if math.isfinite(spins[row[0]])]
        used = [row for row in measured if row[4] < 0] or measured
        out[:] = 0.0 if used else math.nan
        for joint, radius, ahead, aside, _ in used:
            # Path of a wheel per path of the drive point; 1 − κ y for one beside it.
            longer = math.hypot(1.0 - curvature * aside, curvature * ahead)
            forward = self._gain * radius / longer / len(used)
            out[2, joint] = forward * curvature
            out[3, joint] = forward * (1.0 + self._point[1] * curvature)
            out[4, joint] = -forward * self._point[0] * curvature


def steering_joints(vehicle: Vehicle) -> dict[str, int]:
    """Steered wheel → index of the joint that steers it."""
    frames = {frame.name: frame for frame in vehicle.frames}
    turning = {one.joint for one in vehicle.steering}
    found = {}
    for wheel in vehicle.wheels:
        at: str | None = wheel
        while at is not None and at not in turning:
            at = frames[at].parent
        if at is not None:
            found[wheel] = vehicle.joint_index(at)
    return found


def rate_map(model: VelocityModel) -> RateMap:
    """The map of a baseline or of the perturbative model."""
    surface = NO_SLIP
    if isinstance(model, Perturbative):
        surface = model.slip
        model = nominal_model(model.vehicle)
    if isinstance(model, Bicycle):
        return BicycleMap(model, surface)
    if isinstance(model, (DifferentialDrive, FourNumbers)):
        return RateMap(model, surface)
    raise SimulationError(
        f"odometry cannot take {type(model).__name__} sample by sample; use Kinematics, Perturbative or a baseline"
    )
