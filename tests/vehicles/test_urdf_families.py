"""Eight robots from their URDFs and drafted side files: where their wheels stand, and how they drive on level ground.

The closed forms are those of the geometry written here by hand, not of the imported vehicle.
"""

import math

import numpy as np
import pytest
from urdf_families import FAMILIES

import grouser as gr
from grouser.vehicles.plausible import implausible
from grouser.vehicles.urdf_draft import draft
from grouser.vehicles.urdf_model import read_robot
from grouser.vehicles.urdf_side import side_path

DT = 0.02
# Wheels as they stand over the ground: x of each axle and half the track [m], radius [m].
PLACES = {
    "husky": ([0.25, -0.25], 0.28, 0.17),
    "jackal": ([0.13, -0.13], 0.19, 0.1),
    "leo": ([0.15, -0.15], 0.14 + 0.08 - 0.045, 0.0625),  # wheels stand inside of their joints
    "osr": ([0.3, 0.0, -0.3], 0.2, 0.075),
    "turtlebot": ([0.0], 0.08, 0.033),
    "racecar": ([0.325, 0.0], 0.1 + 0.0225, 0.05),  # and outside of them
    "f1tenth": ([0.32, 0.0], 0.12, 0.05),
    "curiosity": ([1.1, 0.0, -1.1], 1.0, 0.25),
}
PIVOT = {"racecar": 0.1, "f1tenth": 0.12, "osr": 0.2, "curiosity": 1.0}  # half the distance of the steering hinges
TAIL = {
    "osr": (0.3, -0.3),
    "curiosity": (1.1, -1.1),
    "racecar": (0.325,),
    "f1tenth": (0.32,),
}  # steered axles, from the drive point
HUMAN = {  # what a person adds: nothing, or a # taken off
    "leo": [("# free =", "free =")],
    "osr": [("# free =", "free ="), ("# couplings =", "couplings =")],
}


def imported(name, folder, human=True):
    path = folder / f"{name}.urdf{'.xacro' if name == 'osr' else ''}"
    path.write_text(FAMILIES[name]())
    if name == "osr":
        pytest.importorskip("xacro")
    made = draft(read_robot(path), path)
    assert not made.missing
    text = made.text
    for old, new in HUMAN.get(name, []) if human else []:
        assert text.count(old) == 1
        text = text.replace(old, new)
    side_path(path).write_text(text)
    return gr.vehicle(path)


@pytest.fixture(params=FAMILIES)
def name(request):
    return request.param


@pytest.fixture
def robot(name, tmp_path):
    return imported(name, tmp_path)


def drive(robot, drive, duration):
    run = gr.simulate(gr.Kinematics(robot), gr.terrain.plane(), drive, duration=round(duration / DT) * DT, dt=DT)
    assert str(run.status) == "ok"
    return run


def test_the_wheels_stand_where_the_urdf_puts_them(name, robot):
    axles, half_track, radius = PLACES[name]
    rolling = robot.rolling_wheels
    found = sorted(map(tuple, robot.wheel_positions[: len(rolling)].round(5)))
    assert len(found) == 2 * len(axles)
    expected = sorted((x, y) for x in axles for y in (half_track, -half_track))
    np.testing.assert_allclose(
        np.array(found)[:, :2], expected, rtol=0.0, atol=1e-4
    )  # racecar: 1.5708 for π/2, over 0.3 m
    np.testing.assert_allclose(robot.arrays.radius[: len(rolling)], radius)
    assert set(rolling) <= set(robot.actuated)
    assert implausible(robot) == []
    assert robot.drive_point == pytest.approx((0.0, 0.0), abs=1e-9)


def test_ten_metres_straight_on(name, robot):
    run = drive(robot, gr.drive.arc(0.5), 20.0)
    np.testing.assert_allclose(run.position[-1, :2] - run.position[0, :2], (10.0, 0.0), rtol=0.0, atol=2e-4)
    assert run.yaw[-1] == pytest.approx(0.0, abs=1e-4)
    radius = PLACES[name][2]
    for wheel in robot.rolling_wheels:
        # The URDF's axis says which sense of turning is forward: that of an axis to the left.
        left = forward_sense(robot, wheel)
        turned = run.joint(wheel)[-1] - run.joint(wheel)[0]
        assert turned == pytest.approx(left * 10.0 / radius, rel=1e-4)


def forward_sense(robot, wheel):
    from grouser.vehicles.tree import forward_kinematics

    R, _ = forward_kinematics(robot.frames, robot.rest)
    return math.copysign(1.0, R[robot.frame_index(wheel)][1, 1])


def turn_share(name):
    """Turn rate over the commanded one. Wheels of a skid-steered vehicle slip as little as they can, in squares:

    Σ y²(ω − ω_c)² + x²ω² is least at ω = ω_c Σy²/Σ(x² + y²). Others turn as commanded.
    """
    axles, half_track, _ = PLACES[name]
    if name in PIVOT or name == "turtlebot":
        return 1.0
    y2, x2 = len(axles) * half_track**2, sum(x * x for x in axles)
    return y2 / (x2 + y2)


def test_a_left_turn_of_ninety_degrees(name, robot):
    axles, half_track, _ = PLACES[name]
    radius = 4.0 * max(half_track, *(abs(x) for x in axles))
    speed = 0.25 * radius
    share = turn_share(name)
    settled = 4.0  # s, in which the steering reaches its angles: gain 5/s, limits of at least 0.5 rad/s
    quarter = 0.5 * math.pi * radius / speed / share
    run = drive(robot, gr.drive.arc(speed, 1.0 / radius), settled + quarter)
    start = round(settled / DT)
    turned = np.unwrap(run.yaw)[-1] - np.unwrap(run.yaw)[start]
    # The quarter is rounded to a step: half a step at 0.25 rad/s.
    assert turned == pytest.approx(0.5 * math.pi, abs=0.5 * DT * 0.25 + 1e-6)
    # A quarter of a circle to the left ends as far ahead as it does aside: the radius, over the share.
    p = run.position[-1, :2] - run.position[start, :2]
    c, s = math.cos(run.yaw[start]), math.sin(run.yaw[start])
    ahead, left = c * p[0] + s * p[1], c * p[1] - s * p[0]
    np.testing.assert_allclose((ahead, left), radius / share, rtol=2e-3)
    assert left > 0.0


