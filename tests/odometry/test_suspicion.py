"""Wheels that lie are found, left out and taken back; wheels that roll are not accused. Truth by its own geometry."""

import math
import pickle

import numpy as np
import pytest

import grouser as gr
from experiments.on_board_wheels import DT, PLACES, Drive, lru_drive, run_odometry
from grouser.odometry import EncoderNoise, WheelSuspicion
from grouser.odometry.motor_slip import MotorSlipDetector

WHEELS = list(PLACES)
HUSKY = gr.vehicle("husky")


def drive(slip=0.0, wheel=1, start=4.0, end=99.0, velocity=(0.5, 0.0, 0.0), seconds=12.0, seed=0) -> Drive:
    """Of the LRU-2, with one wheel too fast by a part of its speed from a start to an end [s]."""
    t = DT * np.arange(round(seconds / DT))
    lie = slip * ((t > start) & (t < end))[:, None] * (np.arange(4) == wheel)
    return lru_drive(np.tile(velocity, (len(t), 1)), lie, np.random.default_rng(seed))


@pytest.mark.parametrize("wheel", range(4))
@pytest.mark.parametrize(("slip", "delay"), [(0.4, 0.7), (-0.5, 0.7), (0.1, 1.2)])
def test_a_wheel_that_lies_is_flagged_soon_and_taken_back_when_it_agrees(wheel, slip, delay):
    out = run_odometry(drive(slip, wheel, 4.0, 9.0), gyro=True)
    t = out["time"]
    flagged = (out["excluded"] | out["suspected"]) > 0
    assert not flagged[t < 4.0].any()
    assert flagged[(t > 4.0 + delay) & (t < 9.0)].all()
    assert (out["excluded"][(t > 6.0) & (t < 9.0)] == 1 << wheel).all()
    assert not flagged[t > 10.5].any()


@pytest.mark.parametrize("slip", [0.4, -0.6])
def test_the_pose_forgets_what_the_wheel_did_before_it_was_left_out(slip):
    """The path without it since the slip began is taken, so that heading is as without slip, within a few sigma."""
    lying, honest = drive(slip), drive(0.0)
    believed = run_odometry(lying, gyro=False, suspicion=False)
    found, reference = run_odometry(lying, gyro=False)[-1], run_odometry(honest, gyro=False)[-1]
    assert abs(believed[-1]["yaw"]) > 0.3
    assert abs(found["yaw"] - reference["yaw"]) < 0.015
    assert abs(found["position"][1] - reference["position"][1]) < 0.05


def test_until_it_is_decided_the_covariance_covers_both():
    """A wheel at 40 % turns the heading by 0.067 rad/s: 0.3 s after it began the error is within three sigmas."""
    out = run_odometry(drive(0.4), gyro=False)
    during = out[(out["time"] > 4.2) & (out["time"] < 4.45)]
    assert not during["excluded"].any()
    sigma = np.sqrt(during["pose_covariance"][:, 2, 2])
    assert (np.abs(during["yaw"]) < 3.0 * sigma).all()


@pytest.mark.parametrize("velocity", [(0.5, 0.0, 0.0), (0.4, 0.0, 0.3), (0.3, 0.3, 0.0), (0.0, 0.0, 0.5)])
def test_ordinary_drives_and_slip_that_all_share_raise_no_alarm(velocity):
    one = drive(velocity=velocity, seconds=40.0)
    rates = one.rates * (1.0 + 0.3 * np.sin(one.time)[:, None] ** 2)  # of all wheels alike
    rates[:, 2] *= 1.02  # a tyre that is a little smaller
    shared = Drive(time=one.time, rates=rates, steering=one.steering, truth=one.truth, gyro=one.gyro)
    out = run_odometry(shared, gyro=False)
    assert not (out["excluded"] | out["suspected"]).any()


def test_a_bump_of_a_third_of_a_second_raises_no_alarm():
    one = drive(0.3, start=4.0, end=4.3)
    out = run_odometry(one, gyro=False)
    assert not (out["excluded"] | out["suspected"]).any()
    assert abs(out[-1]["yaw"]) < 0.02


def test_evidence_grows_no_faster_than_time_while_wheels_have_the_largest_ordinary_error():
    """E R = t bounds the time between false alarms; here with the error at three sigmas all the time, 100 drives."""
    rng = np.random.default_rng(1)
    totals = []
    for _ in range(100):
        steady = dict.fromkeys(WHEELS, 4.0)
        odometry = gr.Odometry("lru2", noise=EncoderNoise(rate=0.01))
        steering = {f"steer{w}": 0.0 for w in WHEELS}
        for k in range(60):
            rates = {w: r + 0.1 * rng.standard_normal() for w, r in steady.items()}
            odometry.update(0.02 * k, rates, steering, (0.0, 0.0))
        suspects = odometry._store.suspicion.suspects
        totals.append([float(np.sum(one.evidence)) for one in suspects])
    mean = np.mean(totals)
    assert mean < 6 * 1.2  # six statistics a wheel, 1.2 s
    assert mean > 1e-6


def husky(lie, gyro=True, seconds=14.0, doubt=None, seed=0):
    """Straight at 0.5 m/s, both wheels of a side alike; those in `lie` too fast from 4 s on."""
    rng = np.random.default_rng(seed)
    odometry = gr.Odometry(HUSKY)
    radius = HUSKY.arrays.radius[0]
    if doubt is not None:
        odometry.doubt(doubt)
    for k in range(round(seconds / DT)):
        side = 0.5 / radius + 0.05 * rng.standard_normal(2)
        rates = {
            w: side[i % 2] * (1.0 + (lie.get(w, 0.0) if k * DT > 4.0 else 0.0)) for i, w in enumerate(HUSKY.wheels)
        }
        turn = (0.0, 0.0, 0.005 * rng.standard_normal()) if gyro else None
        e = odometry.update(k * DT, rates, None, (0.0, 0.0), turn)
    return odometry, e


