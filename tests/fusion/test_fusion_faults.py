"""Bad inputs: each kind is counted, logged once, and the estimate goes on, less sure than before."""

import logging

import numpy as np
import pytest
from fusion_motions import standing

from grouser.errors import GrouserError
from grouser.fusion.filter import Fusion, FusionSettings

STILL = (np.zeros(3), np.array([0.0, 0.0, 9.81]))
IDENTITY = (np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]), 1e-6 * np.eye(6))


def step(fusion, seconds=0.01, gyro=STILL[0], force=STILL[1]):
    for _ in range(round(seconds / 0.01)):
        fusion.imu(fusion.time + 0.01, gyro, force)


def volume(fusion):
    return np.linalg.slogdet(fusion.estimate.covariance[:9, :9])[1]


def gap(f):
    f.imu(f.time + 0.5, *STILL)


CASES = {
    "imu_not_finite": lambda f: f.imu(f.time + 0.01, [np.nan, 0.0, 0.0], STILL[1]),
    "imu_time": lambda f: f.imu(f.time - 0.01, *STILL),
    "imu_gap": gap,
    "gyro_saturated": lambda f: f.imu(f.time + 0.01, [6.0, 0.0, 0.0], STILL[1]),
    "accelerometer_saturated": lambda f: f.imu(f.time + 0.01, STILL[0], [0.0, 41.0, 9.81]),
    "wheels_not_finite": lambda f: f.wheels(f.time, np.full(6, np.nan), np.eye(6)),
    "wheels_late": lambda f: f.wheels(f.time - 1.5 if f.time > 3.0 else 1.0, np.zeros(6), np.eye(6)),
    "wheels_refused": lambda f: f.wheels(f.time, [0, 0, 0, 3.0, 0, 0], 1e-4 * np.eye(6)),
    "pose_not_finite": lambda f: f.relative_pose(f.time - 0.1, f.time, [np.inf, 0, 0], *IDENTITY[1:]),
    "pose_late": lambda f: f.relative_pose(f.time - 1.4, f.time - 1.3, *IDENTITY),
    "pose_time": lambda f: f.relative_pose(f.time, f.time - 0.1, *IDENTITY),
    "pose_refused": lambda f: f.relative_pose(f.time - 0.1, f.time, [2.0, 0, 0], *IDENTITY[1:]),
    "too_early": lambda f: f.wheels(f.time + 5.0, np.zeros(6), np.eye(6)),
    "keyframe_late": lambda f: f.keyframe(f.time - 1.5),
}


@pytest.mark.parametrize("kind", CASES)
def test_each_fault_is_counted_logged_once_and_survived(kind, caplog):
    fusion = standing(3.0, history=0.5)
    before = fusion.faults.get(kind, 0)
    with caplog.at_level(logging.WARNING, "grouser.odometry"):
        for _ in range(3):
            CASES[kind](fusion)
            step(fusion, 0.02)
    assert fusion.faults[kind] == before + 3
    assert sum(f"({kind};" in record.getMessage() for record in caplog.records) == 1
    estimate = fusion.estimate
    assert np.isfinite(estimate.position).all()
    assert np.isfinite(estimate.covariance).all()
    assert (np.linalg.eigvalsh(estimate.covariance) > 0.0).all()


@pytest.mark.parametrize("kind", ["imu_not_finite", "imu_gap", "gyro_saturated", "accelerometer_saturated"])
def test_a_failing_imu_enlarges_the_covariance_and_says_so(kind):
    well, ill = standing(3.0), standing(3.0)
    CASES[kind](ill)
    if kind == "imu_not_finite":
        ill.imu(ill.time + 0.02, *STILL)  # the sample between is missing
    while well.time < ill.time - 1e-9:
        step(well)
    while ill.time < well.time - 1e-9:
        step(ill)
    assert ill.time == pytest.approx(well.time)
    assert "imu" in ill.estimate.degraded
    assert "imu" not in well.estimate.degraded
    assert volume(ill) > volume(well)


