"""Fusion of IMU, wheel odometry, relative poses (visual odometry), GPS and headings: an error-state Kalman filter.

The architecture is that of L §2.3, the filter that with cloned poses of L's [35], with a right-invariant error (see
`_kernels/fusion/memory.py`) and slip as a state: what a slip model leaves is correlated along the way, no white noise.
"""

from __future__ import annotations

import dataclasses
import logging
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from grouser._compile.struct import views
from grouser._kernels.fusion import filter as kernels
from grouser._kernels.fusion.memory import (
    CLOCK,
    COUNTS,
    ESTIMATE,
    FAULTS,
    GPS,
    HEADING,
    IMU,
    KEYFRAME,
    MOST_PARAMETERS,
    PARAMETERS,
    POSE,
    SELDOM,
    WHEELS,
    Drive,
)
from grouser.checks import FloatArray
from grouser.errors import FusionError
from grouser.fusion.estimate import FusionEstimate
from grouser.fusion.settings import FusionSettings, check

logger = logging.getLogger("grouser.odometry")

ESTIMATED = [field.name for field in dataclasses.fields(FusionEstimate)[1:-4]]  # arrays of an estimate
SOURCES = {"wheels": "wheels", "poses": "poses", "standstill": "standstill", "gps": "gps", "heading": "headings"}
OBSERVED = (False, False, True, True, True, False)  # by the wheels of an LRU: yaw rate, forward and sideways speed


@dataclass(frozen=True)
class Innovations:
    """Innovation statistics of one source."""

    used: int
    """Measurements used."""
    refused: int
    """Measurements that did not pass the gate."""
    mean: float
    """Mean squared normalised innovation per row (NIS over degrees of freedom); 1 is consistent, NaN without any."""
    band: tuple[float, float]
    """95 % band of that mean if the innovations are white and have the covariance of the filter."""


