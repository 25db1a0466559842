"""A driving log: the measurements of the vehicle's sensors in SI units, in unbroken segments. Immutable."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from grouser.checks import FloatArray
from grouser.errors import LogError
from grouser.logs.report import Report, counted

if TYPE_CHECKING:
    from pandas import DataFrame

    from grouser.vehicles.vehicle import Vehicle

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
COLUMNS = {
    "attitude": ("rad", ("roll", "pitch")),
    "gyro": ("rad/s", ("gyro_x", "gyro_y", "gyro_z")),
    "acceleration": ("m/s²", ("acceleration_x", "acceleration_y", "acceleration_z")),
}
"""Unit and names of the columns of a log's arrays in a table."""
JOINTS = {
    "rates": ("rate", "rad/s or m/s"),
    "angles": ("angle", "rad or m"),
    "commands": ("command", "rad/s or m/s"),
    "currents": ("current", "A"),
    "efforts": ("effort", "N m or N"),
}
"""Prefixes of the columns of a log's joints in a table, and their units: a log does not know which joints slide."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Poses:
    """The pose sensor's fresh measurements; a pose that is held from row to row appears once."""

    time: FloatArray
    """Time stamps as logged, shape (m,) [s]; the sensor's lag is not removed. Rising inside a segment."""
    position: FloatArray
    """Position of the sensor in its world frame, shape (m, 3) [m]."""
    attitude: FloatArray
    """Roll, pitch, yaw of the sensor, shape (m, 3) [rad]; R = Rz Ry Rx. Yaw is unwrapped inside a segment."""
    segment: IntArray
    """The segment of the log each pose falls in, shape (m,)."""
    sigma: FloatArray | None = None
    """One sigma of x, y [m] and yaw [rad] of each pose, shape (m, 3); None: the sensor's noise holds for all."""
    datum: tuple[float, float, float] | None = None
    """Latitude, longitude [deg], ellipsoidal height [m] of the origin of GPS poses, x east, y north; None: not GPS."""

    def __len__(self) -> int:
        return len(self.time)

    def some(self, chosen: Any) -> Poses:
        """Poses by a mask or a slice, shape (m,)."""
        sigma = None if self.sigma is None else self.sigma[chosen]
        time, position, attitude = self.time[chosen], self.position[chosen], self.attitude[chosen]
        segment = self.segment[chosen]
        return replace(self, time=time, position=position, attitude=attitude, segment=segment, sigma=sigma)

    def to_pandas(self) -> DataFrame:
        """A table indexed by time t [s]; `attrs["units"]` names the unit of each column."""
        from grouser.dataframe import Column, data_frame

        columns = [Column("segment", "", self.segment)]
        columns += [Column(name, "m", values) for name, values in zip("xyz", self.position.T, strict=True)]
        angles = zip(("roll", "pitch", "yaw"), self.attitude.T, strict=True)
        columns += [Column(name, "rad", values) for name, values in angles]
        if self.sigma is not None:
            of = zip(("x", "y", "yaw"), ("m", "m", "rad"), self.sigma.T, strict=True)
            columns += [Column(f"sigma_{name}", unit, values) for name, unit, values in of]
        return data_frame(Column("t", "s", self.time), columns)


