"""Odometry along a log: the streaming odometry fed sample by sample, and how uncertain the whole drive is.

The covariance has two parts. Noise is new from sample to sample and grows as the root of the way. What is wrong all the
time (slip that the fit knows only so well and that differs from ground to ground, the gyro's bias and scale) grows with
the way itself: `slopes` says how far each such number moves the pose, `parameter_covariance` how uncertain they are.
Neither is kept for every sample: `pieces` runs the odometry again and gives them piece by piece.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from grouser import checks
from grouser._kernels.odometry import slots
from grouser.checks import FloatArray
from grouser.kinematics import Kinematics
from grouser.logs import Log
from grouser.logs.log import IntArray
from grouser.motion.fit import Fit
from grouser.motion.model import MotionModel
from grouser.motion.noise import Noise
from grouser.motion.parameters import value_of, with_values
from grouser.motion.velocity import Inputs, VelocityModel, twists
from grouser.odometry.estimate import Estimate
from grouser.odometry.faults import FaultCounts
from grouser.odometry.feed import WINDOW, Feed, check_inputs, inputs_between, windows
from grouser.odometry.gyro import SCALE, GyroSignal, at_rest, gyro_signal
from grouser.odometry.noise import EncoderNoise
from grouser.odometry.odometry import Odometry
from grouser.odometry.pose_slopes import PoseSlopes
from grouser.rotation import from_rpy
from grouser.vehicles import Vehicle

LONGEST_GAP = 2.0
"""Longest gap between segments that is driven through [s], velocity taken as steady; a longer one ends a drive."""
STEP = 1e-4
"""Difference taken of a parameter, as a share of its scale."""
KEPT = [*range(slots.O_POSITION, slots.O_POSITION + 3), slots.O_YAW, *range(slots.O_ATTITUDE, slots.O_ATTITUDE + 2),
        *range(slots.O_TWIST, slots.O_TWIST + 6)]  # fmt: skip
"""Of an estimate, what is kept for every sample of a log."""

Progress = Callable[[int, int], None]
"""Told how many samples of how many are done."""


@dataclass(frozen=True, kw_only=True)
class GroundSpread:
    """How much motion on one ground differs from that on another with the same wheel rates, one sigma of each.

    A fit of one log cannot know this. The defaults are round numbers, chosen after seeing five logs of one skid-steered
    robot, where gyro against wheels differs from log to log by 1.2 % and 0.001 rad/m, one sigma. That of the speed is
    assumed to be like that of turning. On those logs NEES is therefore no independent check of them.
    """

    speed: float = 0.01
    """Of the speed, as a share of it."""
    turn: float = 0.01
    """Of the turn rate, as a share of it."""
    drift: float = 0.001
    """Of the turn rate, per speed [rad/m]: pull to one side."""


SAME_GROUND = GroundSpread(speed=0.0, turn=0.0, drift=0.0)
"""For a log of the day and the ground of the fit."""


@dataclass(frozen=True, eq=False)
class Piece:
    """Consecutive samples of odometry along a log, with all that it knows of them."""

    first: int
    """Number of the first sample in the log."""
    values: FloatArray = field(repr=False)
    """What the odometry wrote, one row for each sample; units as in `Estimate`."""
    slopes: FloatArray = field(repr=False)
    """∂(x, y, z, yaw)/∂parameters, (k, 4, np)."""
    parameter_covariance: FloatArray = field(repr=False)
    """(np, np)."""

    @cached_property
    def noise_covariance(self) -> FloatArray:
        """Of x, y, z [m], yaw [rad] by noise, (k, 4, 4)."""
        roll, pitch = self.values[:, slots.O_ATTITUDE : slots.O_ATTITUDE + 2].T
        M = np.zeros((len(self.values), 4, 6))
        M[:, :3, 3:] = from_rpy(roll, pitch, self.values[:, slots.O_YAW])
        M[:, 3, 1], M[:, 3, 2] = np.sin(roll) / np.cos(pitch), np.cos(roll) / np.cos(pitch)
        pose = self.values[:, slots.O_POSE : slots.O_POSE + 36].reshape(-1, 6, 6)
        result: FloatArray = M @ pose @ M.transpose(0, 2, 1)
        return result

    @property
    def systematic(self) -> FloatArray:
        """Covariance of x, y, z [m], yaw [rad] by the parameters, (k, 4, 4)."""
        result: FloatArray = self.slopes @ self.parameter_covariance @ self.slopes.transpose(0, 2, 1)
        return result

    def estimates(self) -> list[Estimate]:
        """As the streaming odometry gives them, with the whole covariance of the pose."""
        roll, pitch = self.values[:, slots.O_ATTITUDE : slots.O_ATTITUDE + 2].T
        R = from_rpy(roll, pitch, self.values[:, slots.O_YAW])
        M = np.zeros((len(R), 6, 4))
        M[:, :3, 3] = R[:, 2]
        M[:, 3:, :3] = R.transpose(0, 2, 1)
        rows = self.values.copy()
        rows[:, slots.O_POSE : slots.O_POSE + 36] += (M @ self.systematic @ M.transpose(0, 2, 1)).reshape(-1, 36)
        return [Estimate(row) for row in rows]


@dataclass(frozen=True, eq=False, kw_only=True)
class LogOdometry:
    """Odometry at the n samples of a log. Each drive starts at the origin with yaw zero, known exactly.

    Position, yaw, attitude and twist are kept. All else is found again when it is asked for, for all samples at once:
    of a log of gigabytes, ask for `pieces` or `each_estimate` instead.
    """

    drive: IntArray
    """Number of the unbroken drive each sample belongs to, (n,), rising from 0."""
    rest: np.ndarray
    """Whether the vehicle was at rest, (n,) bool."""
    degraded: np.ndarray
    """Whether a fault of the inputs enlarged the covariance, (n,) bool."""
    faults: dict[str, int]
    """How often each kind of fault was met."""
    gyro: GyroSignal | None
    """What became of the gyro; None: not used."""
    parameters: tuple[str, ...]
    """What is uncertain throughout: parameters of the fit, the ground, bias and scale of the gyro."""
    parameter_covariance: FloatArray
    """Of the fit's parameters, (np, np), units as in `Fit`."""
    kept: FloatArray = field(repr=False)
    """Position (3) [m], yaw [rad], attitude (2) [rad] and twist (6) [rad/s, m/s], a row each, (12, n)."""
    feed: Feed = field(repr=False)
    """What it is run from."""
    fitted: tuple[tuple[str, float], ...] = field(repr=False)
    """Name and scale of those parameters that are the fit's, units as in `Fit`."""
    motion: MotionModel = field(repr=False)
    """The model whose parameters they are."""

    @property
    def time(self) -> FloatArray:
        """From the log's start [s], (n,)."""
        return self.feed.log.elapsed

    @property
    def position(self) -> FloatArray:
        """Of the body, (n, 3) [m]."""
        return self.kept[:3].T

    @property
    def yaw(self) -> FloatArray:
        """Heading, full turns added up, (n,) [rad]."""
        yaw: FloatArray = self.kept[3]
        return yaw

    @property
    def attitude(self) -> FloatArray:
        """Roll and pitch, (n, 2) [rad]."""
        return self.kept[4:6].T

    @property
    def twist(self) -> FloatArray:
        """Velocity (ω, v) in body axes [rad/s, m/s], slip included, (n, 6)."""
        return self.kept[6:12].T

    @cached_property
    def quaternion(self) -> FloatArray:
        """Orientation of the body, (n, 4), w x y z."""
        return self._gathered(slots.O_QUATERNION, 4)

    @cached_property
    def slip(self) -> FloatArray:
        """Of the twist, what is slip [rad/s, m/s], (n, 6)."""
        result: FloatArray = self.twist - self._gathered(slots.O_ODOMETRY, 6)
        return result

    @cached_property
    def slopes(self) -> FloatArray:
        """∂(x, y, z, yaw)/∂parameters, (n, 4, np)."""
        return np.concatenate([piece.slopes for piece in self.pieces()])

    @cached_property
    def noise_covariance(self) -> FloatArray:
        """Of x, y, z [m], yaw [rad] by noise, (n, 4, 4)."""
        return np.concatenate([piece.noise_covariance for piece in self.pieces()])

    @cached_property
    def covariance(self) -> FloatArray:
        """Of x, y, z [m], yaw [rad], noise and parameters together, (n, 4, 4)."""
        return np.concatenate([piece.noise_covariance + piece.systematic for piece in self.pieces()])

    @property
    def path(self) -> FloatArray:
        """Way from the start of each drive to each sample, (n,) [m]."""
        steps = np.linalg.norm(np.diff(self.position, axis=0), axis=1)
        total = np.append(0.0, np.cumsum(np.where(np.diff(self.drive) == 0, steps, 0.0)))
        result: FloatArray = total - total[self.drive_bounds[:-1]][self.drive]
        return result

    @property
    def drive_bounds(self) -> IntArray:
        """First sample of each drive, and the number of samples, (drives + 1,)."""
        return np.searchsorted(self.drive, np.arange(int(self.drive[-1]) + 2)).astype(np.int64)

    @cached_property
    def estimates(self) -> list[Estimate]:
        """As the streaming odometry gives them, with the whole covariance of the pose."""
        return list(self.each_estimate())

    def each_estimate(self, *, systematic: bool = True) -> Iterator[Estimate]:
        """The estimates one after the other: only some thousands at a time are in memory.

        systematic: whether their covariance holds what is wrong throughout; without it they come sooner.
        """
        if not systematic:
            for _, _, values in self.feed.pieces():
                yield from map(Estimate, values)
            return
        for piece in self.pieces():
            yield from piece.estimates()

    def pieces(self, first: int = 0, end: int | None = None) -> Iterator[Piece]:
        """All that is known of samples first, where a drive must begin, to end, piece by piece."""
        slopes = PoseSlopes(len(self.parameters))
        for start, inputs, values in self.feed.pieces(first, end):
            S = self._velocity_slopes(start, inputs, values)
            found = np.empty((len(values), 4, S.shape[2]))
            drive = self.drive[start : start + len(values)]
            bounds = [0, *(np.flatnonzero(np.diff(drive)) + 1).tolist(), len(values)]
            for a, b in pairwise(bounds):
                if start + a == 0 or self.drive[start + a - 1] != drive[a]:
                    slopes.begin()
                found[a:b] = slopes.follow(values[a:b], S[a:b])
            yield Piece(start, values, found, self.parameter_covariance)

    def _velocity_slopes(self, start: int, inputs: Inputs, values: FloatArray) -> FloatArray:
        """∂(ω, v)/∂parameters at the samples of a piece, (k, 6, np); inputs: those of the window it lies in."""
        twist = values[:, slots.O_TWIST : slots.O_TWIST + 6]
        S = np.zeros((*twist.shape, len(self.parameters)))
        inside = slice(start % WINDOW, start % WINDOW + len(values))
        for k, (name, scale) in enumerate(self.fitted):
            S[:, :, k] = _slope(self.motion, name, scale, inputs)[inside]
        ahead, turning, pull = S[:, :, len(self.fitted) : len(self.fitted) + 3].transpose(2, 0, 1)
        ahead[:, 3:] = twist[:, 3:]
        turning[:, 2] = twist[:, 2]
        pull[:, 2] = twist[:, 3]
        if self.gyro is not None:
            S[:, :3] = 0.0  # turn rates are measured
            S[:, 2, -2] = 1.0  # bias
            S[:, :3, -1] = twist[:, :3]  # scale
        S[self.rest[start : start + len(values)]] = 0.0
        return S

    def _gathered(self, first: int, count: int) -> FloatArray:
        out = np.empty((len(self.drive), count))
        for start, _, values in self.feed.pieces():
            out[start : start + len(values)] = values[:, first : first + count]
        return out


