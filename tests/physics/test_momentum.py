"""What a free or frictionless vehicle keeps: speed, momentum, energy; and the orders at which the rest converges.

Energy and momentum are computed here from the recorded states by M (checked against Pinocchio elsewhere), not taken
from the run's own record.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import grouser as gr
from grouser.vehicles import Coupling, Frame, Vehicle
from tests.reference.test_dynamics_pinocchio import random_tree

PLANE = gr.terrain.plane()
FREE = gr.actuation.PI(gain=0.0)
HIGH = 1000.0
"""Above the ground, so that nothing touches [m]."""


def kept(model, run, every=1):
    """Kinetic energy, linear momentum and angular momentum about the centre of mass, world axes, of recorded rows."""
    energy, linear, angular = [], [], []
    for q, v in zip(run.state[::every], run.velocity[::every], strict=True):
        M, _ = model.inertia_and_bias(q, v)
        h = M[:6] @ v
        R = Rotation.from_quat(q[[1, 2, 3, 0]]).as_matrix()
        # M's lower left block is −[m c]×, so the centre of mass is in it
        com = np.array([M[1, 5], M[2, 3], M[0, 4]]) * np.array([-1.0, -1.0, -1.0]) / M[3, 3]
        energy.append(0.5 * v @ M @ v)
        linear.append(R @ h[3:])
        angular.append(R @ (h[:3] - np.cross(com, h[3:])))
    return np.array(energy), np.array(linear), np.array(angular)


def flight(vehicle, rng, dt, seconds=10.0, spin=3.0, **options):
    """A free flight without gravity, all joints at zero, wheels spinning, body turning and moving at random."""
    model = gr.Dynamics(vehicle, actuator=FREE, gravity=0.0, tip_angle=math.pi, **options)
    v = np.zeros(6 + vehicle.n_joints)
    v[:6] = rng.normal(size=6) * np.repeat([1.0, 2.0], 3)
    v[5 + vehicle.arrays.wheel] = rng.normal(size=vehicle.n_wheels) * spin
    q = np.zeros(7 + vehicle.n_joints)
    q[:4] = Rotation.random(random_state=rng).as_quat()
    q[6] = HIGH
    run = gr.simulate(model, PLANE, gr.drive.constant(0.0), duration=seconds, dt=dt, start=q, velocity=v)
    assert run.status == "ok"
    return model, run


def held(vehicle):
    """The same vehicle with every joint but those of its wheels held at zero."""
    rows = [
        Coupling(name=f"hold_{f.name}", joints={f.name: 1.0}) for f in vehicle.frames if f.parent and not f.is_wheel
    ]
    return vehicle.replace(couplings=tuple(rows), steering=())


@pytest.mark.parametrize("dt", [0.001, 0.01, 0.04, 0.1])
def test_sliding_without_friction_while_turning_keeps_its_speed_and_its_way(dt):
    vehicle = gr.vehicle("husky")
    v = np.zeros(6 + vehicle.n_joints)
    v[2], v[3] = 2.0, 3.0
    model = gr.Dynamics(vehicle, contact=gr.contact.PiecewiseLinear(friction=0.0), actuator=FREE)
    run = gr.simulate(model, PLANE, gr.drive.constant(0.0), duration=5.0, dt=dt, velocity=v)
    speed = np.linalg.norm(np.diff(run.position[:, :2], axis=0), axis=1) / dt
    np.testing.assert_allclose(speed, speed[0], rtol=1e-3)
    assert np.linalg.norm(np.diff(run.position[:, :2], axis=0), axis=1).sum() == pytest.approx(15.0, rel=2e-3)
    assert run.velocity[-1, 2] == pytest.approx(2.0, rel=3e-3)  # it pitches on its springs a little


def test_a_spinning_slide_with_little_friction_is_as_long_at_any_step():
    """Locked wheels, μ = 0.05, 5 m/s, 3 rad/s: 29 m; with −ω×v taken at the step's start it never stopped at 0.04."""
    vehicle = gr.vehicle("husky")
    v = np.zeros(6 + vehicle.n_joints)
    v[2], v[3] = 3.0, 5.0
    ways = {}
    for dt in (0.004, 0.04, 0.1):
        model = gr.Dynamics(vehicle, contact=gr.contact.PiecewiseLinear(friction=0.05, cone=True))
        run = gr.simulate(model, PLANE, gr.drive.constant(0.0), duration=14.0, dt=dt, velocity=v)
        ways[dt] = np.linalg.norm(run.position[-1] - run.position[0])
        assert np.linalg.norm(run.velocity[-1]) < 1e-3
    assert ways[0.04] == pytest.approx(ways[0.004], rel=0.01)
    assert ways[0.1] == pytest.approx(ways[0.004], rel=0.02)


