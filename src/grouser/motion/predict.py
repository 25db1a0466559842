"""Predictions of a log: poses at the end of its intervals, for many candidate models at once, with covariance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from grouser._kernels.motion import log_integral as kernels
from grouser.checks import FloatArray
from grouser.errors import CalibrationError
from grouser.kinematics import Kinematics
from grouser.logs import Log
from grouser.logs.log import IntArray, Sensor
from grouser.motion.intervals import Intervals
from grouser.motion.model import MotionModel
from grouser.motion.velocity import Inputs, SlipTwists, VelocityModel, inputs_of, rolling_speed, twists
from grouser.slip import BodySlip
from grouser.threads import in_slices, thread_count

POSE = ("x", "y", "z", "roll", "pitch", "yaw")
"""Components of a pose, in order."""
ERRORS = (0, 1, 2, 5)
"""Components of a pose whose errors a prediction carries: where attitude is measured, roll and pitch are not."""
MANY = 32
"""Intervals that a thread takes at a time."""
FEW = 8
"""Intervals for which only the samples they need are looked at, also in a short log."""
MOST = 1 << 15
"""Samples of a log whose velocities, for all candidates, are held at once: 48 bytes for each of both."""
MARGIN = 3
"""Samples beside an interval that its integral may touch."""


class Predicted(NamedTuple):
    """Predictions of I intervals by one model."""

    poses: FloatArray
    """Pose of the sensor at the end in its heading frame at the start, (I, 6)."""
    slopes: FloatArray
    """∂(x, y, z, yaw)/∂parameters by the convolution integral, (I, 4, np)."""
    W: FloatArray
    """Integrals of the noise components, (I, nd, nd, 4, 4): the covariance of x, y, z, yaw is Σ Q′_ab W_ab, P (17)."""
    ends: FloatArray
    """Velocity of the pose at the start and at the end, (I, 2, 4)."""


class LogProblem:
    """A log cut into intervals, ready to be predicted by any candidate of one vehicle's motion model."""

    def __init__(
        self, log: Log, motion: MotionModel, intervals: Intervals, *, residual: Sequence[str] = ("x", "y", "yaw")
    ) -> None:
        """Residuals are of the named components of the pose, of x y z roll pitch yaw."""
        for name in residual:
            if name not in POSE:
                raise CalibrationError(f"residual {name!r:.40} is not one of {', '.join(POSE)}")
        self.log = log
        self.intervals = intervals
        self.residual = tuple(residual)
        self.rows = np.array([POSE.index(name) for name in residual])
        self.inputs = inputs_of(log, motion.vehicle)
        self._vehicle = motion.vehicle
        self._speed = rolling_speed(self.inputs, motion.vehicle)
        self._ones = np.ones(len(self._speed))
        self.commands: dict[tuple[float, float, int, bytes], FloatArray] = {}
        """Commands of the last rollouts, for the next candidate."""
        self._slip: SlipTwists | None = None
        self._rolling: tuple[object, FloatArray] | None = None
        self._commands = log.commands_array(motion.vehicle) if log.commands else None

    @property
    def size(self) -> int:
        """Number of residuals of an interval."""
        return len(self.rows)

    def poses(self, motions: Sequence[MotionModel], chosen: slice = slice(None)) -> FloatArray:
        """Predicted poses (S, I, 6) of S candidates: in the sensor's heading frame at the start of each interval."""
        if not motions[0].velocity_driven:
            from grouser.motion.rollouts import rollout_poses

            return rollout_poses(self, motions, self.intervals.only(chosen))
        first, last, _ = chosen.indices(len(self.intervals))
        if len(self.inputs.time) <= MOST or last - first <= FEW or motions[0].powertrain is not None:
            return self._poses(motions, chosen, *self._window(chosen))
        out = np.empty((len(motions), last - first, 6))
        for group in self._groups(first, last):
            found = self._poses(motions, group, *self._part(group))
            out[:, group.start - first : group.stop - first] = found
        return out

    def _poses(
        self, motions: Sequence[MotionModel], chosen: slice, here: Intervals, inputs: Inputs, shift: int
    ) -> FloatArray:
        """Predicted poses of some intervals with the inputs they need, which begin at sample `shift`."""
        made: dict[int, FloatArray] = {}
        stack = np.empty((len(motions), len(inputs.time), 6))
        for s, motion in enumerate(motions):
            key = id(motion.model) if motion.powertrain is None else -1 - s
            if key not in made:
                made[key] = self._twists(motion, inputs, chosen, shift)
            stack[s] = made[key]
        out = np.zeros((len(motions), len(here), 6))
        log = (inputs.time, stack, inputs.attitude, here.ranges - shift, here.times)
        lags, sensors = np.array([m.sensor.lag for m in motions]), np.array([mounting(m.sensor) for m in motions])

        def some(_: int, first: int, last: int) -> None:
            kernels.integrate_poses(*log, lags, sensors, out, first, last)

        in_slices(some, len(motions) * len(here), threads=thread_count(None), size=MANY)
        return out

    def errors(self, motion: MotionModel, chosen: slice = slice(None), slopes: FloatArray | None = None) -> Predicted:
        """Poses with what their covariance is made of, and their slopes by the convolution integral."""
        if not motion.velocity_driven:
            from grouser.motion.rollouts import rollout_errors

            return rollout_errors(self, motion, self.intervals.only(chosen))
        here, inputs, shift = self._window(chosen)
        twist = self._twists(motion, inputs, chosen, shift)
        if slopes is None:
            slopes = np.zeros((len(inputs.time), 6, 0))
        n, nd = len(here), len(motion.noise.components)
        poses, J, W = np.zeros((n, 6)), np.zeros((n, 4, slopes.shape[2])), np.zeros((n, nd, nd, 4, 4))
        ends = np.zeros((n, 2, 4))
        log = (inputs.time, twist, inputs.attitude, here.ranges - shift, here.times)
        sensor = (float(motion.sensor.lag), mounting(motion.sensor), np.ascontiguousarray(slopes))
        noise = (motion.noise.indices, self.intensity(motion)[shift : shift + len(inputs.time)])

        def some(_: int, first: int, last: int) -> None:
            kernels.integrate_errors(*log, *sensor, *noise, poses, J, W, ends, first, last)

        in_slices(some, n, threads=thread_count(None), size=MANY)
        return Predicted(poses, J, W, ends)

    def intensity(self, motion: MotionModel) -> FloatArray:
        """How strong the process noise is at each sample, (n,): 1, or the rim speed [m/s] if it grows with distance."""
        return self._speed if motion.noise.grows == "distance" else self._ones

    def _twists(self, motion: MotionModel, inputs: Inputs, chosen: slice, shift: int) -> FloatArray:
        """Body velocities at the samples of some inputs."""
        model = motion.model
        assert isinstance(model, (Kinematics, VelocityModel))
        part = slice(shift, shift + len(inputs.time))
        if motion.powertrain is not None or not isinstance(model, Kinematics):
            return twists(model, self._driven(motion, inputs, chosen))
        if isinstance(model.slip, BodySlip) and model.vehicle is self._vehicle:
            if self._slip is None or not self._slip.fits(model):
                self._slip = SlipTwists(model, self.inputs)
            return self._slip.twists(model, part)
        if len(inputs.time) < len(self.inputs.time):
            return twists(model, inputs)
        if self._rolling is None or self._rolling[0] is not model:
            self._rolling = (model, twists(model, inputs))
        return self._rolling[1]

    def residuals(self, poses: FloatArray, chosen: slice = slice(None)) -> FloatArray:
        """Measured less predicted, of the chosen components, shape (…, I, m); angles between −π and π."""
        lost = np.flatnonzero(~np.isfinite(poses).all(axis=-1).reshape(-1, poses.shape[-2]).all(axis=0))
        if len(lost):
            t0, t1 = self.intervals.times[chosen][lost[0]]
            raise CalibrationError(
                f"{self.log.name}: {len(lost)} of {poses.shape[-2]} predictions do not reach their end, the first from"
                f" {t0:.2f} to {t1:.2f} s: it rolls over, diverges or leaves the ground; check model and ground"
            )
        r = self.intervals.measured[chosen] - poses
        r[..., 3:] = np.remainder(r[..., 3:] + np.pi, 2.0 * np.pi) - np.pi
        result: FloatArray = r[..., self.rows]
        return result

    def covariance(self, motion: MotionModel, predicted: Predicted, *, other_log: bool = False) -> FloatArray:
        """R_μ of T (3.21) of each interval, shape (I, m, m): process noise, and the sensor's at both ends.

        Of another log than the one the motion model was calibrated to, the sensor may also be later or less late.
        """
        process = np.einsum("ab,iabjk->ijk", motion.noise.density, predicted.W)
        total = process + sensor_covariance(motion.sensor, predicted)
        if other_log and motion.sensor.lag_spread > 0.0:
            later = predicted.ends[:, 1] - start_velocity(predicted)
            total = total + motion.sensor.lag_spread**2 * later[:, :, None] * later[:, None, :]
        return self._selected(total, motion.sensor)

    def process_covariance(self, densities: FloatArray, predicted: Predicted) -> FloatArray:
        """Covariances that process noise of some densities (k, nd, nd) gives, shape (I, k, m, m)."""
        return self._selected(np.einsum("kab,iabcd->ikcd", densities, predicted.W), None)

    def covariance_slopes(self, motion: MotionModel, predicted: Predicted, names: Sequence[str]) -> FloatArray:
        """∂R_μ/∂s for noise parameters by name, of the process or of the sensor, shape (I, ns, m, m)."""
        process = motion.noise.slopes()
        silent = replace(motion.sensor, position_noise=0.0, yaw_noise=0.0, time_noise=0.0)
        columns = []
        for name in names:
            if name in motion.noise.names:
                k = motion.noise.names.index(name)
                columns.append(np.einsum("ab,iabjk->ijk", process[k], predicted.W))
            else:
                field = name.partition(".")[2]
                unit = sensor_covariance(replace(silent, **{field: 1.0}), predicted)
                columns.append(2.0 * getattr(motion.sensor, field) * unit)
        return self._selected(np.stack(columns, axis=1), None)

    def _selected(self, four: FloatArray, sensor: Sensor | None) -> FloatArray:
        """Of errors (x, y, z, yaw) to those of the residual's components."""
        m = self.size
        out = np.zeros((*four.shape[:-2], m, m))
        for a, i in enumerate(self.rows):
            for b, j in enumerate(self.rows):
                if i in ERRORS and j in ERRORS:
                    out[..., a, b] = four[..., ERRORS.index(i), ERRORS.index(j)]
                elif a == b and sensor is not None:
                    out[..., a, a] = 2.0 * sensor.attitude_noise**2
        return out

    def _window(self, chosen: slice) -> tuple[Intervals, Inputs, int]:
        """The chosen intervals, the inputs they need and the number of samples left off before those."""
        here = self.intervals.only(chosen)
        if len(here) == len(self.intervals) or len(here) > FEW:
            return here, self.inputs, 0
        ranges = self._ranges(here)
        first, last = int(ranges[:, 0].min()), int(ranges[:, 1].max())
        return replace(here, ranges=ranges), self.inputs.window(first, last), first

    def _ranges(self, here: Intervals) -> IntArray:
        """Samples [low, high) that intervals need, (I, 2)."""
        time = self.inputs.time
        out = np.empty((len(here), 2), dtype=np.int64)
        for k, ((low, high), (t0, t1)) in enumerate(zip(here.ranges, here.times, strict=True)):
            stretch = time[low:high]
            out[k, 0] = max(low, low + int(np.searchsorted(stretch, t0 - 1.0)) - MARGIN)
            out[k, 1] = min(high, low + int(np.searchsorted(stretch, t1 + 1.0)) + MARGIN)
        return out

    @cached_property
    def _needed(self) -> IntArray:
        """Samples [low, high) that each interval needs, (I, 2)."""
        return self._ranges(self.intervals)

    def _groups(self, first: int, last: int) -> Iterator[slice]:
        """Intervals one after another that together need about `MOST` samples, in slices."""
        while first < last:
            far = np.flatnonzero(self._needed[first:last, 1] > self._needed[first, 0] + MOST)
            end = max(first + int(far[0]), first + 1) if far.size else last
            yield slice(first, end)
            first = end

    def _part(self, group: slice) -> tuple[Intervals, Inputs, int]:
        """As `_window`, of any number of intervals."""
        ranges = self._needed[group]
        low, high = int(ranges[:, 0].min()), int(ranges[:, 1].max())
        return replace(self.intervals.only(group), ranges=ranges), self.inputs.window(low, high), low

    def _driven(self, motion: MotionModel, inputs: Inputs, chosen: slice) -> Inputs:
        """The inputs with rates from commands, where the motion model has a powertrain."""
        if motion.powertrain is None:
            return inputs
        if self._commands is None:
            raise CalibrationError(f"{self.log.name}: has no commands; a powertrain needs [commands] in its manifest")
        rates = self.inputs.rates.copy()
        driven = np.flatnonzero(np.isfinite(self._commands).all(axis=0))
        commands = self._commands[:, driven]
        rates[:, driven] = motion.powertrain.stretches(self.inputs.time, commands, self.log.segment_bounds)
        _, _, shift = self._window(chosen)
        n = len(inputs.time)
        return Inputs(time=inputs.time, attitude=inputs.attitude, rates=rates[shift : shift + n], angles=inputs.angles)


