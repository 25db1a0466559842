"""Choice of sensors: attitude from the fusion filter or the IMU, bogie angles from motor or spring, L §4.4.2."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from grouser.checks import FloatArray
from grouser.odometry.inputs import check, time_stamp
from grouser.rotation import wrapped


@dataclass(frozen=True)
class Attitude:
    """Roll and pitch, where they come from, and why."""

    roll: float
    """[rad]."""
    pitch: float
    """[rad], nose down."""
    source: str
    """"fused", "imu", "held" (the last one) or "level" (there was none yet)."""
    age: float
    """Since it was measured [s]; infinite for "level"."""
    reason: str
    """Why this source, in words."""


def accelerometer_attitude(acceleration: ArrayLike) -> FloatArray:
    """Roll and pitch (2,) [rad] of a body at rest from its accelerometer (3,) [m/s²], +9.81 upwards when level."""
    x, y, z = check.array(acceleration, "acceleration", (3,))
    return np.array([math.atan2(y, z), math.atan2(-x, math.hypot(y, z))])


class AttitudeSource:
    """The fusion filter's attitude while it is fresh, because it is less noisy; else the IMU's; else the last one.

    A change of source does not jump: the difference at that moment is kept and fades with a time constant. So right
    after a change the attitude is that of the old source, and after three time constants that of the new.
    """

    def __init__(self, *, fresh: float = 0.1, fade: float = 0.5) -> None:
        """fresh: age up to which a sample counts [s]; fade: time constant of a change of source [s]."""
        self._fresh = check.positive(fresh, "fresh")
        self._fade = check.positive(fade, "fade")
        self._samples: dict[str, tuple[float, FloatArray]] = {}
        self._source = "level"
        self._rest = np.zeros(2)
        self._last: tuple[float, FloatArray] | None = None
        self.refused = 0
        """Samples that were refused: not finite, or older than the one before."""

    def fused(self, t: float, roll: float, pitch: float) -> None:
        """A sample of the fusion filter at time t [s]; angles [rad]."""
        self._take("fused", t, roll, pitch)

    def imu(self, t: float, roll: float, pitch: float) -> None:
        """A sample of the IMU at time t [s]; angles [rad]."""
        self._take("imu", t, roll, pitch)

    def at(self, t: float) -> Attitude:
        """The attitude to use at time t [s]."""
        now = time_stamp(t)
        source, reason = self._choose(now)
        if source == "level":
            return Attitude(0.0, 0.0, source, math.inf, reason)
        last = self._last
        if source == "held":
            assert last is not None
            time, value = last
        else:
            time, raw = self._samples[source]
            if last is not None and source == self._source:
                self._rest = self._rest * math.exp(-max(now - last[0], 0.0) / self._fade)
            elif last is not None:
                self._rest = wrapped(last[1] - raw)
            value = wrapped(raw + self._rest)
            self._last = (now, value)
        self._source = source
        return Attitude(float(value[0]), float(value[1]), source, max(now - time, 0.0), reason)

    def _choose(self, now: float) -> tuple[str, str]:
        why = dict.fromkeys(("fused", "imu"), f"no sample within {self._fresh:g} s")
        for name, (time, _) in self._samples.items():
            why[name] = f"its last sample is {now - time:.3g} s old, more than {self._fresh:g} s"
        fresh = [name for name, (time, _) in self._samples.items() if now - time <= self._fresh]
        if "fused" in fresh:
            return "fused", "the fusion filter is fresh and the least noisy"
        if "imu" in fresh:
            return "imu", f"fusion filter: {why['fused']}"
        if self._last is not None:
            return "held", f"fusion filter: {why['fused']}; IMU: {why['imu']}"
        return "level", "neither fusion filter nor IMU has given a sample that is fresh; level ground is assumed"

    def _take(self, name: str, t: float, roll: float, pitch: float) -> None:
        sample = np.array([roll, pitch], dtype=np.float64)
        late = name in self._samples and t < self._samples[name][0]
        if late or not (math.isfinite(t) and np.isfinite(sample).all()):
            self.refused += 1
            return
        self._samples[name] = (float(t), sample)


@dataclass(frozen=True)
class BogieAngle:
    """Angle of a bogie, what it is made of, and why."""

    angle: float
    """[rad]; NaN if the motor's is not known."""
    rate: float
    """[rad/s]; zero, as L takes it: bogies move slowly, and measured rates add more noise than information."""
    source: str
    """"motor and spring", "motor" or "none"."""
    reason: str
    """Why, in words."""


def bogie_angle(
    motor: float | None,
    deflection: float | None = None,
    *,
    spring_age: float = 0.0,
    fresh: float = 0.1,
) -> BogieAngle:
    """Angle of a series-elastic bogie: the motor's, plus the spring's deflection where that is measured and fresh.

    Angles [rad] of the load against the body and, for the deflection, of the load against the motor; ages [s].
    """
    limit = check.positive(fresh, "fresh")
    if motor is None or not math.isfinite(motor):
        return BogieAngle(math.nan, 0.0, "none", "the motor's angle is missing")
    if deflection is None or not math.isfinite(deflection):
        reason = "the spring's deflection is not measured; it is small"
    elif spring_age > limit:
        reason = f"the spring's deflection is {spring_age:.3g} s old"
    else:
        return BogieAngle(float(motor + deflection), 0.0, "motor and spring", "both are measured")
    return BogieAngle(float(motor), 0.0, "motor", reason)
