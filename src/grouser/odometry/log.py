"""Odometry along a log: the streaming odometry fed sample by sample, and how uncertain the whole drive is.

The covariance has two parts. Noise is new from sample to sample and grows as the root of the way. What is wrong all the
time (slip that the fit knows only so well and that differs from ground to ground, the gyro's bias and scale) grows with
the way itself: `slopes` says how far each such number moves the pose, `parameter_covariance` how uncertain they are.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from grouser import checks
from grouser._kernels import odometry_slots as slots
from grouser.calibration.fit import Fit
from grouser.calibration.motion import MotionModel
from grouser.calibration.noise import Noise
from grouser.calibration.parameters import value_of, with_values
from grouser.calibration.velocity import Inputs, VelocityModel, inputs_of, twists
from grouser.checks import FloatArray
from grouser.kinematics import Kinematics
from grouser.logs import Log
from grouser.logs.log import IntArray
from grouser.odometry.estimate import Estimate
from grouser.odometry.faults import FaultCounts
from grouser.odometry.gyro import SCALE, GyroSignal, at_rest, gyro_signal
from grouser.odometry.noise import EncoderNoise
from grouser.odometry.odometry import Odometry
from grouser.rotation import from_rpy, to_quaternion
from grouser.vehicles import Vehicle

LONGEST_GAP = 2.0
"""Longest gap between segments that is driven through [s], velocity taken as steady; a longer one ends a drive."""
STEP = 1e-4
"""Difference taken of a parameter, as a share of its scale."""


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


@dataclass(frozen=True, eq=False, kw_only=True)
class LogOdometry:
    """Odometry at the n samples of a log. Each drive starts at the origin with yaw zero, known exactly."""

    drive: IntArray
    """Number of the unbroken drive each sample belongs to, (n,), rising from 0."""
    rest: np.ndarray
    """Whether the vehicle was at rest, (n,) bool."""
    faults: dict[str, int]
    """How often each kind of fault was met."""
    gyro: GyroSignal | None
    """What became of the gyro; None: not used."""
    parameters: tuple[str, ...]
    """What is uncertain throughout: parameters of the fit, the ground, bias and scale of the gyro."""
    slopes: FloatArray
    """∂(x, y, z, yaw)/∂parameters, (n, 4, np)."""
    parameter_covariance: FloatArray
    """Of the fit's parameters, (np, np), units as in `Fit`."""
    values: FloatArray = field(repr=False)
    """What the odometry wrote, one row for each sample; units as in `Estimate`."""

    @property
    def time(self) -> FloatArray:
        """From the log's start [s], (n,)."""
        return self.values[:, slots.O_TIME]

    @property
    def position(self) -> FloatArray:
        """Of the body, (n, 3) [m]."""
        return self._part(slots.O_POSITION, 3)

    @property
    def quaternion(self) -> FloatArray:
        """Orientation of the body, (n, 4), w x y z."""
        return self._part(slots.O_QUATERNION, 4)

    @property
    def yaw(self) -> FloatArray:
        """Heading, full turns added up, (n,) [rad]."""
        return self.values[:, slots.O_YAW]

    @property
    def attitude(self) -> FloatArray:
        """Roll and pitch, (n, 2) [rad]."""
        return self._part(slots.O_ATTITUDE, 2)

    @property
    def twist(self) -> FloatArray:
        """Velocity (ω, v) in body axes [rad/s, m/s], slip included, (n, 6)."""
        return self._part(slots.O_TWIST, 6)

    @property
    def slip(self) -> FloatArray:
        """Of the twist, what is slip [rad/s, m/s], (n, 6)."""
        result: FloatArray = self.twist - self._part(slots.O_ODOMETRY, 6)
        return result

    @property
    def degraded(self) -> np.ndarray:
        """Whether a fault of the inputs enlarged the covariance, (n,) bool."""
        return np.asarray(self.values[:, slots.O_FAULTS] > 0.0)

    @cached_property
    def noise_covariance(self) -> FloatArray:
        """Of x, y, z [m], yaw [rad] by noise, (n, 4, 4)."""
        roll, pitch = self.attitude.T
        M = np.zeros((len(self.time), 4, 6))
        M[:, :3, 3:] = from_rpy(roll, pitch, self.yaw)
        M[:, 3, 1], M[:, 3, 2] = np.sin(roll) / np.cos(pitch), np.cos(roll) / np.cos(pitch)
        result: FloatArray = M @ self._part(slots.O_POSE, 36).reshape(-1, 6, 6) @ M.transpose(0, 2, 1)
        return result

    @property
    def covariance(self) -> FloatArray:
        """Of x, y, z [m], yaw [rad], noise and parameters together, (n, 4, 4)."""
        return self.noise_covariance + self._systematic()

    @property
    def path(self) -> FloatArray:
        """Way from the start of each drive to each sample, (n,) [m]."""
        steps = np.linalg.norm(np.diff(self.position, axis=0), axis=1)
        total = np.append(0.0, np.cumsum(np.where(np.diff(self.drive) == 0, steps, 0.0)))
        first = np.searchsorted(self.drive, np.arange(int(self.drive[-1]) + 1))
        result: FloatArray = total - total[first][self.drive]
        return result

    @property
    def estimates(self) -> list[Estimate]:
        """As the streaming odometry gives them, with the whole covariance of the pose."""
        roll, pitch = self.attitude.T
        R = from_rpy(roll, pitch, self.yaw)
        M = np.zeros((len(R), 6, 4))
        M[:, :3, 3] = R[:, 2]
        M[:, 3:, :3] = R.transpose(0, 2, 1)
        rows = self.values.copy()
        rows[:, slots.O_POSE : slots.O_POSE + 36] += (M @ self._systematic() @ M.transpose(0, 2, 1)).reshape(-1, 36)
        return [Estimate(row) for row in rows]

    def _systematic(self) -> FloatArray:
        result: FloatArray = self.slopes @ self.parameter_covariance @ self.slopes.transpose(0, 2, 1)
        return result

    def _part(self, first: int, count: int) -> FloatArray:
        return self.values[:, first : first + count]


