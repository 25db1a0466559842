"""How far a vehicle is from tipping, and over which wheels."""

import math

import numpy as np
import pytest

import grouser as gr
from grouser._compile.jit import entry
from grouser._kernels.kinematics.tipping import plane_normal
from grouser._kernels.rotation import put
from grouser.collision import contacts
from grouser.kinematics import rollover_margin

ZOE = gr.vehicle("zoe")
HALF_TRACK, HALF_BASE = 0.82, 0.955
# 178.2 kg at +0.25 m, four wheels of 4.95 kg at −0.119 m, ground at −0.444 m.
CG_HEIGHT = (178.2 * 0.25 - 4 * 4.95 * 0.119) / 198.0 + 0.444
SIDEWAYS = math.atan(HALF_TRACK / CG_HEIGHT)
EXACT = 1e-9


def margin(ground, velocity=None, yaw=0.0):
    settled = gr.settle(ZOE, ground, yaw=yaw)
    v = np.zeros(6 + ZOE.n_joints) if velocity is None else velocity
    points = contacts(ZOE, settled.state, ground).point
    result = rollover_margin(ZOE, settled.state[None], v[None], points[None])
    return result.angle[0], result.wheel[0]


def turning(speed, rate):
    v = np.zeros(6 + ZOE.n_joints)
    v[3], v[2] = speed, rate
    return v


def test_parked_on_level_ground_the_margin_is_the_angle_to_the_nearest_edge():
    angle, _ = margin(gr.terrain.plane())
    assert HALF_TRACK < HALF_BASE  # it would fall sideways first
    assert angle == pytest.approx(SIDEWAYS, abs=EXACT)


@pytest.mark.parametrize("heading", [90.0, -90.0])
def test_a_side_slope_takes_its_angle_off_and_the_uphill_wheels_would_lift(heading):
    angle, wheel = margin(gr.terrain.slope(20.0, heading_deg=heading))
    assert angle == pytest.approx(SIDEWAYS - math.radians(20.0), abs=EXACT)
    assert wheel in (("FL", "BL") if heading > 0 else ("FR", "BR"))


def test_on_a_side_slope_of_the_tipping_angle_nothing_is_left_and_beyond_it_less():
    steep = math.degrees(SIDEWAYS)
    assert margin(gr.terrain.slope(steep, heading_deg=90.0))[0] == pytest.approx(0.0, abs=1e-8)
    assert margin(gr.terrain.slope(steep + 2.0, heading_deg=90.0))[0] == pytest.approx(-math.radians(2.0), abs=1e-8)


@pytest.mark.parametrize(("deg", "lifting"), [(35.0, ("FL", "FR")), (-35.0, ("BL", "BR"))])
def test_uphill_the_front_wheels_would_lift_downhill_the_rear_ones(deg, lifting):
    angle, wheel = margin(gr.terrain.slope(deg))
    assert angle == pytest.approx(math.atan(HALF_BASE / CG_HEIGHT) - math.radians(35.0), abs=EXACT)
    assert wheel in lifting


@pytest.mark.parametrize(("rate", "lifting"), [(0.8, ("FL", "BL")), (-0.8, ("FR", "BR"))])
def test_turning_presses_on_the_outer_wheels_and_the_inner_ones_would_lift(rate, lifting):
    angle, wheel = margin(gr.terrain.plane(), turning(3.0, rate))
    assert angle == pytest.approx(SIDEWAYS - math.atan(3.0 * 0.8 / 9.81), abs=EXACT)
    assert wheel in lifting


def test_reversing_around_the_same_centre_presses_on_the_same_wheels():
    assert margin(gr.terrain.plane(), turning(-3.0, -0.8))[1] in ("FL", "BL")  # centre of the turn on the left


def test_the_margin_does_not_depend_on_heading_or_place():
    a, _ = margin(gr.terrain.plane(2.0), turning(2.0, 0.5), yaw=1.3)
    b, _ = margin(gr.terrain.plane(), turning(2.0, 0.5))
    assert a == pytest.approx(b, abs=EXACT)


