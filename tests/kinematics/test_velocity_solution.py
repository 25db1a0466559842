"""The constrained velocity is the weighted least-squares solution, of smallest norm where that leaves a choice."""

import numpy as np
import pytest

import grouser as gr
from grouser.kinematics import Weights
from grouser.vehicles import Frame, Vehicle
from tests.oracles.spring_loads import coupling_weights, spring_sag

ROUGH = gr.terrain.rough(0.08, 1.0, 3, size=24.0)


def zero_trail():
    """Two driven wheels and a castor whose fork stands right above its contact: turning it changes nothing."""
    return Vehicle(
        "zero trail",
        (
            Frame("body", mass=10.0),
            Frame("left", "body", "RY", True, xyz=(0, 0.3, 0), radius=0.2, mass=1.0),
            Frame("right", "body", "RY", True, xyz=(0, -0.3, 0), radius=0.2, mass=1.0),
            Frame("fork", "body", "RZ", xyz=(-0.6, 0, 0), mass=0.1),
            Frame("castor", "fork", "RY", xyz=(0, 0, -0.1), radius=0.1, mass=0.5),
        ),
    )


def two_wheels():
    """A balancing robot: nothing says how fast it pitches, except by rolling."""
    return Vehicle(
        "balancing",
        (
            Frame("body", mass=10.0, com=(0, 0, 0.5)),
            Frame("left", "body", "RY", True, xyz=(0, 0.3, 0), radius=0.2, mass=1.0),
            Frame("right", "body", "RY", True, xyz=(0, -0.3, 0), radius=0.2, mass=1.0),
        ),
    )


VEHICLES = [*(gr.vehicle(n) for n in gr.vehicles.names()), zero_trail(), two_wheels()]
every_vehicle = pytest.mark.parametrize("vehicle", VEHICLES, ids=lambda v: v.name)


def constraint_system(model, q, velocity):
    """A and the wanted right side of T (2.34)–(2.36), from the contacts the engine found."""
    vehicle, c = model.vehicle, velocity.contacts
    nw, nv = vehicle.n_wheels, 6 + vehicle.n_joints
    coupling = np.hstack([np.zeros((len(vehicle.couplings), 6)), vehicle.arrays.coupling])
    A = np.vstack([c.jacobian.reshape(3 * nw, nv), coupling])
    wanted = np.zeros((nw, 3))
    wanted[:, 2] = -(c.height_error + model.penetration) / model.time_constant
    sag = spring_sag(vehicle, q, c)
    joint_error = vehicle.arrays.coupling @ q[7:] - vehicle.arrays.coupling_value - sag
    w = model.weights
    weight = np.concatenate(
        [np.tile([w.longitudinal, w.lateral, w.normal], nw), w.coupling * coupling_weights(vehicle)]
    )
    return A, np.concatenate([wanted.ravel(), -joint_error / model.time_constant]), weight


def reference(A, b, weight, known, value):
    """NumPy's least squares (SVD) with the known entries moved to the right, T (2.37), (2.38)."""
    unknown = np.setdiff1d(np.arange(A.shape[1]), known)
    out = np.zeros(A.shape[1])
    out[known] = value
    W = weight[:, None]
    out[unknown], _, rank, _ = np.linalg.lstsq(W * A[:, unknown], weight * (b - A[:, known] @ value), rcond=1e-9)
    return out, rank


def bent(vehicle, rng):
    """On rough ground, then moved off the constraints in every coordinate."""
    q = gr.settle(vehicle, ROUGH, x=rng.uniform(-3, 3), y=rng.uniform(-3, 3), yaw=rng.uniform(-3, 3)).state
    q[:4] += rng.uniform(-0.03, 0.03, 4)
    q[:4] /= np.linalg.norm(q[:4])
    q[6] += rng.uniform(-0.02, 0.02)
    q[7:] += rng.uniform(-0.05, 0.05, vehicle.n_joints)
    return q


