"""A page on which the vehicle drives a log: odometry with its moving ellipse, plain odometry, the measured poses.

Nothing is simulated. Poses are those of odometry or of the log; wheels turn by their integrated rates. Each wheel is
drawn touching straight below its hub, along the body's z axis, and joints that the log does not measure at rest. The
ground is a plane fitted to the path.
"""

import dataclasses
import math
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from grouser.checks import FloatArray
from grouser.collision.frames import frame_poses
from grouser.logs.log import IntArray, Log, Sensor
from grouser.odometry.compare import Compared
from grouser.odometry.judge import CHORD, Judgement
from grouser.odometry.log import LogOdometry
from grouser.rotation import from_quaternion, from_rpy, to_quaternion, to_rpy
from grouser.simulation.records import ContactRecord
from grouser.simulation.run import Run
from grouser.simulation.status import Status
from grouser.spacing import evenly
from grouser.terrain.ground import Terrain
from grouser.terrain.shapes import plane, slope
from grouser.vehicles.vehicle import Vehicle
from grouser.view import arrays
from grouser.view.page import check_page, make_page, write_page
from grouser.view.scene import UncertainPoses, make_scene
from grouser.view.scene_run import MOST_ROWS, ground_axes, plot

PLAIN, MEASURED = "plain odometry", "measured poses"
MOST_RELIEF = 0.5
"""Rms distance of the wheels from the fitted plane, over their radius; above it a level plane is drawn below them."""


def view_odometry(
    log: Log,
    compared: Compared,
    path: str | os.PathLike[str],
    *,
    name: str = "odometry",
    other: str = PLAIN,
    title: str = "",
) -> Path:
    """Write a page that plays a log in 3D; returns its path.

    compared: from `grouser.odometry.compare.compare(log, fit)`. name, other: of its odometry and of the plain one in
    the legend.
    The world is that of the odometry: it begins at the origin, along x. Of several drives the longest is shown.
    """
    check_page(path)
    return write_page(path, make_page(odometry_scene(log, compared, name=name, other=other, title=title)))


def odometry_scene(
    log: Log, compared: Compared, *, name: str = "odometry", other: str = PLAIN, title: str = ""
) -> dict[str, Any]:
    """The scene of the page, as JSON types."""
    run, judged, vehicle = compared.run, compared.judged, compared.motion.vehicle
    drive = longest_drive(run)
    rows = drive[evenly(len(drive), MOST_ROWS)]
    wheels = wheels_of(log, vehicle, drive)
    names, odometries = [name], [run]
    if compared.plain is not None and not np.array_equal(compared.plain.position, run.position):
        names, odometries = [name, other], [run, compared.plain]
    runs = [odometry_run(one, vehicle, wheels, rows) for one in odometries]
    # Samples and length [m] of the whole log, of which some are drawn.
    about = [(len(drive), float(one.path[drive[-1]])) for one in odometries]
    followed = runs[0]
    if judged is not None:
        names.append(MEASURED if judged.has_height else "measured x, y, yaw")
        runs.append(measured_run(run, vehicle, wheels, judged, compared.motion.sensor))
        about.append((len(judged.time), judged.distance))

    ground, covariance, places = fitted_ground(followed), covariance_at(run, rows), followed.position[:, :2]
    if ground.kind != "slope":  # far below the wheels: ellipses are drawn where those touch
        places = np.column_stack([places, followed.contact.point[:, :, 2].mean(axis=1)])
    ellipses = UncertainPoses(places, covariance, name, followed.time)
    drives = int(run.drive[-1]) + 1
    which = f", longest of {drives} drives, from {wheels.time[0]:.0f} s on" if drives > 1 else ""
    title = title or f"{log.name}: {name}{which}"
    scene = make_scene(runs, names=names, ground=ground, poses=ellipses, title=title)
    scene["poses"][0]["total"] = len(drive)
    for one, drawn, (samples, length) in zip(scene["runs"], runs, about, strict=True):
        one |= {"rows": samples, "distance": length}
        if judged is not None and drawn is not runs[-1]:
            one["plots"].insert(0, _apart(drawn, runs[-1], covariance if drawn is followed else None))
    return scene