def odometry_of(
    model: Fit | MotionModel | Kinematics | VelocityModel | Vehicle | str,
    log: Log,
    *,
    gyro: bool = False,
    longest_gap: float = LONGEST_GAP,
    ground: GroundSpread | None = None,
    noise: EncoderNoise | None = None,
    quiet: bool = False,
    progress: Progress | None = None,
    **options: Any,
) -> LogOdometry:
    """Run odometry along a log; its poses are not looked at.

    model: a fit brings the uncertainty of its parameters; others as `Odometry` takes them. gyro: turn rates are the
    log's gyro's, with bias and lag found from the log. ground: how much its slip may differ from the fit's. noise: None
    takes that of the wheels from the fit, whose process noise includes them, else the default. quiet: faults are only
    counted, not logged. progress: told how many samples are done. options: further ones of `Odometry`, such as
    contact_angles.
    """
    gap = checks.positive(longest_gap, "longest_gap")
    motion = model.model if isinstance(model, Fit) else model
    odometry = Odometry(motion, **options)
    vehicle = odometry.vehicle
    check_inputs(log, vehicle)
    rest = at_rest(log, vehicle)
    signal = gyro_signal(log, vehicle, _turn_rate(odometry.model.model, log)) if gyro else None
    options |= {"noise": _noise(motion, log, signal) if noise is None else noise}
    options |= {"measured": [joint for joint in vehicle.joints if joint in log.rates]}
    options |= {"gap": max(0.25, 3.0 * log.report.period)} if "gap" not in options else {}
    if signal is not None and isinstance(motion, MotionModel) and "process_noise" not in options:
        options |= {"process_noise": _without_turning(motion.noise)}
    drive = _drives(log, gap)
    feed = Feed(log, motion, options, drive, rest, None if signal is None else signal.rates)
    counts = FaultCounts(set(FaultCounts.kinds()) if quiet else None)
    kept, degraded = np.empty((len(KEPT), len(log))), np.empty(len(log), np.bool_)
    for start, _, values in feed.pieces(faults=counts):
        end = start + len(values)
        kept[:, start:end] = values[:, KEPT].T
        degraded[start:end] = values[:, slots.O_FAULTS] > 0.0
        if progress is not None:
            progress(end, len(log))
    fitted, names, C = _parameters(model, signal, GroundSpread() if ground is None else ground)
    return LogOdometry(
        drive=drive, rest=rest, degraded=degraded, faults=counts.counts, gyro=signal, parameters=names,
        parameter_covariance=C, kept=kept, feed=feed, fitted=fitted, motion=odometry.model,
    )  # fmt: skip


