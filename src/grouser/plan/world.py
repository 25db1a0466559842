"""A true vehicle on a true ground, and what its sensors read."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from grouser import rotation
from grouser.checks import Checker, FloatArray
from grouser.errors import PlanError
from grouser.fusion.settings import FusionSettings
from grouser.logs.log import Sensor
from grouser.odometry.inputs import EncoderNoise
from grouser.robot.settings import RobotSettings
from grouser.simulation.status import Status
from grouser.simulation.stepping import Simulation
from grouser.terrain import Terrain

checked = Checker(PlanError)
SOIL = 20.0
"""Length along which the estimator takes soils to be alike [m]."""
LEAST = 1e-4
"""Smallest sigma that an estimator is given, in any unit: one that is zero has no weight."""


@dataclass(frozen=True, kw_only=True)
class Sensors:
    """Noise of the simulated sensors, one sigma each, independent from sample to sample; IMU and poses have no bias."""

    wheel_rate: float = 0.02
    """Of wheel rates [rad/s]."""
    angle: float = 0.002
    """Of joint angles [rad]."""
    gyro: float = 0.002
    """[rad/s]."""
    accelerometer: float = 0.05
    """[m/s²]."""
    position: float = 0.02
    """Of positions in the world [m], such as those of a GPS with corrections."""
    yaw: float = 0.01
    """Of yaws in the world [rad]."""
    attitude: float = 0.005
    """Of measured roll and pitch [rad]."""
    pose_rate: float = 5.0
    """Positions and yaws in a second [1/s], > 0."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            (checked.positive if name == "pose_rate" else checked.not_negative)(value, f"sensors {name}")

    def settings(self, model: Any, mount: Sensor, dt: float) -> RobotSettings:
        """Settings of an estimator of a model that knows these sensors, sampled every dt [s], and their place."""
        radius = max(frame.radius or 0.0 for frame in model.vehicle.frames)
        root = math.sqrt(dt)
        fusion = FusionSettings(
            gyro_noise=max(self.gyro, LEAST) * root,
            acceleration_noise=max(self.accelerometer, LEAST) * root,
            rate=1.0 / dt,
            gap=max(0.05, 2.5 * dt),
            gps_position=(mount.x, mount.y, mount.z),
            gravity=model.gravity,
            still_speed=max(0.005, 3.0 * self.wheel_rate * radius),
            parameter_length=SOIL,
        )
        noise = EncoderNoise(
            rate=self.wheel_rate**2, angle=self.angle, attitude=self.attitude, gyro=self.gyro, period=dt
        )
        return RobotSettings(fusion=fusion, noise=noise)

    def stated(self, mount: Sensor) -> Sensor:
        """A pose sensor with this noise, where that one sits."""
        sigmas = {"position": self.position, "yaw": self.yaw, "attitude": self.attitude}
        return replace(mount, **{f"{name}_noise": max(value, LEAST) for name, value in sigmas.items()})


@dataclass(frozen=True, eq=False)
class Reading:
    """Samples of all sensors at one time."""

    time: float
    """[s]."""
    gyro: FloatArray
    """Turn rates in body axes [rad/s], (3,)."""
    force: FloatArray
    """Specific force of the body's origin in body axes [m/s²], (3,): g upwards at rest."""
    rates: FloatArray
    """Of the joints [rad/s or m/s], (nj,)."""
    angles: FloatArray
    """Of the joints [rad or m], (nj,)."""
    attitude: tuple[float, float]
    """Roll and pitch [rad]."""
    position: FloatArray | None
    """Of the antenna in the world [m], (3,); None where none is due."""
    yaw: float
    """Of the body in the world [rad]; NaN where none is due."""


class World:
    """The true vehicle; it is at rest until it is moved."""

    def __init__(
        self,
        truth: Any,
        ground: Terrain,
        *,
        start: ArrayLike,
        dt: float,
        sensors: Sensors,
        mount: Sensor | None = None,
        time: float = 0.0,
        seed: int = 0,
    ) -> None:
        """dt: step and sampling period [s]. mount: where the pose sensor sits. time: now [s]. Noise is by the seed."""
        self.moved = Simulation(truth, ground, dt=dt, start=start)
        self.model, self.dt, self.time = truth, dt, time
        mount = mount or Sensor()
        self._sensors, self._mount = sensors, np.array([mount.x, mount.y, mount.z])
        self._noise = np.random.default_rng([seed, 7])
        self.velocity: FloatArray = np.zeros_like(self.moved.velocity)
        """True velocity [ω rad/s, v m/s, joint rates], (nv,)."""
        self._before = self.velocity
        self._due = 0.0

    @property
    def state(self) -> FloatArray:
        """True state, (nq,)."""
        return self.moved.state

    @property
    def position(self) -> FloatArray:
        """True position [m], (3,)."""
        return self.moved.state[4:7]

    @property
    def yaw(self) -> float:
        """True yaw [rad]."""
        return float(rotation.yaw_of(self.moved.state[:4]))

    def move(self, rates: FloatArray) -> Status:
        """One step under rates of the actuated joints [rad/s or m/s], (na,)."""
        status = self.moved.step(rates).status
        self.time += self.dt
        self._before, self.velocity = self.velocity, self.moved.velocity
        return status

    def wait(self) -> None:
        """One step at rest."""
        self.time += self.dt

    def read(self) -> Reading:
        """Samples of the sensors now. Acceleration is the change of velocity over the last step."""
        s, q = self._sensors, self.moved.state
        R = rotation.from_quaternion(q[:4])
        omega, v = self.velocity[:3], self.velocity[3:6]
        acceleration = (v - self._before[3:6]) / self.dt + np.cross(omega, v)
        force = acceleration + R.T @ np.array([0.0, 0.0, self.model.gravity])
        joints = len(q) - 7
        # The same numbers are drawn whether or not a pose is due, so that other rates of poses have the same noise.
        drawn = self._noise.standard_normal(12 + 2 * joints)
        rpy = rotation.to_rpy(R) + np.array([s.attitude, s.attitude, s.yaw]) * drawn[6:9]
        due = self.time >= self._due - 1e-9
        if due:
            self._due = (math.floor(self.time * s.pose_rate + 1e-6) + 1.0) / s.pose_rate
        return Reading(
            time=self.time,
            gyro=omega + s.gyro * drawn[:3],
            force=force + s.accelerometer * drawn[3:6],
            rates=self.velocity[6:] + s.wheel_rate * drawn[12 : 12 + joints],
            angles=q[7:] + s.angle * drawn[12 + joints :],
            attitude=(float(rpy[0]), float(rpy[1])),
            position=q[4:7] + R @ self._mount + s.position * drawn[9:12] if due else None,
            yaw=float(rpy[2]) if due else math.nan,
        )
