"""Sprung joints: wheels keep to the ground, and the springs decide what it leaves open."""

import dataclasses
import math

import numpy as np
import pytest
from scipy.optimize import minimize

import grouser as gr
from grouser.collision import contacts
from grouser.kinematics import Weights, frame_poses, suspension
from grouser.vehicles import Frame

G = 9.81
LRU = gr.vehicle("lru1")
ROUGH = gr.terrain.rough(rms=0.05, length=1.0, seed=4, size=30.0)


def with_springs(vehicle, factor):
    """Springs `factor` times as stiff; None: rigid couplings."""
    changes = {"stiffness": None, "damping": None}
    return vehicle.replace(
        couplings=tuple(
            dataclasses.replace(c, **(changes if factor is None else {"stiffness": factor * c.stiffness}))
            for c in vehicle.couplings
        )
    )


@gr.terrain.law
def step_under_the_left(x, y, *, height=0.1):
    """A smooth step at y = 0 under the front wheels only."""
    t, u = math.tanh(8.0 * y), math.tanh(4.0 * x)
    up, ahead = 0.5 * (1.0 + t), 0.5 * (1.0 + u)
    return height * up * ahead, height * up * 2.0 * (1.0 - u * u), height * ahead * 4.0 * (1.0 - t * t)


def potential(vehicle, state):
    """Energy of weight and springs [J]."""
    R, p = frame_poses(vehicle, state)
    a = vehicle.arrays
    height = (p + np.einsum("fij,fj->fi", R, a.com))[:, 2]
    stretch = a.coupling @ state[7:] - a.coupling_value
    return G * a.mass @ height + 0.5 * np.array([c.stiffness for c in vehicle.couplings]) @ stretch**2


def least_energy(vehicle, ground, start):
    """The state of least energy with all wheels on the ground, at the same place and heading: SciPy's SLSQP."""
    yaw = gr.rotation.to_rpy(gr.rotation.from_quaternion(start[:4]))[2]
    free = 7 + suspension.suspension_of(vehicle).free

    def state(x):
        q = start.copy()
        q[:4] = gr.rotation.to_quaternion(gr.rotation.from_rpy(x[0], x[1], yaw))
        q[6], q[free] = x[2], x[3:]
        return q

    first = np.concatenate(([0.0, 0.0, start[6]], np.zeros(len(free))))
    touching = {"type": "eq", "fun": lambda x: contacts(vehicle, state(x), ground).height_error}
    found = minimize(
        lambda x: potential(vehicle, state(x)), first, method="SLSQP", constraints=touching,
        options={"ftol": 1e-14, "maxiter": 300},
    )  # fmt: skip
    assert found.success, found.message
    return state(found.x)


GROUNDS = {
    "slope": gr.terrain.slope(15.0, heading_deg=90.0),
    "across": gr.terrain.slope(12.0, heading_deg=50.0),
    "step": step_under_the_left,
}


@pytest.mark.parametrize("ground", GROUNDS.values(), ids=GROUNDS)
def test_a_settled_vehicle_has_the_least_energy_of_weight_and_springs(ground, monkeypatch):
    """LRU's body turns on its bogies without moving the wheels, so friction has no part in it."""
    settled = gr.settle(LRU, ground)
    assert settled.converged
    assert not settled.off_ground
    exact = least_energy(LRU, ground, settled.state)
    # The springs push less than a fifth of a wheel's share of the weight, which is worth 1 mm.
    assert np.abs(settled.height_error).max() < 0.2e-3
    bogies = [7 + LRU.joint_index(name) for name in ("bogieF", "bogieB")]
    assert np.abs(exact[bogies]).max() > 0.02
    np.testing.assert_allclose(settled.state[bogies], exact[bogies], rtol=0.0, atol=0.4e-3 / 0.293)
    # With harder contacts it is the same minimum, to what differences of the energy can tell.
    monkeypatch.setattr(suspension, "CONTACT_GIVE", 1e-6)
    hard = gr.settle(LRU.replace(description="hard contacts"), ground)
    np.testing.assert_allclose(hard.state, exact, rtol=0.0, atol=2e-5)


