"""Estimates as files: TUM, CSV with covariance, and the fields of a ROS odometry message."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import IO, Any

from grouser.errors import OdometryError
from grouser.files import write_whole
from grouser.odometry.estimate import COMPONENTS, Estimate

POSE = ("x", "y", "z", "roll", "pitch", "yaw")  # REP-103 order of the rows of a ROS covariance, position first
COLUMNS = (
    "time",
    *("x", "y", "z", "qw", "qx", "qy", "qz", "yaw"),
    *COMPONENTS,
    *(f"slip_{name}" for name in COMPONENTS),
    *(f"observed_{name}" for name in COMPONENTS),
    "degraded",
)
"""Columns of a CSV file, SI units. Twist and slip are in body axes, turn rates first."""
COVARIANCE_COLUMNS = tuple(f"{kind}_covariance_{i}_{j}" for kind in ("pose", "twist") for i in POSE for j in POSE)
"""Further columns: pose covariance in world axes and twist covariance in body axes, as `Estimate.ros_…` gives them."""


def write_tum(path: str | os.PathLike[str], estimates: Iterable[Any]) -> None:
    """Poses of odometry or fusion as a TUM trajectory, one line each: time x y z qx qy qz qw."""

    def lines() -> Iterator[str]:
        for one in estimates:
            w, x, y, z = _checked(one).quaternion
            yield " ".join(repr(float(v)) for v in (one.time, *one.position, x, y, z, w)) + "\n"

    _write(path, lines())


def write_csv(path: str | os.PathLike[str], estimates: Iterable[Estimate], *, covariance: bool = True) -> None:
    """All fields of the estimates, one row each; with `covariance`, both 6 × 6 matrices in ROS order."""

    def lines() -> Iterator[str]:
        yield ",".join(COLUMNS + (COVARIANCE_COLUMNS if covariance else ())) + "\n"
        for one in estimates:
            if not isinstance(one, Estimate):
                raise OdometryError(f"{one!r:.60} is not an Estimate; give what the odometry returned")
            numbers = [one.time, *one.position, *one.quaternion, one.yaw, *one.twist, *one.slip]
            row = [repr(float(v)) for v in numbers] + [str(int(v)) for v in (*one.observed, one.degraded)]
            if covariance:
                row += [repr(float(v)) for v in (*one.ros_pose_covariance(), *one.ros_twist_covariance())]
            yield ",".join(row) + "\n"

    _write(path, lines())


def ros_odometry(estimate: Any, *, frame: str = "odom", child_frame: str = "base_link") -> dict[str, Any]:
    """Fields of a nav_msgs/Odometry message, as plain numbers and lists.

    The pose and its covariance are in the axes of `frame`, the twist and its covariance in those of `child_frame`. Rows
    and columns of both covariances are x, y, z, then rotations about X, Y, Z. Velocities that wheels do not observe
    have a variance of 1e6 there.
    """
    time, twist = _checked(estimate).time, estimate.twist.tolist()
    w, *turned = estimate.quaternion.tolist()
    seconds = int(time // 1.0)
    nanoseconds = min(round((time - seconds) * 1e9), 999_999_999)

    def xyz(values: list[float]) -> dict[str, float]:
        return dict(zip("xyz", values, strict=True))

    return {
        "header": {"stamp": {"sec": seconds, "nanosec": nanoseconds}, "frame_id": frame},
        "child_frame_id": child_frame,
        "pose": {
            "pose": {"position": xyz(estimate.position.tolist()), "orientation": xyz(turned) | {"w": w}},
            "covariance": estimate.ros_pose_covariance().tolist(),
        },
        "twist": {
            "twist": {"linear": xyz(twist[3:]), "angular": xyz(twist[:3])},
            "covariance": estimate.ros_twist_covariance().tolist(),
        },
    }


def _checked(value: Any) -> Any:
    if not hasattr(value, "ros_pose_covariance"):
        raise OdometryError(f"{value!r:.60} is not an estimate; give what the odometry or the filter returned")
    return value


def _write(path: str | os.PathLike[str], lines: Iterator[str]) -> None:
    def write(stream: IO[bytes]) -> None:
        for line in lines:
            stream.write(line.encode())

    write_whole(path, write, OdometryError)
