"""Round tyres: a torus against closed forms, brute force over its surface, and the thin wheel it shrinks to."""

import numpy as np
import pytest

import grouser as gr
from grouser.collision import contacts
from grouser.collision.contacts import camber, contact_on_wheel, rolling_radius
from grouser.errors import VehicleError
from grouser.simulation.settle import settle
from grouser.vehicles import Frame, Vehicle
from tests.oracles.thesis_dynamics import thesis_step

R, TYRE = 0.3, 0.06
LINE = R - TYRE


def tyred(vehicle, tyre_radius):
    for wheel in vehicle.wheels:
        vehicle = vehicle.replace_frame(wheel, tyre_radius=tyre_radius)
    return vehicle


@pytest.fixture(scope="module")
def wheel():
    frames = (Frame("body", mass=1.0), Frame("w", "body", "RY", radius=R, tyre_radius=TYRE, mass=1.0))
    return Vehicle("wheel", frames)


@pytest.fixture(scope="module")
def hills():
    x = np.linspace(-4.0, 4.0, 81)
    X, Y = np.meshgrid(x, x, indexing="ij")
    return gr.terrain.spline(0.2 * np.sin(1.3 * X) * np.cos(1.7 * Y), x, x)


def state(position, roll=0.0, pitch=0.0, yaw=0.0):
    return np.concatenate([gr.rotation.to_quaternion(gr.rotation.from_rpy(roll, pitch, yaw)), position, [0.0]])


def placed(wheel, ground, rng):
    """A random wheel that touches the ground or sinks in by up to 10 mm."""
    q = state([*rng.uniform(-2, 2, 2), 1.0], rng.uniform(-0.6, 0.6), rng.uniform(-3, 3), rng.uniform(-3, 3))
    for _ in range(8):
        q[6] -= contacts(wheel, q, ground).height_error[0]
    q[6] -= rng.uniform(0.0, 0.01)
    return q


@pytest.mark.parametrize("lean", [-0.9, -0.2, 0.0, 0.5, 1.2])
def test_a_leaning_wheel_on_level_ground(wheel, lean):
    height = 0.4
    touch = contacts(wheel, state([1.0, 2.0, height], roll=lean), gr.terrain.plane())
    # centre line's lowest point: down the wheel's plane, which leans; then straight down by the tyre
    expected = [1.0, 2.0 + LINE * np.sin(lean), height - LINE * np.cos(lean) - TYRE]
    np.testing.assert_allclose(touch.point[0], expected, rtol=0.0, atol=1e-12)
    assert touch.height_error[0] == pytest.approx(expected[2], abs=1e-12)
    q = state([1.0, 2.0, height], roll=lean)
    assert rolling_radius(wheel, q, touch.point)[0] == pytest.approx(LINE + TYRE * np.cos(lean), abs=1e-12)
    assert camber(wheel, q, touch.rotation[:, :, 2])[0] == pytest.approx(lean, abs=1e-12)
    # a wheel whose top leans to the right stands on the right side of its tyre
    assert contact_on_wheel(wheel, q, touch.point)[0, 1] == pytest.approx(-TYRE * np.sin(lean), abs=1e-12)


def test_tyre_and_ground_face_each_other(wheel, hills):
    rng = np.random.default_rng(1)
    for _ in range(60):
        q = placed(wheel, hills, rng)
        touch = contacts(wheel, q, hills)
        local = contact_on_wheel(wheel, q, touch.point)[0]
        radial = np.array([local[0], 0.0, local[2]]) / np.hypot(local[0], local[2])
        outward = (local - LINE * radial) / TYRE
        assert np.linalg.norm(outward) == pytest.approx(1.0, abs=1e-9)
        Rw = gr.rotation.from_quaternion(q[:4])
        np.testing.assert_allclose(Rw @ outward, -touch.rotation[0, :, 2], rtol=0.0, atol=1e-6)
        ground = hills.sample(*touch.point[0, :2])
        gap = (touch.point[0, 2] - ground.height) * touch.rotation[0, 2, 2]
        assert touch.height_error[0] == pytest.approx(float(gap), abs=1e-9)


