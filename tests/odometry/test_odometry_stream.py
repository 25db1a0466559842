"""Streaming: the same as the prediction of logs, for as long as one likes, in constant memory."""

import gc
import math
import sys
import tracemalloc

import numpy as np
import pytest

import grouser as gr
from grouser.calibration import log_of_motion
from grouser.motion import Noise
from grouser.motion.planar import Bicycle, DifferentialDrive, FourNumbers
from grouser.motion.slip_surface import Perturbative
from grouser.odometry import EncoderNoise

SLIP = np.array([-0.5, -0.1, -0.6, -0.3, 0.05, -0.4])
NOISE = Noise(density=np.diag([2e-3, 1e-3, 3e-3]))
SURFACE = np.array([-0.1, -0.02, 0.03, 0.01, 0.02, 0.15, -0.05, 0.01, 0.01, -0.5, 0.1, 0.02, -0.01])


def winding(seconds=10.0, dt=0.05, jitter=0.0):
    t = dt * np.arange(round(seconds / dt) + 1)
    t[1:-1] += jitter * dt * np.random.default_rng(0).uniform(-1.0, 1.0, len(t) - 2)
    left = 4.0 + 2.0 * np.sin(0.7 * t) + 1.5 * np.sin(2.3 * t)
    right = 4.0 + 2.0 * np.cos(1.1 * t)
    return t, left, right, 0.2 * np.stack([np.sin(0.9 * t), 0.8 * np.cos(1.3 * t)], axis=1)


def models():
    warthog, recbot = gr.vehicle("warthog"), gr.vehicle("recbot")
    return {
        "plain": gr.Kinematics(warthog),
        "slip at the wheels": gr.Kinematics(warthog, slip=gr.slip.BodySlip(SLIP)),
        "slip of the body": gr.Kinematics(warthog, slip=gr.slip.BodySlip(SLIP, apply="body")),
        "weights": gr.Kinematics(warthog, weights=gr.kinematics.Weights(lateral=0.3)),
        "perturbative": Perturbative(vehicle=warthog, slip=SURFACE),
        "differential": DifferentialDrive(vehicle=warthog, yaw_gain=0.6),
        "four numbers": FourNumbers(vehicle=warthog, speed_gain=0.9, yaw_gain=0.5, lateral=-0.1, yaw_per_speed=0.01),
        "bicycle": Bicycle(vehicle=recbot, speed_gain=0.9, steering_offset=0.02, wheelbase=1.6),
        "perturbative bicycle": Perturbative(vehicle=recbot, slip=SURFACE),
    }


@pytest.mark.parametrize("name", list(models()))
@pytest.mark.parametrize("jitter", [0.0, 0.4])
def test_streaming_is_the_prediction_of_the_log(name, jitter):
    model = models()[name]
    motion = gr.MotionModel(model=model, noise=NOISE)
    t, left, right, attitude = winding(jitter=jitter)
    vehicle = motion.vehicle
    side = dict(zip(vehicle.wheels, vehicle.wheel_positions[:, 1], strict=True))
    rates = {w: left if y > 0.0 else right for w, y in side.items()}
    angles = {one.joint: 0.3 * np.sin(0.8 * t) for one in vehicle.steering}
    log = log_of_motion(motion, t, rates, angles=angles, attitude=attitude, seed=None)
    predicted = motion.predict(log, interval=None)
    odometry = gr.Odometry(motion, noise=EncoderNoise(rate=0.0, attitude=0.0))
    for k in range(len(t)):
        e = odometry.update(
            t[k], {w: v[k] for w, v in rates.items()}, {j: v[k] for j, v in angles.items()}, attitude[k]
        )
    pose = predicted.pose[-1]
    assert predicted.times[-1, 0] == t[0]
    assert predicted.times[-1, 1] == t[-1]
    assert e.position == pytest.approx(pose[:3], abs=1e-9)
    assert e.yaw == pytest.approx(pose[5], abs=1e-9)
    assert odometry.faults == {}
    # Its covariance too: of x, y, yaw in the frame of the start, less what the pose sensor adds.
    world = e.ros_pose_covariance().reshape(6, 6)
    s = motion.sensor
    turn = np.array([[1.0, 0.0, -pose[1]], [0.0, 1.0, pose[0]], [0.0, 0.0, 1.0]])
    single = np.diag([s.position_noise**2] * 2 + [s.yaw_noise**2])
    sensor = single + turn @ single @ turn.T
    assert predicted.covariance[-1] - sensor == pytest.approx(world[np.ix_([0, 1, 5], [0, 1, 5])], rel=1e-6, abs=1e-12)


