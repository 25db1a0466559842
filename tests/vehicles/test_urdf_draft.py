"""What a drafted side file says of a URDF, what it leaves to people, and what a side file changes."""

import math
import re
import sys
import warnings

import numpy as np
import pytest
import urdf_families as f
from urdf_families import cart

import grouser as gr
from grouser.errors import VehicleError
from grouser.vehicles.tree import forward_kinematics
from grouser.vehicles.urdf_model import read_robot
from grouser.vehicles.urdf_side import parse_side, side_path

SWIVEL = (
    f.link("fork", f.inertial(0.5)),
    f.joint("swivel_joint", "continuous", "base", "fork", "-0.3 0 0", axis="0 0 1"),
    f.link("roll", f.inertial(0.2), f.cylinder(0.05, 0.02)),
    f.joint("caster_wheel", "continuous", "fork", "roll", "-0.04 0 -0.05", axis="0 1 0"),
)
TWO = ((0.3, 0.2), (0.3, -0.2))


def test_motors_come_from_what_drives_joints_and_not_from_what_publishes_them(drafted):
    made, side = drafted(f.turtlebot())
    assert side["actuated"] == ["wheel_left_joint", "wheel_right_joint"]
    assert "Motors by <plugin>" in made.text
    assert not made.guesses
    made, side = drafted(f.jackal())
    assert len(side["actuated"]) == 4
    assert "<ros2_control>" in made.text
    assert "front_left_wheel, front_right_wheel, rear_left_wheel, rear_right_wheel, which are no joints" in made.text


def test_a_state_interface_is_no_motor(drafted):
    driven = f.control("wheel_1", "wheel_2")
    read = '<ros2_control name="s"><joint name="wheel_3"><state_interface name="velocity"/></joint></ros2_control>'
    made, side = drafted(cart(extra=driven + read))
    assert side["actuated"] == ["wheel_1", "wheel_2"]
    assert "Without a motor: wheel_3, wheel_4." in made.text


def test_without_motors_all_wheels_are_driven_and_the_draft_says_that_it_guesses(drafted):
    made, side = drafted(f.f1tenth())
    assert len(side["actuated"]) == 6
    assert any("names no motors" in one for one in made.guesses)
    assert side["masses"]["front_left_wheel"] == pytest.approx(300 * math.pi * 0.05**2 * 0.04, rel=1e-2)
    assert side["masses"]["base_link"] == pytest.approx(300 * 0.5 * 0.2 * 0.1)


def test_a_castor_ball_slides_and_does_not_move_the_drive_point(load):
    robot = load(f.turtlebot())
    ball = robot.frames[robot.frame_index("caster_back_joint")]
    assert (ball.radius, ball.slides) == (0.005, 0.2)
    np.testing.assert_allclose(robot.wheel_positions[-1], (-0.08, 0.0, 0.005), rtol=0.0, atol=1e-12)
    assert robot.sliding == ("caster_back_joint",)
    assert robot.drive_point == pytest.approx((0.0, 0.0))
    assert robot.mass == pytest.approx(0.8 + 0.1 + 2 * 0.03 + 0.005)


def test_what_is_called_a_castor_but_is_a_box_becomes_a_ball_of_half_its_height(drafted):
    # Laid on its side: its height is its y. It stands 4.5 mm over the ground.
    sphere, block = f.shape("sphere", 'radius="0.005"'), f.box(0.03, 0.009, 0.02, "0 0.0005 0")
    _, side = drafted(f.turtlebot().replace(sphere, block))
    row = next(row for row in side["wheels"] if row["joint"] == "caster_back_joint")
    assert row["radius"] == pytest.approx(0.0045, abs=1e-4)
    assert row["centre"] == pytest.approx([0.0, 0.0005, 0.0])


