"""Every Jacobian inside the odometry kernels against differences, in general position: leaning, steered, uneven.

Kernels difference forward with steps of 1e-4 rad and 1e-3 rad/s, so their slopes are good to about 1e-4 of themselves.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import grouser as gr
from grouser import rotation
from grouser._compile.jit import entry
from grouser._kernels.odometry import covariance as covariances
from grouser._kernels.odometry import pose as poses
from grouser._kernels.odometry import velocity
from grouser.motion import Bicycle, FourNumbers, Noise, Perturbative
from grouser.motion.velocity import Inputs, twists
from grouser.odometry import EncoderNoise

SMALL = 1e-6
"""Of central differences taken here."""
NONE = {"rate": 0.0, "attitude": 0.0}
SLIP = [-0.7, -0.2, -0.3, -0.25, 0.15, -0.4]
SURFACE = np.array([-0.1, 0.05, 0.07, 0.02, 0.03, 0.2, -0.06, 0.03, 0.04, -0.5, 0.08, -0.02, 0.03])


def general(vehicle: gr.Vehicle, seed: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Rates, joint angles, attitude and contact angles in no special position."""
    random = np.random.default_rng(seed)
    rates, angles = np.zeros(vehicle.n_joints), random.normal(0.0, 0.2, vehicle.n_joints)
    rates[vehicle.arrays.wheel - 1] = 4.0 + random.normal(0.0, 0.8, vehicle.n_wheels)
    rates[[vehicle.joint_index(j) for j in vehicle.joints if j not in vehicle.wheels]] = 0.1
    return rates, angles, np.array([0.17, -0.23]), random.normal(0.0, 0.15, vehicle.n_wheels)


def models() -> dict[str, object]:
    lru, warthog = gr.vehicle("lru2"), gr.vehicle("warthog")
    gains = {"speed_gain": 0.9, "yaw_gain": 0.6, "lateral": 0.1, "yaw_per_speed": 0.02}
    return {
        "none": gr.Kinematics(lru),
        "body": gr.Kinematics(lru, slip=gr.slip.BodySlip(SLIP, apply="body")),
        "wheels": gr.Kinematics(lru, slip=gr.slip.BodySlip(SLIP, apply="wheels")),
        "four": FourNumbers(vehicle=warthog, **gains),
        "surface": Perturbative(vehicle=warthog, slip=SURFACE),
        "creep": Perturbative(vehicle=warthog, slip=SURFACE, gravity_grows="distance"),
    }


def vehicle_of(name: str) -> gr.Vehicle:
    return models()[name].vehicle  # type: ignore[attr-defined, no-any-return]


def twist_at(name, rates, angles, attitude, contact, **options):
    """Velocity of one sample, and its covariance."""
    odometry = gr.Odometry(models()[name], slip_scale=0.0, **options)
    given = None if contact is None else contact
    e = odometry.update(0.0, rates, angles, attitude, contact_angles=given)
    return e.twist, e.twist_covariance


def slope(function, at, i, step=SMALL):
    """∂f/∂x_i by a central difference."""
    d = step * np.eye(len(at))[i]
    return (function(at + d) - function(at - d)) / (2.0 * step)


def near(found, expected, rel=2e-3):
    """Alike to a share of the largest entry: kernels difference one-sided."""
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=rel * max(float(np.abs(expected).max()), 1e-6))


NAMES = ["none", "body", "wheels", "four", "surface", "creep"]


@pytest.mark.parametrize("name", NAMES[:-1])  # slip by gravity grows with the measured speed, whose noise is left out
def test_noise_of_each_rate_enters_by_its_slope(name):
    vehicle = vehicle_of(name)
    rates, angles, attitude, contact = general(vehicle)
    contact = contact if name in ("none", "body", "wheels") else None
    for wheel in vehicle.wheels:
        j = vehicle.joint_index(wheel)
        _, C = twist_at(name, rates, angles, attitude, contact, noise=EncoderNoise(rate={wheel: 0.04}, attitude=0.0))
        d = slope(lambda r: twist_at(name, r, angles, attitude, contact)[0], rates, j)
        assert np.abs(d).max() > 1e-3
        near(C, 0.04 * np.outer(d, d))


