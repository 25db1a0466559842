"""Slip in the drive frame, L (5.7)–(5.10): crab motion slips along and across the way it goes, not along the body."""

import ctypes
import math

import numpy as np
import pytest

import grouser as gr
from grouser.slip import BodySlip, DriveFrameSlip

P = np.array([-0.75, -0.11, -0.3, -0.19, 0.06, -0.4])
LEVEL = np.array([0.0, 0.0, -9.81])
"""Force per mass of a vehicle that stands level [m/s²]."""


def slip_of(slip, v, f, omega=(0.0, 0.0, 0.0)):
    """(ω_slip, v_slip) of a law at a velocity of the centre of mass and a force per mass."""
    call = ctypes.CFUNCTYPE(None, *[ctypes.POINTER(ctypes.c_double)] * 4)(slip.bound.address)
    x, out = np.array([*omega, *v, *f], dtype=float), np.full(6, np.nan)
    call(*(a.ctypes.data_as(ctypes.POINTER(ctypes.c_double)) for a in (slip.pack(), x, out, np.zeros(9))))
    return out


def about_z(angle):
    c, s = math.cos(angle), math.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


@pytest.mark.parametrize("speed", [0.7, -0.7, 0.0])
def test_without_lateral_velocity_it_is_body_slip_ahead_and_in_reverse(speed):
    rng = np.random.default_rng(1)
    for _ in range(20):
        f, omega = LEVEL + rng.normal(0.0, 2.0, 3), rng.normal(0.0, 1.0, 3)
        v = (speed, 0.0, rng.normal())
        np.testing.assert_allclose(
            slip_of(DriveFrameSlip(P), v, f, omega), slip_of(BodySlip(P), v, f, omega), rtol=0.0, atol=1e-15
        )


@pytest.mark.parametrize("deg", [-150.0, -90.0, -20.0, 45.0, 90.0])
def test_a_crab_slips_as_if_the_ground_were_turned_under_it(deg):
    """Velocity and force turned by σ turn the slip velocity by σ; subtracting C p unturned, L (5.29), would not."""
    R = about_z(math.radians(deg))
    slip = DriveFrameSlip([*P[:4], 0.0, P[5], -0.2])  # p₅ alone knows the sides of the body
    v, f, omega = np.array([0.6, 0.0, 0.0]), np.array([-1.5, 0.8, -9.81]), (0.0, 0.0, 0.3)
    ahead, crab = slip_of(slip, v, f, omega), slip_of(slip, R @ v, R @ f, omega)
    np.testing.assert_allclose(crab[3:], R @ ahead[3:], rtol=0.0, atol=1e-14)
    np.testing.assert_allclose(crab[:3], ahead[:3], rtol=0.0, atol=1e-14)
    assert np.abs(ahead[[2, 3, 4]]).min() > 1e-3


def lru_crab(ground, slip, left):
    """Body velocity of an LRU-1 that travels sideways with all wheels turned by 90°."""
    vehicle = gr.vehicle("lru1")
    model = gr.Kinematics(vehicle, slip=slip)
    state = gr.settle(vehicle, ground).state
    wanted = gr.actuate(gr.Kinematics(vehicle), state, ground, left=left)
    for joint, angle in wanted.steering.items():
        state[7 + vehicle.joint_index(joint)] = angle
    return model.velocity(state, wanted.command, ground).value[:6]


@pytest.mark.parametrize("left", [0.4, -0.4])
@pytest.mark.parametrize("apply", ["body", "wheels"])
def test_a_crab_at_90_degrees_across_a_flank_slips_downhill(left, apply):
    ground = gr.terrain.slope(10.0, heading_deg=90.0)  # rises to the left
    slip = lru_crab(ground, DriveFrameSlip([-0.5, 0, 0, 0, 0, 0], apply=apply), left) - lru_crab(ground, None, left)
    # Of the body's own tilt: 10° of slope, and some that its springs yield. Its cg is not moved by the wheels' turning,
    # so no yaw follows, but for the second order of that.
    tilt = gr.rotation.to_rpy(gr.rotation.from_quaternion(gr.settle(gr.vehicle("lru1"), ground).state[:4]))[0]
    assert math.radians(10.0) < tilt < math.radians(12.0)
    assert slip[4] == pytest.approx(-0.5 * math.tan(tilt) * 0.4, rel=2e-3)
    assert abs(slip[2]) < 1e-9
    # Body slip acts along the body's x and sees no velocity there.
    body = lru_crab(ground, BodySlip([-0.5, 0, 0, 0, 0, 0], apply=apply), left) - lru_crab(ground, None, left)
    assert abs(body[4]) < 1e-9


