"""A recorded drive through the chain on board: events in the order they came, the estimate after each joint sample."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from grouser._kernels.odometry.state import ESTIMATE
from grouser.checks import FloatArray
from grouser.errors import RobotError
from grouser.logs.events import Event
from grouser.logs.log import Log
from grouser.motion.model import MotionModel
from grouser.motion.spread import SAME_GROUND
from grouser.odometry.gyro import at_rest
from grouser.odometry.log import LogOdometry
from grouser.odometry.log_source import Source
from grouser.odometry.systematic import knowledge_of
from grouser.robot.robot import Robot, give
from grouser.rotation import from_quaternion, from_rpy, to_quaternion, to_rpy

COPIED = ("time", "position", "quaternion", "twist", "twist_covariance", "pose_covariance")
"""Fields that an estimate of the chain shares with one of the wheels."""
NAMED = ("excluded", "degraded")
"""Fields of an estimate that hold names: of wheels, of sources."""
SOURCES = {"poses": {"pose", "relative_pose"}, "gps": {"gps"}, "heading": {"heading"}, "imu": {"imu"}}
"""Events of each source; one that a log does not have does not fail."""
SEEN = 1000
"""Events from one report of progress to the next."""


@dataclass(frozen=True)
class Span:
    """A time in which an estimate named something."""

    what: str
    """excluded (a wheel), degraded (a source) or alarms (of the monitor)."""
    name: str
    """A wheel, a source, an alarm."""
    start: float
    """[s] from the log's start."""
    end: float
    """[s] from the log's start."""


@dataclass(frozen=True, eq=False)
class Replayed:
    """Estimates of the chain along a log."""

    run: LogOdometry
    """The estimate at the samples of the log, as it was when they came; its covariance is all of it."""
    spans: tuple[Span, ...]
    """Excluded wheels, failing sources and alarms, in order of their start."""
    events: dict[str, int]
    """Number of events by kind."""
    aligned: float | None
    """When the IMU was aligned [s], so that the estimate is the filter's; None: never, it is that of the wheels."""


def replay(
    robot: Robot, events: Iterable[Event], log: Log, motion: MotionModel, *, zero: float = 0.0,
    progress: Callable[[int], None] | None = None,
) -> Replayed:  # fmt: skip
    """Give all events to a robot and keep its estimate after each joint sample.

    log: of the same drive, whose samples the estimates belong to. zero: stamp of the events at which its elapsed time
    is zero [s]. progress: is called with the number of events done.
    """
    kept: list[tuple[float, Any]] = []
    counts: dict[str, int] = {}
    named: list[tuple[float, set[tuple[str, str]]]] = []
    aligned: float | None = None
    for number, event in enumerate(events):
        give(robot, event)
        counts[event.kind] = counts.get(event.kind, 0) + 1
        if event.kind == "joints":
            estimate = robot.estimate
            if estimate is not None:
                t = estimate.time - zero
                kept.append((t, _row(estimate)))
                named.append((t, {(what, str(name)) for what in NAMED for name in getattr(estimate, what)}))
                if aligned is None and estimate.fused is not None:
                    aligned = t
        if progress is not None and number % SEEN == 0:
            progress(number)
    if not kept:
        raise RobotError(f"{log.name}: the chain made no estimate of it; it needs rates of the wheels")
    rows = np.concatenate([row for _, row in kept])
    times = np.array([t for t, _ in kept])
    rest = at_rest(log, motion.vehicle)
    drive = np.zeros(len(log), dtype=np.int64)
    states = _at(log.elapsed, times, rows)
    run = LogOdometry(
        drive=drive, rest=rest, degraded=states["faults"] != 0, faults=robot.faults, gyro=None,
        knowledge=knowledge_of(None, None, SAME_GROUND), states=states,
        source=Source(log, motion, {}, drive, rest, None), motion=motion,
    )  # fmt: skip
    last = float(log.elapsed[-1])
    alarms = [
        Span("alarms", one.kind, one.time - zero, last if one.ended != one.ended else min(one.ended - zero, last))
        for one in robot.monitor.alarms
    ]
    absent = {name for name, kinds in SOURCES.items() if not kinds & set(counts)}
    spans = [span for span in _spans(named) if span.what != "degraded" or span.name not in absent]
    found = sorted([*spans, *alarms], key=lambda span: (span.start, span.what, span.name))
    return Replayed(run, tuple(found), counts, aligned)


def _row(estimate: Any) -> np.ndarray:
    """A record `ESTIMATE`; yaw within ±π."""
    wheels = estimate.wheels
    row = np.zeros(1, ESTIMATE) if wheels is None else wheels._words.copy().view(ESTIMATE)
    *attitude, yaw = to_rpy(from_quaternion(estimate.quaternion))
    values = {name: getattr(estimate, name) for name in COPIED}
    values |= {"yaw": yaw, "attitude": attitude, "observed": 1.0, "faults": bool(estimate.degraded)}
    for name, value in values.items():
        row[name][0] = value
    return row


def _at(t: FloatArray, times: FloatArray, rows: np.ndarray) -> np.ndarray:
    """Estimates at other times: values linear between two, covariances those of the nearest."""
    order = np.argsort(times, kind="stable")
    last = np.append(np.diff(times[order]) > 0.0, True)  # of estimates of one time the newest
    rows, times = rows[order[last]], times[order[last]]
    rows["yaw"] = np.unwrap(rows["yaw"])
    before = np.clip(np.searchsorted(times, t, side="right") - 1, 0, len(times) - 1)
    after = np.minimum(before + 1, len(times) - 1)
    result = rows[np.where(np.abs(times[after] - t) < np.abs(t - times[before]), after, before)].copy()
    result["time"] = t
    for name in ("position", "attitude", "twist", "odometry_twist"):
        result[name] = np.stack([np.interp(t, times, column) for column in rows[name].T], axis=1)
    result["yaw"] = np.interp(t, times, rows["yaw"])
    roll, pitch = result["attitude"].T
    result["quaternion"] = to_quaternion(from_rpy(roll, pitch, result["yaw"]))
    return result


def _spans(named: Iterable[tuple[float, set[tuple[str, str]]]]) -> list[Span]:
    """Times in which successive estimates, each of a time [s], named something."""
    begun: dict[tuple[str, str], list[float]] = {}
    done: list[Span] = []
    for t, names in [*named, (math.nan, set())]:
        done += [Span(*key, *begun.pop(key)) for key in list(begun) if key not in names]
        for key in names:
            begun.setdefault(key, [t, t])[1] = t
    return done