def _apart(run: Run, measured: Run, covariance: FloatArray | None) -> dict[str, Any]:
    """Plot of the horizontal distance from the measured poses [m], and of the longer half axis of the ellipse."""
    x, y = (np.interp(run.time, measured.time, measured.position[:, k]) for k in range(2))
    distance = np.hypot(run.position[:, 0] - x, run.position[:, 1] - y)
    distance[(run.time < measured.time[0]) | (run.time > measured.time[-1])] = np.nan
    names, curves = ["distance"], [distance]
    if covariance is not None:
        names.append("half axis of the ellipse")
        curves.append(np.linalg.norm(arrays.half_axes(covariance[:, :2, :2])[:, :, 1], axis=1))
    title = "Distance from the measured poses"
    return plot("apart", title, "m", 0.01, names, np.array(curves), "distance", distance)


class Wheels(NamedTuple):
    """Joints of a log along one drive, n samples."""

    time: FloatArray
    """From the log's start [s], (n,)."""
    joints: FloatArray
    """Displacements, (n, nj) [rad or m]: measured, or integrated from the rates of a wheel, or at rest."""
    rates: FloatArray
    """(n, nj) [rad/s or m/s]; zero where not measured."""


def longest_drive(run: LogOdometry) -> IntArray:
    """Samples of the longest drive, which is the one that is evaluated."""
    drive = run.longest_drive
    return np.arange(drive.start, drive.stop, dtype=np.int64)


def covariance_at(run: LogOdometry, rows: IntArray) -> FloatArray:
    """Covariance of x, y, z [m], yaw [rad] at some samples of one drive, its first included, (k, 4, 4)."""
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
    for own, leader in zip(vehicle.arrays.wheel - 1, vehicle.arrays.leader - 1, strict=True):
        joints[:, own], rates[:, own] = joints[:, leader], rates[:, leader]
    return Wheels(time, joints, rates)


def odometry_run(run: LogOdometry, vehicle: Vehicle, wheels: Wheels, rows: IntArray) -> Run:
    """The vehicle at the poses of odometry; rows: some of the drive, its first included."""
    near = rows - rows[0]
    roll, pitch = run.attitude[rows].T
    turned = to_quaternion(from_rpy(roll, pitch, run.yaw[rows]))
    state = np.concatenate([turned, run.position[rows], wheels.joints[near]], axis=1)
    return _run(vehicle, run.time[rows] - wheels.time[0], state, run.twist[rows], wheels.rates[near])


def measured_run(run: LogOdometry, vehicle: Vehicle, wheels: Wheels, judged: Judgement, sensor: Sensor) -> Run:
    """The vehicle at the log's poses, aligned with odometry at the first of them, in position and yaw.

    Roll and pitch are the odometry's, and so is the height where poses have none. Body velocity and wheel rates, from
    which slip follows, are differences over `CHORD` [s].
    """
    t, measured = judged.time, judged.measured
    roll, pitch = _between(t, run.time, run.attitude).T
    lever = np.array([sensor.x, sensor.y, sensor.z])
    # Yaw of the sensor less that of the body; it does not depend on the yaw, which is the last rotation.
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

    rows = evenly(len(t), MOST_ROWS)
    at, R_world_body = t[rows], R_world_body[rows]
    before, after = np.maximum(at - 0.5 * CHORD, t[0]), np.minimum(at + 0.5 * CHORD, t[-1])

    def per_second(time: FloatArray, values: FloatArray) -> FloatArray:
        first, last = (_between(end, time, values) for end in (before, after))
        result: FloatArray = (last - first) / np.maximum(after - before, 1e-9)[:, None]
        return result

    twist = np.zeros((len(at), 6))
    twist[:, 2] = per_second(t, yaw[:, None])[:, 0]
    twist[:, 3:] = np.einsum("tji,tj->ti", R_world_body, per_second(t, position))
    joints = _between(at, wheels.time, wheels.joints)
    state = np.concatenate([to_quaternion(R_world_body), position[rows], joints], axis=1)
    return _run(vehicle, at - wheels.time[0], state, twist, per_second(wheels.time, wheels.joints))


