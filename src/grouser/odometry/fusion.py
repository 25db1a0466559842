"""Fusion of IMU, wheel odometry and relative poses (visual odometry): an error-state Kalman filter.

The architecture is that of L §2.3; the filter is the error-state filter with cloned poses that L's [35] describes, with
a right-invariant error (see `_kernels/fusion_memory.py`) and slip as a state of its own: what a slip model leaves is
correlated along the way, and a filter that took it for white noise would soon be far too sure.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtri

from grouser import checks
from grouser._kernels import fusion as kernels
from grouser._kernels import fusion_memory as slots
from grouser.checks import FloatArray
from grouser.compiling import compiling
from grouser.errors import SimulationError
from grouser.odometry.fusion_estimate import FusionEstimate, at_body
from grouser.odometry.fusion_settings import FusionSettings

logger = logging.getLogger("grouser.odometry")

SUM = np.hstack([np.eye(3), np.eye(3)])
SOURCES = ("wheels", "poses", "standstill")
OBSERVED = (False, False, True, True, True, False)
"""What the wheels of an LRU tell of (ω, v): yaw rate, forward and sideways speed."""
FAULTS = {
    slots.IMU_NOT_FINITE: ("imu_not_finite", "an IMU sample is not finite and is left out"),
    slots.IMU_BACKWARDS: ("imu_time", "an IMU sample is not later than the one before and is left out"),
    slots.IMU_GAP: ("imu_gap", "the IMU was silent; the motion between is guessed with large noise"),
    slots.GYRO_SATURATED: ("gyro_saturated", "the gyro is at the end of its range and counts with large noise"),
    slots.ACCELERATION_SATURATED: (
        "accelerometer_saturated",
        "the accelerometer is at the end of its range and counts with large noise",
    ),
    slots.WHEELS_NOT_FINITE: ("wheels_not_finite", "a wheel measurement is not finite and is left out"),
    slots.WHEELS_LATE: ("wheels_late", "a wheel measurement is older than the history and is left out"),
    slots.WHEELS_REFUSED: ("wheels_refused", "a wheel measurement contradicts the estimate and is left out"),
    slots.WHEELS_DISTRUSTED: (
        "wheels_distrusted",
        "the wheels contradict the rest for long and are not believed",
    ),
    slots.WHEELS_MISSING: ("wheels_missing", "no wheel measurement was used for some time; the covariance grows"),
    slots.POSE_NOT_FINITE: ("pose_not_finite", "a relative pose is not finite and is left out"),
    slots.POSE_LATE: ("pose_late", "a relative pose begins or ends before the clones and the history; left out"),
    slots.POSE_BACKWARDS: ("pose_time", "a relative pose does not end after its beginning and is left out"),
    slots.POSE_REFUSED: ("pose_refused", "a relative pose contradicts the estimate and is left out"),
    slots.POSE_READMITTED: (
        "pose_readmitted",
        "poses were refused for long; the state is opened, or they count with the noise they show",
    ),
    slots.POSE_MISSING: ("poses_missing", "no relative pose was used for some time; the covariance grows"),
    slots.STANDSTILL_REFUSED: ("standstill_refused", "wheels and IMU are quiet but the estimate moves; left out"),
    slots.TOO_EARLY: ("too_early", "a measurement is further ahead of the IMU than it can be, and is left out"),
    slots.MOVING_START: ("moving_start", "the vehicle moved during alignment; it begins with large covariance"),
    slots.KEYFRAME_LATE: ("keyframe_late", "a key frame is older than the history and is left out"),
}
"""Slot → (kind, what it is and what is done about it)."""


@dataclass(frozen=True)
class Innovations:
    """How well the measurements of one source agreed with the estimate."""

    used: int
    """Measurements used."""
    refused: int
    """Measurements that did not pass the gate."""
    mean: float
    """Mean squared normalised innovation per row (NIS over degrees of freedom); 1 is honest, NaN without any."""
    band: tuple[float, float]
    """Where that mean lies with 95 % if the innovations are white and as large as the filter thinks."""


class Fusion:
    """The streaming filter. Everything it remembers has a fixed size.

    >>> fusion = Fusion(FusionSettings(imu_position=(0.1, 0.0, 0.1)))
    >>> fusion.imu(t, gyro, acceleration)  # every sample, in order of time
    >>> fusion.wheels(t, twist, covariance)  # the odometry's body velocity, slip corrected
    >>> fusion.keyframe(t)  # an image was taken; its pose will be measured later
    >>> fusion.relative_pose(t_from, t_to, position, quaternion, covariance)  # whenever it is computed
    >>> fusion.estimate.position

    The first second stands still and sets level and biases. Measurements may be late: a relative pose finds the clones
    of its two key frames or, where they were not announced, poses from the history; a wheel velocity is compared with
    the velocity of its time. What is ahead of the IMU waits for it. What is older than the history is a fault.
    """

    def __init__(
        self, settings: FusionSettings | None = None, *, position: ArrayLike = (0.0, 0.0, 0.0), yaw: float = 0.0
    ) -> None:
        """Start at a position [m] with a yaw [rad]."""
        self.settings = settings or FusionSettings()
        self._start = checks.array(position, "position", (3,))
        self._memory = self.settings.memory(checks.number(yaw, "yaw"))
        self._imu_position = np.array(self.settings.imu_position)
        self._kind = np.zeros(1, dtype=np.int64)
        self._time = np.zeros(1)
        self._payload = np.zeros((1, slots.PAYLOAD))
        self._record = np.zeros((0, 5 + slots.NOMINAL))
        self._covariance = np.zeros((0, slots.CORE, slots.CORE))
        self._said: set[int] = set()
        with compiling("fusion"):  # on no event, so that the first sample need not wait for the compiler
            kernels.feed(
                self._memory, self._kind[:0], self._time[:0], self._payload[:0], 0, self._record, self._covariance
            )

    def imu(self, t: float, gyro: ArrayLike, acceleration: ArrayLike) -> None:
        """A sample at time t [s]: rates [rad/s] and specific force [m/s²] in body axes, (3,) each."""
        row = self._payload[0]
        row[:3] = gyro
        row[3:6] = acceleration
        self._feed(slots.IMU, t)

    def wheels(self, t: float, twist: ArrayLike, covariance: ArrayLike, observed: ArrayLike = OBSERVED) -> None:
        """Body velocity (ω, v) (6,) [rad/s, m/s] that the wheels tell at time t [s], and its covariance (6, 6).

        observed (6,): which entries they observe.

        Entries that are not observed may be anything, NaN included.
        """
        rows = np.asarray(observed, dtype=bool)
        matrix = np.asarray(covariance, dtype=np.float64)
        if rows.shape != (6,) or matrix.shape != (6, 6):
            raise SimulationError(
                f"wheels: covariance {matrix.shape} and observed {rows.shape} must have shapes (6, 6) and (6,)"
            )
        row = self._payload[0]
        row[:6] = np.where(rows, twist, 0.0)
        row[6:42] = np.where(rows[:, None] & rows, matrix, 0.0).ravel()
        row[42:48] = rows
        if not (np.isfinite(row[:42]).all() and np.isfinite(t)):
            self._count(slots.WHEELS_NOT_FINITE)
            return
        self._feed(slots.WHEELS, t)

    def keyframe(self, t: float) -> None:
        """The pose at time t [s] will be measured later: clone it when the IMU gets there."""
        if not np.isfinite(t):
            self._count(slots.POSE_NOT_FINITE)
            return
        self._feed(slots.KEYFRAME, t)

    def relative_pose(
        self, t_from: float, t_to: float, position: ArrayLike, quaternion: ArrayLike, covariance: ArrayLike
    ) -> None:
        """Pose of the body at t_to in the body's axes at t_from: (3,) [m], (4,) w x y z.

        covariance (6, 6): rotation, then translation, in body axes at t_to, as z = z_true Exp(noise).
        """
        row = self._payload[0]
        row[0], row[1] = t_from, t_to
        row[2:6] = quaternion
        row[6:9] = position
        row[9:45] = np.asarray(covariance, dtype=np.float64).ravel()
        size = float(np.linalg.norm(row[2:6]))
        if not (np.isfinite(row[:45]).all() and size > 1e-6):
            self._count(slots.POSE_NOT_FINITE)
            return
        row[2:6] /= size
        self._feed(slots.POSE, t_to)

    @property
    def ready(self) -> bool:
        """Whether the alignment is done and there is an estimate."""
        return bool(self._memory.tallies[slots.READY])

    @property
    def time(self) -> float:
        """Of the estimate [s]: that of the last IMU sample."""
        return float(self._memory.desk[slots.FIGURES_ROW, slots.NOW])

    @property
    def standing(self) -> bool:
        """Whether it stands still."""
        return bool(self._memory.tallies[slots.ANCHOR] >= 0)

    @property
    def estimate(self) -> FusionEstimate | None:
        """The latest; None during the alignment."""
        if not self.ready:
            return None
        m = self._memory
        core = m.spread[: slots.CORE, : slots.CORE]
        x = m.desk[slots.NOMINAL_ROW, : slots.NOMINAL]
        gyro = m.desk[slots.FIGURES_ROW, slots.SAMPLE : slots.SAMPLE + 3]
        position, velocity, twist, covariance = at_body(x[None], gyro[None], core[None], self._imu_position)
        return FusionEstimate(
            time=self.time,
            position=position[0] + self._start,
            quaternion=x[:4].copy(),
            velocity=velocity[0],
            twist=twist[0],
            gyro_bias=x[10:13].copy(),
            acceleration_bias=x[13:16].copy(),
            slip=x[16:19] + x[19:22],
            covariance=covariance[0, :15, :15],
            slip_covariance=SUM @ covariance[0, 15:, 15:] @ SUM.T,
            degraded=self.degraded,
        )

    @property
    def degraded(self) -> tuple[str, ...]:
        """The sources that fail at present, for which the covariance is larger than usual."""
        f, t = self._memory.desk[slots.FIGURES_ROW], self._memory.tallies
        late = self.settings.missing_after
        failing = []
        if t[slots.DISTRUSTED] or f[slots.NOW] - f[slots.LAST_WHEELS] > late:
            failing.append("wheels")
        if f[slots.NOW] - f[slots.LAST_POSE] > late:
            failing.append("poses")
        if f[slots.NOW] < f[slots.LOST_UNTIL]:
            failing.append("imu")
        return tuple(failing)

    @property
    def faults(self) -> dict[str, int]:
        """How often each kind of fault was met."""
        counts = self._memory.tallies[slots.FAULTS : slots.FAULTS + slots.N_FAULTS]
        return {kind: int(counts[slot]) for slot, (kind, _) in FAULTS.items() if counts[slot]}

    @property
    def nis(self) -> dict[str, Innovations]:
        """Innovations by source."""
        return innovations(self._memory)

    def feed(self, kinds: Any, times: FloatArray, payloads: FloatArray, every: int) -> tuple[FloatArray, FloatArray]:
        """Many events at once, as `fuse` packs them; state and covariance of every n-th IMU sample, see the kernel."""
        rows = int((kinds == slots.IMU).sum()) // every + 1
        record, covariance = np.empty((rows, 5 + slots.NOMINAL)), np.empty((rows, slots.CORE, slots.CORE))
        written = kernels.feed(self._memory, kinds, times, payloads, every, record, covariance)
        self._say()
        return record[:written], covariance[:written]

    def _feed(self, kind: int, t: float) -> None:
        self._kind[0] = kind
        self._time[0] = t
        kernels.feed(self._memory, self._kind, self._time, self._payload, 0, self._record, self._covariance)
        self._say()

    def _count(self, slot: int) -> None:
        self._memory.tallies[slots.FAULTS + slot] += 1
        self._say()

    def _say(self) -> None:
        """Log the first fault of each kind."""
        counts = self._memory.tallies[slots.FAULTS : slots.FAULTS + slots.N_FAULTS]
        if np.count_nonzero(counts) == len(self._said):
            return
        for slot, (kind, text) in FAULTS.items():
            if counts[slot] and slot not in self._said:
                self._said.add(slot)
                logger.warning("fusion, t = %.6g s: %s (%s; further ones are only counted)", self.time, text, kind)


def innovations(memory: slots.FusionMemory) -> dict[str, Innovations]:
    """Statistics of the innovations by source."""
    out = {}
    for k, name in enumerate(SOURCES):
        rows = int(memory.tallies[slots.ROWS + k])
        low, high = chdtri(rows, (0.975, 0.025)) / rows if rows else (np.nan, np.nan)
        out[name] = Innovations(
            used=int(memory.tallies[slots.USED + k]),
            refused=int(memory.tallies[slots.REFUSED + k]),
            mean=float(memory.desk[slots.SQUARES_ROW, k]) / rows if rows else float("nan"),
            band=(float(low), float(high)),
        )
    return out
