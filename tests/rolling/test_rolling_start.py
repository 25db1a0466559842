"""Standing a vehicle on smooth ground: all wheels touch, joints move only where they must, failure is a sentence."""

import numpy as np
import pytest
from rolling_grounds import bumpy_spline, model_of

import grouser as gr
from grouser.errors import SimulationError, TerrainError, VehicleError
from grouser.rolling import RollingModel, find_start
from grouser.rolling.start import least_curvature

DESIGNS = ("pvc", "pvc_locked", "pvc_axle", "pvc_four", "pvc_rocker")


@pytest.fixture(scope="module")
def ground():
    return bumpy_spline()


@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.parametrize(("x", "y", "yaw"), [(0.0, 0.0, 0.0), (3.0, -1.0, 2.0), (5.0, 1.5, -1.2)])
def test_all_wheels_stand_on_the_ground_where_the_body_was_put(name, x, y, yaw, ground):
    model = model_of(name, ground)
    start = model.start(x, y, yaw)
    at = model.contacts(start.state, start.contact)
    # Heights of the ground itself, not of the contact chain.
    height = ground.height(at.point_wheel[:, 0], at.point_wheel[:, 1])
    np.testing.assert_allclose(at.point_wheel[:, 2], height, rtol=0.0, atol=1e-11)
    np.testing.assert_allclose(at.normal_wheel, -at.ground.normal, rtol=0.0, atol=1e-11)
    np.testing.assert_allclose(start.state[4:6], [x, y], rtol=0.0, atol=1e-12)
    R = gr.rotation.from_quaternion(start.state[:4])
    assert np.arctan2(R[1, 0], R[0, 0]) == pytest.approx(yaw, abs=1e-11)
    assert R[2, 2] > 0.8
    assert (at.centre[:, 2] > height).all()
    assert start.iterations < 15


def test_on_level_ground_the_start_is_the_rest_pose():
    start = find_start(gr.vehicle("pvc"), gr.terrain.plane(height=0.4), x=1.0, y=2.0, yaw=0.0)
    np.testing.assert_allclose(start.state[:7], [1, 0, 0, 0, 1, 2, 1.05], rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(start.contact[:, 0], np.pi, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(start.contact[:, 1:], [[0, 2.5, 2], [0, 1, 2.75], [0, 1, 1.25]], rtol=0.0, atol=1e-12)


def test_joints_keep_what_they_were_given_and_passive_ones_move_only_where_they_must(ground):
    model = model_of("pvc", ground)
    start = model.start(1.0, 0.5, 0.3, joints={"phi1": 0.3, "gamma2": -0.1, "alpha3": 2.0})
    np.testing.assert_allclose(start.state[7:], [0.3, 0.0, -0.1, 0.0, 0.0, 2.0], rtol=0.0, atol=1e-14)
    four = model_of("pvc_four", ground)
    joints = dict(zip(four.vehicle.joints, four.start(1.0, 0.5, 0.3).state[7:], strict=True))
    assert abs(joints["axle"]) > 0.01  # four wheels on uneven ground need it
    assert joints["phi1"] == joints["phi2"] == 0.0
    rocker = model_of("pvc_rocker", ground)
    joints = dict(zip(rocker.vehicle.joints, rocker.start(1.0, 0.5, 0.3).state[7:], strict=True))
    assert abs(joints["left"]) > 0.003
    assert joints["left"] == pytest.approx(-joints["right"], abs=1e-12)


def test_four_wheels_without_a_joint_to_adapt_have_no_initial_contact(ground):
    four = gr.vehicle("pvc_four")
    rigid = four.replace(couplings=[gr.vehicles.Coupling("stiff", {"axle": 1.0})])
    for camber in ("gamma1", "gamma2", "gamma3", "gamma4"):
        rigid = rigid.replace(couplings=[*rigid.couplings, gr.vehicles.Coupling(camber, {camber: 1.0})])
    with pytest.raises(SimulationError, match=r"^no initial contact: at x 1 m.* wheel 'alpha\d' .* m away: start"):
        RollingModel(rigid, ground).start(1.0, 0.5, 0.3)
    RollingModel(rigid, gr.terrain.slope(deg=8.0)).start(1.0, 0.5, 0.3)


def test_a_wheel_that_would_touch_from_below_is_no_contact(ground):
    with pytest.raises(SimulationError, match=r"no initial contact.* has wheel 'alpha2' under the ground"):
        model_of("pvc", ground).start(joints={"gamma2": 2.8})


def test_ground_sharper_than_the_tyre_is_a_sentence():
    """A furrow across the tyre with a bottom of radius 0.1 m: the tyre's 0.15 m do not fit into it."""
    x, y = np.linspace(-3.0, 3.0, 13), np.linspace(-2.0, 2.0, 801)
    furrows = np.zeros((13, 1)) + np.minimum(np.hypot(0.1, y), np.hypot(0.1, np.abs(y) - 0.75)) - 0.3
    with pytest.raises(SimulationError, match=r"at wheel 'alpha\d' is more sharply curved than its tyre can follow"):
        model_of("pvc_locked", gr.terrain.spline(furrows, x, y)).start()


def test_least_curvature_is_that_of_a_tyre_in_a_round_valley():
    """In a valley along the wheel's plane of radius 1 m: 1/0.65 − 1 around, 1/0.15 across; the lesser is the first."""
    bowl = gr.terrain.law(lambda x, y: (0.5 * x * x, x, 0.0, 1.0, 0.0, 0.0))
    model = model_of("pvc_locked", bowl)
    state = np.concatenate(([1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.65], np.zeros(4)))
    contact = np.array([[np.pi, 0.0, 0.0, 0.0]] * 3)
    least = least_curvature(model.vehicle, contact, model.contacts(state, contact))
    np.testing.assert_allclose(least, 1.0 / 0.65 - 1.0, rtol=1e-12)


def test_a_start_off_the_map_and_an_unknown_joint_are_sentences(ground):
    with pytest.raises(TerrainError, match="no ground at"):
        model_of("pvc", ground).start(x=80.0)
    with pytest.raises(VehicleError, match="no joint 'beta'"):
        model_of("pvc", ground).start(joints={"beta": 0.0})
    with pytest.raises(SimulationError, match="yaw: nan"):
        model_of("pvc", ground).start(yaw=np.nan)


def test_a_tyre_larger_than_its_rim_is_refused_by_the_vehicle():
    with pytest.raises(VehicleError, match="is larger than the rim"):
        gr.vehicle("pvc").replace_frame("alpha1", tyre_radius=0.4)
