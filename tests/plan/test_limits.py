"""Limits of a vehicle follow from its geometry."""

import math

import numpy as np
import pytest

import grouser as gr
from grouser.errors import PlanError
from grouser.plan import Limits
from grouser.plan.limits import STEERED


def test_a_front_steered_car_turns_by_the_tangent_of_its_steering_over_its_wheelbase():
    car = gr.vehicle("recbot")
    x = car.wheel_positions[:, 0]
    limits = Limits.of(car)
    assert limits.curvature == pytest.approx(math.tan(STEERED) / (x.max() - x.min()), rel=1e-9)
    assert limits.lateral == 0.0


def test_two_steered_axles_turn_by_half_the_distance_between_them():
    rover = gr.vehicle("zoe")
    x = rover.wheel_positions[:, 0]
    assert Limits.of(rover).curvature == pytest.approx(2.0 * math.tan(STEERED) / (x.max() - x.min()), rel=0.02)


def test_the_tightest_turn_is_the_one_driven():
    car = gr.vehicle("recbot")
    model, limits = gr.Kinematics(car), Limits.of(car)
    wanted = np.tile([1.0, 0.0, 0.8], (1, 100, 1))
    trials = gr.plan.roll_out(model, gr.terrain.plane(), wanted, start=(0, 0, 0), dt=0.08, limits=limits, record=True)
    xy = trials.state[0, 60:, 4:6]
    a, b, c = xy[0], xy[20], xy[40]
    area = 0.5 * ((b - a)[0] * (c - a)[1] - (b - a)[1] * (c - a)[0])
    sides = np.linalg.norm(b - a) * np.linalg.norm(c - b) * np.linalg.norm(c - a)
    # of the body's origin, whose distance from the centre is at least that of the axle that does not steer
    assert 0.8 * limits.curvature < 4.0 * area / sides < 1.001 * limits.curvature


@pytest.mark.parametrize("name", ["husky", "warthog", "crusher"])
def test_skid_steered_vehicles_turn_on_the_spot(name):
    limits = Limits.of(gr.vehicle(name))
    assert limits.curvature == math.inf
    assert limits.lateral == 0.0


@pytest.mark.parametrize("name", ["lru1", "mecanum", "robotino"])
def test_vehicles_that_move_sideways_do_so(name):
    vehicle = gr.vehicle(name)
    limits = Limits.of(vehicle)
    assert limits.curvature == math.inf
    assert limits.lateral == 0.5
    model = gr.Kinematics(vehicle)
    wanted = np.tile([0.0, limits.lateral, 0.0], (1, 60, 1))
    trials = gr.plan.roll_out(model, gr.terrain.plane(), wanted, start=(0, 0, 0), dt=0.05, limits=limits)
    x, y = trials.end_place[0]
    assert y > 0.6
    assert abs(x) < 0.6 * y  # steering to the side takes a while, in which it rolls on


def test_least_most_and_change_are_in_the_order_of_a_command():
    limits = Limits(speed=2.0, reverse=0.4, lateral=0.3, turn=0.7, acceleration=3.0, turn_acceleration=5.0)
    np.testing.assert_allclose(limits.least, [-0.4, -0.3, -0.7])
    np.testing.assert_allclose(limits.most, [2.0, 0.3, 0.7])
    np.testing.assert_allclose(limits.change, [3.0, 3.0, 5.0])


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"speed": 0.0}, "limits speed: 0 is not positive"),
        ({"lateral": -1.0}, "limits lateral: -1 is negative; it must be zero or more"),
        ({"turn": math.nan}, "limits turn: nan"),
        ({"curvature": math.nan}, "limits curvature: nan"),
        ({"curvature": -math.inf}, "limits curvature: -inf"),
        ({"speed": math.inf}, "limits speed: inf"),
        ({"acceleration": "much"}, "limits acceleration: 'much' is not a number"),
    ],
)
def test_bad_values_are_refused(values, says):
    with pytest.raises(PlanError) as error:
        Limits(**values)
    assert str(error.value).startswith(says)
