"""What public URDFs have: split rockers, dozens of shapes, meshes elsewhere, joints without an axis."""

import warnings

import numpy as np
import pytest
import urdf_families as f
from urdf_families import cart

import grouser as gr
from grouser.vehicles.plausible import implausible


def split_rockers(*, senses=(1, 1)):
    """Six wheels; on each side two arms on one level axle, the front one with a wheel, the rear one with a bogie."""
    parts = [f.link("base", f.inertial(100.0), f.box(1.0, 0.6, 0.2))]
    for side, y in (("L", 0.5), ("R", -0.5)):
        for end, sense in zip("FB", senses, strict=True):
            arm = f"arm_{end}_{side}"
            parts += [f.link(arm, f.inertial(3.0)), f.transmission(f"{arm}_joint")]
            parts.append(f.joint(f"{arm}_joint", "revolute", "base", arm, f"0 {y} 0", axis=f"0 {sense} 0"))
        parts.append(f.link(f"bogie_{side}", f.inertial(2.0)))
        parts.append(f.joint(f"b_{side}", "revolute", f"arm_B_{side}", f"bogie_{side}", "-0.5 0 -0.1", axis="0 1 0"))
        bogie = f"bogie_{side}"
        for end, parent, x in (("front", f"arm_F_{side}", 0.8), ("mid", bogie, 0.4), ("back", bogie, -0.4)):
            wheel, z = f"{end}_wheel_{side}", -0.4 if end == "front" else -0.3
            parts.append(f.link(wheel, f.inertial(2.0), f.cylinder(0.15, 0.1)))
            parts.append(f.joint(f"{wheel}_joint", "continuous", parent, wheel, f"{x} 0 {z}", axis="0 1 0"))
            parts.append(f.transmission(f"{wheel}_joint"))
    return f.robot("split", *parts)


@pytest.mark.parametrize("senses", [(1, 1), (1, -1)])
def test_two_hinges_on_one_axle_are_one_rocker(drafted, load, senses):
    """As of Curiosity: front and rear arms turn about one axle; loose from each other, nothing would hold the body."""
    made, side = drafted(split_rockers(senses=senses))
    assert len(side["couplings"]) == 3
    assert "hinges on one axle are one rocker" in made.guesses
    robot = load(split_rockers(senses=senses))
    assert implausible(robot) == []
    ground = gr.terrain.rough(rms=0.05, length=1.0, seed=3)
    rest = gr.settle(robot, ground)
    assert abs(rest.height_error).max() < 1e-6  # all six wheels touch
    # Arms of a side turn alike, whichever way their axes point; the sides turn against each other.
    turned = [
        side * sense * rest.state[7 + robot.joint_index(f"arm_{end}_{name}_joint")]
        for name, side in (("L", 1.0), ("R", -1.0))
        for end, sense in zip("FB", senses, strict=True)
    ]
    assert abs(turned[0]) > 1e-3
    np.testing.assert_allclose(turned, turned[0], rtol=0.0, atol=1e-9)


