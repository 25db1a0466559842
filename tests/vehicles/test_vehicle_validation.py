"""What is no vehicle is refused in one sentence that says what, where and what would be right."""

import itertools
import math
import random
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from grouser.errors import VehicleError
from grouser.vehicles import Coupling, Frame, Steering, Vehicle, box_inertia, wheel_inertia

WHEEL = {"joint": "RY", "radius": 0.2, "width": 0.1, "mass": 2.0, "inertia": wheel_inertia(2.0, 0.2, 0.1)}
BODY = Frame("body", mass=10.0, inertia=box_inertia(10.0, 1.0, 0.6, 0.3))
STEER = Frame("steer", "body", "RZ", actuated=True, xyz=(0.5, 0, 0))
FRONT = Frame("front", "steer", actuated=True, **WHEEL)
LEFT = Frame("left", "body", xyz=(-0.5, 0.4, 0), **WHEEL)
RIGHT = Frame("right", "body", xyz=(-0.5, -0.4, 0), **WHEEL)
FRAMES = (BODY, STEER, FRONT, LEFT, RIGHT)


def tricycle(*frames, **fields):
    return Vehicle("tricycle", frames or FRAMES, **fields)


def refused(*words, frames=FRAMES, **fields):
    with pytest.raises(VehicleError) as caught:
        tricycle(*frames, **fields)
    message = str(caught.value)
    assert "\n" not in message
    for word in words:
        assert word in message, message


def refused_frame(*words, **fields):
    with pytest.raises(VehicleError) as caught:
        Frame(**{"name": "FL", "parent": "body", "joint": "RY", **fields})
    for word in ("frame 'FL'", *words):
        assert word in str(caught.value), str(caught.value)


def test_frames_in_any_order_make_the_same_tree():
    for shuffled in itertools.permutations(FRAMES):
        frames = tricycle(*shuffled).frames
        names = [frame.name for frame in frames]
        assert sorted(names) == sorted(frame.name for frame in FRAMES)
        assert names[0] == "body"
        assert names.index("steer") < names.index("front")


def test_frames_that_are_sorted_already_keep_their_order():
    orders = [(BODY, RIGHT, LEFT, STEER, FRONT), (BODY, STEER, LEFT, FRONT, RIGHT)]
    for order in orders:
        assert tricycle(*order).frames == order


def test_only_what_stands_before_its_parent_is_moved():
    assert tricycle(FRONT, LEFT, RIGHT, STEER, BODY).frames == (BODY, LEFT, RIGHT, STEER, FRONT)


def test_a_long_chain_is_no_problem():
    links = [Frame(f"link{i}", f"link{i - 1}" if i else "body", "RZ", mass=1.0) for i in range(2000)]
    rows = [BODY, LEFT, *links]
    random.Random(0).shuffle(rows)
    assert tricycle(*rows).n_joints == 2001


def test_no_body_is_refused():
    refused(
        "no body",
        "exactly one frame must have no parent",
        frames=(replace(BODY, parent="left", joint="RX"), LEFT),
    )
    refused("no body", frames=(LEFT,))


def test_an_empty_list_of_frames_is_refused():
    with pytest.raises(VehicleError, match="no body"):
        Vehicle("empty", ())


def test_two_roots_are_refused_by_name():
    refused("body, second", "parent", frames=(*FRAMES, Frame("second", mass=1.0)))


def test_a_cycle_is_refused_by_name():
    a, b = Frame("a", "b", "RX", mass=1.0), Frame("b", "a", "RX", mass=1.0)
    refused("a, b", "cycle", "'body'", frames=(*FRAMES, a, b))


def test_a_frame_that_is_its_own_parent_is_refused():
    refused("loop", "cycle", frames=(*FRAMES, Frame("loop", "loop", "RX", mass=1.0)))


def test_an_unknown_parent_is_refused_and_the_frames_are_listed():
    refused(
        "frame 'left'",
        "'axle'",
        "body, steer, front",
        frames=(*FRAMES[:3], replace(LEFT, parent="axle"), RIGHT),
    )


def test_a_duplicate_name_is_refused_with_both_rows():
    refused("'left'", "rows 4 and 5", frames=(*FRAMES[:4], replace(RIGHT, name="left")))