@pytest.mark.parametrize("dt", [0.02, 0.1])
@pytest.mark.parametrize("name", gr.vehicles.names())
def test_vehicles_in_free_flight_keep_energy_and_momentum(name, dt):
    """By construction, at any step, the direction of momentum included."""
    rng = np.random.default_rng(len(name))
    model, run = flight(held(gr.vehicle(name)), rng, dt)
    energy, linear, angular = kept(model, run, every=5)
    for values in (energy, np.linalg.norm(linear, axis=1), np.linalg.norm(angular, axis=1)):
        np.testing.assert_allclose(values, values[0], rtol=1e-9)
    for vectors in (linear, angular):
        np.testing.assert_allclose(
            vectors, np.broadcast_to(vectors[0], vectors.shape), rtol=0.0, atol=1e-9 * abs(vectors).max()
        )


@pytest.mark.parametrize("name", ["husky", "zoe", "rocky7"])
def test_in_flight_newton_converges_as_its_derivatives_allow(name):
    """To 1e-12 of the weight at steps of 0.1 s: from the quadratic term of V̄ ×_f h̄ alone, three or four iterations.

    With a wrong sign in its derivatives convergence is linear, by a factor of about ω dt = 0.2 an iteration.
    """
    _, run = flight(held(gr.vehicle(name)), np.random.default_rng(1), 0.1)
    assert run.halved_steps == 0
    assert run.solver.iterations.max() <= 4


@pytest.mark.parametrize(("integrator", "order"), [("euler", 1), ("midpoint", 2)])
def test_swinging_joints_keep_energy_to_the_order_of_the_method_and_without_a_trend(integrator, order):
    ripple = {0.02: [], 0.01: [], 0.005: []}
    for seed in range(6):
        vehicle = random_tree(np.random.default_rng(seed))
        for dt, found in ripple.items():
            rng = np.random.default_rng(100 + seed)
            n = vehicle.n_joints
            model = gr.Dynamics(vehicle, gravity=0.0, integrator=integrator, tip_angle=math.pi)
            start = np.r_[1.0, np.zeros(5), HIGH, rng.uniform(-1, 1, n)]
            run = gr.simulate(
                model, PLANE, gr.drive.constant(0.0), duration=10.0, dt=dt, start=start, velocity=rng.normal(size=6 + n)
            )
            assert run.status == "ok"
            energy, _, _ = kept(model, run, every=round(0.1 / dt))
            found.append(np.ptp(energy) / energy[0])
            assert abs(energy[-1] / energy[0] - 1.0) < (0.01 if dt <= 0.01 else 0.03)
    coarse, middle, fine = (np.mean(found) for found in ripple.values())
    print(f"\n{integrator}: mean ripple of energy {coarse:.1e}, {middle:.1e}, {fine:.1e}")
    assert middle < 0.01
    assert middle / fine == pytest.approx(2.0**order, rel=0.25)


MOMENTS = (1.0, 2.0, 2.7)
WEIGHTLESS = {"radius": 0.1, "mass": 1e-12, "inertia": (1e-14, 1e-14, 1e-14)}
"""A wheel that does not count."""


