"""A drive of a Warthog with IMU, visual odometry and GPS, as a CSV of all rows and as a bag of jittered topics.

Written with plain trigonometry: the body moves on a plane, so gyro and accelerometer are closed forms of the path.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

RADIUS, TRACK = 0.3, 1.08
GRAVITY = 9.81
START = 1_700_000_000
JOINTS = ("FL", "BL", "FR", "BR")
IMU_PLACE = (0.2, -0.1, 0.3)
IMU_YAW = 0.5 * math.pi
"""The IMU's x axis points left."""
CAMERA_PLACE = (0.5, 0.0, 0.4)
RATE = 50.0


def columns(seconds: float = 16.0, rest: float = 3.0) -> dict[str, np.ndarray]:
    """Rows at `RATE`: at rest first, then forward with turns; speeds are exact at each row."""
    dt = 1.0 / RATE
    t = np.arange(0.0, seconds, dt)
    moving = np.clip((t - rest) / 2.0, 0.0, 1.0)
    ease = moving * moving * (3.0 - 2.0 * moving)
    speed, turn = 0.8 * ease, 0.4 * ease * np.sin(0.5 * (t - rest))
    fine = np.linspace(0.0, t[-1], 20 * len(t))
    v, w = np.interp(fine, t, speed), np.interp(fine, t, turn)
    step = fine[1]
    yaw = np.append(0.0, np.cumsum(0.5 * (w[1:] + w[:-1]) * step))

    def summed(rate: np.ndarray) -> np.ndarray:
        return np.append(0.0, np.cumsum(0.5 * (rate[1:] + rate[:-1]) * step))

    x, y = summed(v * np.cos(yaw)), summed(v * np.sin(yaw))
    slope, bend = np.gradient(speed, dt), np.gradient(turn, dt)
    px, py, _ = IMU_PLACE
    # Specific force at the IMU: that of the origin, α × r, ω × (ω × r), and gravity.
    ax = slope - bend * py - turn**2 * px
    ay = speed * turn + bend * px - turn**2 * py
    return {
        "t": t,
        "wl": (speed - 0.5 * TRACK * turn) / RADIUS,
        "wr": (speed + 0.5 * TRACK * turn) / RADIUS,
        "gx": 0.0 * t, "gy": 0.0 * t, "gz": turn,
        "ax": ax, "ay": ay, "az": 0.0 * t + GRAVITY,
        "x": np.interp(t, fine, x), "y": np.interp(t, fine, y), "yaw": np.interp(t, fine, yaw),
    }  # fmt: skip


def csv_manifest(**robot: Any) -> dict[str, Any]:
    """Of the CSV, whose IMU columns are in body axes."""
    return {
        "vehicle": "warthog",
        "time": {"column": "t"},
        "rates": {"FL": "wl", "BL": "wl", "FR": "wr", "BR": "wr"},
        "gyro": {"x": "gx", "y": "gy", "z": "gz"},
        "acceleration": {"x": "ax", "y": "ay", "z": "az"},
        "pose": {"x": "x", "y": "y", "yaw": "yaw"},
        "robot": {"imu_position": list(IMU_PLACE), **robot},
    }


def bag_manifest(**robot: Any) -> dict[str, Any]:
    """Of the bag, where tf says how the IMU is mounted."""
    imu = {"gyro": "angular_velocity", "acceleration": "linear_acceleration"}
    return {
        "vehicle": "warthog",
        "rates": {j: {"topic": "/joint_states", "field": "velocity", "joint": f"{j}_wheel"} for j in JOINTS},
        **{table: {a: {"topic": "/imu", "field": f"{field}.{a}"} for a in "xyz"} for table, field in imu.items()},
        "pose": {
            "x": {"topic": "/truth", "field": "pose.position.x"},
            "y": {"topic": "/truth", "field": "pose.position.y"},
            **{f"q{a}": {"topic": "/truth", "field": f"pose.orientation.{a}"} for a in "wxyz"},
        },
        "robot": robot,
    }


def write_csv(path: Path, data: dict[str, np.ndarray]) -> Path:
    """All rows."""
    body = [",".join(repr(float(v)) for v in row) for row in zip(*data.values(), strict=True)]
    path.write_text("\n".join([",".join(data), *body]) + "\n")
    return path