@pytest.mark.parametrize("name", ["none", "body", "wheels"])
def test_noise_of_each_angle_enters_by_its_slope(name):
    vehicle = vehicle_of(name)
    rates, angles, attitude, contact = general(vehicle)
    for joint in vehicle.joints:
        j = vehicle.joint_index(joint)
        noise = EncoderNoise(rate=0.0, attitude=0.0, angle={joint: 0.1})
        _, C = twist_at(name, rates, angles, attitude, contact, noise=noise)
        d = slope(lambda a: twist_at(name, rates, a, attitude, contact)[0], angles, j)
        near(C, 0.0 if joint in vehicle.wheels else 0.01 * np.outer(d, d))


def test_an_angle_that_is_missing_or_beyond_its_stop_is_as_unsure_as_that():
    vehicle = vehicle_of("wheels")
    rates, angles, attitude, contact = general(vehicle)
    joint = vehicle.steering[1].joint
    j = vehicle.joint_index(joint)
    d = slope(lambda a: twist_at("wheels", rates, a, attitude, contact)[0], angles, j)
    quiet = EncoderNoise(**NONE)
    # Unseen for 0.2 s it may have turned by 0.5 rad/s.
    odometry = gr.Odometry(models()["wheels"], slip_scale=0.0, noise=quiet, measured=vehicle.wheels)
    odometry.update(0.0, rates, angles, attitude, contact_angles=contact)
    lost = angles.copy()
    lost[j] = np.nan
    near(odometry.update(0.2, rates, lost, attitude, contact_angles=contact).twist_covariance, 0.1**2 * np.outer(d, d))
    for stop in ((angles[j] + 0.05, 3.0), (-3.0, angles[j] - 0.05)):
        at_stop = angles.copy()
        at_stop[j] = stop[0] if stop[1] == 3.0 else stop[1]
        d = slope(lambda a: twist_at("wheels", rates, a, attitude, contact)[0], at_stop, j)
        _, C = twist_at("wheels", rates, angles, attitude, contact, noise=quiet, stops={joint: stop})
        near(C, 0.05**2 * np.outer(d, d))


def test_with_a_gyro_the_velocity_is_the_least_squares_of_the_rows_with_its_turn_rates():
    vehicle = vehicle_of("none")
    rates, angles, attitude, contact = general(vehicle)
    gyro = np.array([0.1, 0.2, 0.3])
    odometry = gr.Odometry(models()["none"], noise=EncoderNoise(**NONE))
    found = odometry.update(0.0, rates, angles, attitude, gyro, contact_angles=contact).twist
    weight = odometry._store.model.weight
    A = odometry._store.s.A[: len(weight)]
    known = A[:, :3] @ gyro + A[:, 6:] @ rates
    expected = np.linalg.lstsq(weight[:, None] * A[:, 3:6], -weight * known, rcond=None)[0]
    np.testing.assert_allclose(found, [*gyro, *expected], rtol=0.0, atol=1e-9)


def test_on_a_known_ground_contacts_are_those_of_the_place_that_is_reached():
    """A step with a turn of 0.5 rad: contacts of the start, or of a turn the other way, are quite others."""
    husky, ground = gr.vehicle("husky"), gr.terrain.rough(rms=0.1, length=0.6, seed=3)
    rates = np.zeros(husky.n_joints)
    rates[husky.arrays.wheel - 1] = 4.0 - 6.0 * np.sign(husky.wheel_positions[:, 1])
    odometry = gr.Odometry(husky, contact_angles=ground, position=(2.0, 1.0, 0.2), gap=1.0)
    for t, share in ((0.0, 0.5), (0.2, 2.0)):  # the guess of the second step is the velocity of the first
        e = odometry.update(t, share * rates, None, (0.1, -0.05))
    assert e.yaw > 0.3
    state = np.concatenate([e.quaternion, e.position, np.zeros(husky.n_joints)])
    found = gr.collision.contacts(husky, state, ground).angle
    again = gr.Odometry(husky).update(0.0, 2.0 * rates, None, (0.1, -0.05), contact_angles=found)
    assert np.abs(found).max() > 0.1
    np.testing.assert_allclose(e.twist, again.twist, rtol=0.0, atol=0.05)


