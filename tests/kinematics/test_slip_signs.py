"""Body slip: which way it goes, at the hand of recipes.md §4 (v_true = v_odometry + v_slip)."""

import math

import numpy as np
import pytest

import grouser as gr
from grouser.slip import BodySlip

FLAT = gr.terrain.plane()
UPHILL = gr.terrain.slope(15.0)  # rises towards +x
LEFT_UP = gr.terrain.slope(15.0, heading_deg=90.0)  # rises towards +y
applications = pytest.mark.parametrize("apply", ["body", "wheels"])


def velocity(name, ground, rates, parameters=None, apply="wheels", gravity=9.81, **directions):
    """Body velocity (ω, v) of a level-headed vehicle with all wheels at given rates: (left, right) or one."""
    vehicle = gr.vehicle(name)
    state = gr.settle(vehicle, ground).state
    slip = None if parameters is None else BodySlip(parameters, apply=apply, **directions)
    command = np.zeros(len(vehicle.actuated))
    left, right = np.broadcast_to(rates, 2)
    for a, joint in enumerate(vehicle.actuated):
        if joint in vehicle.wheels:
            y = vehicle.wheel_positions[vehicle.wheels.index(joint)][1]
            command[a] = left if y > 0 else right
    return gr.Kinematics(vehicle, slip=slip, gravity=gravity).velocity(state, command, ground).value[:6]


def change(*args, **kwargs):
    return velocity(*args, **kwargs) - velocity(*args[:3])