def mounting(sensor: Sensor) -> FloatArray:
    """(x, y, z, yaw) of a sensor on the body."""
    return np.array([sensor.x, sensor.y, sensor.z, sensor.yaw])


def sensor_covariance(sensor: Sensor, predicted: Predicted) -> FloatArray:
    """Covariance of a measured relative pose (I, 4, 4), of x, y, z, yaw: noise of both poses, T (3.21).

    A yaw error of the first pose turns the whole displacement. An error of a time stamp moves its pose along the
    motion; at the start it also turns the frame.
    """
    poses, ends = predicted.poses, predicted.ends
    single = np.diag([sensor.position_noise**2] * 3 + [sensor.yaw_noise**2])
    turn = np.tile(np.eye(4), (len(poses), 1, 1))
    turn[:, 0, 3], turn[:, 1, 3] = -poses[:, 1], poses[:, 0]
    result: FloatArray = single + turn @ single @ turn.transpose(0, 2, 1)
    if sensor.time_noise > 0.0:
        for v in (ends[:, 1], start_velocity(predicted)):
            result = result + sensor.time_noise**2 * v[:, :, None] * v[:, None, :]
    return result


def start_velocity(predicted: Predicted) -> FloatArray:
    """How fast the relative pose would change if the first pose were taken later, with its sign turned, (I, 4).

    The start moves on, and the frame turns with it.
    """
    v = predicted.ends[:, 0].copy()
    v[:, 0] -= predicted.poses[:, 1] * v[:, 3]
    v[:, 1] += predicted.poses[:, 0] * v[:, 3]
    return v


