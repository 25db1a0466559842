"""Simulated sensors of a rover: IMU, encoders and cameras along a true path, with faults."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from experiments.stops import Motion
from experiments.true_path import TruePath
from grouser import rotation
from grouser.checks import FloatArray
from grouser.errors import SimulationError
from grouser.fusion.sensor_log import SensorLog
from grouser.kinematics import Kinematics
from grouser.motion.velocity import Inputs, twists
from grouser.odometry.noise import LRU_RATES
from grouser.vehicles import Vehicle

FAULTY = ("stuck", "frozen")
SLIP_ENTRIES = [3, 4, 2]
"""Entries of a twist that slip changes: forward, left, yaw."""


@dataclass(frozen=True, kw_only=True)
class ImuModel:
    """An IMU with white noise and biases that wander. The defaults are a small MEMS one."""

    rate: float = 100.0
    """[Hz]."""
    place: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """In the body [m]."""
    gyro_noise: float = 3e-4
    """[rad/s/√Hz]."""
    acceleration_noise: float = 1e-3
    """[m/s²/√Hz]."""
    gyro_walk: float = 1e-5
    """[rad/s²/√Hz]."""
    acceleration_walk: float = 1e-4
    """[m/s³/√Hz]."""
    gyro_bias: float = 0.01
    """One sigma when switched on [rad/s]."""
    acceleration_bias: float = 0.05
    """One sigma when switched on [m/s²]."""
    gyro_range: float = 5.2
    """[rad/s]."""
    acceleration_range: float = 40.0
    """[m/s²]."""
    shocks: tuple[tuple[float, float], ...] = ()
    """Times, (from, to) [s], at which the accelerometer's z axis is at the end of its range."""


@dataclass(frozen=True)
class WheelFault:
    """One encoder that fails for a while."""

    wheel: str
    """Its joint."""
    kind: str
    """"stuck": rate zero, as of a wheel that is blocked and dragged along; "frozen": its last rate."""
    start: float
    """[s]."""
    end: float
    """[s]."""


@dataclass(frozen=True, kw_only=True)
class WheelModel:
    """Encoders, and the odometry that makes a body velocity of their rates."""

    variance: dict[str, float] = field(default_factory=lambda: dict(LRU_RATES))
    """Of a sampled rate [rad²/s²] by wheel while it turns, L (4.43); a wheel that stands has no noise (L §4.5.2)."""
    slip: tuple[float, float, float] = (0.03, 0.03, 0.05)
    """One sigma of slip outside the model: forward, left [-], yaw [rad/m], per rolling speed."""
    slip_length: float = 2.0
    """Distance over which it changes [m]."""
    slip_arm: float = 0.5
    """Rolling speed of turning on the spot, per rad/s [m]."""
    outliers: float = 0.0
    """Share of the samples that are wrong by up to 1 m/s and 1 rad/s."""
    faults: tuple[WheelFault, ...] = ()
    """Encoders that fail."""
    delay: float = 0.0
    """Delay of a sample [s]."""


@dataclass(frozen=True, kw_only=True)
class VisualModel:
    """Visual odometry: relative poses from frame to frame, late, with independent noise."""

    rate: float = 10.0
    """[Hz]."""
    delay: float = 0.2
    """Delay of a pose [s]."""
    position_noise: float = 0.002
    """One sigma per frame and axis [m] …"""
    position_fraction: float = 0.03
    """… and, on top, per distance moved between frames."""
    rotation_noise: float = 0.001
    """One sigma per frame and axis [rad]."""
    outliers: float = 0.0
    """Share of the poses that are wrong by up to 0.5 m and 0.3 rad."""
    outages: tuple[tuple[float, float], ...] = ()
    """Times without images, (from, to) [s]."""
    announced: bool = True
    """Whether the filter hears when an image is taken."""


@dataclass(frozen=True, eq=False)
class SensedDrive:
    """Sensor readings of a drive, with the truth."""

    log: SensorLog
    """What they said."""
    path: TruePath
    """The truth."""
    gyro_bias: FloatArray
    """True bias at the IMU's samples, (n, 3) [rad/s]."""
    acceleration_bias: FloatArray
    """(n, 3) [m/s²]."""


