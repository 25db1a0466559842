"""Rollers in dynamics: no force along the free direction, the rest as the contact law says, and its derivatives."""

import dataclasses
import math
import os
import subprocess
import sys

import numpy as np
import pytest

import grouser as gr
from grouser.collision import contacts
from grouser.contact import Ishigami, Pacejka, PiecewiseLinear

PLANE = gr.terrain.plane()
LAWS = {
    "piecewise": PiecewiseLinear(),
    "cone": PiecewiseLinear(cone=True),
    "rolling": PiecewiseLinear(rolling_resistance=30.0),
    "pacejka": Pacejka(),
    "ishigami": Ishigami(),
}
every_law = pytest.mark.parametrize("law", LAWS)


def all_rollers(angle):
    """The mecanum platform with the same rollers on all wheels."""
    vehicle = gr.vehicle("mecanum")
    frames = [f if f.rollers is None else dataclasses.replace(f, rollers=angle) for f in vehicle.frames]
    return vehicle.replace(frames=tuple(frames))


def pushed(vehicle, v_x, v_y, law="piecewise", seconds=1.0, dt=0.005):
    """A run with locked wheels that begins with a velocity of the body."""
    model = gr.Dynamics(vehicle, contact=LAWS[law], tolerance=1e-10 * vehicle.mass * 9.81)
    start = gr.settle(vehicle, PLANE, penetration=model.penetration)
    velocity = np.zeros(6 + vehicle.n_joints)
    velocity[3:5] = v_x, v_y
    return gr.simulate(
        model, PLANE, gr.drive.constant(0.0), duration=seconds, dt=dt, start=start.state, velocity=velocity
    )


@every_law
@pytest.mark.parametrize("angle", [90.0, 45.0, -60.0])
def test_with_locked_wheels_it_rolls_on_along_the_rollers_and_stops_across(angle, law):
    """Nothing acts along the free direction: that part of the momentum is kept; friction takes the other."""
    free = np.array([math.cos(math.radians(angle)), math.sin(math.radians(angle))])
    held = np.array([free[1], -free[0]])
    vehicle = all_rollers(angle)
    run = pushed(vehicle, *(0.3 * free), law)
    assert run.status == "ok"
    moved = run.position[-1, :2] - run.position[0, :2]
    assert moved @ free == pytest.approx(0.3, abs=3e-3)  # 0.3 m/s for 1 s
    assert run.velocity[-1, 3:5] @ free == pytest.approx(0.3, abs=3e-3)
    run = pushed(vehicle, *(0.3 * held), law)
    assert abs(run.velocity[-1, 3:5] @ held) < 0.02


@every_law
@pytest.mark.parametrize("name", ["robotino", "mecanum"])
def test_a_step_balances_with_no_force_along_the_rollers(name, law):
    """M q̈ + c = Aᵀ f, assembled from the material velocity of the contact point along the held direction and normal."""
    vehicle = gr.vehicle(name)
    ground = gr.terrain.rough(rms=0.02, length=0.5, seed=3, size=6.0)
    weight = vehicle.mass * 9.81
    model = gr.Dynamics(vehicle, contact=LAWS[law], tolerance=1e-10 * weight, actuator=gr.actuation.PI(gain=2.0))
    state = gr.settle(vehicle, ground, x=0.4, yaw=0.3, penetration=model.penetration).state
    v = np.random.default_rng(1).uniform(-0.2, 0.2, 6 + vehicle.n_joints)
    step = model.step(state, v, np.linspace(1.0, 3.0, vehicle.n_wheels), ground, dt=0.005)
    M, c = model.inertia_and_bias(state, v)
    at = contacts(vehicle, state, ground)
    assert (step.force[:, 1] == 0.0).all()
    assert (step.force[:, 2] > 0.0).all()
    left = M @ step.acceleration + c - np.einsum("wri,wr->i", at.jacobian, step.force)
    # the forces are the law's at the end of the step: no slip along the rollers, the rim's speed as far as it is held
    if law in ("piecewise", "pacejka", "rolling"):
        end = at.jacobian @ step.velocity
        share = [abs(math.sin(math.radians(f.rollers))) for f in vehicle.frames if f.is_wheel]
        spin = share * vehicle.arrays.radius * step.velocity[5 + vehicle.arrays.wheel]
        dz = at.height_error + 0.005 * end[:, 2]
        expected = LAWS[law].force(end, spin, dz, load=weight / vehicle.n_wheels)
        np.testing.assert_allclose(step.force, expected, rtol=0.0, atol=1e-7 * weight)
    # what is left is of the axles alone: motors, and of laws with rolling resistance the couple about them
    np.testing.assert_allclose(left[3:6], 0.0, rtol=0.0, atol=1e-8 * weight)
    if law not in ("rolling", "ishigami"):
        np.testing.assert_allclose(left[:3], 0.0, rtol=0.0, atol=1e-8 * weight)
        np.testing.assert_allclose(left[6:], step.torque, rtol=0.0, atol=1e-8 * weight)


