"""The monitor of a robot on board: stuck, sliding, ground changed.

Samples are summed into blocks of 0.1 s. `stuck` and `sliding` are Shiryaev–Roberts tests of a hidden motion, see
`_kernels/robot/hidden_motion.py`; `ground_changed` is one of the levels of current, vibration and slip together, see
`_kernels/robot/ground.py`. Thresholds follow from the mean time between false alarms that the settings ask for.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from grouser._compile.struct import views
from grouser._kernels.robot import monitor as kernels
from grouser._kernels.robot.monitor_memory import (
    FIX,
    GROUND,
    IMU,
    KINDS,
    SAMPLE,
    SLIDING,
    STATE,
    STUCK,
    TRACE,
    WHEELS,
    MonitorDrive,
)
from grouser.checks import FloatArray
from grouser.errors import OdometryError
from grouser.robot.monitor_settings import MonitorSettings, check

LONGEST = 1.0
"""Steps of another odometry that last longer are no velocity [s]."""


@dataclass(frozen=True)
class Condition:
    """Present result of one test; true while there is an alarm."""

    active: bool
    """Whether there is an alarm."""
    since: float
    """Since when, by the evidence [s]; NaN without an alarm."""
    probability: float
    """Probability that it has changed, if changes are as rare as false alarms may be; ½ at the threshold. While there
    is an alarm: that it still lasts."""
    evidence: float
    """Logarithm of the Shiryaev–Roberts ratio, of a change or, while there is an alarm, of its end."""
    threshold: float
    """Evidence at which the alarm begins or ends, log-ratio."""

    def __bool__(self) -> bool:
        return self.active


@dataclass(frozen=True)
class Alarm:
    """An alarm."""

    kind: str
    """"stuck", "sliding" or "ground_changed"."""
    since: float
    """When it began, by the evidence [s]."""
    time: float
    """When it was raised [s]."""
    ended: float
    """When it ended [s]; NaN: it lasts."""
    evidence: float
    """Logarithm of the ratio when it was raised."""

    def summary(self) -> dict[str, Any]:
        """As JSON takes it."""
        return {name: None if value != value else value for name, value in asdict(self).items()}


class Monitor:
    """Reports a robot that is stuck or slides, and a change of ground. Its memory has a fixed size.

    >>> monitor = Monitor()
    >>> monitor.imu(t, gyro, acceleration)  # every sample
    >>> monitor.update(t, speed, turn, current=12.5)  # every sample of the wheels, after the IMU's of that time
    >>> if monitor.stuck: stop()

    Every sensor except the wheels is optional. Events are in order of time within each sensor; one that is not, or that
    is not finite, is left out.
    """

    def __init__(self, settings: MonitorSettings | None = None) -> None:
        """With settings, or those of a small rover."""
        given = MonitorSettings() if settings is None else settings
        self.settings = check.instance(given, MonitorSettings, "settings", "use MonitorSettings(…)")
        self._memory = self.settings.memory()
        self._one = MonitorDrive(events=np.zeros(1, SAMPLE), trace=np.zeros(1, TRACE))
        self._bind()
        kernels.feed(self._memory, MonitorDrive(events=np.zeros(0, SAMPLE), trace=np.zeros(0, TRACE)))  # compiles

    def _bind(self) -> None:
        self._event = views(self._one.events)
        self._state = views(np.frombuffer(self._memory.state, dtype=STATE))

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._bind()

    def imu(self, t: float, gyro: ArrayLike, acceleration: ArrayLike) -> None:
        """A sample at time t [s]: rates [rad/s] and specific force [m/s²] in body axes, (3,) each."""
        self._feed(IMU, t, gyro=gyro, acceleration=acceleration)

    def fix(self, t: float, position: ArrayLike, sigma: float) -> None:
        """A position (x, y) (2,) [m] at time t [s], with sigma per axis [m]. Only distances between fixes are used."""
        self._feed(FIX, t, position=position, position_sigma=sigma)

    def update(
        self,
        t: float,
        speed: float,
        turn: float = 0.0,
        *,
        current: float = math.nan,
        velocity: float = math.nan,
        velocity_sigma: float = 0.0,
        slip: float = math.nan,
    ) -> bool:
        """A sample of the wheels at time t [s]: forward speed [m/s] and yaw rate [rad/s] by them.

        current: sum over the motors, or of their torques, positive when they drive, in any unit. velocity: forward
        speed by a sensor other than the wheels [m/s] (visual, GPS), with its sigma [m/s]; only where it is new. slip:
        expected at present, as a share of the speed. Returns whether there is any alarm.
        """
        self._feed(
            WHEELS, t, speed=speed, turn=turn, current=current, velocity=velocity,
            velocity_sigma=velocity_sigma, slip=slip,
        )  # fmt: skip
        return bool(self._state["alarmed"].any())

    @property
    def active(self) -> tuple[bool, bool, bool]:
        """Whether there is an alarm: stuck, sliding, ground changed."""
        alarmed = self._state["alarmed"]
        return bool(alarmed[STUCK]), bool(alarmed[SLIDING]), bool(alarmed[GROUND])

    @property
    def stuck(self) -> Condition:
        """Wheels turn, the robot does not: it moves with less than a fifth of their speed."""
        return self._condition(STUCK)

    @property
    def sliding(self) -> Condition:
        """The robot moves in a way that the wheels do not explain: they stand or turn slowly.

        While it is stuck and its wheels turn, it does not slide.
        """
        return self._condition(SLIDING)

    @property
    def ground_changed(self) -> Condition:
        """Current, vibration or slip are no longer as they were; the alarm lasts until they are learned again."""
        return self._condition(GROUND)

    @property
    def moved_share(self) -> float:
        """Estimated share of the wheels' motion that the robot makes, from −0.1 to 1.1."""
        return float(self._memory.state.share)

    @property
    def alarms(self) -> list[Alarm]:
        """The last alarms, oldest first."""
        count, ring = int(self._memory.state.alarms), self._memory.history
        rows = [ring[k % len(ring)] for k in range(max(0, count - len(ring)), count)]
        return [Alarm(KINDS[r.kind], *(float(r[n]) for n in ("since", "time", "ended", "evidence"))) for r in rows]

    def feed(self, events: Any, rows: int = 0) -> Any:
        """Many events at once, records of `SAMPLE`; returns the trace of the first `rows` blocks."""
        drive = MonitorDrive(events=events, trace=np.zeros(rows, TRACE))
        return drive.trace[: kernels.feed(self._memory, drive)]

    def _condition(self, kind: int) -> Condition:
        active = bool(self._state["alarmed"][kind])
        settings = self._memory.settings
        ends = active and kind != GROUND
        limit = float(settings.release[kind] if ends else settings.threshold[kind])
        ratio = float(self._state["ratio"][kind])
        changed = ratio / (ratio + limit)
        return Condition(
            active=active,
            since=float(self._state["since"][kind]) if active else math.nan,
            probability=1.0 - changed if active else changed,
            evidence=math.log(max(ratio, 1e-300)),
            threshold=math.log(limit),
        )

    def _feed(self, kind: int, t: float, **fields: Any) -> None:
        try:
            self._event["kind"][...], self._event["time"][...] = kind, t
            for name, value in fields.items():
                place = self._event[name]
                if place.ndim and not isinstance(value, np.ndarray):
                    value = tuple(value) if isinstance(value, Iterable) else value
                    if not isinstance(value, tuple) or len(value) != len(place):
                        raise ValueError(f"{name} needs {len(place)} numbers")
                place[...] = value
        except (TypeError, ValueError) as reason:
            raise OdometryError(f"a sample of the monitor at t = {t!r:.40}: {reason}") from None
        if not math.isfinite(self._event["time"]):
            return
        kernels.feed(self._memory, self._one)


