"""A log as runs that can be drawn: the vehicle along odometry and along measured poses, on a plane fitted to its way.

Nothing is simulated. Poses are those of odometry or of the log; wheels turn by their rates, added up. Wheels are taken
to touch straight below their hubs, seen from the body, and joints that the log does not measure to be at rest.
"""

from __future__ import annotations

import dataclasses
import math
from typing import NamedTuple

import numpy as np

from grouser.checks import FloatArray
from grouser.kinematics import frame_poses
from grouser.logs import Log
from grouser.logs.log import IntArray, Sensor
from grouser.odometry.judge import CHORD, Judgement
from grouser.odometry.log import LogOdometry
from grouser.rotation import from_quaternion, from_rpy, to_quaternion, to_rpy
from grouser.simulation import ContactRecord, Run, Status
from grouser.terrain import Terrain, plane, slope
from grouser.vehicles import Vehicle
from grouser.view.scene_run import MOST_ROWS

MOST_RELIEF = 0.5
"""Where wheels are off the plane by more, over their radius, root mean square, a level one is drawn below them."""


class Wheels(NamedTuple):
    """What the log says of the joints along one drive, n samples."""

    time: FloatArray
    """From the log's start [s], (n,)."""
    joints: FloatArray
    """Displacements, (n, nj) [rad or m]: measured, or the rates of a wheel added up, or at rest."""
    rates: FloatArray
    """(n, nj) [rad/s or m/s]; zero where not measured."""


def longest_drive(run: LogOdometry) -> IntArray:
    """The samples of the drive in which the vehicle went farthest, which is the one that is judged."""
    drive = run.longest_drive
    return np.arange(drive.start, drive.stop, dtype=np.int64)


def thinned(rows: IntArray) -> IntArray:
    """Of more rows than a page takes, evenly chosen ones, the first and the last among them."""
    chosen = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), MOST_ROWS)).astype(np.int64))
    return rows[chosen]


def covariance_at(run: LogOdometry, rows: IntArray) -> FloatArray:
    """Of x, y, z [m], yaw [rad] at some samples of one drive, the first of it among them, (k, 4, 4)."""
    parts = []
    for piece in run.pieces(int(rows[0]), int(rows[-1]) + 1):
        here = rows[(rows >= piece.first) & (rows < piece.first + len(piece.values))] - piece.first
        parts.append(piece.covariance[here])
    return np.concatenate(parts)


def wheels_of(log: Log, vehicle: Vehicle, rows: IntArray) -> Wheels:
    """Joints along the samples of a drive."""
    part = slice(int(rows[0]), int(rows[-1]) + 1)
    time = log.elapsed[part]
    joints = np.tile(vehicle.rest, (len(time), 1))
    rates = np.zeros_like(joints)
    for k, joint in enumerate(vehicle.joints):
        if joint in log.rates:
            rates[:, k] = np.nan_to_num(log.rates[joint][part], nan=0.0)
        if joint in vehicle.wheels:
            joints[1:, k] += np.cumsum(0.5 * (rates[1:, k] + rates[:-1, k]) * np.diff(time))
        if joint in log.angles:
            angles = log.angles[joint][part]
            joints[:, k] = np.where(np.isfinite(angles), angles, joints[:, k])
    return Wheels(time, joints, rates)


def odometry_run(run: LogOdometry, vehicle: Vehicle, wheels: Wheels, rows: IntArray) -> Run:
    """The vehicle where odometry says; rows: the chosen ones of the drive, the first among them."""
    near = rows - rows[0]
    roll, pitch = run.attitude[rows].T
    R_world_body = from_rpy(roll, pitch, run.yaw[rows])
    return _run(
        vehicle, run.time[rows] - wheels.time[0], to_quaternion(R_world_body), run.position[rows], run.twist[rows],
        wheels.joints[near], wheels.rates[near],
    )  # fmt: skip


