"""Inverse kinematics: commands that forward kinematics turns back into the wanted velocity, within limits."""

import dataclasses
import math

import numpy as np
import pytest

import grouser as gr
from grouser.errors import SimulationError
from grouser.simulation.drive import level_motion
from grouser.traction import InverseKinematics, Limits, ModeDriver

PLANAR = [3, 4, 2]
MOTIONS = {
    "straight": (0.5, 0.0, 0.0),
    "ackermann": (0.5, 0.0, 0.4),
    "reverse ackermann": (-0.4, 0.0, 0.3),
    "tight": (0.1, 0.0, 0.6),
    "on the spot": (0.0, 0.0, 0.5),
    "crab": (0.3, 0.3, 0.0),
    "sideways": (0.0, 0.4, 0.0),
    "crab back right": (-0.3, -0.2, 0.0),
    "combined": (0.4, 0.2, 0.5),
    "combined back": (-0.3, 0.25, -0.4),
}


def realised(vehicle, inverse, angles, rates):
    """Velocity of the drive point that plain forward kinematics gives on flat ground, and the slip at the wheels."""
    state = gr.settle(vehicle, gr.terrain.plane()).state
    command = np.zeros(len(vehicle.actuated))
    for joint, angle in zip(inverse.steering_joints, angles, strict=True):
        state[7 + vehicle.joint_index(joint)] = angle
    for wheel, rate in zip(inverse.driven_wheels, rates, strict=True):
        command[vehicle.actuated.index(wheel)] = rate
    solved = gr.Kinematics(vehicle).velocity(state, command, gr.terrain.plane())
    forward, left, turn = solved.value[PLANAR]
    x, y = vehicle.drive_point
    return np.array([forward - turn * y, left + turn * x, turn]), solved.contact_velocity


@pytest.fixture(scope="module")
def lru():
    """LRU-2 with its bogies held level: with wheels off their pivots it would lean on its springs by some µrad."""
    vehicle = gr.vehicle("lru2")
    level = (dataclasses.replace(c, stiffness=None, damping=None) for c in vehicle.couplings)
    return vehicle.replace(couplings=tuple(level))


@pytest.mark.parametrize("motion", MOTIONS.values(), ids=MOTIONS.keys())
def test_forward_kinematics_gives_back_the_velocity(lru, motion):
    inverse = InverseKinematics(lru)
    found = inverse.solve(*motion)
    velocity, slip = realised(lru, inverse, found.steering, found.wheel_rates)
    assert velocity == pytest.approx(motion, abs=1e-9)
    assert np.abs(slip).max() < 1e-9
    assert found.within_reach
    assert found.scale == 1.0
    assert found.velocity == pytest.approx(motion, abs=0.0)


def test_a_car_steers_only_its_front_wheels_and_rolls_without_slip():
    car = gr.vehicle("recbot_rigid")
    inverse = InverseKinematics(car)
    found = inverse.solve(1.0, 0.0, 0.2)
    velocity, slip = realised(car, inverse, found.steering, found.wheel_rates)
    assert velocity == pytest.approx((1.0, 0.0, 0.2), abs=1e-9)
    assert np.abs(slip).max() < 1e-9
    inner, outer = found.steering[0], found.steering[1]
    assert abs(inner) > abs(outer) > 0.0


@pytest.mark.parametrize("present", [0.0, 2.5])
def test_wheels_beside_and_ahead_of_their_pivots_roll_without_slip(lru, present):
    """Also those that roll backwards: for them trail works the other way."""
    offset = lru
    for wheel, side in (("FL", 1.0), ("FR", -1.0), ("BL", 1.0), ("BR", -1.0)):
        offset = offset.replace_frame(wheel, xyz=(0.04, 0.03 * side, 0.0))
    inverse = InverseKinematics(offset, limits=Limits(steering=math.pi))
    motion = np.array([0.4, 0.1, 0.5])
    found = inverse.solve(*motion, angles=np.full(4, present))
    assert (found.wheel_rates < 0.0).any() == (present > 0.0)
    velocity, slip = realised(offset, inverse, found.steering, found.wheel_rates)
    assert velocity == pytest.approx(motion, abs=1e-9)
    assert np.abs(slip).max() < 1e-9
    assert inverse.misalignment(motion, found.steering) == pytest.approx(np.zeros(4), abs=1e-12)


def test_the_drives_of_a_simulation_find_the_same_angles_and_rates(lru):
    """Also with wheels ahead of their pivots, which must turn further to roll along."""
    ahead = lru
    for wheel in ("FL", "FR", "BL", "BR"):
        ahead = ahead.replace_frame(wheel, xyz=(0.05, 0.0, 0.0))
    inverse = InverseKinematics(ahead)
    actuated = list(ahead.actuated)
    for motion in MOTIONS.values():
        found, segment = inverse.solve(*motion), level_motion(ahead, *motion)
        rates = segment.rate[[actuated.index(w) for w in inverse.driven_wheels]]
        assert rates == pytest.approx(found.wheel_rates, abs=1e-12)
        targets = segment.target[[actuated.index(j) for j in inverse.steering_joints]]
        assert targets == pytest.approx(found.steering, abs=1e-12)
        _, slip = realised(ahead, inverse, targets, rates)
        assert np.abs(slip).max() < 1e-9


