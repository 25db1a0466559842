"""Drives to a pose: closed forms on a plane, an independent simulation on rough ground, symmetry, limits."""

import math

import numpy as np
import pytest

import grouser as gr
from grouser.errors import PlanError
from grouser.plan.guesses import _left_words, guesses
from grouser.plan.shapes import Piece, excess, shape_of

PLANE = gr.terrain.plane()
ROUGH = gr.terrain.rough(rms=0.1, length=0.8, seed=1)


def model(name):
    return gr.Kinematics(gr.vehicle(name))


def assert_ends_there(run, pose):
    assert math.hypot(run.position[-1, 0] - pose[0], run.position[-1, 1] - pose[1]) <= 1e-3
    assert abs(math.remainder(run.yaw[-1] - pose[2], math.tau)) <= 1e-2


def test_a_pose_on_an_arc_of_a_plane_is_reached_by_that_arc():
    curvature, length, dt = 0.25, 4.0, 0.02
    turn = curvature * length
    pose = math.sin(turn) / curvature, (1.0 - math.cos(turn)) / curvature, turn
    way = gr.plan.reach(model("robotino"), PLANE, None, pose, dt=dt, limits=gr.plan.Limits(lateral=0.0))
    assert way.reached
    # Wheels that can move every way follow the command. Euler steps lag by half a step's turn: first order in dt.
    inner = way.twists[5:-5]
    assert inner[:, 2] / inner[:, 0] == pytest.approx(curvature, abs=0.02)
    assert way.twists[:, 0].sum() * dt == pytest.approx(length, abs=5e-3)
    assert way.twists[:, 2].sum() * dt == pytest.approx(turn, abs=1e-2)
    assert way.distance == pytest.approx(length, abs=5e-3)
    (stretch,) = way.stretches
    assert stretch.curvature == pytest.approx((curvature, 0.0, 0.0, 0.0), abs=0.02)


def test_the_polynomials_of_a_way_are_its_commands():
    way = gr.plan.reach(model("zoe"), ROUGH, None, (-3.0, 2.0, 2.5))
    assert way.reached
    at = 0.0
    commands = np.zeros_like(way.twists)
    for one in way.stretches:
        first, last = round(at / way.dt), round((at + one.duration) / way.dt)
        for k in range(first, last):
            # Means over the step by Simpson's rule on tenths; the turn is that at the middle of the way of the step.
            t = np.linspace(k, k + 1, 21) * way.dt - at
            speed = np.array([one.speed(x) for x in t])
            share = np.concatenate([[0.0], np.cumsum(0.5 * (speed[1:] + speed[:-1]) * np.diff(t))]) / one.forward
            share += sum(commands[first:k, 0]) * way.dt / one.forward
            middle = 0.5 * (share[0] + share[-1])
            mean = (share[-1] - share[0]) / way.dt
            s = abs(one.forward) * middle
            curvature = sum(c * s**j for j, c in enumerate(one.curvature))
            commands[k] = one.forward * mean, 0.0, curvature * one.forward * mean
        at += one.duration
    assert at == pytest.approx(way.duration)
    # Trapezoids over kinks of the speed: their error is within a twentieth of a step's change of speed.
    assert commands == pytest.approx(way.twists, abs=2e-3)


@pytest.mark.parametrize("name", ["zoe", "husky", "rocky7", "lru1"])
def test_poses_on_rough_ground_are_reached_as_an_independent_simulation_shows(name):
    rng = np.random.default_rng(2)
    vehicle = model(name)
    limits = gr.plan.Limits.of(vehicle.vehicle)
    for _ in range(10):
        away, aim = rng.uniform(2.0, 8.0), rng.uniform(-0.8, 0.8)
        yaw = rng.uniform(-3.0, 3.0)
        pose = away * math.cos(yaw + aim), away * math.sin(yaw + aim), yaw + aim + rng.uniform(-1.0, 1.0)
        way = gr.plan.reach(vehicle, ROUGH, (0.0, 0.0, yaw), pose)
        assert way.reached, (pose, way.reason)
        run = gr.simulate(vehicle, ROUGH, way.drive(), duration=way.duration, dt=way.dt, start=(0.0, 0.0, yaw))
        assert_ends_there(run, pose)
        # Kinematic rollouts in lanes round differently: some 1e-8.
        assert run.state[-1] == pytest.approx(way.final_state, abs=1e-6)
        # The planner's support polygon has the corners of the vehicle at rest; wheels between them may stand out.
        margin = run.rollover_margin().angle[:-1].min()
        assert way.least_tip_margin == pytest.approx(margin, abs=1e-6 if vehicle.vehicle.n_wheels == 4 else 0.1)
        assert max(excess(way.twists, limits, way.dt)) <= 1.0 + 1e-9