@pytest.mark.parametrize("name", ["none", "body", "wheels"])
def test_noise_of_contact_angles_enters_by_their_slopes(name):
    vehicle = vehicle_of(name)
    rates, angles, attitude, contact = general(vehicle)
    _, C = twist_at(name, rates, angles, attitude, contact, noise=EncoderNoise(**NONE, contact_angle=0.1))
    slopes = [
        slope(lambda c: twist_at(name, rates, angles, attitude, c)[0], contact, w) for w in range(vehicle.n_wheels)
    ]
    near(C, sum(0.01 * np.outer(d, d) for d in slopes))


@pytest.mark.parametrize("name", NAMES)
def test_noise_of_attitude_enters_the_velocity_by_slip(name):
    vehicle = vehicle_of(name)
    rates, angles, attitude, contact = general(vehicle)
    contact = contact if name in ("none", "body", "wheels") else None
    odometry = gr.Odometry(models()[name], slip_scale=0.0, noise=EncoderNoise(rate=0.0, attitude=0.1))
    C = odometry.update(0.0, rates, angles, attitude, contact_angles=contact).twist_covariance
    slopes = [slope(lambda a: twist_at(name, rates, angles, a, contact)[0], attitude, k) for k in range(2)]
    near(odometry._store.memory.lean, np.array(slopes))  # with its sign, for the pose
    if name in ("none", "four"):
        assert np.abs(C).max() == 0.0
    else:
        assert min(np.abs(d).max() for d in slopes) > 1e-3
        near(C, sum(0.01 * np.outer(d, d) for d in slopes))


@pytest.mark.parametrize("name", NAMES)
def test_velocity_is_that_of_the_motion_model(name):
    vehicle = vehicle_of(name)
    for seed in range(3):
        rates, angles, attitude, _ = general(vehicle, seed)
        turn = rates[vehicle.arrays.wheel - 1] * np.sign(vehicle.wheel_positions[:, 1])
        rates[vehicle.arrays.wheel - 1] += (0.3, -0.3, -2.0)[seed] * turn  # to either side, and backward on one
        given = Inputs(time=np.zeros(1), attitude=attitude[None], rates=rates[None], angles=angles[None])
        found = twist_at(name, rates, angles, attitude, None)[0]
        np.testing.assert_allclose(found, twists(models()[name], given)[0], rtol=0.0, atol=1e-10)


def test_velocity_of_a_bicycle_follows_its_steering_sample_by_sample_and_at_once():
    car = gr.vehicle("recbot")
    model = Bicycle(vehicle=car, speed_gain=0.9, steering_offset=0.02)
    random = np.random.default_rng(2)
    rates, angles = random.normal(5.0, 1.0, (9, car.n_joints)), random.normal(0.0, 0.2, (9, car.n_joints))
    angles[4, car.joint_index("steerL")] = np.nan  # the last one is taken
    time = 0.1 * np.arange(9.0)
    single, many = gr.Odometry(model), gr.Odometry(model)
    one = [single.update(t, r, a).position for t, r, a in zip(time, rates, angles, strict=True)]
    np.testing.assert_allclose(many.run(time, rates, angles)["position"], one, rtol=0.0, atol=1e-13)
    angles[4, car.joint_index("steerL")] = angles[3, car.joint_index("steerL")]
    expected = model.twists(Inputs(time=time, attitude=np.zeros((9, 2)), rates=rates, angles=angles))
    np.testing.assert_allclose(single.estimate.twist, expected[-1], rtol=0.0, atol=1e-12)


@entry
def take_step(store, intensity, h):
    poses.advance(store, h)
    poses.carry_covariance(store, intensity, h)


@entry
def step_only(store, h):
    poses.advance(store, h)


@entry
def write(store, out):
    poses.write_pose(store, out)