def test_of_two_wheels_on_a_side_the_gyro_tells_which_and_without_it_the_estimate_covers_both():
    _, told = husky({"FR": 0.4})
    assert told.excluded.tolist() == [w == "FR" for w in HUSKY.wheels]
    odometry, untold = husky({"FR": 0.4}, gyro=False)
    assert not untold.excluded.any()
    assert untold.suspected.tolist() == [w in ("FR", "BR") for w in HUSKY.wheels]
    assert odometry.faults["wheel_slips"] > 400
    assert abs(untold.yaw) < 2.0 * math.sqrt(untold.pose_covariance[2, 2])


@pytest.mark.parametrize("slip", [0.5, -1.0])
def test_a_side_that_lies_against_the_gyro_widens_the_speed_and_motors_can_tell_which(slip):
    left = {"FL": slip, "BL": slip}
    _, e = husky(left)
    assert e.suspected.all()
    speeds = sorted([0.5, 0.5 * (1.0 + slip)])
    assert e.twist[3] == pytest.approx(np.mean(speeds), abs=0.05)
    assert math.sqrt(e.twist_covariance[3, 3]) == pytest.approx(0.5 * (speeds[1] - speeds[0]), rel=0.3)
    assert abs(e.position[0] - 7.0) < 2.0 * math.sqrt(e.pose_covariance[3, 3])
    _, told = husky(left, doubt=[8.0 * (w in left) for w in HUSKY.wheels])
    assert told.excluded.tolist() == [w in left for w in HUSKY.wheels]
    assert told.position[0] == pytest.approx(7.0, abs=0.15)


def test_suspicion_goes_on_in_a_copy_and_ends_with_a_reset(caplog):
    one = drive(0.4)
    odometry = gr.Odometry("lru2")
    lru = odometry.vehicle
    for k in range(400):
        rates = dict(zip(WHEELS, one.rates[k], strict=True))
        e = odometry.update(one.time[k], rates, {f"steer{w}": 0.0 for w in WHEELS}, (0.0, 0.0))
    assert [w for w, out in zip(lru.wheels, e.excluded, strict=True) if out] == ["FR"]
    assert e.wheels == 3
    assert e.degraded
    assert sum("wheel_slips" in line for line in caplog.messages) == 1
    copies = [odometry, pickle.loads(pickle.dumps(odometry)), odometry.continued(gr.Kinematics(lru))]
    after = [c.update(8.0, rates, {f"steer{w}": 0.0 for w in WHEELS}, (0.0, 0.0)) for c in copies]
    for other in after[1:]:
        np.testing.assert_array_equal(other.excluded, after[0].excluded)
        np.testing.assert_allclose(other.pose_covariance, after[0].pose_covariance, rtol=1e-12)
    odometry.reset()
    e = odometry.update(0.0, rates, {f"steer{w}": 0.0 for w in WHEELS}, (0.0, 0.0))
    assert not e.excluded.any()


def test_bad_rules_are_refused():
    with pytest.raises(gr.GrouserError, match="hours"):
        WheelSuspicion(hours=0.0)
    with pytest.raises(gr.GrouserError, match="suspicion"):
        gr.Odometry("lru2", suspicion="often")
    with pytest.raises(gr.GrouserError, match="doubt"):
        gr.Odometry("lru2").doubt([1.0])


# --- motors ------------------------------------------------------------------------------------------------------


def swinging(seed, drop):
    """Power of four motors whose torque swings by 60 % of its mean at 2 to 6 Hz, as of L Fig. 4.5; wheel 1 lets go at
    20 s for 2 s."""
    rng = np.random.default_rng(seed)
    t = 0.01 * np.arange(2200)
    f, phase = rng.uniform(2.0, 6.0, 4), rng.uniform(0.0, 2.0 * np.pi, 4)
    swing = np.sin(2.0 * np.pi * f * t[:, None] + phase)
    torque = 3.0 * (1.0 + 0.6 * swing + 0.2 * rng.standard_normal((len(t), 4)))
    torque[2000:, 1] *= drop
    rates = 4.0 + 0.1 * swing + 0.09 * rng.standard_normal((len(t), 4))
    return t, rates, np.abs(torque * rates)


def test_loss_of_grip_is_found_within_the_ripple_of_the_motors():
    """Power falls to 0.3 of its mean, 1.4 sigmas of the samples: it is found; none is without."""
    hits = 0
    for seed in range(4):
        detector = MotorSlipDetector(4)
        found = [detector.update(*row) for row in zip(*swinging(seed, 0.3), strict=True)]
        slips = np.array([one.unloaded | one.spinning for one in found])
        assert not slips[:2000].any()
        assert not slips[:, [0, 2, 3]].any()
        hits += slips[2000:, 1].any()
        assert found[-1].evidence[1] > 5.0
        assert (found[-1].evidence[[0, 2, 3]] < 5.0).all()
    assert hits == 4


def test_rates_of_joints_between_body_and_wheels_are_slopes_of_their_angles():
    """Not of the angles themselves: a bogie that stands at 0.2 rad does not turn."""
    rover = gr.vehicle("rocky7")
    odo = gr.Odometry(gr.Kinematics(rover), measured=rover.joints, suspicion=WheelSuspicion())
    slopes = np.linspace(-0.1, 0.1, rover.n_joints)
    for k in range(200):
        t = 0.02 * k
        odo.update(t, np.ones(rover.n_joints), 0.2 + slopes * t, (0.0, 0.0))
    np.testing.assert_allclose(odo._store.suspicion.angle_rate, slopes, rtol=0.0, atol=1e-9)