class Fusion:
    """The streaming filter. All of its memory has a fixed size.

    >>> fusion = Fusion(FusionSettings(imu_position=(0.1, 0.0, 0.1)))
    >>> fusion.imu(t, gyro, acceleration)  # every sample, in order of time
    >>> fusion.wheels(t, twist, covariance)  # the odometry's body velocity, slip corrected
    >>> fusion.keyframe(t)  # an image was taken; its pose will be measured later
    >>> fusion.relative_pose(t_from, t_to, position, quaternion, covariance)  # whenever it is computed
    >>> fusion.gps(t, position, covariance)  # of the antenna, in the world
    >>> fusion.heading(t, yaw, sigma)  # of a compass or of two antennas
    >>> fusion.estimate.position

    The start pose is that of the first IMU sample. A vehicle that stands still during the first second has level and
    biases from it; one that moves has them, and its velocity, from the other sources. Measurements may be late: a
    relative pose uses the clones of its two key frames or, where they were not announced, poses from the history; a
    wheel velocity, a GPS position and a heading are compared with the state of their time. Measurements ahead of the
    IMU wait for it. A measurement older than the history is a fault.
    """

    _quiet: frozenset[str] = frozenset()
    """Faults that are counted, not logged."""

    def __init__(
        self,
        settings: FusionSettings | None = None,
        *,
        position: ArrayLike = (0.0, 0.0, 0.0),
        yaw: float = 0.0,
        parameters: ArrayLike | None = None,
    ) -> None:
        """Start at a position [m] with a yaw [rad].

        parameters: covariance (k, k) of slip parameters of the odometry, as a fit has it. They become states, which
        the slopes given to `wheels` connect with the other sources; they replace lasting slip.
        """
        given = FusionSettings() if settings is None else settings
        self.settings = check.instance(given, FusionSettings, "settings", "use FusionSettings(…)")
        start = check.array(position, "position", (3,))
        prior = None if parameters is None else _prior(parameters)
        self._memory = self.settings.memory(check.number(yaw, "yaw"), start, prior)
        self._parameters = 0 if prior is None else len(prior)
        self._one = Drive.zeros(n=1, rows=1, every=0, slopes=1, k=len(self._memory.prior))
        self._said: set[str] = set()
        self._bind()
        # On no event: compiles before the first sample
        kernels.feed(self._memory, Drive.zeros(n=0, rows=1, every=0, slopes=0, k=len(self._memory.prior)))
        kernels.estimate(self._memory, self._one)

    def _bind(self) -> None:
        self._event, self._row = views(self._one.events), views(self._one.estimates)
        self._clock = views(np.frombuffer(self._memory.clock, dtype=CLOCK))
        self._counts = views(np.frombuffer(self._memory.counts, dtype=COUNTS))
        self._fault_counts = np.frombuffer(self._memory.faults, dtype=np.int64)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._bind()

    def imu(self, t: float, gyro: ArrayLike, acceleration: ArrayLike) -> None:
        """A sample at time t [s]: rates [rad/s] and specific force [m/s²] in body axes, (3,) each."""
        reading = self._event["imu"]
        reading[:3], reading[3:] = _entries(gyro, "gyro", (3,)), _entries(acceleration, "acceleration", (3,))
        self.take(IMU, _time(t))

    def wheels(
        self,
        t: float,
        twist: ArrayLike,
        covariance: ArrayLike,
        observed: ArrayLike = OBSERVED,
        slopes: ArrayLike | None = None,
    ) -> None:
        """Body velocity (ω, v) (6,) [rad/s, m/s] that the wheels measure at time t [s], and its covariance (6, 6).

        observed (6,): which entries they observe. The others may be anything, NaN included. A negative variance, or a
        matrix that is no covariance, counts as not finite: it is a fault, and the measurement is left out.
        slopes (6, k): ∂twist/∂parameter of the filter's k parameters, with the values of the fit; none: zero.
        """
        rows = np.asarray(observed, dtype=bool)
        if rows.shape != (6,):
            raise FusionError(f"observed: has shape {rows.shape}, needs (6,)")
        stamp = _time(t)
        velocity = np.where(rows, _entries(twist, "twist", (6,)), 0.0)
        matrix = np.where(rows[:, None] & rows, _entries(covariance, "covariance", (6, 6)), 0.0)
        if not (np.isfinite(velocity).all() and np.isfinite(stamp) and _is_covariance(matrix)):
            self._count("wheels_not_finite")
            return
        if self._parameters:
            table = np.zeros((6, self._parameters))
            if slopes is not None:
                table = np.where(rows[:, None], _entries(slopes, "slopes", table.shape), 0.0)
            if not np.isfinite(table).all():
                self._count("wheels_not_finite")
                return
            self._one.slopes[0] = table
        elif slopes is not None:
            raise FusionError("slopes: the filter has no parameters; give it their covariance: Fusion(parameters=…)")
        self.take(WHEELS, stamp, twist=velocity, covariance=matrix, observed=rows)

    def keyframe(self, t: float) -> None:
        """The pose at time t [s] will be measured later: clone it when the IMU gets there."""
        stamp = _time(t)
        if np.isfinite(stamp):
            self.take(KEYFRAME, stamp)
        else:
            self._count("pose_not_finite")

    def relative_pose(
        self, t_from: float, t_to: float, position: ArrayLike, quaternion: ArrayLike, covariance: ArrayLike
    ) -> None:
        """Pose of the body at t_to in the body's axes at t_from: (3,) [m], (4,) w x y z.

        covariance (6, 6): rotation, then translation, in body axes at t_to, as z = z_true Exp(noise).
        """
        start, end = _time(t_from, "t_from"), _time(t_to, "t_to")
        q = _entries(quaternion, "quaternion", (4,))
        p = _entries(position, "position", (3,))
        matrix = _entries(covariance, "covariance", (6, 6))
        size = float(np.linalg.norm(q))
        finite = np.isfinite([start, end, size, *p]).all()
        if not (finite and size > 1e-6 and _is_covariance(matrix)):
            self._count("pose_not_finite")
            return
        self.take(POSE, end, start=start, quaternion=q / size, position=p, covariance=matrix)

    def gps(self, t: float, position: ArrayLike, covariance: ArrayLike) -> None:
        """Position of the antenna in the world at time t [s]: (3,), or (2,) without the height [m].

        covariance (3, 3) or (2, 2) [m²]. Where the yaw is not known yet, positions are held until the way between them
        determines it.
        """
        stamp = _time(t)
        place = check.real(position, "position")
        if place.shape not in ((2,), (3,)):
            raise FusionError(f"position: has shape {place.shape}, needs (3,), or (2,) without the height")
        n = len(place)
        noise = _entries(covariance, "covariance", (n, n))
        if not (np.isfinite(place).all() and np.isfinite(stamp) and _is_covariance(noise)):
            self._count("gps_not_finite")
            return
        three, matrix = np.zeros(3), np.zeros((6, 6))
        three[:n], matrix[:n, :n] = place, noise
        self.take(GPS, stamp, position=three, covariance=matrix, observed=np.arange(6) < n)

    def heading(self, t: float, yaw: float, sigma: float) -> None:
        """Yaw [rad] of the body in the world at time t [s], with one sigma [rad], of a compass or of two antennas."""
        stamp, angle, spread = _time(t), _time(yaw, "yaw"), _time(sigma, "sigma")
        if not (np.isfinite([stamp, angle, spread]).all() and spread > 0.0):
            self._count("heading_not_finite")
            return
        matrix = np.zeros((6, 6))
        matrix[0, 0] = spread**2
        self.take(HEADING, stamp, yaw=angle, covariance=matrix)

    @property
    def ready(self) -> bool:
        """Whether the alignment is done and there is an estimate."""
        return bool(self._counts["ready"])

    @property
    def time(self) -> float:
        """Time of the estimate [s]: that of the last IMU sample."""
        return float(self._clock["now"])

    @property
    def standing(self) -> bool:
        """Whether it stands still, as wheels and IMU show and neither poses nor GPS contradict."""
        return self.motion == "standing"

    @property
    def motion(self) -> str:
        """'moving', 'standing' or 'sliding', as in `FusionEstimate`."""
        if self._counts["sliding"]:
            return "sliding"
        return "standing" if self._counts["anchor"] >= 0 else "moving"

    @property
    def estimate(self) -> FusionEstimate | None:
        """The latest; None during the alignment."""
        if not self.ready:
            return None
        self._write_estimate()
        row = {field: self._row[field].copy() for field in ESTIMATED}
        k = self._parameters
        rows = slice(PARAMETERS, PARAMETERS + k)
        return FusionEstimate(
            time=self.time,
            degraded=self.degraded,
            motion=self.motion,
            parameters=self._memory.parameters[:k].copy(),
            parameter_covariance=self._memory.covariance[rows, rows].copy(),
            **row,
        )

    @property
    def degraded(self) -> tuple[str, ...]:
        """The sources that fail at present, for which the covariance is larger than usual."""
        clock, now, limit = self._clock, self.time, self.settings.missing_after
        failing = {
            "wheels": self._counts["distrusted"] or now - clock["wheels"] > limit,
            "poses": now - clock["poses"] > limit,
            "imu": now < clock["imu_lost"],
            "gps": _fails(now, clock["gps"], self._memory.gps["since"], SELDOM * limit),
            "heading": _fails(now, clock["headings"], self._memory.headings["since"], SELDOM * limit),
        }
        return tuple(source for source, fails in failing.items() if fails)

    @property
    def faults(self) -> dict[str, int]:
        """Number of faults by kind."""
        return {kind: n for kind, n in zip(FAULTS, self._fault_counts.tolist(), strict=True) if n}

    @property
    def nis(self) -> dict[str, Innovations]:
        """Innovations by source."""
        from grouser.motion.consistency import nees_band

        found = {}
        for name, field in SOURCES.items():
            source = getattr(self._memory, field)
            used, refused, rows = int(source.used), int(source.refused), int(source.rows)
            mean, band = (float(source.squares) / rows, nees_band(rows, 1)) if rows else (np.nan, (np.nan, np.nan))
            found[name] = Innovations(used=used, refused=refused, mean=mean, band=band)
        return found

    def copy_to(self, other: Fusion) -> None:
        """Copy all that this filter remembers into another one of the same sizes, in about a microsecond per kB.

        Both then continue alike; `other` can be kept to go back to when a late signal is replayed.
        """
        sizes = self._memory.covariance.shape, self._memory.past.shape
        if sizes != (other._memory.covariance.shape, other._memory.past.shape):
            raise FusionError("copy_to: the filters have other sizes; make both with the same settings and parameters")
        other._memory.everything[:] = self._memory.everything
        other.settings = self.settings

    def feed(self, events: Any, every: int, slopes: FloatArray | None = None) -> Any:
        """Many events at once, as `SensorLog.events` packs them; records of the estimate of every n-th IMU sample.

        slopes (events of wheels, 6, k): as of `wheels`, in the order of these events.
        """
        rows = int((events["kind"] == IMU).sum()) // every + 1
        k, wheels = len(self._memory.prior), int((events["kind"] == WHEELS).sum())
        table = np.zeros((0, 6, k)) if slopes is None else _entries(slopes, "slopes", (wheels, 6, k))
        drive = Drive(events=events, slopes=table, every=every, estimates=np.empty(rows, ESTIMATE))
        written = kernels.feed(self._memory, drive)
        self._say()
        return drive.estimates[:written]

    def take(self, kind: int, t: float, **fields: ArrayLike) -> None:
        """An event at time t [s], kind and fields as in `_kernels/fusion/memory.py`; its values are not checked."""
        for name, value in {"kind": kind, "time": t, **fields}.items():
            self._event[name][...] = value
        self._take_event()
        self._say()

    def _take_event(self) -> None:
        kernels.feed(self._memory, self._one)

    def _write_estimate(self) -> None:
        kernels.estimate(self._memory, self._one)

    def _count(self, kind: str) -> None:
        self._memory.faults[kind] += 1
        self._say()

    def _say(self) -> None:
        """Log the first fault of each kind."""
        if np.count_nonzero(self._fault_counts) == len(self._said):
            return
        for kind in self.faults:
            if kind not in self._said:
                self._said.add(kind)
                if kind in self._quiet:
                    continue
                text = FAULTS[kind]
                logger.warning("fusion, t = %.12g s: %s (%s; further ones are only counted)", self.time, text, kind)


