"""Calibration while the robot drives: samples and poses come in one by one, memory does not grow."""

from __future__ import annotations

import math
import statistics
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from grouser.calibration.calibrate import DEFAULTS, order
from grouser.calibration.online import GATE, NOISE_GATE, OnlineFilter, Update
from grouser.checks import FloatArray
from grouser.dynamics import Dynamics
from grouser.errors import CalibrationError
from grouser.kinematics import Kinematics
from grouser.logs.log import Log, Poses
from grouser.logs.report import Report
from grouser.motion.fit import Fit, Training
from grouser.motion.intervals import LATEST, SLOWEST, Intervals, relative_poses
from grouser.motion.model import MotionModel
from grouser.motion.observability import undetermined
from grouser.motion.parameters import Parameter, resolve
from grouser.motion.predict import LogProblem
from grouser.motion.velocity import VelocityModel

AFTER = 1.0
"""An interval is used once the samples reach so far beyond its end [s]: the pose sensor may be early or late."""
BEFORE = LATEST + AFTER
"""Samples kept before the pose at which the next interval begins [s]."""
PATIENCE = 5.0
"""How much later than the samples a pose may come in [s]."""
LONGEST = 60.0
"""An interval that takes longer is given up [s]."""
FIRST_STEPS = 20
"""Steps between the first poses, of which the median is the sensor's period from then on."""
GAP = 0.5
"""A hole between samples that ends a stretch [s]."""

Row = list[float]