class SensorSuite:
    """The sensors of one vehicle along one motion; what does not depend on noise is computed once."""

    def __init__(self, motion: Motion, odometry: Kinematics) -> None:
        """odometry: the model by which wheel rates become a body velocity, with its slip."""
        self.path = motion.path
        self.odometry = odometry
        self.vehicle: Vehicle = motion.vehicle
        self.time = motion.time
        measured = [self.vehicle.joint_index(j) for j in self.vehicle.actuated]
        rates = np.zeros(motion.rates.shape)  # joints without an encoder, bogies, are taken to stand, as in L §4.4.2
        rates[:, measured] = motion.rates[:, measured]
        attitude = rotation.to_rpy(rotation.from_quaternion(self.path.quaternion(self.time)))[:, :2]
        self._inputs = Inputs(time=self.time, attitude=attitude, rates=rates, angles=motion.joints)
        self._slopes = self._jacobian()

    def _jacobian(self) -> FloatArray:
        """∂(ω, v)/∂(wheel rates), (n, 6, nw), L (4.46), by differences: exact without slip, which is linear."""
        base = twists(self.odometry, self._inputs)
        out = np.empty((len(base), 6, self.vehicle.n_wheels))
        for k, wheel in enumerate(self.vehicle.wheels):
            rates = self._inputs.rates.copy()
            rates[:, self.vehicle.joint_index(wheel)] += 0.01
            moved = Inputs(
                time=self._inputs.time, attitude=self._inputs.attitude, rates=rates, angles=self._inputs.angles
            )
            out[:, :, k] = (twists(self.odometry, moved) - base) / 0.01
        return out

    def sense(
        self,
        seed: int,
        *,
        imu: ImuModel | None = None,
        wheels: WheelModel | None = None,
        visual: VisualModel | None = None,
    ) -> SensedDrive:
        """One drive's readings; another seed has other noise, biases and slip on the same path."""
        inertial, rolling, seeing = np.random.default_rng(seed).spawn(3)
        imu = imu or ImuModel()
        t, gyro, acceleration, biases = simulate_imu(self.path, imu, inertial)
        wheel_model = wheels or WheelModel()
        twist, covariance = self.simulate_wheels(wheel_model, rolling)
        visual = visual or VisualModel()
        log = SensorLog(
            time=t,
            gyro=gyro,
            acceleration=acceleration,
            wheel_time=self.time,
            wheel_twist=twist,
            wheel_covariance=covariance,
            wheel_arrival=self.time + wheel_model.delay,
            **simulate_visual(self.path, visual, seeing),  # type: ignore[arg-type]
        )
        return SensedDrive(log, self.path, biases[:, :3], biases[:, 3:])

    def simulate_wheels(self, model: WheelModel, random: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Body velocity (n, 6) that the odometry makes of noisy rates, and its covariance (n, 6, 6), L (4.47)."""
        rates = self._inputs.rates.copy()
        n = len(rates)
        variance = np.zeros((n, self.vehicle.n_wheels))
        for k, wheel in enumerate(self.vehicle.wheels):
            joint = self.vehicle.joint_index(wheel)
            turning = np.abs(rates[:, joint]) > 1e-3
            variance[:, k] = model.variance.get(wheel, 0.0)
            noise = random.standard_normal(n) * np.sqrt(variance[:, k])
            rates[:, joint] += np.where(turning, noise, 0.0)
        for fault in model.faults:
            _fail(rates, self.time, self.vehicle, fault)
        measured = Inputs(time=self.time, attitude=self._inputs.attitude, rates=rates, angles=self._inputs.angles)
        twist = twists(self.odometry, measured)
        true = self.path.twist(self.time)
        speed = np.sqrt(true[:, 3] ** 2 + true[:, 4] ** 2 + (model.slip_arm * true[:, 2]) ** 2)
        slip = _wandering(speed * np.gradient(self.time), model.slip_length, random) * np.array(model.slip)
        twist[:, SLIP_ENTRIES] -= speed[:, None] * slip
        wrong = random.random(n) < model.outliers
        twist[wrong] += random.uniform(-1.0, 1.0, (int(wrong.sum()), 6))
        covariance = np.einsum("nik,nk,njk->nij", self._slopes, variance, self._slopes)
        return twist, covariance + 1e-10 * np.eye(6)


def simulate_imu(
    path: TruePath, model: ImuModel, random: np.random.Generator
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Times (n,), rates (n, 3), specific force (n, 3) and the true biases (n, 6)."""
    count = int(np.floor((path.end - path.start) * model.rate + 1e-6)) + 1
    t = path.start + np.arange(count) / model.rate
    gyro, force = path.rate(t), path.specific_force(t, model.place)
    step = 1.0 / model.rate
    walks = np.repeat([model.gyro_walk, model.acceleration_walk], 3)
    first = np.repeat([model.gyro_bias, model.acceleration_bias], 3) * random.standard_normal(6)
    biases = first + np.cumsum(walks * np.sqrt(step) * random.standard_normal((count, 6)), axis=0)
    noise = np.repeat([model.gyro_noise, model.acceleration_noise], 3) / np.sqrt(step)
    measured = np.concatenate([gyro, force], axis=1) + biases + noise * random.standard_normal((count, 6))
    limits = np.repeat([model.gyro_range, model.acceleration_range], 3)
    for start, end in model.shocks:
        measured[(t >= start) & (t < end), 5] = np.inf
    measured = np.clip(measured, -limits, limits)
    return t, measured[:, :3], measured[:, 3:], biases


def simulate_visual(path: TruePath, model: VisualModel, random: np.random.Generator) -> dict[str, FloatArray]:
    """Fields of a `SensorLog`: relative poses from each frame to the next."""
    frames = path.start + np.arange(1, int((path.end - path.start) * model.rate)) / model.rate
    seen = np.ones(len(frames), dtype=bool)
    for start, end in model.outages:
        seen &= ~((frames >= start) & (frames <= end))
    pairs = np.flatnonzero(seen[:-1] & seen[1:])
    p, R = path.position(frames), rotation.from_quaternion(path.quaternion(frames))
    first, second = R[pairs], R[pairs + 1]
    move = np.einsum("nji,nj->ni", first, p[pairs + 1] - p[pairs])
    sigma = np.empty((len(pairs), 6))
    sigma[:, :3] = model.rotation_noise
    travelled = np.linalg.norm(move, axis=1, keepdims=True)
    sigma[:, 3:] = np.hypot(model.position_noise, model.position_fraction * travelled)
    error = sigma * random.standard_normal(sigma.shape)
    wrong = random.random(len(pairs)) < model.outliers
    error[wrong] += random.uniform(-1.0, 1.0, (int(wrong.sum()), 6)) * np.repeat([0.3, 0.5], 3)
    turn = first.swapaxes(1, 2) @ second
    measured = turn @ exponential(error[:, :3])
    covariance = np.zeros((len(pairs), 6, 6))
    covariance[:, np.arange(6), np.arange(6)] = sigma**2
    return {
        "frames": frames[seen] if model.announced else frames[:0],
        "pose_from": frames[pairs],
        "pose_to": frames[pairs + 1],
        "pose_position": move + np.einsum("nij,nj->ni", turn, error[:, 3:]),
        "pose_quaternion": rotation.to_quaternion(measured),
        "pose_covariance": covariance,
        "pose_arrival": frames[pairs + 1] + model.delay,
    }


def exponential(vectors: FloatArray) -> FloatArray:
    """Rotation matrices (n, 3, 3) of rotation vectors (n, 3)."""
    half = 0.5 * np.linalg.norm(vectors, axis=1, keepdims=True)
    return rotation.from_quaternion(np.concatenate([np.cos(half), 0.5 * vectors * np.sinc(half / np.pi)], axis=1))


def _wandering(steps: FloatArray, length: float, random: np.random.Generator) -> FloatArray:
    """Three Gauss–Markov processes of unit variance along the distance, (n, 3)."""
    keep = np.exp(-steps / length)
    white = random.standard_normal((len(steps), 3))
    out = np.empty((len(steps), 3))
    out[0] = white[0]
    for i in range(1, len(steps)):
        out[i] = keep[i] * out[i - 1] + np.sqrt(1.0 - keep[i] ** 2) * white[i]
    return out


def _fail(rates: FloatArray, time: FloatArray, vehicle: Vehicle, fault: WheelFault) -> None:
    if fault.kind not in FAULTY:
        raise SimulationError(f"wheel fault: {fault.kind!r:.40} is not one of {', '.join(FAULTY)}")
    joint = vehicle.joint_index(fault.wheel)
    during = (time >= fault.start) & (time < fault.end)
    if during.any():
        rates[during, joint] = 0.0 if fault.kind == "stuck" else rates[int(np.argmax(during)), joint]


def faults_of(wheel: str, kind: str, spans: Sequence[tuple[float, float]]) -> tuple[WheelFault, ...]:
    """The same failure at several times."""
    return tuple(WheelFault(wheel, kind, start, end) for start, end in spans)