def test_a_run_reports_it_for_every_state():
    run = gr.simulate(gr.Kinematics(ZOE), gr.terrain.slope(10.0, heading_deg=90.0), gr.drive.arc(0.5), duration=1.0)
    result = run.rollover_margin()
    assert result.angle.shape == run.time.shape
    assert len(result.wheel) == len(run.time)
    assert result.angle[0] == pytest.approx(SIDEWAYS - math.radians(10.0), abs=1e-6)


def test_three_wheels_tip_over_the_line_between_two_of_them():
    from grouser.vehicles import Frame, Vehicle

    tricycle = Vehicle(
        "tricycle",
        (
            Frame("body", mass=10.0, com=(0.2, 0, 0.5)),
            Frame("left", "body", "RY", True, xyz=(0, 0.4, 0), radius=0.2, mass=1e-9),
            Frame("right", "body", "RY", True, xyz=(0, -0.4, 0), radius=0.2, mass=1e-9),
            Frame("front", "body", "RY", xyz=(1.0, 0, 0), radius=0.2, mass=1e-9),
        ),
    )
    q = gr.settle(tricycle, gr.terrain.plane()).state
    points = contacts(tricycle, q, gr.terrain.plane()).point
    result = rollover_margin(tricycle, q[None], np.zeros((1, 9)), points[None])
    rear_edge = 0.2  # of the centre of gravity before the rear axle
    side_edge = 0.4 * 0.8 / math.hypot(1.0, 0.4)  # its distance from the line rear wheel – front wheel
    assert rear_edge < side_edge
    assert result.angle[0] == pytest.approx(math.atan(rear_edge / 0.7), abs=1e-7)
    assert result.wheel[0] == "front"


def test_on_the_moon_the_same_turn_leaves_less():
    settled = gr.settle(ZOE, gr.terrain.plane())
    points = contacts(ZOE, settled.state, gr.terrain.plane()).point
    found = rollover_margin(ZOE, settled.state[None], turning(1.0, 0.5)[None], points[None], gravity=1.62)
    assert found.angle[0] == pytest.approx(SIDEWAYS - math.atan(0.5 / 1.62), abs=EXACT)


def test_a_run_keeps_the_gravity_of_its_model(tmp_path):
    for model in (gr.Kinematics(ZOE, gravity=1.62), gr.Dynamics(ZOE, gravity=1.62)):
        run = gr.simulate(model, gr.terrain.plane(), gr.drive.arc(0.5, 0.2), duration=0.4)
        run.save(tmp_path / "run.npz")
        back = gr.Run.load(tmp_path / "run.npz")
        assert back.gravity == run.gravity == 1.62
        wanted = rollover_margin(ZOE, run.state, run.velocity, run.contact.point, gravity=1.62).angle
        assert back.rollover_margin().angle == pytest.approx(wanted, abs=0.0)


@entry
def normal_of(points, middle, out):
    put(plane_normal(points, middle), out, 0)


@pytest.mark.parametrize("n", [3, 4, 6, 8])
def test_the_plane_through_the_contacts_is_that_of_least_squares(n):
    """Against the eigenvector of the smallest eigenvalue, for planes of any direction and points off them."""
    random, out = np.random.default_rng(n), np.empty(3)
    for _ in range(50):
        points = random.normal(size=(n, 3)) * (1.0, 0.6, 0.1) @ np.linalg.qr(random.normal(size=(3, 3)))[0]
        middle = points.mean(axis=0)
        normal_of(points, middle, out)
        expected = np.linalg.eigh((points - middle).T @ (points - middle))[1][:, 0]
        # Trigonometric eigenvalues have half of the digits where two of them are close.
        np.testing.assert_allclose(out * np.sign(out @ expected), expected, rtol=0.0, atol=1e-6)