@pytest.mark.parametrize("left", [0.4, -0.4])
def test_a_crab_is_slowed_by_rolling_resistance_both_ways(left):
    ground = gr.terrain.plane()
    slip = lru_crab(ground, DriveFrameSlip([0, -0.1, 0, 0, 0, 0]), left) - lru_crab(ground, None, left)
    assert slip[4] == pytest.approx(-0.1 * left, abs=1e-9)
    assert abs(slip[3]) < 1e-9


def test_a_crab_on_a_side_slope_slips_across_its_way_to_the_low_side():
    """Travelling left on ground that rises ahead, the low side is behind: across the way, so p₃ acts."""
    ground = gr.terrain.slope(10.0)
    slip = lru_crab(ground, DriveFrameSlip([0, 0, -0.5, 0, 0, 0]), 0.4) - lru_crab(ground, None, 0.4)
    assert slip[3] == pytest.approx(-0.5 * math.tan(math.radians(10.0)) * 0.4, abs=1e-6)


def test_slip_fades_to_nothing_at_standstill_from_every_direction():
    slip = DriveFrameSlip([*P, -0.2])
    f = np.array([-2.0, 1.0, -9.81])
    assert not slip_of(slip, (0.0, 0.0, 0.0), f).any()
    for angle in np.linspace(0.0, 2.0 * math.pi, 17):
        v = np.array([math.cos(angle), math.sin(angle), 0.0])
        whole = np.abs(slip_of(slip, v, f)).max()
        for speed in (1e-3, 1e-9, 1e-200):
            assert np.abs(slip_of(slip, speed * v, f)).max() <= 1.5 * whole * speed
    a, b = slip_of(slip, (1e-9, 0.3, 0.0), f), slip_of(slip, (-1e-9, 0.3, 0.0), f)
    np.testing.assert_allclose(a, b, rtol=0.0, atol=1e-8)  # no jump where the way swings past 90°


def test_the_seventh_parameter_makes_resistance_grow_with_speed():
    slip = DriveFrameSlip([0, 0, 0, 0, 0, 0, -0.2])
    for v in ((0.5, 0.0, 0.0), (-0.5, 0.0, 0.0), (0.0, 0.5, 0.0), (0.3, -0.4, 0.0)):
        np.testing.assert_allclose(slip_of(slip, v, LEVEL)[3:], -0.2 * 0.5 * np.array(v), rtol=0.0, atol=1e-15)
        np.testing.assert_allclose(
            slip_of(slip, 2.0 * np.array(v), LEVEL), 4.0 * slip_of(slip, v, LEVEL), rtol=0.0, atol=1e-15
        )


def test_mirrored_motion_slips_mirrored():
    mirror = np.array([-1.0, 1.0, -1.0, 1.0, -1.0, 1.0])  # of (ω, v) when left and right are swapped
    q = P * [1, 1, 1, 1, -1, 1]  # p₅ is a difference between the sides
    v, f, omega = np.array([0.4, 0.3, 0.1]), np.array([0.5, -1.2, -9.81]), np.array([0.1, -0.2, 0.5])
    a = slip_of(DriveFrameSlip(P), v, f, omega)
    b = slip_of(DriveFrameSlip(q), v * mirror[3:], f * mirror[3:], omega * mirror[:3])
    np.testing.assert_allclose(b, mirror * a, rtol=0.0, atol=1e-15)


@pytest.mark.parametrize("bad", [[0] * 5, [0] * 8, [np.nan] * 6, "abc"])
def test_bad_parameters_are_refused(bad):
    with pytest.raises(gr.GrouserError, match="slip parameters"):
        DriveFrameSlip(bad)
