"""What a textbook says of a cart: it slides, rolls, spins, climbs, tips and needs energy as its formulas say."""

import math

import numpy as np
import pytest

import grouser as gr
from grouser.contact import Pacejka, PiecewiseLinear
from grouser.vehicles import Frame, Vehicle

G = 9.81
RADIUS, SPIN_INERTIA, WHEEL = 0.15, 0.03, 2.0


def cart(*, height=0.05, track=0.56, base=0.6, body=40.0):
    """Four driven wheels on a body; height [m] of the body's centre of mass above the axles."""
    frames = [Frame(name="body", mass=body, com=(0.0, 0.0, height), inertia=(0.9, 2.2, 2.9))]
    for name, x, y in (("FL", 1, 1), ("FR", 1, -1), ("BL", -1, 1), ("BR", -1, -1)):
        frames.append(
            Frame(
                name=name,
                parent="body",
                joint="RY",
                actuated=True,
                xyz=(0.5 * base * x, 0.5 * track * y, 0.0),
                radius=RADIUS,
                width=0.08,
                mass=WHEEL,
                inertia=(0.016, SPIN_INERTIA, 0.016),
            )
        )
    return Vehicle(name="cart", frames=tuple(frames))


def centre_height(vehicle):
    """Of the whole vehicle's centre of mass above the ground [m], on hard tyres."""
    return RADIUS + sum(f.mass * f.com[2] for f in vehicle.frames) / vehicle.mass


def hard(vehicle, friction):
    """A tyre that gives way by a tenth of a millimetre: soft ones lower the angle at which a vehicle tips."""
    return Pacejka(friction=friction, static_penetration=1e-4, damping=60.0 * vehicle.mass)


def test_without_friction_a_ramp_is_slid_down_at_g_times_the_sine():
    vehicle, degrees = cart(), 20.0
    model = gr.Dynamics(vehicle, contact=PiecewiseLinear(friction=0.0), tolerance=1e-9 * vehicle.mass * G)
    ground = gr.terrain.slope(degrees, heading_deg=35.0)
    run = gr.simulate(model, ground, gr.drive.constant(0.0), duration=4.0, dt=0.01, velocity=np.zeros(10))
    a, late = math.radians(degrees), run.time > 2.0  # it has stopped bouncing
    downhill = -np.array(
        [math.cos(a) * math.cos(math.radians(35.0)), math.cos(a) * math.sin(math.radians(35.0)), math.sin(a)]
    )
    along = run.position @ downhill
    fitted = np.polyfit(run.time[late], along[late], 2)
    assert 2.0 * fitted[0] == pytest.approx(G * math.sin(a), rel=1e-3)
    assert np.abs(run.velocity[late][:, :3]).max() < 1e-3  # and it does not turn


def test_free_wheels_roll_down_a_slope_slower_than_they_would_slide():
    """a = g sin θ / (1 + Σ I/r² / m): the textbook's disc on a ramp, with a cart on top."""
    vehicle, degrees = cart(), 10.0
    free = gr.actuation.PI(gain=0.0)
    contact = Pacejka(friction=0.9, smoothing=1e-3)  # else slip at low speed shows
    model = gr.Dynamics(vehicle, contact=contact, actuator=free, tolerance=1e-9 * vehicle.mass * G)
    ground = gr.terrain.slope(-degrees)
    run = gr.simulate(model, ground, gr.drive.constant(0.0), duration=3.0, dt=0.005, velocity=np.zeros(10))
    late = run.time > 1.0
    way = np.linalg.norm(run.position - run.position[0], axis=1)
    acceleration = 2.0 * np.polyfit(run.time[late], way[late], 2)[0]
    m = vehicle.mass
    radius = RADIUS  # slip −v_x/V_x is nearly zero at Rω = V_x, with the radius of the undeformed wheel
    wanted = G * math.sin(math.radians(degrees)) / (1.0 + 4.0 * SPIN_INERTIA / radius**2 / m)
    assert acceleration == pytest.approx(wanted, rel=0.01)  # the wheels' inertia makes 11 %
    spin = run.velocity[-1, 6:]
    assert spin == pytest.approx(np.full(4, run.velocity[-1, 3] / radius), rel=0.01)  # rolling ahead is positive spin


def test_a_spinning_body_precesses_as_eulers_equations_say():
    """Torque-free, symmetric about z: ω_x, ω_y turn at (C − A)/A ω_z in the body's axes, as a top thrown up does."""
    frames = [Frame(name="body", mass=30.0, inertia=(2.0, 2.0, 3.0))]
    for name, x, y in (("FL", 1, 1), ("FR", 1, -1), ("BL", -1, 1), ("BR", -1, -1)):
        frames.append(
            Frame(
                name=name,
                parent="body",
                joint="RY",
                actuated=True,
                xyz=(0.3 * x, 0.3 * y, 0.0),
                radius=0.1,
                mass=1e-6,
                inertia=(1e-9, 1e-9, 1e-9),
            )
        )
    top = Vehicle(name="top", frames=tuple(frames))
    rate = (3.0 - 2.0) / 2.0 * 4.0
    errors = []
    for dt in (0.002, 0.001):
        start = np.r_[1.0, 0, 0, 0, 0, 0, 200.0, np.zeros(4)]
        v = np.r_[0.5, 0.0, 4.0, np.zeros(7)]
        model = gr.Dynamics(top, tolerance=1e-10)
        run = gr.simulate(
            model, gr.terrain.plane(), gr.drive.constant(0.0), duration=2.0, dt=dt, start=start, velocity=v
        )
        t = run.time
        wanted = np.stack([0.5 * np.cos(rate * t), 0.5 * np.sin(rate * t), np.full_like(t, 4.0)], axis=1)
        errors.append(np.abs(run.velocity[:, :3] - wanted).max())
    assert errors[1] < 1e-5  # a wrong sign of the gyroscopic term turns the other way: 1 rad/s
    assert errors[0] / errors[1] > 3.5  # the size of ω is exact, its phase of second order


