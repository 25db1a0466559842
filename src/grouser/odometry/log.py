"""Odometry along a log: the streaming odometry fed with its samples, and the covariance of the whole drive.

The covariance has two parts. Noise is independent from sample to sample and grows as the root of the distance.
Constant errors (slip, which differs from ground to ground, gyro bias and scale) grow with the distance: `slopes` is the
sensitivity of the pose to each such parameter. Of a long log only poses and velocities are kept; the rest is computed
again, piece by piece, when it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from grouser._kernels.odometry.state import ESTIMATE
from grouser.checks import FloatArray
from grouser.kinematics import Kinematics
from grouser.logs import Log
from grouser.logs.log import IntArray
from grouser.motion.fit import Fit
from grouser.motion.model import MotionModel
from grouser.motion.noise import Noise
from grouser.motion.schedule import Schedule
from grouser.motion.sensitivity import velocity_slope
from grouser.motion.spread import GroundSpread
from grouser.motion.velocity import VelocityModel, twists
from grouser.odometry import log_source
from grouser.odometry.estimate import Estimate
from grouser.odometry.gyro import GyroSignal, at_rest, gyro_signal
from grouser.odometry.inputs import EncoderNoise, FaultCounts, check
from grouser.odometry.log_source import Source, check_inputs, drives, inputs_between, stretches, windows
from grouser.odometry.odometry import Odometry
from grouser.odometry.systematic import Growth, Knowledge, PoseSlopes, knowledge_of
from grouser.rotation import from_rpy
from grouser.vehicles import Vehicle

LONGEST_GAP = 2.0  # between segments [s] that is driven through, velocity taken as steady; a longer one ends a drive
ALL_KEPT = 256 * 2**20  # Estimates of a log are all kept if they take at most this much memory [bytes]
KEPT = ("time", "position", "yaw", "attitude", "twist")  # of every estimate of a longer log

Progress = Callable[[int, int], None]  # Called with the number of samples done and of all


@dataclass(frozen=True, eq=False)
class Piece:
    """Consecutive samples of odometry along a log, with their covariance."""

    first: int  # number of the first sample in the log
    values: np.ndarray = field(repr=False)  # estimates, structured array (k,); units as in `Estimate`
    slopes: FloatArray = field(repr=False)  # ∂(x, y, z, yaw)/∂parameters, (k, 4, np)
    systematic: FloatArray = field(repr=False)  # covariance of x, y, z [m], yaw [rad] by the parameters, (k, 4, 4)

    @cached_property
    def noise_covariance(self) -> FloatArray:
        """Covariance of x, y, z [m], yaw [rad] by noise, (k, 4, 4)."""
        roll, pitch = self.values["attitude"].T
        M = np.zeros((len(self.values), 4, 6))
        M[:, :3, 3:] = from_rpy(roll, pitch, self.values["yaw"])
        M[:, 3, 1], M[:, 3, 2] = np.sin(roll) / np.cos(pitch), np.cos(roll) / np.cos(pitch)
        return np.asarray(M @ self.values["pose_covariance"] @ M.transpose(0, 2, 1))

    @property
    def covariance(self) -> FloatArray:
        """Covariance of x, y, z [m], yaw [rad], noise and parameters together, (k, 4, 4)."""
        return self.noise_covariance + self.systematic

    def estimates(self) -> list[Estimate]:
        """As the streaming odometry gives them, with the whole covariance of the pose."""
        roll, pitch = self.values["attitude"].T
        R = from_rpy(roll, pitch, self.values["yaw"])
        M = np.zeros((len(R), 6, 4))
        M[:, :3, 3], M[:, 3:, :3] = R[:, 2], R.transpose(0, 2, 1)
        rows = self.values.copy()
        rows["pose_covariance"] += M @ self.systematic @ M.transpose(0, 2, 1)
        return Estimate.rows(rows)


@dataclass(frozen=True, eq=False, kw_only=True)
class LogOdometry:
    """Odometry at the n samples of a log. Each drive starts at the origin with yaw zero, known exactly."""

    drive: IntArray
    """Number of the unbroken drive each sample belongs to, (n,), rising from 0."""
    rest: np.ndarray
    """Whether the vehicle was at rest, (n,) bool."""
    degraded: np.ndarray
    """Whether a fault of the inputs enlarged the covariance, (n,) bool."""
    faults: dict[str, int]
    """Number of faults by kind."""
    gyro: GyroSignal | None
    """The gyro as it was used; None: not used."""
    knowledge: Knowledge = field(repr=False)
    """Constant uncertain parameters with their covariance along the log."""
    states: np.ndarray = field(repr=False)
    """Estimates (n,), or of a long log the fields `KEPT` of them; units as in `Estimate`."""
    source: Source = field(repr=False)
    """What it is run from."""
    motion: MotionModel = field(repr=False)
    """The model whose parameters they are."""
    position: FloatArray = field(init=False, repr=False)
    """Position of the body, (n, 3) [m]."""
    yaw: FloatArray = field(init=False, repr=False)
    """Heading, full turns added up, (n,) [rad]."""
    attitude: FloatArray = field(init=False, repr=False)
    """Roll and pitch, (n, 2) [rad]."""
    twist: FloatArray = field(init=False, repr=False)
    """Velocity (ω, v) in body axes [rad/s, m/s], slip included, (n, 6)."""

    def __post_init__(self) -> None:
        self.__dict__.update({name: self.states[name] for name in KEPT[1:]})

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the constant uncertain parameters: of the fit, the ground, bias and scale of the gyro."""
        return self.knowledge.parameters

    @property
    def parameter_covariance(self) -> FloatArray:
        """Covariance of these parameters at the start, (np, np), units as in `Fit`."""
        return np.asarray(self.knowledge.covariance[0])

    @property
    def time(self) -> FloatArray:
        """From the log's start [s], (n,)."""
        return self.source.log.elapsed

    @cached_property
    def quaternion(self) -> FloatArray:
        """Orientation of the body, (n, 4), w x y z."""
        return self._gathered("quaternion")

    @cached_property
    def slip(self) -> FloatArray:
        """Slip in the twist [rad/s, m/s], (n, 6)."""
        return np.asarray(self.twist - self._gathered("odometry_twist"))

    @cached_property
    def slopes(self) -> FloatArray:
        """∂(x, y, z, yaw)/∂parameters, (n, 4, np)."""
        return np.concatenate([piece.slopes for piece in self.pieces()])

    @cached_property
    def noise_covariance(self) -> FloatArray:
        """Covariance of x, y, z [m], yaw [rad] by noise, (n, 4, 4)."""
        return np.concatenate([piece.noise_covariance for piece in self.pieces()])

    @cached_property
    def covariance(self) -> FloatArray:
        """Covariance of x, y, z [m], yaw [rad], noise and parameters together, (n, 4, 4)."""
        return np.concatenate([piece.covariance for piece in self.pieces()])

    @cached_property
    def path(self) -> FloatArray:
        """Way from the start of each drive to each sample, (n,) [m]."""
        steps = np.linalg.norm(np.diff(self.position, axis=0), axis=1)
        total = np.append(0.0, np.cumsum(np.where(np.diff(self.drive) == 0, steps, 0.0)))
        return np.asarray(total - total[self.drive_bounds[:-1]][self.drive])

    @property
    def drive_bounds(self) -> IntArray:
        """First sample of each drive, and the number of samples, (drives + 1,)."""
        return np.searchsorted(self.drive, np.arange(int(self.drive[-1]) + 2)).astype(np.int64)

    @property
    def longest_drive(self) -> slice:
        """Samples of the drive of the longest way."""
        bounds = self.drive_bounds.tolist()
        longest = int(np.argmax(np.maximum.reduceat(self.path, bounds[:-1])))
        return slice(*bounds[longest : longest + 2])

    @cached_property
    def estimates(self) -> list[Estimate]:
        """As the streaming odometry gives them, with the whole covariance of the pose."""
        return list(self.each_estimate())

    def each_estimate(self, *, systematic: bool = True) -> Iterator[Estimate]:
        """The estimates one after the other.

        systematic: whether their covariance includes that of constant parameters; without it they come sooner.
        """
        if systematic:
            for piece in self.pieces():
                yield from piece.estimates()
        else:
            for _, values in self._values(0, len(self.drive)):
                yield from Estimate.rows(values)

    def pieces(self, first: int = 0, end: int | None = None) -> Iterator[Piece]:
        """Estimates and covariances of samples first, where a drive must begin, to end, piece by piece."""
        slopes, growth = PoseSlopes(len(self.parameters)), Growth(self.knowledge)
        for start, values in self._values(first, len(self.drive) if end is None else end):
            S = self._velocity_slopes(start, values["twist"])
            found, C = np.empty((len(values), 4, S.shape[2])), np.empty((len(values), 4, 4))
            epoch = self.knowledge.epoch(np.arange(start, start + len(values)))
            for a, b in stretches(self.drive[start : start + len(values)]):
                begins = start + a == 0 or self.drive[start + a - 1] != self.drive[start + a]
                if begins:
                    slopes.begin()
                found[a:b] = slopes.follow(values[a:b], S[a:b])
                if begins:
                    growth.begin(values["position"][a], found[a], int(epoch[a]))
                C[a:b] = growth.follow(values["position"][a:b], found[a:b], epoch[a:b])
            yield Piece(start, values, found, C)

    def _values(self, first: int, end: int) -> Iterator[tuple[int, np.ndarray]]:
        """Number of the first and all estimates of each piece: those that were kept, or run again."""
        if self.states.dtype == ESTIMATE:
            return ((low, self.states[low:high]) for low, high in windows(first, end))
        return self.source.run(first, end, FaultCounts.silent())

    def _velocity_slopes(self, start: int, twist: FloatArray) -> FloatArray:
        """∂(ω, v)/∂parameters at the samples of a piece, (k, 6, np)."""
        S = np.zeros((*twist.shape, len(self.parameters)))
        # Inputs of the whole window: which joints count as measured must not depend on what part is asked for.
        low = start - start % log_source.WINDOW
        inside = slice(start - low, start - low + len(twist))
        fitted = self.knowledge.fitted
        if fitted:
            high = min(low + log_source.WINDOW, len(self.drive))
            inputs = inputs_between(self.source.log, self.motion.vehicle, low, high)
            for k, (name, scale) in enumerate(fitted):
                S[:, :, k] = velocity_slope(self.motion, name, scale, inputs)[inside]
        S[:, :, len(fitted) : len(fitted) + 3] = GroundSpread.slopes(twist)
        if self.gyro is not None:
            S[:, :3] = 0.0  # turn rates are measured
            S[:, 2, -2] = 1.0  # bias
            S[:, :3, -1] = twist[:, :3]  # scale
        S[self.rest[start : start + len(twist)]] = 0.0
        return S

    def _gathered(self, name: str) -> FloatArray:
        return np.concatenate([values[name] for _, values in self._values(0, len(self.drive))])


