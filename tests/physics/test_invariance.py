"""The laws of motion do not know where the origin is, which way x points, or left from right."""

import math

import numpy as np
import pytest

import grouser as gr
from grouser.vehicles.mirror import signs

# Rounding (1e-16 · 20 m) passes through a contact search good to 1e-10 rad at each of some hundred steps.
EXACT = 1e-9

ROUGH = {
    "zoe": gr.terrain.rough(0.12, 1.0, 5, size=24.0),
    "rocky7": gr.terrain.rough(0.03, 0.5, 6, size=24.0),
    "lru1": gr.terrain.rough(0.05, 1.0, 7, size=24.0),
    "crusher": gr.terrain.rough(0.12, 2.0, 8, size=24.0),
}
SLIP = [-0.4, -0.05, -0.6, -0.05, 0.03, -0.1]
MOVES = [{"x": 3.7, "y": -2.2, "z": 0.9}, {"yaw": 2.3}, {"x": -1.3, "y": 4.1, "z": -2.0, "yaw": -0.71}]

each = pytest.mark.parametrize("name", ROUGH)
slips = pytest.mark.parametrize("slip", [None, "body", "wheels"])


def command(vehicle, sign=None):
    """Wheel rates that curve left and weave, as a table; joint signs make the mirror image of it."""
    t = np.arange(150) * 0.04
    rates = np.zeros((len(t), len(vehicle.actuated)))
    for a, name in enumerate(vehicle.actuated):
        frame = vehicle.frames[vehicle.frame_index(name)]
        if frame.is_wheel:
            left = vehicle.wheel_positions[vehicle.wheels.index(name)][1] > 0
            rates[:, a] = (0.6 - 0.05 * (1 if left else -1) * (1 + np.sin(t))) / frame.radius
        else:
            rates[:, a] = 0.1 * np.cos(t)
    return rates if sign is None else rates * sign[vehicle.arrays.actuated]


def drive(vehicle, ground, start, rates, slip, **options):
    model = gr.Kinematics(vehicle, slip=slip, **options)
    run = gr.simulate(model, ground, rates, duration=6.0, dt=0.04, start=start)
    assert run.status == "ok"
    return run


def turned(state, x=0.0, y=0.0, z=0.0, yaw=0.0):
    """States after the same motion of the world as `terrain.moved`."""
    R = gr.rotation.from_rpy(0, 0, yaw)
    out = state.copy()
    out[..., 4:7] = state[..., 4:7] @ R.T + [x, y, z]
    out[..., :4] = gr.rotation.to_quaternion(R @ gr.rotation.from_quaternion(state[..., :4]))
    return out


def assert_same_states(a, b):
    np.testing.assert_allclose(a[:, 4:], b[:, 4:], rtol=0.0, atol=EXACT)
    R, S = gr.rotation.from_quaternion(a[:, :4]), gr.rotation.from_quaternion(b[:, :4])
    np.testing.assert_allclose(R, S, rtol=0.0, atol=EXACT)


@each
@slips
@pytest.mark.parametrize("move", MOVES, ids=["shifted", "turned", "both"])
def test_a_moved_scene_gives_the_moved_path(name, slip, move):
    vehicle, ground = gr.vehicle(name), ROUGH[name]
    slip = None if slip is None else gr.slip.BodySlip(SLIP, apply=slip)
    start = gr.settle(vehicle, ground, x=0.4, y=0.3, yaw=0.5).state
    rates = command(vehicle)
    here = drive(vehicle, ground, start, rates, slip)
    there = drive(vehicle, gr.terrain.moved(ground, **move), turned(start, **move), rates, slip)
    assert here.distance > 2.0
    assert_same_states(there.state, turned(here.state, **move))
    np.testing.assert_allclose(there.velocity, here.velocity, rtol=0.0, atol=1e-7)  # body axes: nothing changes


@each
def test_settling_in_a_moved_scene_gives_the_moved_pose(name):
    vehicle, ground, move = gr.vehicle(name), ROUGH[name], MOVES[2]
    here = gr.settle(vehicle, ground, x=0.4, y=0.3, yaw=0.5)
    place = turned(here.state, **move)
    there = gr.settle(vehicle, gr.terrain.moved(ground, **move), x=place[4], y=place[5], yaw=0.5 + move["yaw"])
    assert_same_states(there.state[None], place[None])


def mirrored(state, sign):
    """S p, S R S and joint signs, with S = diag(1, −1, 1): rotations about x and z change sense."""
    out = state.copy()
    out[..., [1, 3, 5]] *= -1.0
    out[..., 7:] *= sign
    return out


@each
@slips
@pytest.mark.parametrize("integrator", ["euler", "rk4"])
def test_a_mirrored_scene_gives_the_mirrored_path(name, slip, integrator):
    vehicle, ground, sign = gr.vehicle(name), ROUGH[name], signs(gr.vehicle(name))
    image = vehicle.mirrored()
    # The drift to one side (p₅) is the only term that is not its own mirror image.
    slips = [
        None if slip is None else gr.slip.BodySlip(np.array(SLIP) * [1, 1, 1, 1, s, 1], apply=slip) for s in (1, -1)
    ]
    start = gr.settle(vehicle, ground, x=0.4, y=0.3, yaw=0.5).state
    here = drive(vehicle, ground, start, command(vehicle), slips[0], integrator=integrator)
    there = drive(
        image,
        gr.terrain.moved(ground, mirror=True),
        mirrored(start, sign),
        command(vehicle, sign),
        slips[1],
        integrator=integrator,
    )
    assert abs(here.position[-1, 1] - 0.3) > 0.2  # it did go to one side
    assert_same_states(there.state, mirrored(here.state, sign))


@each
def test_a_symmetric_vehicle_driving_straight_on_level_ground_stays_on_its_line(name):
    vehicle = gr.vehicle(name)
    run = gr.simulate(gr.Kinematics(vehicle), gr.terrain.plane(), gr.drive.arc(0.5), duration=4.0)
    np.testing.assert_allclose(run.position[:, 1], 0.0, rtol=0.0, atol=EXACT)
    assert run.position[-1, 0] == pytest.approx(2.0, abs=EXACT)


def test_a_formula_and_its_rotated_formula_agree_with_moved():
    """`moved` itself against a ground written twice by hand."""
    c, s = math.cos(0.8), math.sin(0.8)

    def hills(x, y):
        return (
            0.1 * math.sin(x) * math.cos(0.7 * y),
            0.1 * math.cos(x) * math.cos(0.7 * y),
            -0.07 * math.sin(x) * math.sin(0.7 * y),
        )

    def turned_hills(x, y):
        u = c * (x - 1.0) + s * (y - 2.0)
        v = -s * (x - 1.0) + c * (y - 2.0)
        gu = 0.1 * math.cos(u) * math.cos(0.7 * v)
        gv = -0.07 * math.sin(u) * math.sin(0.7 * v)
        return 0.1 * math.sin(u) * math.cos(0.7 * v) + 0.5, c * gu - s * gv, s * gu + c * gv

    a = gr.terrain.moved(gr.terrain.law(hills), x=1.0, y=2.0, z=0.5, yaw=0.8)
    b = gr.terrain.law(turned_hills)
    vehicle = gr.vehicle("zoe")
    start = gr.settle(vehicle, a, x=0.3, y=-0.4, yaw=1.0).state
    runs = [drive(vehicle, ground, start, command(vehicle), None) for ground in (a, b)]
    assert_same_states(runs[0].state, runs[1].state)