def test_arrays_and_names_are_the_same():
    odometry, other = gr.Odometry("lru2"), gr.Odometry("lru2")
    names = odometry.vehicle.joints
    random = np.random.default_rng(0)
    for k in range(5):
        rates, angles = random.normal(3.0, 1.0, len(names)), random.normal(0.0, 0.2, len(names))
        one = odometry.update(0.01 * k, rates, angles)
        two = other.update(0.01 * k, dict(zip(names, rates, strict=True)), dict(zip(names, angles, strict=True)))
    assert one.position.tolist() == two.position.tolist()
    assert one.twist_covariance.tolist() == two.twist_covariance.tolist()


def test_an_estimate_does_not_change_later():
    odometry = gr.Odometry("husky")
    rates = dict.fromkeys(odometry.vehicle.wheels, 5.0)
    first = odometry.update(0.0, rates)
    kept = first.position.tolist(), first.twist.tolist(), first.pose_covariance.tolist()
    first.position[:] = 9.0
    for k in range(1, 20):
        odometry.update(0.01 * k, {**rates, "FL": 7.0})
    assert (first.position.tolist(), first.twist.tolist(), first.pose_covariance.tolist()) == kept


def test_memory_does_not_grow():
    motion = gr.MotionModel(model=gr.Kinematics(gr.vehicle("warthog"), slip=gr.slip.BodySlip(SLIP)))
    odometry = gr.Odometry(motion)
    rates = np.zeros(odometry.vehicle.n_joints)

    def drive(first, last):
        for k in range(first, last):
            rates[:] = 3.0
            if k % 50 == 0:
                rates[k % 4] = math.nan  # a fault must not pile up either
            odometry.update(0.01 * (k if k % 70 else k - 5), rates, None, (0.01 * math.sin(k), 0.0))

    drive(0, 15000)
    gc.collect()
    objects = sys.getallocatedblocks()
    drive(15000, 40000)
    gc.collect()
    assert sys.getallocatedblocks() - objects < 1000  # nothing per sample: one object in each would be 25 000
    tracemalloc.start()
    drive(40000, 40300)
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    drive(40300, 41000)
    gc.collect()
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert after - before < 50000  # bytes; the 105 numbers of one estimate in each would be 588 000
    assert odometry.faults["rate"] > 500
    assert odometry.faults["time"] > 400


def test_after_a_year_time_is_as_exact_as_its_stamps():
    # Late in the year stamps are multiples of 3.7e-9 s: binary fractions of a second are exact there, and so is h.
    husky = gr.vehicle("husky")
    rates = dict.fromkeys(husky.wheels, 5.0)
    dt = 1.0 / 128.0
    ends = []
    for start in (0.0, 3.0e7):
        odometry = gr.Odometry(husky)
        for k in range(1281):
            e = odometry.update(start + dt * k, {**rates, "FL": 6.0})
        ends.append(e)
    assert ends[1].position.tolist() == ends[0].position.tolist()
    assert ends[1].pose_covariance.tolist() == ends[0].pose_covariance.tolist()
    assert ends[1].time == 3.0e7 + 10.0


