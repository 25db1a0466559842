"""Runs of a three-wheeled omni robot over one or two surfaces, as means over short windows of time.

Data: github.com/BrOleg5/research-wheel-slippage, Apache-2.0. Files are read by the manifest
`examples/surface-change/robotino.toml`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

import grouser as gr
from experiments.data import ROOT, folder
from grouser.checks import FloatArray
from grouser.errors import GrouserError
from grouser.logs import Log

NAME = "surface-change"
MANIFEST = ROOT / "examples" / NAME / "robotino.toml"
SOURCE = "Robotino over two surfaces, github.com/BrOleg5/research-wheel-slippage"
BEGIN = 0.5
"""Time [s] in which the robot reaches its speed."""
PARTS = ("two_surfaces", "one_surface")


@dataclass(frozen=True, eq=False, kw_only=True)
class Drive:
    """Means over n windows of a run that moves in one direction of the robot."""

    name: str
    """Of the file."""
    changes: bool
    """Whether the surface changes on the way."""
    surface: str
    """What the file's name says: the one surface, or both."""
    direction: float
    """Commanded, in the robot's axes [deg]."""
    speed: float
    """Commanded [m/s]."""
    time: FloatArray
    """End of each window [s], (n,): when its means are known."""
    ratio: FloatArray
    """Speed by the camera along the velocity that the wheels say, over that velocity, (n,): 1 − slip."""
    wheel_current: FloatArray
    """Mean magnitude of the current of each wheel's motor [A], (n, 3)."""
    rim_speed: FloatArray
    """Speed by the wheels [m/s], (n,)."""
    position: FloatArray
    """Of the robot's centre on the floor in the middle of a window [m], (n, 2)."""
    wheels: FloatArray
    """Of the wheels [m], (n, 3, 2)."""
    driven: FloatArray
    """Wheels that turn in this direction of travel, boolean, (3,)."""

    @property
    def current(self) -> FloatArray:
        """Sum of the currents [A], (n,)."""
        total: FloatArray = self.wheel_current.sum(axis=1)
        return total

    @property
    def features(self) -> FloatArray:
        """What a change of ground shows in: (speed ratio, log of the current), (n, 2)."""
        return np.stack([self.ratio, np.log(np.maximum(self.current, 1e-3))], axis=1)

    @property
    def end(self) -> float:
        """When the run ends [s]."""
        return float(self.time[-1])


def files() -> list[Path]:
    """The runs in the given folder, or in the stored excerpt."""
    marks = {part: sorted(folder_of(part).glob("*.csv")) for part in PARTS}
    if not all(marks.values()):
        empty = next(part for part, found in marks.items() if not found)
        raise GrouserError(f"{folder_of(empty)} holds no .csv file ({SOURCE}); --data must name the folder it is in")
    return [one for found in marks.values() for one in found]


def folder_of(part: str) -> Path:
    """Where the runs of a kind are."""
    return folder(NAME, "LICENSE", SOURCE) / part


@lru_cache(maxsize=1)
def twist_of_rates() -> FloatArray:
    """(v_x, v_y) of the body per rate of each wheel on level ground [m], (2, 3)."""
    robot, ground = gr.vehicle("robotino"), gr.terrain.plane()
    model, state = gr.Kinematics(robot), gr.settle(robot, ground).state
    columns = [model.velocity(state, unit, ground).value[3:5] for unit in np.eye(3)]
    return np.stack(columns, axis=1)


def read_drive(path: Path, window: float) -> Drive:
    """A run, by windows of a length [s]."""
    return drive_of(gr.read_log(path, manifest=MANIFEST), path.parent.name == PARTS[0], window)


def drive_of(log: Log, changes: bool, window: float) -> Drive:
    """A log's means over windows [s]."""
    robot = gr.vehicle("robotino")
    clock, seen = log.elapsed, log.pose_elapsed
    start = np.arange(clock[0] + BEGIN, min(clock[-1], seen[-1]) - window, window)
    stop, middle = start + window, start + 0.5 * window

    def mean(values: FloatArray) -> FloatArray:
        path = np.append(0.0, np.cumsum(0.5 * (values[1:] + values[:-1]) * np.diff(clock)))
        result: FloatArray = (np.interp(stop, clock, path) - np.interp(start, clock, path)) / window
        return result

    def pose(column: FloatArray, at: FloatArray) -> FloatArray:
        return np.interp(at, seen, column)

    rates = log.rates_array(robot)
    rim = np.stack([mean(one) for one in (rates @ twist_of_rates().T).T], axis=1)
    x, y, yaw = log.poses.position[:, 0], log.poses.position[:, 1], log.poses.attitude[:, 2]
    heading = pose(yaw, middle)
    east, north = ((pose(one, stop) - pose(one, start)) / window for one in (x, y))
    forward = np.cos(heading) * east + np.sin(heading) * north
    moved = np.stack([forward, np.cos(heading) * north - np.sin(heading) * east], axis=1)
    squared = np.maximum(np.sum(rim * rim, axis=1), 1e-6)
    centre = np.stack([pose(x, middle), pose(y, middle)], axis=1)
    c, s = np.cos(heading)[:, None], np.sin(heading)[:, None]
    ahead, left, _ = robot.wheel_positions.T
    wheels = centre[:, None] + np.stack([c * ahead - s * left, s * ahead + c * left], axis=2)
    turning = np.abs(rates).mean(axis=0)
    v_x, v_y = (float(np.median(log.label[name])) for name in ("v_x", "v_y"))
    return Drive(
        name=log.name.removesuffix(".csv"), changes=changes, surface=log.name.split("_exp")[0],
        direction=float(np.degrees(np.arctan2(v_y, v_x))), speed=float(np.hypot(v_x, v_y)), time=stop,
        ratio=np.sum(moved * rim, axis=1) / squared, rim_speed=np.sqrt(squared),
        wheel_current=np.stack([mean(np.abs(one)) for one in log.currents_array(robot).T], axis=1),
        position=centre, wheels=wheels, driven=turning > 0.3 * turning.max(),
    )  # fmt: skip