def test_crusher_on_level_ground_has_the_least_energy():
    crusher, ground = gr.vehicle("crusher"), gr.terrain.plane()
    settled = gr.settle(crusher, ground)
    np.testing.assert_allclose(settled.state, least_energy(crusher, ground, settled.state), rtol=0.0, atol=2e-4)
    # It sags from its natural angle to nearly level links, 0.45 m clear.
    assert settled.state[6] == pytest.approx(0.45, abs=0.02)


@pytest.mark.parametrize("name", ["lru1", "recbot", "crusher"])
@pytest.mark.parametrize("heading", [90.0, 35.0])
def test_a_settled_vehicle_stands_as_the_dynamic_one_parked_there(name, heading):
    """Friction holds the contacts, so that a slope leans a vehicle about them, not about its body frame."""
    vehicle, ground = gr.vehicle(name), gr.terrain.slope(15.0, heading_deg=heading)
    stiff = vehicle.mass * G / (vehicle.n_wheels * 1e-3)  # wheels sink by 1 mm
    model = gr.Dynamics(vehicle, contact=gr.contact.Pacejka(stiffness=stiff, damping=0.05 * stiff))
    settled = gr.settle(vehicle, ground, penetration=1e-3).state
    run = gr.simulate(model, ground, np.zeros((1, len(vehicle.actuated))), duration=20.0, dt=0.01, start=settled)
    joints = 7 + suspension.suspension_of(vehicle).free
    lean = np.abs(settled[joints] - gr.settle(vehicle, gr.terrain.plane()).state[joints]).max()
    off = np.abs(run.state[-1, joints] - settled[joints]).max()
    print(f"\n{name}: springs move by {lean:.4f} on the slope, dynamics {off:.4f} from there")
    # 1 mm of contact, more below, less above, and friction that the wheels share unequally, as dynamics has it.
    assert off < 0.25 * lean + 1e-3


def test_the_wheels_of_a_sprung_vehicle_follow_the_ground():
    """What is left of height errors is what least squares trade for slip, as without springs."""
    worst = {}
    for label, vehicle in {"sprung": LRU, "free": LRU.replace(couplings=()), "rigid": with_springs(LRU, None)}.items():
        for normal in (1.0, 10.0):
            model = gr.Kinematics(vehicle, weights=Weights(normal=normal))
            run = gr.simulate(model, ROUGH, gr.drive.arc(0.5), duration=10.0, dt=0.02)
            worst[label, normal] = np.abs(run.contact.height_error[50:]).max()
    print({f"{k[0]}, weight {k[1]:g}": f"{1e3 * v:.2f} mm" for k, v in worst.items()})
    assert worst["rigid", 1.0] > 0.01
    assert worst["sprung", 1.0] < 1.1 * worst["free", 1.0] < 2e-3
    assert worst["sprung", 10.0] < 0.6e-3


def test_a_very_stiff_spring_is_a_rigid_coupling():
    """To the order of contact stiffness over spring stiffness, settled and driven."""
    rigid = with_springs(LRU, None)
    K = LRU.mass * G / (4 * suspension.CONTACT_GIVE)
    start = gr.settle(rigid, ROUGH, x=1.0, y=0.5, yaw=0.3).state
    drive = {"drive": gr.drive.arc(0.4, 0.1), "duration": 3.0, "dt": 0.02, "start": start}
    held = gr.simulate(gr.Kinematics(rigid), ROUGH, **drive)
    off = []
    for factor in (1e5, 1e6, 1e7):
        stiff = with_springs(LRU, factor)
        settled = gr.settle(stiff, ROUGH, x=1.0, y=0.5, yaw=0.3).state
        run = gr.simulate(gr.Kinematics(stiff), ROUGH, **drive)
        off.append([np.abs(settled - start).max(), np.abs(run.state - held.state).max()])
        assert np.max(off[-1]) < K / (factor * 70.0)
    ratio = np.array(off[:-1]) / off[1:]
    np.testing.assert_allclose(ratio, 10.0, rtol=0.15)


