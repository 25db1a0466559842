"""Signals of sensors in axes of the body, by the manifest or by tf; poses of a frame by its chain of tf links.

A chain map → odom → base_link has two moving links: odom → base_link is wheel odometry and fast, map → odom is the
correction by a map or a GPS, and slow. Poses are taken where the uppermost link that moves changed, for only there
something was measured; the links below are interpolated to that time.
"""

from __future__ import annotations

from array import array
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from grouser.checks import FloatArray
from grouser.errors import LogError
from grouser.logs import bags
from grouser.logs.bags import QUATERNION, stamp_of
from grouser.logs.clocks import check_clocks
from grouser.logs.events import roles_of
from grouser.logs.frames import Mount, composed, degrees, part, plain, wxyz, xyz
from grouser.logs.manifest import Manifest
from grouser.logs.mounts import bag_mounts, frame_of, read_frames, tf_topics
from grouser.logs.raw import Raw, is_bag
from grouser.logs.signals import between, changes, default_gap, same_signs
from grouser.rotation import from_quaternion, to_quaternion

ENOUGH = 0.02
"""Share of an axis of the body along one that was not measured, above which it is not known."""
STILL = 1e-9
"""A link whose numbers differ by less does not move."""


def placed(raw: Raw, path: Path, manifest: Manifest) -> tuple[Raw, Manifest]:
    """The numbers of a file with its IMU in axes of the body and its poses by tf, and the manifest with the place of
    the GPS antenna."""
    R, pose = manifest.robot.R_body_imu, manifest.pose
    if not is_bag(path):
        if pose is not None and pose.frame is not None:
            raise LogError(f"{manifest.file}, table [pose], frame: tf is of bags, and {path.name} is none")
        said = "by the manifest"
        return (raw if R is None else replace(_turned(raw, manifest, R, said), imu_by=said)), manifest
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


def _by_tf(raw: Raw, path: Path, manifest: Manifest, frame: str, world: str) -> Raw:
    """The poses of a frame by its chain of tf links."""
    found = tf_poses(path, frame, world, bags.rows_topic(manifest), by_header=manifest.time.stamp == "header")
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
    """Mounting of the sensor of a topic by the manifest, if it is the IMU, or by tf; None where neither gives it."""
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


class TfPoses(NamedTuple):
    """A pose at some times."""

    time: FloatArray
    """[s], (m,)."""
    pose: dict[str, FloatArray]
    """pose.x … pose.qz, (m,) each."""
    moves_in: str
    """The frame in which the uppermost link moves: "odom" if nothing corrects wheel odometry."""
    said: str
    """Its source, for people."""


class Moves(NamedTuple):
    """A link in the course of time."""

    time: FloatArray
    """Rising [s], (k,)."""
    values: FloatArray
    """x, y, z [m] and w, x, y, z without jumps of sign, (k, 7)."""

    @property
    def moving(self) -> bool:
        """Whether it is not the same throughout."""
        return bool(np.ptp(self.values, axis=0).max() > STILL)

    @property
    def fresh(self) -> FloatArray:
        """Times at which it changed."""
        return self.time[changes(self.values)]

    def at(self, time: FloatArray) -> tuple[FloatArray, FloatArray]:
        """R (m, 3, 3) and p (m, 3), which is NaN outside the link's times and where these have a gap."""
        found = between(self.values, self.time, time, default_gap(float(np.median(np.diff(self.time)))))
        found[np.isnan(found[:, 0]), 3:] = 1.0
        return from_quaternion(found[:, 3:]), found[:, :3]


def tf_poses(path: Path, frame: str, world: str, near: str, *, by_header: bool) -> TfPoses:
    """The pose of a frame in a world by tf of a bag, of the robot of the topic `near`.

    by_header: at the stamps of its links.
    """
    there = bags.topics(path)
    _, topics = tf_topics(there, near)
    if not topics:
        raise LogError(f"{path.name}: has no /tf, which [pose] frame asks for; give x, y and yaw of another topic")
    frames = read_frames(path, there, near, moving=True)
    try:
        up, down = frames.chain(frame, world)
    except LogError:  # a map may be found late in a drive
        frames = read_frames(path, there, near, moving=True, most=None)
        try:
            up, down = frames.chain(frame, world)
        except LogError as error:
            raise LogError(f"{path.name}, [pose] frame and world: {error}") from None
    named = [*up, *down]
    moves = _moves(path, topics, [name for name in named if not frames.links[name].static], by_header=by_header)
    moving = [name for name in named if name in moves and moves[name].moving]
    chain = " → ".join([plain(world), *reversed(named[: len(up)])] if not down else [plain(world), plain(frame)])
    if not moving:
        raise LogError(f"{path.name}: tf {chain} does not move, so it is no pose of a drive; is world the right frame?")
    top = moving[len([name for name in moving if name in up]) - 1]  # the uppermost on the way up, else the last one
    time = moves[top].fresh

    def link(name: str) -> tuple[FloatArray, FloatArray]:
        return moves[name].at(time) if name in moving else frames.links[name][1:3]

    (R_a, p_a), (R_b, p_b) = (composed(map(link, names)) for names in (up, down))
    R = np.broadcast_to(np.swapaxes(R_b, -1, -2) @ R_a, (len(time), 3, 3))
    p = np.broadcast_to(np.einsum("...ji,...j->...i", R_b, p_a - p_b), (len(time), 3))
    q = np.full((len(time), 4), np.nan)
    good = np.isfinite(p).all(axis=1)
    q[good] = to_quaternion(R[good])
    place = {f"pose.{axis}": p[:, k] for k, axis in enumerate("xyz")}
    turned = {f"pose.q{axis}": q[:, k] for k, axis in enumerate("wxyz")}
    parent = frames.links[top].parent
    said = f"pose of {plain(frame)} by tf {chain}, where {parent} → {top} changed"
    return TfPoses(time, place | turned, parent, said)


def _moves(path: Path, topics: list[str], names: list[str], *, by_header: bool) -> dict[str, Moves]:
    """Links of some frames in the course of time."""
    rows: dict[str, array[float]] = {name: array("d") for name in names}
    for _, recorded, message in bags.messages(path, topics):
        for one in part(message, "transforms", ()):
            name = plain(part(one, "child_frame_id"))
            if name in rows:
                transform = part(one, "transform")
                t = stamp_of(one, recorded) if by_header else recorded
                rows[name].extend((t, *xyz(part(transform, "translation")), *wxyz(part(transform, "rotation"))))
    return {name: _sorted(np.array(found).reshape(-1, 8)) for name, found in rows.items() if len(found) >= 16}


def _sorted(table: FloatArray) -> Moves:
    """Rows t, x, y, z, qw … qz in order of time, each time once; what is no rotation is left out."""
    size = np.linalg.norm(table[:, 4:], axis=1, keepdims=True)
    table = np.where(np.arange(8) < 4, table, table / np.where(size > 0.0, size, np.nan))
    table = table[np.isfinite(table).all(axis=1)]
    _, first = np.unique(table[:, 0], return_index=True)
    table = table[first]
    return Moves(table[:, 0], np.concatenate([table[:, 1:4], same_signs(table[:, 4:])], axis=1))
