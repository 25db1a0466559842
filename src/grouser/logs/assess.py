"""What a log holds, in numbers, and what can be calibrated from it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from grouser.checks import FloatArray
from grouser.logs.log import IntArray, Log

__all__ = ["Assessment", "assess"]

WINDOW = 0.5
"""Time over which a speed is measured [s]."""
MOVING = 0.02
"""Fraction of the fastest speed above which the vehicle moves."""
LEAST_MOVING = 20.0
"""Seconds of driving a first fit needs."""
LEAST_TURN = 90.0
"""Degrees of turning, each way."""
LEAST_SLOPE = 2.0
"""Degrees of roll or pitch."""


@dataclass(frozen=True, kw_only=True)
class Assessment:
    """A log in numbers; None where it does not say."""

    duration: float
    """Seconds from first to last sample, gaps included."""
    sample_rate: float | None
    """[1/s]"""
    pose_rate: float | None
    """[1/s]"""
    moving: float | None
    """Seconds in which the poses move."""
    distance: float | None
    """Length of the path [m]."""
    top_speed: float | None
    """[m/s]"""
    reverse: float | None
    """Fraction of the distance driven backward."""
    top_turn_rate: float | None
    """[rad/s]"""
    turned_left: float | None
    """[deg]"""
    turned_right: float | None
    """[deg]"""
    roll: tuple[float, float] | None
    """5th and 95th percentile [deg]."""
    pitch: tuple[float, float] | None
    """5th and 95th percentile [deg]."""
    lag: float | None
    """How late the poses seem to be against the wheels [s]; manifest `sensor.lag` is what is used."""
    can_calibrate: bool
    """Whether a first fit has what it needs."""
    cannot_determine: tuple[str, ...]
    """One sentence for each thing this log cannot tell."""

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers and text, as JSON takes them."""
        return {name: list(v) if isinstance(v, tuple) else v for name, v in asdict(self).items()}


def assess(log: Log) -> Assessment:
    """Measure a log."""
    motion = _motion(log)
    missing: list[str] = []
    values: dict[str, Any] = dict.fromkeys(
        ("moving", "distance", "top_speed", "reverse", "top_turn_rate", "turned_left", "turned_right")
    )
    if motion is None:
        missing.append("anything: there are too few poses to compare a prediction with")
    else:
        forward, turn, step = motion
        speed = np.abs(forward)
        top = float(np.percentile(speed, 99.5))
        moves = (speed > max(MOVING * top, 0.01)) | (np.abs(turn) > 0.05)
        distance = float(np.sum(speed[moves] * step[moves]))
        values = {
            "moving": float(np.sum(step[moves])),
            "distance": distance,
            "top_speed": top,
            "reverse": float(np.sum((speed * step)[moves & (forward < 0.0)])) / distance if distance > 0.0 else 0.0,
            "top_turn_rate": float(np.percentile(np.abs(turn), 99.5)),
            "turned_left": float(np.degrees(np.sum((turn * step)[moves & (turn > 0.0)]))),
            "turned_right": float(np.degrees(-np.sum((turn * step)[moves & (turn < 0.0)]))),
        }
        missing += _gaps_in_driving(values)
    roll, pitch = _slopes(log, missing)
    if not log.rates:
        missing.append("wheel slip: no rates are measured")
    enough = values["moving"] is not None and values["moving"] >= LEAST_MOVING and bool(log.rates)
    return Assessment(
        duration=log.duration,
        sample_rate=1.0 / log.report.period if log.report.period > 0.0 else None,
        pose_rate=1.0 / log.report.pose_period if log.report.pose_period > 0.0 else None,
        roll=roll,
        pitch=pitch,
        lag=_lag(log),
        can_calibrate=enough,
        cannot_determine=tuple(missing),
        **values,
    )


def _gaps_in_driving(values: dict[str, Any]) -> list[str]:
    missing = []
    if values["moving"] < LEAST_MOVING:
        missing.append(f"much: the vehicle moves for {values['moving']:.1f} s, a first fit needs {LEAST_MOVING:g} s")
    for side in ("left", "right"):
        if values[f"turned_{side}"] < LEAST_TURN:
            missing.append(f"slip in {side} turns: it turns {side} by {values[f'turned_{side}']:.0f}° in all")
    if values["reverse"] < 0.02:
        missing.append("slip in reverse: it does not drive backward")
    return missing


def _slopes(log: Log, missing: list[str]) -> tuple[tuple[float, float] | None, tuple[float, float] | None]:
    if log.attitude is None:
        missing.append("slip on slopes: roll and pitch are not measured, level ground is assumed")
        return None, None
    low, high = np.degrees(np.percentile(log.attitude, [5.0, 95.0], axis=0))
    for axis, name in enumerate(("roll", "pitch")):
        if max(abs(low[axis]), abs(high[axis])) < LEAST_SLOPE:
            missing.append(f"slip by {name}: it stays within {max(abs(low[axis]), abs(high[axis])):.1f}°")
    return (float(low[0]), float(high[0])), (float(low[1]), float(high[1]))


