"""Files that a new user gets wrong, for `test_mistakes.py`: vehicles, grounds, logs, manifests, fits, studies."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np

import grouser as gr
from grouser.vehicles.toml import to_toml

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "logs"))
from log_drives import drive, rows, write

from tests.motion.uncertain_fit import fit_of

MANIFEST = """schema = "grouser/log@1"
vehicle = "warthog"
time = { column = "t" }
rates = { FL = "wl", BL = "wl", FR = "wr", BR = "wr" }
attitude = { roll = "roll", pitch = "pitch" }
pose = { x = "x", y = "y", yaw = "yaw" }
gyro = { z = "gz" }
"""
CART = """schema = "grouser/vehicle@1"
name = "cart"
[[frames]]
name = "body"
mass = 10.0
[[frames]]
name = "left"
parent = "body"
joint = "RY"
actuated = true
xyz = [0.0, 0.3, 0.0]
radius = 0.2
mass = 1.0
[[frames]]
name = "right"
parent = "body"
joint = "RY"
actuated = true
xyz = [0.0, -0.3, 0.0]
radius = 0.2
mass = 1.0
"""
STUDY = """schema = "grouser/study@1"
vehicle = "husky"
drive = { speed = 0.2 }
duration = 1.0
measures = ["distance"]
[parameters]
"vehicle.mass" = { normal = [50.0, 5.0], low = 30.0, unit = "kg" }
[sampling]
method = "latin"
runs = 2
"""
URDF = """<robot name="r"><link name="base"/><link name="w"/>
<joint name="j" type="continuous"><parent link="base"/><child link="w"/><axis xyz="0 1 0"/></joint></robot>"""


def log(folder: Path, name: str, **changes: object) -> None:
    """A drive of a Warthog with a gyro; a change maps a column to a function of all columns."""
    columns = drive(60.0)
    columns["gz"] = np.gradient(columns["yaw"], columns["t"])
    made = {column: change(columns) for column, change in changes.items()}  # type: ignore[operator]
    write(folder / name, rows({**columns, **made}))


def make(folder: Path) -> None:
    """All of them."""
    vehicles(folder)
    grounds(folder)
    logs(folder)
    manifests(folder)
    (folder / "notes.txt").write_text("hello")
    for name in ("junk.bin", "junk.csv"):
        (folder / name).write_bytes(bytes(range(250, -1, -1)) * 9)
    (folder / "study.toml").write_text(STUDY)
    (folder / "study_typo.toml").write_text(STUDY.replace("duration", "duraton"))
    fit_of().save(folder / "husky_fit.toml")
    run = gr.simulate(gr.Kinematics(gr.vehicle("husky")), gr.terrain.plane(), gr.drive.arc(1.0), duration=0.4)
    run.save(folder / "run.npz")


def vehicles(folder: Path) -> None:
    """The cart, spoilt in several ways."""
    spoilt = {
        "typo": ("radius = 0.2", "raduis = 0.2"),
        "parent": ('parent = "body"', 'parent = "bdy"'),
        "mass": ("mass = 10.0", "mass = -10.0"),
        "twice": ('name = "right"', 'name = "left"'),
        "axis": ('joint = "RY"', 'joint = "RW"'),
        "syntax": ("mass = 10.0", "mass = 10,0"),
        "text": ("radius = 0.2", 'radius = "20 cm"'),
        "nan": ("radius = 0.2", "radius = nan"),
        "wheels": ("radius = 0.2\n", ""),
        "schema": ("grouser/vehicle@1", "grouser/vehicle@9"),
    }
    for name, (right, wrong) in spoilt.items():
        (folder / f"cart_{name}.toml").write_text(CART.replace(right, wrong))
    (folder / "cart_motors.toml").write_text(CART.replace("actuated = true\n", ""))
    husky = to_toml(gr.vehicle("husky"))
    (folder / "mm.toml").write_text(re.sub(r"radius = ([\d.]+)", lambda m: f"radius = {1000 * float(m[1])}", husky))
    (folder / "robot.xacro").write_text('<robot xmlns:xacro="http://www.ros.org/wiki/xacro" name="r"/>')
    (folder / "robot.urdf").write_text(URDF)
    (folder / "half.urdf").write_text(URDF[:60])


def grounds(folder: Path) -> None:
    """Maps that are none."""
    (folder / "dem.asc").write_text("ncols 3\nnrows 3\nxllcorner 0\nyllcorner 0\ncellsize 1\n1 2 3\n4 5 6\n")
    (folder / "letters.asc").write_text("ncols 2\nnrows 2\nxllcorner 0\nyllcorner 0\ncellsize 1\n1 2\n4 x\n")
    (folder / "cut.tif").write_bytes(b"II*\x00\x08\x00\x00\x00")
    (folder / "flat.stl").write_text("solid a\nendsolid a\n")
    x = np.linspace(-5.0, 5.0, 11)
    gr.terrain.grid(np.zeros((11, 11)), x, x).save(folder / "small.npz")


def logs(folder: Path) -> None:
    """Drives with wrong units, signs, sides and stamps."""
    log(folder, "drive.csv")
    log(folder, "rpm.csv", wl=lambda c: c["wl"] * 9.549, wr=lambda c: c["wr"] * 9.549)
    log(folder, "degrees.csv", yaw=lambda c: np.degrees(c["yaw"]))
    log(folder, "tilt.csv", roll=lambda c: np.degrees(c["roll"]), pitch=lambda c: np.degrees(c["pitch"]))
    log(folder, "mm.csv", x=lambda c: 1000.0 * c["x"], y=lambda c: 1000.0 * c["y"])
    log(folder, "swapped.csv", wl=lambda c: c["wr"], wr=lambda c: c["wl"])
    log(folder, "ned.csv", y=lambda c: -c["y"], yaw=lambda c: -c["yaw"])
    log(folder, "gyro.csv", gz=lambda c: -c["gz"])
    log(folder, "backward.csv", wl=lambda c: -c["wl"], wr=lambda c: -c["wr"])
    log(folder, "frozen.csv", **{name: lambda c: 0.0 * c["x"] for name in ("x", "y", "yaw")})  # type: ignore[arg-type]
    log(folder, "dead.csv", wl=lambda c: 0.0 * c["wl"])
    log(folder, "milliseconds.csv", t=lambda c: 1000.0 * c["t"])
    log(folder, "nan.csv", x=lambda c: np.nan * c["x"])
    log(folder, "stamps.csv", t=lambda c: np.where(np.arange(len(c["t"])) % 3 == 2, c["t"] - 0.5, c["t"]))
    log(folder, "still.csv", t=lambda c: 0.0 * c["t"])
    (folder / "empty.csv").write_text("")
    (folder / "heading.csv").write_text("t,wl,wr,roll,pitch,x,y,yaw,gz\n")
    (folder / "cut.mcap").write_bytes(b"\x89MCAP0\r\n" + bytes(20))


def manifests(folder: Path) -> None:
    """The right one, and some with a slip of the pen."""
    (folder / "log.toml").write_text(MANIFEST)
    spoilt = {
        "table": ("rates =", "rate ="),
        "column": ('FL = "wl"', 'FL = "wheel_left"'),
        "joint": ("FL =", "front_left ="),
        "unit": ('yaw = "yaw"', 'yaw = { column = "yaw", unit = "degrees" }'),
        "vehicle": ('"warthog"', '"wartog"'),
        "schema": ("grouser/log@1", "grouser/logs@1"),
        "syntax": ("time = {", "time = "),
        "time": ('time = { column = "t" }\n', ""),
        "clock": ('column = "t"', 'column = "yaw"'),
        "same": ('y = "y"', 'y = "x"'),
        "sensor": ("gyro =", "sensor = { x = 500.0 }\ngyro ="),
        "rpy": ("gyro =", "robot = { imu_rpy = [180, 0, 0] }\ngyro ="),
    }
    for name, (right, wrong) in spoilt.items():
        (folder / f"log_{name}.toml").write_text(MANIFEST.replace(right, wrong))