class StreamingCalibrator:
    """Cuts a drive into intervals as it happens and filters each, T (3.48)–(3.54).

    >>> calibrator = StreamingCalibrator(MotionModel(model=gr.Kinematics(rover), sensor=sensor))
    >>> calibrator.sample(t, {"FL": 1.2, "FR": 1.3}, attitude=(0.01, 0.0))  # at every control cycle
    >>> calibrator.pose(t, (x, y, z), (roll, pitch, yaw))  # whenever there is one

    Each returns what the intervals that it completed taught, as `Update`s. Where intervals begin and end depends on
    nothing that comes later, and `state` is all there is to remember: a calibrator that is given it goes on as if it
    had never stopped, to the last bit.
    """

    def __init__(
        self,
        model: MotionModel | Kinematics | Dynamics | VelocityModel,
        parameters: Sequence[str | Parameter] = DEFAULTS,
        *,
        interval: float = 2.0,
        distance: float | None = None,
        stride: float | None = None,
        gate: float = GATE,
        noise_gate: float = NOISE_GATE,
        residual: Sequence[str] = ("x", "y", "yaw"),
        longest_gap: float = GAP,
    ) -> None:
        """Intervals last `interval` [s], or `distance` [m] where given; a shorter `stride` [s] makes them overlap."""
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
        self.filter = OnlineFilter(self.motion, chosen, gate=gate, noise_gate=noise_gate)
        wheels, radii = self.motion.vehicle.wheels, self.motion.vehicle.arrays.radius
        self._radius = {wheel: float(radius) for wheel, radius in zip(wheels, radii, strict=True)}
        self._slowest = SLOWEST * float(radii.mean())
        self._joints: list[list[str]] | None = None
        self._attitude = False
        self._samples: list[Row] = []
        """Time, path since the stretch began, roll, pitch, then rates, angles and commands."""
        self._poses: list[Row] = []
        """Time, path, x, y, z, roll, pitch, yaw; the first is where the next interval begins."""
        self._waiting: list[Row] = []
        """Poses ahead of the samples; their path is not known yet."""
        self._steps: list[float] = []
        self._from = -math.inf
        self._last_pose = -math.inf
        self.counts = {"samples": 0, "samples_rejected": 0, "poses": 0, "poses_rejected": 0, "stretches": 0}
        """What came in so far; of it, what could not be used."""
        self.squares = [0.0, 0.0]
        """Sums of squared position [m²] and yaw [rad²] errors of predictions, each made before its interval taught."""

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """What is calibrated, noise last."""
        return (*self.filter.systematic, *self.filter.stochastic)

    @property
    def pose_period(self) -> float | None:
        """Time between poses [s], the median of the first few; None until they came."""
        return statistics.median(self._steps) if len(self._steps) >= FIRST_STEPS else None

    @property
    def held(self) -> int:
        """Samples and poses in memory now."""
        return len(self._samples) + len(self._poses) + len(self._waiting)

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
        if self._joints is None:
            self._joints = self._checked([list(rates), list(angles or {}), list(commands or {})])
            self._attitude = attitude is not None
        try:
            groups = zip((rates, angles or {}, commands or {}), self._joints, strict=True)
            values = [float(given[joint]) for given, joints in groups for joint in joints]
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
        after = not self._samples or row[0] >= self._samples[0][0]
        if not all(map(math.isfinite, row)) or row[0] <= self._last_pose or not after:
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
        """The present estimate; its errors are of predictions made before the interval was learnt from."""
        f = self.filter
        information = np.linalg.pinv(f.P, hermitian=True) - np.diag([1.0 / p.sigma**2 for p in f.systematic])
        n = max(f.updates, 1)
        return Fit(
            model=f.calibrated,
            parameters=self.parameters,
            vector=f.values,
            covariance=f.P.copy(),
            noise_covariance=f.S.copy(),
            training=Training(
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
            ),
            undetermined=tuple(undetermined(f.systematic, information)) if f.systematic else (),
        )

    @property
    def overlapping(self) -> bool:
        """Whether intervals share samples."""
        return self.stride is not None and (self.by_distance or self.stride < self.length)

    @property
    def state(self) -> dict[str, Any]:
        """All that the calibrator remembers, as plain numbers; a copy."""
        return {
            "filter": self.filter.state,
            "joints": self._joints,
            "attitude": self._attitude,
            "samples": [list(row) for row in self._samples],
            "poses": [list(row) for row in self._poses],
            "waiting": [list(row) for row in self._waiting],
            "steps": list(self._steps),
            "from": self._from,
            "last_pose": self._last_pose,
            "counts": dict(self.counts),
            "squares": list(self.squares),
        }

    @state.setter
    def state(self, state: Mapping[str, Any]) -> None:
        self.filter.state = state["filter"]
        joints = state.get("joints")
        self._joints = None if joints is None else [[str(j) for j in names] for names in joints]
        self._attitude = bool(state["attitude"])
        self._samples = [[float(v) for v in row] for row in state["samples"]]
        self._poses = [[float(v) for v in row] for row in state["poses"]]
        self._waiting = [[float(v) for v in row] for row in state["waiting"]]
        self._steps = [float(v) for v in state["steps"]]
        self._from, self._last_pose = float(state["from"]), float(state["last_pose"])
        self.counts = {name: int(state["counts"][name]) for name in self.counts}
        self.squares = [float(v) for v in state["squares"]]

    def copy(self) -> StreamingCalibrator:
        """Another calibrator in the same state; the two then go their own ways."""
        other = StreamingCalibrator(
            self.motion,
            self.parameters,
            interval=self.length,
            distance=self.length if self.by_distance else None,
            stride=self.stride,
            gate=self.filter.gate,
            noise_gate=self.filter.noise_gate,
            residual=self.residual,
            longest_gap=self.longest_gap,
        )
        other.state = self.state
        return other

    def _checked(self, joints: list[list[str]]) -> list[list[str]]:
        """The joints of the samples, which must be the vehicle's; and some must be wheels."""
        vehicle = self.motion.vehicle
        for joint in (joint for names in joints for joint in names):
            if joint not in vehicle.joints:
                known = ", ".join(vehicle.joints)
                raise CalibrationError(f"vehicle '{vehicle.name}' has no joint {joint!r:.60}; joints are {known}")
        if not any(joint in self._radius for joint in joints[0]):
            known = ", ".join(vehicle.wheels)
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
        """Mean rim speed of the measured wheels, without sign [m/s]."""
        assert self._joints is not None
        rims = [abs(r) * self._radius[j] for j, r in zip(self._joints[0], row[4:], strict=False) if j in self._radius]
        return sum(rims) / len(rims)

    def _place(self) -> None:
        """Poses that the samples have reached get the path driven until then."""
        while self._waiting and self._samples and self._waiting[0][0] <= self._samples[-1][0]:
            row = self._waiting.pop(0)
            if row[0] < self._samples[0][0]:
                self.counts["poses_rejected"] += 1
                continue
            k = bisect_left(self._samples, row[0], key=lambda s: s[0])
            after, before = self._samples[k], self._samples[max(k - 1, 0)]
            share = 0.0 if k == 0 else (row[0] - before[0]) / (after[0] - before[0])
            row[1] = before[1] + share * (after[1] - before[1])
            self._poses.append(row)

    def _work(self, *, ending: bool) -> list[Update]:
        """Learn from all intervals that are complete, as `intervals_of` cuts them, and forget what is not needed."""
        learnt: list[Update] = []
        period = self.pose_period
        if period is None and ending and self._steps:
            period = statistics.median(self._steps)
        newest = self._samples[-1][0] if self._samples else -math.inf
        longest = LONGEST if self.by_distance or period is None else min(self.length + self._late(period, 1.0), LONGEST)
        while self._poses:
            first = self._poses[0]
            if first[0] < self._from:
                del self._poses[0]
                continue
            if period is None and not ending and newest - first[0] <= LONGEST:
                break
            end = None if period is None else self._end(period)
            if end is None:
                if not ending and newest - first[0] <= longest + PATIENCE:
                    break
                del self._poses[0]
                continue
            last = self._poses[end]
            if newest < last[0] + AFTER and not ending:
                break
            taken, moved = last[0] - first[0], last[1] - first[1]
            assert period is not None
            over = (moved if self.by_distance else taken) - self.length
            late = self._late(period, moved / taken if self.by_distance else 1.0)
            if over <= late and moved >= self._slowest * taken and taken <= LONGEST:
                learnt.append(self._learn(first, last))
                self._from = last[0] if self.stride is None else first[0] + self.stride - 1e-9
                if self._from <= first[0]:
                    del self._poses[0]
            else:
                del self._poses[0]
        needed = min((row[0] for row in self._poses[:1]), default=newest - PATIENCE) - BEFORE
        del self._samples[: bisect_left(self._samples, needed, key=lambda s: s[0])]
        return learnt

    def _late(self, period: float, rate: float) -> float:
        """How much longer than asked an interval may be [s or m]; a later pose belongs to an outage of the sensor."""
        return max(1.5 * period * rate, 0.05 * self.length)

    def _end(self, period: float) -> int | None:
        """The pose at which the interval from the first one ends, if it has come."""
        column = 1 if self.by_distance else 0
        early = 0.0 if self.by_distance else 0.5 * period
        k = bisect_left(self._poses, self._poses[0][column] + self.length - early, lo=1, key=lambda p: p[column])
        return k if k < len(self._poses) else None

    def _learn(self, first: Row, last: Row) -> Update:
        low = bisect_left(self._samples, first[0] - BEFORE, key=lambda s: s[0])
        high = bisect_left(self._samples, last[0] + BEFORE, key=lambda s: s[0])
        log = self._log(np.array(self._samples[low:high]), np.array([first, last]))
        ends = np.arange(2)
        cut = Intervals(
            times=log.poses.time[None],
            ranges=np.array([[0, len(log)]], dtype=np.int64),
            measured=relative_poses(log.poses.position, log.poses.attitude, ends[:1], ends[1:]),
            start=np.concatenate([log.poses.position, log.poses.attitude], axis=1)[:1],
            segment=np.zeros(1, dtype=np.int64),
            overlapping=self.overlapping,
        )
        problem = LogProblem(log, self.motion, cut, residual=self.residual)
        update = self.filter.update(problem, 0)
        error = dict(zip(self.residual, update.residual.tolist(), strict=True))
        self.squares[0] += error.get("x", 0.0) ** 2 + error.get("y", 0.0) ** 2
        self.squares[1] += error.get("yaw", 0.0) ** 2
        return update

    def _log(self, samples: FloatArray, poses: FloatArray) -> Log:
        """One interval and what surrounds it, as a log of its own."""
        assert self._joints is not None
        columns = iter(samples.T[4:])
        rates, angles, commands = ({joint: next(columns) for joint in names} for names in self._joints)
        return Log(
            name="stream",
            time=samples[:, 0],
            segment=np.zeros(len(samples), dtype=np.int64),
            rates=rates,
            angles=angles,
            attitude=samples[:, 2:4] if self._attitude else None,
            gyro=None,
            acceleration=None,
            commands=commands,
            body_command=None,
            label={},
            poses=Poses(
                time=poses[:, 0], position=poses[:, 2:5], attitude=poses[:, 5:], segment=np.zeros(2, dtype=np.int64)
            ),
            sensor=self.motion.sensor,
            vehicle=self.motion.vehicle.name,
            report=Report(samples=len(samples), poses=2, segments=1),
        )
