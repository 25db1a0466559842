"""Frames of a robot by its tf messages, and poses of sensors as poses of the body."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from grouser.checks import FloatArray, listed, nearest
from grouser.errors import LogError
from grouser.logs.log import Sensor
from grouser.rotation import from_quaternion, from_rpy, skew, to_quaternion, to_rpy

DEEPEST = 1000
"""Links of the longest chain; a longer one is a loop."""
ROTATION_FIRST = np.ix_([3, 4, 5, 0, 1, 2], [3, 4, 5, 0, 1, 2])
"""Rows of a ROS covariance, position first, in our order."""
ATTITUDE = ("roll", "pitch", "yaw", "heading", "qw", "qx", "qy", "qz")
"""Names of signals of [pose] that give the orientation of the sensor."""


def part(message: Any, name: str, default: Any = None) -> Any:
    """A field of a message, which is an object or a dictionary."""
    return message.get(name, default) if isinstance(message, dict) else getattr(message, name, default)


def xyz(message: Any) -> FloatArray:
    """A Vector3 or Point, (3,)."""
    return np.array([part(message, "x"), part(message, "y"), part(message, "z")], dtype=np.float64)


def wxyz(message: Any) -> FloatArray:
    """A Quaternion, (4,), w x y z."""
    return np.array([part(message, name) for name in ("w", "x", "y", "z")], dtype=np.float64)


def plain(frame: Any) -> str:
    """The name of a frame; ROS 1 wrote some with a slash in front."""
    return str(frame or "").lstrip("/")


def leaf(frame: Any) -> str:
    """The name of a frame without the prefix of its robot: base_link of r1/base_link."""
    return plain(frame).rpartition("/")[2]


class Link(NamedTuple):
    """A frame in its parent."""

    parent: str
    R_parent_frame: FloatArray
    p_parent_frame: FloatArray
    static: bool


@dataclass(frozen=True, eq=False)
class Mount:
    """Position and orientation of a sensor on the body."""

    R_body_sensor: FloatArray
    """Its axes in the body frame, (3, 3)."""
    p_body_sensor: FloatArray
    """Its origin in the body frame, (3,) [m]."""
    said: str
    """Its source, for people."""


class Frames:
    """The tree of frames that tf messages described so far."""

    def __init__(self) -> None:
        self.links: dict[str, Link] = {}
        """By the name of the frame."""

    def take(self, message: Any, *, static: bool) -> None:
        """A tf2_msgs/TFMessage; of a link that is given again the last one holds, and a static one before others."""
        for one in part(message, "transforms", ()):
            frame, parent = plain(part(one, "child_frame_id")), plain(part(part(one, "header"), "frame_id"))
            before = self.links.get(frame)
            if not frame or not parent or (before is not None and before.static and not static):
                continue
            transform = part(one, "transform")
            q, p = wxyz(part(transform, "rotation")), xyz(part(transform, "translation"))
            if np.isfinite(q).all() and q.any() and np.isfinite(p).all():
                self.links[frame] = Link(parent, from_quaternion(q), p, static)

    @property
    def names(self) -> list[str]:
        """All frames, sorted."""
        return sorted({*self.links, *(link.parent for link in self.links.values())})

    def mount(self, frame: str, base: str) -> Mount:
        """A frame in another one; `LogError` with the frames that are known where there is no chain."""
        up, down = self.chain(frame, base)
        frame, base = plain(frame), plain(base)
        common = self.links[up[-1]].parent if up else frame
        (R_a, p_a), (R_b, p_b) = (composed(self.links[name][1:3] for name in names) for names in (up, down))
        names = [*up, common, *reversed(down)]
        moving = sorted(name for name in (*up, *down) if not self.links[name].static)
        said = f"tf {' → '.join(names)}" if len(names) > 1 else "it is the body's frame"
        if moving:
            said += f" ({', '.join(moving)} from /tf, taken as fixed)"
        return Mount(R_b.T @ R_a, R_b.T @ (p_a - p_b), said)

    def chain(self, frame: str, base: str) -> tuple[list[str], list[str]]:
        """Frames from one, and from the other, up to below the frame that both hang on; `LogError` if there is none."""
        frame, base = plain(frame), plain(base)
        up, down = self._ancestors(frame), self._ancestors(base)
        common = next((name for name in up if name in down), None)
        if common is None:
            for name in (frame, base):
                if name not in self.names:
                    hint = nearest(name, self.names)
                    known = listed(self.names, most=40)
                    raise LogError(f"tf has no frame {name!r:.60}; {hint}frames are {known}")
            tops = f"{frame!r:.60} hangs on {up[-1]!r:.60} and {base!r:.60} on {down[-1]!r:.60}"
            raise LogError(f"tf does not join {frame!r:.60} to {base!r:.60}: {tops}; a link between them is missing")
        return up[: up.index(common)], down[: down.index(common)]

    def _ancestors(self, frame: str) -> list[str]:
        """The frame and those above it."""
        chain = [frame]
        while chain[-1] in self.links:
            chain.append(self.links[chain[-1]].parent)
            if len(chain) > DEEPEST or chain[-1] in chain[:-1]:
                raise LogError(f"tf has a loop at frame {chain[-1]!r:.60}; each frame has one parent, up to the world")
        return chain


def composed(links: Iterable[tuple[FloatArray, FloatArray]]) -> tuple[FloatArray, FloatArray]:
    """R (…, 3, 3) and p (…, 3) of a frame in the parent of the last link; links: R, p of each in its parent, upward."""
    R, p = np.eye(3), np.zeros(3)
    for R_link, p_link in links:
        R, p = R_link @ R, np.einsum("...ij,...j->...i", R_link, p) + p_link
    return R, p


def ros_pose(message: Any) -> tuple[FloatArray, FloatArray, FloatArray | None] | None:
    """R and p of an Odometry, PoseStamped, PoseWithCovarianceStamped or TransformStamped, and its covariance (6, 6) in
    ROS order; None where it has no usable pose."""
    outer = part(message, "pose", part(message, "transform"))
    inner = part(outer, "pose", outer)
    place, turned = (
        part(inner, a, part(inner, b)) for a, b in (("position", "translation"), ("orientation", "rotation"))
    )
    if place is None or turned is None:
        return None
    p, q = xyz(place), wxyz(turned)
    if not (np.isfinite(p).all() and np.isfinite(q).all() and q.any()):
        return None
    given = part(outer, "covariance")
    matrix = None if given is None else np.array(given, dtype=np.float64).reshape(6, 6)
    return from_quaternion(q), p, matrix


def body_pose(
    R: FloatArray, p: FloatArray, R_body_sensor: FloatArray, p_body_sensor: FloatArray, *, relative: bool = False
) -> tuple[FloatArray, FloatArray]:
    """Position and rotation of the body from those of a sensor in its world: T_wb = T_ws T_sb.

    relative: from the motion of the sensor, in its axes before: T_bs T T_sb.
    """
    R_turned = R @ R_body_sensor.T
    position = p - R_turned @ p_body_sensor
    if relative:
        return p_body_sensor + R_body_sensor @ position, R_body_sensor @ R_turned
    return position, R_turned


def step_covariance(
    matrix: FloatArray, R: FloatArray, R_body_sensor: FloatArray, p_body_sensor: FloatArray
) -> FloatArray:
    """Covariance (6, 6) of (rotation, translation) of the body in its axes, from that of ROS, axes of the world.

    Errors of the body are Ad(T_bs) times those of the sensor.
    """
    A = np.zeros((6, 6))
    turn = R_body_sensor @ R.T
    A[:3, :3] = A[3:, 3:] = turn
    A[3:, :3] = skew(p_body_sensor) @ turn
    return np.asarray(A @ matrix[ROTATION_FIRST] @ A.T)


def attitude_of(found: Mapping[str, float]) -> FloatArray:
    """R_world_sensor of the signals of [pose], by name [rad]."""
    if "qw" in found:
        return from_quaternion([found[name] for name in ("qw", "qx", "qy", "qz")])
    yaw = 0.5 * np.pi - found["heading"] if "heading" in found else found["yaw"]
    return from_rpy(found.get("roll", 0.0), found.get("pitch", 0.0), yaw)


def sensed_pose(
    found: Mapping[str, float], sensor: Sensor, *, relative: bool
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Position (3,), quaternion (4,) of the body and the sensor's covariance (6, 6), rotation first, from signals of
    [pose] by name."""
    p = np.array([found.get(name, 0.0) for name in ("x", "y", "z")])
    R_mounted, lever = from_rpy(0.0, 0.0, sensor.yaw), np.array([sensor.x, sensor.y, sensor.z])
    position, R = body_pose(attitude_of(found), p, R_mounted, lever, relative=relative)
    sigma = [sensor.attitude_noise, sensor.attitude_noise, sensor.yaw_noise, *[sensor.position_noise] * 3]
    return position, to_quaternion(R), np.diag(np.square(sigma))


def degrees(R: FloatArray) -> str:
    """A rotation for people."""
    roll, pitch, yaw = np.degrees(to_rpy(R)) + 0.0
    return f"roll {roll:.1f}°, pitch {pitch:.1f}°, yaw {yaw:.1f}°"


def rotation_lines(R: FloatArray) -> str:
    """The line of a manifest with the orientation of the IMU."""
    roll, pitch, yaw = (round(float(one), 4) + 0.0 for one in to_rpy(R))
    return f"imu_rpy = [{roll:g}, {pitch:g}, {yaw:g}] in [robot]"
