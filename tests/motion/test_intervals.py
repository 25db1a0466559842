"""Intervals: by time and distance, never at rest, never across gaps and outages; overlaps are flagged."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from grouser.calibration.simulated import log_of_motion
from grouser.errors import CalibrationError
from grouser.logs import Log
from grouser.motion.intervals import cut_log, relative_poses
from tests.motion import planted_logs as drives

MOTION = drives.slipping(np.zeros(6))


def straight_log(rates, dt: float = 0.1, segment=None) -> Log:
    rates = np.asarray(rates, dtype=np.float64)
    t = dt * np.arange(len(rates))
    return log_of_motion(MOTION, t, drives.side_rates(drives.warthog(), rates, rates), segment=segment, seed=None)


def without_poses(log: Log, start: float, stop: float) -> Log:
    p = log.poses
    kept = (p.time < start) | (p.time > stop)
    poses = replace(p, time=p.time[kept], position=p.position[kept], attitude=p.attitude[kept], segment=p.segment[kept])
    return replace(log, poses=poses)


def test_by_time_they_follow_one_another():
    cut = cut_log(straight_log(np.full(101, 4.0)), MOTION, interval=2.0)
    np.testing.assert_allclose(cut.times, [[0, 2], [2, 4], [4, 6], [6, 8], [8, 10]], rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(cut.measured[:, 0], 2.4, rtol=0.0, atol=1e-12)
    assert not cut.overlapping


def test_by_distance_they_last_longer_where_it_is_slower():
    rates = np.concatenate([np.full(60, 5.0), np.full(100, 2.0)])  # 1.5 and 0.6 m/s
    cut = cut_log(straight_log(rates), MOTION, interval=None, distance=1.5)
    assert np.all(cut.measured[:, 0] >= 1.5 - 1e-9)
    assert np.all(cut.measured[:, 0] < 1.5 + 0.151)  # a pose each 0.1 s
    assert cut.duration[0] == pytest.approx(1.0)
    assert cut.duration[-1] == pytest.approx(2.5)


def test_none_takes_whole_stretches():
    log = straight_log(np.full(100, 4.0), segment=np.repeat([0, 1], 50))
    cut = cut_log(log, MOTION, interval=None)
    assert len(cut) == 2
    np.testing.assert_allclose(cut.duration, 4.9)


def test_standing_still_is_left_out():
    rates = np.concatenate([np.full(50, 4.0), np.zeros(100), np.full(50, 4.0)])
    cut = cut_log(straight_log(rates), MOTION, interval=2.0)
    assert np.all(cut.measured[:, 0] > 0.2)
    inside = (cut.times[:, 0] > 5.2) & (cut.times[:, 1] < 14.8)
    assert not inside.any()


def test_a_log_that_never_moves_is_refused_in_a_sentence():
    with pytest.raises(CalibrationError, match="no interval"):
        cut_log(straight_log(np.zeros(100)), MOTION)


def test_no_interval_reaches_across_segments():
    log = straight_log(np.full(200, 4.0), segment=np.repeat([0, 1, 2, 3], 50))
    cut = cut_log(log, MOTION, interval=2.0)
    assert len(cut) == 8
    for (low, high), (t0, t1), k in zip(cut.ranges, cut.times, cut.segment, strict=True):
        assert log.segment[low] == log.segment[high - 1] == k
        assert log.time[low] <= t0 < t1 <= log.time[high - 1]


@pytest.mark.parametrize("asked", [{"interval": 2.0}, {"interval": None, "distance": 2.4}], ids=["time", "distance"])
def test_an_outage_of_the_poses_is_not_bridged(asked):
    log = without_poses(straight_log(np.full(301, 4.0)), 10.05, 16.05)
    cut = cut_log(log, MOTION, **asked)
    assert np.all(cut.duration < 2.2)
    assert not np.any((cut.times[:, 0] < 10.1) & (cut.times[:, 1] > 16.0))
    assert np.any(cut.times[:, 0] > 16.0)


def test_a_stride_shorter_than_the_interval_overlaps_and_says_so():
    log = straight_log(np.full(101, 4.0))
    cut = cut_log(log, MOTION, interval=2.0, stride=0.5)
    np.testing.assert_allclose(np.diff(cut.times[:, 0]), 0.5, rtol=0.0, atol=1e-9)
    assert cut.overlapping
    assert not cut_log(log, MOTION, interval=2.0, stride=2.0).overlapping


def test_relative_poses_turn_positions_and_subtract_yaws():
    position = np.array([[1.0, 2.0, 0.5], [1.0, 5.0, 0.7]])
    attitude = np.array([[0.0, 0.0, np.pi / 2], [0.1, -0.2, np.pi / 2 + 0.3]])
    found = relative_poses(*np.concatenate([position, attitude], axis=1)[:, None])[0]
    np.testing.assert_allclose(found, [3.0, 0.0, 0.2, 0.1, -0.2, 0.3], rtol=0.0, atol=1e-12)  # ahead, as it faced +y


def test_only_keeps_what_belongs_together():
    cut = cut_log(straight_log(np.full(101, 4.0)), MOTION, interval=2.0)
    with_velocity = replace(cut, velocity=np.arange(15.0).reshape(5, 3))
    part = with_velocity.only(slice(1, 4))
    assert len(part) == 3
    np.testing.assert_array_equal(part.times, cut.times[1:4])
    np.testing.assert_array_equal(part.velocity, with_velocity.velocity[1:4])


def windows(count: int, samples: int, rate: float = 4.0):
    """A log of short windows, each a segment."""
    t = np.tile(0.05 * np.arange(samples), count)
    rates = drives.side_rates(drives.warthog(), np.full(len(t), rate), np.full(len(t), rate))
    return log_of_motion(MOTION, t, rates, segment=np.repeat(np.arange(count), samples), poses_every=2, seed=None)


def test_a_window_of_two_seconds_is_an_interval_of_two_seconds():
    cut = cut_log(windows(10, 40), MOTION, interval=2.0)  # 40 samples 0.05 s apart: the last pose comes at 1.9 s
    assert len(cut) == 10
    np.testing.assert_allclose(cut.duration, 1.9)
    assert cut.note == ""


def test_what_is_not_used_is_counted_with_its_reason():
    long, short = windows(1, 101), windows(9, 31)
    both = replace(
        long,
        time=np.concatenate([long.time, short.time]),
        segment=np.concatenate([long.segment, short.segment + 1]),
        rates={j: np.concatenate([long.rates[j], short.rates[j]]) for j in long.rates},
        attitude=np.concatenate([long.attitude, short.attitude]),
        poses=replace(
            long.poses,
            **{n: np.concatenate([getattr(p, n) for p in (long.poses, short.poses)]) for n in ("time", "position")},
            attitude=np.concatenate([long.poses.attitude, short.poses.attitude]),
            segment=np.concatenate([long.poses.segment, short.poses.segment + 1]),
        ),
    )
    cut = cut_log(both, MOTION, interval=2.0)
    assert cut.skipped.segments == 10
    assert cut.skipped.unused == 9
    assert cut.skipped.used == pytest.approx(4.0)
    assert cut.skipped.short == pytest.approx(1.0 + 9 * 1.5)
    assert "2 intervals of 2 s in 1 of 10 segments, 4 of 18 s" in cut.note
    assert "shorter than 2 s" in cut.note
    standing = np.full(401, 4.0)
    standing[200:] = 0.0
    stood = cut_log(straight_log(standing), MOTION, interval=2.0)
    assert stood.skipped.slow > 5.0
    assert "standing or too slow" in stood.note
