"""The monitor on drives of `on_board_rover.py`: digs found, latency, false alarms per hour, by sensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.experiment import Progress, Row
from experiments.on_board_rover import Truth, simulate
from grouser._kernels.robot.monitor_memory import FIX, IMU, SAMPLE, WHEELS
from grouser.checks import FloatArray
from grouser.robot.monitor import Monitor
from grouser.robot.monitor_settings import MonitorSettings

SETS: dict[str, tuple[str, ...]] = {
    "IMU, current": (),
    "IMU, current, visual": ("visual",),
    "IMU, current, GPS": ("gps",),
    "IMU, current, visual, GPS": ("visual", "gps"),
}
DIGS, DRIVES = range(4000, 4050), range(9000, 9030)
"""Seeds of the robots. Settings were chosen on digs 1000 to 1049 and drives 6000 to 6023 and 7002, not used here."""
WITHIN = 1.5  # s
LATEST = 30.0  # s after a change of ground in which an alarm belongs to it: the robot may stand or turn meanwhile
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
    """… how many of them were found within 5 s, and …"""
    noticed_driving: int
    """… within 5 s in which the wheels turn."""
    late: int
    """False alarms of changed ground that are the first since a change, but later than `LATEST`."""


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
    open_changes = list(starts)  # each explains one alarm
    unreported, late = list(starts), 0
    for k, a in enumerate(alarms):
        in_dig = any(begin - 3.0 < a.time < stop + 20.0 for begin, stop in truth.digs)
        belongs = k in used if a.kind == "stuck" else in_dig
        if a.kind == "ground_changed":
            explains = [t for t in open_changes if 0.0 <= a.time - t < LATEST]
            open_changes = [t for t in open_changes if t not in explains]
            belongs = belongs or bool(explains)
            first = [t for t in unreported if t <= a.time]
            unreported = [t for t in unreported if t > a.time]
            late += bool(first) and not belongs
        false[a.kind] += not belongs
    changed = np.array([a.time for a in alarms if a.kind == "ground_changed"])
    noticed = sum(bool(np.any((changed >= t) & (changed < t + 5.0))) for t in starts)
    driven = np.cumsum(np.gradient(truth.time) * (np.abs(truth.wheels) > 0.05))
    way, ways = np.interp(starts, truth.time, driven), np.interp(changed, truth.time, driven)
    next_change = [*starts[1:], np.inf]
    noticed_driving = sum(
        bool(np.any((changed >= t) & (changed < stop) & (ways < s + 5.0)))
        for t, stop, s in zip(starts, next_change, way, strict=False)
    )
    return Outcome(latency, false, float(truth.time[-1]) / 3600.0, len(starts), noticed, noticed_driving, late)


def measure(quick: bool, progress: Progress) -> tuple[list[Row], dict[str, list[float]]]:
    """A row for each set of sensors, and the latencies: 100 digs of 50 robots, 10 h of normal driving of 30."""
    digging = [(seed, 170.0, 2) for seed in (DIGS[:6] if quick else DIGS)]
    driving = [(seed, 1200.0, 0) for seed in (DRIVES[:3] if quick else DRIVES)]
    outcomes: dict[str, list[Outcome]] = {name: [] for name in SETS}
    normal: dict[str, list[Outcome]] = {name: [] for name in SETS}
    jobs = digging + driving
    for k, (seed, duration, digs) in enumerate(jobs):
        truth = simulate(seed, duration=duration, digs=digs)
        for name, sensors in SETS.items():
            (outcomes if digs else normal)[name].append(judge(truth, sensors))
        progress(k + 1, len(jobs))
    latencies = {name: [late for one in found for late in one.latency] for name, found in outcomes.items()}
    return [_row(name, np.array(latencies[name]), normal[name]) for name in SETS], latencies


def _row(name: str, latency: FloatArray, normal: list[Outcome]) -> Row:
    hours = sum(one.hours for one in normal)
    changes = sum(one.changes for one in normal)
    finite = np.sort(latency)

    def at(share: float) -> float | None:
        value = float(finite[min(int(np.ceil(share * len(finite))) - 1, len(finite) - 1)])
        return value if np.isfinite(value) else None

    per_hour = {f"false_{kind}_per_h": sum(one.false[kind] for one in normal) / hours for kind in normal[0].false}
    return {
        "name": f"monitor: {name}", "digs": len(latency), "found": float(np.mean(np.isfinite(latency))),
        "within": float(np.mean(latency <= WITHIN)), "latency_median": at(0.5), "latency_95": at(0.95),
        "hours": hours, **per_hour, "late_ground_changed_per_h": sum(one.late for one in normal) / hours,
        "ground_found": sum(one.noticed for one in normal) / max(changes, 1),
        "ground_found_driving": sum(one.noticed_driving for one in normal) / max(changes, 1),
    }  # fmt: skip
