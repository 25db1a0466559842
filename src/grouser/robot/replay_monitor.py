"""The monitor along a recorded drive: its signals in the order of their stamps."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from grouser.logs.events import Event
from grouser.robot.monitor import Alarm, Monitor

IMU, FIX, WHEELS = range(3)  # of one stamp in this order: the monitor takes wheels after the IMU of their time


class RecordedMonitor:
    """Collects what the monitor takes, and runs it in the end, when late signals are in their place."""

    def __init__(self) -> None:
        self._signals: list[tuple[float, int, tuple[Any, ...]]] = []
        self._newest = -math.inf

    def see(self, event: Event, zero: float, estimate: Any = None) -> None:
        """An event of a drive; of joints with the estimate after it. zero: stamp at the log's start [s]."""
        t, values = event.t - zero, event.values
        if event.kind == "imu":
            self._signals.append((t, IMU, values))
        elif event.kind == "gps":
            self._signals.append((t, FIX, (values[0][:2], math.sqrt(float(np.max(np.diag(values[1])[:2]))))))
        elif event.kind == "joints" and estimate is not None and estimate.wheels is not None and t > self._newest:
            self._newest = t
            twist, current = estimate.wheels.odometry_twist, math.nan
            if len(values) > 2 and np.isfinite(values[2]).any():
                current = float(np.nansum(values[2] * np.sign(values[0])))
            self._signals.append((t, WHEELS, (float(twist[3]), float(twist[2]), current)))

    def alarms(self) -> list[Alarm]:
        """All alarms of the drive, times from the log's start [s]."""
        monitor = Monitor()
        found: dict[tuple[str, float], Alarm] = {}
        for t, kind, values in sorted(self._signals, key=lambda one: one[:2]):
            if kind == IMU:
                monitor.imu(t, *values)
            elif kind == FIX:
                monitor.fix(t, *values)
            elif monitor.update(t, *values[:2], current=values[2]):
                found |= {(one.kind, one.time): one for one in monitor.alarms}
        found |= {(one.kind, one.time): one for one in monitor.alarms}
        return sorted(found.values(), key=lambda one: one.time)
