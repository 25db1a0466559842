"""Heading from motion: positions alone, joined by the turns of a gyro or of the wheels."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from log_drives import drive, manifest, rows, write

import grouser as gr
from grouser.errors import LogError

NOISE, TURNED = 0.02, 1.0
ANTENNA = (0.4, -0.25)


def positions(*, slip: float = 1.0, noise: float = NOISE, seed: int = 1) -> dict[str, np.ndarray]:
    """A drive with reversing, turned by `TURNED`, whose antenna alone is seen; wheels turn `slip` times as much."""
    columns, random = drive(60.0), np.random.default_rng(seed)
    yaw = columns["yaw"] + TURNED
    c, s = math.cos(TURNED), math.sin(TURNED)
    x, y = c * columns["x"] - s * columns["y"], s * columns["x"] + c * columns["y"]
    ax, ay = ANTENNA
    columns["gz"] = np.gradient(columns["yaw"], columns["t"]) + 0.003  # a bias
    middle, half = 0.5 * (columns["wl"] + columns["wr"]), 0.5 * (columns["wr"] - columns["wl"])
    columns["wl"], columns["wr"] = middle - slip * half, middle + slip * half
    columns["x"] = x + np.cos(yaw) * ax - np.sin(yaw) * ay + random.normal(0.0, noise, len(x))
    columns["y"] = y + np.sin(yaw) * ax + np.cos(yaw) * ay + random.normal(0.0, noise, len(x))
    columns["true"] = yaw
    return columns


def tables(**changes: Any) -> dict[str, Any]:
    """A manifest in which nothing measures yaw."""
    return manifest(
        pose=None, attitude=None, sensor={"x": ANTENNA[0], "y": ANTENNA[1], "position_noise": NOISE},
        labels={"true": "true"}, **changes,
    ) | {"pose": {"x": "x", "y": "y", "yaw_from": "motion"}}  # fmt: skip


def errors(log: gr.Log) -> np.ndarray:
    """Yaw of each pose less the true one [rad], within ±π."""
    true = np.interp(log.poses.time, log.time, log.label["true"])
    return np.angle(np.exp(1j * (log.poses.attitude[:, 2] - true)))


@pytest.mark.parametrize(("gyro", "most"), [(True, 1.0), (False, 4.0)])
def test_yaw_is_found_within_its_sigma_also_in_reverse(gyro: bool, most: float, tmp_path: Path) -> None:
    given = tables(gyro={"z": "gz"}) if gyro else tables()
    # Without a gyro the wheels give the turns, 1.5 times too much of them.
    log = gr.read_log(write(tmp_path / "d.csv", rows(positions(slip=1.0 if gyro else 1.5))), manifest=given)
    off = errors(log)
    assert len(log.poses) > 1150
    assert math.degrees(float(np.sqrt(np.mean(off**2)))) < most
    assert np.abs(off).max() < math.radians(10.0)
    assert log.poses.sigma is not None
    sigma = log.poses.sigma[:, 2]
    assert 0.1 < float(np.sqrt(np.mean((off / sigma) ** 2))) < 1.5
    np.testing.assert_allclose(log.poses.sigma[:, 0], NOISE)
    (said,) = log.report.remarks
    assert said.startswith(f"heading from motion, joined by the turns of the {'gyro' if gyro else 'wheels'}: one sigma")


def test_a_wrong_lever_arm_is_worse_than_the_right_one(tmp_path: Path) -> None:
    file = write(tmp_path / "d.csv", rows(positions(noise=0.005)))
    right = gr.read_log(file, manifest=tables(gyro={"z": "gz"}))
    wrong = tables(gyro={"z": "gz"})
    wrong["sensor"] = {"x": -ANTENNA[0], "y": ANTENNA[1], "position_noise": NOISE}
    other = gr.read_log(file, manifest=wrong)
    assert np.sqrt(np.mean(errors(right) ** 2)) < 0.5 * np.sqrt(np.mean(errors(other) ** 2))


def test_a_vehicle_that_hardly_moves_has_no_heading(tmp_path: Path) -> None:
    columns = positions()
    for name in ("x", "y"):
        columns[name] = 0.01 * columns[name]
    given = tables(gyro={"z": "gz"}, limits={"check_units": False})
    with pytest.raises(LogError, match="its positions do not show a heading to 10°; drive farther, or measure yaw"):
        gr.read_log(write(tmp_path / "d.csv", rows(columns)), manifest=given)


def test_an_omni_robot_needs_a_measured_yaw(tmp_path: Path) -> None:
    given = {**tables(), "vehicle": "robotino", "rates": {"W1": "wl", "W2": "wr", "W3": "wr"}}
    with pytest.raises(LogError, match="takes the course over ground for the heading, but 'robotino' drives in any"):
        gr.read_log(write(tmp_path / "d.csv", rows(positions())), manifest=given)


@pytest.mark.parametrize(
    ("pose", "message"),
    [
        ({"x": "x", "y": "y", "yaw": "yaw", "yaw_from": "motion"}, "has both yaw_from and yaw; give one"),
        ({"x": "x", "y": "y", "yaw_from": "course"}, "yaw_from"),
        ({"frame": "base_link"}, 'needs both frame = "base_link" and world = "map"'),
        ({"frame": "base_link", "world": "map", "x": "x"}, "has both frame and x; tf gives the whole pose"),
    ],
)
def test_what_contradicts_is_refused(pose: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(LogError, match=message):
        gr.read_log(write(tmp_path / "d.csv", rows(drive(10.0))), manifest=manifest(pose=None) | {"pose": pose})


def test_tf_is_not_of_a_table(tmp_path: Path) -> None:
    given = manifest(pose=None) | {"pose": {"frame": "base_link", "world": "map"}}
    with pytest.raises(LogError, match=r"table \[pose\], frame: tf is of bags, and d.csv is none"):
        gr.read_log(write(tmp_path / "d.csv", rows(drive(10.0))), manifest=given)