@pytest.mark.parametrize("friction", [0.3, 0.6])
@pytest.mark.parametrize("law", [PiecewiseLinear, Pacejka])
def test_a_slope_is_climbed_up_to_the_angle_of_friction(friction, law):
    """Held speed needs f_x = W sin θ of at most μ W cos θ; combined tyres reach 0.96 μ (T Table C.1, errata)."""
    vehicle = cart()
    most = 1.0 if law is PiecewiseLinear else 0.961
    limit = math.degrees(math.atan(friction * most))
    climbs = []
    for degrees in (limit - 1.0, limit + 1.5):
        model = gr.Dynamics(vehicle, contact=law(friction=friction))
        ground = gr.terrain.slope(degrees)
        run = gr.simulate(model, ground, gr.drive.arc(0.5), duration=4.0, dt=0.02)
        climbs.append(run.position[-1, 0] - run.position[-26, 0])  # m in the last half second
        weight = vehicle.mass * G * math.sin(math.radians(degrees))
        if degrees < limit:
            assert run.contact.force[-1, :, 0].sum() == pytest.approx(weight, rel=0.02)
    assert climbs[0] > 0.0 > climbs[1]


@pytest.mark.parametrize(("track", "height"), [(0.3, 0.6), (0.4, 0.5)])
def test_on_hard_tyres_it_tips_sideways_at_half_the_track_over_the_height(track, height):
    vehicle = cart(track=track, height=height)
    tips = math.degrees(math.atan(0.5 * track / centre_height(vehicle)))
    over = {}
    for off in (-0.4, 0.4):
        model = gr.Dynamics(vehicle, contact=hard(vehicle, 1.5))
        ground = gr.terrain.slope(tips + off, heading_deg=90.0)  # left side up: it tips to the right
        run = gr.simulate(model, ground, gr.drive.constant(0.0), duration=3.0, dt=0.01, velocity=np.zeros(10))
        over[off] = run.rolled_over
        assert np.degrees(run.rollover_margin().angle[0]) == pytest.approx(-off, abs=0.02)
        if off > 0.0:
            assert run.roll[30] > run.roll[0]  # left side up is positive, and more of it
    assert over == {-0.4: False, 0.4: True}


def test_soft_tyres_tip_before_the_geometry_says_so():
    """W h θ against the tyres' k t² θ: on tyres that give way by δ it leans 1/(1 − δ h/(t/2)²) times as far."""
    vehicle = cart(track=0.4, height=0.3)
    h, degrees, give = centre_height(vehicle), 4.0, 0.01
    model = gr.Dynamics(vehicle, contact=Pacejka(friction=1.5, static_penetration=give))
    ground = gr.terrain.slope(degrees, heading_deg=90.0)
    run = gr.simulate(model, ground, gr.drive.constant(0.0), duration=6.0, dt=0.01, velocity=np.zeros(10))
    wanted = math.radians(degrees) / (1.0 - give * (h - give) / (0.5 * 0.4) ** 2)
    assert abs(run.roll[-1]) == pytest.approx(wanted, rel=0.02)


@pytest.mark.parametrize("degrees", [0.0, 8.0, -8.0])
def test_energy_per_metre_is_weight_times_rise_and_rolling_resistance(degrees):
    vehicle, speed, resistance = cart(), 0.5, 30.0
    contact = Pacejka(friction=0.8, rolling_resistance=resistance)
    model = gr.Dynamics(vehicle, contact=contact, tolerance=1e-8 * vehicle.mass * G)
    run = gr.simulate(model, gr.terrain.slope(degrees), gr.drive.arc(speed), duration=6.0, dt=0.02)
    late = slice(150, -1)
    way = np.linalg.norm(run.position[-1] - run.position[150])
    energy = run.power[late].sum() * 0.02 / way  # J/m of all motors
    turned = speed * len(run.power[late]) * 0.02 / way  # rim metres per metre of way: 1/(1 − slip)
    rise = vehicle.mass * G * math.sin(math.radians(degrees))
    # Each wheel is held back by C_rr Rω; climbing is paid with the slip on top, braking gets it off.
    wanted = (rise + 4.0 * resistance * speed) * turned
    assert energy == pytest.approx(wanted, rel=5e-3)
    assert (degrees < 0.0) == (energy < 0.0)