def prepared(seed: int, **options) -> gr.Odometry:
    """An odometry in the midst of a drive, all of its memory and the next sample in general position."""
    random = np.random.default_rng(seed)
    odometry = gr.Odometry(gr.Kinematics(gr.vehicle("husky")), noise=EncoderNoise(attitude_time=0.03), **options)
    memory, work = odometry._store.memory, odometry._store.work
    for record in (memory, work):
        record.twist[:] = random.normal(0.0, 0.6, 6)
        record.attitude[:] = random.uniform(-0.4, 0.4, 2)
        root = random.normal(0.0, 30.0, (6, 6))  # as large as process noise over a millisecond
        record.covariance[:] = root @ root.T
        record.lean[:] = random.normal(0.0, 0.5, (2, 6))
    memory.position[:], memory.yaw = random.normal(0.0, 2.0, 3), 0.9
    root = random.normal(0.0, 0.2, (4, 4))
    memory.pose[:] = root @ root.T
    memory.intensity, memory.attitude_sigma = 0.7, 0.05
    return odometry


def pose_after(odometry, h):
    """(x, y, z, yaw) after a step."""
    step_only(odometry._store, h)
    memory = odometry._store.memory
    return np.append(memory.position, memory.yaw) + odometry._store.arc.step


def moved_by(odometry, h, change):
    """∂(x, y, z, yaw)/∂ε of a change of the odometry by ε, by a central difference."""
    ends = []
    for sign in (1.0, -1.0):
        change(sign * SMALL)
        ends.append(pose_after(odometry, h))
        change(-sign * SMALL)
    return (ends[0] - ends[1]) / (2.0 * SMALL)