@dataclass(frozen=True, eq=False, kw_only=True)
class LogPrediction:
    """Predicted and measured motion over the intervals of a log."""

    times: FloatArray
    """Time stamps of the first and last pose of each [s], (I, 2)."""
    pose: FloatArray
    """Predicted pose at the end in the heading frame of the start, (I, 6): x, y, z [m], roll, pitch, yaw [rad]."""
    covariance: FloatArray
    """Of its errors against the measured x, y [m], yaw [rad], sensor noise included, (I, 3, 3)."""
    measured: FloatArray
    """What the pose sensor saw, (I, 6): x, y, z [m], roll, pitch, yaw [rad]."""

    @property
    def error(self) -> FloatArray:
        """Measured less predicted x, y [m] and yaw [rad], (I, 3)."""
        r = self.measured[:, [0, 1, 5]] - self.pose[:, [0, 1, 5]]
        r[:, 2] = np.remainder(r[:, 2] + np.pi, 2.0 * np.pi) - np.pi
        return r


def predict_log(
    motion: MotionModel, log: Log, *, interval: float | None = 2.0, distance: float | None = None
) -> LogPrediction:
    """Predict every interval of a log, by time [s] or distance [m]."""
    from grouser.calibration.calibrate import cut_log

    cut = cut_log(log, motion, interval=interval, distance=distance)
    problem = LogProblem(log, motion, cut)
    predicted = problem.errors(motion)
    return LogPrediction(
        times=cut.times,
        pose=predicted.poses,
        covariance=problem.covariance(motion, predicted, other_log=True),
        measured=cut.measured,
    )
