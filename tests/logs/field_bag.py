"""A bag of a skid-steered robot as one meets them: tf, an IMU that hangs upside down, GPS, odometry, no velocities.

The path is that of the Warthog with planted slip along given wheel rates. A position receiver sees its antenna;
/odom is the integral of the wheels without slip, under odom → base_link; with `corrected` a map → odom corrects it.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from bag_drives import START, BagWriter
from test_log_gps import fixes

import grouser as gr
from grouser.calibration.simulated import log_of_motion
from grouser.motion.model import MotionModel
from grouser.slip import BodySlip

SLIP = {"slip.p2": -0.08, "slip.p6": -0.3}
DATUM = (47.3769, 8.5417, 430.0)
ANTENNA = (-0.3, 0.2, 0.9)
IMU_PLACE = (0.1, 0.0, 0.2)
NOISE = 0.02
NORTH = 0.7
"""Yaw of the robot at its start in the axes of the fixes [rad]."""
NAMES = {"FL": "front_left_wheel", "BL": "rear_left_wheel", "FR": "front_right_wheel", "BR": "rear_right_wheel"}


class Path2D(NamedTuple):
    """A drive in the plane, at 50 Hz."""

    t: np.ndarray
    left: np.ndarray
    right: np.ndarray
    x: np.ndarray
    y: np.ndarray
    yaw: np.ndarray


def rates(seconds: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Time and rates of the sides [rad/s]: three seconds at rest, then turns of both sides, ahead and back."""
    t = np.arange(0.0, seconds, 0.02)
    ease = np.clip((t - 3.0) / 2.0, 0.0, 1.0)
    way = np.where((t % 40.0) < 32.0, 1.0, -0.6)
    way = np.convolve(np.pad(way, 50, mode="edge"), np.ones(101) / 101, mode="valid")
    speed = ease * way * (3.0 + 0.6 * np.sin(0.23 * t))
    turn = ease * 1.6 * np.sin(0.31 * t) * np.where(np.sin(0.11 * t) > 0.0, 1.0, 0.4)
    return t, speed - turn, speed + turn


def driven(seconds: float, slip: dict[str, float]) -> Path2D:
    """The path along these rates with slip."""
    t, left, right = rates(seconds)
    p = np.zeros(6)
    for name, value in slip.items():
        p[int(name[-1]) - 1] = value
    vehicle = gr.vehicle("warthog")
    motion = MotionModel(model=gr.Kinematics(vehicle, slip=BodySlip(p)), sensor=gr.logs.Sensor())
    given = {"FL": left, "BL": left, "FR": right, "BR": right}
    log = log_of_motion(motion, t, given, attitude=np.zeros((len(t), 2)), seed=None)
    place, yaw = log.poses.position, np.unwrap(log.poses.attitude[:, 2])
    return Path2D(t, left, right, *(np.interp(t, log.pose_elapsed, one) for one in (place[:, 0], place[:, 1], yaw)))


def turned(yaw: float, path: Path2D) -> Path2D:
    """The path turned about its start."""
    c, s = math.cos(yaw), math.sin(yaw)
    return path._replace(x=c * path.x - s * path.y, y=s * path.x + c * path.y, yaw=path.yaw + yaw)


def write_field_bag(
    file: Path, *, seconds: float = 120.0, gps: bool = True, corrected: bool = False, static: bool = True, seed: int = 3
) -> Path2D:
    """A folder of a ROS 2 bag (MCAP); the true path. static: whether tf says where the sensors sit."""
    random = np.random.default_rng(seed)
    true, odom = turned(NORTH, driven(seconds, SLIP)), driven(seconds, {})
    bag = Bag()
    if static:
        bag.mounted()
    v = np.gradient(true.x, true.t) * np.cos(true.yaw) + np.gradient(true.y, true.t) * np.sin(true.yaw)
    w = np.gradient(true.yaw, true.t)
    ahead, aside = np.gradient(v, true.t), v * w
    angle = [np.append(0.0, np.cumsum(0.5 * (one[1:] + one[:-1]) * 0.02)) for one in (true.left, true.right)]
    ax, ay, az = ANTENNA
    seen = {
        "x": true.x + np.cos(true.yaw) * ax - np.sin(true.yaw) * ay + random.normal(0.0, NOISE, len(true.t)),
        "y": true.y + np.sin(true.yaw) * ax + np.cos(true.yaw) * ay + random.normal(0.0, NOISE, len(true.t)),
        "z": np.full(len(true.t), az),
    }
    every = slice(0, None, 10)
    places = fixes({name: column[every] for name, column in seen.items()}, DATUM)
    for k, t in enumerate(true.t.tolist()):
        late = t + 0.004
        gyro = np.array([0.0, 0.0, w[k] + 0.002]) + random.normal(0.0, 0.002, 3)
        force = np.array([ahead[k], aside[k], 9.81]) + random.normal(0.0, 0.05, 3)
        flipped = np.array([1.0, -1.0, -1.0])  # rolled by π, the IMU reads y and z turned round
        bag.imu(t, late, flipped * gyro, flipped * force)
        if k % 2 == 0:
            bag.positions(t, late, angle[0][k], angle[1][k])
            bag.wheels(t, late, float(odom.x[k]), float(odom.y[k]), float(odom.yaw[k]))
        if k % 10 == 0:
            i = k // 10
            place = (places["lat"][i], places["lon"][i], places["alt"][i])
            if gps:
                bag.fix(t, t + 0.05, place, np.diag([NOISE**2, NOISE**2, 4.0 * NOISE**2]))
            if corrected:
                yaw = float(true.yaw[k] - odom.yaw[k])
                c, s = math.cos(yaw), math.sin(yaw)
                x, y = float(odom.x[k]), float(odom.y[k])
                noise = random.normal(0.0, 0.005, 2)
                link = (float(true.x[k]) - c * x + s * y + noise[0], float(true.y[k]) - s * x - c * y + noise[1])
                bag.link(t, t + 0.03, "map", "odom", link, yaw)
    bag.write(file)
    return true