def _motion(log: Log) -> tuple[FloatArray, FloatArray, FloatArray] | None:
    """Forward speed [m/s], turn rate [rad/s] and time step [s] of displacements of about `WINDOW`."""
    poses = log.poses
    if len(poses) < 3 or log.report.pose_period <= 0.0:
        return None
    stride = max(1, round(WINDOW / log.report.pose_period))
    start = np.arange(0, len(poses) - stride, stride)
    stop = start + stride
    same = poses.segment[start] == poses.segment[stop]
    start, stop = start[same], stop[same]
    step = poses.time[stop] - poses.time[start]
    if step.size == 0:
        return None
    heading = 0.5 * (poses.attitude[start, 2] + poses.attitude[stop, 2]) - log.sensor.yaw
    moved = poses.position[stop] - poses.position[start]
    along = np.cos(heading) * moved[:, 0] + np.sin(heading) * moved[:, 1]
    length = np.linalg.norm(moved, axis=1)
    turn: FloatArray = (poses.attitude[stop, 2] - poses.attitude[start, 2]) / step
    return np.where(along < 0.0, -length, length) / step, turn, step


def _lag(log: Log) -> float | None:
    """The delay [s] at which the poses' speed and turn rate are best explained by the wheel rates.

    Both are averaged over the same window; a linear fit to all rates needs no vehicle.
    """
    tries = np.arange(-0.4, 0.8001, 0.05)
    if not log.rates or _motion(log) is None:
        return None
    half, margin = 0.25, 0.25 + 0.8
    clock, pose_clock = log.elapsed, log.pose_elapsed
    begin, end = _span(log.poses.segment, pose_clock, log.n_segments)
    begin_rows, end_rows = _span(log.segment, clock, log.n_segments)
    first, last = np.maximum(begin, begin_rows)[log.segment], np.minimum(end, end_rows)[log.segment]
    at = clock[(clock - margin >= first) & (clock + margin <= last)][:: max(1, len(clock) // 20000)]
    if len(at) < 50:
        # Short windows leave no room for long delays.
        margin, tries = half + 0.4, np.arange(-0.4, 0.4001, 0.05)
        at = clock[(clock - margin >= first) & (clock + margin <= last)]
        if len(at) < 50:
            return None
    steps = np.where(np.diff(log.segment) == 0, np.diff(log.time), 0.0)
    turned = [np.append(0.0, np.cumsum(0.5 * (c[1:] + c[:-1]) * steps)) for c in log.rates.values()]
    A = np.stack([np.interp(at + half, clock, c) - np.interp(at - half, clock, c) for c in turned], axis=1)
    if np.max(np.abs(A)) < 1e-6:
        return None
    U, size, _ = np.linalg.svd(A, full_matrices=False)
    Q = U[:, size > 1e-6 * size[0]]  # wheels of one side often share a column
    x, y, yaw = log.poses.position[:, 0], log.poses.position[:, 1], log.poses.attitude[:, 2]
    misfit = []
    for lag in tries:
        before, after = at + lag - half, at + lag + half
        heading = np.interp(at + lag, pose_clock, yaw)
        east = np.interp(after, pose_clock, x) - np.interp(before, pose_clock, x)
        north = np.interp(after, pose_clock, y) - np.interp(before, pose_clock, y)
        forward = np.cos(heading) * east + np.sin(heading) * north
        turn = np.interp(after, pose_clock, yaw) - np.interp(before, pose_clock, yaw)
        misfit.append(sum(_unexplained(Q, signal) for signal in (forward, turn)))
    k = int(np.argmin(misfit))
    if not 0 < k < len(tries) - 1 or misfit[k] > 0.9 * max(misfit):
        return None
    left, middle, right = misfit[k - 1 : k + 2]
    return float(tries[k] + 0.05 * 0.5 * (left - right) / (left - 2.0 * middle + right))


def _unexplained(Q: FloatArray, signal: FloatArray) -> float:
    """Fraction of a signal's power outside the columns of Q."""
    power = float(signal @ signal)
    if power < 1e-9:
        return 0.0
    seen = Q.T @ signal
    return 1.0 - float(seen @ seen) / power


def _span(segment: IntArray, clock: FloatArray, count: int) -> tuple[FloatArray, FloatArray]:
    """First and last time of each segment; an empty one has none."""
    begin, end = np.full(count, np.inf), np.full(count, -np.inf)
    np.minimum.at(begin, segment, clock)
    np.maximum.at(end, segment, clock)
    return begin, end