def _turn_rate(law: object, log: Log) -> FloatArray:
    """About the body's z axis by the wheels, (n,) [rad/s]."""
    assert isinstance(law, (Kinematics, VelocityModel))
    parts = [twists(law, inputs_between(log, law.vehicle, low, high))[:, 2] for low, high in windows(len(log))]
    return np.concatenate(parts)


def _noise(motion: object, log: Log, signal: GyroSignal | None) -> EncoderNoise:
    """Of the inputs: process noise that was learnt from wheel rates holds their noise already."""
    fields: dict[str, float] = {"attitude": log.sensor.attitude_noise, "period": max(log.report.period, 1e-3)}
    if isinstance(motion, MotionModel):
        fields["rate"] = 0.0
    if signal is not None:
        fields["gyro"] = signal.noise
    return EncoderNoise(**fields)


def _without_turning(noise: Noise) -> Noise:
    """Process noise of the speeds alone: turn rates are measured."""
    keep = [k for k, name in enumerate(noise.components) if name.startswith("v")]
    if not keep:
        return Noise(components=("vx",), density=np.zeros((1, 1)), grows=noise.grows)
    names = tuple(noise.components[k] for k in keep)
    return replace(noise, components=names, density=noise.density[np.ix_(keep, keep)])


def _drives(log: Log, longest: float) -> IntArray:
    """Number of the drive of each sample: segments whose gap is short, on a clock that rises, are one."""
    time, segment = log.time, log.segment
    step = np.diff(time)
    broken = (np.diff(segment) != 0) & ((step <= 0.0) | (step > longest))
    return np.append(0, np.cumsum(broken)).astype(np.int64)


