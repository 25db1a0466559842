"""Simulated sensors of a robot on the move, with a truth that shares no code with the filter: SciPy and NumPy only."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation

from grouser.checks import FloatArray

GRAVITY = 9.81
FINE = 1000  # Hz: of the integration of the path
GYRO, ACCELERATION = 3e-4, 1e-3  # densities of noise [rad/s/√Hz], [m/s²/√Hz]
GYRO_BIAS, ACCELERATION_BIAS = 0.01, 0.05  # sigma [rad/s], [m/s²]


@dataclass(frozen=True, eq=False)
class Truth:
    """A path as functions of time, of the body's origin."""

    position: CubicSpline
    rotation: Callable[[FloatArray], Rotation]

    def velocity(self, t: FloatArray) -> FloatArray:
        """World [m/s]."""
        out: FloatArray = self.position(t, 1)
        return out

    def rate(self, t: FloatArray, h: float = 1e-3) -> FloatArray:
        """Body axes [rad/s]: the rotation between two moments."""
        out: FloatArray = (self.rotation(t - h).inv() * self.rotation(t + h)).as_rotvec() / (2.0 * h)
        return out

    def force(self, t: FloatArray, lever: FloatArray, h: float = 2e-3) -> FloatArray:
        """Specific force of a point of the body [m/s²]: second difference of where it is."""
        before, now, after = (self.position(s) + self.rotation(s).apply(lever) for s in (t - h, t, t + h))
        out: FloatArray = self.rotation(t).inv().apply((after - 2.0 * now + before) / h**2 + [0.0, 0.0, GRAVITY])
        return out


def drive(
    seconds: float, random: np.random.Generator, *, rest: float = 3.0, speed: float = 0.4, yaw: float = 0.0
) -> Truth:
    """Along curves over waves of the ground, after a rest [s]; a negative one: it moves at the first sample already."""
    t = np.arange(-0.1, seconds + 0.1, 1.0 / FINE)
    x = np.clip((t - rest) / 2.0, 0.0, 1.0)
    go = x**3 * (10.0 - 15.0 * x + 6.0 * x * x)
    phase, pace = random.uniform(0.0, 2.0 * np.pi, 6), random.uniform(0.7, 1.3, 6)
    v = speed * go * (1.0 + 0.25 * np.sin(0.4 * pace[0] * t + phase[0]))
    turn = go * (0.2 * np.sin(0.21 * pace[1] * t + phase[1]) + 0.1 * np.sin(0.53 * pace[2] * t + phase[2]))
    way = _integral(v)
    angles = np.stack(
        [
            yaw + _integral(turn),
            0.05 * np.sin(way / 0.6 * pace[3] + phase[3]) - 0.03,
            0.04 * np.sin(way / 0.7 * pace[4] + phase[4]) + 0.02,
        ],
        axis=1,
    )
    R = Rotation.from_euler("ZYX", angles)
    world = R.apply(np.stack([v, 0.0 * v, 0.02 * v * np.sin(way / 0.5 + phase[5])], axis=1))
    position = np.stack([_integral(world[:, i]) for i in range(3)], axis=1)
    position -= position[np.argmin(np.abs(t))]
    bend = CubicSpline(t, angles)
    return Truth(CubicSpline(t, position), lambda s: Rotation.from_euler("ZYX", bend(s)))


def slide(seconds: float, start: float, speed: float, acceleration: float, pitch: float) -> Truth:
    """Stands on a slope and slides along its x from a time on with locked wheels."""
    t = np.arange(-0.1, seconds + 0.1, 1.0 / FINE)
    v = np.clip(acceleration * (t - start), 0.0, abs(speed)) * np.sign(speed)
    v = np.convolve(v, np.ones(51) / 51.0, mode="same") * (t < seconds) if acceleration < 1.0 else v
    R = Rotation.from_euler("ZYX", [0.0, pitch, 0.0])
    position = R.apply(np.stack([_integral(v), 0.0 * v, 0.0 * v], axis=1))
    return Truth(
        CubicSpline(t, position), lambda s: Rotation.from_euler("ZYX", np.tile([0.0, pitch, 0.0], (np.size(s), 1)))
    )


def _integral(values: FloatArray) -> FloatArray:
    return np.concatenate([[0.0], np.cumsum(0.5 * (values[1:] + values[:-1]))]) / FINE


@dataclass(frozen=True, eq=False)
class Readings:
    """IMU samples along a path, with white noise and constant biases."""

    time: FloatArray
    gyro: FloatArray
    acceleration: FloatArray
    rate: FloatArray
    """True [rad/s]."""
    velocity: FloatArray
    """True, body axes [m/s]."""


def sense(truth: Truth, seconds: float, random: np.random.Generator, lever: FloatArray, hertz: int = 100) -> Readings:
    """What the IMU at a lever [m] reads."""
    t = np.arange(0.0, seconds, 1.0 / hertz)
    rate, force = truth.rate(t), truth.force(t, lever)
    bias = random.standard_normal(6) * np.repeat([GYRO_BIAS, ACCELERATION_BIAS], 3)
    noise = random.standard_normal((len(t), 6)) * np.repeat([GYRO, ACCELERATION], 3) * math.sqrt(hertz)
    return Readings(
        t,
        rate + bias[:3] + noise[:, :3],
        force + bias[3:] + noise[:, 3:],
        rate,
        truth.rotation(t).inv().apply(truth.velocity(t)),
    )


@dataclass(eq=False)
class RandomSlip:
    """Slip that is correlated along the way (Ornstein–Uhlenbeck): forward, left [-], yaw [rad/m]."""

    random: np.random.Generator
    sigma: tuple[float, float, float] = (0.03, 0.03, 0.05)
    length: float = 2.0
    value: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        """First value from its stationary distribution."""
        self.value = np.array(self.sigma) * self.random.standard_normal(3)

    def move(self, way: float) -> FloatArray:
        """After a way [m]."""
        keep = math.exp(-way / self.length)
        fresh = np.array(self.sigma) * self.random.standard_normal(3)
        self.value = keep * self.value + math.sqrt(1.0 - keep * keep) * fresh
        return self.value
