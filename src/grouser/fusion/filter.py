"""Fusion of IMU, wheel odometry and relative poses (visual odometry): an error-state Kalman filter.

The architecture is that of L §2.3; the filter is the error-state filter with cloned poses that L's [35] describes, with
a right-invariant error (see `_kernels/fusion/memory.py`) and slip as a state of its own: what a slip model leaves is
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
from grouser._kernels.fusion import filter as kernels
from grouser._kernels.fusion import memory as slots
from grouser.checks import FloatArray
from grouser.errors import SimulationError
from grouser.fusion.estimate import FusionEstimate, at_body_once, twist_covariance
from grouser.fusion.settings import FusionSettings

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
        self.settings = checks.instance(
            FusionSettings() if settings is None else settings, FusionSettings, "settings", "use FusionSettings(…)"
        )
        self._start = checks.array(position, "position", (3,))
        self._memory = self.settings.memory(checks.number(yaw, "yaw"))
        self._imu_position = np.array(self.settings.imu_position)
        self._kind = np.zeros(1, dtype=np.int64)
        self._time = np.zeros(1)
        self._payload = np.zeros((1, slots.PAYLOAD))
        self._record = np.zeros((0, 5 + slots.NOMINAL))
        self._covariance = np.zeros((0, slots.CORE, slots.CORE))
        self._said: set[int] = set()
        # On no event, so that the first sample need not wait for the compiler
        kernels.feed(self._memory, self._kind[:0], self._time[:0], self._payload[:0], 0, self._record, self._covariance)

    def imu(self, t: float, gyro: ArrayLike, acceleration: ArrayLike) -> None:
        """A sample at time t [s]: rates [rad/s] and specific force [m/s²] in body axes, (3,) each."""
        row = self._payload[0]
        row[:3] = _entries(gyro, "gyro", (3,))
        row[3:6] = _entries(acceleration, "acceleration", (3,))
        self._feed(slots.IMU, _time(t))

    def wheels(self, t: float, twist: ArrayLike, covariance: ArrayLike, observed: ArrayLike = OBSERVED) -> None:
        """Body velocity (ω, v) (6,) [rad/s, m/s] that the wheels tell at time t [s], and its covariance (6, 6).

        observed (6,): which entries they observe.

        Entries that are not observed may be anything, NaN included. A variance that is negative, or a matrix that is no
        covariance, counts as not finite: it is a fault, and the measurement is left out.
        """
        rows = np.asarray(observed, dtype=bool)
        if rows.shape != (6,):
            raise SimulationError(f"observed: has shape {rows.shape}, needs (6,)")
        stamp = _time(t)
        row = self._payload[0]
        row[:6] = np.where(rows, _entries(twist, "twist", (6,)), 0.0)
        matrix = np.where(rows[:, None] & rows, _entries(covariance, "covariance", (6, 6)), 0.0)
        row[6:42] = matrix.ravel()
        row[42:48] = rows
        if not (np.isfinite(row[:42]).all() and np.isfinite(stamp) and _is_covariance(matrix)):
            self._count(slots.WHEELS_NOT_FINITE)
            return
        self._feed(slots.WHEELS, stamp)

    def keyframe(self, t: float) -> None:
        """The pose at time t [s] will be measured later: clone it when the IMU gets there."""
        stamp = _time(t)
        if not np.isfinite(stamp):
            self._count(slots.POSE_NOT_FINITE)
            return
        self._feed(slots.KEYFRAME, stamp)

    def relative_pose(
        self, t_from: float, t_to: float, position: ArrayLike, quaternion: ArrayLike, covariance: ArrayLike
    ) -> None:
        """Pose of the body at t_to in the body's axes at t_from: (3,) [m], (4,) w x y z.

        covariance (6, 6): rotation, then translation, in body axes at t_to, as z = z_true Exp(noise).
        """
        row = self._payload[0]
        row[0], row[1] = _time(t_from, "t_from"), _time(t_to, "t_to")
        row[2:6] = _entries(quaternion, "quaternion", (4,))
        row[6:9] = _entries(position, "position", (3,))
        matrix = _entries(covariance, "covariance", (6, 6))
        row[9:45] = matrix.ravel()
        size = float(np.linalg.norm(row[2:6]))
        if not (np.isfinite(row[:45]).all() and size > 1e-6 and _is_covariance(matrix)):
            self._count(slots.POSE_NOT_FINITE)
            return
        row[2:6] /= size
        self._feed(slots.POSE, float(row[1]))

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
        position, velocity, twist, covariance = at_body_once(x, gyro, core, self._imu_position)
        return FusionEstimate(
            time=self.time,
            position=position + self._start,
            quaternion=x[:4].copy(),
            velocity=velocity,
            twist=twist,
            gyro_bias=x[10:13].copy(),
            acceleration_bias=x[13:16].copy(),
            slip=x[16:19] + x[19:22],
            covariance=covariance[:15, :15],
            slip_covariance=SUM @ covariance[15:, 15:] @ SUM.T,
            twist_covariance=twist_covariance(
                covariance[:15, :15], twist[3:], self.settings.gyro_noise**2 * self.settings.rate
            ),
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
                logger.warning("fusion, t = %.12g s: %s (%s; further ones are only counted)", self.time, text, kind)


def _entries(value: ArrayLike, name: str, shape: tuple[int, ...]) -> FloatArray:
    """As an array of a shape; entries may be NaN, which is a fault and counted, but nothing is stretched to fit."""
    try:
        given = np.asarray(value)
        if given.dtype.kind == "c":
            raise SimulationError(f"{name}: has complex numbers; give real ones")
        result = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise SimulationError(f"{name}: {value!r:.60} is not an array of numbers") from None
    if result.shape != shape:
        raise SimulationError(f"{name}: has shape {result.shape}, needs {shape}")
    return result


def _time(t: float, name: str = "t") -> float:
    """As a number; one that is not finite is a fault and counted."""
    try:
        return float(t)
    except (TypeError, ValueError):
        raise SimulationError(f"{name}: {t!r:.60} is not a number") from None


def _is_covariance(matrix: FloatArray) -> bool:
    """Whether it is finite and symmetric, and no correlation is above one, but for rounding."""
    variance = matrix.diagonal()
    largest = float(np.abs(matrix).max())
    if not largest < np.inf or variance.min() < 0.0 or np.abs(matrix - matrix.T).max() > 1e-6 * largest:
        return False
    sigma = np.sqrt(variance)
    return bool((np.abs(matrix) <= (1.0 + 1e-6) * np.outer(sigma, sigma) + 1e-12 * largest).all())


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