class BagWriter:
    """A ROS 2 bag whose messages are recorded later than they are stamped."""

    def __init__(self) -> None:
        from rosbags.typesys import Stores, get_typestore

        self.store = get_typestore(Stores.ROS2_HUMBLE)
        self.types: Any = self.store.types
        self.waiting: list[tuple[float, str, str, Any]] = []

    def header(self, t: float, frame: str) -> Any:
        sec, nanosec = divmod(round(t * 1e9), 10**9)
        stamp = self.types["builtin_interfaces/msg/Time"](sec=START + sec, nanosec=nanosec)
        return self.types["std_msgs/msg/Header"](stamp=stamp, frame_id=frame)

    def vector(self, x: float, y: float, z: float, kind: str = "Vector3") -> Any:
        return self.types[f"geometry_msgs/msg/{kind}"](x=float(x), y=float(y), z=float(z))

    def turned(self, yaw: float) -> Any:
        return self.types["geometry_msgs/msg/Quaternion"](x=0.0, y=0.0, z=math.sin(0.5 * yaw), w=math.cos(0.5 * yaw))

    def put(self, topic: str, kind: str, recorded: float, message: Any) -> None:
        self.waiting.append((recorded, topic, kind, message))

    def joints(self, t: float, recorded: float, left: float, right: float) -> None:
        empty = np.zeros(0)
        message = self.types["sensor_msgs/msg/JointState"](
            header=self.header(t, ""), name=[f"{j}_wheel" for j in JOINTS], position=empty,
            velocity=np.array([left, left, right, right]), effort=empty,
        )  # fmt: skip
        self.put("/joint_states", "sensor_msgs/msg/JointState", recorded, message)

    def imu(self, t: float, recorded: float, gyro: np.ndarray, force: np.ndarray) -> None:
        """Readings in axes of the IMU."""
        nine = np.zeros(9)
        message = self.types["sensor_msgs/msg/Imu"](
            header=self.header(t, "imu_link"), orientation=self.turned(0.0), orientation_covariance=nine,
            angular_velocity=self.vector(*gyro), angular_velocity_covariance=nine,
            linear_acceleration=self.vector(*force), linear_acceleration_covariance=nine,
        )  # fmt: skip
        self.put("/imu", "sensor_msgs/msg/Imu", recorded, message)

    def pose(self, topic: str, t: float, recorded: float, x: float, y: float, yaw: float) -> None:
        pose = self.types["geometry_msgs/msg/Pose"](
            position=self.vector(x, y, 0.0, "Point"), orientation=self.turned(yaw)
        )
        message = self.types["geometry_msgs/msg/PoseStamped"](header=self.header(t, "map"), pose=pose)
        self.put(topic, "geometry_msgs/msg/PoseStamped", recorded, message)

    def odometry(self, topic: str, t: float, recorded: float, pose: tuple[float, ...], child: str) -> None:
        """x, y, z, yaw of a frame."""
        x, y, z, yaw = pose
        at = self.types["geometry_msgs/msg/Pose"](position=self.vector(x, y, z, "Point"), orientation=self.turned(yaw))
        zero = self.vector(0.0, 0.0, 0.0)
        twist = self.types["geometry_msgs/msg/Twist"](linear=zero, angular=zero)
        message = self.types["nav_msgs/msg/Odometry"](
            header=self.header(t, "vo"), child_frame_id=child,
            pose=self.types["geometry_msgs/msg/PoseWithCovariance"](pose=at, covariance=np.zeros(36)),
            twist=self.types["geometry_msgs/msg/TwistWithCovariance"](twist=twist, covariance=np.zeros(36)),
        )  # fmt: skip
        self.put(topic, "nav_msgs/msg/Odometry", recorded, message)

    def fix(self, t: float, recorded: float, place: tuple[float, ...], covariance: np.ndarray, kind: int = 2) -> None:
        """Latitude, longitude, altitude."""
        status = self.types["sensor_msgs/msg/NavSatStatus"](status=0, service=1)
        message = self.types["sensor_msgs/msg/NavSatFix"](
            header=self.header(t, "gps_link"), status=status, latitude=place[0], longitude=place[1], altitude=place[2],
            position_covariance=covariance.ravel(), position_covariance_type=kind,
        )  # fmt: skip
        self.put("/fix", "sensor_msgs/msg/NavSatFix", recorded, message)

    def static(self, links: list[tuple[str, str, tuple[float, ...], float]]) -> None:
        """Parent, child, place [m], yaw [rad]."""
        made = [
            self.types["geometry_msgs/msg/TransformStamped"](
                header=self.header(0.0, parent), child_frame_id=child,
                transform=self.types["geometry_msgs/msg/Transform"](
                    translation=self.vector(*place), rotation=self.turned(yaw)
                ),
            )
            for parent, child, place, yaw in links
        ]  # fmt: skip
        self.put("/tf_static", "tf2_msgs/msg/TFMessage", 0.0, self.types["tf2_msgs/msg/TFMessage"](transforms=made))

    def write(self, path: Path) -> Path:
        """All messages in the order of recording."""
        from rosbags.rosbag2 import StoragePlugin, Writer

        with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
            links: dict[str, Any] = {}
            for recorded, topic, kind, message in sorted(self.waiting, key=lambda one: one[0]):
                if topic not in links:
                    links[topic] = writer.add_connection(topic, kind, typestore=self.store)
                stamp = (START * 10**9) + round(recorded * 1e9)
                writer.write(links[topic], stamp, self.store.serialize_cdr(message, kind))
        return path


LINKS = [
    ("base_link", "mast", (0.0, 0.0, 0.1), 0.0),
    ("mast", "imu_link", (IMU_PLACE[0], IMU_PLACE[1], IMU_PLACE[2] - 0.1), IMU_YAW),
    ("base_link", "camera_link", CAMERA_PLACE, 0.3),
]


def write_bag(path: Path, data: dict[str, np.ndarray], *, jitter: float = 0.08, links: Any = LINKS) -> Path:
    """The rows as topics: each message recorded up to `jitter` [s] after its stamp, so that many come out of order."""
    random = np.random.default_rng(7)
    bag = BagWriter()
    if links:
        bag.static(links)
    c, s = math.cos(IMU_YAW), math.sin(IMU_YAW)
    for k, t in enumerate(data["t"].tolist()):
        later = random.uniform(0.0, jitter, 3)
        gyro = np.array([data[f"g{a}"][k] for a in "xyz"])
        force = np.array([data[f"a{a}"][k] for a in "xyz"])
        # R_imu_body: the IMU is turned by its yaw.
        R = np.array([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]])
        bag.imu(t, t + later[0], R @ gyro, R @ force)
        bag.joints(t, t + later[1], data["wl"][k], data["wr"][k])
        bag.pose("/truth", t, t + later[2], data["x"][k], data["y"][k], data["yaw"][k])
    return bag.write(path)
