"""A made-up skid-steered drive as a CSV file with its manifest: turns only 0.6 of what its wheels say."""

from __future__ import annotations

from pathlib import Path

import numpy as np

RADIUS, TRACK, YAW_GAIN, SPEED_GAIN = 0.3, 1.08, 0.6, 0.95
MANIFEST = """schema = "grouser/log@1"
vehicle = "warthog"
[time]
column = "t"
[rates]
FL = "wl"
BL = "wl"
FR = "wr"
BR = "wr"
[attitude]
roll = "roll"
pitch = "pitch"
[pose]
x = "x"
y = "y"
yaw = "yaw"
[sensor]
position_noise = 0.01
yaw_noise = 0.003
"""


def lines(seconds: float = 60.0, seed: int = 1, dt: float = 0.05) -> list[str]:
    """Heading and rows: 20 Hz samples, a fresh pose in every second one, held in between."""
    random = np.random.default_rng(seed)
    t = np.arange(0.0, seconds, dt)
    speed = 0.9 + 0.4 * np.sin(0.5 * t + seed)
    turn = 0.8 * np.sin(0.3 * t) + 0.4 * np.sin(0.9 * t)
    true_turn = YAW_GAIN * turn
    yaw = np.append(0.0, np.cumsum(0.5 * (true_turn[1:] + true_turn[:-1]) * dt))
    v = SPEED_GAIN * speed
    vx, vy = v * np.cos(yaw), v * np.sin(yaw)
    columns = {
        "t": t,
        "wl": (speed - 0.5 * TRACK * turn) / RADIUS,
        "wr": (speed + 0.5 * TRACK * turn) / RADIUS,
        "roll": 0.05 * np.sin(0.2 * t),
        "pitch": 0.08 * np.cos(0.13 * t),
    }
    held = np.arange(len(t)) // 2 * 2
    for name, rate in (("x", vx), ("y", vy)):
        place = np.append(0.0, np.cumsum(0.5 * (rate[1:] + rate[:-1]) * dt))
        columns[name] = (place + 0.01 * random.standard_normal(len(t)))[held]
    columns["yaw"] = (yaw + 0.003 * random.standard_normal(len(t)))[held]
    rows = [",".join(repr(float(cell)) for cell in row) for row in zip(*columns.values(), strict=True)]
    return [",".join(columns), *rows]


def write(folder: Path, name: str = "drive.csv", **options: float) -> tuple[str, str]:
    """The paths of a log and of its manifest, both in a folder."""
    log, manifest = folder / name, folder / "log.toml"
    log.write_text("\n".join(lines(**options)) + "\n")  # type: ignore[arg-type]
    manifest.write_text(MANIFEST)
    return str(log), str(manifest)