def test_a_hull_of_many_shapes_is_thinned_and_keeps_its_extent(load):
    """Forty boxes of 218 points are more than the 2000 that are accepted; corners are kept, the farthest apart."""
    many = [f.link(f"box_{i}", f.inertial(0.1), f.box(0.02, 0.02, 0.02)) for i in range(40)]
    many += [f.joint(f"to_{i}", "fixed", "base", f"box_{i}", f"0 {0.005 * i - 0.1} 0.2") for i in range(40)]
    robot = load(cart(*many))
    points = robot.arrays.hull_point
    assert len(points) <= 2000
    assert len({one.frame for one in robot.hull}) == 1
    np.testing.assert_allclose(points.max(axis=0), [0.25, 0.15, 0.21], rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(points.min(axis=0), [-0.25, -0.15, 0.05], rtol=0.0, atol=1e-9)


def test_meshes_that_are_not_there_are_said_once(tmp_path):
    mesh = '<collision><geometry><mesh filename="package://gone/{}.stl"/></geometry></collision>'
    lost = [f.link(f"part_{i}", f.inertial(0.1), mesh.format(i)) for i in range(12)]
    lost += [f.joint(f"to_{i}", "fixed", "base", f"part_{i}", "0 0 0.2") for i in range(12)]
    (tmp_path / "robot.urdf").write_text(cart(*lost, f.control("wheel_1", "wheel_2", "wheel_3", "wheel_4")))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        gr.vehicle(tmp_path / "robot.urdf")
    assert len(said) == 2  # one more: that a draft is used
    assert any("gone/0.stl" in str(one.message) and "11 more" in str(one.message) for one in said)


@pytest.mark.parametrize("axis", [None, "0 0 1"])
def test_a_wheel_whose_joint_turns_across_its_cylinder_is_refused_with_the_reason(drafted, axis):
    """As of F1TENTH, whose wheel joints have no <axis>, so 1 0 0; its rear wheels are fixed."""
    parts = [f.link("base", f.inertial(3.0), f.box(0.3, 0.2, 0.1))]
    for end, x, kind in (("front", 0.3, "continuous"), ("back", 0.0, "fixed")):
        for side, y in (("left", 0.12), ("right", -0.12)):
            parts.append(f.link(f"{end}_{side}_wheel", f.cylinder(0.05, 0.04, tag="visual")))
            parts.append(f.joint(f"to_{end}_{side}", kind, "base", f"{end}_{side}_wheel", f"{x} {y} 0.05", axis=axis))
    made, _ = drafted(f.robot("f1tenth", *parts))
    about = axis or "1 0 0"
    assert made.missing[0].startswith(f"'to_front_left' turns about {about}, across the cylinder of 'front_left_wheel'")
    assert any("to_back_left, to_back_right: called wheels, but fixed" in one for one in made.guesses)


@pytest.mark.parametrize(("kind", "sideways"), [("mecanum", True), ("omni", False)])
def test_wheels_that_are_called_mecanum_or_omni_get_rollers(drafted, load, kind, sideways):
    """Mecanum wheels in their usual places move a robot straight aside: rates −, +, +, − of FL, FR, BL, BR."""
    places = ((0.3, 0.2), (0.3, -0.2), (-0.3, 0.2), (-0.3, -0.2))
    urdf = cart(wheels=places, extra=f.control(*(f"{kind}_{n}" for n in range(1, 5)))).replace("wheel_", f"{kind}_")
    urdf = urdf.replace("tyre_", f"{kind}_wheel_")
    made, side = drafted(urdf)
    assert [row["rollers"] for row in side["wheels"]] == ([45, -45, -45, 45] if sideways else [90] * 4)
    assert "rollers of wheels, by their names and places" in made.guesses
    robot = load(urdf)
    of_robot = cart(wheels=places).replace('robot name="cart"', 'robot name="my_mecanum"')
    if sideways:  # the wheels of turtlebot3_mecanum are called wheels
        assert [row["rollers"] for row in drafted(of_robot)[1]["wheels"]] == [45, -45, -45, 45]
        run = gr.simulate(
            gr.Kinematics(robot), gr.terrain.plane(), gr.drive.twist(0.0, 0.3, 0.0), duration=2.0, dt=0.02
        )
        np.testing.assert_allclose(run.position[-1, :2] - run.position[0, :2], [0.0, 0.6], rtol=0.0, atol=1e-6)
        turned = [run.joint(f"mecanum_{n}")[-1] for n in range(1, 5)]
        np.testing.assert_allclose(turned, np.array([-1.0, 1.0, 1.0, -1.0]) * 0.6 / 0.1, rtol=0.0, atol=1e-6)


def test_that_it_drives_backward_because_its_sides_are_named_so_is_said(drafted):
    """It may as well be that left and right are swapped."""
    wheels = cart(wheels=((0.0, 0.2), (0.0, -0.2))).replace("wheel_1", "wheel_right").replace("wheel_2", "wheel_left")
    made, side = drafted(wheels)
    assert side["forward"] == "-x"
    assert any("it drives along -x" in one and "left and right" in one for one in made.guesses)


@pytest.mark.parametrize("kind", ["continuous", "fixed"])
def test_what_holds_a_castor_is_no_castor_itself(drafted, load, kind):
    """As of Create 3: a link called castor without a shape holds the ball."""
    ball = f.link("front_caster", f.inertial(0.1), f.shape("sphere", 'radius="0.02"'))
    holder = f.link("caster_mount"), f.joint("caster_joint", "fixed", "base", "caster_mount", "-0.3 0 -0.05")
    held = f.joint("front_caster_joint", kind, "caster_mount", "front_caster", "0 0 -0.03", axis="0 1 0")
    urdf = cart(*holder, ball, held, wheels=((0.3, 0.2), (0.3, -0.2)))
    side = drafted(urdf)[1]
    assert [row["joint"] for row in side["wheels"] if "slides" in row] == ["front_caster_joint"]
    assert load(urdf).sliding == ("front_caster_joint",)


def test_a_castor_wheel_behind_a_fixed_fork_rolls_and_its_fork_does_not_slide(drafted, load):
    """As of MiR: the fork is called castor, fixed, and low enough to be one."""
    fork = f.link("caster_fork", f.inertial(0.5), f.box(0.1, 0.04, 0.18))
    wheel = f.link("roll", f.inertial(0.2), f.cylinder(0.1, 0.03))
    joints = [f.joint("fork_joint", "fixed", "base", "caster_fork", "-0.3 0 0")]
    joints.append(f.joint("caster_wheel_joint", "continuous", "caster_fork", "roll", axis="0 1 0"))
    urdf = cart(fork, wheel, *joints, f.control("wheel_1", "wheel_2"), wheels=((0.3, 0.2), (0.3, -0.2)))
    assert not any("slides" in row for row in drafted(urdf)[1]["wheels"])
    assert load(urdf).rolling_wheels == ("wheel_1", "wheel_2", "caster_wheel_joint")
