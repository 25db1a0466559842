"""On level ground the closed forms hold: rolling, skid-steer, unicycle and bicycle.

Twists are constant there and the pose moves by their exponential, so the path is the circle itself whatever the
step. 1e-9 m is what settling leaves (1e-10 m of height error) plus rounding over a few hundred steps.
"""

import math

import numpy as np
import pytest

import grouser as gr
from grouser.vehicles import Frame, Vehicle

EXACT = 1e-9


def circle(t, vx, vy, wz):
    """x, y, yaw after time t of a constant planar twist in body axes, from the origin."""
    if abs(wz) < 1e-14:
        return np.stack([vx * t, vy * t, 0 * t])
    a = wz * t
    s, c = np.sin(a) / wz, (1 - np.cos(a)) / wz
    return np.stack([s * vx - c * vy, c * vx + s * vy, a])


def assert_follows(run, vx, vy, wz):
    x, y, yaw = circle(run.time, vx, vy, wz)
    np.testing.assert_allclose(run.position[:, 0], x, rtol=0.0, atol=EXACT)
    np.testing.assert_allclose(run.position[:, 1], y, rtol=0.0, atol=EXACT)
    np.testing.assert_allclose(run.yaw, yaw, rtol=0.0, atol=EXACT)
    np.testing.assert_allclose(run.position[:, 2], run.position[0, 2], rtol=0.0, atol=EXACT)
    np.testing.assert_allclose(run.rpy[:, :2], 0.0, rtol=0.0, atol=EXACT)


def skid_twist(vehicle, rates):
    """The planar twist of least squared slip of wheels at (x_i, y_i) with rim speeds s_i.

    Slip is (v_x − ω y_i − s_i, v_y + ω x_i). For wheels placed symmetrically about the origin the normal equations
    are diagonal: v_x = mean s, v_y = 0, ω = −Σ y_i s_i / Σ (x_i² + y_i²).
    """
    x, y, _ = vehicle.wheel_positions.T
    assert abs(x.sum()) < 1e-12
    assert abs(y.sum()) < 1e-12
    s = vehicle.arrays.radius * rates
    return s.mean(), 0.0, -(y * s).sum() / (x * x + y * y).sum()


@pytest.mark.parametrize("integrator", ["euler", "rk4"])
@pytest.mark.parametrize("name", ["husky", "warthog"])
@pytest.mark.parametrize("rates", [(3, 3, 3, 3), (2, 4, 2, 4), (-2, 2, -2, 2), (1, 4, 2.5, -1)])
def test_skid_steering_follows_the_circle_of_least_slip(name, rates, integrator):
    vehicle = gr.vehicle(name)
    rates = np.array(rates, dtype=float)
    model = gr.Kinematics(vehicle, integrator=integrator)
    run = gr.simulate(model, gr.terrain.plane(), gr.drive.constant(rates), duration=8.0)
    vx, vy, wz = skid_twist(vehicle, rates)
    assert_follows(run, vx, vy, wz)


def test_right_wheels_faster_turns_left_and_slips_less_than_a_unicycle_would_turn():
    vehicle = gr.vehicle("husky")
    run = gr.simulate(gr.Kinematics(vehicle), gr.terrain.plane(), gr.drive.constant([1, 2, 1, 2]), duration=2.0)
    track, radius = 0.55, 0.165
    unicycle = radius * 1.0 / track
    x, y = 0.256, 0.275
    assert 0 < run.yaw[-1] < 2.0 * unicycle
    assert run.yaw[-1] == pytest.approx(2.0 * unicycle * y * y / (x * x + y * y), abs=EXACT)


def differential_robot():
    """Two driven wheels on the body's y axis and a trailing castor: the unicycle, without any slip."""
    return Vehicle(
        "unicycle",
        (
            Frame("body", mass=10.0),
            Frame("left", "body", "RY", True, xyz=(0, 0.3, 0), radius=0.2, mass=1.0),
            Frame("right", "body", "RY", True, xyz=(0, -0.3, 0), radius=0.2, mass=1.0),
            Frame("fork", "body", "RZ", xyz=(-0.6, 0, 0), mass=0.1),
            Frame("castor", "fork", "RY", xyz=(-0.1, 0, -0.1), radius=0.1, mass=0.5),
        ),
    )


@pytest.mark.parametrize(("left", "right"), [(5.0, 5.0), (4.0, 6.0), (6.0, 4.0), (0.0, 3.0), (5.0, 5.5)])
def test_two_driven_wheels_and_a_castor_are_the_unicycle(left, right):
    vehicle = differential_robot()
    run = gr.simulate(
        gr.Kinematics(vehicle), gr.terrain.plane(), gr.drive.constant({"left": left, "right": right}), duration=6.0
    )
    v, w = 0.2 * (right + left) / 2, 0.2 * (right - left) / 0.6
    assert_follows(run, v, 0.0, w)
    assert np.abs(run.contact.velocity).max() < EXACT  # nothing slips
    # The castor trails: its axle points at the centre of the turn. Fork at (−0.6, 0), wheel 0.1 m behind it:
    # the fork's velocity is (v, −0.6 w); the castor's steady angle ψ satisfies −v sin ψ − 0.6 w cos ψ − 0.1 w = 0.
    psi = run.joint("fork")[-1]
    if v > 0.5:
        assert v * math.sin(psi) + 0.6 * w * math.cos(psi) + 0.1 * w == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("radius", [5.0, -5.0, 2.5])