def test_a_spring_without_stiffness_is_a_free_joint():
    drive = {"drive": gr.drive.arc(0.4, 0.1), "duration": 3.0, "dt": 0.02}
    runs = [gr.simulate(gr.Kinematics(v), ROUGH, **drive) for v in (with_springs(LRU, 0.0), LRU.replace(couplings=()))]
    np.testing.assert_allclose(runs[0].state, runs[1].state, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("name", ["lru1", "recbot", "crusher"])
def test_a_settled_vehicle_stays_where_it_is(name):
    vehicle, ground = gr.vehicle(name), gr.terrain.slope(15.0, heading_deg=35.0)
    run = gr.simulate(gr.Kinematics(vehicle), ground, np.zeros((1, len(vehicle.actuated))), duration=5.0, dt=0.05)
    np.testing.assert_allclose(run.state, np.broadcast_to(run.state[0], run.state.shape), rtol=0.0, atol=1e-9)


def test_a_body_that_is_let_go_returns_as_fast_as_springs_and_weight_allow():
    """The body's weight above the bogies works against two springs: d/dt of the angle is −σ (1 − m g h / 2 k)."""
    ground, tau = gr.terrain.plane(), 0.2
    start = gr.settle(LRU, ground).state
    start[:4] = gr.rotation.to_quaternion(gr.rotation.from_rpy(0.01, 0.0, 0.0))
    bogies = [7 + LRU.joint_index(name) for name in ("bogieF", "bogieB")]
    start[bogies] = -0.01
    model = gr.Kinematics(LRU, time_constant=tau, integrator="rk4")
    run = gr.simulate(model, ground, np.zeros((1, 8)), duration=1.0, dt=0.01, start=start)
    rate = (1.0 - 36.0 * G * 0.05 / 140.0) / tau
    np.testing.assert_allclose(run.state[:, bogies[0]], -0.01 * np.exp(-rate * run.time), rtol=0.0, atol=2e-6)
    np.testing.assert_allclose(run.state[:, bogies[1]], run.state[:, bogies[0]], rtol=0.0, atol=1e-12)


def test_without_gravity_springs_return_to_their_natural_length():
    crusher = gr.vehicle("crusher")
    model = gr.Kinematics(crusher, gravity=0.0)
    run = gr.simulate(model, gr.terrain.plane(), np.zeros((1, 6)), duration=60.0, dt=0.1)
    links = run.joints[-1] @ crusher.arrays.coupling.T
    np.testing.assert_allclose(links, crusher.arrays.coupling_value, rtol=0.0, atol=1e-4)


def test_springs_too_weak_to_hold_the_body_up_are_reported():
    weak = with_springs(LRU, 0.1)  # 14 N m/rad against 17.7 of the body's weight
    assert not gr.settle(weak, gr.terrain.slope(5.0, heading_deg=90.0)).converged


def test_a_joint_that_nothing_holds_leaves_the_springs_their_load():
    """A pendulum on the body: its own angle is open, and the springs carry its weight all the same."""
    recbot = gr.vehicle("recbot")
    loaded = recbot.replace(frames=(*recbot.frames, Frame("arm", "body", "RY", xyz=(1.77, 0, 0), mass=100.0)))
    plain, more = (gr.settle(v, gr.terrain.plane()) for v in (recbot, loaded))
    assert more.converged
    j = 7 + recbot.joint_index("suspL")
    assert more.state[j] - plain.state[j] == pytest.approx(50.0 * G / 52000.0, rel=0.01)
