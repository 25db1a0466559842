"""Consistency of wheel odometry on board: ramps, a lost wheel, an hour parked; truth by geometry of its own.

Wheel centres of a vehicle with two axles follow the offset of a polyline ground; in the plane a point drives arcs.
Nothing here uses the kinematics of the package but the odometry that is judged.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

import grouser as gr
from grouser import rotation
from grouser.odometry import EncoderNoise

FloatArray = NDArray[np.float64]

BASE, TRACK, RADIUS, HEIGHT = 0.864, 0.59, 0.125, 0.365
"""Of the LRU: distances of its wheels, their radius, height of the body's origin over the axles [m]."""
RATE, ATTITUDE, GYRO = 0.02, 0.003, 0.003  # One sigma of the sensors [rad/s, rad, rad/s]
PERIOD, SPEED = 0.02, 0.3  # s, m/s
STEEPEST = math.radians(20.0)


@dataclass(frozen=True, eq=False)
class RampDrive:
    """Truth of a drive over ramps, straight along x; arrays over n samples."""

    time: FloatArray
    """(n,) [s]."""
    front: FloatArray
    """Rate of the front wheels against the body, (n,) [rad/s]."""
    rear: FloatArray
    """The same of the rear ones."""
    pitch: FloatArray
    """(n,) [rad], nose down positive."""
    pitch_rate: FloatArray
    """(n,) [rad/s]."""
    position: FloatArray
    """Of the body's origin, (n, 3) [m]."""


@dataclass(frozen=True, eq=False)
class Errors:
    """Errors of (x, y, z, yaw) and their covariance, over n samples."""

    error: FloatArray
    """(n, 4) [m, rad]."""
    covariance: FloatArray
    """(n, 4, 4)."""
    faults: dict[str, int]
    """As the odometry counts them."""

    def nees(self, k: int, rows: Sequence[int] = (0, 1, 2, 3)) -> float:
        """Of sample k, over its degrees of freedom."""
        e, P = self.error[k][list(rows)], self.covariance[k][np.ix_(rows, rows)]
        return float(e @ np.linalg.solve(P, e) / len(rows))


def hub_path(slopes: Sequence[tuple[float, float]], radius: float) -> FloatArray:
    """Way of a wheel's centre over pieces of (length [m], slope [rad]): lines, and arcs about edges, (m, 2) [m]."""
    lengths, angles = np.array(slopes).T
    corner = np.zeros((len(angles) + 1, 2))
    corner[1:] = np.cumsum(lengths[:, None] * np.column_stack([np.cos(angles), np.sin(angles)]), axis=0)
    points = [corner[0] + radius * _normal(angles[0])]
    for k in range(1, len(angles)):
        a, b = angles[k - 1], angles[k]
        if b < a:
            points += [corner[k] + radius * _normal(c) for c in np.linspace(a, b, max(3, int((a - b) / 0.005)))]
        else:
            points.append(corner[k] + radius / math.cos(0.5 * (b - a)) * _normal(0.5 * (a + b)))
    return np.array([*points, corner[-1] + radius * _normal(angles[-1])])


