"""A steering joint turns no further than its vehicle says, in drives, plans and rollouts."""

import math
import warnings

import numpy as np
import pytest

import grouser as gr
from grouser.plan import Limits, roll_out
from grouser.traction import InverseKinematics

FLAT = gr.terrain.plane()
MOST = 0.3
"""Largest angle [rad]."""


def limited(vehicle, most=MOST):
    return vehicle.replace(
        steering=tuple(gr.vehicles.Steering(s.joint, s.gain, s.limit, most) for s in vehicle.steering)
    )


@pytest.fixture(scope="module")
def tricycle():
    """The steered wheel stands 0.15 m ahead of the drive point."""
    return limited(gr.vehicle("examples/optiodom/tricycle-vehicle.toml"))


@pytest.mark.parametrize("turn", [0.4, -0.4])
def test_asked_for_a_tighter_arc_it_drives_the_tightest_there_is_and_says_so(tricycle, turn):
    with pytest.warns(UserWarning, match=r"'steer' is steered to its largest angle of 17\.2°"):
        run = gr.simulate(gr.Kinematics(tricycle), FLAT, gr.drive.twist(0.05, 0.0, turn), duration=4.0, dt=0.02)
    assert run.state[-1, 7] == pytest.approx(math.copysign(MOST, turn), abs=1e-6)
    x, y, yaw = run.position[-50:, 0], run.position[-50:, 1], np.unwrap(run.yaw[-50:])
    way = np.hypot(np.diff(x), np.diff(y)).sum()
    assert (yaw[-1] - yaw[0]) / way == pytest.approx(math.copysign(math.tan(MOST) / 0.15, turn), rel=1e-4)


def test_a_wider_arc_is_driven_as_without_a_limit(tricycle):
    drive = gr.drive.arc(speed=0.1, curvature=0.95 * math.tan(MOST) / 0.15)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bound = gr.simulate(gr.Kinematics(tricycle), FLAT, drive, duration=2.0, dt=0.02)
    free = gr.simulate(gr.Kinematics(limited(tricycle, math.inf)), FLAT, drive, duration=2.0, dt=0.02)
    np.testing.assert_array_equal(bound.state, free.state)


def test_a_planner_takes_the_tightest_arc_from_the_largest_angle(tricycle):
    assert Limits.of(tricycle).curvature == pytest.approx(math.tan(MOST) / 0.15)
    # A car: its inner front wheel turns most, about a centre on the line of the rear axle.
    car = limited(gr.vehicle("recbot"))
    curvature = Limits.of(car).curvature
    assert Limits.of(gr.vehicle("recbot")).curvature > 0.0
    for sign in (1.0, -1.0):
        found = InverseKinematics(car).solve(1.0, 0.0, sign * curvature)
        assert found.within_reach
        assert np.abs(found.steering).max() == pytest.approx(MOST, abs=1e-6)
        assert not InverseKinematics(car).solve(1.0, 0.0, 1.02 * sign * curvature).within_reach


def test_a_rover_whose_wheels_all_steer_a_little_does_not_move_sideways():
    rover = gr.vehicle("lru1")
    assert Limits.of(rover).lateral > 0.0
    found = Limits.of(limited(rover, 0.6))
    assert found.lateral == 0.0
    assert 0.0 < found.curvature < math.inf


def test_planned_rollouts_stop_there_too():
    """In lanes: states of the plain engine, whose steering is at its limit."""
    model = gr.Kinematics(limited(gr.vehicle("rocky7"), 0.1))
    command = np.array([0.4, 0.0, 0.3])
    trials = roll_out(model, FLAT, np.repeat(command[None, None], 60, 1), start=(0.0, 0.0, 0.0), dt=0.08, record=True)
    with pytest.warns(UserWarning, match="largest angle"):
        run = gr.simulate(model, FLAT, gr.drive.twist(*command), start=(0.0, 0.0, 0.0), duration=4.8, dt=0.08)
    np.testing.assert_allclose(trials.state[0], run.state, rtol=0.0, atol=5e-6)
    joints = [7 + model.vehicle.joint_index(s.joint) for s in model.vehicle.steering]
    assert np.abs(run.state[-1, joints]).max() == pytest.approx(0.1, abs=1e-6)
    free = gr.simulate(gr.Kinematics(gr.vehicle("rocky7")), FLAT, gr.drive.twist(*command), duration=4.8, dt=0.08)
    assert np.abs(free.state[-1, joints]).max() > 0.15


def test_an_axle_that_its_wheels_turn_has_no_largest_angle():
    with pytest.raises(gr.errors.VehicleError, match="has no motor"):
        limited(gr.vehicle("zoe"))