def test_no_wheels_is_refused():
    refused("no wheels", "radius", frames=(BODY, Frame("arm", "body", "RZ", mass=1.0)))


def test_a_wheel_that_carries_a_frame_is_refused():
    refused("frame 'left'", "hub", frames=(*FRAMES, Frame("hub", "left", "RX", mass=1.0)))


def test_a_leaf_that_is_no_wheel_is_welcome():
    arm = Frame("arm", "body", "RZ", mass=1.0)
    assert tricycle(*FRAMES, arm).wheels == ("front", "left", "right")


def test_massless_links_between_bodies_are_welcome():
    assert STEER.mass == 0.0
    long = [Frame("s", "body", "RX"), Frame("t", "s", "RZ"), Frame("u", "t", "PZ"), Frame("w", "u", **WHEEL)]
    assert tricycle(BODY, *long).mass == 12.0


def test_a_branch_without_any_mass_is_refused():
    bare = replace(FRONT, mass=0.0, inertia=(0, 0, 0))
    refused("frame 'front'", "field mass", "above 0", frames=(BODY, STEER, bare, LEFT, RIGHT))
    refused("frame 'arm'", "field mass", frames=(*FRAMES, Frame("arm", "body", "RZ")))


def test_a_vehicle_without_any_mass_is_refused():
    frames = [replace(frame, mass=0.0, inertia=(0, 0, 0)) for frame in FRAMES]
    refused("mass", frames=frames)


def test_a_massless_body_under_heavy_wheels_is_welcome():
    assert tricycle(replace(BODY, mass=0.0, inertia=(0, 0, 0)), *FRAMES[1:]).mass == 6.0


def test_a_body_with_joint_motor_or_offset_is_refused():
    refused("'body'", "field joint", "RX", frames=(replace(BODY, joint="RX"), *FRAMES[1:]))
    refused("'body'", "field actuated", frames=(replace(BODY, actuated=True), *FRAMES[1:]))
    refused("'body'", "field xyz", frames=(replace(BODY, xyz=(0, 0, 1)), *FRAMES[1:]))
    refused("'body'", "field rpy", frames=(replace(BODY, rpy=(0, 0, 1)), *FRAMES[1:]))


def test_a_missing_joint_is_refused():
    refused("frame 'arm'", "field joint", "RX, RY, RZ", frames=(*FRAMES, Frame("arm", "body", mass=1.0)))


@pytest.mark.parametrize("joint", ["ry", "R", "FIXED", "", 3, ["RY"]])
def test_an_unknown_joint_type_is_refused(joint):
    refused_frame("field joint", "RX, RY, RZ, PX, PY, PZ", joint=joint)


@pytest.mark.parametrize("joint", ["RX", "RZ", "PY", None])
def test_a_wheel_must_turn_about_y(joint):
    refused_frame("field joint", "RY", str(joint), joint=joint, radius=0.3)


@pytest.mark.parametrize("field", ["radius", "width"])
@pytest.mark.parametrize("value", [0.0, -0.1])
def test_a_wheel_size_must_be_positive(field, value):
    refused_frame(f"field {field}", "not positive", **{"radius": 0.3, "width": 0.1, field: value})


def test_a_width_without_a_radius_is_refused():
    refused_frame("field width", "radius", width=0.1)


def test_a_negative_mass_is_refused():
    refused_frame("field mass", "-1", "zero or more", mass=-1.0)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 1e300, 10**400, "1", None, True, [1.0], 1j])
@pytest.mark.parametrize("field", ["mass", "radius", "width", "xyz", "rpy", "com", "inertia"])
def test_what_is_no_finite_number_is_refused_in_every_field(field, bad):
    if bad is None and field in ("radius", "width"):
        return
    value = bad if field in ("mass", "radius", "width") else (0.0, bad, 0.0)
    given = {"radius": 0.3, "mass": 1.0, field: value}
    refused_frame(f"field {field}", **given)


@pytest.mark.parametrize("field", ["xyz", "rpy", "com", "inertia"])
@pytest.mark.parametrize("value", [(), (1.0, 2.0), (1.0,) * 4, 5.0, "abc", None])
def test_a_vector_of_the_wrong_length_is_refused(field, value):
    refused_frame(f"field {field}", **{field: value, "mass": 1.0})