@pytest.mark.parametrize("pitch_rate", ["wheels", "attitude"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_pose_covariance_of_a_step_is_that_of_its_differences(seed, pitch_rate):
    """Yaw error before, errors of velocity over the step, of attitude with the slip it makes, and their cross terms.

    Gains are to first order of the step's turn, so the step is short: errors are of the order of h.
    """
    h = 1e-3
    noise = Noise(
        components=("vx", "vy", "wz"), density=np.array([[4.0, 1.0, 0.5], [1.0, 3.0, -0.7], [0.5, -0.7, 2.0]])
    )
    odometry = prepared(seed, process_noise=noise, pitch_rate=pitch_rate)
    store = odometry._store
    memory, work, settings = store.memory, store.work, store.settings
    before = memory.pose.copy()

    def shift(name, index):
        def change(by):
            if name == "yaw":
                memory.yaw += by
            elif name == "lean":  # attitude, and the velocity that follows it by slip
                for record in (memory, work):
                    record.attitude[index] += by
                    record.twist[:] += by * 0.5 * (memory.lean[index] + work.lean[index])
            else:
                for record in (memory, work):
                    record.twist[index] += by

        return change  # fmt: skip

    transition = np.eye(4)
    transition[:, 3] = moved_by(odometry, h, shift("yaw", 0))
    G = np.array([moved_by(odometry, h, shift("twist", i)) for i in range(6)])
    A = np.array([moved_by(odometry, h, shift("lean", k)) for k in range(2)])
    expected = transition @ before @ transition.T
    np.testing.assert_allclose(
        transition[:, 3], [*(-store.arc.step[1:2]), store.arc.step[0], 0.0, 1.0], rtol=0.0, atol=1e-9
    )
    step = 0.5 * (memory.covariance + work.covariance) + 0.5 * (memory.intensity + 1.3) * settings.noise / h
    expected += G.T @ step @ G
    variance = 0.05**2 * (1.0 + 2.0 * 0.03 / h)
    expected += variance * A.T @ A
    take_step(store, 1.3, h)
    grown = memory.pose - before
    np.testing.assert_allclose(memory.cross, 0.5 * variance * A, rtol=0.0, atol=3e-3 * np.abs(variance * A).max())
    assert np.abs(grown).max() > 1e-4
    np.testing.assert_allclose(grown, expected - before, rtol=0.0, atol=3e-3 * np.abs(expected - before).max())


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_pose_covariance_in_body_axes_is_that_of_the_error_on_the_group(seed):
    """δ of T_true = T_est Exp(δ) per error of (x, y, z, yaw, roll, pitch), whose covariance has cross terms."""
    odometry = prepared(seed)
    store, out = odometry._store, odometry._sample.last
    memory, work = store.memory, store.work
    random = np.random.default_rng(seed + 10)
    memory.cross[:] = random.normal(0.0, 0.01, (2, 4))
    store.arc.step[:] = random.normal(0.0, 0.1, 4)
    write(store, out)
    x = np.array([*out.position, out.yaw, *work.attitude])

    def pose(x):
        return rotation.from_rpy(x[4], x[5], x[3]), x[:3]

    R, p = pose(x)
    columns = []
    for i in range(6):
        ends = []
        for sign in (1.0, -1.0):
            R_moved, p_moved = pose(x + sign * SMALL * np.eye(6)[i])
            D = R.T @ R_moved
            ends.append(
                np.array([D[2, 1] - D[1, 2], D[0, 2] - D[2, 0], D[1, 0] - D[0, 1], *(2.0 * R.T @ (p_moved - p))])
            )
        columns.append((ends[0] - ends[1]) / (4.0 * SMALL))
    J = np.array(columns).T
    S = np.zeros((6, 6))
    S[:4, :4], S[4:, 4:] = memory.pose, 0.05**2 * np.eye(2)
    S[4:, :4] = memory.cross
    S[:4, 4:] = memory.cross.T
    np.testing.assert_allclose(out.pose_covariance, J @ S @ J.T, rtol=0.0, atol=1e-8)
    np.testing.assert_allclose(rotation.from_quaternion(out.quaternion), R, rtol=0.0, atol=1e-12)


@entry
def frames_and_shares(store, normal_rows, level):
    velocity.find_contact_frames(store)
    covariances.outside_share(store, normal_rows, level)


@pytest.mark.parametrize("lost", [(), ("FL",), ("FL", "FR"), ("FL", "FR", "BL"), ("FL", "FR", "BL", "BR")])
@pytest.mark.parametrize("normal_rows", [True, False])
def test_share_that_wheels_leave_open_is_what_a_small_regularisation_leaves(lost, normal_rows):
    """ε (N + E)⁻¹ with E = ε for the body and less for joints, which may move as they like."""
    vehicle = gr.vehicle("lru2")
    rates, angles, attitude, contact = general(vehicle)
    rates[[vehicle.joint_index(w) for w in lost]] = np.nan
    odometry = gr.Odometry(vehicle, contact_angles=contact)
    odometry.update(0.0, rates, angles, attitude)
    store = odometry._store
    unknown = np.concatenate([np.arange(6), 6 + np.flatnonzero(np.isnan(rates))])
    store.model.counts[1] = len(unknown)
    store.model.unknown[: len(unknown)] = unknown
    for level in (False, True):
        frames_and_shares(store, normal_rows, level)
        columns = unknown[2:] if level else unknown
        rows = [r for r in range(store.s.A.shape[0]) if normal_rows or r >= 12 or r % 3 != 2]
        A = store.s.A[np.ix_(rows, columns)]
        small = 1e-9 * np.sum(A**2, axis=0).max()
        root = np.diag(np.sqrt(np.where(columns < 6, small, 1e-5 * small)))
        inverse = np.linalg.pinv(np.vstack([A, root]), rcond=1e-14)
        expected = np.zeros(6)
        expected[columns[columns < 6]] = small * np.sum(inverse**2, axis=1)[columns < 6]
        np.testing.assert_allclose(store.work.share, np.minimum(expected, 1.0), rtol=0.03, atol=1e-5)
        if not lost and normal_rows:
            assert expected.max() < 1e-5


@pytest.mark.parametrize("lost", [["FL", "BL"], ["FR", "BR"]])
def test_a_missing_side_of_a_vehicle_that_skids_may_turn_as_fast_as_the_others(lost):
    """It adds its rim speed, off by the mean of the others for a second, times the slope of all wheels' velocity."""
    husky = gr.vehicle("husky")
    rates, angles, attitude, contact = general(husky)
    wheels = {w: float(rates[husky.joint_index(w)]) for w in husky.wheels}
    model = gr.Kinematics(husky, slip=gr.slip.BodySlip(SLIP))
    noise = EncoderNoise(rate=0.01, attitude=0.0, period=0.02)

    def sample(given, **options):
        odometry = gr.Odometry(model, slip_scale=0.0, noise=noise, contact_angles=contact, **options)
        return odometry.update(0.0, given, angles, attitude)

    left = {w: r for w, r in wheels.items() if w not in lost}
    base = sample(left, measured=list(left))  # the others are not wanted
    found = sample(left)
    speed = np.mean([abs(r) for r in left.values()]) * husky.arrays.radius[0]
    # The rate that the others ask of a missing wheel leaves their velocity as it is: by Newton on the sum of squares.
    asked = np.zeros(len(lost))
    for _ in range(2):
        now = sample(left | dict(zip(lost, asked, strict=True))).odometry_twist - base.odometry_twist
        D = [
            slope(lambda a: sample(left | dict(zip(lost, a, strict=True))).odometry_twist, asked, k, 1e-3)
            for k in range(len(lost))
        ]
        asked = asked - np.linalg.lstsq(np.array(D).T, now, rcond=None)[0]
    expected = base.twist_covariance.copy()
    for k in range(len(lost)):
        d = slope(lambda a: sample(left | dict(zip(lost, a, strict=True))).twist, asked, k, 1e-3)
        sigma = speed / husky.arrays.radius[0] * math.sqrt(1.0 + 2.0 / 0.02)
        expected += sigma**2 * np.outer(d, d)
    near(found.twist_covariance, expected)


def test_a_gap_adds_the_way_that_an_acceleration_could_have_made():
    husky = gr.vehicle("husky")
    ends = []
    for gap in (10.0, 1.0):
        odometry = gr.Odometry(husky, gap=gap, acceleration=2.0, noise=EncoderNoise(**NONE))
        for t in (0.0, 3.0):
            e = odometry.update(t, dict.fromkeys(husky.wheels, 0.0))
        ends.append(np.diag(e.pose_covariance))
    off = 2.0 * 3.0**2 / (4.0 * math.sqrt(3.0))
    np.testing.assert_allclose(ends[1] - ends[0], [0.0, 0.0, *[off**2] * 4], rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("grows", ["time", "distance"])
def test_process_noise_grows_with_time_or_distance_and_with_fewer_wheels(grows):
    """Three of four wheels average less: a third more of the density, over the period of the first sample."""
    warthog = gr.vehicle("warthog")
    density = np.array([[4e-3, 1e-3], [1e-3, 2e-3]])
    noise = Noise(components=("vx", "wz"), density=density, grows=grows)
    gains = {"speed_gain": 0.9, "yaw_gain": 0.6}
    motion = gr.MotionModel(model=FourNumbers(vehicle=warthog, **gains), noise=noise)
    odometry = gr.Odometry(motion, noise=EncoderNoise(**NONE, period=0.02))
    rates = {"FL": 3.0, "FR": -5.0, "BL": 4.0}
    C = odometry.update(0.0, rates).twist_covariance
    scale = 4.0 / 3.0 / 0.02 * (warthog.arrays.radius[0] * 4.0 if grows == "distance" else 1.0)
    np.testing.assert_allclose(C[np.ix_([3, 2], [3, 2])], scale * density, rtol=1e-9)


def test_a_velocity_that_nothing_determines_has_a_sigma_of_one():
    """Wheels without encoders let the vehicle roll ahead and turn in some mixture, but not slide sideways."""
    husky = gr.vehicle("husky")
    odometry = gr.Odometry(husky, measured=[], contact_angles=np.zeros(4), noise=EncoderNoise(**NONE))
    e = odometry.update(0.0, {})
    share = odometry._store.work.share
    np.testing.assert_allclose(e.twist_covariance, np.diag(np.where(share > 1e-3, share, 0.0)), rtol=0.0, atol=1e-12)
    assert e.twist_covariance[3, 3] == pytest.approx(1.0, abs=0.01)
    assert e.twist_covariance[4, 4] < 0.01
    assert odometry.faults == {"unobserved": 1}


def test_attitude_is_the_one_nearest_to_the_last():
    """So that means of neighbours lie between them: up and down, and past half a turn either way."""
    odometry = gr.Odometry("husky")
    for k, (given, used) in enumerate([(3.1, 3.1), (-3.1, 2.0 * math.pi - 3.1), (3.12, 3.12), (3.0, 3.0), (2.9, 2.9)]):
        e = odometry.update(0.1 * k, {}, None, (given, -0.1 * k))
        np.testing.assert_allclose(e.attitude, [used, -0.1 * k], rtol=0.0, atol=1e-12)
