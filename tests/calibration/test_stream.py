"""Streaming calibration: causal, in constant memory, and resumable to the last bit."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import grouser as gr
from grouser.calibration.calibrate import calibrate
from grouser.calibration.checkpoint import load_checkpoint, save_checkpoint
from grouser.calibration.follow import LogFollower
from grouser.calibration.simulated import log_of_motion
from grouser.calibration.stream import StreamingCalibrator
from grouser.logs import Log
from grouser.logs.log import Sensor
from grouser.logs.manifest import load_manifest
from grouser.motion.model import MotionModel
from grouser.motion.noise import Noise
from grouser.slip import BodySlip

NAMES = ["slip.p2", "slip.p6", "sensor.lag", "noise"]
PLANTED = (0.0, -0.05, 0.0, 0.0, 0.0, -0.3)
SENSOR = Sensor(x=0.1, lag=0.1, position_noise=0.01, yaw_noise=0.003)
WARTHOG = gr.vehicle("warthog")
START = MotionModel(model=gr.Kinematics(WARTHOG), sensor=SENSOR)


@pytest.fixture(scope="module")
def log() -> Log:
    """A minute of driving whose slip is known, with poses at 10 Hz."""
    t = np.arange(0.0, 60.0, 0.05)
    left, right = 3.0 + np.sin(0.4 * t), 3.0 + np.sin(0.4 * t) + 2.0 * np.sin(0.7 * t)
    noise = Noise(density=np.diag([1e-3, 2e-3, 5e-4]))
    truth = START.replace(model=gr.Kinematics(WARTHOG, slip=BodySlip(PLANTED)), noise=noise)
    attitude = np.stack([0.1 * np.sin(0.2 * t), 0.1 * np.cos(0.15 * t)], axis=1)
    rates = {"FL": left, "BL": left, "FR": right, "BR": right}
    return log_of_motion(truth, t, rates, attitude=attitude, poses_every=2, seed=3)


def feed(calibrator: StreamingCalibrator, log: Log, start: float = -math.inf, stop: float = math.inf) -> int:
    """Samples and poses of a log in the order of their times; returns the number of intervals learnt from."""
    events = [(t, 0, k) for k, t in enumerate(log.time.tolist())]
    events += [(t, 1, k) for k, t in enumerate(log.poses.time.tolist())]
    learnt = 0
    for t, kind, k in sorted(events):
        if not start <= t < stop:
            continue
        if kind == 0:
            rates = {joint: float(column[k]) for joint, column in log.rates.items()}
            assert log.attitude is not None
            learnt += len(calibrator.sample(t, rates, attitude=log.attitude[k].tolist()))
        else:
            learnt += len(calibrator.pose(t, log.poses.position[k].tolist(), log.poses.attitude[k].tolist()))
    return learnt


def test_a_stream_learns_what_the_same_log_teaches_as_a_whole(log: Log) -> None:
    stream = StreamingCalibrator(START, NAMES)
    learnt = feed(stream, log) + len(stream.end_stretch())
    whole = calibrate(START, log, NAMES, online=True)
    assert learnt == whole.training.intervals
    # Samples and arithmetic are the same; only the order of some sums differs.
    np.testing.assert_allclose(stream.filter.values, whole.vector, rtol=1e-7, atol=1e-10)
    fit = stream.fit("drive")
    assert fit.training.intervals == learnt
    assert abs(fit.values["slip.p2"] + 0.05) < 4.0 * fit.sigma["slip.p2"]
    assert abs(fit.values["slip.p6"] + 0.3) < 4.0 * fit.sigma["slip.p6"]


@pytest.mark.parametrize("options", [{}, {"distance": 3.0}, {"stride": 0.5}])
def test_a_calibrator_given_the_state_of_another_goes_on_to_the_last_bit(log: Log, options: dict[str, float]) -> None:
    whole = StreamingCalibrator(START, NAMES, **options)
    assert feed(whole, log) > 5
    first = StreamingCalibrator(START, NAMES, **options)
    feed(first, log, stop=23.456)
    second = first.copy()
    feed(second, log, start=23.456)
    assert second.state == whole.state
    assert first.state != whole.state


def test_memory_does_not_grow_while_standing_still_without_poses_or_with_them(log: Log) -> None:
    still = dict.fromkeys(("FL", "BL", "FR", "BR"), 0.0)
    for options in ({}, {"distance": 5.0}):
        for pose_every in (2, 10**9):
            calibrator = StreamingCalibrator(START, NAMES, **options)
            most = 0
            for k in range(6000):
                t = 0.05 * k
                calibrator.sample(t, still)
                if k % pose_every == 1:
                    calibrator.pose(t, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
                most = max(most, calibrator.held)
            assert calibrator.filter.updates == 0
            assert most < 2500  # a minute of samples and poses, and some


def test_what_cannot_be_used_is_counted_and_nothing_else_is_lost(log: Log) -> None:
    clean = StreamingCalibrator(START, NAMES)
    feed(clean, log)
    dirty = StreamingCalibrator(START, NAMES)
    feed(dirty, log, stop=30.0)
    rates = dict.fromkeys(("FL", "BL", "FR", "BR"), 1.0)
    dirty.sample(29.9, rates)
    dirty.sample(math.nan, rates)
    dirty.sample(30.0, {**rates, "FL": math.inf})
    dirty.pose(29.95, (math.nan, 0.0, 0.0), (0.0, 0.0, 0.0))
    dirty.pose(3.0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    feed(dirty, log, start=30.0)
    assert dirty.counts["samples_rejected"] == 3
    assert dirty.counts["poses_rejected"] == 2
    np.testing.assert_array_equal(dirty.filter.values, clean.filter.values)


def test_a_hole_or_a_clock_that_jumps_back_begins_a_new_stretch(log: Log) -> None:
    calibrator = StreamingCalibrator(START, NAMES)
    feed(calibrator, log, stop=20.0)
    feed(calibrator, log, start=24.0, stop=40.0)
    assert calibrator.counts["stretches"] == 2
    feed(calibrator, log, stop=20.0)
    assert calibrator.counts["stretches"] == 3
    assert calibrator.counts["samples_rejected"] == 0


def test_joints_the_vehicle_does_not_have_are_refused() -> None:
    calibrator = StreamingCalibrator(START, NAMES)
    with pytest.raises(gr.GrouserError, match="has no joint 'front'"):
        calibrator.sample(0.0, {"front": 1.0})
    calibrator.sample(0.0, {"FL": 1.0, "FR": 1.0})
    with pytest.raises(gr.GrouserError, match="lacks joint 'FR'"):
        calibrator.sample(0.1, {"FL": 1.0})


TABLES = {
    "vehicle": "warthog",
    "time": {"column": "t"},
    "rates": {"FL": "FL", "BL": "BL", "FR": "FR", "BR": "BR"},
    "attitude": {"roll": {"column": "roll", "lag": 0.1}, "pitch": {"column": "pitch", "lag": -0.1}},
    "pose": {"x": "x", "y": "y", "yaw": "yaw"},
}


def as_csv(log: Log) -> list[str]:
    """Rows of a log; a pose stands in the first row after it and is held until the next."""
    assert log.attitude is not None
    at = np.maximum(np.searchsorted(log.poses.time, log.time, side="right") - 1, 0)
    x, y, _ = log.poses.position[at].T
    columns = [log.time, *log.rates.values(), *log.attitude.T, x, y, log.poses.attitude[at, 2]]
    names = ["t", *log.rates, "roll", "pitch", "x", "y", "yaw"]
    return [",".join(names), *(",".join(repr(float(v)) for v in row) for row in zip(*columns, strict=True))]


def follower(path: Path) -> LogFollower:
    return LogFollower(path, load_manifest(TABLES), StreamingCalibrator(START, NAMES))


@pytest.mark.parametrize("piece", [611, 20_011])
def test_a_file_that_grows_teaches_the_same_as_one_that_is_whole(log: Log, tmp_path: Path, piece: int) -> None:
    text = ("\n".join(as_csv(log)) + "\n").encode()
    whole, growing = tmp_path / "whole.csv", tmp_path / "growing.csv"
    whole.write_bytes(text)
    growing.write_bytes(b"")
    one, other = follower(whole), follower(growing)
    list(one.advance())
    with growing.open("ab") as stream:
        for start in range(0, len(text), piece):
            stream.write(text[start : start + piece])
            stream.flush()
            list(other.advance())
    assert other.calibrator.state == one.calibrator.state
    assert other.finish()[0].calibrator.state == one.finish()[0].calibrator.state


def test_finishing_leaves_a_follower_where_it_was_so_that_it_can_go_on(log: Log, tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    rows = as_csv(log)
    path.write_text("\n".join(rows[:600]) + "\n")
    early = follower(path)
    list(early.advance())
    before = early.calibrator.state
    ended, learnt = early.finish()
    assert learnt
    assert ended.calibrator.filter.updates > early.calibrator.filter.updates
    assert early.calibrator.state == before
    path.write_text("\n".join(rows) + "\n")
    list(early.advance())
    late = follower(path)
    list(late.advance())
    assert early.calibrator.state == late.calibrator.state


@pytest.mark.parametrize("kept", [1, 5, 17])
def test_a_checkpoint_after_any_interval_resumes_to_the_same_bits(log: Log, tmp_path: Path, kept: int) -> None:
    path, checkpoint = tmp_path / "log.csv", tmp_path / "state.toml"
    path.write_text("\n".join(as_csv(log)) + "\n")
    one, other = follower(path), follower(path)
    for number, _ in enumerate(one.advance(), start=1):
        if number == kept:
            save_checkpoint(one, checkpoint)
    load_checkpoint(other, checkpoint)
    assert other.calibrator.filter.updates == kept
    list(other.advance())
    assert other.calibrator.state == one.calibrator.state
    assert other.rejected == one.rejected


def test_a_log_that_became_shorter_since_its_checkpoint_is_refused(log: Log, tmp_path: Path) -> None:
    path, checkpoint = tmp_path / "log.csv", tmp_path / "state.toml"
    path.write_text("\n".join(as_csv(log)) + "\n")
    one = follower(path)
    list(one.advance())
    save_checkpoint(one, checkpoint)
    path.write_text("\n".join(as_csv(log)[:150]) + "\n")
    other = follower(path)
    load_checkpoint(other, checkpoint)
    with pytest.raises(gr.GrouserError, match="shorter than it was when the checkpoint was written"):
        list(other.advance())


def test_rows_are_judged_as_when_the_whole_log_is_read(log: Log, tmp_path: Path) -> None:
    rows = as_csv(log)
    rows[100] = rows[100].replace(rows[100].split(",")[1], "", 1)
    rows[333] = "nonsense"
    rows[500:500] = ["# a remark", ""]
    rows[700] = rows[699]
    path = tmp_path / "log.csv"
    path.write_text("\n".join(rows) + "\n")
    read = gr.read_log(path, manifest=TABLES)
    end, _ = follower(path).finish()
    assert {reason: one.count for reason, one in read.report.rejected.items()} == {
        reason: count for reason, count in end.rejected.items() if not reason.startswith("poses")
    }
    assert end.calibrator.counts["samples"] == len(read)
    assert end.calibrator.counts["poses"] == len(read.poses)
    assert end.calibrator.counts["stretches"] == read.n_segments
