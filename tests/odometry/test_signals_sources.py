"""Which attitude and which bogie angle is used, and why: L §4.4.2."""

import math

import numpy as np
import pytest

import grouser as gr
from grouser import rotation
from grouser.odometry.sources import AttitudeSource, accelerometer_attitude, bogie_angle


def test_the_fusion_filter_is_used_while_it_is_fresh_then_the_imu_then_the_last_one():
    source = AttitudeSource(fresh=0.1)
    assert source.at(0.0).source == "level"
    source.imu(0.0, 0.2, 0.1)
    assert source.at(0.01).source == "imu"
    source.fused(0.02, 0.1, 0.0)
    assert source.at(0.02).source == "fused"
    source.imu(0.2, 0.2, 0.1)
    chosen = source.at(0.2)
    assert chosen.source == "imu"
    assert "fusion filter" in chosen.reason
    assert "0.18 s old" in chosen.reason
    held = source.at(1.0)
    assert held.source == "held"
    assert held.age == pytest.approx(0.8)
    assert (held.roll, held.pitch) == (chosen.roll, chosen.pitch)


def test_a_change_of_source_does_not_jump_and_fades_to_the_new_one():
    source = AttitudeSource(fresh=0.1, fade=0.5)
    before = None
    for k in range(600):
        t = 0.01 * k
        source.imu(t, 0.10, -0.05)
        if k < 100 or k >= 300:
            source.fused(t, 0.0, 0.0)
        now = source.at(t)
        if before is not None:
            # 0.1 rad apart, fading over 0.5 s: at most 0.1/0.5 rad/s.
            assert abs(now.roll - before.roll) < 0.01 * 0.1 / 0.5 * 1.01
        before = now
        if k in (99, 108, 150):  # the last fused sample, of t = 0.99 s, counts until 1.09 s
            assert now.roll == pytest.approx(0.1 * -math.expm1(-max(t - 1.09, 0.0) / 0.5), abs=1e-12)
        if k == 299:
            assert now.source == "imu"
            assert (now.roll, now.pitch) == pytest.approx((0.10, -0.05), abs=0.003)
    assert now.source == "fused"
    assert now.roll == pytest.approx(0.0, abs=1e-3)


def test_bad_and_late_samples_are_refused_and_counted():
    source = AttitudeSource()
    source.imu(1.0, 0.1, 0.2)
    source.imu(0.5, 0.9, 0.9)
    source.imu(1.1, math.nan, 0.0)
    source.fused(math.inf, 0.0, 0.0)
    assert source.refused == 3
    chosen = source.at(1.05)
    assert chosen.source == "imu"
    assert (chosen.roll, chosen.pitch) == pytest.approx((0.1, 0.2), abs=1e-15)


@pytest.mark.parametrize(("roll", "pitch"), [(0.2, 0.0), (0.0, 0.3), (-0.4, -0.2), (1.0, 0.9)])
def test_an_accelerometer_at_rest_tells_roll_and_pitch(roll, pitch):
    reading = rotation.from_rpy(roll, pitch, 1.0).T @ [0.0, 0.0, 9.81]
    np.testing.assert_allclose(accelerometer_attitude(reading), [roll, pitch], rtol=0.0, atol=1e-12)


def test_a_bogie_angle_is_the_motors_plus_a_fresh_deflection():
    assert bogie_angle(0.2).angle == 0.2
    assert bogie_angle(0.2).source == "motor"
    assert "not measured" in bogie_angle(0.2).reason
    both = bogie_angle(0.2, -0.05)
    assert both.angle == pytest.approx(0.15)
    assert both.source == "motor and spring"
    assert both.rate == 0.0
    stale = bogie_angle(0.2, -0.05, spring_age=0.5)
    assert stale.angle == 0.2
    assert "0.5 s old" in stale.reason
    assert bogie_angle(None).source == "none"
    assert math.isnan(bogie_angle(math.nan, 0.1).angle)
    with pytest.raises(gr.GrouserError):
        bogie_angle(0.2, fresh=0.0)