def test_on_ground_where_no_single_shape_ends_at_the_pose_a_drive_of_several_legs_does():
    """At 0.2 m RMS a vehicle that skids is turned by each hollow: on slopes of level ground Newton's method is lost."""
    ground = gr.terrain.rough(rms=0.2, length=0.8, seed=7100)
    vehicle = model("husky")
    limits = gr.plan.Limits.of(vehicle.vehicle)
    rng = np.random.default_rng([991, 1, 200])
    legs = 0
    for _ in range(12):
        away, aim, yaw = 8.0 * math.sqrt(rng.uniform()), *rng.uniform(-math.pi, math.pi, 2)
        pose = away * math.cos(aim), away * math.sin(aim), yaw
        way = gr.plan.reach(vehicle, ground, None, pose)
        assert way.reached, (pose, way.reason)
        assert_ends_there(gr.simulate(vehicle, ground, way.drive(), duration=way.duration, dt=way.dt), pose)
        assert max(excess(way.twists, limits, way.dt)) <= 1.0 + 1e-9
        # The polynomials last as long as the commands, and lead as far, rests between legs included.
        assert sum(one.duration for one in way.stretches) == pytest.approx(way.duration)
        driven = sum(one.forward for one in way.stretches)
        assert way.twists[:, 0].sum() * way.dt == pytest.approx(driven, abs=1e-9)
        legs += sum(one.forward == 0.0 and one.turn == (0.0,) for one in way.stretches)
    assert legs > 0


def test_the_beginning_of_a_piece_is_the_same_curve():
    piece = Piece(2.0, 0.0, (0.3, -0.5, 0.8, 0.1))
    limits, dt = gr.plan.Limits(speed=1e3, acceleration=1e5, turn=1e3, turn_acceleration=1e5), 1e-4
    whole, part = (shape_of([one], limits, dt) for one in (piece, piece.until(0.4)))
    twist = whole.twists(whole.values[None])[0] * dt
    turned = np.cumsum(twist[:, 2])[np.searchsorted(np.cumsum(twist[:, 0]), 0.8)]
    end = part.planar_end(part.values)[0]
    assert end[2] == pytest.approx(turned, abs=5e-3)  # a step of the whole is about that long
    assert piece.until(1.0).turn == pytest.approx(piece.turn)


def test_a_pose_behind_is_reached_by_a_vehicle_that_cannot_reverse():
    limits = gr.plan.Limits(curvature=0.5, reverse=0.0)
    way = gr.plan.reach(model("zoe"), PLANE, None, (-2.0, 1.0, 0.0), limits=limits)
    assert way.reached
    assert (way.twists[:, 0] >= 0.0).all()


def test_a_mirrored_pose_on_mirrored_ground_has_the_mirrored_command():
    heights = np.random.default_rng(4).normal(scale=0.04, size=(49, 49))
    axis = np.linspace(-12.0, 12.0, 49)
    for make in (gr.terrain.grid, gr.terrain.spline):
        ground, mirrored = make(heights, axis, axis), make(heights[:, ::-1], axis, axis)
        a = gr.plan.reach(model("rocky7"), ground, None, (4.0, 1.5, 0.6))
        b = gr.plan.reach(model("rocky7"), mirrored, None, (4.0, -1.5, -0.6))
        assert a.reached
        assert b.reached
        assert b.twists == pytest.approx(a.twists * [1.0, -1.0, -1.0], abs=1e-6)
        assert np.abs(a.twists[:, 2]).max() > 0.05


@pytest.mark.parametrize("pose", [(0.0, 0.0, math.pi), (0.0, 0.0, 0.0), (0.0, 0.1, 0.0)])
@pytest.mark.parametrize("name", ["husky", "zoe"])
def test_poses_at_the_start_itself_are_reached(name, pose):
    ground = gr.terrain.rough(rms=0.1, length=0.8, seed=77, size=20.0)
    way = gr.plan.reach(model(name), ground, (0.0, 0.0, 0.0), pose)
    assert way.reached, way.reason
    assert way.error[0] <= 1e-3
    assert way.error[1] <= 1e-2


