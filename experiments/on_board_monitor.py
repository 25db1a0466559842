"""The monitor on simulated drives: digs found, latency, false alarms per hour, by sensors. Truth: `on_board_rover.py`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.on_board_rover import Truth, simulate
from grouser._kernels.robot.monitor_memory import FIX, IMU, SAMPLE, WHEELS
from grouser.robot.monitor import Monitor
from grouser.robot.monitor_settings import MonitorSettings

SETS = {"IMU and current": (), "and visual": ("visual",), "and GPS": ("gps",)}
TUNED = range(1000, 1030)
"""Seeds on which settings were chosen; the experiment uses others."""
WITHIN = 1.5  # s
GRACE = 2.0  # s after a dig in which an alarm belongs to it


def events_of(truth: Truth, sensors: tuple[str, ...] = ()) -> Any:
    """The samples of a drive in order of time, as the monitor takes them."""
    imu = np.zeros(len(truth.time), SAMPLE)
    imu["kind"], imu["time"], imu["gyro"], imu["acceleration"] = IMU, truth.time, truth.gyro, truth.acceleration
    wheels = np.zeros(len(truth.wheel_time), SAMPLE)
    wheels["kind"], wheels["time"], wheels["speed"], wheels["turn"] = WHEELS, truth.wheel_time, truth.speed, truth.turn
    wheels["current"], wheels["slip"], wheels["velocity"] = truth.current, np.nan, np.nan
    parts = [imu, wheels]
    if "visual" in sensors:
        wheels["velocity"], wheels["velocity_sigma"] = truth.visual, truth.visual_sigma
    if "gps" in sensors:
        fixes = np.zeros(len(truth.fix_time), SAMPLE)
        fixes["kind"], fixes["time"], fixes["position"] = FIX, truth.fix_time, truth.fix
        fixes["position_sigma"] = truth.fix_sigma
        parts.insert(0, fixes)
    both = np.concatenate(parts)
    return both[np.argsort(both["time"], kind="stable")]


@dataclass(frozen=True)
class Outcome:
    """Alarms of one drive."""

    latency: list[float]
    """Of each dig [s]; infinite where it was not found."""
    false: dict[str, int]
    """False alarms by kind."""
    hours: float
    changes: int
    """Changes of ground, and …"""
    noticed: int
    """… how many of them were found within 5 s."""


def judge(truth: Truth, sensors: tuple[str, ...], settings: MonitorSettings | None = None) -> Outcome:
    """Run the monitor on a drive and compare its alarms with the truth."""
    monitor = Monitor(settings)
    events = events_of(truth, sensors)
    alarms = []
    seen = 0
    for part in np.array_split(events, max(1, len(events) // 20000)):
        monitor.feed(part)
        count = int(monitor._memory.state.alarms)
        alarms += monitor.alarms[-(count - seen) :] if count > seen else []
        seen = count
    latency = []
    used: set[int] = set()
    for begin, stop in truth.digs:
        hits = [k for k, a in enumerate(alarms) if a.kind == "stuck" and begin - 2.5 < a.time < stop + GRACE]
        used |= set(hits)
        latency.append(min((alarms[k].time - begin for k in hits), default=np.inf))
    false = {"stuck": 0, "sliding": 0, "ground_changed": 0}
    starts = [t for t, _ in truth.grounds[1:]]
    near = [min((a.time - t for t in starts if a.time >= t), default=np.inf) for a in alarms]
    for k, a in enumerate(alarms):
        in_dig = any(begin - 3.0 < a.time < stop + 20.0 for begin, stop in truth.digs)
        belongs = k in used if a.kind == "stuck" else in_dig or (a.kind == "ground_changed" and near[k] < 10.0)
        false[a.kind] += not belongs
    noticed = sum(any(0.0 <= a.time - t < 5.0 for a in alarms if a.kind == "ground_changed") for t in starts)
    return Outcome(latency, false, truth.time[-1] / 3600.0, len(starts), noticed)


def detection(seeds: range, sensors: tuple[str, ...], digs: int = 2) -> list[Outcome]:
    """Digs of several robots, each after some minutes of driving."""
    return [judge(simulate(seed, duration=120.0 + 25.0 * digs, digs=digs), sensors) for seed in seeds]


def normal(seeds: range, sensors: tuple[str, ...], minutes: float = 20.0) -> list[Outcome]:
    """Normal driving of several robots over changing grounds."""
    return [judge(simulate(seed, duration=60.0 * minutes), sensors) for seed in seeds]