@every_vehicle
@pytest.mark.parametrize("weights", [Weights(), Weights(longitudinal=0.3, lateral=2.0, normal=5.0, coupling=7.0)])
def test_the_velocity_is_numpys_weighted_least_squares(vehicle, weights):
    model = gr.Kinematics(vehicle, weights=weights, time_constant=0.2, penetration=0.01)
    rng = np.random.default_rng(4)
    for _ in range(10):
        q = bent(vehicle, rng)
        command = rng.uniform(-2, 2, len(vehicle.actuated))
        solved = model.velocity(q, command, ROUGH)
        A, b, weight = constraint_system(model, q, solved)
        wanted, rank = reference(A, b, weight, 6 + vehicle.arrays.actuated, command)
        wanted[5 + vehicle.arrays.wheel] = wanted[5 + vehicle.arrays.leader]  # what turns with another has its rate
        assert solved.rank == rank
        # Normal equations down to a pivot of 1e-4, below a QR: 1e-16 times 1e4, or times a condition of up to 1e5.
        np.testing.assert_allclose(solved.value, wanted, rtol=1e-9, atol=1e-9 * np.abs(wanted).max())
        np.testing.assert_allclose(
            solved.contact_velocity, solved.contacts.jacobian @ solved.value, rtol=0.0, atol=1e-12
        )


@pytest.mark.parametrize("make", [zero_trail, two_wheels])
def test_a_velocity_the_constraints_leave_open_is_reported_and_taken_smallest(make):
    vehicle = make()
    model = gr.Kinematics(vehicle, time_constant=0.1)
    q = gr.settle(vehicle, gr.terrain.plane()).state
    solved = model.velocity(q, np.array([1.0, 2.0]), gr.terrain.plane())
    assert solved.deficient
    assert solved.rank == solved.unknowns - 1
    A, b, _weight = constraint_system(model, q, solved)
    known = 6 + vehicle.arrays.actuated
    unknown = np.setdiff1d(np.arange(A.shape[1]), known)
    smallest = np.linalg.pinv(A[:, unknown], rcond=1e-9) @ (b - A[:, known] @ [1.0, 2.0])
    np.testing.assert_allclose(solved.value[unknown], smallest, rtol=0.0, atol=1e-12)
    run = gr.simulate(model, gr.terrain.plane(), gr.drive.constant([1.0, 2.0]), duration=2.0)
    assert run.status == "ok"
    assert np.isfinite(run.state).all()
    assert run.deficient_steps > 0


def test_a_fork_without_trail_stands_still_while_the_unicycle_below_it_drives():
    vehicle = zero_trail()
    model = gr.Kinematics(vehicle)
    run = gr.simulate(model, gr.terrain.plane(), gr.drive.constant([3.0, 3.0]), duration=2.0)
    np.testing.assert_allclose(run.joint("fork"), 0.0, rtol=0.0, atol=1e-12)
    assert run.position[-1, 0] == pytest.approx(0.2 * 3.0 * 2.0, abs=1e-9)


@pytest.mark.parametrize("yaw", [0.1, 0.9, 2.0])
def test_a_fork_without_trail_stands_still_in_a_turn_at_any_heading(yaw):
    vehicle = zero_trail()
    state = gr.settle(vehicle, gr.terrain.plane(), yaw=yaw).state
    state[7 + vehicle.joint_index("fork")] = 0.2
    solved = gr.Kinematics(vehicle).velocity(state, [1.0, 2.0], gr.terrain.plane())
    assert solved.deficient
    assert abs(solved.value[6 + vehicle.joint_index("fork")]) < 1e-9


def test_a_sound_vehicle_is_not_called_deficient():
    run = gr.simulate(gr.Kinematics(gr.vehicle("zoe")), ROUGH, gr.drive.arc(0.5), duration=4.0)
    assert run.deficient_steps == 0
    assert not gr.Kinematics(gr.vehicle("zoe")).velocity(run.state[0], np.ones(4), ROUGH).deficient