def test_a_pose_that_a_keep_out_surrounds_is_not_reached_and_says_why():
    keep_out = gr.plan.KeepOut.circles([(4.0, 0.0, 1.5)], (-10.0, 10.0, -10.0, 10.0))
    way = gr.plan.reach(model("husky"), ROUGH, None, (4.0, 0.0, 0.0), keep_out=keep_out)
    assert not way.reached
    assert "keep-out" in way.reason
    assert way.error[0] > 1.0


def test_a_powertrain_is_driven_to_rest_at_the_pose():
    from grouser.motion import Powertrain

    train = Powertrain(delay=0.2, time_constant=0.3)
    way = gr.plan.reach(model("husky"), PLANE, None, (3.0, 0.5, 0.2), powertrain=train)
    assert way.reached
    longer = np.vstack([way.twists, np.zeros((20, 3))])[None]
    after = gr.plan.roll_out(model("husky"), PLANE, longer, dt=way.dt, powertrain=train)
    assert after.end_place[0] == pytest.approx([3.0, 0.5], abs=4e-3)  # a share e⁻⁵ of the speed is left


def test_a_dynamic_model_reaches_a_pose():
    dynamic = gr.Dynamics(gr.vehicle("rocky7"))
    way = gr.plan.reach(dynamic, PLANE, None, (2.0, 0.3, 0.2), dt=0.04)
    assert way.reached
    assert way.error[0] <= 1e-3


def test_every_word_of_arcs_ends_at_its_pose():
    for x, y, yaw in [(2.0, 1.0, 0.5), (-1.0, 0.3, -2.0), (0.2, -3.0, 3.0)]:
        words = list(_left_words(x, y, yaw))
        assert len(words) >= 8
        for letters, ways in words:
            at, heading = 0j, 0.0
            for letter, way in zip(letters, ways, strict=True):
                chord = way if letter == 0 else 2.0 * math.sin(0.5 * way)
                at += chord * np.exp(1j * (heading + 0.5 * letter * way))
                heading += letter * way
            assert (at.real, at.imag) == pytest.approx((x, y), abs=1e-12)
            assert math.remainder(heading - yaw, math.tau) == pytest.approx(0.0, abs=1e-12)


def test_slopes_of_a_shape_are_its_differences():
    pieces = [Piece(2.0, 0.0, (0.3, -0.5, 0.8, 0.1)), Piece(0.0, 0.0, (0.7,)), Piece(-1.0, 0.4, (0.2,))]
    shape = shape_of(pieces, gr.plan.Limits(lateral=0.5), 0.05)
    _, slopes = shape.planar_end(shape.values)
    h = 1e-6
    for i, row in enumerate(np.eye(len(shape.values))):
        above, below = (shape.planar_end(shape.values + sign * h * row)[0] for sign in (1.0, -1.0))
        assert slopes[:, i] == pytest.approx((above - below) / (2.0 * h), abs=1e-8)


def test_guesses_end_at_the_pose_on_level_ground_within_limits():
    dt = 0.01
    for limits in (gr.plan.Limits(curvature=0.6), gr.plan.Limits(), gr.plan.Limits(lateral=0.5)):
        shapes = list(guesses(3.0, -1.0, -1.2, limits, dt))
        assert len(shapes) >= 3
        for shape in shapes:
            end = shape.planar_end(shape.values)[0]
            assert end[:2] == pytest.approx([3.0, -1.0], abs=0.1)  # Euler steps: first order in dt
            # Curves are found to 1e-6 rad; a turn that is none is 1e-6 rad.
            assert math.remainder(end[2] + 1.2, math.tau) == pytest.approx(0.0, abs=3e-6)
            assert max(excess(shape.twists(shape.values[None])[0], limits, dt)) <= 1.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pose": (1.0, 2.0)}, "pose: has 2 entries, needs 3"),
        ({"pose": (100.0, 0.0, 0.0)}, r"pose: \(100, 0\) m is off the map"),
        ({"pose": (1.0, math.nan, 0.0)}, "pose: nan is not a finite number"),
        ({"limits": 3}, "limits: 3 is not a Limits"),
        ({"tolerance": (0.0, 0.1)}, "tolerance: 0 is not positive"),
        ({"dt": 0.0}, "dt: 0 is not positive"),
    ],
)
def test_bad_input_is_refused_in_a_sentence(change, message):
    given = {"pose": (3.0, 0.0, 0.0)} | change
    with pytest.raises(PlanError, match=message):
        gr.plan.reach(model("husky"), ROUGH, None, **given)
