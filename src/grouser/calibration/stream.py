"""Calibration while the robot drives, from samples and poses one by one, in constant memory."""

from __future__ import annotations

import copy
import math
import statistics
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any

import numpy as np

from grouser import dynamics, kinematics
from grouser.calibration.adapt import start_of
from grouser.calibration.calibrate import DEFAULTS, fit_of_filter, order
from grouser.calibration.loss import GATE
from grouser.calibration.memory import Memory
from grouser.calibration.online import OnlineFilter, Update
from grouser.checks import FloatArray
from grouser.errors import CalibrationError
from grouser.logs.log import Log, Poses
from grouser.logs.report import Report
from grouser.motion.fit import Fit, Training
from grouser.motion.intervals import LATEST, LONGEST, SLOWEST, Cutter, Intervals, relative_poses
from grouser.motion.model import MotionModel
from grouser.motion.parameters import Parameter, resolve
from grouser.motion.predict import LogProblem
from grouser.motion.velocity import VelocityModel, rim_speed

AFTER = 1.0
"""An interval is used once the samples reach this far beyond its end [s]: the pose sensor may be early or late."""
BEFORE = LATEST + AFTER
"""Samples kept before the pose at which the next interval begins [s]."""
PATIENCE = 5.0
"""Largest delay of a pose after the samples of its time [s]."""
FIRST_STEPS = 20
"""Steps between the first poses, of which the median is the sensor's period from then on."""
GAP = 0.5
"""A hole between samples that ends a stretch [s]."""

Row = list[float]
at, driven = itemgetter(0), itemgetter(1)
"""Time [s] and path [m] until a sample or pose."""