@every_vehicle
@pytest.mark.parametrize("gyro", [False, True])
def test_measured_joint_rates_give_back_the_bodys_velocity(vehicle, gyro):
    """Estimation is the inverse of prediction: fixing some entries at their optimum does not move the others."""
    model = gr.Kinematics(vehicle, time_constant=0.2)
    rng = np.random.default_rng(5)
    for _ in range(5):
        q = bent(vehicle, rng)
        truth = model.velocity(q, rng.uniform(-2, 2, len(vehicle.actuated)), ROUGH).value
        estimate = model.estimate(q, truth[6:], ROUGH, gyro=truth[:3] if gyro else None)
        size = np.abs(truth).max()
        np.testing.assert_allclose(estimate.value, truth, rtol=0.0, atol=1e-8 * size)
        if not gyro:
            rates = truth[6:].copy()
            passive = [j for j in range(vehicle.n_joints) if j not in vehicle.arrays.actuated]
            rates[passive] = np.nan  # encoders on the motors only: prediction again
            np.testing.assert_allclose(model.estimate(q, rates, ROUGH).value, truth, rtol=0.0, atol=1e-8 * size)


def test_a_gyro_is_believed_over_the_wheels():
    """Skidding Husky: the wheels say 0.4 of the turn the gyro sees, and the answer keeps the gyro's."""
    vehicle = gr.vehicle("husky")
    q = gr.settle(vehicle, gr.terrain.plane()).state
    rates = np.array([1.0, 2.0, 1.0, 2.0])
    model = gr.Kinematics(vehicle)
    with_gyro = model.estimate(q, rates, gr.terrain.plane(), gyro=[0.0, 0.0, 0.1])
    without = model.estimate(q, rates, gr.terrain.plane())
    assert with_gyro.value[2] == 0.1
    assert without.value[2] == pytest.approx(0.165 * 4 * 0.275 / 2 / (4 * (0.256**2 + 0.275**2)), abs=1e-9)
    assert with_gyro.value[3] == pytest.approx(0.165 * 1.5, abs=1e-9)


def test_contact_angles_stand_in_for_the_ground():
    """T §2.2.1: on a slope of 10°, angles of −10° in a level carrier describe the same motion as the ground does."""
    vehicle, slope = gr.vehicle("zoe"), gr.terrain.slope(10.0)
    model = gr.Kinematics(vehicle)
    q = gr.settle(vehicle, slope).state
    on_ground = model.velocity(q, np.full(4, 2.0), slope)
    np.testing.assert_allclose(on_ground.contacts.angle, 0.0, rtol=0.0, atol=1e-9)  # the body tilts with the slope
    given = model.velocity(q, np.full(4, 2.0), angles=on_ground.contacts.angle)
    np.testing.assert_allclose(given.value, on_ground.value, rtol=0.0, atol=1e-9)
    # Climbing a step of unknown shape: contacts 0.3 rad ahead, so the body rises as it advances.
    rising = model.velocity(q, np.full(4, 2.0), angles=np.full(4, -0.3))
    assert rising.value[5] == pytest.approx(np.tan(0.3) * rising.value[3], abs=1e-9)
    assert np.hypot(rising.value[3], rising.value[5]) == pytest.approx(0.325 * 2.0, abs=1e-9)


def test_every_step_whose_constraints_leave_a_velocity_open_is_counted():
    """Nothing determines the turn rate of a body on one wheel: each of its 25 steps, in a run and in a batch."""
    frames = (Frame("body", mass=10.0), Frame("wheel", "body", "RY", True, radius=0.3, mass=1.0))
    model, ground = gr.Kinematics(Vehicle("one wheel", frames)), gr.terrain.plane()
    run = gr.simulate(model, ground, gr.drive.constant(1.0), duration=1.0, dt=0.04)
    assert (run.steps, run.deficient_steps) == (25, 25)
    many = gr.rollout(model, ground, np.ones((3, 25, 1)), start=run.state[0], dt=0.04)
    assert many.deficient.tolist() == [25, 25, 25]