@pytest.mark.parametrize("law", ["piecewise", "pacejka"])
@pytest.mark.parametrize("name", ["robotino", "mecanum"])
def test_driven_sideways_it_settles_at_the_velocity_of_kinematics(name, law):
    vehicle = gr.vehicle(name)
    drive = gr.drive.twist(0.1, 0.2, 0.3)
    run = gr.simulate(gr.Dynamics(vehicle, contact=LAWS[law]), PLANE, drive, duration=3.0, dt=0.01)
    assert run.status == "ok"
    np.testing.assert_allclose(
        run.velocity[-1, [3, 4, 2]], [0.1, 0.2, 0.3], rtol=0.0, atol=0.01
    )  # level ground, hardly any slip


@pytest.mark.parametrize("name", ["robotino", "mecanum"])
def test_energy_grows_by_the_work_of_motors_and_contacts(name):
    vehicle = gr.vehicle(name)
    missing = []
    for dt in (0.01, 0.005, 0.0025):
        model = gr.Dynamics(
            vehicle, contact=LAWS["rolling"], actuator=gr.actuation.PI(gain=2.0), tolerance=1e-10 * vehicle.mass * 9.81
        )
        run = gr.simulate(model, PLANE, gr.drive.twist(0.1, 0.2, 0.3), duration=2.0, dt=dt)
        motors = (run.torque[:-1] * run.velocity[1:, 6 + vehicle.arrays.actuated]).sum() * dt
        wheels = run.contact.power[:-1].sum() * dt
        energy = run.solver.kinetic + run.solver.potential
        missing.append(abs(motors + wheels - (energy[-1] - energy[0])))
        assert wheels < 0.0
    assert missing[2] < 0.35 * missing[0]
    assert missing[2] < 0.02 * motors


DERIVATIVES = """
import numpy as np
import grouser as gr
from grouser._kernels.dynamics import newton

worst = []
original = newton.newton_matrix

def checked(vehicle, model, dt, s, d):
    original(vehicle, model, dt, s, d)
    H = d.H.copy()
    n, (q, v) = model.free.size, checked.given
    for j in range(n):
        k = model.free[j]
        rows = []
        for sign in (1.0, -1.0):
            d.u[k] += sign * 1e-6
            newton.force_balance(vehicle, model, q, v, dt, s, d)
            rows.append(d.residual[model.free].copy())
            d.u[k] -= sign * 1e-6
        slope = (rows[0] - rows[1]) / 2e-6
        worst.append(np.abs(slope - H[:n, j]).max() / np.abs(H[:n, j]).max())
    newton.force_balance(vehicle, model, q, v, dt, s, d)
    original(vehicle, model, dt, s, d)

balance = newton.force_balance
def remembered(vehicle, model, q, v, dt, s, d):
    checked.given = (q.copy(), v.copy())
    return balance(vehicle, model, q, v, dt, s, d)

newton.newton_matrix = checked
newton.force_balance = remembered
plane = gr.terrain.plane()
for name in ("robotino", "mecanum"):
    vehicle = gr.vehicle(name)
    for law in (gr.contact.PiecewiseLinear(rolling_resistance=30.0), gr.contact.Pacejka()):
        model = gr.Dynamics(vehicle, contact=law, actuator=gr.actuation.PI(gain=2.0), max_iterations=2)
        state = gr.settle(vehicle, plane, penetration=model.penetration).state
        v = np.random.default_rng(2).uniform(-0.1, 0.1, 6 + vehicle.n_joints)
        model.step(state, v, np.linspace(1.0, 3.0, vehicle.n_wheels), plane, dt=0.01)
print(len(worst), max(worst))
"""


def test_the_newton_matrix_with_rollers_matches_differences():
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run([sys.executable, "-c", DERIVATIVES], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    count, worst = done.stdout.split()
    assert int(count) > 30
    assert float(worst) < 1e-6  # differences of 1e-6 in a smooth law: truncation 1e-12/v_c², rounding 1e-10