def test_a_car_cannot_move_sideways_and_says_so():
    found = InverseKinematics(gr.vehicle("recbot_rigid")).solve(1.0, 0.5, 0.0)
    assert not found.within_reach
    assert found.velocity == pytest.approx((1.0, 0.0, 0.0))


def test_a_skid_steered_vehicle_turns_by_the_speeds_of_its_sides():
    husky = gr.vehicle("husky")
    found = InverseKinematics(husky).solve(0.6, 0.0, 0.5)
    assert len(found.steering) == 0
    radius = husky.arrays.radius
    rates = dict(zip(InverseKinematics(husky).driven_wheels, found.wheel_rates, strict=True))
    for w, name in enumerate(husky.wheels):
        assert rates[name] * radius[w] == pytest.approx(0.6 - 0.5 * husky.wheel_positions[w, 1])


def test_too_fast_wheels_slow_the_whole_motion_so_that_the_path_stays(lru):
    inverse = InverseKinematics(lru, limits=Limits(wheel_rate=3.0))
    wanted = np.array([0.5, 0.1, 0.4])
    found = inverse.solve(*wanted)
    assert np.abs(found.wheel_rates).max() == pytest.approx(3.0)
    assert 0.0 < found.scale < 1.0
    velocity, slip = realised(lru, inverse, found.steering, found.wheel_rates)
    assert velocity == pytest.approx(found.scale * wanted, abs=1e-9)
    assert np.abs(slip).max() < 1e-9


def test_the_nearer_of_an_angle_and_its_opposite_is_taken(lru):
    inverse = InverseKinematics(lru)
    back = inverse.solve(-0.5, 0.0, 0.0)
    assert back.steering == pytest.approx(np.zeros(4), abs=1e-12)
    assert (back.wheel_rates < 0.0).all()
    # Sideways to the left is reached at +90° rolling forward or at −90° rolling backward.
    for side in (1.0, -1.0):
        found = inverse.solve(0.0, 0.3, 0.0, angles=np.full(4, side))
        assert found.steering == pytest.approx(np.full(4, side * math.pi / 2))
        assert np.sign(found.wheel_rates) == pytest.approx(np.full(4, side))


@pytest.mark.parametrize(
    "wanted",
    [(0.4, 0.0, 1.5), (0.3, 0.4, 0.2), (0.3, -0.1, -2.0), (-0.4, 0.3, 0.9), (0.3, 0.6, 0.0), (0.4, 0.0, 1.9)],
)
def test_where_steering_ends_the_nearest_motion_within_it_is_taken(lru, wanted):
    most = {"steerFL": 0.6, "steerFR": 0.4, "steerBL": 0.5, "steerBR": 0.7}
    inverse = InverseKinematics(lru, limits=Limits(steering=most))
    limit = np.array([most[joint] for joint in inverse.steering_joints])
    found = inverse.solve(*wanted)
    assert not found.within_reach
    assert (np.abs(found.steering) <= limit + 1e-9).all()
    velocity, slip = realised(lru, inverse, found.steering, found.wheel_rates)
    assert velocity == pytest.approx(found.velocity, abs=1e-8)
    assert np.abs(slip).max() < 1e-8
    assert found.velocity[0] == wanted[0]
    # No feasible motion of a fine grid is nearer.
    free = InverseKinematics(lru)
    arm = inverse.arm
    distance = math.hypot(found.velocity[1] - wanted[1], arm * (found.velocity[2] - wanted[2]))
    for left in np.linspace(-0.6, 0.6, 41):
        for turn in np.linspace(-2.0, 2.0, 41):
            if math.hypot(left - wanted[1], arm * (turn - wanted[2])) < distance - 1e-9:
                assert (np.abs(free.solve(wanted[0], left, turn).steering) > limit).any()


def test_turning_on_the_spot_with_little_steering_is_no_motion(lru):
    found = InverseKinematics(lru, limits=Limits(steering=0.5)).solve(0.0, 0.0, 1.0)
    assert not found.within_reach
    assert found.wheel_rates == pytest.approx(np.zeros(4))