def ramp_drive(
    random: np.random.Generator, *, way: float = 20.0, slopes: Sequence[tuple[float, float]] | None = None
) -> RampDrive:
    """A drive of a way [m] over ramps, by default of random slopes up to 20° and 1 to 3 m long."""
    if slopes is None:
        pieces = [(1.5, 0.0)]
        while sum(length for length, _ in pieces) < way + 1.0:
            pieces.append((random.uniform(1.0, 3.0), random.uniform(-STEEPEST, STEEPEST)))
        slopes = [*pieces, (4.0, 0.0)]
    path = hub_path(slopes, RADIUS)
    along = np.append(0.0, np.cumsum(np.linalg.norm(np.diff(path, axis=0), axis=1)))

    def at(u: FloatArray) -> FloatArray:
        return np.column_stack([np.interp(u, along, path[:, i]) for i in range(2)])

    time = np.arange(round(way / SPEED / PERIOD) + 1, dtype=np.float64) * np.float64(PERIOD)
    rear = 0.1 + SPEED * time
    low, high = rear + 0.5 * BASE, rear + 1.4 * BASE
    for _ in range(50):  # the front axle is where its distance is that of the axles
        middle = 0.5 * (low + high)
        far = np.linalg.norm(at(middle) - at(rear), axis=1) > BASE
        low, high = np.where(far, low, middle), np.where(far, middle, high)
    back, ahead = at(rear), at(0.5 * (low + high))
    pitch = -np.arctan2(ahead[:, 1] - back[:, 1], ahead[:, 0] - back[:, 0])
    pitch_rate = np.gradient(pitch, PERIOD)
    body = 0.5 * (back + ahead) + HEIGHT * np.column_stack([np.sin(pitch), np.cos(pitch)])
    first, last = (np.gradient(u, PERIOD) / RADIUS - pitch_rate for u in (0.5 * (low + high), rear))
    return RampDrive(
        time, first, last, pitch, pitch_rate, np.column_stack([body[:, 0], np.zeros(len(time)), body[:, 1]])
    )


def ramp_errors(
    drive: RampDrive, *, mode: str = "zero", gyro: bool = False, noise: float = 1.0, seed: int = 0
) -> Errors:
    """Errors of the LRU's odometry along a drive, its sensors with so many times their noise."""
    random, lru, n = np.random.default_rng(seed), gr.vehicle("lru2"), len(drive.time)
    rates, angles = np.full((n, lru.n_joints), np.nan), np.zeros((n, lru.n_joints))
    for wheel in lru.wheels:
        spin = drive.front if wheel.startswith("F") else drive.rear
        rates[:, lru.joint_index(wheel)] = spin + noise * RATE * random.standard_normal(n)
    attitude = np.column_stack([np.zeros(n), drive.pitch]) + noise * ATTITUDE * random.standard_normal((n, 2))
    turning = np.column_stack([np.zeros(n), drive.pitch_rate, np.zeros(n)])
    turning += noise * GYRO * random.standard_normal((n, 3))
    odometry = gr.Odometry(
        lru, contact_angles=mode, position=drive.position[0],
        noise=EncoderNoise(rate=RATE**2, attitude=ATTITUDE, gyro=GYRO),
    )  # fmt: skip
    found = odometry.run(drive.time, rates, angles, attitude, turning if gyro else None)
    return _errors(found, drive.position, np.zeros(n), odometry.faults)