class Bag(BagWriter):
    """What of the messages `BagWriter` has not."""

    def mounted(self) -> None:
        """/tf_static: the IMU rolled by π, the antenna on a mast."""
        kinds = self.types
        upside_down = kinds["geometry_msgs/msg/Quaternion"](x=1.0, y=0.0, z=0.0, w=0.0)
        made = []
        links: tuple[tuple[str, str, tuple[float, ...], Any], ...] = (
            ("base_link", "deck", (0.0, 0.0, 0.1), self.turned(0.0)),
            ("deck", "imu_link", (IMU_PLACE[0], IMU_PLACE[1], IMU_PLACE[2] - 0.1), upside_down),
            ("base_link", "gps_link", ANTENNA, self.turned(0.0)),
        )
        for parent, child, place, q in links:
            transform = kinds["geometry_msgs/msg/Transform"](translation=self.vector(*place), rotation=q)
            made.append(
                kinds["geometry_msgs/msg/TransformStamped"](
                    header=self.header(0.0, parent), child_frame_id=child, transform=transform
                )
            )
        self.put("/tf_static", "tf2_msgs/msg/TFMessage", 0.0, kinds["tf2_msgs/msg/TFMessage"](transforms=made))

    def positions(self, t: float, recorded: float, left: float, right: float) -> None:
        """A JointState without velocities."""
        empty = np.zeros(0)
        message = self.types["sensor_msgs/msg/JointState"](
            header=self.header(t, ""), name=list(NAMES.values()),
            position=np.array([left, left, right, right]), velocity=empty, effort=empty,
        )  # fmt: skip
        self.put("/joint_states", "sensor_msgs/msg/JointState", recorded, message)

    def wheels(self, t: float, recorded: float, x: float, y: float, yaw: float) -> None:
        """/odom and odom → base_link."""
        kinds = self.types
        zero = self.vector(0.0, 0.0, 0.0)
        at = kinds["geometry_msgs/msg/Pose"](position=self.vector(x, y, 0.0, "Point"), orientation=self.turned(yaw))
        message = kinds["nav_msgs/msg/Odometry"](
            header=self.header(t, "odom"), child_frame_id="base_link",
            pose=kinds["geometry_msgs/msg/PoseWithCovariance"](pose=at, covariance=np.zeros(36)),
            twist=kinds["geometry_msgs/msg/TwistWithCovariance"](
                twist=kinds["geometry_msgs/msg/Twist"](linear=zero, angular=zero), covariance=np.zeros(36)
            ),
        )  # fmt: skip
        self.put("/odom", "nav_msgs/msg/Odometry", recorded, message)
        self.link(t, recorded, "odom", "base_link", (x, y), yaw)

    def link(self, t: float, recorded: float, parent: str, child: str, place: tuple[float, float], yaw: float) -> None:
        """One transform of /tf."""
        kinds = self.types
        one = kinds["geometry_msgs/msg/TransformStamped"](
            header=self.header(t, parent), child_frame_id=child,
            transform=kinds["geometry_msgs/msg/Transform"](
                translation=self.vector(*place, 0.0), rotation=self.turned(yaw)
            ),
        )  # fmt: skip
        self.put("/tf", "tf2_msgs/msg/TFMessage", recorded, kinds["tf2_msgs/msg/TFMessage"](transforms=[one]))


__all__ = ["START", "write_field_bag"]
