"""A drive whose slip is known: a Warthog-like vehicle on analytic hills, with soils that change. Planted truth.

It shares no code with the package but the classes of a log: slip by P (13), written out, is added to the velocity of
the wheels, white noise to that, and small steps are summed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit

from grouser.checks import FloatArray
from grouser.logs import Log
from grouser.logs.log import Poses, Sensor
from grouser.logs.report import Report

FIRM = (-0.05, -0.03, -0.02, 0.06, 0.0, 0.08, -0.05, 0.04, 0.005, -0.45, 0.0, 0.004, 0.006)
LOOSE = (-0.15, -0.10, -0.03, 0.16, 0.0, 0.15, -0.12, 0.12, -0.01, -0.65, 0.0, 0.010, -0.010)
"""α₁…α₁₃ of P (13) of two soils: in SI units, turn slip is 45 and 65 %."""
NOISE = (0.004, 0.003, 0.002)
"""Spectral density of the noise of V_x, V_y [m²/s], V_θ [rad²/s]."""
RADIUS, HALF_TRACK = 0.3, 0.54  # m
STEP, SAMPLE, POSE = 0.01, 0.02, 0.1  # s
POSITION_NOISE, YAW_NOISE = 0.01, 0.003  # m, rad, of a pose


@dataclass(frozen=True, eq=False, kw_only=True)
class Planted:
    """A drive and its truth."""

    log: Log
    truth: FloatArray
    """x, y [m], yaw [rad] at the poses, without the noise of the sensor, (m, 3)."""


def drive(
    seconds: float,
    seed: int,
    *,
    soils: Sequence[tuple[float, Sequence[float]]] = ((0.0, FIRM),),
    noise: Sequence[float] = NOISE,
) -> Planted:
    """Drive with random speeds and turns. soils: from which time on [s], and α of each."""
    random = np.random.default_rng(seed)
    n = round(seconds / STEP)
    begins, speeds, turns, at = [], [], [], 0
    while at < n:
        begins.append(at)
        at += round(random.uniform(2.0, 6.0) / STEP)
        speeds.append(random.uniform(0.6, 3.0))
        turns.append(random.choice([0.0, 1.0, 1.0]) * random.uniform(-1.5, 1.5))
    v, w = _commands(n, np.array(begins), np.array(speeds), np.array(turns))
    soil = np.zeros(n, dtype=np.int64)
    for k, (since, _) in enumerate(soils):
        soil[round(since / STEP) :] = k
    shocks = random.normal(size=(n, 3)) * np.sqrt(np.array(noise) / STEP)
    path, attitude = _roll(v, w, shocks, soil, np.array([alpha for _, alpha in soils], dtype=np.float64))
    time: FloatArray = np.arange(n, dtype=np.float64) * STEP
    samples, poses = np.arange(0, n, round(SAMPLE / STEP)), np.arange(0, n, round(POSE / STEP))
    measured = path[poses] + random.normal(size=(len(poses), 3)) * (POSITION_NOISE, POSITION_NOISE, YAW_NOISE)
    left, right = ((v + side * HALF_TRACK * w)[samples] / RADIUS for side in (-1.0, 1.0))
    log = _log(seed, time[samples], left, right, attitude[samples], time[poses], measured)
    return Planted(log=log, truth=path[poses])


@njit(cache=True)
def _commands(n, begins, speeds, turns):  # type: ignore[no-untyped-def]
    """Speed and turn rate of the wheels: targets followed at 1.5 m/s² and 2 rad/s²."""
    v, w = np.empty(n), np.empty(n)
    speed, turn, j = 1.0, 0.0, 0
    for k in range(n):
        if j + 1 < len(begins) and k >= begins[j + 1]:
            j += 1
        speed += min(max(speeds[j] - speed, -1.5 * STEP), 1.5 * STEP)
        turn += min(max(turns[j] - turn, -2.0 * STEP), 2.0 * STEP)
        v[k], w[k] = speed, turn
    return v, w


@njit(cache=True)
def _roll(v, w, shocks, soil, alphas):  # type: ignore[no-untyped-def]
    """x, y, yaw and roll, pitch at every step; hills h(x, y) by their gradient."""
    n = len(v)
    path, attitude = np.zeros((n, 3)), np.zeros((n, 2))
    x = y = yaw = 0.0
    for k in range(n):
        rise_x = 0.28 * math.cos(x / 11.0 + 0.3) + 0.06 * math.cos(x / 3.0 + y / 5.0)
        rise_y = 0.28 * math.cos(y / 13.0 + 1.0) + 0.04 * math.cos(y / 4.0 - x / 6.0)
        c, s = math.cos(yaw), math.sin(yaw)
        pitch = -math.atan(rise_x * c + rise_y * s)
        roll = math.atan((rise_y * c - rise_x * s) * math.cos(pitch))
        path[k, 0], path[k, 1], path[k, 2] = x, y, yaw
        attitude[k, 0], attitude[k, 1] = roll, pitch
        g_x, g_y = 9.81 * math.sin(pitch), -9.81 * math.cos(pitch) * math.sin(roll)
        a, V, W = alphas[soil[k]], v[k], w[k]
        V_x = V + a[0] * V + a[1] * abs(W) + a[2] * V * abs(W) + a[3] * g_x + shocks[k, 0]
        V_y = a[4] * V + a[5] * W + a[6] * V * W + a[7] * g_y + shocks[k, 1]
        V_yaw = W + a[8] * V + a[9] * W + a[10] * V * W + a[11] * g_x + a[12] * g_y + shocks[k, 2]
        turn = math.cos(roll) / math.cos(pitch) * V_yaw * STEP
        c, s = math.cos(yaw + 0.5 * turn), math.sin(yaw + 0.5 * turn)
        forward = math.cos(pitch) * V_x + math.sin(pitch) * math.sin(roll) * V_y
        x += (c * forward - s * math.cos(roll) * V_y) * STEP
        y += (s * forward + c * math.cos(roll) * V_y) * STEP
        yaw += turn
    return path, attitude


def _log(
    seed: int,
    time: FloatArray,
    left: FloatArray,
    right: FloatArray,
    attitude: FloatArray,
    pose_time: FloatArray,
    poses: FloatArray,
) -> Log:
    """As a log reader would give it."""
    n, m = len(time), len(poses)
    level = np.zeros((m, 2))
    return Log(
        name=f"planted {seed}",
        vehicle="warthog",
        time=time,
        segment=np.zeros(n, dtype=np.int64),
        rates={"FL": left, "BL": left, "FR": right, "BR": right},
        angles={},
        attitude=np.ascontiguousarray(attitude),
        poses=Poses(
            time=pose_time,
            position=np.column_stack([poses[:, :2], np.zeros(m)]),
            attitude=np.column_stack([level, poses[:, 2]]),
            segment=np.zeros(m, dtype=np.int64),
        ),
        sensor=Sensor(position_noise=POSITION_NOISE, yaw_noise=YAW_NOISE),
        report=Report(samples=n, poses=m, segments=1, pose_period=POSE, period=SAMPLE),
    )
