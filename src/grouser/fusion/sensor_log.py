"""What the sensors of one drive said, and the fusion of all of it at once."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from grouser import checks
from grouser._kernels.fusion import memory as slots
from grouser.checks import FloatArray
from grouser.fusion.estimate import at_body
from grouser.fusion.filter import OBSERVED, Fusion, Innovations
from grouser.fusion.settings import FusionSettings

_PRIORITY = {slots.IMU: 0, slots.KEYFRAME: 1, slots.WHEELS: 2, slots.POSE: 3}
"""Order of what comes in at one and the same time."""


@dataclass(frozen=True, eq=False, kw_only=True)
class SensorLog:
    """IMU, wheels and relative poses of one drive, each with the times it was measured at and came in."""

    time: FloatArray
    """Of the IMU's samples, (n,) [s]."""
    gyro: FloatArray
    """(n, 3) [rad/s], body axes."""
    acceleration: FloatArray
    """Specific force, (n, 3) [m/s²], body axes."""
    wheel_time: FloatArray
    """(k,) [s]."""
    wheel_twist: FloatArray
    """(ω, v) as the wheels tell it [rad/s, m/s], (k, 6)."""
    wheel_covariance: FloatArray
    """Of that, (k, 6, 6) [rad/s, m/s, squared]."""
    wheel_arrival: FloatArray
    """When each came in, (k,) [s]."""
    observed: tuple[bool, ...] = OBSERVED
    """Entries of the twist that the wheels tell."""
    frames: FloatArray
    """Times of the key frames that were announced, (m,) [s]."""
    pose_from: FloatArray
    """Time at which each relative pose begins, (j,) [s]."""
    pose_to: FloatArray
    """Time at which it ends, (j,) [s]."""
    pose_position: FloatArray
    """Of the second pose in the first, (j, 3) [m]."""
    pose_quaternion: FloatArray
    """(j, 4)."""
    pose_covariance: FloatArray
    """Rotation, then translation, axes of the second pose, (j, 6, 6) [rad, m, squared]."""
    pose_arrival: FloatArray
    """When each came in, (j,) [s]."""

    def without(self, *sources: str) -> SensorLog:
        """The same drive without 'wheels', 'poses'."""
        changes: dict[str, FloatArray] = {}
        for name in (field.name for field in dataclasses.fields(self)):
            if ("wheels" in sources and name.startswith("wheel_")) or (
                "poses" in sources and (name.startswith("pose_") or name == "frames")
            ):
                changes[name] = getattr(self, name)[:0]
        return dataclasses.replace(self, **changes)  # type: ignore[arg-type]

    def events(self) -> tuple[np.ndarray, FloatArray, FloatArray]:
        """All of it in the order it came in: kinds, times, payloads (…, 48), as the filter takes them."""
        n, k, m, j = len(self.time), len(self.wheel_time), len(self.frames), len(self.pose_to)
        kinds = np.repeat(np.array([slots.IMU, slots.WHEELS, slots.KEYFRAME, slots.POSE]), [n, k, m, j])
        times = np.concatenate([self.time, self.wheel_time, self.frames, self.pose_to])
        arrival = np.concatenate([self.time, self.wheel_arrival, self.frames, self.pose_arrival])
        payload = np.zeros((len(kinds), slots.PAYLOAD))
        payload[:n, :3], payload[:n, 3:6] = self.gyro, self.acceleration
        wheels = payload[n : n + k]
        seen = np.array(self.observed, dtype=bool)
        wheels[:, :6] = np.where(seen, self.wheel_twist, 0.0)
        wheels[:, 6:42] = np.where(seen[:, None] & seen, self.wheel_covariance, 0.0).reshape(k, 36)
        wheels[:, 42:48] = seen
        poses = payload[n + k + m :]
        poses[:, 0], poses[:, 1] = self.pose_from, self.pose_to
        poses[:, 2:6], poses[:, 6:9] = self.pose_quaternion, self.pose_position
        poses[:, 9:45] = self.pose_covariance.reshape(j, 36)
        rank = np.array([_PRIORITY[int(kind)] for kind in range(4)])[kinds]
        order = np.lexsort((rank, np.round(arrival, 9)))
        return kinds[order], times[order], payload[order]


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
    """Shares of the speed lost ahead, sideways and in turning, (n, 3); as in `FusionEstimate`."""
    covariance: FloatArray
    """Of each estimate, (n, 15, 15); units as in `FusionEstimate`."""
    distrusted: np.ndarray
    """Whether the wheels were not believed, (n,)."""
    faults: dict[str, int]
    """How often each kind of fault was met."""
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
    checks.instance(log, SensorLog, "log", "use grouser.odometry.SensorLog(…)")
    checks.count(every, "every")
    fusion = Fusion(settings, position=position, yaw=yaw)
    record, spread = fusion.feed(*log.events(), every)
    nominal = record[:, 1:23]
    p, v, _, covariance = at_body(nominal, record[:, 23:26], spread, np.array(fusion.settings.imu_position))
    return FusedPath(
        time=record[:, 0].copy(),
        position=p + np.asarray(position),
        quaternion=nominal[:, :4].copy(),
        velocity=v,
        gyro_bias=nominal[:, 10:13].copy(),
        acceleration_bias=nominal[:, 13:16].copy(),
        slip=nominal[:, 16:19] + nominal[:, 19:22],
        covariance=covariance[:, :15, :15],
        distrusted=record[:, 26] != 0.0,
        faults=fusion.faults,
        nis=fusion.nis,
    )
