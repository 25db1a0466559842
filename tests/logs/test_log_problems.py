"""What is wrong with a log is found by its signals against each other, and nothing is found in good logs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from log_drives import rows, write
from log_hills import bare, full, hills

import grouser as gr
from grouser.errors import LogError
from grouser.logs.report import Problem

Columns = dict[str, np.ndarray]
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def problems(folder: Path, columns: Columns, manifest: dict[str, Any]) -> tuple[Problem, ...]:
    path = write(folder / "a.csv", rows(columns))
    return gr.read_log(path, manifest=manifest, strict=False).report.problems


def scaled(*names: str, by: float = -1.0) -> Callable[[Columns], None]:
    def change(columns: Columns) -> None:
        for name in names:
            columns[name] = columns[name] * by

    return change


def swapped(columns: Columns) -> None:
    columns["wl"], columns["wr"] = columns["wr"], columns["wl"]


def compass(columns: Columns) -> None:
    columns["yaw"] = 0.5 * np.pi - columns["yaw"]


def compass_degrees(columns: Columns) -> None:
    columns["yaw"] = np.degrees(0.5 * np.pi - columns["yaw"]) % 360.0


def north_east(columns: Columns) -> None:
    compass(columns)
    columns["x"], columns["y"] = columns["y"], columns["x"]


def backward(columns: Columns) -> None:
    columns["yaw"] = columns["yaw"] + np.pi


def askew(columns: Columns) -> None:
    columns["yaw"] = columns["yaw"] + 1.4


def late(columns: Columns) -> None:
    for name in ("x", "y", "z", "yaw", "k"):
        columns[name] = np.append(columns[name][:6], columns[name][:-6])


def constant_yaw(columns: Columns) -> None:
    columns["yaw"] = np.zeros_like(columns["yaw"])


DEGREES = 180.0 / np.pi
WRONG: dict[str, tuple[Callable[[Columns], None], str, str, str]] = {
    "left and right": (swapped, "error", "rates.FL, rates.BL", 'exchange "wl" and "wr"'),
    "left counts backward": (scaled("wl"), "error", "rates.FL, rates.BL", "sign = -1 for FL, BL"),
    "all count backward": (scaled("wl", "wr"), "error", "rates.FL, rates.FR, rates.BL, rates.BR", "sign = -1 for all"),
    "yaw in degrees": (scaled("yaw", by=DEGREES), "error", "pose.yaw", 'unit = "deg"'),
    "yaw of the other sign": (scaled("yaw"), "error", "pose.yaw", "sign = -1 for yaw"),
    "compass": (compass, "error", "pose.yaw", "name it heading instead of yaw"),
    "compass in degrees": (compass_degrees, "error", "pose.yaw", 'unit = "deg" for heading'),
    "yaw constant": (constant_yaw, "error", "pose.yaw", "name the column"),
    "sensor backward": (backward, "error", "sensor.yaw", "yaw = 3.1416"),
    "sensor askew": (askew, "error", "sensor.yaw", "set yaw = 1.39"),
    "attitude in degrees": (scaled("roll", "pitch", by=DEGREES), "error", "attitude.roll", 'unit = "deg"'),
    "pose late": (late, "warning", "sensor.lag", "set lag = 0.3"),
}
"""What is done to the columns → severity, key, remedy; with or without an IMU."""
WRONG_IMU: dict[str, tuple[Callable[[Columns], None], str, str, str]] = {
    "x north, y east": (north_east, "error", "pose.y", "left-handed"),
    "pitch": (scaled("pitch"), "error", "attitude.pitch", "sign = -1 for pitch"),
    "roll": (scaled("roll"), "error", "attitude.roll", "sign = -1 for roll"),
    "gyro z": (scaled("gz"), "warning", "gyro.z", "sign = -1 for z"),
    "gyro in degrees": (scaled("gx", "gy", "gz", by=DEGREES), "warning", "gyro.z", 'unit = "deg/s"'),
    "gyro y": (scaled("gy"), "warning", "gyro.y", "sign = -1 for gyro.y"),
    "accelerometer in g": (scaled("ax", "ay", "az", by=1.0 / 9.81), "warning", "acceleration.z", 'unit = "g"'),
    "accelerometer downward": (scaled("ax", "ay", "az"), "warning", "acceleration.z", "body axes"),
}


@pytest.mark.parametrize("imu", [True, False], ids=["imu", "bare"])
@pytest.mark.parametrize("case", WRONG.values(), ids=WRONG.keys())
def test_wrong_signal_is_named_with_its_remedy(case: Any, imu: bool, tmp_path: Path) -> None:
    change, severity, key, remedy = case
    columns = hills(1)
    change(columns)
    found = problems(tmp_path, columns, full() if imu else bare())
    assert (found[0].severity, found[0].key) == (severity, key)
    assert remedy in found[0].remedy
    assert {one.key.partition(".")[0] for one in found} == {key.partition(".")[0]}, "only what is wrong is named"


@pytest.mark.parametrize("case", WRONG_IMU.values(), ids=WRONG_IMU.keys())
def test_wrong_imu_or_attitude_is_named_with_its_remedy(case: Any, tmp_path: Path) -> None:
    change, severity, key, remedy = case
    columns = hills(2)
    change(columns)
    found = [one for one in problems(tmp_path, columns, full()) if one.key == key]
    assert [one.severity for one in found] == [severity]
    assert remedy in found[0].remedy


GOOD: dict[str, dict[str, Any]] = {
    "hills": {}, "slow": {"speed": 0.3, "turn": 0.3}, "straight": {"turn": 0.0}, "reversing": {"reverse": 0.5},
    "flat": {"height": 0.0}, "three tenths of the turn": {"turn_slip": -0.7, "slide": 0.08},
    "does not slide": {"slide": 0.0}, "gentle": {"speed": 1.0, "turn": 0.2, "height": 0.03}, "short": {"seconds": 25.0},
}  # fmt: skip


@pytest.mark.parametrize("character", GOOD.values(), ids=GOOD.keys())
@pytest.mark.parametrize("seed", [3, 4])
def test_good_log_gives_no_alarm(character: dict[str, Any], seed: int, tmp_path: Path) -> None:
    columns = hills(seed, **character)
    assert problems(tmp_path, columns, full()) == ()
    assert problems(tmp_path, columns, bare()) == ()


def test_pitch_without_imu_or_height_is_only_likely_wrong(tmp_path: Path) -> None:
    columns = hills(1, slide=0.06)
    scaled("pitch")(columns)
    (found,) = problems(tmp_path, columns, bare())
    assert (found.severity, found.key) == ("warning", "attitude.pitch")
    assert "likely" in found.message


def test_one_witness_against_the_pitch_is_word_against_word(tmp_path: Path) -> None:
    columns = hills(1, slide=0.0)
    scaled("ax")(columns)
    manifest = bare(acceleration={a: f"a{a}" for a in "xyz"})
    (found,) = problems(tmp_path, columns, manifest)
    assert found.severity == "warning"
    assert "or is the sign of acceleration.x wrong?" in found.remedy


def test_log_with_an_error_is_refused_unless_the_manifest_says_otherwise(tmp_path: Path) -> None:
    columns = hills(1)
    swapped(columns)
    path = write(tmp_path / "a.csv", rows(columns))
    with pytest.raises(LogError, match=r"a.csv, \[rates\] FL, BL: .* swapped; .* check_units = false"):
        gr.read_log(path, manifest=bare())
    log = gr.read_log(path, manifest=bare(limits={"check_units": False}))
    assert [one.severity for one in log.report.problems] == ["warning"]


def test_frozen_poses_are_left_out_and_counted(tmp_path: Path) -> None:
    columns = hills(1)
    for name in ("x", "y", "yaw"):
        columns[name][800:1600] = columns[name][800]
    log = gr.read_log(write(tmp_path / "a.csv", rows(columns)), manifest=bare())
    (rejected,) = (one for why, one in log.report.rejected_poses.items() if why.startswith("frozen"))
    assert rejected.count == pytest.approx(400 - 10, abs=10)
    inside = (log.poses.time > 45.0) & (log.poses.time < 79.9)
    assert not inside.any()
    assert "pose.x" in {one.key for one in log.report.problems}
    # Without a counter a pose that repeats is not new, and the hole is told.
    manifest = bare(pose={"x": "x", "y": "y", "yaw": "yaw"})
    found = problems(tmp_path, columns, manifest)
    assert "no new pose for 40 s" in next(one.message for one in found if one.key == "pose.x")


@pytest.mark.parametrize("counter", [True, False])
def test_poses_that_never_change_are_an_error(counter: bool, tmp_path: Path) -> None:
    columns = hills(1)
    for name in ("x", "y", "yaw"):
        columns[name][:] = 1.0
    pose = {"x": "x", "y": "y", "yaw": "yaw", **({"fresh": "k"} if counter else {})}
    found = problems(tmp_path, columns, bare(pose=pose))
    assert (found[0].severity, found[0].key) == ("error", "pose.x")


def test_time_of_a_dead_encoder_is_left_out(tmp_path: Path) -> None:
    columns = hills(1)
    columns["wl"][1000:1800] = 0.0
    log = gr.read_log(write(tmp_path / "a.csv", rows(columns)), manifest=bare())
    (found,) = log.report.problems
    assert (found.severity, found.key) == ("warning", "rates.FL, rates.BL")
    assert "from t = 50.0 s to 90.0 s" in found.message
    assert len(log) == 1600
    assert log.n_segments == 2
    assert not np.any((log.poses.time > 50.0) & (log.poses.time < 89.9))
    assert not np.any(log.rates["FL"] == 0.0)


def test_wheel_that_stands_while_the_vehicle_does_is_not_dead(tmp_path: Path) -> None:
    columns = hills(1)
    # Two minutes at rest in the middle, with the noise of the pose sensor.
    rest = {name: np.full(2400, column[1200]) for name, column in columns.items()}
    rest["wl"][:], rest["wr"][:] = 0.0, 0.0
    rng = np.random.default_rng(5)
    for name in ("x", "y"):
        rest[name] += np.repeat(0.01 * rng.normal(size=1200), 2)
    halves = {name: np.concatenate([c[:1200], rest[name], c[1200:]]) for name, c in columns.items()}
    halves["t"] = np.arange(4800) * 0.05
    halves["k"] = np.arange(4800.0) // 2
    assert problems(tmp_path, halves, bare()) == ()


def test_rows_without_numbers_and_jumps_are_told(tmp_path: Path) -> None:
    columns = hills(1)
    columns["wl"][::7] = np.nan
    columns["x"][1000:1100] += 500.0
    found = {one.key: one for one in problems(tmp_path, columns, bare())}
    assert set(found) == {"rates.FL", "limits.body_speed"}
    assert "14 %" in found["rates.FL"].message
    assert "by up to 500 m, first at t = 50.0" in found["limits.body_speed"].message


def test_jump_of_a_utm_zone_is_told(tmp_path: Path) -> None:
    columns = hills(1)
    columns["x"] += 833_000.0
    columns["x"][1200:] -= 666_000.0
    (found,) = problems(tmp_path, columns, bare())
    assert "UTM zone" in found.remedy


def test_clock_in_milliseconds_of_a_fast_log_is_told(tmp_path: Path) -> None:
    columns = hills(1)
    columns["t"] = columns["t"] * 100.0  # 5 ms a row, in ms
    for name in ("wl", "wr"):
        columns[name] = columns[name] * 10.0  # the same way in a tenth of the time
    found = problems(tmp_path, columns, bare(limits={"body_speed": 1e6}))
    assert "in ms?" in found[0].message


def test_steering_angle_of_the_other_sign_is_told(data: Path) -> None:
    files = sorted((data / "optiodom/tricycle").rglob("*_run-*.csv"))[:4]
    import tomllib

    folder = EXAMPLES / "optiodom"
    tables = tomllib.loads((folder / "tricycle.toml").read_text())
    tables["vehicle"] = str(folder / "tricycle-vehicle.toml")
    assert gr.read_log(files, manifest=tables).report.problems == ()
    tables["angles"] = {"steer": {"column": 5, "sign": -1}}
    (found,) = gr.read_log(files, manifest=tables, strict=False).report.problems
    assert (found.severity, found.key) == ("error", "angles")


REAL = {
    "warthog/warthog_asphalt_20240920_0813": "warthog/log", "warthog/warthog_grass_20240718_1659": "warthog/log",
    "warthog/warthog_grass_20240729_1446": "warthog/log", "warthog/warthog_grass_20240808_1556": "warthog/log",
    "warthog/warthog_grass_20240808_1619": "warthog/log",
    "drive-windows/warthog_asphalt_20240807": "drive-windows/warthog",
    "drive-windows/warthog_sand_20240925_1413": "drive-windows/warthog",
    "drive-windows/warthog_gravel_20240806": "drive-windows/warthog-gravel",
    "drive-windows/husky_tile_20231212": "drive-windows/husky",
}  # fmt: skip


@pytest.mark.parametrize("file", REAL)
def test_real_log_gives_no_alarm(file: str, data: Path) -> None:
    assert gr.read_log(data / f"{file}.csv", manifest=EXAMPLES / f"{REAL[file]}.toml").report.problems == ()


def test_gyro_of_the_gravel_windows_has_the_other_sign(data: Path) -> None:
    path = data / "drive-windows/warthog_gravel_20240806.csv"
    (found,) = gr.read_log(path, manifest=EXAMPLES / "drive-windows/warthog.toml").report.problems
    assert (found.severity, found.key) == ("warning", "gyro.z")


def test_accelerometer_shows_the_roll_also_in_curves(tmp_path: Path) -> None:
    from grouser.logs.tilt import GRAVITY, _without_turning
    from grouser.logs.windows import windows_of

    columns = hills(1, turn=2.0)
    log = gr.read_log(write(tmp_path / "a.csv", rows(columns)), manifest=full())
    slow = windows_of(log, 1.0)
    assert log.attitude is not None
    off = _without_turning(slow) / GRAVITY - slow.mean(log.attitude[:, 0])
    # The wheels' speed stands for the true one in `hills`, which is 5 % off; 2 m/s · 1 rad/s are 0.2 g.
    assert np.sqrt(np.mean(off**2)) < 0.03


def test_windows_take_the_lag_of_the_manifest_out(tmp_path: Path) -> None:
    from grouser.logs.windows import windows_of

    columns = hills(1)
    late(columns)
    log = gr.read_log(write(tmp_path / "a.csv", rows(columns)), manifest=full(sensor={"lag": 0.3}))
    assert log.report.problems == ()
    assert log.gyro is not None
    found = windows_of(log, 1.0)
    spun = found.change(log.gyro[:, 2] / np.cos(log.attitude[:, 1]) / np.cos(log.attitude[:, 0]))
    assert np.sqrt(np.mean((found.turn - spun) ** 2)) < 0.03


def test_missing_label_is_named_with_its_key_and_the_columns(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", rows(hills(1, 5.0)))
    with pytest.raises(LogError, match=r"a.csv: has no column 'window' \(\[labels\] win of .*\); .*columns are t, wl"):
        gr.read_log(path, manifest=bare(labels={"win": "window"}))