def _fails(now: float, used: Any, refused: Any, limit: float) -> bool:
    """Whether a source that was there is silent, or refused at present."""
    return bool(used > -np.inf and (now - used > limit or refused == refused))


def _prior(parameters: ArrayLike) -> FloatArray:
    """Covariance of parameters, checked."""
    matrix = check.real(parameters, "parameters")
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise FusionError(f"parameters: has shape {matrix.shape}, needs a covariance (k, k)")
    if len(matrix) > MOST_PARAMETERS or not (matrix.size and _is_covariance(matrix)):
        raise FusionError(f"parameters: is not the covariance of 1 to {MOST_PARAMETERS} parameters")
    return matrix


def _entries(value: ArrayLike, name: str, shape: tuple[int, ...]) -> FloatArray:
    """As an array of a shape; entries may be NaN, which is a fault and counted, but nothing is broadcast to fit."""
    result = check.real(value, name)
    if result.shape != shape:
        raise FusionError(f"{name}: has shape {result.shape}, needs {shape}")
    return result


def _time(t: float, name: str = "t") -> float:
    """As a number; a value that is not finite is a fault and counted."""
    try:
        return float(t)
    except (TypeError, ValueError):
        raise FusionError(f"{name}: {t!r:.60} is not a number") from None


def _is_covariance(matrix: FloatArray) -> bool:
    """Whether it is finite and symmetric, and no correlation is above one, except by rounding."""
    variance = matrix.diagonal()
    largest = float(np.abs(matrix).max())
    if not largest < np.inf or variance.min() < 0.0 or np.abs(matrix - matrix.T).max() > 1e-6 * largest:
        return False
    sigma = np.sqrt(variance)
    return bool((np.abs(matrix) <= (1.0 + 1e-6) * np.outer(sigma, sigma) + 1e-12 * largest).all())