class Watch:
    """Feeds a monitor with the signals of the chain in the order in which they come; late ones are left out."""

    def __init__(self, settings: MonitorSettings) -> None:
        self.monitor = Monitor(settings)
        self._newest = -math.inf
        self._velocity, self._sigma = math.nan, 0.0

    def joints(self, t: float, speed: float, turn: float, rates: FloatArray, currents: FloatArray | None) -> None:
        """Speed [m/s] and yaw rate [rad/s] by the wheels at time t [s]; currents count as positive where they drive."""
        if not t > self._newest or not (math.isfinite(speed) and math.isfinite(turn)):
            return
        self._newest = t
        current = math.nan
        if currents is not None:
            driving = currents * np.sign(rates)
            current = float(np.nansum(driving)) if np.isfinite(driving).any() else math.nan
        self.monitor.update(t, speed, turn, current=current, velocity=self._velocity, velocity_sigma=self._sigma)
        self._velocity, self._sigma = math.nan, 0.0

    def step(self, t_from: float, t_to: float, position: ArrayLike, covariance: ArrayLike) -> None:
        """A step of another odometry (3,) [m] is a velocity that the next wheel sample is compared with."""
        seconds = t_to - t_from
        if not 0.0 < seconds <= LONGEST or t_to < self._newest - LONGEST:
            return
        ahead, variance = float(np.asarray(position)[0]), float(np.asarray(covariance)[3, 3])
        if math.isfinite(ahead) and 0.0 <= variance < math.inf:
            self._velocity, self._sigma = ahead / seconds, math.sqrt(variance) / seconds

    def fix(self, t: float, position: ArrayLike, covariance: ArrayLike) -> None:
        """A GPS position [m] at time t [s]."""
        place, spread = np.asarray(position, dtype=np.float64)[:2], np.asarray(covariance, dtype=np.float64)
        sigma = math.sqrt(max(float(spread[0, 0]), float(spread[1, 1]), 0.0))
        if np.isfinite(place).all() and math.isfinite(sigma):
            self.monitor.fix(t, place, sigma)