def measured_run(run: LogOdometry, vehicle: Vehicle, wheels: Wheels, judged: Judgement, sensor: Sensor) -> Run:
    """The vehicle where the log's poses say, laid on odometry at the first of them, in position and yaw.

    Roll and pitch are the odometry's, and so is the height where poses have none. The velocity, which slip is made of,
    is that of displacements of `CHORD`, and so are the wheel rates it is compared with.
    """
    t, measured = judged.time, judged.measured
    roll, pitch = _between(t, run.time, run.attitude).T
    lever = np.array([sensor.x, sensor.y, sensor.z])
    # Yaw of the sensor less that of the body: turns about the vertical come last, so it does not depend on them.
    mounted = to_rpy(from_rpy(roll, pitch, np.zeros(len(t))) @ from_rpy(0.0, 0.0, sensor.yaw)).reshape(-1, 3)[:, 2]
    mounted = np.unwrap(mounted)  # a sensor that looks back must not jump from π to −π
    start = _between(t[:1], run.time, run.position)[0]
    heading = float(np.interp(t[0], run.time, run.yaw))
    turn = heading + mounted[0] - measured[0, 3]
    yaw = measured[:, 3] + turn - mounted
    R_world_body = from_rpy(roll, pitch, yaw)
    arms = R_world_body @ lever
    position = (measured[:, :3] - measured[0, :3]) @ from_rpy(0.0, 0.0, turn).T + start + arms[0] - arms
    if not judged.has_height:
        position[:, 2] = np.interp(t, run.time, run.position[:, 2])

    rows = thinned(np.arange(len(t), dtype=np.int64))
    at, R_world_body = t[rows], R_world_body[rows]
    before, after = np.maximum(at - 0.5 * CHORD, t[0]), np.minimum(at + 0.5 * CHORD, t[-1])

    def per_second(time: FloatArray, values: FloatArray) -> FloatArray:
        first, last = (_between(end, time, values) for end in (before, after))
        result: FloatArray = (last - first) / np.maximum(after - before, 1e-9)[:, None]
        return result

    twist = np.zeros((len(at), 6))
    twist[:, 2] = per_second(t, yaw[:, None])[:, 0]
    twist[:, 3:] = np.einsum("tji,tj->ti", R_world_body, per_second(t, position))
    joints, rates = _between(at, wheels.time, wheels.joints), per_second(wheels.time, wheels.joints)
    return _run(vehicle, at - wheels.time[0], to_quaternion(R_world_body), position[rows], twist, joints, rates)


def fitted_ground(run: Run) -> Terrain:
    """A plane through the contacts of a run by least squares; where they are far off it, a level one below them."""
    points = run.contact.point.reshape(-1, 3)
    middle = points.mean(axis=0)
    A = points - middle
    (gx, gy), *_ = np.linalg.lstsq(A[:, :2], A[:, 2], rcond=1e-6)
    off = float(np.sqrt(np.mean((A[:, 2] - A[:, :2] @ [gx, gy]) ** 2)))
    if off > MOST_RELIEF * float(run.vehicle.arrays.radius.max()):
        words = f"plane below the way, which rises and falls by {np.ptp(points[:, 2]):.1f} m"
        ground = plane(float(points[:, 2].min()))
    else:
        steep = math.degrees(math.atan(math.hypot(gx, gy)))
        words = f"plane of {steep:.1f}° fitted to the way, {off:.2f} m rms off"
        heading = math.degrees(math.atan2(gy, gx))
        ground = slope(steep, heading_deg=heading, height=float(middle[2] - gx * middle[0] - gy * middle[1]))
    return dataclasses.replace(ground, description=f"no map: {words}")


def _between(t: FloatArray, time: FloatArray, values: FloatArray) -> FloatArray:
    """Values (n, k) at some times, (m, k)."""
    return np.stack([np.interp(t, time, column) for column in values.T], axis=1)


def _run(
    vehicle: Vehicle,
    time: FloatArray,
    quaternion: FloatArray,
    position: FloatArray,
    twist: FloatArray,
    joints: FloatArray,
    rates: FloatArray,
) -> Run:
    state = np.concatenate([quaternion, position, joints], axis=1)
    contact = _contacts(vehicle, state, twist, rates)
    return Run(
        vehicle=vehicle, time=time, state=state, velocity=np.concatenate([twist, rates], axis=1),
        command=rates[:, vehicle.arrays.actuated], contact=contact, status=Status.OK, steps=len(time) - 1,
        dt=float(time[-1] - time[0]) / max(len(time) - 1, 1), model="read from a log, not simulated",
    )  # fmt: skip


def _contacts(vehicle: Vehicle, state: FloatArray, twist: FloatArray, rates: FloatArray) -> ContactRecord:
    """Contacts straight below the hubs, and their slip: motion of the body there less what the wheel rolls.

    How fast steering and bogies move is left out.
    """
    hubs, radius = vehicle.arrays.wheel, vehicle.arrays.radius
    poses = [frame_poses(vehicle, row) for row in state]
    centre = np.array([p[hubs] for _, p in poses])
    axle = np.array([R[hubs, :, 1] for R, _ in poses])
    R_world_body = from_quaternion(state[:, :4])
    normal = np.repeat(R_world_body[:, None, :, 2], len(hubs), axis=1)
    ahead = np.cross(axle, normal)
    ahead /= np.maximum(np.linalg.norm(ahead, axis=-1, keepdims=True), 1e-12)
    point = centre - radius[:, None] * normal
    omega, v = (np.einsum("tij,tj->ti", R_world_body, part)[:, None] for part in (twist[:, :3], twist[:, 3:]))
    moved = v + np.cross(omega, point - state[:, None, 4:7]) - (radius * rates[:, hubs - 1])[..., None] * ahead
    axes = np.stack([ahead, np.cross(normal, ahead), normal], axis=-2)
    nothing = np.zeros(point.shape[:2])
    return ContactRecord(point, normal, np.einsum("twij,twj->twi", axes, moved), nothing, nothing)
