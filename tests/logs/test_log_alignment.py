"""An IMU that is turned on the body, and neither tf nor the manifest says so."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bag_drives import csv_manifest, write_csv

import grouser as gr
from grouser.errors import LogError
from grouser.logs.alignment import snapped
from grouser.logs.manifest import load_manifest
from grouser.rotation import from_rpy, to_rpy

TURNED = {
    "upside down, x ahead": (math.pi, 0.0, 0.0),
    "upside down, x back": (0.0, math.pi, 0.0),
    "x to the left": (0.0, 0.0, math.pi / 2),
    "x back": (0.0, 0.0, math.pi),
    "on its side": (math.pi / 2, 0.0, 0.0),
    "standing on its back": (0.0, -math.pi / 2, 0.0),
    "upside down, x to the right": (math.pi, 0.0, -math.pi / 2),
}


def columns(rpy: tuple[float, float, float] | None, *, noise: float = 0.1) -> dict[str, np.ndarray]:
    """A drive with stops and curves; the IMU at the body's origin, turned, with noise."""
    random = np.random.default_rng(4)
    dt = 0.02
    t = np.arange(0.0, 60.0, dt)
    speed = 0.8 * np.clip(t - 2.0, 0.0, 1.0) * (1.0 + 0.9 * np.sin(0.9 * t))
    turn = 0.4 * np.clip(t - 2.0, 0.0, 1.0) * np.sin(0.37 * t)
    yaw = np.append(0.0, np.cumsum(0.5 * (turn[1:] + turn[:-1]) * dt))
    vx, vy = speed * np.cos(yaw), speed * np.sin(yaw)
    x, y = (np.append(0.0, np.cumsum(0.5 * (v[1:] + v[:-1]) * dt)) for v in (vx, vy))
    gyro = np.stack([0.0 * t, 0.0 * t, turn], axis=1)
    force = np.stack([np.gradient(speed, dt), speed * turn, 9.81 + 0.0 * t], axis=1)
    R_imu_body = np.eye(3) if rpy is None else from_rpy(*rpy).T
    gyro = gyro @ R_imu_body.T + random.normal(0.0, 0.01, gyro.shape) + 0.004
    force = force @ R_imu_body.T + random.normal(0.0, noise, force.shape)
    found = {"t": t, "wl": (speed - 0.54 * turn) / 0.3, "wr": (speed + 0.54 * turn) / 0.3}
    found |= {f"g{a}": gyro[:, k] for k, a in enumerate("xyz")} | {f"a{a}": force[:, k] for k, a in enumerate("xyz")}
    jitter = random.normal(0.0, 0.003, (2, len(t)))
    return found | {"x": x + jitter[0], "y": y + jitter[1], "yaw": yaw}


def tables(**robot: Any) -> dict[str, Any]:
    """Without the place of the IMU, which is at the origin."""
    return {**csv_manifest(), "robot": robot}


def warning(log: gr.Log) -> Any:
    (found,) = [one for one in log.report.problems if one.key.startswith("robot")]
    return found


@pytest.mark.parametrize("rpy", TURNED.values(), ids=TURNED.keys())
def test_a_turned_imu_is_found_and_turned_back(rpy: tuple[float, float, float], tmp_path: Path) -> None:
    file = write_csv(tmp_path / "d.csv", columns(rpy))
    log, right = gr.read_log(file, manifest=tables()), gr.read_log(file, manifest=tables(imu_rpy=list(rpy)))
    problem = warning(log)
    assert problem.severity == "warning"
    assert "gravity, turns and accelerations say that the IMU is turned by" in problem.message
    assert log.gyro is not None
    assert right.gyro is not None
    np.testing.assert_allclose(log.gyro, right.gyro, rtol=0.0, atol=1e-6)
    np.testing.assert_allclose(log.acceleration, right.acceleration, rtol=0.0, atol=1e-6)
    assert np.median(log.acceleration[:, 2]) == pytest.approx(9.81, abs=0.02)
    # The line that it says is the one that mends it.
    said = problem.remedy.removeprefix("write ").split(" in [robot]")[0]
    numbers = [float(one) for one in said.split("[")[1].rstrip("]").split(",")]
    written = gr.read_log(file, manifest=tables(imu_rpy=numbers))
    assert not [one for one in written.report.problems if one.key.startswith("robot")]
    np.testing.assert_allclose(written.gyro, right.gyro, rtol=0.0, atol=1e-3)


def test_an_imu_in_axes_of_the_body_is_left_alone(tmp_path: Path) -> None:
    log = gr.read_log(write_csv(tmp_path / "d.csv", columns(None)), manifest=tables())
    assert not log.report.problems
    tilted = gr.read_log(write_csv(tmp_path / "e.csv", columns((0.1, -0.05, 0.2))), manifest=tables())
    assert not [one for one in tilted.report.problems if one.key.startswith("robot")]


def test_a_mounting_that_the_drive_contradicts_is_refused(tmp_path: Path) -> None:
    file = write_csv(tmp_path / "d.csv", columns((math.pi, 0.0, 0.0)))
    with pytest.raises(
        LogError, match=r"\[robot\] imu_rpy: .* turned by roll -?180.0°.*, after it was turned by the man"
    ):
        gr.read_log(file, manifest=tables(imu_rpy=[0.0, 0.0, 0.0]))
    assert len(gr.read_log(file, manifest={**tables(), "limits": {"check_units": False}})) > 0


def test_upside_down_without_a_direction_ahead_is_refused(tmp_path: Path) -> None:
    file = write_csv(tmp_path / "d.csv", columns((math.pi, 0.0, 0.0), noise=20.0))
    with pytest.raises(LogError, match=r"the IMU is tilted by 1\d\d°, and the drive does not show which way is ahead"):
        gr.read_log(file, manifest=tables())


def test_gravity_of_the_other_sign_is_named(tmp_path: Path) -> None:
    # An accelerometer that gives acceleration instead of its reaction, with a right gyro.
    data = columns(None)
    for axis in "xyz":
        data[f"a{axis}"] = -data[f"a{axis}"]
    log = gr.read_log(write_csv(tmp_path / "d.csv", data), manifest=tables())
    assert "gravity and the turns of the wheels do not agree" in warning(log).message


def test_rotations_near_quarter_turns_are_taken_for_them() -> None:
    for rpy in TURNED.values():
        R = from_rpy(*rpy)
        np.testing.assert_allclose(snapped(R @ from_rpy(0.05, -0.08, 0.1)), R, rtol=0.0, atol=1e-12)
    odd = from_rpy(0.0, 0.0, 0.8)
    np.testing.assert_array_equal(snapped(odd), odd)
    assert load_manifest(tables(imu_rpy=to_rpy(odd).tolist())).robot.R_body_imu == pytest.approx(odd)
