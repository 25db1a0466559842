"""Small files under the names that the pages use: logs with their manifest, a fit, runs, a bag, a map."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import grouser as gr

sys.path.insert(0, str(Path(__file__).parents[1] / "cli"))
import drive_files

sys.path.insert(0, str(Path(__file__).parents[1] / "vehicles"))
import urdf_families

SECONDS, DT = 24.0, 0.05
STUDY = """
schema = "grouser/study@1"
vehicle = "husky"
drive = { speed = 0.5, curvature = 0.2 }
duration = 1.0
measures = ["yaw_deg"]
[parameters]
"vehicle.track" = { range = [50, 60], unit = "cm" }
[sampling]
method = "latin"
runs = 8
"""


def make(folder: Path) -> None:
    """Write them all."""
    for seed, name in enumerate(("drive.csv", "other.csv", "growing.csv"), 1):
        (folder / name).write_text("\n".join(_with_gyro(drive_files.lines(SECONDS, seed, DT), seed)) + "\n")
    (folder / "log.toml").write_text(drive_files.MANIFEST + '[gyro]\nz = "wz"\n')
    log = gr.read_log(folder / "drive.csv", manifest=folder / "log.toml")
    warthog = gr.Kinematics(gr.vehicle("warthog"))
    gr.calibrate(warthog, log, ["slip.p2", "slip.p6", "noise"]).save(folder / "fit.toml")
    for seed, name in enumerate(("run.npz", "other.npz"), 1):
        ground = gr.terrain.rough(rms=0.05, length=0.5, seed=seed)
        gr.simulate(warthog, ground, gr.drive.arc(1.0), duration=1.0).save(folder / name)
    write_bag(folder / "drive_bag", folder / "drive.csv")
    write_map(folder / "survey.tif")
    (folder / "turn.toml").write_text(STUDY)
    (folder / "rover.urdf").write_text(urdf_families.leo())


def write_map(path: Path) -> None:
    """A survey as one gets it: GeoTIFF in a UTM zone, far from the origin, 20 m wide."""
    import rasterio
    from rasterio.transform import Affine

    x = np.arange(80) * 0.25
    heights = (310.0 + 0.2 * np.sin(0.5 * x)[None, :] * np.cos(0.4 * x)[:, None]).astype(np.float32)
    place = Affine(0.25, 0.0, 440_000.0, 0.0, -0.25, 5_400_000.0)
    with rasterio.open(
        path, "w", driver="GTiff", width=80, height=80, count=1, dtype="float32", crs="EPSG:32632", transform=place
    ) as file:
        file.write(heights, 1)


def write_bag(bag: Path, csv: Path) -> None:
    """The drive of a CSV file as a ROS 2 bag: /joint_states at every row, /odom where its pose is fresh."""
    from rosbags.rosbag2 import StoragePlugin, Writer
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS2_HUMBLE)
    make = store.types
    kinds = {"/joint_states": "sensor_msgs/msg/JointState", "/odom": "nav_msgs/msg/Odometry"}
    table = np.genfromtxt(csv, delimiter=",", names=True)
    zero = make["geometry_msgs/msg/Vector3"](x=0.0, y=0.0, z=0.0)
    still = make["geometry_msgs/msg/Twist"](linear=zero, angular=zero)
    with Writer(bag, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        links = {topic: writer.add_connection(topic, kind, typestore=store) for topic, kind in kinds.items()}
        for k, row in enumerate(table):
            stamp = round((1.7e9 + row["t"]) * 1e9)
            time = make["builtin_interfaces/msg/Time"](sec=stamp // 10**9, nanosec=stamp % 10**9)
            header = make["std_msgs/msg/Header"](stamp=time, frame_id="")
            wheels = np.array([row["wl"], row["wl"], row["wr"], row["wr"]])
            states = make[kinds["/joint_states"]](
                header=header,
                name=["front_left", "back_left", "front_right", "back_right"],
                position=np.zeros(0),
                velocity=wheels,
                effort=np.zeros(0),
            )
            writer.write(links["/joint_states"], stamp, store.serialize_cdr(states, kinds["/joint_states"]))
            if k % 2:
                continue
            half = 0.5 * row["yaw"]
            pose = make["geometry_msgs/msg/Pose"](
                position=make["geometry_msgs/msg/Point"](x=float(row["x"]), y=float(row["y"]), z=0.0),
                orientation=make["geometry_msgs/msg/Quaternion"](x=0.0, y=0.0, z=np.sin(half), w=np.cos(half)),
            )
            odometry = make[kinds["/odom"]](
                header=header,
                child_frame_id="base",
                pose=make["geometry_msgs/msg/PoseWithCovariance"](pose=pose, covariance=np.zeros(36)),
                twist=make["geometry_msgs/msg/TwistWithCovariance"](twist=still, covariance=np.zeros(36)),
            )
            writer.write(links["/odom"], stamp, store.serialize_cdr(odometry, kinds["/odom"]))


def _with_gyro(lines: list[str], seed: int) -> list[str]:
    """The same rows with the turn rate that a gyro measures."""
    t = np.array([float(line.partition(",")[0]) for line in lines[1:]])
    turn = drive_files.YAW_GAIN * (0.8 * np.sin(0.3 * t) + 0.4 * np.sin(0.9 * t))
    turn += 0.002 * np.random.default_rng(seed).standard_normal(len(t))
    return [lines[0] + ",wz", *(f"{line},{rate!r}" for line, rate in zip(lines[1:], turn.tolist(), strict=True))]