def test_angles_are_held_through_standstill(lru):
    inverse = InverseKinematics(lru)
    turning = inverse.solve(0.3, 0.0, 0.3)
    held = inverse.solve(0.0, 0.0, 0.0, angles=turning.steering)
    assert held.steering == pytest.approx(turning.steering, abs=0.0)
    assert held.wheel_rates == pytest.approx(np.zeros(4))
    # From backwards to forwards along one arc the wheels stay where they are, and turn at rates without a jump.
    driver = ModeDriver(lru)
    arc = inverse.solve(0.3, 0.0, 0.15).steering
    driver.reset(arc)
    rates = []
    for k in range(-50, 51):
        speed = 1e-3 * k
        rates.append(driver.update(speed, 0.0, 0.5 * speed, 0.02).rates)
        assert driver.angles == pytest.approx(arc, abs=1e-12)
    assert np.abs(np.diff(rates, axis=0)).max() < 2.0 * 1e-3 / 0.125


def test_the_mirrored_motion_has_the_mirrored_commands(lru):
    inverse = InverseKinematics(lru)
    swap = {"FL": "FR", "FR": "FL", "BL": "BR", "BR": "BL"}
    one, other = inverse.solve(0.4, 0.2, 0.5), inverse.solve(0.4, -0.2, -0.5)
    angle = dict(zip(inverse.steering_joints, other.steering, strict=True))
    rate = dict(zip(inverse.driven_wheels, other.wheel_rates, strict=True))
    for joint, value in zip(inverse.steering_joints, one.steering, strict=True):
        assert angle["steer" + swap[joint.removeprefix("steer")]] == pytest.approx(-value, abs=1e-12)
    for wheel, value in zip(inverse.driven_wheels, one.wheel_rates, strict=True):
        assert rate[swap[wheel]] == pytest.approx(value, abs=1e-12)


def test_angles_change_little_when_the_motion_does(lru):
    inverse = InverseKinematics(lru)
    angles = np.zeros(4)
    for phase in np.linspace(0.0, 2.0 * math.pi, 400):
        found = inverse.solve(
            0.4 + 0.1 * math.cos(phase), 0.2 * math.sin(phase), 0.3 * math.sin(2 * phase), angles=angles
        )
        if phase > 0.0:
            assert np.abs(found.steering - angles).max() < 0.05
        angles = found.steering


def test_the_driver_never_steers_faster_than_the_limit_and_arrives(lru):
    driver = ModeDriver(lru, limits=Limits(steering_rate=0.5))
    steering = [lru.actuated.index(j) for j in driver.inverse.steering_joints]
    wanted = (0.0, 0.3, 0.0)
    speeds = []
    for _ in range(400):
        before = driver.angles.copy()
        command = driver.update(*wanted, 0.02)
        assert np.abs(command.rates[steering]).max() <= 0.5 + 1e-12
        assert driver.angles - before == pytest.approx(0.02 * command.rates[steering])
        speeds.append(command.alignment)
    assert speeds[0] == pytest.approx(0.0, abs=1e-12)  # wheels across the motion wait
    assert speeds[-1] == pytest.approx(1.0, abs=1e-6)
    wheels = [command.rates[lru.actuated.index(w)] for w in driver.inverse.driven_wheels]
    velocity, _ = realised(lru, driver.inverse, driver.angles, wheels)
    assert velocity == pytest.approx(wanted, abs=1e-4)


def test_modes_drop_what_they_do_not_do(lru):
    wanted = (0.4, 0.2, 0.3)
    for mode, kept in (("ackermann", (0.4, 0.0, 0.3)), ("crab", (0.4, 0.2, 0.0)), ("combined", wanted)):
        assert ModeDriver(lru, mode=mode).update(*wanted, 0.02).velocity == pytest.approx(kept)


def test_measured_angles_replace_the_commanded_ones(lru):
    driver = ModeDriver(lru)
    seen = np.array([0.3, 0.2, -0.1, -0.2])
    command = driver.update(0.5, 0.0, 0.0, 0.02, angles=seen)
    steering = [lru.actuated.index(j) for j in driver.inverse.steering_joints]
    assert command.rates[steering] == pytest.approx(-5.0 * seen)


def test_bad_input_is_refused_by_name(lru):
    with pytest.raises(SimulationError, match="forward"):
        InverseKinematics(lru).solve(math.nan)
    with pytest.raises(SimulationError, match="passive"):
        InverseKinematics(gr.vehicle("zoe"))
    with pytest.raises(SimulationError, match="degrees"):
        InverseKinematics(lru, limits=Limits(steering=35.0))
    with pytest.raises(SimulationError, match="steerFX"):
        InverseKinematics(lru, limits=Limits(steering={"steerFX": 1.0}))
    with pytest.raises(SimulationError, match="mode"):
        ModeDriver(lru, mode="sideways")
    with pytest.raises(SimulationError, match="angles"):
        ModeDriver(lru).update(0.1, 0.0, 0.0, 0.02, angles=[0.0])
    with pytest.raises(SimulationError, match="dt"):
        ModeDriver(lru).update(0.1, 0.0, 0.0, 0.0)