def body(moments=MOMENTS):
    """A rigid body with three different moments; wheels that weigh nothing."""
    frames = [Frame(name="body", mass=10.0, inertia=moments)]
    for name, x, y in (("FL", 1, 1), ("FR", 1, -1), ("BL", -1, 1), ("BR", -1, -1)):
        frames.append(
            Frame(name=name, parent="body", joint="RY", actuated=True, xyz=(0.3 * x, 0.3 * y, 0.0), **WEIGHTLESS)
        )
    return Vehicle(name="body", frames=tuple(frames))


def tumble(omega, dt, seconds, integrator="euler"):
    vehicle = body()
    model = gr.Dynamics(vehicle, gravity=0.0, integrator=integrator, tip_angle=math.pi)
    q = np.r_[1.0, np.zeros(5), HIGH, np.zeros(4)]
    v = np.r_[omega, np.zeros(7)]
    return gr.simulate(model, PLANE, gr.drive.constant(0.0), duration=seconds, dt=dt, start=q, velocity=v)


def euler_equations(omega, times):
    """Rates and orientations (x, y, z, w) of the body by a quaternion ODE at 1e-11."""
    I = np.array(MOMENTS)

    def rate(_, y):
        w, q = y[:3], y[3:]
        spin = 0.5 * np.r_[q[0] * w + np.cross(q[1:], w), -q[1:] @ w]
        return np.r_[-np.cross(w, I * w) / I, spin[3], spin[:3]]

    start = np.r_[omega, 1.0, 0.0, 0.0, 0.0]
    found = solve_ivp(rate, (0.0, times[-1]), start, method="DOP853", rtol=1e-11, atol=1e-12, t_eval=times)
    return found.y[:3].T, found.y[[4, 5, 6, 3]].T


@pytest.mark.parametrize("integrator", ["euler", "midpoint"])
def test_a_tumbling_body_follows_eulers_equations_at_second_order(integrator):
    """A rigid body that flies is of second order with both: M is constant and the mean velocity turns it."""
    omega = np.array([1.0, 0.7, -0.4])
    rates, turns = [], []
    for dt in (0.04, 0.02, 0.01):
        run = tumble(omega, dt, 4.0, integrator)
        wanted, oriented = euler_equations(omega, run.time)
        rates.append(np.abs(run.velocity[:, :3] - wanted).max())
        away = Rotation.from_quat(run.quaternion[:, [1, 2, 3, 0]]) * Rotation.from_quat(oriented).inv()
        turns.append(away.magnitude().max())
    print(f"\n{integrator}: rates {rates}, orientation {turns}")
    assert rates[1] / rates[2] == pytest.approx(4.0, rel=0.15)
    assert turns[1] / turns[2] == pytest.approx(4.0, rel=0.15)
    assert turns[2] < 2e-4


def test_a_t_handle_flips_when_it_should_and_for_ever():
    """Spun about the axis of its middle moment a body turns over again and again, at the times of the ODE."""
    omega, dt, seconds = np.array([1e-3, 3.0, 1e-3]), 0.01, 60.0
    run = tumble(omega, dt, seconds)
    wanted, _ = euler_equations(omega, run.time)
    flips, expected = (run.time[1:][np.diff(np.sign(w)) != 0] for w in (run.velocity[:, 1], wanted[:, 1]))
    assert len(expected) >= 5
    assert len(flips) == len(expected)
    np.testing.assert_allclose(flips, expected, rtol=5e-3)
    size = np.linalg.norm(np.array(MOMENTS) * run.velocity[:, :3], axis=1)
    np.testing.assert_allclose(size, size[0], rtol=1e-9)