def odometry_of(
    model: Fit | MotionModel | Kinematics | VelocityModel | Vehicle | str,
    log: Log,
    *,
    gyro: bool = False,
    longest_gap: float = LONGEST_GAP,
    ground: GroundSpread | None = None,
    noise: EncoderNoise | None = None,
    quiet: bool = False,
    **options: Any,
) -> LogOdometry:
    """Run odometry along a log; its poses are not looked at.

    model: a fit brings the uncertainty of its parameters; others as `Odometry` takes them. gyro: turn rates are the
    log's gyro's, with bias and lag found from the log. ground: how much its slip may differ from the fit's. noise: None
    takes that of the wheels from the fit, whose process noise includes them, else the default. quiet: faults are only
    counted, not logged. options: further ones of `Odometry`, such as contact_angles.
    """
    gap = checks.positive(longest_gap, "longest_gap")
    motion = model.model if isinstance(model, Fit) else model
    odometry = Odometry(motion, **options)
    vehicle = odometry.vehicle
    inputs = inputs_of(log, vehicle)
    rest = at_rest(log, vehicle)
    law = odometry.model.model
    assert isinstance(law, (Kinematics, VelocityModel))
    signal = gyro_signal(log, vehicle, twists(law, inputs)[:, 2]) if gyro else None
    options |= {"noise": _noise(motion, log, signal) if noise is None else noise}
    options |= {"measured": [joint for joint in vehicle.joints if joint in log.rates]}
    options |= {"gap": max(0.25, 3.0 * log.report.period)} if "gap" not in options else {}
    if signal is not None and isinstance(motion, MotionModel) and "process_noise" not in options:
        options |= {"process_noise": _without_turning(motion.noise)}
    drive = _drives(log, gap)
    run = _fed(Odometry(motion, **options), log, inputs, drive, rest, signal, quiet)
    return _with_parameters(run, model, inputs, odometry.model, GroundSpread() if ground is None else ground)


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


def _fed(
    odometry: Odometry,
    log: Log,
    inputs: Inputs,
    drive: IntArray,
    rest: np.ndarray,
    signal: GyroSignal | None,
    quiet: bool,
) -> LogOdometry:
    """Every sample into the odometry, and what comes out gathered."""
    n = len(log)
    values = np.empty((n, slots.OUT))
    faults: dict[str, int] = {}
    said = set(FaultCounts.kinds()) if quiet else set()
    odometry.begin_faults(said)
    time = log.elapsed
    measured = log.attitude is not None
    waits = np.zeros(n, np.bool_)
    waits[1:-1] = rest[:-2] & rest[1:-1] & rest[2:] & (np.diff(drive)[:-1] == 0)
    stopped = 0.0
    for k in range(n):
        begins = k == 0 or drive[k] != drive[k - 1]
        if waits[k]:
            # Wheels that stand hold the vehicle, whatever a slip law says of gravity: the odometry's clock waits.
            stopped += time[k] - time[k - 1]
            values[k] = values[k - 1]
            continue
        if begins and k > 0:
            _add(faults, odometry.faults)
            odometry.reset()
            odometry.begin_faults(said)  # each kind is said once a log, not once a drive
        values[k] = odometry.update(
            time[k] - stopped,
            inputs.rates[k],
            inputs.angles[k],
            inputs.attitude[k] if measured else None,
            None if signal is None else signal.rates[k],
        )._values
    _add(faults, odometry.faults)
    values[:, slots.O_TIME] = time
    values[rest, slots.O_TWIST : slots.O_TWIST + 6] = 0.0
    values[rest, slots.O_ODOMETRY : slots.O_ODOMETRY + 6] = 0.0
    roll, pitch = inputs.attitude[waits].T
    values[waits, slots.O_ATTITUDE : slots.O_ATTITUDE + 2] = inputs.attitude[waits]
    values[waits, slots.O_QUATERNION : slots.O_QUATERNION + 4] = to_quaternion(
        from_rpy(roll, pitch, values[waits, slots.O_YAW])
    )
    return LogOdometry(
        drive=drive, rest=rest, faults=faults, gyro=signal, parameters=(), slopes=np.zeros((n, 4, 0)),
        parameter_covariance=np.zeros((0, 0)), values=values,
    )  # fmt: skip


