"""A body that turns over its wheels: gyro, attitude, uneven ground, and wheels that stand or fall silent.

The ramps are geometry of its own: wheel centres follow the offset of a polyline, and nothing of the package.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import grouser as gr
from experiments.on_board_odometry import ramp_drive, ramp_errors
from grouser.odometry import EncoderNoise
from tests.oracles.wheel_jacobians import wheel_jacobians

LRU = gr.vehicle("lru2")
STRAIGHT = dict.fromkeys((f"steer{w}" for w in LRU.wheels), 0.0)
LEVER = 0.365 + 0.125  # height of the LRU's body over the ground [m]
SMALL = 1e-5
SLIP = [-0.7, -0.2, -0.3, -0.2, 0.1, -0.4]


def rates(value=4.0, **other):
    return dict.fromkeys(LRU.wheels, value) | other


def twist(gyro, rate=4.0, model=None, steer=0.0, **options):
    angles = dict.fromkeys(STRAIGHT, steer)
    return gr.Odometry(model or LRU, **options).update(0.0, rates(rate), angles, (0.05, -0.1), gyro)


def test_wheels_that_stand_on_the_ground_move_a_body_that_pitches_over_them():
    # Absolute spin zero is a joint rate of −ω_y: v_x = ω_y times the height over the axles.
    e = twist((0.0, 0.1, 0.0), rate=-0.1)
    assert e.twist[:3] == pytest.approx([0.0, 0.1, 0.0])
    assert e.twist[3:] == pytest.approx([0.0365, 0.0, 0.0], abs=1e-12)
    assert twist((0.0, -0.1, 0.0), rate=0.1).twist[3] == pytest.approx(-0.0365)


def test_a_rigid_body_that_rolls_moves_sideways():
    husky = gr.vehicle("husky")
    place = husky.wheel_positions[:, 2] - husky.arrays.radius
    e = gr.Odometry(husky).update(0.0, dict.fromkeys(husky.wheels, 0.0), None, (0.0, 0.0), (0.2, 0.0, 0.0))
    assert e.twist[4] == pytest.approx(0.2 * place.mean(), rel=1e-9)  # ω_x × (0, 0, z) is −z ω_x along y


@pytest.mark.parametrize("slip", [None, "body", "wheels"])
@pytest.mark.parametrize("told", [(1, 1, 1), (1, 1, 0), (0, 1, 0), (0, 0, 1)])
def test_noise_of_the_gyro_enters_by_its_slope(slip, told):
    model = None if slip is None else gr.Kinematics(LRU, slip=gr.slip.BodySlip(SLIP, apply=slip))
    gyro = np.where(told, [0.1, 0.2, 0.3], np.nan)
    noise = EncoderNoise(rate=0.0, attitude=0.0, gyro=0.1)
    found = twist(gyro, model=model, steer=0.1, noise=noise).twist_covariance
    expected = np.zeros((6, 6))
    for i in np.flatnonzero(told):
        d = SMALL * np.eye(3)[i]
        up, down = (twist(gyro + s * d, model=model, steer=0.1).twist for s in (1.0, -1.0))
        expected += 0.01 * np.outer(up - down, up - down) / (2.0 * SMALL) ** 2
    assert np.abs(expected[:3, 3:]).max() > 1e-4 or told == (0, 0, 1)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("slip", [None, "body", "wheels"])
def test_noise_of_rates_and_angles_enters_by_its_slope_where_turn_rates_are_known(slip):
    model = LRU if slip is None else gr.Kinematics(LRU, slip=gr.slip.BodySlip(SLIP, apply=slip))
    gyro, spins = (0.1, 0.2, math.nan), np.array([4.0, 4.5, 3.7, 4.2])

    def sample(spins, steer, **options):
        angles = dict.fromkeys(STRAIGHT, 0.2) | {"steerFR": steer}
        return gr.Odometry(model, slip_scale=0.0, **options).update(
            0.0, dict(zip(LRU.wheels, spins, strict=True)), angles, (0.05, -0.1), gyro
        )

    noise = EncoderNoise(rate={"BR": 0.04}, angle={"steerFR": 0.1}, attitude=0.0, gyro=0.0)
    found = sample(spins, 0.25, noise=noise).twist_covariance
    d = np.eye(4)[LRU.wheels.index("BR")] * SMALL
    by_rate = (sample(spins + d, 0.25).twist - sample(spins - d, 0.25).twist) / (2.0 * SMALL)
    by_angle = (sample(spins, 0.25 + SMALL).twist - sample(spins, 0.25 - SMALL).twist) / (2.0 * SMALL)
    expected = 0.04 * np.outer(by_rate, by_rate) + 0.01 * np.outer(by_angle, by_angle)
    assert np.abs(expected[:2]).max() < 1e-15
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=2e-3 * np.abs(expected).max())


def test_an_axis_that_the_gyro_does_not_measure_is_the_wheels_own():
    turning = rates() | {"FR": 4.4, "BR": 4.4}
    plain = gr.Odometry(LRU).update(0.0, turning, STRAIGHT, (0.0, 0.0))
    odometry = gr.Odometry(LRU)
    e = odometry.update(0.0, turning, STRAIGHT, (0.0, 0.0), (0.0, 0.05, math.nan))
    assert e.twist[2] == pytest.approx(plain.twist[2], rel=1e-6)
    assert e.twist[3] == pytest.approx(plain.twist[3] + 0.05 * LEVER, rel=1e-6)
    assert odometry.faults == {}


@pytest.mark.parametrize("silent", [(math.nan,) * 3, (0.0, math.inf, 0.0)])
def test_a_gyro_that_tells_nothing_or_nonsense_is_a_fault(silent):
    odometry = gr.Odometry(LRU)
    odometry.update(0.0, rates(), STRAIGHT, (0.0, 0.0), silent)
    assert odometry.faults == {"gyro": 1}


def test_attitude_alone_moves_the_body_over_its_wheels_and_back():
    odometry = gr.Odometry(LRU)
    for k, pitch in enumerate([0.0, 0.1, 0.2, 0.3]):
        e = odometry.update(0.1 * k, rates(-1.0), STRAIGHT, (0.0, pitch))
    # −1 rad/s for 0.3 s is the pitch: the wheels have not turned, the axles stay. The sum is exact.
    assert e.position == pytest.approx([0.365 * math.sin(0.3), 0.0, 0.365 * (math.cos(0.3) - 1.0)], abs=2.5e-3)


def test_the_first_attitude_is_no_turn():
    e = gr.Odometry(LRU, yaw=0.3).update(0.0, rates(), STRAIGHT, (0.2, -0.3))
    assert e.yaw == pytest.approx(0.3, abs=1e-12)


def test_errors_of_attitude_move_the_body_but_do_not_add_up():
    def after(n, noise):
        odometry = gr.Odometry(LRU, noise=EncoderNoise(attitude=noise, rate=0.0))
        for k in range(n):
            e = odometry.update(0.01 * k, rates(0.0), STRAIGHT, (0.0, 0.0))
        return e.pose_covariance

    assert np.sqrt(after(50, 0.01)[3, 3]) == pytest.approx(math.sqrt(2.0) * 0.01 * LEVER, rel=1e-6)
    assert after(500, 0.01) == pytest.approx(after(50, 0.01), abs=1e-15)
    # Pitch too high puts the body too far ahead: rotation about y and x of the body are correlated.
    assert after(50, 0.01)[1, 3] == pytest.approx(0.01**2 * LEVER, rel=1e-6)


@pytest.mark.parametrize("gyro", [False, True])
def test_on_a_ramp_of_twenty_degrees_the_body_is_where_it_is(gyro):
    drive = ramp_drive(np.random.default_rng(0), slopes=[(2.0, 0.0), (2.0, math.radians(20.0)), (6.0, 0.0)], way=5.4)
    found = ramp_errors(drive, gyro=gyro, noise=0.0)
    sigma = np.sqrt(found.covariance[:, [0, 2], [0, 2]])
    assert np.abs(found.error[:, 0]).max() < 0.012  # it was 0.176 m
    assert np.abs(found.error[-1, [0, 2]]).max() < 0.006
    assert (np.abs(found.error[100::50, [0, 2]]) < 3.0 * sigma[100::50] + 1e-3).mean() > 0.97
    assert found.faults == {}


def test_estimated_contact_angles_make_no_faults_and_halve_the_error_of_height():
    drive = ramp_drive(np.random.default_rng(0), slopes=[(2.0, 0.0), (2.0, math.radians(20.0)), (6.0, 0.0)], way=5.4)
    zero, estimated = (ramp_errors(drive, mode=mode, gyro=True, noise=0.0) for mode in ("zero", "estimated"))
    assert estimated.faults == {}
    assert np.abs(estimated.error[:, 2]).max() < 0.6 * np.abs(zero.error[:, 2]).max()
    assert np.sqrt(estimated.covariance[-1, 2, 2]) > np.abs(estimated.error[-1, 2])


def test_without_a_gyro_the_speed_on_uneven_ground_is_as_unsure_as_the_body_turns():
    def sample(pitch_rate):
        odometry = gr.Odometry(LRU)
        for k in range(200):
            e = odometry.update(0.01 * k, rates(), STRAIGHT, (0.0, 0.01 * k * pitch_rate))
        return e

    sigma = math.sqrt(sample(0.2).twist_covariance[3, 3])
    assert sigma == pytest.approx(0.2 * LEVER, rel=0.2)  # the lever lengthens the way
    assert math.sqrt(sample(0.0).twist_covariance[3, 3]) < 0.01


def test_a_missing_wheel_costs_what_its_average_was_worth():
    def after(measured, dropped):
        odometry = gr.Odometry(LRU, measured=measured)
        for k in range(400):
            given = rates()
            if dropped:
                del given["FR"]
            e = odometry.update(0.02 * k, given, STRAIGHT, (0.0, 0.0))
        return e.pose_covariance, odometry.faults

    lost, faults = after(None, True)
    assert faults == {"rate": 400}
    assert lost == pytest.approx(after(["FL", "BL", "BR"], True)[0], rel=1e-6, abs=1e-15)
    assert np.sqrt(lost[2, 2]) < 0.01


@pytest.mark.parametrize("lost", [("FL", "BL"), ("FR", "BR")])
def test_a_skid_steered_vehicle_without_one_side_knows_its_speed_by_the_gyro(lost):
    def sample(gyro):
        odometry = gr.Odometry("husky")
        given = {w: 3.0 for w in odometry.vehicle.wheels if w not in lost}
        return odometry.update(0.0, given, None, (0.0, 0.0), gyro)

    assert sample(None).twist_covariance[2, 2] > 0.1
    e = sample((0.0, 0.0, 0.2))
    assert e.twist_covariance[2, 2] < 1e-4
    side = -1.0 if lost[0] == "FL" else 1.0
    husky = gr.vehicle("husky")
    arm = abs(husky.wheel_positions[0, 1])
    assert e.twist[3] == pytest.approx(3.0 * husky.arrays.radius[0] + 0.2 * side * arm, rel=1e-6)


@pytest.mark.parametrize("name", ["lru2", "husky"])
def test_parked_nothing_grows(name):
    odometry = gr.Odometry(name)
    still = np.zeros((180001, odometry.vehicle.n_joints))
    found = odometry.run(0.02 * np.arange(len(still)), still, still, np.zeros((len(still), 2)))["pose_covariance"]
    assert found[-1] == pytest.approx(found[10], abs=0.0)
    assert np.sqrt(found[-1, 2, 2]) < 3e-4


def test_one_count_now_and_then_is_as_unsure_as_the_count():
    odometry = gr.Odometry(LRU)
    for k in range(1001):
        e = odometry.update(0.02 * k, rates(0.1 if k % 100 == 50 else 0.0), STRAIGHT, (0.0, 0.0))
    way = 10 * 0.1 * 0.02 * 0.125
    assert e.position[0] == pytest.approx(way)
    # Ten counts of four wheels, each of a sample with noise and of the one after it.
    sigma = 0.125 * math.sqrt(0.0086) * 0.02 / 2.0
    assert 3.0 * sigma < math.sqrt(e.pose_covariance[3, 3] - 2.0 * (0.005 * LEVER) ** 2) < 6.0 * sigma


def test_free_and_held_bogies():
    # One wheel 40 % too fast: with bogies that stand it is L (4.35), free ones let the wheel lift its side.
    spins = np.array([4.0, 5.6, 4.0, 4.0])
    given = dict(zip(LRU.wheels, spins, strict=True))
    printed = wheel_jacobians(LRU).body_velocity(spins)
    held = gr.Odometry(LRU, bogies="held").update(0.0, given, STRAIGHT, (0.0, 0.0))
    free = gr.Odometry(LRU).update(0.0, given, STRAIGHT, (0.0, 0.0))
    assert held.twist[[3, 4, 5, 0, 1, 2]] == pytest.approx(printed, abs=1e-9)
    assert held.twist[2] == pytest.approx(0.0539, abs=1e-4)
    assert free.twist[2] == pytest.approx(0.0672, abs=1e-4)
    with pytest.raises(gr.errors.OdometryError, match="bogies"):
        gr.Odometry(LRU, bogies="loose")