class StreamingCalibrator:
    """Cuts a drive into intervals while it lasts and filters each, T (3.48)–(3.54).

    >>> calibrator = StreamingCalibrator(MotionModel(model=gr.Kinematics(rover), sensor=sensor))
    >>> calibrator.sample(t, {"FL": 1.2, "FR": 1.3}, attitude=(0.01, 0.0))  # at every control cycle
    >>> calibrator.pose(t, (x, y, z), (roll, pitch, yaw))  # whenever there is one

    Each returns an `Update` for every interval that it completed. Where intervals begin and end depends on nothing that
    comes later, and `state` is all that must be stored: a calibrator that is given it continues as if it had never
    stopped, to the last bit.
    """

    def __init__(
        self,
        model: MotionModel | kinematics.Kinematics | dynamics.Dynamics | VelocityModel | Fit,
        parameters: Sequence[str | Parameter] = DEFAULTS,
        *,
        interval: float = 2.0,
        distance: float | None = None,
        stride: float | None = None,
        gate: float = GATE,
        residual: Sequence[str] = ("x", "y", "yaw"),
        longest_gap: float = GAP,
        adapt: bool = True,
        memory: Memory | None = None,
    ) -> None:
        """Intervals last `interval` [s], or `distance` [m] where given; a shorter `stride` [s] makes them overlap.

        A fit in place of the model carries it on, with its own parameters; `adapt` and `memory` are as for `calibrate`.
        """
        covariance: FloatArray | None = None
        if isinstance(model, Fit):
            self.motion, parameters, covariance = start_of(model, lag_spread=model.model.sensor.lag_spread)
        else:
            self.motion = model if isinstance(model, MotionModel) else MotionModel(model=model)
        self.length = float(interval if distance is None else distance)
        if not (math.isfinite(self.length) and self.length > 0.0):
            unit = "s" if distance is None else "m"
            raise CalibrationError(f"an interval of {self.length:g} {unit}: must be finite and positive")
        self.by_distance = distance is not None
        self.stride = stride
        self.residual = tuple(residual)
        self.longest_gap = float(longest_gap)
        chosen = order(resolve(self.motion, parameters))
        self.filter = OnlineFilter(self.motion, chosen, covariance=covariance, gate=gate, adapt=adapt, memory=memory)
        slowest = SLOWEST * float(self.motion.vehicle.arrays.radius.mean())
        self._cutter = Cutter(length=self.length, by_distance=self.by_distance, stride=stride, slowest=slowest)
        self._joints: list[list[str]] | None = None
        self._attitude = False
        self._samples: list[Row] = []
        """Time, path since the stretch began, roll, pitch, then rates, angles and commands."""
        self._poses: list[Row] = []
        """Time, path, x, y, z, roll, pitch, yaw; the first is where the next interval begins."""
        self._waiting: list[Row] = []
        """Poses ahead of the samples; their path is not known yet."""
        self._steps: list[float] = []
        self._from = self._last_pose = -math.inf
        self.counts = {"samples": 0, "samples_rejected": 0, "poses": 0, "poses_rejected": 0, "stretches": 0}
        """Numbers of samples and poses so far, of those that could not be used, and of stretches."""
        self.squares = [0.0, 0.0]
        """Sums of squared position [m²] and yaw [rad²] errors of predictions, made before their interval was used."""

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Parameters of the calibration, noise last."""
        return (*self.filter.systematic, *self.filter.stochastic)

    @property
    def pose_period(self) -> float | None:
        """Time between poses [s], the median of the first few; None until they came."""
        return statistics.median(self._steps) if len(self._steps) >= FIRST_STEPS else None

    @property
    def held(self) -> int:
        """Samples and poses in memory now."""
        return len(self._samples) + len(self._poses) + len(self._waiting)

    @property
    def overlapping(self) -> bool:
        """Whether intervals share samples."""
        return self.stride is not None and (self.by_distance or self.stride < self.length)

    def sample(
        self,
        time: float,
        rates: Mapping[str, float],
        *,
        angles: Mapping[str, float] | None = None,
        attitude: Sequence[float] | None = None,
        commands: Mapping[str, float] | None = None,
    ) -> list[Update]:
        """One sample of the inputs: rates and angles by joint [rad/s, rad], roll and pitch [rad]."""
        given = (rates, angles or {}, commands or {})
        if self._joints is None:
            self._joints = self._checked([list(one) for one in given])
            self._attitude = attitude is not None
        try:
            values = [float(one[joint]) for one, joints in zip(given, self._joints, strict=True) for joint in joints]
        except KeyError as joint:
            raise CalibrationError(f"a sample at {time:g} s lacks joint {joint}, which the first one had") from None
        roll, pitch = (0.0, 0.0) if attitude is None else (float(attitude[0]), float(attitude[1]))
        needed = [float(time), roll, pitch, *values[: len(self._joints[0]) + len(self._joints[1])]]
        if not all(map(math.isfinite, needed)):
            self.counts["samples_rejected"] += 1
            return []
        return self._take([float(time), 0.0, roll, pitch, *values])

    def pose(self, time: float, position: Sequence[float], attitude: Sequence[float]) -> list[Update]:
        """One pose of the sensor: x, y, z [m] and roll, pitch, yaw [rad]; it may be a little older than the samples."""
        row = [float(time), 0.0, *map(float, position), *map(float, attitude)]
        if len(row) != 8:
            raise CalibrationError(f"a pose at {time:g} s: needs x, y, z and roll, pitch, yaw")
        before = self._samples and row[0] < self._samples[0][0]
        if not all(map(math.isfinite, row)) or row[0] <= self._last_pose or before:
            self.counts["poses_rejected"] += 1
            return []
        self.counts["poses"] += 1
        if len(self._steps) < FIRST_STEPS and self._last_pose > -math.inf:
            self._steps.append(row[0] - self._last_pose)
        self._last_pose = row[0]
        self._waiting.append(row)
        self._place()
        return self._work(ending=False)

    def end_stretch(self) -> list[Update]:
        """The next sample does not follow this one: an outage, a clock that jumped, the end of the drive."""
        learnt = self._work(ending=True) if self._samples else []
        self._samples, self._poses, self._waiting = [], [], []
        self._from = self._last_pose = -math.inf
        return learnt

    def fit(self, name: str = "stream") -> Fit:
        """The present estimate; its errors are of predictions made before the interval was used."""
        f = self.filter
        n = max(f.updates, 1)
        training = Training(
            log=name,
            samples=self.counts["samples"],
            intervals=f.updates,
            interval=None if self.by_distance else self.length,
            distance=self.length if self.by_distance else None,
            overlapping=self.overlapping,
            rejected=f.rejected,
            position_rms=math.sqrt(self.squares[0] / n),
            yaw_rms=math.sqrt(self.squares[1] / n),
            method="online",
        )
        return fit_of_filter(f, training)

    @property
    def state(self) -> dict[str, Any]:
        """The whole state of the calibrator, as plain numbers; a copy."""
        private = ("joints", "attitude", "samples", "poses", "waiting", "steps", "from", "last_pose")
        mine = {name: getattr(self, f"_{name}") for name in private}
        return {"filter": self.filter.state, **copy.deepcopy({**mine, "counts": self.counts, "squares": self.squares})}

    @state.setter
    def state(self, state: Mapping[str, Any]) -> None:
        self.filter.state = state["filter"]
        for name in ("samples", "poses", "waiting"):
            setattr(self, f"_{name}", [[float(v) for v in row] for row in state[name]])
        joints = state.get("joints")
        self._joints = None if joints is None else [[str(j) for j in names] for names in joints]
        self._attitude = bool(state["attitude"])
        self._steps = [float(v) for v in state["steps"]]
        self._from, self._last_pose = float(state["from"]), float(state["last_pose"])
        self.counts = {name: int(state["counts"][name]) for name in self.counts}
        self.squares = [float(v) for v in state["squares"]]

    def copy(self) -> StreamingCalibrator:
        """Another calibrator in the same state, independent of this one."""
        other = copy.copy(self)
        other.filter = self.filter.copy()
        other.state = self.state
        return other

    def _checked(self, joints: list[list[str]]) -> list[list[str]]:
        """The joints of the samples, which must be the vehicle's; and some must be wheels."""
        vehicle = self.motion.vehicle
        for joint in (joint for names in joints for joint in names):
            vehicle.joint_index(joint)  # refuses others
        if not set(joints[0]) & set(vehicle.rolling_wheels):
            known = ", ".join(vehicle.rolling_wheels)
            raise CalibrationError(f"samples measure no wheel of '{vehicle.name}'; wheels are {known}")
        return joints

    def _take(self, row: Row) -> list[Update]:
        """A finite sample: in order, or the first of a new stretch."""
        learnt: list[Update] = []
        if self._samples:
            step = row[0] - self._samples[-1][0]
            if -self.longest_gap <= step <= 0.0:
                self.counts["samples_rejected"] += 1
                return []
            if not 0.0 < step <= self.longest_gap:
                learnt = self.end_stretch()
        if self._samples:
            last = self._samples[-1]
            row[1] = last[1] + 0.5 * (row[0] - last[0]) * (self._speed(row) + self._speed(last))
        else:
            self.counts["stretches"] += 1
        self.counts["samples"] += 1
        self._samples.append(row)
        self._place()
        return learnt + self._work(ending=False)

    def _speed(self, row: Row) -> float:
        """Rim speed of a sample [m/s]."""
        assert self._joints is not None
        vehicle = self.motion.vehicle
        rates = np.full(vehicle.n_joints, np.nan)
        rates[[vehicle.joint_index(joint) for joint in self._joints[0]]] = row[4 : 4 + len(self._joints[0])]
        return float(rim_speed(vehicle, rates))

    def _place(self) -> None:
        """Poses that the samples have reached get the path driven until then."""
        while self._waiting and self._samples and self._waiting[0][0] <= self._samples[-1][0]:
            row = self._waiting.pop(0)
            if row[0] < self._samples[0][0]:
                self.counts["poses_rejected"] += 1
                continue
            k = bisect_left(self._samples, row[0], key=at)
            after, before = self._samples[k], self._samples[max(k - 1, 0)]
            share = 0.0 if k == 0 else (row[0] - before[0]) / (after[0] - before[0])
            row[1] = before[1] + share * (after[1] - before[1])
            self._poses.append(row)

    def _work(self, *, ending: bool) -> list[Update]:
        """Use all intervals that are complete, and drop what is not needed."""
        learnt: list[Update] = []
        period = statistics.median(self._steps) if ending and self._steps else self.pose_period
        cutter = None if period is None else replace(self._cutter, period=period)
        newest = self._samples[-1][0] if self._samples else -math.inf
        longest = LONGEST if self.by_distance or cutter is None else min(self.length + cutter.late(), LONGEST)
        poses = self._poses
        while poses:
            first = poses[0]
            if first[0] >= self._from:
                if cutter is None and not ending and newest - first[0] <= LONGEST:
                    break
                end = len(poses) if cutter is None else cutter.end(poses, 0, driven if self.by_distance else at)
                if end == len(poses):
                    if not ending and newest - first[0] <= longest + PATIENCE:
                        break
                elif newest < poses[end][0] + AFTER and not ending:
                    break
                elif cutter is not None and cutter.takes(poses[end][0] - first[0], poses[end][1] - first[1]):
                    learnt.append(self._learn(first, poses[end]))
                    self._from = cutter.next_start(first[0], poses[end][0])
                    if self._from > first[0]:
                        continue
            del poses[0]
        needed = (poses[0][0] if poses else newest - PATIENCE) - BEFORE
        del self._samples[: bisect_left(self._samples, needed, key=at)]
        return learnt

    def _learn(self, first: Row, last: Row) -> Update:
        low = bisect_left(self._samples, first[0] - BEFORE, key=at)
        high = bisect_left(self._samples, last[0] + BEFORE, key=at)
        poses = np.array([first, last])
        log = self._log(np.array(self._samples[low:high]), poses)
        cut = Intervals(
            times=poses[None, :, 0],
            ranges=np.array([[0, len(log)]], dtype=np.int64),
            measured=relative_poses(poses[:1, 2:], poses[1:, 2:]),
            start=poses[:1, 2:],
            segment=np.zeros(1, dtype=np.int64),
            overlapping=self.overlapping,
        )
        update = self.filter.update(LogProblem(log, self.motion, cut, residual=self.residual), 0)
        error = dict(zip(self.residual, update.residual.tolist(), strict=True))
        self.squares[0] += error.get("x", 0.0) ** 2 + error.get("y", 0.0) ** 2
        self.squares[1] += error.get("yaw", 0.0) ** 2
        return update

    def _log(self, samples: FloatArray, poses: FloatArray) -> Log:
        """One interval with samples before and after it, as a log of its own."""
        assert self._joints is not None
        columns = iter(samples.T[4:])
        rates, angles, commands = ({joint: next(columns) for joint in names} for names in self._joints)
        none = np.zeros(len(poses), dtype=np.int64)
        return Log(
            name="stream",
            vehicle=self.motion.vehicle.name,
            time=samples[:, 0],
            segment=np.zeros(len(samples), dtype=np.int64),
            rates=rates,
            angles=angles,
            attitude=samples[:, 2:4] if self._attitude else None,
            commands=commands,
            poses=Poses(time=poses[:, 0], position=poses[:, 2:5], attitude=poses[:, 5:], segment=none),
            sensor=self.motion.sensor,
            report=Report(samples=len(samples), poses=2, segments=1),
        )