def test_far_from_the_start_small_steps_are_not_lost():
    husky = gr.vehicle("husky")
    rates = dict.fromkeys(husky.wheels, 0.1)
    near, far = gr.Odometry(husky), gr.Odometry(husky, position=(1e5, -1e5, 0.0))
    for k in range(4000):
        a, b = near.update(0.01 * k, rates), far.update(0.01 * k, rates)
    assert b.position[0] - 1e5 == pytest.approx(a.position[0], rel=1e-6)


def test_pitching_while_leaning_turns_the_heading():
    # A body that rolls to φ, pitches up there, rolls back and pitches back has turned, though its wheels saw ω_z = 0
    # only in part: gyro and measured pitch must agree on that, and the wheels alone cannot know.
    husky = gr.vehicle("husky")
    h, n = 0.002, 500
    up = np.linspace(0.0, 1.0, n + 1)
    lean = np.concatenate([0.3 * up, np.full(n, 0.3), 0.3 * up[::-1][1:], np.zeros(n)])
    nose = np.concatenate([np.zeros(n + 1), 0.2 * up[1:], np.full(n, 0.2), 0.2 * up[::-1][1:]])
    roll, pitch = lean, nose
    droll, dpitch = np.gradient(roll, h), np.gradient(pitch, h)
    turn_z = 0.1  # what wheels see about the body's z axis
    yaw_rate = (turn_z + np.sin(roll) * dpitch) / (np.cos(roll) * np.cos(pitch))
    gyro = np.stack(
        [
            droll - np.sin(pitch) * yaw_rate,
            np.cos(roll) * dpitch + np.sin(roll) * np.cos(pitch) * yaw_rate,
            np.full(len(roll), turn_z),
        ],
        axis=1,
    )
    track = float(husky.wheel_positions[:, 1].max() - husky.wheel_positions[:, 1].min())
    wheel = {w: np.sign(y) for w, y in zip(husky.wheels, husky.wheel_positions[:, 1], strict=True)}
    ideal = gr.Odometry(DifferentialDrive(vehicle=husky), pitch_rate="attitude")
    measured, blind = gr.Odometry(DifferentialDrive(vehicle=husky)), gr.Odometry(DifferentialDrive(vehicle=husky))
    r = float(husky.arrays.radius[0])
    for k in range(len(roll)):
        rates = {w: (1.0 - side * 0.5 * track * turn_z) / r for w, side in wheel.items()}
        sample = (h * k, rates, None, (roll[k], pitch[k]))
        a, b, c = ideal.update(*sample), measured.update(*sample, gyro[k]), blind.update(*sample)
    assert a.yaw == pytest.approx(b.yaw, abs=1e-4)
    assert abs(c.yaw - b.yaw) > 0.02


def test_many_samples_at_once_are_as_one_update_each():
    lru = gr.vehicle("lru2")
    random = np.random.default_rng(6)
    n = 30
    time, attitude = 0.05 * np.arange(n), random.normal(0.0, 0.1, (n, 2))
    rates, angles = random.normal(3.0, 1.0, (n, lru.n_joints)), random.normal(0.0, 0.2, (n, lru.n_joints))
    rates[7, lru.joint_index("FL")], time[11] = np.nan, 0.3  # a missing rate, a late sample
    single, many = gr.Odometry(lru), gr.Odometry(lru)
    one = [single.update(*sample) for sample in zip(time, rates, angles, attitude, strict=True)]
    found = gr.odometry.Estimate.rows(many.run(time, rates, angles, attitude))
    for a, b in zip(one, found, strict=True):
        assert (a.time, a.yaw, a.degraded, a.wheels) == (b.time, b.yaw, b.degraded, b.wheels)
        np.testing.assert_array_equal(a.position, b.position)
        np.testing.assert_array_equal(a.pose_covariance, b.pose_covariance)
    assert single.faults == many.faults == {"rate": 1, "time": 1}
    assert many.estimate.time == single.estimate.time
    with pytest.raises(gr.GrouserError, match=r"rates: has shape \(30, 3\), needs \(30, 10\), one row per sample"):
        many.run(time, rates[:, :3], angles)