@pytest.mark.parametrize("name", ["hills", "rough", "ramp"])
def test_no_point_of_the_tyre_is_lower(wheel, hills, name):
    ground = {
        "hills": hills,
        "rough": gr.terrain.rough(rms=0.05, length=0.8, seed=2),
        "ramp": gr.terrain.stack(gr.terrain.plane(), gr.terrain.ramp(height=0.4, deg=20.0)),
    }[name]
    u, v = (g.ravel() for g in np.meshgrid(np.linspace(-np.pi, np.pi, 721), np.linspace(-1.57, 1.57, 121)))
    torus = np.stack([(LINE + TYRE * np.cos(v)) * np.sin(u), TYRE * np.sin(v), (LINE + TYRE * np.cos(v)) * np.cos(u)])
    rng = np.random.default_rng(3)
    worst = 0.0
    for _ in range(25):
        q = placed(wheel, ground, rng)
        points = gr.rotation.from_quaternion(q[:4]) @ torus + q[4:7, None]
        sample = ground.sample(points[0], points[1])
        lowest = ((points[2] - sample.height) * sample.normal[:, 2]).min()
        worst = max(worst, contacts(wheel, q, ground).height_error[0] - lowest)
    # an edge has no normal to face, and where the slope jumps so does Δz of T (2.8)
    assert worst < (1e-9 if name == "hills" else 1e-3)


def test_the_tyre_shrinks_to_the_thin_wheel():
    zoe, ground = gr.vehicle("zoe"), gr.terrain.rough(rms=0.05, length=0.8, seed=4)
    drive = gr.drive.arc(speed=1.0, curvature=0.1)

    def end(vehicle):
        return gr.simulate(gr.Kinematics(vehicle), ground, drive, duration=4.0, dt=0.02).state[-1, :7]

    thin = end(zoe)
    apart = [np.linalg.norm(end(tyred(zoe, r)) - thin) for r in (4e-3, 2e-3, 1e-3, 1e-7)]
    assert apart[0] > apart[1] > apart[2] > apart[3]
    assert apart[1] / apart[2] == pytest.approx(2.0, rel=0.3)
    assert apart[3] < 1e-6


def cambered_cart(lean, tyre_radius):
    """Four wheels whose tops all lean to the right."""
    frames = [Frame("body", mass=40.0, inertia=(2.0, 3.0, 4.0))]
    for name, x, y in (("FL", 0.4, 0.3), ("FR", 0.4, -0.3), ("BL", -0.4, 0.3), ("BR", -0.4, -0.3)):
        frames.append(
            Frame(name, "body", "RY", actuated=True, xyz=(x, y, 0.0), rpy=(lean, 0.0, 0.0), radius=R, mass=1.0,
                  inertia=(0.02, 0.03, 0.02), tyre_radius=tyre_radius)
        )  # fmt: skip
    return Vehicle("cart", tuple(frames))


@pytest.mark.parametrize("lean", [0.0, 0.4])
def test_a_cambered_tyre_rolls_on_the_radius_it_touches_with(lean):
    rates = np.full((1, 4), 2.0)
    cart = cambered_cart(lean, TYRE)
    flat = gr.terrain.plane()
    run = gr.simulate(gr.Kinematics(cart), flat, np.repeat(rates, 50, axis=0), dt=0.02, duration=1.0)
    speed = 2.0 * (LINE + TYRE * np.cos(lean))
    np.testing.assert_allclose(run.velocity[:, 3], speed, rtol=1e-9)
    assert run.position[-1, 2] == pytest.approx(LINE * np.cos(lean) + TYRE, abs=1e-6)
    np.testing.assert_allclose(run.camber, lean, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(run.contact_offset, -TYRE * np.sin(lean), rtol=0.0, atol=1e-9)
    moved = gr.simulate(gr.Dynamics(cart), flat, np.repeat(rates, 200, axis=0), dt=0.02, duration=4.0)
    assert moved.velocity[-1, 3] == pytest.approx(speed, rel=2e-3)


def test_thesis_form_agrees_on_tyres(hills):
    """Its contact speed takes the radius from the contact's place on the wheel, the engine's from the lean."""
    cart = cambered_cart(0.4, TYRE)
    model = gr.Dynamics(cart)
    state = settle(cart, hills, x=0.3, y=0.2, yaw=0.4, penetration=model.penetration).state
    velocity = np.array([0.02, -0.03, 0.1, 0.5, 0.02, 0.01, 1.6, 1.7, 1.5, 1.8])
    fast = model.step(state, velocity, np.full(4, 1.7), hills, dt=0.02)
    reference = thesis_step(model, state, velocity, np.full(4, 1.7), hills, dt=0.02)
    assert fast.converged
    np.testing.assert_allclose(fast.velocity, reference.velocity, rtol=0.0, atol=1e-7)


def test_a_tyre_larger_than_its_rim_is_refused():
    with pytest.raises(VehicleError, match=r"tyre_radius: 0\.2 m is larger than the rim"):
        Frame("w", "body", "RY", radius=0.3, tyre_radius=0.2)
    with pytest.raises(VehicleError, match="only a wheel has a tyre"):
        Frame("w", "body", "RY", tyre_radius=0.1)