@pytest.mark.parametrize("speed", [1.0, -0.7])
def test_ackermann_steering_is_the_bicycle(radius, speed):
    """Rear axle middle on the circle of radius L/tan δ, where δ is the steering angle of the virtual middle wheel."""
    vehicle = gr.vehicle("recbot_rigid")
    wheelbase, kingpin, half_track, tyre = 1.77, 0.635, 0.61, 0.3048
    joints = np.zeros(vehicle.n_joints)
    for name, y in (("steerL", kingpin), ("steerR", -kingpin)):
        joints[vehicle.joint_index(name)] = math.atan(wheelbase / (radius - y))
    start = gr.settle(vehicle, gr.terrain.plane(), joints=joints).state
    rates = {
        "BL": speed * (1 - half_track / radius) / tyre,
        "BR": speed * (1 + half_track / radius) / tyre,
    }
    run = gr.simulate(gr.Kinematics(vehicle), gr.terrain.plane(), gr.drive.constant(rates), duration=8.0, start=start)
    assert_follows(run, speed, 0.0, speed / radius)
    assert np.abs(run.contact.velocity).max() < EXACT


def test_an_arc_command_reaches_the_curvature_it_names_with_the_steering_at_its_ackermann_angles():
    vehicle = gr.vehicle("recbot_rigid")
    run = gr.simulate(gr.Kinematics(vehicle), gr.terrain.plane(), gr.drive.arc(1.0, 0.2), duration=6.0)
    assert run.joint("steerL")[-1] == pytest.approx(math.atan(1.77 / (5.0 - 0.635)), abs=EXACT)
    assert run.joint("steerR")[-1] == pytest.approx(math.atan(1.77 / (5.0 + 0.635)), abs=EXACT)
    # A gain of 5/s over 6 s leaves e^-30 of the steering error.
    assert run.velocity[-1, 2] == pytest.approx(0.2, abs=EXACT)
    assert run.velocity[-1, 3] == pytest.approx(1.0, abs=EXACT)
    assert run.velocity[-1, 4] == pytest.approx(0.0, abs=EXACT)


@pytest.mark.parametrize("name", [n for n in gr.vehicles.names() if n != "robotino"])  # its wheels point three ways
@pytest.mark.parametrize("heading", [0.0, 2.1])
def test_rolling_straight_covers_radius_times_rate_times_time(name, heading):
    vehicle = gr.vehicle(name)
    rim_speed = 0.6
    rates = {w: rim_speed / f.radius for w, f in ((f.name, f) for f in vehicle.frames if f.is_wheel) if f.actuated}
    run = gr.simulate(
        gr.Kinematics(vehicle),
        gr.terrain.plane(1.5),
        gr.drive.constant(rates),
        duration=5.0,
        start=(1.0, -2.0, heading),
    )
    along = rim_speed * run.time[:, None] * [math.cos(heading), math.sin(heading)]
    np.testing.assert_allclose(run.position[:, :2] - [1.0, -2.0], along, rtol=0.0, atol=EXACT)
    assert np.abs(run.contact.velocity).max() < EXACT
    for frame in vehicle.frames:
        if frame.is_wheel:  # passive wheels roll along
            turned = run.joint(frame.name)[-1] - run.joint(frame.name)[0]
            assert turned * frame.radius == pytest.approx(rim_speed * 5.0, abs=EXACT)


@pytest.mark.parametrize("deg", [10.0, -15.0])
def test_rolling_up_a_slope_covers_the_same_distance_along_it(deg):
    run = gr.simulate(gr.Kinematics(gr.vehicle("zoe")), gr.terrain.slope(deg), gr.drive.constant(2.0), duration=5.0)
    moved = run.position[-1] - run.position[0]
    tilt = math.radians(deg)
    np.testing.assert_allclose(
        moved, 0.325 * 2.0 * 5.0 * np.array([math.cos(tilt), 0, math.sin(tilt)]), rtol=0.0, atol=EXACT
    )
    assert run.pitch[0] == pytest.approx(-tilt, abs=EXACT)  # nose up is a negative pitch


def test_the_path_is_exact_whatever_the_step():
    vehicle = gr.vehicle("husky")
    ends = [
        gr.simulate(
            gr.Kinematics(vehicle), gr.terrain.plane(), gr.drive.constant([1, 3, 1, 3]), duration=4.0, dt=dt
        ).position[-1]
        for dt in (0.5, 0.04, 0.005)
    ]
    np.testing.assert_allclose(ends[0], ends[2], rtol=0.0, atol=EXACT)
    np.testing.assert_allclose(ends[1], ends[2], rtol=0.0, atol=EXACT)