def odometry_of(
    model: Fit | MotionModel | Kinematics | VelocityModel | Vehicle | str,
    log: Log,
    *,
    gyro: bool = False,
    longest_gap: float = LONGEST_GAP,
    ground: GroundSpread | None = None,
    schedule: Schedule | None = None,
    noise: EncoderNoise | None = None,
    quiet: bool = False,
    progress: Progress | None = None,
    **options: Any,
) -> LogOdometry:
    """Run odometry along a log; its poses are not used.

    model: a fit brings the uncertainty of its parameters; others as `Odometry` takes them. gyro: turn rates are those
    of the log's gyro, with bias and lag found from the log. ground: how much its slip may differ from the fit's.
    schedule: models with covariances that take the place of the fit's from some samples on, such as those learned
    while it drives (`grouser.calibration.learned_along`). noise: None takes that of the wheels from the fit, whose
    process noise includes them, else the default. quiet: faults are only counted, not logged. progress: is called with
    the number of samples done. options: further ones of `Odometry`, such as contact_angles.
    """
    gap = check.positive(longest_gap, "longest_gap")
    motion = model.model if isinstance(model, Fit) else model
    odometry = Odometry(motion, **options)
    vehicle = odometry.vehicle
    check_inputs(log, vehicle)
    rest = at_rest(log, vehicle)
    signal = None
    if gyro:
        law: Any = odometry.model.model
        parts = [twists(law, inputs_between(log, vehicle, a, b))[:, 2] for a, b in windows(0, len(log))]
        signal = gyro_signal(log, vehicle, np.concatenate(parts))
    options |= {"noise": _noise(motion, log, signal) if noise is None else noise}
    options |= {"measured": [joint for joint in vehicle.joints if joint in log.rates]}
    options |= {"gap": max(0.25, 3.0 * log.report.period)} if "gap" not in options else {}
    if signal is not None and isinstance(motion, MotionModel) and "process_noise" not in options:
        options |= {"process_noise": _without_turning(motion.noise)}
    source = Source(log, motion, options, drives(log, gap), rest, None if signal is None else signal.rates, schedule)
    known = knowledge_of(model, signal, GroundSpread() if ground is None else ground, schedule)
    counts = FaultCounts.silent() if quiet else FaultCounts()
    whole = len(log) * ESTIMATE.itemsize <= ALL_KEPT
    states = np.empty(len(log), ESTIMATE if whole else [(name, ESTIMATE[name]) for name in KEPT])
    degraded = np.empty(len(log), np.bool_)
    for start, values in source.run(0, len(log), counts):
        end = start + len(values)
        for name in states.dtype.names or ():
            states[name][start:end] = values[name]
        degraded[start:end] = values["faults"] != 0
        if progress is not None:
            progress(end, len(log))
    return LogOdometry(
        drive=source.drive, rest=rest, degraded=degraded, faults=counts.counts, gyro=signal, knowledge=known,
        states=states, source=source, motion=odometry.model,
    )  # fmt: skip


def _noise(motion: object, log: Log, signal: GyroSignal | None) -> EncoderNoise:
    """Noise of the inputs: process noise that was fitted to wheel rates includes their noise."""
    fields: dict[str, float] = {"attitude": log.sensor.attitude_noise, "period": max(log.report.period, 1e-3)}
    if isinstance(motion, MotionModel):
        fields["rate"] = 0.0
    if signal is not None:
        fields["gyro"] = signal.noise
    return EncoderNoise(**fields)


def _without_turning(noise: Noise) -> Noise:
    """Process noise of the speeds alone: turn rates are measured."""
    keep = [k for k, name in enumerate(noise.components) if name.startswith("v")]
    names = tuple(noise.components[k] for k in keep) or ("vx",)
    density = noise.long_run[np.ix_(keep, keep)] if keep else np.zeros((1, 1))
    return replace(noise, components=names, density=density, wander=None)