def test_a_swivel_castor_turns_freely_and_follows(load):
    robot = load(cart(*SWIVEL, wheels=TWO, extra=f.control("wheel_1", "wheel_2")))
    assert robot.actuated == ("wheel_1", "wheel_2")
    assert robot.steering == ()
    assert robot.frames[robot.frame_index("swivel_joint")].joint == "RZ"
    assert robot.drive_point == pytest.approx((0.3, 0.0))
    run = gr.simulate(gr.Kinematics(robot), gr.terrain.plane(), gr.drive.arc(0.5, 0.5), duration=8.0, dt=0.02)
    # The castor's axle points to the turning centre, 2 m to the left of the drive point, when it has swung round:
    # its pivot moves at ω (2, −0.6), and its wheel trails 0.04 m behind it, which turns it a little more.
    expected = -math.atan2(0.6, 2.0) - math.asin(0.04 / math.hypot(2.0, 0.6))
    assert run.joint("swivel_joint")[-1] == pytest.approx(expected, abs=2e-3)
    assert run.velocity[-1, 2] == pytest.approx(0.25, rel=1e-6)


def test_a_motor_on_the_same_hinge_makes_it_steering(drafted):
    motors = f.control("wheel_1", "wheel_2", "swivel_joint")
    _, side = drafted(cart(*SWIVEL, wheels=TWO, extra=motors))
    assert [row["joint"] for row in side["steering"]] == ["swivel_joint"]
    assert side["actuated"] == ["wheel_1", "wheel_2", "swivel_joint"]


def test_a_turret_high_up_and_a_lidar_are_no_wheels(drafted):
    parts = (
        f.link("drum", f.inertial(1.0), f.cylinder(0.1, 0.2)),
        f.joint("drum_joint", "continuous", "base", "drum", "0 0 0.5", axis="0 1 0"),
        f.link("lidar", f.inertial(0.3), f.cylinder(0.05, 0.05, rpy="0 0 0")),
        f.joint("lidar_joint", "continuous", "base", "lidar", "0.2 0 0.2", axis="0 0 1"),
    )
    made, side = drafted(cart(*parts))
    assert [row["joint"] for row in side["wheels"]] == ["wheel_1", "wheel_2", "wheel_3", "wheel_4"]
    assert side["lock"] == ["drum_joint", "lidar_joint"]
    assert "'drum_joint' turns something round too" in made.text


def test_a_wheel_without_a_round_shape_or_ground_is_left_to_people(drafted, load):
    urdf = cart(tyre=f.box(0.2, 0.05, 0.2))
    made, side = drafted(urdf)
    assert side["wheels"] == []
    assert made.missing[0] == "the radius of wheel 'wheel_1' is not known"
    assert made.text.count("NOT KNOWN: its radius") == 4
    robot = load(
        urdf,
        *(
            (f'# {{ joint = "wheel_{n}", radius = … }}', f'{{ joint = "wheel_{n}", radius = 0.1 }}')
            for n in (1, 2, 3, 4)
        ),
    )
    assert robot.wheels == ("wheel_1", "wheel_2", "wheel_3", "wheel_4")


def test_the_size_of_a_wheel_is_taken_from_its_mesh(tmp_path, drafted):
    pytest.importorskip("trimesh")
    angles = np.linspace(0.0, 2.0 * np.pi, 24, endpoint=False)
    rim = [(math.cos(a) * 120.0, math.sin(a) * 120.0) for a in angles]
    corners = [(x, y, z) for x, y in rim for z in (-30.0, 10.0)]
    faces = [(2 * i + 1, 2 * i + 2, 2 * ((i + 1) % 24) + 1) for i in range(24)]
    text = "".join(f"v {x} {y} {z}\n" for x, y, z in corners) + "".join(f"f {a} {b} {c}\n" for a, b, c in faces)
    (tmp_path / "wheel.obj").write_text(text)
    tyre = f.shape("mesh", 'filename="wheel.obj" scale="0.001 0.001 0.001"', rpy=f"{f.HALF_PI} 0 0")
    _, side = drafted(cart(tyre=tyre))
    row = side["wheels"][0]
    assert (row["radius"], row["width"]) == (pytest.approx(0.12), pytest.approx(0.04))
    assert row["centre"] == pytest.approx([0.0, 0.01, 0.0])  # the mesh's z, −10 mm, is the joint's −y


