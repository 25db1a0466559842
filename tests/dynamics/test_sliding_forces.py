"""Friction of balls that slide: against the slip, no more than μ f_z, never a gain of energy; zero without friction."""

import math
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest

import grouser as gr
from grouser.contact import Ishigami, Pacejka, PiecewiseLinear
from grouser.contact.named import contact_named
from grouser.kinematics import frame_poses
from grouser.vehicles import Frame, Vehicle
from tests.kinematics.test_sliding import PLANE, ROUGH, tilt
from tests.vehicles.castor import turtle

SMOOTHING = 0.01  # m/s
HARD = PiecewiseLinear(static_penetration=1e-3)
LAWS = {"piecewise": HARD, "pacejka": Pacejka(static_penetration=1e-3), "ishigami": Ishigami()}


def sled(friction, height=0.0):
    """A plate of 8 kg on four balls; height of its centre of mass above their centres [m]."""
    body = Frame("body", mass=8.0, com=(0.0, 0.0, height), inertia=(0.1, 0.2, 0.25))
    corners = [(x, y) for x in (0.3, -0.3) for y in (0.2, -0.2)]
    balls = [Frame(f"b{k}", "body", xyz=(*p, 0.0), radius=0.03, slides=friction) for k, p in enumerate(corners)]
    return Vehicle("sled", (body, *balls))


def slid(friction, speed, seconds, **options):
    """A run of the sled that begins at a speed ahead on level ground."""
    vehicle = sled(friction)
    model = gr.Dynamics(vehicle, contact=HARD, **options)
    state = gr.settle(vehicle, PLANE, penetration=model.penetration).state
    velocity = np.zeros(6 + vehicle.n_joints)
    velocity[3] = speed
    return gr.simulate(model, PLANE, np.zeros((1, 0)), duration=seconds, dt=0.005, start=state, velocity=velocity)


def test_a_sled_stops_after_the_distance_of_coulombs_friction():
    """v²/(2 μ g), and a little more: below the smoothing speed friction fades."""
    run = slid(0.3, 2.0, 1.0)
    expected = 2.0**2 / (2.0 * 0.3 * 9.81)
    assert run.status == "ok"
    assert run.position[-1, 0] == pytest.approx(expected, rel=0.01)
    at = int(0.3 / 0.005)
    assert run.velocity[at, 3] == pytest.approx(2.0 - 0.3 * 9.81 * 0.3, rel=0.005)


def test_without_friction_it_slides_on():
    run = slid(0.0, 1.0, 2.0)
    np.testing.assert_allclose(run.velocity[:, 3], 1.0, rtol=0.0, atol=1e-9)
    assert (run.contact.force[..., :2] == 0.0).all()


@pytest.mark.parametrize("law", LAWS)
def test_friction_is_coulombs_against_the_slip_of_its_own_contact_point(law):
    """By the velocity of the ball's lowest point, from poses alone; the ball does not spin."""
    vehicle = turtle(friction=0.35)
    model = gr.Dynamics(vehicle, contact=LAWS[law], tolerance=1e-10 * vehicle.mass * 9.81)
    run = gr.simulate(model, PLANE, gr.drive.twist(0.1, 0.0, 2.0), duration=0.5, dt=0.005)
    assert run.status == "ok"
    for k in (20, 60, 90):
        q, v = run.state[k], run.velocity[k + 1]  # forces are those at the velocity at a step's end
        R, p = frame_poses(vehicle, q)
        arm = p[vehicle.frame_index("ball")] - p[0] - [0.0, 0.0, 0.01]
        point = R[0] @ v[3:6] + np.cross(R[0] @ v[:3], arm)
        f = run.contact.force[k, 2]
        expected = -0.35 * f[2] * point[:2] / math.hypot(*point[:2], SMOOTHING)
        world = R[0][:2, :2] @ f[:2]  # the ball's frame points as the body does
        np.testing.assert_allclose(world, expected, rtol=0.0, atol=0.01 * f[2])
        assert f[2] > 0.5
        assert np.hypot(*f[:2]) <= 0.35 * f[2]
        assert np.hypot(*point[:2]) > 0.5 * SMOOTHING


def test_at_rest_wheels_and_ball_carry_what_statics_says():
    """The centre of mass is 0.3 of the way to the ball, wheels of 0.06 kg are at the axle."""
    vehicle = turtle()
    model = gr.Dynamics(vehicle, contact=HARD)
    run = gr.simulate(model, PLANE, gr.drive.constant(0.0), duration=2.0, dt=0.005)
    on_ball = 0.94 * 9.81 * 0.3
    expected = [0.5 * (9.81 - on_ball), 0.5 * (9.81 - on_ball), on_ball]
    np.testing.assert_allclose(run.contact.force[-1, :, 2], expected, rtol=0.01)
    assert tilt(run) < 0.1  # each stands on a spring for its own load


@pytest.mark.parametrize("options", [{}, {"contact": HARD}], ids=["default", "hard"])
@pytest.mark.parametrize("ground", [PLANE, ROUGH], ids=["flat", "rough"])
def test_a_robot_on_two_wheels_and_a_ball_stays_upright(ground, options):
    model = gr.Dynamics(turtle(), **options, actuator=gr.actuation.PI(gain=0.5))
    run = gr.simulate(model, ground, gr.drive.twist(0.15, 0.0, 0.3), duration=8.0, dt=0.01)
    assert run.status == "ok"
    assert tilt(run) < 3.0