def _parameters(
    model: object, signal: GyroSignal | None, ground: GroundSpread
) -> tuple[tuple[tuple[str, float], ...], tuple[str, ...], FloatArray]:
    """Name and scale of the fit's parameters, names of all that is uncertain throughout, and their covariance.

    After those of the fit come the ground, and bias and scale of the gyro.
    """
    fitted: tuple[tuple[str, float], ...] = ()
    covariance = np.zeros((0, 0))
    if isinstance(model, Fit) and len(model.covariance):
        chosen = [k for k, p in enumerate(model.systematic) if not p.name.startswith("sensor.")]
        covariance = np.asarray(model.covariance)[np.ix_(chosen, chosen)]
        fitted = tuple((model.systematic[k].name, model.systematic[k].scale) for k in chosen)
    sigmas = {"ground.speed": ground.speed, "ground.turn": ground.turn, "ground.drift": ground.drift}
    if signal is not None:
        sigmas |= {"gyro.bias": signal.bias_sigma, "gyro.scale": SCALE}
    count = len(fitted) + len(sigmas)
    C = np.zeros((count, count))
    C[: len(fitted), : len(fitted)] = covariance
    others = np.arange(len(fitted), count)
    C[others, others] = np.square(list(sigmas.values()))
    return fitted, (*(name for name, _ in fitted), *sigmas), C


def _slope(motion: MotionModel, name: str, scale: float, inputs: Inputs) -> FloatArray:
    """∂(ω, v)/∂parameter at each sample, (n, 6), by a central difference."""
    h = STEP * scale
    ends = []
    for sign in (1.0, -1.0):
        law = with_values(motion, {name: value_of(motion, name) + sign * h}).model
        assert isinstance(law, (Kinematics, VelocityModel))
        ends.append(twists(law, inputs))
    result: FloatArray = (ends[0] - ends[1]) / (2.0 * h)
    return result
