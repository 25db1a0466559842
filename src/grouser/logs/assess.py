"""Duration, speeds, turns and slopes of a log, and the parameters that can be calibrated from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from grouser.logs.delay import pose_lag
from grouser.logs.log import Log
from grouser.logs.report import errors
from grouser.logs.windows import chords

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
    """A log in numbers; None where it has none."""

    duration: float
    """Seconds from first to last sample, gaps included."""
    sample_rate: float | None = None
    """[1/s]"""
    pose_rate: float | None = None
    """[1/s]"""
    moving: float | None = None
    """Seconds in which the poses move."""
    distance: float | None = None
    """Length of the path [m]."""
    top_speed: float | None = None
    """[m/s]"""
    reverse: float | None = None
    """Fraction of the distance driven backward."""
    top_turn_rate: float | None = None
    """[rad/s]"""
    turned_left: float | None = None
    """[deg]"""
    turned_right: float | None = None
    """[deg]"""
    roll: tuple[float, float] | None = None
    """5th and 95th percentile [deg]."""
    pitch: tuple[float, float] | None = None
    """5th and 95th percentile [deg]."""
    lag: float | None = None
    """Estimated delay of the pose stamps against the wheels [s]; manifest `sensor.lag` is what is used."""
    can_calibrate: bool
    """Whether a first fit has what it needs, and nothing refuses the log."""
    cannot_determine: tuple[str, ...]
    """One sentence for each thing that cannot be determined from this log."""


def assess(log: Log) -> Assessment:
    """Measure a log."""
    missing: list[str] = []
    values: dict[str, Any] = {}
    driven = chords(log, WINDOW)
    if len(log.poses) < 3 or log.report.pose_period <= 0.0 or not len(driven.start):
        missing.append("anything: there are too few poses to compare a prediction with")
    else:
        step = driven.took
        speed, turn = driven.length / step, driven.turn / step
        top = float(np.percentile(speed, 99.5))
        moves = (speed > max(MOVING * top, 0.01)) | (np.abs(turn) > 0.05)
        distance = float(np.sum(driven.length[moves]))
        backward = float(np.sum(driven.length[moves & (driven.forward < 0.0)]))
        values = {
            "moving": float(np.sum(step[moves])),
            "distance": distance,
            "top_speed": top,
            "reverse": backward / distance if distance > 0.0 else 0.0,
            "top_turn_rate": float(np.percentile(np.abs(turn), 99.5)),
            "turned_left": float(np.degrees(np.sum(driven.turn[moves & (turn > 0.0)]))),
            "turned_right": float(np.degrees(-np.sum(driven.turn[moves & (turn < 0.0)]))),
        }
        if (moving := values["moving"]) < LEAST_MOVING:
            missing.append(f"much: the vehicle moves for {moving:.1f} s, a first fit needs {LEAST_MOVING:g} s")
        for side in ("left", "right"):
            if (turned := values[f"turned_{side}"]) < LEAST_TURN:
                missing.append(f"slip in {side} turns: it turns {side} by {turned:.0f}° in all")
        if values["reverse"] < 0.02:
            missing.append("slip in reverse: it does not drive backward")
    if log.attitude is None:
        missing.append("slip on slopes: roll and pitch are not measured, level ground is assumed")
    else:
        spans = np.degrees(np.percentile(log.attitude, [5.0, 95.0], axis=0)).T.tolist()
        for name, span in zip(("roll", "pitch"), spans, strict=True):
            values[name] = tuple(span)
            if (most := max(map(abs, span))) < LEAST_SLOPE:
                missing.append(f"slip by {name}: it stays within {most:.1f}°")
    if not log.rates:
        missing.append("wheel slip: no rates are measured")
    enough = values.get("moving", 0.0) >= LEAST_MOVING and bool(log.rates)
    return Assessment(
        duration=log.duration,
        sample_rate=1.0 / log.report.period if log.report.period > 0.0 else None,
        pose_rate=1.0 / log.report.pose_period if log.report.pose_period > 0.0 else None,
        lag=pose_lag(log),
        can_calibrate=enough and not errors(log.report.problems),
        cannot_determine=tuple(missing),
        **values,
    )
