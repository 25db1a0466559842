"""On board: wheels that lie, and errors of odometry against its covariance. The truth shares no code with ours."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import chi2

import grouser as gr
from grouser.checks import FloatArray
from grouser.odometry.estimate import Estimate
from grouser.odometry.inputs import EncoderNoise

LENGTH, WIDTH, RADIUS = 0.432, 0.295, 0.125  # Of the LRU-2, half and half [m], L Table 4.1
PLACES = {"FL": (LENGTH, WIDTH), "FR": (LENGTH, -WIDTH), "BL": (-LENGTH, WIDTH), "BR": (-LENGTH, -WIDTH)}
RATE_NOISE = math.sqrt(0.0086)  # rad/s, one sigma, L (4.43)
DT = 0.02  # s
GYRO_NOISE = 0.005  # rad/s
BAND = 0.95
EXACT_ATTITUDE = EncoderNoise(attitude=0.0)

Slip = Callable[[FloatArray, int], FloatArray]
"""Part by which each of four wheels is too fast, (n, 4), at times (n,) when wheel number i is the one at fault."""


@dataclass(frozen=True, kw_only=True)
class Drive:
    """A drive of the LRU-2 on level ground: body velocity at times, true path, and what its sensors say."""

    time: FloatArray
    rates: FloatArray
    """Of the wheels in the order of PLACES, (n, 4) [rad/s]."""
    steering: FloatArray
    truth: FloatArray
    """x, y [m] and yaw [rad], (n, 3)."""
    gyro: FloatArray


def lru_drive(twist: FloatArray, slip: FloatArray, rng: np.random.Generator) -> Drive:
    """Of velocities (n, 3): vx, vy [m/s], turn rate [rad/s], linear between samples; slip (n, 4) of the wheels."""
    n = len(twist)
    fine = 10
    mid = (np.arange(fine) + 0.5) / fine
    between = twist[:-1, None] + mid[:, None] * np.diff(twist, axis=0)[:, None]
    between = between.reshape(-1, 3)
    dt = DT / fine
    yaw = np.concatenate([[0.0], np.cumsum(between[:, 2]) * dt])
    heading = 0.5 * (yaw[1:] + yaw[:-1])
    c, s = np.cos(heading), np.sin(heading)
    dx, dy = c * between[:, 0] - s * between[:, 1], s * between[:, 0] + c * between[:, 1]
    path = np.zeros((len(yaw), 3))
    path[1:, 0], path[1:, 1], path[:, 2] = np.cumsum(dx) * dt, np.cumsum(dy) * dt, yaw
    x, y = np.array(list(PLACES.values())).T
    along, across = twist[:, :1] - twist[:, 2:] * y, twist[:, 1:2] + twist[:, 2:] * x
    speed = np.hypot(along, across)
    rates = speed / RADIUS * (1.0 + slip) + RATE_NOISE * rng.standard_normal((n, 4))
    gyro = np.zeros((n, 3))
    gyro[:, 2] = twist[:, 2]
    gyro += GYRO_NOISE * rng.standard_normal((n, 3))
    return Drive(
        time=np.arange(n, dtype=np.float64) * DT,
        rates=rates,
        steering=np.arctan2(across, along),
        truth=path[::fine],
        gyro=gyro,
    )


def run_odometry(drive: Drive, *, gyro: bool, **options: Any) -> np.ndarray:
    """Estimates along a drive, one record a sample."""
    vehicle = gr.vehicle("lru2")
    n = len(drive.time)
    rates, angles = np.full((2, n, vehicle.n_joints), np.nan)
    for i, wheel in enumerate(PLACES):
        rates[:, vehicle.joint_index(wheel)] = drive.rates[:, i]
        angles[:, vehicle.joint_index(f"steer{wheel}")] = drive.steering[:, i]
    odometry = gr.Odometry(vehicle, noise=EXACT_ATTITUDE, **options)
    return odometry.run(drive.time, rates, angles, np.zeros((n, 2)), drive.gyro if gyro else None)


def nees(estimates: np.ndarray, truth: FloatArray) -> FloatArray:
    """Squared error of x, y, yaw over its covariance, divided by 3, of estimates (k,) against poses (k, 3)."""
    out = []
    for one, (x, y, yaw) in zip(Estimate.rows(estimates), truth, strict=True):
        error = np.array([x - one.position[0], y - one.position[1], yaw - one.yaw])
        C = one.ros_pose_covariance().reshape(6, 6)[np.ix_([0, 1, 5], [0, 1, 5])]
        out.append(error @ np.linalg.solve(C, error) / 3.0)
    return np.array(out)


def _constant(n: int, vx: float, vy: float, turn: float) -> FloatArray:
    return np.tile([vx, vy, turn], (n, 1))


def _between(size: float, start: float, end: float) -> Slip:
    return lambda t, i: size * ((t > start) & (t < end))[:, None] * (np.arange(4) == i)


def _one_after_the_other(t: FloatArray, i: int) -> FloatArray:
    return _between(0.4, 4.0, 12.0)(t, i) + _between(0.3, 15.0, 24.0)(t, (i + 1) % 4)


CASES: list[tuple[str, Slip, tuple[float, float, float], bool]] = [
    ("one wheel 40 % fast for 18 s", _between(0.4, 6.0, 24.0), (0.5, 0.0, 0.0), False),
    ("one wheel 40 % fast for 18 s, gyro", _between(0.4, 6.0, 24.0), (0.5, 0.0, 0.0), True),
    ("one wheel 10 % fast throughout", _between(0.1, -1.0, 99.0), (0.5, 0.0, 0.0), False),
    ("one wheel 10 % fast throughout, gyro", _between(0.1, -1.0, 99.0), (0.5, 0.0, 0.0), True),
    ("one wheel 50 % slow", _between(-0.5, 6.0, 24.0), (0.5, 0.0, 0.0), False),
    ("one wheel blocked", _between(-1.0, 6.0, 24.0), (0.3, 0.0, 0.0), False),
    ("two wheels one after the other", _one_after_the_other, (0.5, 0.0, 0.0), False),
    ("one wheel 30 % fast in a turn", _between(0.3, 6.0, 24.0), (0.4, 0.0, 0.2), False),
    ("one wheel 30 % fast driving sideways", _between(0.3, 6.0, 24.0), (0.3, 0.3, 0.0), False),
    ("no wheel slips", _between(0.0, 6.0, 24.0), (0.5, 0.0, 0.1), False),
]
"""Name, slip, velocity, and whether there is a gyro."""


def slipping_scenarios(quick: bool, cases: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """NEES of x, y, yaw at the end of 30 s with a wheel at fault, another one in each run."""
    runs = 40 if quick else 200
    t = np.arange(1501, dtype=np.float64) * DT
    rows = []
    for number, (name, slip, velocity, gyro) in enumerate(CASES):
        if cases is not None and name not in cases:
            continue
        found, left_out = [], []
        for run in range(runs):
            rng = np.random.default_rng([number, run])
            drive = lru_drive(_constant(len(t), *velocity), slip(t, run % 4), rng)
            out = run_odometry(drive, gyro=gyro)
            found.append(nees(out[-1:], drive.truth[-1:])[0])
            left_out.append(bool((out["excluded"] & (1 << (run % 4))).any()))
        low, high = chi2.ppf([0.5 - 0.5 * BAND, 0.5 + 0.5 * BAND], 3 * runs) / (3 * runs)
        mean = float(np.mean(found))
        rows.append({
            "name": name, "runs": runs, "nees": mean, "band": [float(low), float(high)],
            "inside": bool(low <= mean <= high), "left_out": float(np.mean(left_out)),
        })  # fmt: skip
    return rows