def test_which_way_is_forward_by_names(drafted, load):
    assert drafted(f.curiosity())[1]["forward"] == "-y"
    assert "forward" not in drafted(f.husky())[1]
    swapped = f.husky().replace('"front_', '"tmp_').replace('"rear_', '"front_').replace('"tmp_', '"rear_')
    made, side = drafted(swapped)
    assert side["forward"] == "-x"
    robot = load(swapped)
    front = robot.wheel_positions[robot.wheels.index("front_left_wheel")]
    assert front[0] == pytest.approx(0.25)
    assert front[1] == pytest.approx(-0.28)  # it now stands on the right, as the draft says
    assert any("'front_left_wheel' stands on the right" in one for one in made.guesses)


def test_a_missing_side_file_is_drafted_with_one_warning_or_refused_with_the_command(tmp_path):
    path = tmp_path / "husky.urdf"
    path.write_text(f.husky())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        robot = gr.vehicle(path)
    assert len(robot.actuated) == 4
    (one,) = caught
    said = str(one.message)
    assert "4 wheels, 4 driven" in said
    assert f"grouser check {path} --write {tmp_path / 'husky.grouser.toml'}" in said
    path.write_text(cart(tyre=f.box(0.2, 0.05, 0.2)))
    with pytest.raises(VehicleError, match=r"the radius of wheel 'wheel_1' is not known.*grouser check .* --write"):
        gr.vehicle(path)


def test_free_needs_an_axis_and_turns_about_it(load):
    hinge = (
        f.link("arm", f.inertial(1.0)),
        f.joint("rocker", "fixed", "base", "arm", "0 0.2 0", "0 0 3.14159265358979"),
    )
    wheel = (
        f.link("w", f.inertial(1.0), f.cylinder(0.1, 0.05)),
        f.joint("wheel_5", "continuous", "arm", "w", "0.1 0 0", axis="0 1 0"),
    )
    urdf = cart(*hinge, *wheel)
    side = 'wheels = [ { joint = "wheel_5", radius = 0.1 } ]\n'
    with pytest.raises(VehicleError, match=r"gives 'rocker' no <axis>"):
        load(urdf, side=side + 'free = ["rocker"]\nlock = ["wheel_1", "wheel_2", "wheel_3", "wheel_4"]')
    robot = load(urdf, side=side + 'free = [ { joint = "rocker", axis = [0, 2, 0] } ]')
    theta = np.zeros(robot.n_joints)
    theta[robot.joint_index("rocker")] = 0.1
    _, p = forward_kinematics(robot.frames, theta)
    # Turned about by π, its y is the body's −y; the wheel is at x = −0.1 and goes down by 0.1 sin 0.1.
    at = p[robot.frame_index("wheel_5")]
    np.testing.assert_allclose(at, (-0.1 * math.cos(0.1), 0.2, -0.1 * math.sin(0.1)), rtol=0.0, atol=1e-9)


