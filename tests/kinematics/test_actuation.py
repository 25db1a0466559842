"""Joint rates and steering for a wanted motion of the body, on level ground and on slopes."""

import math

import numpy as np
import pytest

import grouser as gr

FLAT = gr.terrain.plane()
EXACT = 1e-9


def solve(name, ground=FLAT, **wanted):
    vehicle = gr.vehicle(name)
    state = gr.settle(vehicle, ground).state
    result = gr.actuate(gr.Kinematics(vehicle), state, ground, **wanted)
    return vehicle, state, result


def rate(vehicle, result, joint):
    return result.command[vehicle.actuated.index(joint)]


@pytest.mark.parametrize(("forward", "turn"), [(1.0, 0.0), (0.5, 0.4), (-0.5, 0.4), (0.0, 1.0)])
def test_skid_steering_gives_each_wheel_the_speed_of_its_place(forward, turn):
    vehicle, _, result = solve("husky", forward=forward, turn=turn)
    for wheel, x, y in (("FL", 1, 1), ("FR", 1, -1), ("BL", -1, 1), ("BR", -1, -1)):
        assert rate(vehicle, result, wheel) * 0.165 == pytest.approx(forward - turn * 0.275 * y, abs=EXACT)
        # It cannot roll sideways: that slip is left, and said.
        slip = result.contact_velocity[vehicle.wheels.index(wheel)]
        np.testing.assert_allclose(slip, [0.0, turn * 0.256 * x, 0.0], rtol=0.0, atol=EXACT)


@pytest.mark.parametrize("turn", [0.2, -0.3])
@pytest.mark.parametrize("forward", [1.0, -0.8])
def test_ackermann_axles_meet_at_the_centre_of_the_turn(forward, turn):
    vehicle, _, result = solve("recbot_rigid", forward=forward, turn=turn)
    radius = forward / turn  # centre at (0, radius) from the middle of the rear axle
    assert result.converged
    for joint, y in (("steerL", 0.635), ("steerR", -0.635)):
        assert result.steering[joint] == pytest.approx(math.atan(1.77 / (radius - y)), abs=EXACT)
    assert rate(vehicle, result, "BL") * 0.3048 == pytest.approx(forward - turn * 0.61, abs=EXACT)
    assert rate(vehicle, result, "BR") * 0.3048 == pytest.approx(forward + turn * 0.61, abs=EXACT)
    assert rate(vehicle, result, "steerL") == 0.0
    np.testing.assert_allclose(result.contact_velocity, 0.0, rtol=0.0, atol=EXACT)


@pytest.mark.parametrize(
    ("forward", "left", "turn"),
    [
        (0.4, 0.0, 0.3),
        (-0.4, 0.0, 0.3),
        (0.4, 0.2, 0.0),
        (0.3, -0.4, 0.2),
    ],
)
def test_all_wheel_steering_rolls_every_wheel_along_its_own_velocity(forward, left, turn):
    vehicle, _, result = solve("lru1", forward=forward, left=left, turn=turn)
    assert result.converged
    np.testing.assert_allclose(result.contact_velocity, 0.0, rtol=0.0, atol=EXACT)
    for name, x, y in (("FL", 0.43, 0.293), ("FR", 0.43, -0.293), ("BL", -0.43, 0.293), ("BR", -0.43, -0.293)):
        vx, vy = forward - turn * y, left + turn * x
        wanted = math.atan2(vy, vx)
        wanted -= math.pi * round(wanted / math.pi)  # it steers at most 90° and then rolls backwards
        assert result.steering[f"steer{name}"] == pytest.approx(wanted, abs=EXACT)
        along = vx * math.cos(wanted) + vy * math.sin(wanted)
        assert rate(vehicle, result, name) * 0.125 == pytest.approx(along, abs=EXACT)


