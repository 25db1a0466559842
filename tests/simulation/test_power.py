"""Power is work over the step: its integral is the energy that machines gained, and what the ground took."""

from __future__ import annotations

import numpy as np
import pytest

import grouser as gr
from grouser.vehicles import Frame, Vehicle

DT, G = 0.01, 9.80665
INERTIA = 0.05
HEAVY = 1e9
"""Inertia of a body that a motor cannot turn [kg m²]."""


def spinner():
    """Two wheels on a body that does not turn."""
    wheel = {"parent": "body", "joint": "RY", "actuated": True, "radius": 0.2, "mass": 1.0}
    inertia = np.diag([INERTIA] * 3).tolist()
    return Vehicle(
        "spinner",
        (
            Frame("body", mass=10.0, inertia=np.diag([HEAVY] * 3).tolist()),
            Frame("left", xyz=(0.0, 0.3, 0.0), inertia=inertia, **wheel),
            Frame("right", xyz=(0.0, -0.3, 0.0), inertia=inertia, **wheel),
        ),
    )


@pytest.mark.parametrize("integrator", ["euler", "midpoint"])
@pytest.mark.parametrize("actuator", [gr.actuation.PI(gain=0.3), gr.actuation.PI(gain=0.3, integral=2.0), None])
def test_a_motor_that_spins_up_a_wheel_in_the_air_works_half_the_inertia_times_rate_squared(integrator, actuator):
    model = gr.Dynamics(spinner(), actuator=actuator, gravity=0.0, integrator=integrator)
    state = np.zeros(9)
    state[0], state[6] = 1.0, 5.0
    command = np.tile([8.0, -3.0], (100, 1))
    command[50:] = -4.0, 2.0  # it brakes and turns back: work is won back
    run = gr.simulate(model, gr.terrain.plane(), command, duration=1.0, dt=DT, start=state, velocity=np.zeros(8))
    work = DT * np.cumsum(run.power[:-1], axis=0)
    np.testing.assert_allclose(work, 0.5 * INERTIA * run.velocity[1:, 6:] ** 2, rtol=1e-7, atol=1e-9)
    # With the rate at the beginning of each step it would be much less at first.
    wrong = DT * np.cumsum(run.torque[:-1] * run.velocity[:-1, 6:], axis=0)
    assert abs(wrong[0, 0]) < 0.1 * work[0, 0]


def lifter():
    """A cart that lifts a mass of 5 kg on a rod."""
    wheel = {"parent": "body", "joint": "RY", "actuated": True, "radius": 0.2, "mass": 1.0}
    inertia = np.diag([0.02] * 3).tolist()
    places = {"FL": (0.4, 0.3, 0.0), "FR": (0.4, -0.3, 0.0), "BL": (-0.4, 0.3, 0.0), "BR": (-0.4, -0.3, 0.0)}
    return Vehicle(
        "lifter",
        (
            Frame("body", mass=20.0, inertia=np.diag([1.0] * 3).tolist()),
            *(Frame(name, xyz=xyz, inertia=inertia, **wheel) for name, xyz in places.items()),
            Frame("lift", "body", "PZ", True, xyz=(0.0, 0.0, 0.3), mass=5.0, inertia=np.diag([0.01] * 3).tolist()),
        ),
    )


@pytest.mark.parametrize("actuator", [None, gr.actuation.PI(gain=5e3)], ids=["exact rates", "PI"])
def test_a_mass_that_is_lifted_gains_what_its_motor_worked(actuator):
    robot = lifter()
    model = gr.Dynamics(robot, actuator=actuator)
    rates = np.zeros((200, 5))
    rates[20:150, robot.actuated.index("lift")] = 0.4  # m/s
    nv = 6 + robot.n_joints
    run = gr.simulate(model, gr.terrain.plane(), rates, duration=2.0, dt=DT, velocity=np.zeros(nv))
    work = DT * run.power[:-1, robot.actuated.index("lift")].sum()
    height = run.joint("lift")[-1]
    assert height == pytest.approx(0.4 * 1.3, abs=0.03)  # a gain without an integral gives way to the load
    # The tyres give by less than a millimetre under the change of load, and take some of the jerk.
    assert work == pytest.approx(5.0 * G * height, rel=0.02)
    energy = run.solver.kinetic + run.solver.potential
    assert work == pytest.approx(energy[-1] - energy[0], rel=0.02)


def test_what_motors_give_and_the_ground_takes_is_what_the_vehicle_gains():
    """Up and down on rough ground, with slip: ∫(motors + ground) dt = ΔE, to the order of the method."""
    husky = gr.vehicle("husky")
    motors = gr.actuation.PI(gain=20.0, limit=25.0)
    model = gr.Dynamics(husky, contact=gr.contact.Pacejka(friction=0.6), actuator=motors)
    ground = gr.terrain.rough(rms=0.05, length=0.8, seed=4)

    def off(dt):
        run = gr.simulate(model, ground, gr.drive.arc(1.0, 0.3), duration=4.0, dt=dt, velocity=np.zeros(10))
        motors, taken = dt * run.power[:-1].sum(), dt * run.contact.power[:-1].sum()
        gained = (run.solver.kinetic + run.solver.potential)[-1] - (run.solver.kinetic + run.solver.potential)[0]
        assert run.summary()["energy"] >= motors
        return (motors + taken - gained) / motors

    coarse, fine = abs(off(0.02)), abs(off(0.005))
    assert coarse < 0.05
    assert fine < 0.015