def test_a_locked_joint_is_held_where_it_is_said_with_those_that_mimic_it(load):
    parts = (
        f.link("boom", f.inertial(2.0, "0.5 0 0")),
        f.joint("lift", "revolute", "base", "boom", "0 0 0.2", axis="0 1 0"),
        f.link("hand", f.inertial(1.0)),
        f.joint(
            "wrist", "revolute", "boom", "hand", "1 0 0", axis="0 1 0", extra='<mimic joint="lift" multiplier="-1"/>'
        ),
        f.link("slide", f.inertial(1.0)),
        f.joint("slider", "prismatic", "hand", "slide", axis="1 0 0"),
    )
    urdf = cart(*parts)
    robot = load(urdf, ('"lift",', '{ joint = "lift", at = -0.5 },'), ('"slider",', '{ joint = "slider", at = 0.3 },'))
    assert robot.joints == ("wheel_1", "wheel_2", "wheel_3", "wheel_4")
    assert robot.couplings == ()
    c, s = math.cos(0.5), math.sin(0.5)  # −0.5 rad about y raises what is ahead
    boom, hand = np.array([0.5 * c, 0.0, 0.2 + 0.5 * s]), np.array([c, 0.0, 0.2 + s])
    expected = (2.0 * boom + hand + hand + np.array([0.3, 0.0, 0.0])) / 24.0  # the wrist turns back by 0.5 rad
    np.testing.assert_allclose(robot.frames[0].com, expected, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize(
    ("side", "words"),
    [
        ('free = ["wheel_1"]', "free: 'wheel_1' is not a fixed joint"),
        ('lock = ["boom"]', "lock: 'boom' is not a moving joint"),
        ('lock = [ { joint = "wheel_1", at = "up" } ]', "at: 'up' is not a number"),
        ('forward = "left"', "forward: 'left' is not one of"),
        ('masses = { nothing = 1 }', "masses: 'nothing' is not a link"),
        ('masses = { base = 0 }', "mass of 'base': 0 is not positive"),
        ('lock = ["wheel_2"]\nactuated = ["wheel_2"]', "actuated: 'wheel_2' is not a moving joint"),
        ('lock = [1]', "1 is not a table"),
        ('free = [ { joint = "ball", axis = [0, 0, 0] } ]', "axis: is zero"),
        ('steering = [ { joint = "wheel_2", gain = 1 } ]', "its axis is 90° from the vertical"),
    ],
)  # fmt: skip
def test_a_fault_in_the_new_fields_is_named(load, side, words):
    urdf = cart(f.link("tail", f.shape("sphere", 'radius="0.1"')), f.joint("ball", "fixed", "base", "tail"))
    wheels = 'wheels = [ { joint = "wheel_1", radius = 0.1 } ]\n'
    with pytest.raises(VehicleError) as caught:
        load(urdf, side=wheels + side)
    assert re.search(re.escape(words), str(caught.value)), str(caught.value)
    assert "\n" not in str(caught.value)


def test_wheels_on_fixed_joints_and_beside_their_axle_are_refused(load):
    urdf = cart(f.link("tail", f.shape("sphere", 'radius="0.1"')), f.joint("ball", "fixed", "base", "tail"))
    with pytest.raises(VehicleError, match=r"'ball' is not a moving joint but a fixed one; add it to free, or slides"):
        load(urdf, side='wheels = [ { joint = "ball", radius = 0.1 } ]')
    with pytest.raises(VehicleError, match=r"wheel 'wheel_1', field centre: lies 0.05 m off the axle"):
        load(urdf, side='wheels = [ { joint = "wheel_1", radius = 0.1, centre = [0.05, 0.02, 0] } ]')
    robot = load(urdf, side='wheels = [ { joint = "wheel_1", radius = 0.1, centre = [0, 0.02, 0] } ]')
    np.testing.assert_allclose(robot.wheel_positions[0], (0.3, 0.22, 0.0), rtol=0.0, atol=1e-12)
    com = robot.frames[robot.frame_index("wheel_1")].com  # the mass stays where it was
    np.testing.assert_allclose(com, (0.0, -0.02, 0.0), rtol=0.0, atol=1e-12)


def test_masses_of_links_keep_the_shape_of_their_inertia(load):
    robot = load(cart(), side='wheels = [ { joint = "wheel_1", radius = 0.1 } ]\nmasses = { base = 40, tyre_1 = 2 }')
    body, wheel = robot.frames[0], robot.frames[robot.frame_index("wheel_1")]
    assert wheel.mass == 2.0
    np.testing.assert_allclose(wheel.inertia_matrix, 0.02 * np.eye(3))  # twice 0.01
    assert body.mass == 40.0
    bare = f.f1tenth()
    robot = load(bare)
    tyre = robot.frames[robot.frame_index("back_left_wheel_joint")]
    # Its shape is only drawn, so it is a point: kinematics does not ask.
    assert tyre.mass == pytest.approx(0.0942)


def test_xacro_is_expanded_by_its_package_or_asked_for_in_one_sentence(tmp_path, monkeypatch):
    path = tmp_path / "rover_description" / "urdf" / "osr.urdf.xacro"
    path.parent.mkdir(parents=True)
    (path.parent / "part.xacro").write_text(
        '<robot xmlns:xacro="http://www.ros.org/wiki/xacro"><link name="extra"/></robot>'
    )
    include = '<xacro:include filename="$(find rover_description)/urdf/part.xacro"/>'
    extra = '<joint name="e" type="fixed"><parent link="base_link"/><child link="extra"/></joint>'
    path.write_text(f.osr().replace('<link name="base_footprint"/>', f'<link name="base_footprint"/>{include}{extra}'))
    pytest.importorskip("xacro")
    robot = read_robot(path)
    assert "extra" in robot.links
    assert robot.links["bogie_link_L"].mass == 1.0
    assert side_path(path).name == "osr.grouser.toml"
    path.write_text(path.read_text().replace("rover_description)", "other_package)"))
    with pytest.raises(
        VehicleError, match=r"osr.urdf.xacro: xacro cannot expand it: package 'other_package' is not found"
    ):
        read_robot(path)
    path.write_text(f.osr().replace('name="rover"', 'name="$(arg called)"'))
    with pytest.raises(VehicleError, match=r"argument called; give it its arguments: xacro osr.urdf.xacro NAME:=VALUE"):
        read_robot(path)
    path.write_text(f.osr().replace("${kg/100}", "${kg/0}"))
    with pytest.raises(VehicleError, match=r"xacro cannot expand it: .*division"):
        read_robot(path)
    monkeypatch.setitem(sys.modules, "xacro", None)
    with pytest.raises(VehicleError, match=r"needs the package xacro; run pip install grouser\[xacro\]"):
        read_robot(path)


def test_drafts_are_read_as_they_are_written(drafted):
    for make in f.FAMILIES.values():
        if make is f.osr:
            continue
        made, side = drafted(make())
        parsed = parse_side(made.text, "robot.grouser.toml")
        assert [wheel.joint for wheel in parsed.wheels] == [row["joint"] for row in side["wheels"]]
        assert all(len(line) < 200 for line in made.text.splitlines())


def test_the_ball_of_a_castor_lies_across_the_body_whatever_its_joint(load):
    robot = load(f.turtlebot())  # its joint is turned by −1.57 about x
    ball = robot.frames[robot.frame_index("caster_back_joint")]
    np.testing.assert_allclose(ball.rotation[:, 1], (0.0, 1.0, 0.0), rtol=0.0, atol=1e-12)


def rockers(axis_left="0 1 0", axis_right="0 1 0", hinge=""):
    """Two rockers, one about and one along y, each with two wheels; no mimic."""
    parts = [f.link("base", f.inertial(20.0))]
    for side, y, axis, way in (("left", 0.2, axis_left, -1.0), ("right", -0.2, axis_right, 1.0)):
        parts.append(f.link(f"beam_{side}", f.inertial(1.0)))
        turned = f"0 0 {math.pi if way < 0 else 0}"
        parts.append(f.joint(f"{side}_hinge", "revolute", "base", f"beam_{side}", f"0 {y} 0.1", turned, axis))
        for n, x in enumerate((0.3, -0.3)):
            name = f"{side}_{n}"
            parts.append(f.link(name, f.inertial(1.0), f.cylinder(0.1, 0.05)))
            ends = f"beam_{side}", name
            parts.append(f.joint(f"{name}_wheel", "continuous", *ends, f"{way * x} 0 0", axis=f"0 {way} 0"))
    return f.robot("rover", *parts)


@pytest.mark.parametrize(
    ("axes", "joints"),
    [
        (("0 1 0", "0 1 0"), {"left_hinge": -1.0, "right_hinge": 1.0}),  # the left frame is turned about: y is −y
        (("0 -1 0", "0 1 0"), {"left_hinge": 1.0, "right_hinge": 1.0}),
        (("0 -1 0", "0 -1 0"), {"left_hinge": 1.0, "right_hinge": -1.0}),
    ],
)
def test_the_differential_of_a_draft_tilts_the_rockers_against_each_other(axes, joints, drafted, load):
    made, side = drafted(rockers(*axes))
    assert side["couplings"] == [{"name": "differential", "joints": joints}]
    assert "a differential couples the rockers" in made.guesses
    robot = load(rockers(*axes))
    rest = gr.settle(robot, gr.terrain.rough(rms=0.03, length=0.6, seed=5))
    assert abs(rest.height_error).max() < 1e-6


def test_a_hinge_on_a_turned_rocker_is_vertical_in_the_body_and_faces_forward(load):
    """A rocker in a frame rolled by 90°, whose hinge turns about y of it: vertical, in the body."""
    parts = (
        f.link("beam", f.inertial(1.0)),
        f.joint("rocker", "revolute", "base", "beam", "0.3 0 0", f"{f.HALF_PI} 0 0", "0 0 -1"),
        f.link("knuckle", f.inertial(0.5)),
        f.joint("steer", "revolute", "beam", "knuckle", axis="0 1 0"),
        f.link("roll", f.inertial(0.5), f.cylinder(0.1, 0.05, rpy="0 0 0")),
        f.joint("front_wheel", "continuous", "knuckle", "roll", axis="0 0 -1"),
    )
    back = ((-0.3, 0.2), (-0.3, -0.2))
    robot = load(cart(*parts, wheels=back, extra=f.control("wheel_1", "wheel_2", "steer")))
    assert [one.joint for one in robot.steering] == ["steer"]
    R, _ = forward_kinematics(robot.frames, np.zeros(robot.n_joints))
    np.testing.assert_allclose(R[robot.frame_index("steer")], np.eye(3), rtol=0.0, atol=1e-12)
    run = gr.simulate(gr.Kinematics(robot), gr.terrain.plane(), gr.drive.arc(0.3, 0.5), duration=4.0, dt=0.02)
    assert run.joint("steer")[-1] == pytest.approx(math.atan(0.6 * 0.5), abs=1e-5)


@pytest.mark.parametrize(("left", "forward"), [("-1", "+y"), ("1", "-y")])
def test_forward_along_y_follows_from_left_and_right(left, forward, drafted):
    parts = [f.link("base", f.inertial(9.0))]
    for side, x in (("left", float(left)), ("right", -float(left))):
        for n, y in enumerate((0.3, -0.3)):
            parts.append(f.link(f"{side}_{n}", f.inertial(1.0), f.cylinder(0.1, 0.05, rpy=f"0 {f.HALF_PI} 0")))
            parts.append(
                f.joint(f"{side}_wheel_{n}", "continuous", "base", f"{side}_{n}", f"{0.2 * x} {y} 0", axis="-1 0 0")
            )
    made, side = drafted(f.robot("sideways", *parts))
    assert side["forward"] == forward
    assert not any("stands on" in one for one in made.guesses)


def test_a_wheel_that_trails_its_hinge_is_a_castor_without_the_name_and_one_below_it_is_steered(drafted):
    named = [part.replace("caster", "tail") for part in SWIVEL]
    motors = f.control("wheel_1", "wheel_2")
    made, side = drafted(cart(*named, wheels=TWO, extra=motors))
    assert "'swivel_joint' is the swivel of a castor" in made.text  # by its name
    plain = [part.replace("swivel", "turn") for part in named]
    made, side = drafted(cart(*plain, wheels=TWO, extra=motors))
    assert "'turn_joint' is the swivel of a castor" in made.text
    assert "steering" not in side
    below = [part.replace("-0.04 0 -0.05", "0 0.04 -0.05") for part in plain]  # off to the side, along its axle
    made, side = drafted(cart(*below, wheels=TWO, extra=motors))
    assert [row["joint"] for row in side["steering"]] == ["turn_joint"]
    assert "vertical hinges are steered, though the URDF gives them no motors" in made.guesses


def test_the_drive_point_of_a_robot_that_drives_along_y_is_in_body_axes(load):
    parts = [f.link("base", f.inertial(9.0))]
    for side, x in (("left", 0.2), ("right", -0.2)):  # it drives along −y
        parts.append(f.link(f"{side}_tyre", f.inertial(1.0), f.cylinder(0.1, 0.05, rpy=f"0 {f.HALF_PI} 0")))
        parts.append(f.joint(f"{side}_wheel", "continuous", "base", f"{side}_tyre", f"{x} -0.3 0", axis="1 0 0"))
    parts.append(f.link("ball", f.shape("sphere", 'radius="0.02"')))
    parts.append(f.joint("ball_joint", "fixed", "base", "ball", "0.1 0.2 -0.08"))
    robot = load(f.robot("sideways", *parts))
    assert robot.drive_point == pytest.approx((0.3, 0.0))
    np.testing.assert_allclose(robot.wheel_positions[-1], (-0.2, 0.1, -0.08), rtol=0.0, atol=1e-12)
    run = gr.simulate(gr.Kinematics(robot), gr.terrain.plane(), gr.drive.arc(0.5), duration=2.0, dt=0.02)
    np.testing.assert_allclose(run.position[-1, :2], (1.0, 0.0), rtol=0.0, atol=1e-6)