def test_a_heavy_top_precesses_at_its_weight_over_its_spin():
    """A rotor on a gimbal on a very heavy, carried base. Level, in steady precession: C s Ω = m g l."""
    mass, arm, C, A, s, g = 2.0, 0.2, 0.02, 0.012, 60.0, 9.81
    frames = [
        Frame(name="base", mass=1e5, inertia=(1e5, 1e5, 1e5)),
        Frame(name="turn", parent="base", joint="RZ"),
        Frame(name="tilt", parent="turn", joint="RY"),
        Frame(name="rotor", parent="tilt", joint="RX", mass=mass, com=(arm, 0.0, 0.0), inertia=(C, A, A)),
        Frame(name="wheel", parent="base", joint="RY", xyz=(0.0, 0.0, -2.0), **WEIGHTLESS),
    ]
    top = Vehicle(name="top", frames=tuple(frames))
    carry = gr.ExternalForce(frame="base", force=(0.0, 0.0, (1e5 + mass) * g))
    precession = mass * g * arm / (C * s)
    v = np.zeros(6 + 4)
    v[6], v[8] = precession, s
    model = gr.Dynamics(top, external=(carry,), gravity=g, tolerance=1e-6)
    q = np.r_[1.0, np.zeros(5), HIGH, np.zeros(4)]
    for dt, share in ((0.002, 2e-3), (0.01, 2e-2)):
        run = gr.simulate(model, PLANE, gr.drive.constant(0.0), duration=2.0, dt=dt, start=q, velocity=v)
        # a wrong sign of the gyroscopic couple would let it fall: 90° in 0.3 s
        assert np.abs(run.joint("tilt")).max() < 0.02
        assert run.joint("turn")[-1] == pytest.approx(precession * 2.0, rel=share)


@pytest.mark.parametrize("dt", [0.002, 0.005, 0.05])
@pytest.mark.parametrize("integrator", ["euler", "midpoint"])
def test_an_undamped_suspension_keeps_its_amplitude(dt, integrator):
    """A body of 1 kg on a slide with 800 N/m, 28 rad/s, on a heavy base in free flight, for 10 s."""
    frames = [
        Frame(name="base", mass=1e6, inertia=(1e6, 1e6, 1e6)),
        Frame(name="slide", parent="base", joint="PZ", mass=1.0, inertia=(0.1, 0.1, 0.1)),
        Frame(name="wheel", parent="base", joint="RY", xyz=(0.0, 0.0, -2.0), **WEIGHTLESS),
    ]
    rows = (Coupling(name="spring", joints={"slide": 1.0}, stiffness=800.0),)
    model = gr.Dynamics(
        Vehicle(name="sprung", frames=tuple(frames), couplings=rows), gravity=0.0, integrator=integrator
    )
    q = np.r_[1.0, np.zeros(5), HIGH, 0.1, 0.0]
    run = gr.simulate(model, PLANE, gr.drive.constant(0.0), duration=10.0, dt=dt, start=q, velocity=np.zeros(8))
    x = np.abs(run.joint("slide"))
    half = len(x) // 2
    assert x[half:].max() == pytest.approx(x[:half].max(), rel=2e-3 if dt < 0.01 else 6e-3)  # as samples hit peaks
    assert x.max() < 0.1 / math.cos(math.atan(0.5 * math.sqrt(800.0) * dt)) + 1e-3  # symplectic Euler: an ellipse


def test_damping_is_what_the_vehicle_says():
    """0.1 of critical: after 1 s the amplitude has fallen by e^(−0.1 · 20)."""
    frames = [
        Frame(name="base", mass=1e6, inertia=(1e6, 1e6, 1e6)),
        Frame(name="slide", parent="base", joint="PZ", mass=1.0, inertia=(0.1, 0.1, 0.1)),
        Frame(name="wheel", parent="base", joint="RY", xyz=(0.0, 0.0, -2.0), **WEIGHTLESS),
    ]
    rows = (Coupling(name="spring", joints={"slide": 1.0}, stiffness=400.0, damping=4.0),)
    model = gr.Dynamics(Vehicle(name="sprung", frames=tuple(frames), couplings=rows), gravity=0.0)
    q = np.r_[1.0, np.zeros(5), HIGH, 0.1, 0.0]
    run = gr.simulate(model, PLANE, gr.drive.constant(0.0), duration=1.5, dt=0.002, start=q, velocity=np.zeros(8))
    x, rate = run.joint("slide"), run.velocity[:, 7 - 1]
    size = np.sqrt(x**2 + (rate / 20.0) ** 2 + 0.2 * x * rate / 20.0)
    assert size[500] / size[0] == pytest.approx(math.exp(-0.1 * 20.0), rel=0.03)
