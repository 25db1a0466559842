"""The shipped manifests read the real logs of `tests/data`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import grouser as gr
from grouser.logs.assess import assess

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


WARTHOG = {
    "warthog_asphalt_20240920_0813": (437.0, 0.05),
    "warthog_grass_20240729_1446": (195.0, 0.15),
    "warthog_grass_20240808_1556": (302.0, 0.20),
    "warthog_grass_20240808_1619": (414.0, 0.20),
}
"""Length [s], and the ICP's delay by the data's README [s]."""


@pytest.mark.parametrize("name", WARTHOG)
def test_real_warthog_log(name: str, data: Path) -> None:
    seconds, lag = WARTHOG[name]
    log = gr.read_log(data / "warthog" / f"{name}.csv", manifest=EXAMPLES / "warthog" / "log.toml")
    assert log.duration == pytest.approx(seconds, abs=1.0)
    assert log.report.n_rejected <= 6
    assert not np.isnan(log.rates_array(gr.vehicle("warthog"))).any()
    found = assess(log)
    assert found.can_calibrate
    assert found.lag == pytest.approx(lag, abs=0.05)


def test_real_warthog_attitude_agrees_with_gravity_at_rest(data: Path) -> None:
    log = gr.read_log(data / "warthog/warthog_grass_20240808_1619.csv", manifest=EXAMPLES / "warthog/log.toml")
    assert log.attitude is not None
    assert log.acceleration is not None
    rest = (np.abs(log.rates["FL"]) < 1e-3) & (np.abs(log.rates["FR"]) < 1e-3) & (log.acceleration[:, 2] > 5.0)
    up = log.acceleration[rest] / np.linalg.norm(log.acceleration[rest], axis=1, keepdims=True)
    # An accelerometer at rest points up: (−sin pitch, sin roll, 1) for small angles.
    assert np.median(np.abs(np.arcsin(up[:, 1]) - log.attitude[rest, 0])) < np.radians(1.0)
    assert np.median(np.abs(-np.arcsin(up[:, 0]) - log.attitude[rest, 1])) < np.radians(1.5)


@pytest.mark.parametrize(
    ("file", "manifest", "windows"),
    [
        ("warthog_asphalt_20240807", "warthog", 300),
        ("warthog_sand_20240925_1413", "warthog", 300),
        ("warthog_gravel_20240806", "warthog-gravel", 300),
        ("husky_tile_20231212", "husky", 600),
    ],
)
def test_real_drive_windows(file: str, manifest: str, windows: int, data: Path) -> None:
    log = gr.read_log(data / f"drive-windows/{file}.csv", manifest=EXAMPLES / f"drive-windows/{manifest}.toml")
    assert log.n_segments == windows
    assert len(log) == 40 * windows
    assert log.report.n_rejected == 0
    np.testing.assert_array_equal(log.label["win"], log.segment)
    assert set(np.unique(log.label["steady"])) == {0.0, 1.0}
    first = np.searchsorted(log.poses.segment, np.arange(windows))
    assert np.abs(log.poses.position[first]).max() < 1e-9
    assert log.gyro is not None
    # Over a window the gyro turns the way the poses do, also on gravel, where its sign is the other one.
    last = np.append(first[1:], len(log.poses)) - 1
    turned = log.poses.attitude[last, 2] - log.poses.attitude[first, 2]
    gyro = np.add.reduceat(log.gyro[:, 2], log.segment_bounds[:-1]) * 0.05
    assert np.corrcoef(turned, gyro)[0, 1] > 0.85


@pytest.mark.parametrize(("kind", "runs"), [("tricycle", 14), ("differential", 54)])
def test_real_optiodom_runs_are_one_log(kind: str, runs: int, data: Path) -> None:
    files = sorted((data / "optiodom" / kind).rglob("*_run-*.csv"))
    log = gr.read_log(files, manifest=EXAMPLES / f"optiodom/{kind}.toml")
    assert log.n_segments == runs
    assert log.report.n_rejected == 0
    assert log.vehicle is not None
    vehicle = gr.vehicle(log.vehicle)
    steps = np.where(np.diff(log.segment) == 0, np.diff(log.time), 0.0)
    pose = log.poses
    turned = sum(np.abs(np.ptp(pose.attitude[pose.segment == k, 2])) for k in range(runs))
    if kind == "tricycle":
        rate = log.rates["drive"] * 0.0325 * np.sin(log.angles["steer"]) / 0.15
    else:
        rate = (log.rates["right"] - log.rates["left"]) * 0.042 / 0.2
    # Before calibration the geometry is right to some ten per cent.
    assert np.sum(np.abs(rate[1:]) * steps) == pytest.approx(turned, rel=0.15)
    assert set(log.rates) | set(log.angles) <= set(vehicle.joints)