def lost_wheel_errors(seed: int, *, seconds: float = 30.0) -> Errors:
    """The LRU on curves in the plane; one of its wheels falls silent after a third of the time."""
    random, lru = np.random.default_rng(seed), gr.vehicle("lru2")
    n = round(seconds / PERIOD) + 1
    time = np.arange(n, dtype=np.float64) * np.float64(PERIOD)
    turn = 0.2 * np.sin(2.0 * math.pi * time / random.uniform(8.0, 20.0) + random.uniform(0.0, 6.0))
    fine = np.linspace(0.0, time[-1], 20 * (n - 1) + 1)  # the truth is integrated twenty times finer
    yaw = np.append(
        0.0, np.cumsum(0.5 * np.diff(fine) * (np.interp(fine, time, turn)[1:] + np.interp(fine, time, turn)[:-1]))
    )
    step = (
        SPEED
        * np.diff(fine)[:, None]
        * np.column_stack([np.cos(0.5 * (yaw[1:] + yaw[:-1])), np.sin(0.5 * (yaw[1:] + yaw[:-1]))])
    )
    place = np.vstack([np.zeros(2), np.cumsum(step, axis=0)])[::20]
    rates, angles = np.full((n, lru.n_joints), np.nan), np.zeros((n, lru.n_joints))
    for wheel in lru.wheels:
        x = 0.5 * BASE * (1.0 if wheel.startswith("F") else -1.0)
        y = 0.5 * TRACK * (1.0 if wheel.endswith("L") else -1.0)
        along, across = SPEED - turn * y, turn * x
        angles[:, lru.joint_index(f"steer{wheel}")] = np.arctan2(across, along)
        spin = np.hypot(along, across) / RADIUS
        rates[:, lru.joint_index(wheel)] = spin + RATE * random.standard_normal(n)
    rates[n // 3 :, lru.joint_index(str(random.choice(lru.wheels)))] = np.nan
    odometry = gr.Odometry(lru, noise=EncoderNoise(rate=RATE**2, attitude=0.0))
    odometry.begin_faults({"rate"})
    found = odometry.run(time, rates, angles, np.zeros((n, 2)))
    position = np.column_stack([place, np.zeros(n)])
    return _errors(found, position, yaw[::20], odometry.faults)


def parked_errors(seed: int, *, seconds: float = 3600.0) -> Errors:
    """Drives for five seconds by counts of an encoder, then stands for so long."""
    random, husky = np.random.default_rng(seed), gr.vehicle("husky")
    radius, n = float(husky.arrays.radius[0]), round(seconds / PERIOD)
    going = round(5.0 / PERIOD)
    time = np.arange(going + n, dtype=np.float64) * np.float64(PERIOD)
    rates = np.zeros((len(time), husky.n_joints))
    speed = random.uniform(0.2, 0.4)
    wheels = [husky.joint_index(w) for w in husky.wheels]
    rates[:going, wheels] = speed / radius + RATE * random.standard_normal((going, len(wheels)))
    way = speed * (np.minimum(time, (going - 1) * PERIOD) + np.where(time > (going - 0.5) * PERIOD, 0.5 * PERIOD, 0.0))
    odometry = gr.Odometry(husky, noise=EncoderNoise(rate=RATE**2, attitude=0.0))
    found = odometry.run(time, rates, np.zeros_like(rates), np.zeros((len(time), 2)))
    position = np.column_stack([way, np.zeros((len(time), 2))])
    return _errors(found, position, np.zeros(len(time)), odometry.faults)


def scenarios(quick: bool) -> list[dict[str, object]]:
    """Rows {name, runs, nees, band, inside}: mean over runs at the end of each, of x, y, z and yaw as they apply."""
    runs = 8 if quick else 40
    rows = []
    for mode in ("zero", "estimated"):
        for gyro in (False, True):
            nees = [
                ramp_errors(ramp_drive(np.random.default_rng(seed)), mode=mode, gyro=gyro, seed=1000 + seed).nees(-1)
                for seed in range(runs)
            ]
            rows.append(_row(f"20 m of ramp, contact angles {mode}{', gyro' if gyro else ''}", nees, 4))
    plane = (0, 1, 3)
    rows.append(_row("one wheel lost", [lost_wheel_errors(seed).nees(-1, plane) for seed in range(runs)], 3))
    hour = 60.0 if quick else 3600.0
    parked = [parked_errors(seed, seconds=hour).nees(-1, plane) for seed in range(min(runs, 12))]
    rows.append(_row("one hour parked", parked, 3))
    return rows


def _row(name: str, nees: list[float], degrees: int) -> dict[str, object]:
    count = len(nees) * degrees
    low, high = (float(chi2.ppf(p, count) / count) for p in (0.025, 0.975))
    mean = float(np.mean(nees))
    return {"name": name, "runs": len(nees), "nees": mean, "band": [low, high], "inside": low <= mean <= high}


def _errors(found: np.ndarray, position: FloatArray, yaw: FloatArray, faults: dict[str, int]) -> Errors:
    R = rotation.from_quaternion(found["quaternion"])
    to_world = np.zeros((len(found), 4, 6))
    to_world[:, :3, 3:], to_world[:, 3, :3] = R, R[:, 2]  # yaw is the rotation about the world's z
    covariance = to_world @ found["pose_covariance"] @ to_world.transpose(0, 2, 1)
    error = np.column_stack([found["position"] - position, found["yaw"] - yaw])
    return Errors(error, covariance, faults)


def _normal(slope: float) -> FloatArray:
    return np.array([-math.sin(slope), math.cos(slope)])
