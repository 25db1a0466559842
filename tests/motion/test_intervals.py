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
    np.testing.assert_allclose(cut.times, [[0, 2], [2, 4], [4, 6], [6, 8], [8, 10]], atol=1e-12)
    np.testing.assert_allclose(cut.measured[:, 0], 2.4, atol=1e-12)
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
    np.testing.assert_allclose(np.diff(cut.times[:, 0]), 0.5, atol=1e-9)
    assert cut.overlapping
    assert not cut_log(log, MOTION, interval=2.0, stride=2.0).overlapping


def test_relative_poses_turn_positions_and_subtract_yaws():
    position = np.array([[1.0, 2.0, 0.5], [1.0, 5.0, 0.7]])
    attitude = np.array([[0.0, 0.0, np.pi / 2], [0.1, -0.2, np.pi / 2 + 0.3]])
    found = relative_poses(*np.concatenate([position, attitude], axis=1)[:, None])[0]
    np.testing.assert_allclose(found, [3.0, 0.0, 0.2, 0.1, -0.2, 0.3], atol=1e-12)  # ahead, as it faced +y


def test_only_keeps_what_belongs_together():
    cut = cut_log(straight_log(np.full(101, 4.0)), MOTION, interval=2.0)
    with_velocity = replace(cut, velocity=np.arange(15.0).reshape(5, 3))
    part = with_velocity.only(slice(1, 4))
    assert len(part) == 3
    np.testing.assert_array_equal(part.times, cut.times[1:4])
    np.testing.assert_array_equal(part.velocity, with_velocity.velocity[1:4])