@pytest.mark.parametrize("name", PIVOT)
def test_inner_wheels_are_steered_more_than_outer_ones(name, tmp_path):
    """Ackermann: tan δ = x/(R ∓ w) of each hinge, from the turning centre R to the left of the drive point."""
    robot = imported(name, tmp_path)
    radius = 4.0 * max(PIVOT[name], *map(abs, TAIL[name]))
    run = drive(robot, gr.drive.arc(0.25 * radius, 1.0 / radius), 6.0)
    # Of the racecar the axis of the hinge points down, so its angle is negative to the left.
    sense = -1.0 if name == "racecar" else 1.0
    found = sorted(sense * run.joint(one.joint)[-1] for one in robot.steering)
    expected = sorted(
        math.atan(x / (radius - side * PIVOT[name])) for x in TAIL[name] for side in (1.0, -1.0)
    )  # fmt: skip
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-5)
    assert [robot.frames[robot.frame_index(one.joint)].joint for one in robot.steering] == ["RZ"] * len(expected)


@pytest.mark.parametrize("name", ["leo", "osr", "curiosity"])
def test_rockers_let_every_wheel_touch_and_a_differential_holds_the_body(name, tmp_path):
    robot = imported(name, tmp_path)
    ground = gr.terrain.rough(rms=0.2 * PLACES[name][2], length=8 * PLACES[name][2], seed=3)
    rest = gr.settle(robot, ground)
    assert rest.off_ground == ()
    assert abs(rest.height_error).max() < 1e-6
    rockers = [one for one in robot.joints if "rocker" in one]
    assert len(rockers) == 2
    senses = []
    from grouser.vehicles.tree import forward_kinematics

    R, _ = forward_kinematics(robot.frames, robot.rest)
    angles = [rest.state[7 + robot.joint_index(one)] for one in rockers]
    for one in rockers:
        frame = robot.frames[robot.frame_index(one)]
        senses.append(R[robot.frame_index(one)][1, "XYZ".index(frame.joint[1])])  # the body's y on its axis
    tilts = np.array(senses) * angles  # front down
    assert abs(tilts[0]) > 1e-3
    assert tilts[0] == pytest.approx(-tilts[1], abs=1e-9)


@pytest.mark.parametrize("name", ["leo", "osr"])
def test_without_a_person_fixed_rockers_stay_fixed(name, tmp_path):
    robot = imported(name, tmp_path, human=False)
    assert not any("rocker" in one for one in robot.joints)
    ground = gr.terrain.rough(rms=0.2 * PLACES[name][2], length=8 * PLACES[name][2], seed=3)
    assert abs(gr.settle(robot, ground).height_error).max() > 5e-4


def test_the_arm_and_mast_of_curiosity_are_held_within_their_limits(tmp_path):
    robot = imported("curiosity", tmp_path)
    assert not {"mast_joint", "arm_joint", "turret_joint"} & set(robot.joints)
    assert robot.mass == pytest.approx(500 + 2 * (30 + 15) + 4 * 5 + 6 * 8 + 10 + 20 + 5)
    # It drives along −y of its root link: that is the body's x. The arm is raised by 0.2 rad, the least it can be.
    body = robot.frames[0]
    arm = np.array([1.0 + 0.4 * math.cos(0.2), 0.0, 0.9 - 0.4 * math.sin(0.2)])
    turret = np.array([1.0 + 0.8 * math.cos(0.2), 0.0, 0.9 - 0.8 * math.sin(0.2)])
    mast, chassis = np.array([0.8, 0.4, 1.2]), np.array([0.0, 0.0, 1.0])
    expected = (500 * chassis + 10 * mast + 20 * arm + 5 * turret) / 535
    np.testing.assert_allclose(body.com, expected, rtol=0.0, atol=1e-12)


def test_a_hinge_whose_axis_points_down_steers_to_the_right_when_it_turns_forward(tmp_path):
    """As in the URDF: about x of a frame pitched by 90°, which points down, a positive angle turns to the right."""
    robot = imported("racecar", tmp_path)
    from grouser.vehicles.tree import forward_kinematics

    theta = np.zeros(robot.n_joints)
    theta[robot.joint_index("left_steering_hinge_joint")] = 0.3
    R, _ = forward_kinematics(robot.frames, theta)
    axle = R[robot.frame_index("left_front_wheel_joint")][:, 1]
    heading = math.atan2(-axle[0], axle[1])
    assert heading == pytest.approx(-0.3, abs=1e-5)


@pytest.mark.parametrize(("name", "most"), [("racecar", 1.0), ("osr", 0.8)])
def test_hinges_steer_no_further_than_their_limit(name, most, tmp_path):
    robot = imported(name, tmp_path)
    assert [one.angle for one in robot.steering] == pytest.approx([most] * len(robot.steering))
    with pytest.warns(UserWarning, match="largest angle"):
        run = gr.simulate(gr.Kinematics(robot), gr.terrain.plane(), gr.drive.arc(0.2, 8.0), duration=4.0, dt=DT)
    turned = np.array([run.joint(one.joint)[-1] for one in robot.steering])
    assert np.abs(turned).max() == pytest.approx(most, abs=1e-4)
