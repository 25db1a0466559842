"""Signals of sensors turned into the axes of the body, by the manifest or by tf; poses that tf gives."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from grouser.checks import FloatArray
from grouser.errors import LogError
from grouser.logs.manifest import Manifest
from grouser.logs.raw import Raw, is_bag
from grouser.rotation import from_quaternion, to_quaternion, to_rpy

if TYPE_CHECKING:
    from grouser.logs.frames import Mount

ENOUGH = 0.02
"""Share of an axis of the body along one that was not measured, above which it is not known."""
QUATERNION = ("pose.qw", "pose.qx", "pose.qy", "pose.qz")


def placed(raw: Raw, path: Path, manifest: Manifest) -> tuple[Raw, Manifest]:
    """The numbers of a file with its IMU in axes of the body and its poses by tf, and the manifest with the place of
    the GPS antenna."""
    R, pose = manifest.robot.R_body_imu, manifest.pose
    if not is_bag(path):
        if pose is not None and pose.frame is not None:
            raise LogError(f"{manifest.file}, table [pose], frame: tf is of bags, and {path.name} is none")
        said = "by the manifest"
        return (raw if R is None else replace(_turned(raw, manifest, R, said), imu_by=said)), manifest
    from grouser.logs.clocks import check_clocks
    from grouser.logs.mounts import bag_mounts

    check_clocks(path, manifest)
    if not (manifest.gyro or manifest.acceleration or pose):
        return raw, manifest
    mounts = bag_mounts(path, manifest, strict=False)
    if manifest.gyro or manifest.acceleration:
        raw = _turned(raw, manifest, mounts.imu.R_body_sensor, mounts.imu.said)
        raw = replace(raw, imu_by=mounts.imu.said if R is not None or mounts.imu.said.startswith("tf") else "")
    if pose is None:
        return raw, manifest
    if pose.frame is not None:
        raw = _by_tf(raw, path, manifest, pose.frame, str(pose.world))
    elif pose.qw is not None and (place := pose.latitude or pose.x) is not None and pose.qw.topic != place.topic:
        raw = _attitude_of_body(raw, path, manifest, str(pose.qw.topic))
    return _antenna(raw, manifest, mounts.antenna) if pose.is_gps else (raw, manifest)


def _turned(raw: Raw, manifest: Manifest, R: FloatArray, said: str) -> Raw:
    """Gyro and accelerometer in axes of the body, in place; R_body_imu."""
    if (np.eye(3) == R).all():
        return raw
    for table in ("gyro", "acceleration"):
        given = {axis: raw.signals.pop(f"{table}.{axis}") for axis in "xyz" if f"{table}.{axis}" in raw.signals}
        missing = ["xyz".index(axis) for axis in "xyz" if axis not in given]
        body = [k for k in range(3) if all(abs(R[k, m]) < ENOUGH for m in missing)]
        if given and not body:
            raise LogError(
                f"{manifest.file}, table [{table}]: has {', '.join(given)} alone, and the IMU is turned by"
                f" {degrees(R)}, so no axis of the body is known; give x, y and z"
            )
        for k in body:
            column = np.zeros(len(raw.time))
            for axis, values in given.items():
                weight = R[k, "xyz".index(axis)]
                column += weight * values if weight else 0.0
            raw.signals[f"{table}.{'xyz'[k]}"] = column
    return replace(raw, remarks=(*raw.remarks, f"IMU turned into the body's axes by {degrees(R)}, {said}"))


def degrees(R: FloatArray) -> str:
    """A rotation for people."""
    roll, pitch, yaw = np.degrees(to_rpy(R)) + 0.0
    return f"roll {roll:.1f}°, pitch {pitch:.1f}°, yaw {yaw:.1f}°"


def _by_tf(raw: Raw, path: Path, manifest: Manifest, frame: str, world: str) -> Raw:
    """The poses of a frame by its chain of tf links."""
    from grouser.logs.bags import rows_topic
    from grouser.logs.tf_poses import tf_poses

    found = tf_poses(path, frame, world, rows_topic(manifest), by_header=manifest.time.stamp == "header")
    row = np.searchsorted(raw.time, found.time, side="right") - 1
    return replace(raw, pose_row=row, pose_time=found.time, pose=found.pose, remarks=(*raw.remarks, found.said))


def _attitude_of_body(raw: Raw, path: Path, manifest: Manifest, topic: str) -> Raw:
    """Orientations of another topic, an IMU, as those of the body by where that sensor sits."""
    mount = _mount_of(path, manifest, topic)
    if mount is None or (mount.R_body_sensor == np.eye(3)).all():
        return raw
    q = np.stack([raw.pose[key] for key in QUATERNION], axis=1)
    good = np.isfinite(q).all(axis=1) & q.any(axis=1)
    q[good] = to_quaternion(from_quaternion(q[good]) @ mount.R_body_sensor.T)
    raw.pose.update({key: q[:, k] for k, key in enumerate(QUATERNION)})
    said = f"orientation of {topic} turned into the body's by {degrees(mount.R_body_sensor)}, {mount.said}"
    return replace(raw, remarks=(*raw.remarks, said))


def _mount_of(path: Path, manifest: Manifest, topic: str) -> Mount | None:
    """Where the sensor of a topic sits by the manifest, if it is the IMU, or by tf; None where nothing says."""
    from grouser.logs import bags
    from grouser.logs.events import roles_of
    from grouser.logs.frames import Mount, plain
    from grouser.logs.mounts import frame_of, read_frames

    R = manifest.robot.R_body_imu
    if R is not None and topic == (roles_of(manifest).imu or topic):
        return Mount(R, np.zeros(3), "by the manifest")
    frame, base = frame_of(path, topic), manifest.robot.topics.base_frame
    if not frame or plain(frame) == plain(base):
        return None
    frames = read_frames(path, bags.topics(path), bags.rows_topic(manifest), moving=False)
    return frames.mount(frame, base) if {plain(frame), plain(base)} <= set(frames.names) else None


def _antenna(raw: Raw, manifest: Manifest, mount: Mount) -> tuple[Raw, Manifest]:
    """The antenna's place as that of the pose sensor, where [sensor] does not give it."""
    sensor, p = manifest.sensor, mount.p_body_sensor
    if any((sensor.x, sensor.y, sensor.z)) or not p.any():
        return raw, manifest
    x, y, z = p.tolist()
    placed_at = sensor.model_copy(update={"x": x, "y": y, "z": z})
    said = f"GPS antenna at ({x:.3g}, {y:.3g}, {z:.3g}) m on the body, {mount.said}"
    return replace(raw, remarks=(*raw.remarks, said)), manifest.model_copy(update={"sensor": placed_at})


def rotation_lines(R: FloatArray) -> str:
    """The lines of a manifest that say how the IMU is turned."""
    roll, pitch, yaw = (round(float(one), 4) + 0.0 for one in to_rpy(R))
    return f"imu_rpy = [{roll:g}, {pitch:g}, {yaw:g}] in [robot]"
