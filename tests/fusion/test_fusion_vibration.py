"""IMU noise as it is seen, standstill of a vehicle that vibrates, and wheels that are the only source of velocity."""

import numpy as np
import pytest

from grouser.fusion import Fusion, FusionSettings

STILL = np.array([0.0, 0.0, 9.81])


def feed(fusion, seconds, rng, *, gyro=3e-3, force=1e-2, speed=0.0, wheels=None, acceleration=0.0, rate=100):
    """Samples of a level drive; gyro, force: sigma of one sample; wheels: speed that they show."""
    start = max(fusion.time, 0.0)
    for k in range(1, int(seconds * rate) + 1):
        t = start + k / rate
        fusion.imu(t, gyro * rng.standard_normal(3), STILL + [acceleration, 0, 0] + force * rng.standard_normal(3))
        shown = (speed + acceleration * k / rate) if wheels is None else wheels
        fusion.wheels(t, [0, 0, 0, shown, 0, 0], np.diag([1e-6, 1e-6, 1e-4, 1e-5, 1e-5, 1e-4]))


def test_vibration_widens_the_covariance_of_what_the_imu_alone_knows():
    """Wheels are silent for 5 s: noise ten times that of the settings gives ten times the sigma of yaw."""
    sigma = {}
    for times in (1.0, 10.0):
        rng, fusion = np.random.default_rng(3), Fusion()
        feed(fusion, 3.0, rng)
        for k in range(500):
            t = 3.0 + 0.01 * (k + 1)
            fusion.imu(t, times * 3e-3 * rng.standard_normal(3), STILL + times * 1e-2 * rng.standard_normal(3))
        sigma[times] = np.sqrt(np.diag(fusion.estimate.covariance))
    rotation_by_gyro = 10.0 * 3e-4 * np.sqrt(5.0)
    assert sigma[10.0][2] == pytest.approx(rotation_by_gyro, rel=0.25)


def test_noise_of_the_settings_is_kept_where_it_is_right():
    rng, fusion = np.random.default_rng(4), Fusion()
    feed(fusion, 5.0, rng)
    v = fusion._memory.imu.vibration
    np.testing.assert_allclose(np.sqrt(v[:3]), 3e-3, rtol=0.3)
    np.testing.assert_allclose(np.sqrt(v[3:]), 1e-2, rtol=0.3)


def test_steady_turning_is_no_vibration():
    fusion = Fusion()
    for k in range(300):
        fusion.imu(0.01 * k, [0.0, 0.0, 0.5 * 0.01 * k], STILL)
    assert fusion._memory.imu.vibration[2] < 1e-12


def test_an_engine_that_idles_does_not_hide_a_standstill():
    """Five times the noise of the settings at rest: it stands all the same, and the gyro's bias is found."""
    rng, fusion = np.random.default_rng(5), Fusion()
    for k in range(1500):
        t = 0.01 * k
        fusion.imu(t, [0.0, 0.0, 0.01] + 15e-3 * rng.standard_normal(3), STILL + 5e-2 * rng.standard_normal(3))
        fusion.wheels(t, np.zeros(6), 1e-5 * np.eye(6))
    assert fusion.standing
    assert fusion.estimate.gyro_bias[2] == pytest.approx(0.01, abs=3e-3)
    assert abs(fusion.estimate.yaw) < 0.02


def test_wheels_alone_are_not_lost_for_a_jolt():
    """Without poses a contradiction of half a second neither refuses the wheels for good nor opens slip for good."""
    rng, fusion = np.random.default_rng(6), Fusion(FusionSettings())
    feed(fusion, 2.0, rng)
    feed(fusion, 2.0, rng, acceleration=0.25)
    feed(fusion, 0.5, rng, speed=0.5, wheels=1.5)  # wheels jump, the vehicle does not
    before = fusion.estimate
    feed(fusion, 30.0, rng, speed=0.5)
    estimate = fusion.estimate
    assert "wheels" not in estimate.degraded
    assert estimate.twist[3] == pytest.approx(0.5, abs=0.05)
    assert abs(estimate.position[0] - before.position[0] - 15.0) < 1.5
    assert np.abs(estimate.slip[:2]).max() < 0.1
