"""A planted drive over hills with slip, IMU and noise, in plain NumPy: nothing of Grouser makes it."""

from __future__ import annotations

from typing import Any

import numpy as np

RADIUS, HALF_TRACK, GRAVITY = 0.3, 0.54, 9.81
DT, EVERY = 0.05, 2
"""Period of the rows [s], and rows from one pose to the next."""


def hills(
    seed: int, seconds: float = 120.0, *, speed: float = 2.0, turn: float = 1.2, reverse: float = 0.0,
    height: float = 0.2, turn_slip: float = -0.45, slide: float = 0.03,
) -> dict[str, np.ndarray]:  # fmt: skip
    """Columns of a skid-steer's log: v forward, ω left; it slides downhill by `slide`·g·sin(slope) of its way."""
    rng = np.random.default_rng(seed)
    n = round(seconds / DT)
    t = np.arange(n) * DT
    legs = np.repeat(np.arange(n // 60 + 1), 60)[:n]
    v = (
        rng.uniform(0.3, 1.0, legs.max() + 1)[legs]
        * speed
        * np.where(rng.random(legs.max() + 1) < reverse, -1, 1)[legs]
    )
    w = rng.uniform(-turn, turn, legs.max() + 1)[legs]
    ramp = np.ones(15) / 15
    v, w = np.convolve(v, ramp, "same"), np.convolve(w, ramp, "same")
    pose, x, y, yaw = np.zeros((n, 6)), 0.0, 0.0, 0.0
    turned = np.zeros(n)
    noise = rng.normal(size=(n, 3)) * np.sqrt(np.array([2e-3, 1e-3, 5e-4]) / DT)
    for k in range(n):
        c, s = np.cos(yaw), np.sin(yaw)
        east, north = height * np.cos(x / 11 + 1), height * np.cos(y / 13 + 2)
        pitch = -np.arctan(east * c + north * s)
        roll = np.arctan((-east * s + north * c) * np.cos(pitch))
        pose[k] = x, y, height * (11 * np.sin(x / 11 + 1) + 13 * np.sin(y / 13 + 2)), roll, pitch, yaw
        ahead = 0.95 * v[k] + slide * GRAVITY * np.sin(pitch) * abs(v[k]) + noise[k, 0] * abs(v[k]) ** 0.5
        left = 0.06 * w[k] - slide * GRAVITY * np.sin(roll) * abs(v[k]) + noise[k, 1] * abs(v[k]) ** 0.5
        turned[k] = (1 + turn_slip) * w[k] + noise[k, 2] * abs(v[k]) ** 0.5
        x += (c * np.cos(pitch) * ahead + (c * np.sin(pitch) * np.sin(roll) - s * np.cos(roll)) * left) * DT
        y += (s * np.cos(pitch) * ahead + (s * np.sin(pitch) * np.sin(roll) + c * np.cos(roll)) * left) * DT
        yaw += np.cos(roll) / np.cos(pitch) * turned[k] * DT
    roll, pitch = pose[:, 3], pose[:, 4]
    rates = np.gradient(pose[:, 3:], DT, axis=0).T
    gyro = (
        rates[0] - np.sin(pitch) * rates[2],
        np.cos(roll) * rates[1] + np.sin(roll) * np.cos(pitch) * rates[2],
        np.cos(roll) * np.cos(pitch) * rates[2] - np.sin(roll) * rates[1],
    )
    force = (
        np.gradient(v, DT) - GRAVITY * np.sin(pitch),
        v * turned + GRAVITY * np.cos(pitch) * np.sin(roll),
        GRAVITY * np.cos(pitch) * np.cos(roll),
    )
    count = np.arange(n) // EVERY
    seen = pose[count * EVERY] + (rng.normal(size=(n, 6)) * [0.01, 0.01, 0.01, 0.003, 0.003, 0.004])[count * EVERY]
    names = {"x": 0, "y": 1, "z": 2, "yaw": 5}
    return {
        "t": t, "wl": (v - HALF_TRACK * w) / RADIUS, "wr": (v + HALF_TRACK * w) / RADIUS,
        "roll": roll + 0.003 * rng.normal(size=n), "pitch": pitch + 0.003 * rng.normal(size=n),
        **{name: seen[:, k] for name, k in names.items()},
        **{f"g{a}": one + 0.01 * rng.normal(size=n) for a, one in zip("xyz", gyro, strict=True)},
        **{f"a{a}": one + 0.3 * rng.normal(size=n) for a, one in zip("xyz", force, strict=True)},
        "k": count.astype(np.float64),
    }  # fmt: skip


def bare(**changes: Any) -> dict[str, Any]:
    """The tables of a manifest with wheels, attitude and planar poses."""
    tables: dict[str, Any] = {
        "vehicle": "warthog",
        "time": {"column": "t"},
        "rates": {"FL": "wl", "BL": "wl", "FR": "wr", "BR": "wr"},
        "attitude": {"roll": "roll", "pitch": "pitch"},
        "pose": {"x": "x", "y": "y", "yaw": "yaw", "fresh": "k"},
        "sensor": {"yaw_noise": 0.004},
    }
    return {**tables, **changes}


def full(**changes: Any) -> dict[str, Any]:
    """The same with heights, gyro and accelerometer."""
    imu = {"gyro": {a: f"g{a}" for a in "xyz"}, "acceleration": {a: f"a{a}" for a in "xyz"}}
    return {**bare(**imu), "pose": {"x": "x", "y": "y", "z": "z", "yaw": "yaw", "fresh": "k"}, **changes}