@pytest.mark.parametrize("friction", [0.0, 0.2, 1.0])
def test_a_ball_never_gives_energy_by_friction(friction):
    vehicle = turtle(friction=friction)
    run = gr.simulate(gr.Dynamics(vehicle, contact=HARD), PLANE, gr.drive.twist(0.2, 0.0, 1.0), duration=3.0, dt=0.005)
    assert run.contact.power[20:, 2].max() <= 1e-6
    assert run.contact.power[20:, 2].sum() < 0.0 or friction == 0.0
    if friction == 0.0:
        assert (run.contact.force[:, 2, :2] == 0.0).all()


def test_friction_of_the_ball_pulls_the_vehicle_back():
    """A pair of soft motors: with a ball that rubs the same torque drives it more slowly."""
    speeds = []
    for friction in (0.0, 0.5):
        model = gr.Dynamics(turtle(friction=friction), contact=HARD, actuator=gr.actuation.PI(gain=0.01))
        run = gr.simulate(model, PLANE, gr.drive.twist(0.2, 0.0, 0.0), duration=2.0, dt=0.005)
        speeds.append(run.velocity[-1, 3])
    assert speeds[1] < speeds[0] - 0.05
    # two motors of 0.01 N m s/rad against μ f_z: R Σ τ = R · 2 · 0.01 (0.2/R − v/R)/R
    drag = 0.5 * run.contact.force[-1, 2, 2]
    assert speeds[0] - speeds[1] == pytest.approx(drag * 0.033**2 / (2 * 0.01), rel=0.05)


@pytest.mark.parametrize("roll", [1.5, 1.5708, 3.1])
def test_thrown_on_its_side_it_ends_without_a_number_that_is_none(roll):
    model = gr.Dynamics(turtle(), contact=HARD, tip_angle=math.pi)
    state = gr.settle(turtle(), PLANE).state
    state[:4] = math.cos(0.5 * roll), math.sin(0.5 * roll), 0.0, 0.0
    state[6] = 0.2
    run = gr.simulate(model, PLANE, gr.drive.constant(0.0), duration=1.0, dt=0.005, start=state)
    assert np.isfinite(run.state).all()
    assert run.status in ("ok", "buried", "unsolved", "gained_energy")


def test_soil_carries_the_ball_as_its_own_contact_model_says():
    """A mapping gives each wheel its law; the ball's normal force is that of a contact without slip."""
    laws = {"left": HARD, "right": HARD, "ball": PiecewiseLinear(stiffness=2e3, friction=9.0)}
    run = gr.simulate(gr.Dynamics(turtle(), contact=laws), PLANE, gr.drive.twist(0.1, 0.0, 0.0), duration=1.0, dt=0.005)
    dz = run.contact.height_error[-1, 2]
    assert run.contact.force[-1, 2, 2] == pytest.approx(-2e3 * dz, rel=0.01)
    assert np.hypot(*run.contact.force[-1, 2, :2]) == pytest.approx(0.2 * run.contact.force[-1, 2, 2], rel=0.01)


def derivatives(vehicles):
    """The program of `test_dynamic_rollers` for other vehicles."""
    from tests.dynamics.test_dynamic_rollers import DERIVATIVES

    code = DERIVATIVES.replace("vehicle.n_wheels)", "len(vehicle.actuated))")
    return code.replace('for name in ("robotino", "mecanum"):\n    vehicle = gr.vehicle(name)', vehicles)


def test_the_newton_matrix_with_balls_and_tracks_matches_differences():
    code = derivatives(
        "from tests.vehicles.castor import turtle\nfor vehicle in (turtle(friction=0.4), gr.vehicle('tracked')):"
    )
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    count, worst = done.stdout.split()
    assert int(count) > 30
    assert float(worst) < 1e-6


def test_tyres_too_soft_for_small_wheels_are_named():
    """2 cm of sinkage, the default of a law of one's own, under wheels of 33 mm would lay the belly on the ground."""
    small = gr.vehicle("husky")
    for wheel in small.wheels:
        small = small.replace_frame(wheel, radius=0.033)
    with pytest.warns(UserWarning, match=r"'.*' sinks 0.02 m .* radius is 0.033 m: .* static_penetration=0.0017"):
        gr.Dynamics(small, contact=Pacejka())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gr.Dynamics(small, contact=Pacejka(static_penetration=0.0017))
        gr.Dynamics(gr.vehicle("husky"), contact=Pacejka())


@pytest.mark.parametrize("name", ["piecewise-linear", "pacejka", "gravel", "tyre"])
def test_a_small_robot_on_a_ball_stands_on_its_wheels_on_every_tyre_of_a_name(name):
    """Wheels of 33 mm that sank in by 20 mm would lay a belly 8 mm above the ground on it."""
    robot = turtle()
    for contact in (contact_named(name, robot), contact_named(name, robot, friction=0.4)):
        assert gr.Dynamics(robot, contact=contact).penetration < 0.1 * 0.033