def test_inertia_of_a_massless_frame_is_refused():
    refused_frame("field inertia", "mass 0", inertia=(1, 1, 1))


def test_an_asymmetric_inertia_is_refused():
    refused_frame("field inertia", "symmetric", mass=1.0, inertia=[[1, 0.1, 0], [0, 1, 0], [0, 0, 1]])


def test_an_indefinite_inertia_is_refused():
    refused_frame("field inertia", "positive semidefinite", mass=1.0, inertia=(1, 1, -0.1))
    refused_frame("field inertia", "positive semidefinite", mass=1.0, inertia=(1, 1, 1, 2, 0, 0))


def test_an_inertia_no_body_can_have_is_refused():
    refused_frame("field inertia", "sum of the other two", mass=1.0, inertia=(1, 1, 2.1))


def test_thin_plates_and_rods_and_points_are_welcome():
    for inertia in [(1, 1, 2), (0.00016, 0.00016, 0.00032), (0, 1, 1), (0, 0, 0), (1e-320, 1e-320, 1e-320)]:
        assert Frame("f", "body", "RX", mass=1.0, inertia=inertia).mass == 1.0


def test_three_six_and_nine_inertia_entries_mean_the_same():
    full = np.array([[2.0, 0.1, 0.2], [0.1, 3.0, 0.3], [0.2, 0.3, 4.0]])
    six = Frame("f", "body", "RX", mass=1.0, inertia=(2, 3, 4, 0.1, 0.2, 0.3))
    nine = Frame("f", "body", "RX", mass=1.0, inertia=full)
    assert six == nine
    np.testing.assert_array_equal(nine.inertia_matrix, full)
    three = Frame("f", "body", "RX", mass=1.0, inertia=np.array([2.0, 3.0, 4.0]))
    np.testing.assert_array_equal(three.inertia_matrix, np.diag([2.0, 3.0, 4.0]))


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "x" * 300, 5, None])
def test_a_name_that_does_not_print_on_one_line_is_refused(name):
    with pytest.raises(VehicleError, match="name"):
        Frame(name)
    with pytest.raises(VehicleError, match="name"):
        Vehicle(name, FRAMES)


def test_a_coupling_must_name_joints():
    refused("coupling 'diff'", "'axle'", "steer, front, left, right", couplings=(Coupling("diff", {"axle": 1.0}),))
    refused("coupling 'diff'", "'body' is the body", couplings=(Coupling("diff", {"left": 1.0, "body": 1.0}),))


def test_an_empty_or_zero_coupling_is_refused():
    with pytest.raises(VehicleError, match=r"coupling 'c'.*empty"):
        Coupling("c", {})
    with pytest.raises(VehicleError, match=r"coupling 'c'.*zero"):
        Coupling("c", {"left": 0.0, "right": 0})
    with pytest.raises(VehicleError, match=r"coupling 'c'.*map"):
        Coupling("c", ["left"])


@pytest.mark.parametrize("field", ["stiffness", "damping"])
def test_a_negative_spring_is_refused(field):
    with pytest.raises(VehicleError, match=f"coupling 'c', field {field}.*negative"):
        Coupling("c", {"left": 1.0}, **{"stiffness": 1.0, field: -1.0})


def test_damping_without_a_spring_is_refused():
    with pytest.raises(VehicleError, match=r"coupling 'c', field damping.*stiffness"):
        Coupling("c", {"left": 1.0}, damping=1.0)


@pytest.mark.parametrize("bad", [math.nan, math.inf, "1", None])
def test_a_coupling_of_what_is_no_number_is_refused(bad):
    with pytest.raises(VehicleError, match="coupling 'c'"):
        Coupling("c", {"left": bad})
    with pytest.raises(VehicleError, match="coupling 'c'"):
        Coupling("c", {"left": 1.0}, value=bad)


def test_two_couplings_of_one_name_are_refused():
    one = Coupling("c", {"left": 1.0})
    refused("coupling 'c'", "names must differ", couplings=(one, one))


