"""Predictions of a log: poses at the end of its intervals, for many candidates at once, with covariance and slopes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from grouser._kernels.motion import log_integral as kernels
from grouser._kernels.motion.arc import Arc
from grouser.checks import FloatArray
from grouser.errors import CalibrationError
from grouser.logs import Log
from grouser.logs.log import IntArray, Sensor
from grouser.motion.candidates import Candidates, Predicted
from grouser.motion.consistency import given_poses, pose_noise
from grouser.motion.encoders import Encoders
from grouser.motion.intervals import Intervals, wrapped
from grouser.motion.model import MotionModel
from grouser.motion.parameters import ParameterVector
from grouser.motion.powertrain import Powertrain
from grouser.motion.spread import GroundSpread
from grouser.motion.velocity import (
    Inputs,
    SlipTwists,
    VelocityModel,
    inputs_of,
    memory_of,
    rolling_speed,
    slip_of,
    twists,
)
from grouser.threads import in_slices, thread_count

POSE = ("x", "y", "z", "roll", "pitch", "yaw")
"""Components of a pose, in order."""
ERRORS = (0, 1, 2, 5)
"""Components of a pose whose errors a prediction carries: where attitude is measured, roll and pitch are not."""
MANY = 32
"""Intervals that a thread takes at a time."""
FEW = 8
"""Up to this many intervals, only the samples that they need are used, also in a short log."""
MOST = 1 << 15
"""Samples of a log whose velocities, for all candidates, are held at once: 48 bytes for each of both."""
FORGOTTEN = 15.0
"""Time constants after which the start of a powertrain has no effect."""
MARGIN = 3
"""Samples around an interval that its integral may touch."""


class LogProblem:
    """A log cut into intervals, ready to be predicted by any candidate of one vehicle's motion model."""

    def __init__(
        self,
        log: Log,
        motion: MotionModel,
        intervals: Intervals,
        *,
        residual: Sequence[str] = ("x", "y", "yaw"),
        encoders: bool = True,
    ) -> None:
        """Residuals are of the named components of the pose, of x y z roll pitch yaw.

        encoders: whether a motion model with a powertrain has residuals for the travel of encoders too; predictions
        (…, I, 6) then have a further column for each.
        """
        for name in residual:
            if name not in POSE:
                raise CalibrationError(f"residual {name!r:.40} is not one of {', '.join(POSE)}")
        self.log = log
        self.intervals = intervals
        self.residual = tuple(residual)
        self.rows = np.array([POSE.index(name) for name in residual])
        self.inputs = inputs_of(log, motion.vehicle)
        self._vehicle = motion.vehicle
        self._memory = memory_of(motion.model)
        self._speed = rolling_speed(self.inputs, motion.vehicle)
        self._ones = np.ones(len(self._speed))
        self.commands: dict[tuple[object, ...], FloatArray] = {}
        """Commands of the last rollouts, for the next candidate."""
        self._slip: SlipTwists | None = None
        self._rolling: tuple[object, FloatArray] | None = None
        self.logged_commands = log.commands_array(motion.vehicle) if log.commands else None
        """Commanded rates, (n, nj) [rad/s or m/s], NaN where not logged; None: the log has none."""
        self.encoders: Encoders | None = None
        """Encoders that observe the powertrain."""
        self._driven: dict[tuple[Powertrain, int, int], Inputs] = {}
        if encoders and motion.powertrain is not None and self.logged_commands is not None:
            found = Encoders(log, motion.vehicle, self.inputs, self.logged_commands)
            if found.groups:
                self.encoders, self._encoder_lag = found, motion.sensor.lag
                self.rows = np.concatenate([self.rows, len(POSE) + np.arange(found.size)])

    @cached_property
    def yaw_rate(self) -> FloatArray | None:
        """Yaw rate by the gyro at the samples [rad/s], (n,); None: the log has no gyro."""
        if self.log.gyro is None or not np.isfinite(self.log.gyro[:, 2]).any():
            return None
        roll, pitch = self.inputs.attitude.T
        about_y = np.nan_to_num(self.log.gyro[:, 1])
        return np.asarray((about_y * np.sin(roll) + self.log.gyro[:, 2] * np.cos(roll)) / np.cos(pitch))

    @property
    def size(self) -> int:
        """Number of residuals of an interval."""
        return len(self.rows)

    def poses(self, motions: Sequence[MotionModel], chosen: slice = slice(None)) -> FloatArray:
        """Predicted poses (S, I, 6) of S candidates: in the sensor's heading frame at the start of each interval."""
        return self._poses(Candidates.of_motions(motions), chosen)

    def poses_at(self, vector: ParameterVector, X: FloatArray, chosen: slice = slice(None)) -> FloatArray:
        """As `poses`, of S rows of parameters X (S, n)."""
        return self._poses(Candidates.of_rows(vector, X), chosen)

    def _poses(self, candidates: Candidates, chosen: slice) -> FloatArray:
        motion = candidates.motions[0]
        if not motion.velocity_driven:
            from grouser.motion.rollouts import rollout_poses

            return self._observed(rollout_poses(self, candidates, self.intervals.only(chosen)), candidates, chosen)
        groups, narrow = self._parts(motion, chosen)
        found = [self._integrate(candidates, group, narrow=narrow).poses for group in groups]
        whole = np.concatenate([poses.reshape(len(candidates.which), -1, 6) for poses in found], axis=1)
        return self._observed(whole, candidates, chosen)

    def _observed(self, poses: FloatArray, candidates: Candidates, chosen: slice) -> FloatArray:
        """Poses (S, I, 6) with the travel of encoders behind them, (S, I, 6 + k), where it is observed."""
        if self.encoders is None:
            return poses
        part, _ = self._window(chosen)
        some, lag = self.intervals.only(chosen), self._encoder_lag
        trains: dict[Powertrain | None, FloatArray] = {}
        for motion in candidates.motions:
            if motion.powertrain not in trains:
                rates = self.driven(motion, part).rates
                trains[motion.powertrain] = self.encoders.travel(rates, some, lag, part.start)
        travel = np.stack([trains[candidates.motions[m].powertrain] for m in candidates.which])
        return np.concatenate([poses, travel], axis=2)

    def _parts(self, motion: MotionModel, chosen: slice) -> tuple[Sequence[slice], bool]:
        """Intervals that are predicted at a time, in slices, and whether only the samples they need are looked at."""
        first, last, _ = chosen.indices(len(self.intervals))
        grouped = len(self.inputs.time) > MOST and last - first > FEW and motion.powertrain is None
        return (list(self._groups(first, last)) if grouped else [chosen]), grouped

    def errors(self, motion: MotionModel, chosen: slice = slice(None), slopes: FloatArray | None = None) -> Predicted:
        """Poses with what their covariance is made of, and their slopes by the convolution integral.

        slopes: ∂(ω, v)/∂parameters at the samples of `window`, (n, 6, np).
        """
        if not motion.velocity_driven:
            from grouser.motion.rollouts import rollout_errors

            whole = rollout_errors(self, motion, self.intervals.only(chosen))._replace(given=self._given(chosen))
            return self._with_travel(whole, motion, chosen)
        one = Candidates.of_motions([motion])
        groups, narrow = self._parts(motion, chosen) if slopes is None else ([chosen], False)
        found = [self._integrate(one, group, narrow=narrow, noisy=motion, slopes=slopes) for group in groups]
        columns: list[Any] = [
            None if column[0] is None else np.concatenate(column) for column in zip(*found, strict=True)
        ]
        whole = found[0] if len(found) == 1 else Predicted(*columns)
        return self._with_travel(whole, motion, chosen)

    def _with_travel(self, predicted: Predicted, motion: MotionModel, chosen: slice) -> Predicted:
        """The same with the travel of encoders behind the poses, where it is observed."""
        if self.encoders is None:
            return predicted
        one = Candidates.of_motions([motion])
        return predicted._replace(poses=self._observed(predicted.poses[None], one, chosen)[0])

    def errors_at(self, vector: ParameterVector, x: FloatArray, chosen: slice = slice(None)) -> Predicted:
        """As `errors`, of parameters x (n,) or rows (S, n), with slopes by those of slip: P (11), L (5.28).

        Rows of the results are s I + i.
        """
        shared = self._shared(vector.present, self._window(chosen)[0])
        assert shared is not None
        positions = [position for _, position in vector.slip]
        slopes = shared[0].slopes[shared[1]]
        if positions != list(range(slopes.shape[2])):
            slopes = slopes[:, :, positions]
        return self._integrate(Candidates.of_rows(vector, np.atleast_2d(x)), chosen, noisy=vector.motion, slopes=slopes)

    def _integrate(
        self,
        candidates: Candidates,
        chosen: slice,
        *,
        narrow: bool = False,
        noisy: MotionModel | None = None,
        slopes: FloatArray | None = None,
    ) -> Predicted:
        """Integrals over the chosen intervals, rows s I + i; of noise and slopes where they are given."""
        part, samples = self._window(chosen, narrow)
        found = integrate_log(
            time=self.inputs.time[part],
            attitude=self.inputs.attitude[part],
            twist=self._velocities(candidates, part),
            slope=np.zeros((part.stop - part.start, 6, 0)) if slopes is None else slopes,
            noise=np.zeros(0, dtype=np.int64) if noisy is None else noisy.noise.indices,
            intensity=(self._ones if noisy is None else self.intensity(noisy))[part],
            length=0.0 if noisy is None else noisy.noise.memory,
            samples=samples,
            times=self.intervals.times[chosen],
            mounting=candidates.mounting,
        )
        return found if noisy is None else found._replace(given=self._given(chosen))

    def _given(self, chosen: slice) -> FloatArray | None:
        """Covariance of the poses of some intervals, where the log gives it, (I, 2, 4, 4)."""
        sigma = self.intervals.sigma
        return None if sigma is None else given_poses(sigma[chosen], self.intervals.start[chosen, 5])

    def recut(self, intervals: Intervals) -> LogProblem:
        """The same log cut otherwise; what is known of its samples is shared."""
        other = copy(self)
        other.intervals = intervals
        other.__dict__.pop("_needed", None)
        return other

    def intensity(self, motion: MotionModel) -> FloatArray:
        """Intensity of the process noise at each sample, (n,): 1, or the rim speed [m/s] if it grows with distance."""
        return self._speed if motion.noise.grows == "distance" else self._ones

    def _velocities(self, candidates: Candidates, part: slice) -> FloatArray:
        """Body velocities (S, n, 6) of candidates at the samples of a part."""
        shared = self._shared(candidates.motions[0], part)
        if shared is not None and candidates.slip is not None:  # then all share one model
            return shared[0].twists(candidates.slip, shared[1])
        out = np.empty((len(candidates.which), part.stop - part.start, 6))
        for m, motion in enumerate(candidates.motions):
            shared, mine = self._shared(motion, part), candidates.which == m
            if shared is None:
                out[mine] = self._velocity(motion, part)
            else:
                out[mine] = shared[0].twists(np.array([slip_of(motion.model)], dtype=np.float64), shared[1])
        return out

    def _shared(self, motion: MotionModel, part: slice) -> tuple[SlipTwists, slice] | None:
        """Velocities for any slip, and the slice of them that a part is; None where they are not affine in slip."""
        model: Any = motion.model  # no dynamics, where attitude is an input
        if motion.powertrain is not None or model.vehicle is not self._vehicle or slip_of(model) is None:
            return None
        if isinstance(model, VelocityModel) and len(self.inputs.time) > MOST:
            # Slopes at all samples would take too much memory; at some they are found quickly.
            return SlipTwists(model, self.inputs.window(part.start, part.stop)), slice(None)
        if self._slip is None or not self._slip.fits(model):
            self._slip = SlipTwists(model, self.inputs)
        return self._slip, part

    def _velocity(self, motion: MotionModel, part: slice) -> FloatArray:
        """Body velocities (n, 6) at the samples of a part."""
        model: Any = motion.model
        if motion.powertrain is not None or part.stop - part.start < len(self.inputs.time):
            return twists(model, self.driven(motion, part))
        if self._rolling is None or self._rolling[0] is not model:
            self._rolling = (model, twists(model, self.inputs))
        return self._rolling[1]

    def driven(self, motion: MotionModel, part: slice | None = None) -> Inputs:
        """Inputs at the samples of a part, with rates from commands where the motion model has a powertrain."""
        low, high = (0, len(self.inputs.time)) if part is None else (part.start, part.stop)
        train = motion.powertrain
        if train is None:
            return self.inputs.window(low, high)
        if self.logged_commands is None:
            raise CalibrationError(f"{self.log.name}: has no commands; a powertrain needs [commands] in its manifest")
        if (train, low, high) not in self._driven:
            if len(self._driven) >= 4 * FEW:
                self._driven.clear()
            time, bounds = self.inputs.time, self.log.segment_bounds
            # Earlier commands have no effect any more, so the cost is that of the part alone.
            begins = bounds[np.searchsorted(bounds, low, side="right") - 1]
            back = time[low] - train.delay - FORGOTTEN * max(train.time_constant, self.log.report.period)
            first = begins + int(np.searchsorted(time[begins:low], back))
            driven = np.flatnonzero(np.isfinite(self.logged_commands).all(axis=0))
            inner = bounds[(bounds > first) & (bounds < high)]
            edges = np.array([first, *inner, high], dtype=np.int64)
            measured = self.inputs.rates[edges[:-1]][:, driven]
            commands = self.logged_commands[:, driven]
            initial = np.where(np.isfinite(measured), measured, train.gain * commands[edges[:-1]])
            found = train.stretches(time[first:high], commands[first:high], edges - first, initial)
            inputs = self.inputs.window(low, high)
            rates = inputs.rates.copy()
            rates[:, driven] = found[low - first :]
            self._driven[train, low, high] = replace(inputs, rates=rates)
        return self._driven[train, low, high]

    def window(self, chosen: slice = slice(None)) -> Inputs:
        """Inputs at the samples that some intervals need."""
        part, _ = self._window(chosen)
        return self.inputs.window(part.start, part.stop)

    def _window(self, chosen: slice, narrow: bool = False) -> tuple[slice, IntArray]:
        """Samples that some intervals need, and for each interval [low, high) among them, (I, 2)."""
        first, last, _ = chosen.indices(len(self.intervals))
        if not narrow and (last - first == len(self.intervals) or last - first > FEW):
            return slice(0, len(self.inputs.time)), self.intervals.ranges[chosen]
        needed = self._needed[chosen]
        low, high = int(needed[:, 0].min()), int(needed[:, 1].max())
        return slice(low, high), needed - low

    @cached_property
    def _needed(self) -> IntArray:
        """Samples [low, high) that each interval needs, (I, 2)."""
        time = self.inputs.time
        out = np.empty((len(self.intervals), 2), dtype=np.int64)
        for k, ((low, high), (t0, t1)) in enumerate(zip(self.intervals.ranges, self.intervals.times, strict=True)):
            stretch = time[low:high]
            out[k, 0] = max(low, low + int(np.searchsorted(stretch, t0 - 1.0 - self._memory)) - MARGIN)
            out[k, 1] = min(high, low + int(np.searchsorted(stretch, t1 + 1.0)) + MARGIN)
        return out

    def _groups(self, first: int, last: int) -> Iterator[slice]:
        """Intervals one after another that together need about `MOST` samples, in slices; a gap begins another."""
        while first < last:
            needed = self._needed[first:last]
            gap = np.append(False, needed[1:, 0] > needed[:-1, 1])
            far = np.flatnonzero((needed[:, 1] > needed[0, 0] + MOST) | gap)
            end = max(first + int(far[0]), first + 1) if far.size else last
            yield slice(first, end)
            first = end

    def residuals(self, poses: FloatArray, chosen: slice = slice(None)) -> FloatArray:
        """Measured less predicted, of the chosen components, shape (…, I, m); angles between −π and π."""
        lost = np.flatnonzero(~np.isfinite(poses).all(axis=-1).reshape(-1, poses.shape[-2]).all(axis=0))
        if len(lost):
            t0, t1 = self.intervals.times[chosen][lost[0]]
            raise CalibrationError(
                f"{self.log.name}: {len(lost)} of {poses.shape[-2]} predictions do not reach their end, the first from"
                f" {t0:.2f} to {t1:.2f} s: it rolls over, diverges or leaves the ground; check model and ground"
            )
        measured = self.intervals.measured[chosen]
        if self.encoders is not None:
            part, _ = self._window(chosen)
            some = self.intervals.only(chosen)
            travel = self.encoders.travel(self.inputs.rates[part], some, self._encoder_lag, part.start)
            measured = np.concatenate([measured, travel], axis=1)
        return np.asarray(wrapped(measured - poses)[..., self.rows])

    def ground_covariance(self, motion: MotionModel, spread: GroundSpread) -> FloatArray:
        """Covariance of the residuals on a ground that differs from the fit's by a spread, (I, m, m)."""
        twist = self._velocities(Candidates.of_motions([motion]), slice(0, len(self.inputs.time)))[0]
        J = self.errors(motion, slopes=spread.slopes(twist)).slopes
        return self._selected(J @ spread.covariance @ J.transpose(0, 2, 1), None)

    def covariance(self, motion: MotionModel, predicted: Predicted, *, other_log: bool = False) -> FloatArray:
        """R_μ of T (3.21) of each interval, shape (I, m, m): process noise, and the sensor's at both ends."""
        noise = motion.noise
        process = np.einsum("ab,iabjk->ijk", noise.density, predicted.W)
        if noise.wander is not None:
            process += np.einsum("a,iajk->ijk", noise.wander, predicted.wander)
        ends, given = predicted.ends.swapaxes(0, 1), predicted.given
        sensor = pose_noise(motion.sensor, predicted.poses, *ends, given=given, other_log=other_log)
        found = self._selected(process + sensor + predicted.start, motion.sensor)
        if self.encoders is not None:
            k = np.arange(len(self.residual), self.size)
            # Scatter of travel is taken for independent of that of poses: the process noise has its share of it.
            found[:, k, k] = self.encoders.scatter**2
        return found

    def covariance_slopes(self, motion: MotionModel, predicted: Predicted, names: Sequence[str]) -> FloatArray:
        """∂R_μ/∂s for noise parameters by name, of the process or of the sensor, shape (I, ns, m, m)."""
        white = motion.noise.slopes()
        silent = replace(motion.sensor, position_noise=0.0, yaw_noise=0.0, time_noise=0.0)
        given = None if predicted.given is None else predicted.given * 0.0  # does not change with the sensor's noise
        columns = []
        for name in names:
            k = motion.noise.names.index(name) if name in motion.noise.names else -1
            if k >= len(white):
                columns.append(predicted.wander[:, k - len(white)])
            elif k >= 0:
                columns.append(np.einsum("ab,iabjk->ijk", white[k], predicted.W))
            else:
                field = name.partition(".")[2]
                unit, ends = replace(silent, **{field: 1.0}), predicted.ends.swapaxes(0, 1)
                slope = pose_noise(unit, predicted.poses, *ends, given=given)
                columns.append(2.0 * getattr(motion.sensor, field) * slope)
        return self._selected(np.stack(columns, axis=1), None)

    def _selected(self, four: FloatArray, sensor: Sensor | None) -> FloatArray:
        """Maps errors (x, y, z, yaw) to the residual's components."""
        out = np.zeros((*four.shape[:-2], self.size, self.size))
        for a, i in enumerate(self.rows):
            for b, j in enumerate(self.rows):
                if i in ERRORS and j in ERRORS:
                    out[..., a, b] = four[..., ERRORS.index(i), ERRORS.index(j)]
                elif a == b and sensor is not None:
                    out[..., a, a] = 2.0 * sensor.attitude_noise**2
        return out


def integrate_log(*, mounting: FloatArray, length: float = 0.0, **log: FloatArray | IntArray) -> Predicted:
    """Integrals of a log, fields as `LogIntegral` names them.

    mounting (S, 5): x, y, z, yaw and lag of the sensor; length: of the noise that wanders, 0: none does.
    """
    rows, nd = len(mounting) * len(log["times"]), len(log["noise"])
    of_noise = (nd, nd, 4, 4), (2, 4), (nd, 4, 4), (nd, 2, 4), (4, 4)
    found = Predicted(*(np.zeros((rows, *shape)) for shape in ((6,), (4, log["slope"].shape[2]), *of_noise)))
    results = dict(zip(("pose", "J", "W", "ends", "wander", "reach"), found[:6], strict=True))
    integral = kernels.LogIntegral(
        lag=mounting[:, 4], sensor=mounting[:, :4], length=np.array([length]), **log, **results
    )

    def some(_: int, first: int, last: int) -> None:
        kernels.integrate_log(integral, kernels.IntegralWork.zeros(arc=Arc.zeros()), first, last)

    in_slices(some, rows, threads=thread_count(None), size=MANY)
    return found
