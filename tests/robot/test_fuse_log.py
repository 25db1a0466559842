"""`fuse_log`: a bag with jittered, out-of-order topics ends where the CSV of the same drive ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grouser.cli.app import run
from grouser.files import toml_value
from grouser.robot.fuse_log import FusedLog, fuse_log
from tests.logs.bag_drives import bag_manifest, columns, csv_manifest, write_bag, write_csv

pytest.importorskip("rosbags", reason="rosbags is not installed; it is in the extra [ros]")

LENGTH = 9.0
"""Of the drive [m], about."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("fuse")
    drive = columns(16.0)
    write_csv(made / "drive.csv", drive)
    write_bag(made / "bag", drive)
    return made


@pytest.fixture(scope="module")
def fused(folder: Path) -> tuple[FusedLog, FusedLog]:
    rows = fuse_log(folder / "drive.csv", manifest=csv_manifest())
    return rows, fuse_log(folder / "bag", manifest=bag_manifest())


def test_the_bag_ends_where_the_csv_ends(fused: tuple[FusedLog, FusedLog]) -> None:
    """Within a millimetre; every event of the bag is late by up to 0.08 s, and is replayed."""
    rows, bag = fused
    assert bag.robot.replays[0] > 100
    assert rows.robot.replays[0] == 0
    assert bag.replayed.events["imu"] == rows.replayed.events["imu"]
    assert bag.replayed.aligned is not None
    ends = [one.robot.estimate for one in fused]
    assert ends[0] is not None
    assert ends[1] is not None
    assert ends[1].position == pytest.approx(ends[0].position, abs=1e-3)
    assert ends[1].yaw == pytest.approx(ends[0].yaw, abs=1e-4)
    np.testing.assert_allclose(ends[1].pose_covariance, ends[0].pose_covariance, rtol=0.05, atol=1e-9)


def test_both_are_near_the_truth_and_judged(fused: tuple[FusedLog, FusedLog]) -> None:
    """The drive has no slip and exact sensors: what is left is the integration of 50 Hz samples."""
    for one in fused:
        assert one.judged is not None
        assert one.judged.distance == pytest.approx(LENGTH, rel=0.15)
        assert one.judged.end_error < 0.01 * one.judged.distance
        assert abs(one.judged.yaw_error) < 0.01
        assert one.no_nees is None
        assert one.not_held_out is None


def test_an_imu_mounted_the_wrong_way_is_noticed(folder: Path) -> None:
    """A flipped rotation of the IMU is a different estimate: the mounting is used."""
    wrong = fuse_log(folder / "bag", manifest=bag_manifest(imu_rpy=[np.pi, 0.0, 0.0]))
    right = fuse_log(folder / "bag", manifest=bag_manifest())
    assert right.judged is not None
    assert wrong.judged is not None
    assert wrong.judged.end_error > 10.0 * right.judged.end_error


def manifest_file(path: Path, tables: dict[str, Any]) -> str:
    """A manifest as TOML, every table in line."""
    lines = ['schema = "grouser/log@1"', *(f"{name} = {_inline(value)}" for name, value in tables.items())]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} = {_inline(one)}" for name, one in value.items()) + "}"
    return str(toml_value(value))


def test_the_command_says_clocks_frames_and_errors(folder: Path, tmp_path: Path, capsys: Any) -> None:
    manifest = manifest_file(tmp_path / "m.toml", bag_manifest())
    bag, out = str(folder / "bag"), tmp_path / "out.tum"
    assert run(["fuse", bag, "--manifest", manifest, "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert "tf imu_link → mast → base_link" in said
    assert "out of order" in said
    assert "came late and were replayed" in said
    assert "fused" in said
    assert "NEES" in said
    assert len(out.read_text().splitlines()) == 800
    assert run(["fuse", bag, "--manifest", manifest, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert {one["topic"] for one in result["clocks"]} == {"/imu", "/joint_states"}
    assert result["events"] == {"imu": 800, "joints": 800}
    assert result["end_error"] < 0.1


def test_pictures_and_pages_are_written(folder: Path, tmp_path: Path, capsys: Any) -> None:
    manifest = manifest_file(tmp_path / "m.toml", csv_manifest())
    plot, view = tmp_path / "a.png", tmp_path / "a.html"
    log = str(folder / "drive.csv")
    assert run(["fuse", log, "--manifest", manifest, "--plot", str(plot), "--view", str(view)]) == 0
    assert plot.stat().st_size > 10_000
    assert "wheel odometry" in view.read_text()
    assert run(["fuse", log, "--manifest", manifest, "--out", "a.txt"]) == 2
    assert "must end in .tum or .csv" in capsys.readouterr().err


def test_gps_and_a_compass_keep_the_estimate_in_the_world(folder: Path, tmp_path: Path) -> None:
    """Fixes of 0.3 m and headings of 0.05 rad, in a world that is turned and moved against the start."""
    drive = columns(16.0)
    random = np.random.default_rng(2)
    turn, n = 0.7, len(drive["t"])
    x, y = drive["x"], drive["y"]
    data = {
        **drive,
        "x": 5.0 + np.cos(turn) * x - np.sin(turn) * y + 0.3 * random.standard_normal(n),
        "y": -3.0 + np.sin(turn) * x + np.cos(turn) * y + 0.3 * random.standard_normal(n),
        "yaw": drive["yaw"] + turn + 0.05 * random.standard_normal(n),
    }
    tables = csv_manifest(pose="gps")
    tables["sensor"] = {"position_noise": 0.3, "yaw_noise": 0.05}
    tables["limits"] = {"check_units": False, "body_speed": 1000.0}
    fused = fuse_log(write_csv(tmp_path / "gps.csv", data), manifest=tables)
    assert fused.replayed.events["gps"] > 700
    assert fused.no_nees is not None
    assert fused.not_held_out is not None
    end = fused.robot.estimate
    assert end is not None
    truth = np.array(
        [5.0 + np.cos(turn) * x[-1] - np.sin(turn) * y[-1], -3.0 + np.sin(turn) * x[-1] + np.cos(turn) * y[-1]]
    )
    assert np.hypot(*(end.position[:2] - truth)) < 0.15
    assert end.yaw == pytest.approx(drive["yaw"][-1] + turn, abs=0.03)
