"""What the monitor takes of the signals of the chain: in the order in which they come, late ones left out."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from grouser.checks import FloatArray
from grouser.robot.monitor import Monitor
from grouser.robot.monitor_settings import MonitorSettings

LONGEST = 1.0
"""Steps of another odometry that last longer are no velocity [s]."""


class Watch:
    """Gives a monitor the speeds by wheels and by other sensors, and the sum of currents."""

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