@dataclass(frozen=True, eq=False, kw_only=True)
class Sensor:
    """Mounting, delay and noise of the pose sensor."""

    x: float = 0.0
    """Position in the body frame, forward [m]."""
    y: float = 0.0
    """Position in the body frame, left [m]."""
    z: float = 0.0
    """Position in the body frame, up [m]."""
    yaw: float = 0.0
    """Its x axis relative to the body's [rad], left positive."""
    lag: float = 0.0
    """A pose stamped t was true at t − lag [s], on the clock of the wheel rates."""
    position_noise: float = 0.01
    """One sigma of one measured coordinate [m]."""
    yaw_noise: float = 0.005
    """One sigma of one measured yaw [rad]."""
    attitude_noise: float = 0.005
    """One sigma of one measured roll or pitch [rad]."""
    time_noise: float = 0.0
    """One sigma of one time stamp [s]: the spread of the lag between poses."""
    lag_spread: float = 0.0
    """Spread of the lag between logs of this robot, one sigma [s]."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Log:
    """The measurements of a drive: n samples of the vehicle's inputs and m poses.

    Inside a segment time rises strictly and no hole is longer than the manifest's longest gap. Nothing is ever
    interpolated from one segment to the next.
    """

    name: str
    """Name of the first file."""
    time: FloatArray
    """Time stamps as logged, shape (n,) [s]; they may restart with each segment."""
    segment: IntArray
    """Number of the unbroken stretch each sample belongs to, shape (n,), rising from 0 without holes."""
    rates: dict[str, FloatArray]
    """Joint → measured rate, shape (n,) [rad/s or m/s], at the instant of each sample."""
    angles: dict[str, FloatArray]
    """Joint → measured displacement, shape (n,) [rad or m]."""
    attitude: FloatArray | None
    """Roll and pitch of the body, shape (n, 2) [rad]; None: not measured, level ground is assumed."""
    gyro: FloatArray | None = None
    """Angular velocity of the body, shape (n, 3) [rad/s]; NaN where not measured."""
    acceleration: FloatArray | None = None
    """Specific force (an accelerometer's reading) in body axes, shape (n, 3) [m/s²]; NaN where not measured."""
    commands: dict[str, FloatArray] = field(default_factory=dict)
    """Joint → commanded rate, shape (n,) [rad/s or m/s]; NaN where not logged."""
    currents: dict[str, FloatArray] = field(default_factory=dict)
    """Joint → current of its motor, shape (n,) [A], with the sign of the rate it drives; NaN where not logged.

    Of a driver that gives only the magnitude it is that magnitude.
    """
    efforts: dict[str, FloatArray] = field(default_factory=dict)
    """Joint → torque or force of its motor, shape (n,) [N m or N]; NaN where not logged."""
    body_command: FloatArray | None = None
    """Commanded forward speed [m/s] and turn rate [rad/s], shape (n, 2)."""
    label: dict[str, FloatArray] = field(default_factory=dict)
    """Further columns the manifest asks for, shape (n,) each, in their units as logged."""
    poses: Poses
    """The pose sensor's fresh measurements."""
    sensor: Sensor
    """Mounting, lag and noise of the pose sensor, as the manifest says."""
    vehicle: str | None
    """Vehicle name, or absolute path of its file, that `gr.vehicle` takes; None if the manifest names none."""
    report: Report
    """Rejected rows, gaps and problems."""

    def __len__(self) -> int:
        return len(self.time)

    @property
    def n_segments(self) -> int:
        """Number of unbroken stretches."""
        return int(self.segment[-1]) + 1 if len(self) else 0

    @cached_property
    def segment_bounds(self) -> IntArray:
        """First sample of each segment, and n at the end: segment k is samples bounds[k] to bounds[k + 1]."""
        return np.searchsorted(self.segment, np.arange(self.n_segments + 1)).astype(np.int64)

    @cached_property
    def elapsed(self) -> FloatArray:
        """Time from the log's start [s], shape (n,), rising throughout.

        Equal to time − time[0] as long as the clock rises. Where a segment's clock restarts (another file, a
        window, a clock that jumped back), it follows the one before by one period.
        """
        return self.time - self._zero[self.segment] if len(self) else self.time.copy()

    @cached_property
    def pose_elapsed(self) -> FloatArray:
        """Time from the log's start at each pose [s], shape (m,), on the clock of `elapsed`."""
        return self.poses.time - self._zero[self.poses.segment] if len(self) else self.poses.time.copy()

    @cached_property
    def _zero(self) -> FloatArray:
        """The time stamp in each segment's own clock at which `elapsed` is zero, shape (n_segments,)."""
        starts, ends = self.time[self.segment_bounds[:-1]], self.time[self.segment_bounds[1:] - 1]
        zero = starts.copy()
        for k in range(1, self.n_segments):
            restarts = starts[k] <= ends[k - 1]
            zero[k] = starts[k] - (ends[k - 1] - zero[k - 1] + self.report.period) if restarts else zero[k - 1]
        return zero

    @property
    def duration(self) -> float:
        """Time from the first to the last sample [s], gaps included."""
        return float(self.elapsed[-1]) if len(self) else 0.0

    def part(self, start: float, stop: float) -> Log:
        """The samples and poses with start ≤ elapsed < stop [s from the log's start]; segments are kept apart."""
        if not start < stop:
            raise LogError(f"a part of a log from {start:g} s to {stop:g} s: the start must come before the stop")
        chosen = (self.elapsed >= start) & (self.elapsed < stop)
        if not chosen.any():
            raise LogError(
                f"{self.name}: has no samples from {start:g} s to {stop:g} s; it lasts {self.duration:.3f} s"
            )
        return self._only(chosen, (self.pose_elapsed >= start) & (self.pose_elapsed < stop))

    def split(self, fraction: float = 0.7) -> tuple[Log, Log]:
        """The log before and after a fraction of its duration; nothing of one half reaches into the other."""
        if not 0.0 < fraction < 1.0:
            raise LogError(f"split of a log: the fraction {fraction:g} must lie between 0 and 1")
        cut = fraction * self.duration
        return self.part(-np.inf, cut), self.part(cut, np.inf)

    def select(self, segments: Callable[[int], bool]) -> Log:
        """The segments for whose number the function is true: `log.select(lambda k: k % 2 == 0)`."""
        wanted = np.array([bool(segments(k)) for k in range(self.n_segments)], dtype=np.bool_)
        if not wanted.any():
            raise LogError(f"{self.name}: none of its {self.n_segments} segments is selected")
        return self._only(wanted[self.segment], wanted[self.poses.segment])

    def _only(self, samples: Any, poses: Any) -> Log:
        """Some of the samples and, of the poses, those of segments that remain; segments are renumbered."""
        left = np.unique(self.segment[samples])
        poses = poses & np.isin(self.poses.segment, left)
        n_samples = int(samples.sum())
        samples, poses = _run(samples), _run(poses)
        of = np.zeros(self.n_segments, dtype=np.int64)
        of[left] = np.arange(len(left))
        kept = self.poses.some(poses)
        kept = replace(kept, segment=of[kept.segment])
        changed: dict[str, Any] = {}
        for name in ("time", *JOINTS, *COLUMNS, "body_command", "label"):
            given = getattr(self, name)
            if isinstance(given, dict):
                changed[name] = {key: column[samples] for key, column in given.items()}
            elif given is not None:
                changed[name] = given[samples]
        report = replace(self.report, samples=n_samples, poses=len(kept), segments=len(left))
        return replace(self, **changed, segment=of[self.segment[samples]], poses=kept, report=report)

    def to_pandas(self) -> DataFrame:
        """The samples as a table indexed by time t [s] as logged; `log.poses.to_pandas()` has the poses.

        Columns are named as in a manifest: rate_FL, angle_s1, roll, gyro_z, … `attrs["units"]` names the unit of each;
        "" where the log does not give it.
        """
        from grouser.dataframe import Column, data_frame

        columns = [Column("segment", "", self.segment), Column("elapsed", "s", self.elapsed)]
        for table, (prefix, unit) in JOINTS.items():
            columns += [Column(f"{prefix}_{name}", unit, values) for name, values in getattr(self, table).items()]
        for signal, (unit, names) in COLUMNS.items():
            if getattr(self, signal) is not None:
                columns += [Column(name, unit, v) for name, v in zip(names, getattr(self, signal).T, strict=True)]
        if self.body_command is not None:
            columns += [Column("command_speed", "m/s", self.body_command[:, 0])]
            columns += [Column("command_turn", "rad/s", self.body_command[:, 1])]
        columns += [Column(f"label_{name}", "", values) for name, values in self.label.items()]
        return data_frame(Column("t", "s", self.time), columns)

    def rates_array(self, vehicle: Vehicle) -> FloatArray:
        """Measured rates in the vehicle's joint order, shape (n, n_joints) [rad/s or m/s]; NaN where not measured."""
        return self._joints(self.rates, vehicle, "rates")

    def angles_array(self, vehicle: Vehicle) -> FloatArray:
        """Measured displacements in joint order, shape (n, n_joints) [rad or m]; NaN where not measured."""
        return self._joints(self.angles, vehicle, "angles")

    def commands_array(self, vehicle: Vehicle) -> FloatArray:
        """Commanded rates in joint order, shape (n, n_joints) [rad/s or m/s]; NaN where not logged."""
        return self._joints(self.commands, vehicle, "commands")

    def currents_array(self, vehicle: Vehicle) -> FloatArray:
        """Motor currents in joint order, shape (n, n_joints) [A]; NaN where not logged."""
        return self._joints(self.currents, vehicle, "currents")

    def efforts_array(self, vehicle: Vehicle) -> FloatArray:
        """Motor torques or forces in joint order, shape (n, n_joints) [N m or N]; NaN where not logged."""
        return self._joints(self.efforts, vehicle, "efforts")

    def _joints(self, values: Mapping[str, FloatArray], vehicle: Vehicle, table: str) -> FloatArray:
        result = np.full((len(self), len(vehicle.joints)), np.nan)
        for joint, column in values.items():
            result[:, joint_index(vehicle, joint, f"{self.name}, table [{table}] of its manifest")] = column
        return result

    def __repr__(self) -> str:
        size = f"{len(self)} samples, {len(self.poses)} poses, {counted(self.n_segments, 'segment')}"
        return f"<Log '{self.name}': {size}, {self.duration:.1f} s>"


def joint_index(vehicle: Vehicle, joint: str, where: str) -> int:
    """Index of a joint among those of a vehicle; LogError if it has no such joint."""
    if joint not in vehicle.joints:
        known = ", ".join(vehicle.joints)
        raise LogError(f"{where}: vehicle '{vehicle.name}' has no joint {joint!r:.60}; joints are {known}")
    return vehicle.joints.index(joint)


def period(time: FloatArray, segment: IntArray) -> float:
    """Median time between samples of one segment [s]; 0 where there are none."""
    steps = np.diff(time)[np.diff(segment) == 0]
    return float(np.median(steps)) if steps.size else 0.0


def _run(chosen: BoolArray) -> BoolArray | slice:
    """The chosen rows; as a slice, which copies nothing, where they follow one another."""
    if not chosen.any():
        return chosen
    first, end = int(np.argmax(chosen)), len(chosen) - int(np.argmax(chosen[::-1]))
    return slice(first, end) if chosen[first:end].all() else chosen
