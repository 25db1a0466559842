"""A made-up drive of a Warthog written as a CSV file, and the manifest that reads it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

RADIUS, TRACK = 0.3, 1.08
COLUMNS = ("t", "wl", "wr", "roll", "pitch", "x", "y", "yaw")


def drive(seconds: float = 30.0, dt: float = 0.05) -> dict[str, np.ndarray]:
    """Columns of a drive without slip that turns left, right, and backs up."""
    t = np.arange(0.0, seconds, dt)
    speed = np.where(t < 0.8 * seconds, 1.0, -0.5)
    turn = 0.5 * np.sin(0.4 * t)
    yaw = np.append(0.0, np.cumsum(0.5 * (turn[1:] + turn[:-1]) * dt))
    vx, vy = speed * np.cos(yaw), speed * np.sin(yaw)
    return {
        "t": t,
        "wl": (speed - 0.5 * TRACK * turn) / RADIUS,
        "wr": (speed + 0.5 * TRACK * turn) / RADIUS,
        "roll": 0.05 * np.sin(0.3 * t),
        "pitch": 0.08 * np.cos(0.2 * t),
        "x": np.append(0.0, np.cumsum(0.5 * (vx[1:] + vx[:-1]) * dt)),
        "y": np.append(0.0, np.cumsum(0.5 * (vy[1:] + vy[:-1]) * dt)),
        "yaw": yaw,
    }


def rows(columns: dict[str, np.ndarray]) -> list[str]:
    """The lines of a CSV file, heading first."""
    body = [",".join(repr(float(v)) for v in row) for row in zip(*columns.values(), strict=True)]
    return [",".join(columns), *body]


def write(path: Path, lines: list[str]) -> Path:
    """Lines as a file, the last one ended."""
    path.write_text("\n".join(lines) + "\n")
    return path


def manifest(**changes: Any) -> dict[str, Any]:
    """The tables of a manifest for `drive`; a table given here is merged in, None takes it out."""
    tables: dict[str, Any] = {
        "vehicle": "warthog",
        "time": {"column": "t"},
        "rates": {"FL": "wl", "BL": "wl", "FR": "wr", "BR": "wr"},
        "attitude": {"roll": "roll", "pitch": "pitch"},
        "pose": {"x": "x", "y": "y", "yaw": "yaw"},
    }
    for name, value in changes.items():
        if value is None:
            tables.pop(name, None)
        elif isinstance(value, dict) and isinstance(tables.get(name), dict):
            tables[name] = {**tables[name], **value}
        else:
            tables[name] = value
    return tables
