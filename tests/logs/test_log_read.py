"""Reading a log: damaged samples are counted, damaged files are refused, nothing is made up in between."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from log_drives import drive, manifest, rows, write

import grouser as gr
from grouser.errors import LogError


def reasons(log: gr.Log) -> dict[str, int]:
    return {reason: one.count for reason, one in log.report.rejected.items()}


def test_whole_file_comes_back_as_written(tmp_path: Path) -> None:
    columns = drive()
    log = gr.read_log(write(tmp_path / "a.csv", rows(columns)), manifest=manifest())
    np.testing.assert_array_equal(log.time, columns["t"])
    for joint, column in (("FL", "wl"), ("BL", "wl"), ("FR", "wr"), ("BR", "wr")):
        np.testing.assert_array_equal(log.rates[joint], columns[column])
    assert log.attitude is not None
    np.testing.assert_array_equal(log.attitude[:, 1], columns["pitch"])
    np.testing.assert_array_equal(log.poses.position[:, 1], columns["y"])
    np.testing.assert_array_equal(log.poses.position[:, 2], 0.0)
    assert log.n_segments == 1
    assert log.report.n_rejected == 0
    assert log.report.rows == log.report.samples == len(columns["t"])
    assert log.vehicle == "warthog"


def test_line_cut_off_at_the_end_is_rejected_even_if_it_looks_full(tmp_path: Path) -> None:
    lines = rows(drive())
    for cut in (5, len(lines[-1]) - 3):
        path = tmp_path / "a.csv"
        path.write_text("\n".join(lines[:-1]) + "\n" + lines[-1][:cut])
        log = gr.read_log(path, manifest=manifest())
        assert reasons(log) == {"cut off: the last line of the file does not end": 1}
        assert len(log) == len(lines) - 2


def test_damaged_rows_are_counted_and_the_others_kept(tmp_path: Path) -> None:
    lines = rows(drive())
    n = len(lines) - 1
    lines[10] = lines[10] + ",7"
    lines[20] = ",".join(lines[20].split(",")[:4])
    lines[30] = lines[30].replace(lines[30].split(",")[1], "oops", 1)
    lines[40] = lines[40].replace(lines[40].split(",")[2], "nan", 1)
    lines[50] = lines[50].replace(lines[50].split(",")[2], "", 1)
    lines[60] = '"' + lines[60]
    lines[70] = lines[70].replace(lines[70].split(",")[2], "inf", 1)
    log = gr.read_log(write(tmp_path / "a.csv", lines), manifest=manifest())
    found = reasons(log)
    assert found["the row has too few or too many columns"] == 3
    assert log.report.cells["text in number column wl"].count == 1
    assert found["rates.FL (column wl) is missing or not finite"] == 1
    assert found["rates.FR (column wr) is missing or not finite"] == 3
    assert len(log) == n - 7
    assert log.n_segments == 1
    first = log.report.rejected["the row has too few or too many columns"].first
    assert first == ("a.csv line 11", "a.csv line 21", "a.csv line 61")


def test_text_in_an_input_is_one_rejection_not_two(tmp_path: Path) -> None:
    lines = rows(drive())
    lines[30] = lines[30].replace(lines[30].split(",")[1], "oops", 1)
    log = gr.read_log(write(tmp_path / "a.csv", lines), manifest=manifest())
    assert len(log) == len(lines) - 2
    assert log.report.n_rejected == 1


def test_duplicates_and_late_rows_are_dropped_and_the_stretch_goes_on(tmp_path: Path) -> None:
    lines = rows(drive())
    lines[101:101] = [lines[100], lines[100]]
    lines.insert(300, lines[290])
    log = gr.read_log(write(tmp_path / "a.csv", lines), manifest=manifest())
    assert log.n_segments == 1
    assert reasons(log) == {
        "the time stamp repeats that of the row above": 2,
        "out of order: the time stamp lies before that of the row above": 1,
    }
    np.testing.assert_array_equal(log.time, drive()["t"])


def test_clock_that_jumps_back_begins_a_segment_and_loses_nothing(tmp_path: Path) -> None:
    columns = drive()
    columns["t"][300:] -= 10.0
    log = gr.read_log(write(tmp_path / "a.csv", rows(columns)), manifest=manifest())
    assert log.n_segments == 2
    assert len(log) == 600
    assert [gap.reason for gap in log.report.gaps] == ["clock jumped back"]
    assert np.all(np.diff(log.elapsed) > 0.0)
    assert log.duration == pytest.approx(29.95)


def test_gap_begins_a_segment_and_a_short_hole_does_not(tmp_path: Path) -> None:
    lines = rows(drive())
    del lines[401:403], lines[201:221]
    log = gr.read_log(write(tmp_path / "a.csv", lines), manifest=manifest())
    assert log.n_segments == 2
    assert log.report.gaps[0].duration == pytest.approx(1.05)
    longer = gr.read_log(tmp_path / "a.csv", manifest=manifest(segments={"longest_gap": 2.0}))
    assert longer.n_segments == 1


def test_nan_over_longer_than_a_gap_breaks_the_log(tmp_path: Path) -> None:
    columns = drive()
    columns["wl"][200:230] = np.nan
    log = gr.read_log(write(tmp_path / "a.csv", rows(columns)), manifest=manifest())
    assert log.n_segments == 2
    assert log.report.n_rejected == 30
    # Poses were measured there, but nothing says how the wheels turned.
    assert log.report.rejected_poses["between two segments, where the inputs are missing"].count == 30


def test_outage_of_an_input_breaks_the_log_and_of_the_pose_does_not(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", rows(drive()))
    short = [{"from": 10.0, "to": 10.1, "signal": "FL"}]
    log = gr.read_log(path, manifest=manifest(outages=short))
    assert log.n_segments == 2
    assert log.report.gaps[0].reason == "outage"
    assert not np.any((log.time >= 10.0) & (log.time <= 10.1))
    log = gr.read_log(path, manifest=manifest(outages=[{"from": 10.0, "to": 12.0, "signal": "pose"}]))
    assert log.n_segments == 1
    assert len(log) == 600
    assert not np.any((log.poses.time >= 10.0) & (log.poses.time <= 12.0))
    with pytest.raises(LogError, match=r"entry 1, field signal: 'sonar' is not a signal"):
        gr.read_log(path, manifest=manifest(outages=[{"from": 1.0, "to": 2.0, "signal": "sonar"}]))


def test_pose_is_fresh_where_it_changes_or_where_the_column_says(tmp_path: Path) -> None:
    columns = drive()
    held = (np.arange(600) // 2) * 2
    for name in ("x", "y", "yaw"):
        columns[name] = columns[name][held]
    columns["index"] = np.arange(600) // 4.0
    path = write(tmp_path / "a.csv", rows(columns))
    log = gr.read_log(path, manifest=manifest())
    np.testing.assert_array_equal(log.poses.time, columns["t"][::2])
    log = gr.read_log(path, manifest=manifest(pose={"fresh": "index"}))
    np.testing.assert_array_equal(log.poses.time, columns["t"][::4])


def test_segment_column_lets_each_window_have_its_own_clock(tmp_path: Path) -> None:
    columns = drive()
    columns["win"] = np.arange(600) // 40.0
    columns["t"] = np.arange(600) % 40 * 0.05
    log = gr.read_log(write(tmp_path / "a.csv", rows(columns)), manifest=manifest(segments={"column": "win"}))
    assert log.n_segments == 15
    assert log.report.n_rejected == 0
    assert log.report.n_gaps == 0
    np.testing.assert_array_equal(log.segment, np.arange(600) // 40)
    assert np.all(np.bincount(log.poses.segment) == 40)
    even = log.select(lambda k: k % 2 == 0)
    assert even.n_segments == 8


def test_several_files_are_segments_of_one_log(tmp_path: Path) -> None:
    paths = [write(tmp_path / f"{k}.csv", rows(drive(10.0 + k))) for k in range(3)]
    log = gr.read_log(paths, manifest=manifest())
    assert log.n_segments == 3
    assert log.report.files == ("0.csv", "1.csv", "2.csv")
    assert log.duration == pytest.approx(33.0 - 0.05)


def test_stray_pose_is_dropped_and_a_lost_sensor_begins_a_segment(tmp_path: Path) -> None:
    columns = drive()
    columns["x"][100] += 500.0
    log = gr.read_log(write(tmp_path / "a.csv", rows(columns)), manifest=manifest())
    assert log.n_segments == 1
    assert len(log.poses) == 599
    columns = drive()
    columns["x"][100:] += 500.0
    log = gr.read_log(write(tmp_path / "a.csv", rows(columns)), manifest=manifest())
    assert log.n_segments == 2
    assert len(log.poses) == 600
    assert log.report.gaps[0].reason == "pose jumped"


def test_yaw_is_unwrapped_inside_a_segment_only(tmp_path: Path) -> None:
    columns = drive()
    true = 0.5 * columns["t"]
    columns["yaw"] = (true + np.pi) % (2 * np.pi) - np.pi
    log = gr.read_log(write(tmp_path / "a.csv", rows(columns)), manifest=manifest(limits={"check_units": False}))
    np.testing.assert_allclose(log.poses.attitude[:, 2], true, rtol=0.0, atol=1e-12)


def test_quaternion_gives_the_same_attitude(tmp_path: Path) -> None:
    columns = drive()
    rpy = np.stack([columns["roll"], columns["pitch"], columns["yaw"]], axis=1)
    from grouser.rotation import from_rpy, to_quaternion

    for name, column in zip(("qw", "qx", "qy", "qz"), to_quaternion(from_rpy(*rpy.T)).T, strict=True):
        columns[name] = column
    pose = {"x": "x", "y": "y", "qw": "qw", "qx": "qx", "qy": "qy", "qz": "qz"}
    tables = manifest()
    tables["pose"] = pose
    log = gr.read_log(write(tmp_path / "a.csv", rows(columns)), manifest=tables)
    np.testing.assert_allclose(log.poses.attitude, rpy, rtol=0.0, atol=1e-12)


def test_parts_keep_segments_apart_and_never_share_a_sample(tmp_path: Path) -> None:
    log = gr.read_log([write(tmp_path / f"{k}.csv", rows(drive())) for k in range(2)], manifest=manifest())
    first, second = log.split(0.7)
    assert len(first) + len(second) == len(log)
    assert len(first.poses) + len(second.poses) == len(log.poses)
    assert (first.n_segments, second.n_segments) == (2, 1)
    middle = log.part(25.0, 35.0)
    assert middle.n_segments == 2
    assert middle.duration == pytest.approx(9.95)
    assert set(middle.poses.segment) == {0, 1}
    with pytest.raises(LogError, match="no samples"):
        log.part(1000.0, 1001.0)


def test_rates_in_joint_order_with_nan_for_what_is_not_measured(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", rows(drive()))
    log = gr.read_log(path, manifest=manifest(rates={"BL": "wl"}))
    array = log.rates_array(gr.vehicle("warthog"))
    assert array.shape == (600, 4)
    assert np.isnan(log.angles_array(gr.vehicle("warthog"))).all()
    assert not np.isnan(array).any()
    with pytest.raises(LogError, match="has no joint 'FL'; joints are D1"):
        log.rates_array(gr.vehicle("rocky7"))


FAULTS = {
    "empty": ("", r"is empty"),
    "heading only": ("t,wl\n", r"has no column|is empty except for its heading"),
    "binary": ("t,wl\n\0\1\2\n", r"is not text"),
    "missing column": (
        "t,wl,roll,pitch,x,y,yaw\n0,0,0,0,0,0,0\n",
        r"no column 'wr' \(\[rates\] FR .*\); did you mean 'wl'\? its",
    ),
    "no numbers": ("t,wl,wr,roll,pitch,x,y,yaw\n" + "a,b,c,d,e,f,g,h\n" * 5, r"none of its 5 rows can be used"),
    "no heading": ("0,0,0,0,0,0,0,0\n" * 5, r"if it has no heading, set header = false"),
}


@pytest.mark.parametrize(("content", "message"), FAULTS.values(), ids=FAULTS.keys())
def test_useless_file_is_refused_in_one_sentence(content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(content)
    with pytest.raises(LogError, match=message):
        gr.read_log(path, manifest=manifest())


def test_missing_file_and_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="no such file"):
        gr.read_log(tmp_path / "none.csv", manifest=manifest())
    with pytest.raises(LogError, match="folder"):
        gr.read_log(tmp_path, manifest=manifest())
    with pytest.raises(LogError, match="from 1 to 10000 files; 0 are given"):
        gr.read_log([], manifest=manifest())


def test_poses_of_a_sensor_that_catches_up_are_left_out_for_as_long_as_the_hole(tmp_path: Path) -> None:
    """Poses queue up behind a slow one: after a hole of 0.5 s those of the next 0.5 s are late, and are counted."""
    columns = drive(10.0)
    held = (columns["t"] > 4.0 + 1e-9) & (columns["t"] < 4.5 - 1e-9)
    for name in ("x", "y", "yaw"):
        columns[name][held] = columns[name][np.flatnonzero(held)[0] - 1]
    path = write(tmp_path / "drive.csv", rows(columns))
    plain = gr.read_log(path, manifest=manifest())
    steady = gr.read_log(path, manifest=manifest(pose={"catches_up": True}))
    late = (plain.poses.time > 4.0 + 1e-9) & (plain.poses.time <= 5.0 + 1e-9)
    np.testing.assert_array_equal(steady.poses.time, plain.poses.time[~late])
    (reason,) = [r for r in steady.report.rejected_poses if r.startswith("late")]
    assert steady.report.rejected_poses[reason].count == np.count_nonzero(late) > 5
    assert not any(r.startswith("late") for r in plain.report.rejected_poses)