def test_crab_motion_points_all_wheels_the_same_way():
    _, _, result = solve("lru1", forward=0.3, left=0.3)
    np.testing.assert_allclose(list(result.steering.values()), math.pi / 4, rtol=0.0, atol=EXACT)
    np.testing.assert_allclose(
        result.command[np.abs(result.command) > 1e-6], 0.3 * math.sqrt(2) / 0.125, rtol=0.0, atol=EXACT
    )
    np.testing.assert_allclose(result.contact_velocity, 0.0, rtol=0.0, atol=EXACT)


@pytest.mark.parametrize("turn", [0.1, -0.25])
@pytest.mark.parametrize("forward", [1.0, -1.0])
def test_zoes_passive_axles_turn_against_each_other(forward, turn):
    vehicle, _, result = solve("zoe", forward=forward, turn=turn)
    delta = math.atan(0.955 * turn / forward)  # half the wheelbase over the radius
    assert result.steering["s1"] == pytest.approx(delta, abs=EXACT)
    assert result.steering["s2"] == pytest.approx(-delta, abs=EXACT)
    np.testing.assert_allclose(result.contact_velocity, 0.0, rtol=0.0, atol=EXACT)
    # The inner wheels are slower: left ones in a left turn.
    assert (rate(vehicle, result, "FL") - rate(vehicle, result, "FR")) * turn < 0


@pytest.mark.parametrize("name", ["husky", "recbot_rigid", "zoe", "lru1", "rocky7"])
def test_reverse_is_the_negative_of_forward_with_the_same_steering(name):
    _vehicle, _, ahead = solve(name, forward=0.5, turn=0.1)
    _, _, back = solve(name, forward=-0.5, turn=-0.1)
    np.testing.assert_allclose(back.command, -ahead.command, rtol=0.0, atol=EXACT)
    for joint, angle in ahead.steering.items():
        assert back.steering[joint] == pytest.approx(angle, abs=EXACT)


@pytest.mark.parametrize("heading", [0.0, 90.0, 35.0])
@pytest.mark.parametrize("name", ["husky", "recbot_rigid", "zoe"])
def test_a_slope_changes_nothing_as_seen_from_the_body(name, heading):
    _vehicle, _, level = solve(name, forward=0.5, turn=0.1)
    _, _, tilted = solve(name, gr.terrain.slope(15.0, heading_deg=heading), forward=0.5, turn=0.1)
    np.testing.assert_allclose(tilted.command, level.command, rtol=0.0, atol=1e-8)
    for joint, angle in level.steering.items():
        assert tilted.steering[joint] == pytest.approx(angle, abs=1e-8)


@pytest.mark.parametrize("name", gr.vehicles.names())
def test_what_actuation_asks_for_prediction_delivers(name):
    """The commanded rates at the commanded steering move the body as wanted, wherever it can do so without slip."""
    vehicle, state, result = solve(name, forward=0.4, turn=0.1)
    for joint, angle in result.steering.items():
        state[7 + vehicle.joint_index(joint)] = angle
    moving = gr.Kinematics(vehicle).velocity(state, result.command, FLAT)
    # RecBot stands pitched by 0.02 rad on its springs: steering then leans its front wheels, which leave the ground by
    # some µm, and come back within 0.1 s.
    if np.abs(result.contact_velocity).max() < 2e-4:
        atol = 1e-6 if name == "recbot" else 1e-7
        np.testing.assert_allclose(moving.value[[2, 3, 4]], [0.1, 0.4, 0.0], rtol=0.0, atol=atol)
    else:  # skid-steer and half-steered vehicles turn less than asked, in the asked direction
        assert name in ("husky", "warthog", "landtamer", "crusher", "rocky7", "tracked")
        assert 0.0 < moving.value[2] <= 0.1 + EXACT


def test_a_standing_vehicle_keeps_its_steering():
    _, _, result = solve("lru1")
    np.testing.assert_array_equal(list(result.steering.values()), 0.0)
    np.testing.assert_allclose(result.command, 0.0, rtol=0.0, atol=EXACT)
