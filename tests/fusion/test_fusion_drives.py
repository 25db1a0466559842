"""Simulated drives of an LRU: the fusion beats its inputs, survives their faults, and is as sure as it may be."""

import numpy as np
import pytest

from experiments.consistency import PARTS, consistency, errors, logarithm, nees
from experiments.fusion import SCENARIOS, SETTINGS, evaluate
from experiments.fusion_drives import lru_sensors
from experiments.sensors import exponential
from grouser.fusion.sensor_log import fuse

SEEDS = range(100, 103)
GROUNDS = (12, 13, 14, 15)


@pytest.fixture(scope="module")
def suites():
    return [lru_sensors("crab", ground) for ground in GROUNDS]


@pytest.fixture(scope="module")
def suite(suites):
    return suites[0]


@pytest.fixture(scope="module")
def outcomes(suites):
    return {scenario.name: evaluate(suites, scenario, "crab", SEEDS) for scenario in SCENARIOS}


@pytest.mark.parametrize("scenario", [scenario.name for scenario in SCENARIOS])
def test_fusion_beats_each_of_its_inputs(outcomes, scenario):
    row = outcomes[scenario].row()
    for source in ("wheels", "visual", "imu"):
        assert row["fusion_end"] < row[f"{source}_end"], source
        assert row["fusion_rms"] < row[f"{source}_rms"], source


@pytest.mark.parametrize("scenario", [scenario.name for scenario in SCENARIOS])
def test_mean_nees_over_the_drive_is_in_the_band(outcomes, scenario):
    """The band is that of 12 runs at one time; the mean over all times must be in it as well."""
    c = outcomes[scenario].consistency
    assert c.band[0] < c.average < c.band[1]


@pytest.mark.parametrize("scenario", [scenario.name for scenario in SCENARIOS])
def test_faults_are_counted(outcomes, scenario):
    expected = {
        "10 s without images": "poses_missing",
        "a stuck wheel": "wheels_distrusted",
        "IMU saturated": "gyro_saturated",
        "5 % outliers": "pose_refused",
    }
    faults = outcomes[scenario].fused.faults
    if scenario in expected:
        assert faults[expected[scenario]] >= 1
    if scenario == "no fault":
        assert not any(kind.startswith(("imu", "gyro", "acc")) or "late" in kind for kind in faults)


def test_the_true_path_closes_under_its_own_imu(suite):
    """IMU readings without noise, integrated by the filter alone, come back to the path: the IMU model is right."""
    t = suite.path.start + 0.01 * np.arange(8000)
    from grouser.fusion.filter import Fusion

    start = suite.path.position(suite.path.start)
    fusion = Fusion(SETTINGS.replace(gyro_noise=1e-6, acceleration_noise=1e-6), position=start, yaw=_yaw(suite))
    gyro, force = suite.path.rate(t), suite.path.specific_force(t, SETTINGS.imu_position)
    for k in range(len(t)):
        fusion.imu(t[k], gyro[k], force[k])
    assert np.linalg.norm(fusion.estimate.position - suite.path.position([fusion.time])[0]) < 0.1


def test_errors_and_nees_agree_with_a_known_perturbation(suite):
    """χ_true = χ Exp(δ): an estimate displaced by δ has that error, and NEES δᵀ P⁻¹ δ / 9."""
    from dataclasses import replace

    from grouser import rotation

    drive = suite.sense(0)
    fused = fuse(drive.log, SETTINGS, every=500)
    t = fused.time
    delta = np.array([0.01, -0.02, 0.03, 0.1, 0.2, -0.1, 1.0, -2.0, 0.5])
    R = rotation.from_quaternion(drive.path.quaternion(t)) @ exponential(-np.repeat(delta[None, :3], len(t), axis=0))
    V = np.linalg.norm(delta[:3])
    K = np.array([[0, -delta[2], delta[1]], [delta[2], 0, -delta[0]], [-delta[1], delta[0], 0]])
    J = np.eye(3) + (1 - np.cos(V)) / V**2 * K + (V - np.sin(V)) / V**3 * K @ K
    moved = replace(
        fused,
        quaternion=rotation.to_quaternion(R),
        velocity=drive.path.velocity(t) - R @ J @ delta[3:6],
        position=drive.path.position(t) - R @ J @ delta[6:9],
    )
    assert errors(moved, drive)[:, :9] == pytest.approx(np.tile(delta, (len(t), 1)), abs=1e-9)
    expected = [delta @ np.linalg.solve(P[:9, :9], delta) / 9.0 for P in moved.covariance]
    assert nees(moved, drive, "navigation") == pytest.approx(expected)


def test_consistency_of_chi_square_samples_is_inside_and_of_larger_ones_above():
    random = np.random.default_rng(0)
    t = np.arange(400.0)
    runs = list(random.chisquare(15, (20, 400)) / 15.0)
    honest = consistency(t, runs)
    assert honest.degrees == len(PARTS["all"]) == 15
    assert honest.inside > 0.9
    assert consistency(t, [1.5 * run for run in runs]).above > 0.9


def test_logarithm_inverts_the_exponential():
    vectors = np.random.default_rng(0).uniform(-1.5, 1.5, (50, 3))
    assert logarithm(exponential(vectors)) == pytest.approx(vectors, abs=1e-12)


def _yaw(suite):
    from grouser import rotation

    return float(rotation.to_rpy(rotation.from_quaternion(suite.path.quaternion(suite.path.start)))[2])