@applications
@pytest.mark.parametrize("rate", [3.0, -3.0])
def test_uphill_it_slips_downhill_forwards_and_backwards(apply, rate):
    """p₁ < 0: p₁ tan(slope) |v| along the body, always downhill. As printed, with V_lon, reversing would climb."""
    slip = change("husky", UPHILL, rate, [-0.5, 0, 0, 0, 0, 0], apply)
    speed = 0.165 * 3.0
    np.testing.assert_allclose(slip[3], -0.5 * math.tan(math.radians(15)) * speed, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(slip[[0, 1, 2, 4, 5]], 0.0, rtol=0.0, atol=1e-9)


@applications
@pytest.mark.parametrize("rate", [3.0, -3.0])
def test_resistance_slows_it_both_ways(apply, rate):
    slip = change("husky", FLAT, rate, [0, -0.1, 0, 0, 0, 0], apply)
    assert slip[3] == pytest.approx(-0.1 * 0.165 * rate, abs=1e-12)


@applications
@pytest.mark.parametrize("rate", [3.0, -3.0])
def test_on_a_side_slope_it_slips_to_the_low_side_both_ways(apply, rate):
    slip = change("husky", LEFT_UP, rate, [0, 0, -0.5, 0, 0, 0], apply)
    assert slip[4] == pytest.approx(-0.5 * math.tan(math.radians(15)) * 0.495, abs=1e-9)  # to the right, downhill
    other = change("husky", gr.terrain.slope(-15.0, heading_deg=90.0), rate, [0, 0, -0.5, 0, 0, 0], apply)
    assert other[4] == pytest.approx(-slip[4], abs=1e-9)


@applications
def test_turning_left_it_slips_outwards_by_the_centripetal_force(apply):
    plain = velocity("husky", FLAT, (1.0, 6.0))
    slip = change("husky", FLAT, (1.0, 6.0), [0, 0, -0.5, 0, 0, 0], apply)
    assert plain[2] > 0
    assert slip[4] == pytest.approx(-0.5 * plain[2] * plain[3] / 9.81 * plain[3], abs=1e-12)  # f_lat/f_z = ωv/g
    assert slip[4] < 0  # to the right


@applications
def test_where_gravity_is_weaker_a_turn_slips_further(apply):
    earth, moon = (change("husky", FLAT, (1.0, 6.0), [0, 0, -0.5, 0, 0, 0], apply, gravity=g) for g in (9.81, 1.62))
    assert moon[4] / earth[4] == pytest.approx(9.81 / 1.62, rel=1e-9)


@applications
@pytest.mark.parametrize(("index", "value"), [(3, -0.8), (5, -0.3)])
@pytest.mark.parametrize("rates", [(1.0, 6.0), (6.0, 1.0)])
def test_understeer_turns_less_than_the_wheels_say(apply, index, value, rates):
    parameters = np.zeros(6)
    parameters[index] = value
    plain, slip = velocity("husky", FLAT, rates), change("husky", FLAT, rates, parameters, apply)
    assert plain[2] * slip[2] < 0
    wanted = {3: value * plain[2] * plain[3] / 9.81 * plain[3], 5: value * plain[2]}[index]
    assert slip[2] == pytest.approx(wanted, abs=1e-12)


def test_a_drift_to_one_side_follows_the_speed():
    assert change("husky", FLAT, 3.0, [0, 0, 0, 0, 0.2, 0])[2] == pytest.approx(0.2 * 0.495, abs=1e-12)
    assert change("husky", FLAT, -3.0, [0, 0, 0, 0, 0.2, 0])[2] == pytest.approx(-0.2 * 0.495, abs=1e-12)


def test_slip_turns_about_the_centre_of_gravity_not_the_body_frame():
    """RecBot's centre of gravity is 0.885 m ahead of its body frame, so a slip in yaw moves the rear axle sideways."""
    vehicle = gr.vehicle("recbot_rigid")
    wheels = 4 * 8.3375
    x = (633.65 * 0.885 + wheels / 2 * 1.77) / (633.65 + wheels)
    slip = change("recbot_rigid", FLAT, 2.0, [0, 0, 0, 0, 0.2, 0], "body")
    speed = 0.3048 * 2.0
    assert slip[2] == pytest.approx(0.2 * speed, abs=1e-9)
    assert slip[4] == pytest.approx(-0.2 * speed * x, abs=1e-9)
    assert vehicle.mass == pytest.approx(667.0)


ALL_LEAN = ("pvc_four", "pvc_rocker")
"""Every wheel has a free camber joint, so wheels that slip sideways move the body or lean: no one answer."""


@pytest.mark.parametrize("name", [name for name in gr.vehicles.names() if name not in ALL_LEAN])
def test_both_ways_of_applying_it_agree_on_level_ground(name):
    """A planar slip of the body moves no wheel off level ground, so solving again adds just that slip."""
    p = [-0.4, -0.05, -0.6, -0.05, 0.03, -0.1]
    a, b = (velocity(name, FLAT, (2.0, 2.5), p, apply) for apply in ("body", "wheels"))
    # RecBot and Crusher stand pitched by 0.02 and 0.003 rad on their springs, Rocky 7 by 1e-4 rad (rounded lengths):
    # not quite in the plane of the ground.
    tolerance = {"recbot": 1e-3, "crusher": 1e-3, "rocky7": 1e-5}
    np.testing.assert_allclose(a, b, rtol=0.0, atol=tolerance.get(name, 1e-9))
    assert np.abs(a - velocity(name, FLAT, (2.0, 2.5))).max() > 1e-3


def test_on_rough_ground_slip_at_the_wheels_keeps_them_down_and_slip_of_the_body_lifts_them():
    ground = gr.terrain.rough(0.1, 1.0, 2, size=20.0)
    vehicle = gr.vehicle("zoe")
    p = [-0.5, -0.2, -0.8, 0, 0, -0.2]
    rise = {}
    for apply in ("body", "wheels"):
        model = gr.Kinematics(vehicle, slip=BodySlip(p, apply=apply))
        run = gr.simulate(model, ground, gr.drive.arc(1.0), duration=5.0)
        rise[apply] = np.sqrt(np.mean(run.contact.height_error**2))
    assert rise["wheels"] < 0.5 * rise["body"]


@applications
def test_no_slip_parameters_are_no_slip_to_the_last_bit(apply):
    ground = gr.terrain.rough(0.1, 1.0, 2, size=20.0)
    for name in ("zoe", "rocky7"):
        model = gr.Kinematics(gr.vehicle(name))
        plain = gr.simulate(model, ground, gr.drive.arc(0.5), duration=3.0)
        zero = gr.simulate(
            model.replace(slip=BodySlip(np.zeros(6), apply=apply)), ground, gr.drive.arc(0.5), duration=3.0
        )
        assert plain.state.tobytes() == zero.state.tobytes()


@applications
def test_a_users_function_equals_the_built_in_law(apply):
    p = [-0.4, -0.05, -0.6, -0.05, 0.03, -0.1]

    @gr.slip.law(apply=apply)
    def six_parameters(omega, v, force, *, p1=p[0], p2=p[1], p3=p[2], p4=p[3], p5=p[4], p6=p[5]):
        fx, fy = force[0] / force[2], force[1] / force[2]
        turn = p4 * fy * v[0] + p5 * v[0] + p6 * omega[2]
        return 0.0, 0.0, turn, p1 * fx * abs(v[0]) + p2 * v[0], p3 * fy * abs(v[0]), 0.0

    ground = gr.terrain.rough(0.1, 1.0, 2, size=20.0)
    model = gr.Kinematics(gr.vehicle("zoe"))
    runs = [
        gr.simulate(model.replace(slip=slip), ground, gr.drive.arc(0.8, 0.1), duration=4.0)
        for slip in (BodySlip(p, apply=apply), six_parameters)
    ]
    # Another compilation: only rounding differs.
    np.testing.assert_allclose(runs[0].state, runs[1].state, rtol=0.0, atol=1e-9)


def test_directions_turn_the_slip():
    """A vehicle that drives along its y axis names y as its longitudinal direction."""
    sideways = {"lon": (0, 1, 0), "lat": (-1, 0, 0)}
    vehicle = gr.vehicle("lru1")
    state = gr.settle(vehicle, FLAT).state
    result = gr.actuate(gr.Kinematics(vehicle), state, FLAT, left=0.3)
    for joint, angle in result.steering.items():
        state[7 + vehicle.joint_index(joint)] = angle
    model = gr.Kinematics(vehicle, slip=BodySlip([0, -0.1, 0, 0, 0, 0], **sideways))
    moving = model.velocity(state, result.command, FLAT).value
    assert abs(moving[4]) == pytest.approx(0.27, abs=1e-6)


@pytest.mark.parametrize("bad", [[0] * 5, [np.nan] + [0] * 5, "abc", [[0] * 6]])
def test_bad_parameters_are_refused(bad):
    with pytest.raises(gr.GrouserError):
        BodySlip(bad)
    with pytest.raises(gr.GrouserError):
        BodySlip([0] * 6, lon=(0, 0, 0))
    with pytest.raises(gr.GrouserError):
        BodySlip([0] * 6, apply="everywhere")
