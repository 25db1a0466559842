"""Units of a log's numbers, and the factor to SI of each."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from grouser.errors import LogError

if TYPE_CHECKING:
    from grouser.logs.manifest import Manifest, Signal

__all__ = ["TIME", "check", "factor"]

TIME = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
DEGREE = math.pi / 180.0
TURN = 2.0 * math.pi
LENGTH = {"m": 1.0, "cm": 1e-2, "mm": 1e-3, "km": 1e3}
ANGLE = {"rad": 1.0, "mrad": 1e-3, "deg": DEGREE, "rev": TURN}
SPEED = {"m/s": 1.0, "cm/s": 1e-2, "mm/s": 1e-3, "km/h": 1.0 / 3.6}
TURNING = {"rad/s": 1.0, "mrad/s": 1e-3, "deg/s": DEGREE, "rev/s": TURN, "rpm": TURN / 60.0}
FORCE = {"m/s^2": 1.0, "m/s²": 1.0, "mm/s^2": 1e-3, "g": 9.80665}
NONE = {"1": 1.0}


def factor(key: str, signal: Signal) -> float:
    """What a number of the signal is multiplied by: sign · scale · unit in SI."""
    known = _units(key, signal)
    if signal.unit is None:
        return signal.sign * signal.scale
    return signal.sign * signal.scale * known[signal.unit]


def check(manifest: Manifest) -> None:
    """Refuses a unit that a signal cannot have, or a kind where there is none."""
    for key, signal in {**manifest.signals(), **manifest.pose_signals()}.items():
        table, name = key.split(".", 1)
        where = f"{manifest.file}, table [{table}], {name}"
        known = _units(key, signal)
        if signal.unit is not None and signal.unit not in known:
            raise LogError(f"{where}, field unit: {signal.unit!r:.40} is not one of {', '.join(known)}")
        if signal.kind is not None and table not in ("rates", "commands"):
            raise LogError(f"{where}, field kind: only a rate or a command has a kind")
        if signal.scale == 0.0:
            raise LogError(f"{where}, field scale: must not be zero")
    if (manifest.segments.column is not None) and manifest.segments.column.lag:
        raise LogError(f"{manifest.file}, table [segments], column, field lag: a segment's number has no lag")


def _units(key: str, signal: Signal) -> dict[str, float]:
    table = key.split(".", 1)[0]
    if table in ("rates", "commands"):
        return {**TURNING, **SPEED} if signal.kind in (None, "rate") else {**ANGLE, **LENGTH}
    if table == "angles":
        return {**ANGLE, **LENGTH}
    if key == "body_command.speed":
        return SPEED
    if table == "gyro" or key == "body_command.turn":
        return TURNING
    if table == "acceleration":
        return FORCE
    if key in ("pose.x", "pose.y", "pose.z"):
        return LENGTH
    if table == "attitude" or key in ("pose.roll", "pose.pitch", "pose.yaw"):
        return ANGLE
    return NONE
