"""Drives of a skid-steered vehicle on level ground whose slip changes on the way: arrays alone, nothing of the library.

Speed and turn rate of the body are v (1 + a₁) and a₉ v + (1 + a₁₀) ω for v and ω of the wheels, with white noise.
"""

from __future__ import annotations

import numpy as np

from grouser.logs.log import Log, Poses, Sensor
from grouser.logs.report import Report

RADIUS, HALF_TRACK, DT = 0.3, 0.54, 0.05
SENSOR = Sensor(position_noise=0.01, yaw_noise=0.003, attitude_noise=0.0)
NOISE = (2e-4, 2e-4, 5e-5)
"""Densities of forward, sideways and turn noise [m², m², rad² per m of the wheels]."""
FIRST, SECOND = (-0.05, 0.01, -0.45), (-0.12, -0.02, -0.60)
"""a₁, a₉, a₁₀ of two grounds."""


def drive(seconds: float, slip: tuple[float, ...], then: tuple[float, ...] | None = None, *, seed: int) -> Log:
    """The log of a drive with one slip, or another from half-way on; a pose with every second sample."""
    random = np.random.default_rng(seed)
    t = np.linspace(0.0, seconds, round(seconds / DT) + 1)
    phase = random.uniform(0.0, 2.0 * np.pi, 3)
    v = 1.5 + 0.5 * np.sin(0.21 * t + phase[0])
    w = 0.8 * np.sin(0.33 * t + phase[1]) + 0.5 * np.sin(0.9 * t + phase[2])
    later = (t[1:] > 0.5 * seconds)[:, None] & (then is not None)
    a1, a9, a10 = np.where(later, slip if then is None else then, slip).T
    vm, wm = 0.5 * (v[1:] + v[:-1]), 0.5 * (w[1:] + w[:-1])
    walk = random.standard_normal((3, len(vm))) * np.sqrt(np.outer(NOISE, vm * DT))
    ahead, left = vm * (1.0 + a1) * DT + walk[0], walk[1]
    turned = (a9 * vm + (1.0 + a10) * wm) * DT + walk[2]
    yaw = np.append(0.0, np.cumsum(turned))
    middle = yaw[:-1] + 0.5 * turned
    steps = np.stack(
        [np.cos(middle) * ahead - np.sin(middle) * left, np.sin(middle) * ahead + np.cos(middle) * left], 1
    )
    place = np.concatenate([np.zeros((1, 2)), np.cumsum(steps, axis=0)])
    seen = np.arange(0, len(t), 2)
    n = len(seen)
    position, attitude = np.zeros((n, 3)), np.zeros((n, 3))
    position[:, :2] = place[seen] + SENSOR.position_noise * random.standard_normal((n, 2))
    attitude[:, 2] = yaw[seen] + SENSOR.yaw_noise * random.standard_normal(n)
    sides = (v - HALF_TRACK * w) / RADIUS, (v + HALF_TRACK * w) / RADIUS
    return Log(
        name=f"made-up drive {seed}", vehicle="warthog", time=t, segment=np.zeros(len(t), np.int64),
        rates={"FL": sides[0], "BL": sides[0], "FR": sides[1], "BR": sides[1]}, angles={},
        attitude=np.zeros((len(t), 2)), commands={}, sensor=SENSOR,
        poses=Poses(time=t[seen], position=position, attitude=attitude, segment=np.zeros(n, np.int64)),
        report=Report(samples=len(t), poses=n, segments=1, period=DT, pose_period=2.0 * DT),
    )  # fmt: skip