def test_missing_sources_are_named_and_come_back():
    fusion = standing(2.0)
    step(fusion, 1.5)
    assert set(fusion.estimate.degraded) == {"wheels", "poses"}
    assert fusion.faults["wheels_missing"] == 1
    fusion.wheels(fusion.time, np.zeros(6), 1e-4 * np.eye(6))
    fusion.relative_pose(fusion.time - 0.1, fusion.time, *IDENTITY)
    assert fusion.estimate.degraded == ()


def test_wheels_that_contradict_are_distrusted_and_trusted_again():
    """Wheels tell 1 m/s while relative poses stand; then they stand, too."""
    fusion = standing(2.0)

    def drive(seconds, speed):
        for k in range(round(seconds / 0.01)):
            step(fusion, gyro=np.array([0.02 * np.sin(k), 0.0, 0.0]))  # not quiet: no standstill
            fusion.wheels(fusion.time, [0, 0, 0, speed, 0, 0], 1e-4 * np.eye(6))
            if k % 10 == 0:
                fusion.relative_pose(fusion.time - 0.1, fusion.time, *IDENTITY)

    drive(3.0, 1.0)
    assert fusion.faults["wheels_distrusted"] == 1
    assert "wheels" in fusion.estimate.degraded
    assert np.linalg.norm(fusion.estimate.velocity) < 0.02
    drive(5.0, 0.0)
    assert "wheels" not in fusion.estimate.degraded


def test_poses_are_let_in_again_after_a_state_that_is_wrong():
    """Three seconds of an acceleration that never was, without poses: the gate must not lock them out for ever."""
    fusion = standing(2.0)
    step(fusion, 3.0, force=np.array([0.5, 0.0, 9.81]))  # 1.5 m/s that never were
    used = fusion.nis["poses"].used
    for k in range(300):
        step(fusion)
        if k % 10 == 9:
            fusion.relative_pose(fusion.time - 0.1, fusion.time, *IDENTITY)
    assert fusion.nis["poses"].used > used
    assert fusion.faults["pose_readmitted"] >= 1
    assert np.linalg.norm(fusion.estimate.velocity) < 0.1


def test_standing_holds_the_pose_for_minutes():
    """Zero velocity and an anchored pose: the yaw of a noisy gyro does not wander, its bias becomes known."""
    random = np.random.default_rng(3)
    fusion = Fusion(FusionSettings())
    for t in np.arange(0.0, 60.0, 0.01):
        fusion.imu(t, 0.003 * random.standard_normal(3) + 0.005, [0, 0, 9.81] + 0.01 * random.standard_normal(3))
        fusion.wheels(t, np.zeros(6), 1e-6 * np.eye(6))
    assert fusion.standing
    e = fusion.estimate
    assert np.linalg.norm(e.position) < 5e-3
    assert abs(e.yaw) < 2e-3
    assert e.gyro_bias == pytest.approx([0.005] * 3, abs=1e-4)
    assert not fusion.faults.keys() - {"poses_missing"}


def test_it_does_not_align_while_it_moves():
    fusion = Fusion(FusionSettings())
    for k in range(120):
        fusion.imu(0.01 * k, [0.0, 0.0, 0.3 * np.sin(0.2 * k)], STILL[1])
    assert fusion.faults["moving_start"] == 1
    assert np.sqrt(fusion.estimate.covariance[3, 3]) > 0.5


def test_memory_does_not_grow():
    fusion = standing(2.0, clones=4)
    size = sum(a.nbytes for a in fusion._memory)
    for _ in range(500):
        step(fusion)
        fusion.keyframe(fusion.time)
        fusion.wheels(fusion.time, np.zeros(6), 1e-4 * np.eye(6))
    assert sum(a.nbytes for a in fusion._memory) == size
    assert not fusion.faults.keys() - {"poses_missing"}


@pytest.mark.parametrize(
    "settings",
    [{"gate": 1.5}, {"gyro_noise": -1.0}, {"clones": 2}, {"slip": (0.1, 0.1)}, {"history": np.nan}, {"align": 0.0}],
)
def test_bad_settings_are_refused(settings):
    with pytest.raises(GrouserError, match=next(iter(settings))):
        FusionSettings(**settings)


def test_wrong_shapes_are_refused():
    fusion = standing(2.0)
    with pytest.raises(GrouserError, match="covariance"):
        fusion.wheels(2.0, np.zeros(6), np.eye(5))