def fitted_ground(run: Run) -> Terrain:
    """Plane through the contacts of a run by least squares; a level one below them if they are far from it."""
    points = run.contact.point.reshape(-1, 3)
    middle = points.mean(axis=0)
    A = points - middle
    (gx, gy), *_ = np.linalg.lstsq(A[:, :2], A[:, 2], rcond=1e-6)
    off = float(np.sqrt(np.mean((A[:, 2] - A[:, :2] @ [gx, gy]) ** 2)))
    if off > MOST_RELIEF * float(run.vehicle.arrays.radius.max()):
        words = f"level plane below the path, whose height varies by {np.ptp(points[:, 2]):.1f} m"
        ground = plane(float(points[:, 2].min()))
    else:
        steep = math.degrees(math.atan(math.hypot(gx, gy)))
        words = f"plane of {steep:.1f}° fitted to the path, residual {off:.2f} m rms"
        heading = math.degrees(math.atan2(gy, gx))
        ground = slope(steep, heading_deg=heading, height=float(middle[2] - gx * middle[0] - gy * middle[1]))
    return dataclasses.replace(ground, description=f"no map: {words}")


def _between(t: FloatArray, time: FloatArray, values: FloatArray) -> FloatArray:
    """Values (n, k) at some times, (m, k)."""
    return np.stack([np.interp(t, time, column) for column in values.T], axis=1)


def _run(vehicle: Vehicle, time: FloatArray, state: FloatArray, twist: FloatArray, rates: FloatArray) -> Run:
    return Run(
        vehicle=vehicle, time=time, state=state, velocity=np.concatenate([twist, rates], axis=1),
        command=rates[:, vehicle.arrays.actuated], contact=_contacts(vehicle, state, twist, rates), status=Status.OK,
        steps=len(time) - 1, dt=float(np.ptp(time)) / max(len(time) - 1, 1), model="read from a log, not simulated",
    )  # fmt: skip


def _contacts(vehicle: Vehicle, state: FloatArray, twist: FloatArray, rates: FloatArray) -> ContactRecord:
    """Contacts below the hubs, and their slip: body velocity minus rim speed, without rates of steering and bogies."""
    hubs, radius = vehicle.arrays.wheel, vehicle.arrays.radius
    R_world_frame, p_world_frame = frame_poses(vehicle, state)
    centre, axle = p_world_frame[:, hubs], R_world_frame[:, hubs][..., 1]
    R_world_body = from_quaternion(state[:, :4])
    normal = np.repeat(R_world_body[:, None, :, 2], len(hubs), axis=1)
    R_world_contact = ground_axes(axle, normal)
    point = centre - radius[:, None] * normal
    omega, v = (np.einsum("tij,tj->ti", R_world_body, part)[:, None] for part in (twist[:, :3], twist[:, 3:]))
    rim = (radius * rates[:, hubs - 1])[..., None] * R_world_contact[..., 0]
    moved = v + np.cross(omega, point - state[:, None, 4:7]) - rim
    nothing = np.zeros(point.shape[:2])
    slip = np.einsum("twji,twj->twi", R_world_contact, moved)
    free = vehicle.arrays.rollers == 1  # rollers turn with what is not along the direction that they hold
    slip[:, free, 0] = np.einsum("wi,twi->tw", vehicle.arrays.held[free], slip[:, free, :2])
    slip[:, free, 1] = 0.0
    slip[:, vehicle.n_wheels - len(vehicle.sliding) :, :2] = 0.0  # as in a run: a ball is made to slide
    return ContactRecord(point, normal, slip, nothing, nothing)