def _add(into: dict[str, int], counts: dict[str, int]) -> None:
    for kind, count in counts.items():
        into[kind] = into.get(kind, 0) + count


def _with_parameters(
    run: LogOdometry, model: object, inputs: Inputs, motion: MotionModel, ground: GroundSpread
) -> LogOdometry:
    """The run with what parameters of the fit, the ground, and bias and scale of the gyro do to it."""
    slopes: dict[str, FloatArray] = {}
    fitted = np.zeros((0, 0))
    if isinstance(model, Fit) and len(model.covariance):
        chosen = [k for k, p in enumerate(model.systematic) if not p.name.startswith("sensor.")]
        fitted = np.asarray(model.covariance)[np.ix_(chosen, chosen)]
        for p in (model.systematic[k] for k in chosen):
            slopes[p.name] = _slope(motion, p.name, p.scale, inputs)
    ahead, turning, pull = (np.zeros_like(run.twist) for _ in range(3))
    ahead[:, 3:] = run.twist[:, 3:]
    turning[:, 2] = run.twist[:, 2]
    pull[:, 2] = run.twist[:, 3]
    slopes |= {"ground.speed": ahead, "ground.turn": turning, "ground.drift": pull}
    sigmas = [ground.speed, ground.turn, ground.drift]
    if run.gyro is not None:
        for one in slopes.values():
            one[:, :3] = 0.0  # turn rates are measured
        bias, scale = np.zeros_like(run.twist), np.zeros_like(run.twist)
        bias[:, 2] = 1.0
        scale[:, :3] = run.twist[:, :3]
        slopes |= {"gyro.bias": bias, "gyro.scale": scale}
        sigmas += [run.gyro.bias_sigma, SCALE]
    S = np.stack(list(slopes.values()), axis=2)
    S[run.rest] = 0.0
    C = np.zeros((len(slopes), len(slopes)))
    C[: len(fitted), : len(fitted)] = fitted
    known = np.arange(len(fitted), len(slopes))
    C[known, known] = np.square(sigmas)
    return replace(run, parameters=tuple(slopes), slopes=pose_slopes(run, S), parameter_covariance=C)


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


def pose_slopes(run: LogOdometry, S: FloatArray) -> FloatArray:
    """∂(x, y, z, yaw)/∂p at every sample, (n, 4, np), of velocities with slopes S (n, 6, np).

    The convolution integral P (11): a yaw error made at one place turns all of the way from there, so
    δp(T) = ∫ R δv dt + e_z × (p(T) ∫ δψ̇ dt − ∫ p δψ̇ dt), three running sums.
    """
    out = np.zeros((len(run.time), 4, S.shape[2]))
    for k in range(int(run.drive[-1]) + 1):
        here = np.flatnonzero(run.drive == k)
        if len(here) < 2 or S.shape[2] == 0:
            continue
        part = slice(int(here[0]), int(here[-1]) + 1)
        h = np.diff(run.time[part])
        middle = 0.5 * (S[part][1:] + S[part][:-1]) * h[:, None, None]
        roll, pitch = (0.5 * (run.attitude[part][1:] + run.attitude[part][:-1])).T
        yaw = 0.5 * (run.yaw[part][1:] + run.yaw[part][:-1])
        moved = from_rpy(roll, pitch, yaw) @ middle[:, 3:]
        turned = ((np.sin(roll) / np.cos(pitch))[:, None] * middle[:, 1]
                  + (np.cos(roll) / np.cos(pitch))[:, None] * middle[:, 2])  # fmt: skip
        place = 0.5 * (run.position[part][1:] + run.position[part][:-1])
        spin = np.cumsum(turned, axis=0)
        x, y = run.position[part][1:, 0, None], run.position[part][1:, 1, None]
        sums = np.cumsum(moved, axis=0)
        inside = out[part][1:]
        inside[:, 0] = sums[:, 0] - (y * spin - np.cumsum(place[:, 1, None] * turned, axis=0))
        inside[:, 1] = sums[:, 1] + (x * spin - np.cumsum(place[:, 0, None] * turned, axis=0))
        inside[:, 2] = sums[:, 2]
        inside[:, 3] = spin
    return out
