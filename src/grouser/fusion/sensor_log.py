"""Sensor log of one drive, and its fusion as a whole."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from grouser._kernels.fusion.memory import EVENT, GPS, HEADING, IMU, KEYFRAME, POSE, WHEELS
from grouser.checks import FloatArray
from grouser.fusion.filter import OBSERVED, Fusion, Innovations
from grouser.fusion.settings import FusionSettings, check

RANK = np.argsort([IMU, KEYFRAME, WHEELS, POSE, GPS, HEADING])  # order of events that arrive at the same time, by kind


@dataclass(frozen=True, eq=False, kw_only=True)
class SensorLog:
    """IMU, wheels and relative poses of one drive, each with the times of measurement and of arrival."""

    time: FloatArray
    """Times of the IMU's samples, (n,) [s]."""
    gyro: FloatArray
    """(n, 3) [rad/s], body axes."""
    acceleration: FloatArray
    """Specific force, (n, 3) [m/s²], body axes."""
    wheel_time: FloatArray
    """(k,) [s]."""
    wheel_twist: FloatArray
    """(ω, v) that the wheels measure [rad/s, m/s], (k, 6)."""
    wheel_covariance: FloatArray
    """Covariance of that, (k, 6, 6) [rad/s, m/s, squared]."""
    wheel_arrival: FloatArray
    """Time of arrival of each, (k,) [s]."""
    observed: tuple[bool, ...] = OBSERVED
    """Entries of the twist that the wheels measure."""
    frames: FloatArray
    """Times of the key frames that were announced, (m,) [s]."""
    pose_from: FloatArray
    """Time at which each relative pose begins, (j,) [s]."""
    pose_to: FloatArray
    """Time at which it ends, (j,) [s]."""
    pose_position: FloatArray
    """Position of the second pose in the first, (j, 3) [m]."""
    pose_quaternion: FloatArray
    """(j, 4)."""
    pose_covariance: FloatArray
    """Rotation, then translation, axes of the second pose, (j, 6, 6) [rad, m, squared]."""
    pose_arrival: FloatArray
    """Time of arrival of each, (j,) [s]."""

    def without(self, *sources: str) -> SensorLog:
        """The same drive without 'wheels', 'poses'."""
        starts = {"wheels": ("wheel_",), "poses": ("pose_", "frames")}
        left_out = tuple(start for source in sources for start in starts.get(source, ()))
        names = [field.name for field in dataclasses.fields(self) if field.name.startswith(left_out)]
        return dataclasses.replace(self, **{name: getattr(self, name)[:0] for name in names})

    def events(self) -> Any:
        """All measurements in the order of their arrival, as records that the filter takes."""
        sizes = len(self.time), len(self.wheel_time), len(self.frames), len(self.pose_to)
        events = np.zeros(sum(sizes), EVENT)
        imu, wheels, frames, poses = np.split(events, np.cumsum(sizes)[:-1])
        imu["imu"][:, :3], imu["imu"][:, 3:], imu["time"] = self.gyro, self.acceleration, self.time
        observed = np.array(self.observed, dtype=bool)
        wheels["kind"], wheels["time"], wheels["observed"] = WHEELS, self.wheel_time, observed
        wheels["twist"] = np.where(observed, self.wheel_twist, 0.0)
        wheels["covariance"] = np.where(observed[:, None] & observed, self.wheel_covariance, 0.0)
        frames["kind"], frames["time"] = KEYFRAME, self.frames
        poses["kind"], poses["start"], poses["time"] = POSE, self.pose_from, self.pose_to
        poses["quaternion"], poses["position"] = self.pose_quaternion, self.pose_position
        poses["covariance"] = self.pose_covariance
        arrival = np.concatenate([self.time, self.wheel_arrival, self.frames, self.pose_arrival])
        return events[np.lexsort((RANK[events["kind"]], np.round(arrival, 9)))]


@dataclass(frozen=True, eq=False)
class FusedPath:
    """Estimates along a drive, n of them, of the body's origin; errors as in `FusionEstimate`."""

    time: FloatArray
    """(n,) [s]."""
    position: FloatArray
    """World, (n, 3) [m]."""
    quaternion: FloatArray
    """(n, 4)."""
    velocity: FloatArray
    """World, (n, 3) [m/s]."""
    gyro_bias: FloatArray
    """(n, 3) [rad/s]."""
    acceleration_bias: FloatArray
    """(n, 3) [m/s²]."""
    slip: FloatArray
    """Forward, left [-], yaw [rad/m], (n, 3); as in `FusionEstimate`."""
    covariance: FloatArray
    """Covariance of each estimate, (n, 15, 15); units as in `FusionEstimate`."""
    distrusted: np.ndarray
    """Whether the wheels were distrusted, (n,)."""
    faults: dict[str, int]
    """Number of faults by kind."""
    nis: dict[str, Innovations]
    """Innovations by source."""


def fuse(
    log: SensorLog,
    settings: FusionSettings | None = None,
    *,
    position: tuple[float, float, float] | FloatArray = (0.0, 0.0, 0.0),
    yaw: float = 0.0,
    every: int = 10,
) -> FusedPath:
    """Filter a whole drive from a position [m] and yaw [rad]; the estimate of every `every`-th IMU sample is kept."""
    check.instance(log, SensorLog, "log", "use grouser.fusion.SensorLog(…)")
    check.count(every, "every")
    fusion = Fusion(settings, position=position, yaw=yaw)
    rows = fusion.feed(log.events(), every)
    path: dict[str, Any] = {field.name: rows[field.name].copy() for field in dataclasses.fields(FusedPath)[:-3]}
    return FusedPath(**path, distrusted=rows["distrusted"] != 0, faults=fusion.faults, nis=fusion.nis)