def test_steering_must_name_a_joint_about_z():
    refused("steering of 'helm'", "steer, front, left, right", steering=(Steering("helm", 1.0),))
    refused("steering of 'left'", "RZ, not RY", steering=(Steering("left", 1.0),))
    refused("steering of 'body'", "is the body", steering=(Steering("body", 1.0),))
    refused("steering of 'steer'", "twice", steering=(Steering("steer", 1.0), Steering("steer", 2.0)))


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, "1"])
def test_a_steering_gain_or_limit_must_be_positive(bad):
    with pytest.raises(VehicleError, match="steering of 'steer', field gain"):
        Steering("steer", bad)
    with pytest.raises(VehicleError, match="steering of 'steer', field limit"):
        Steering("steer", 1.0, bad)


@pytest.mark.parametrize("point", [(1.0,), (1.0, math.nan), "ab", 3.0])
def test_a_drive_reference_is_two_finite_numbers(point):
    refused("drive_reference", drive_reference=point)


def test_rows_of_the_wrong_kind_are_refused():
    refused("couplings", "entry 1", "Frame", couplings=(BODY,))
    with pytest.raises(VehicleError, match="frames"):
        Vehicle("v", 5)


def test_an_unknown_name_lists_the_valid_ones():
    vehicle = tricycle()
    with pytest.raises(VehicleError, match="no frame 'FL'; frames are body, steer, front, left, right"):
        vehicle.frame_index("FL")
    with pytest.raises(VehicleError, match="no joint 'body'; joints are steer, front, left, right"):
        vehicle.joint_index("body")


def test_names_counts_and_indices_agree():
    vehicle = tricycle()
    assert vehicle.joints == ("steer", "front", "left", "right")
    assert vehicle.wheels == ("front", "left", "right")
    assert vehicle.actuated == ("steer", "front")
    assert (vehicle.n_joints, vehicle.n_wheels, vehicle.mass) == (4, 3, 16.0)
    assert [vehicle.frame_index(frame.name) for frame in vehicle.frames] == [0, 1, 2, 3, 4]
    assert [vehicle.joint_index(joint) for joint in vehicle.joints] == [0, 1, 2, 3]
    assert "3 wheels" in repr(vehicle)
    assert "steer" in vehicle.summary()


def test_the_drive_point_is_the_unsteered_axle_unless_given():
    assert tricycle(steering=(Steering("steer", 5.0),)).drive_point == pytest.approx((-0.5, 0.0))
    assert tricycle().drive_point == pytest.approx((-0.5 / 3, 0.0))
    assert tricycle(drive_reference=(1, 2)).drive_point == (1.0, 2.0)


def test_the_drive_point_is_taken_at_the_natural_displacement():
    slider = Frame("slider", "body", "PX")
    wheel = replace(LEFT, parent="slider", xyz=(0, 0, 0))
    vehicle = tricycle(BODY, slider, wheel, couplings=(Coupling("held", {"slider": 2.0}, value=0.5),))
    np.testing.assert_allclose(vehicle.rest, [0.25, 0.0], rtol=0.0, atol=1e-15)
    assert vehicle.drive_point == pytest.approx((0.25, 0.0))


def test_a_vehicle_does_not_change():
    vehicle = tricycle()
    with pytest.raises(FrozenInstanceError):
        vehicle.name = "other"
    other = vehicle.replace_frame("body", mass=20.0).replace(name="other")
    assert (vehicle.mass, other.mass, other.name) == (16.0, 26.0, "other")
    assert hash(vehicle) != hash(other)
    with pytest.raises(VehicleError, match="wings"):
        vehicle.replace(wings=2)
    with pytest.raises(VehicleError, match="wings"):
        vehicle.replace_frame("left", wings=2)
    with pytest.raises(VehicleError, match="mass"):
        vehicle.replace_frame("left", mass=-2.0)


def test_inertia_helpers_follow_the_formulas():
    assert box_inertia(12.0, 1.0, 2.0, 3.0) == (13.0, 10.0, 5.0)
    assert wheel_inertia(12.0, 1.0, 2.0) == (7.0, 6.0, 7.0)
    with pytest.raises(VehicleError, match="mass"):
        box_inertia(-1.0, 1.0, 1.0, 1.0)
