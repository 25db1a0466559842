"""Where in a step the contacts are found: at its beginning (Euler, T (2.85), (2.86)) or in its middle."""

import numpy as np
import pytest

import grouser as gr
from grouser.collision import contacts
from grouser.errors import SimulationError

ZOE = gr.vehicle("zoe")
ROUGH = [gr.terrain.rough(0.12, 0.8, seed) for seed in (1, 2, 3)]


def drive(ground, dt, integrator, **model):
    run = gr.simulate(gr.Dynamics(ZOE, integrator=integrator, **model), ground, gr.drive.arc(1.0), duration=4.0, dt=dt)
    assert run.status == "ok"
    return run


def test_both_converge_to_one_path_and_in_the_middle_the_error_is_a_fraction():
    errors = {"euler": [], "midpoint": []}
    for ground in ROUGH:
        ends = {name: drive(ground, 0.001, name).position[-1] for name in errors}
        assert np.linalg.norm(ends["euler"] - ends["midpoint"]) < 1e-3
        for name, of in errors.items():
            of.append(np.linalg.norm(drive(ground, 0.1, name).position[-1] - ends["midpoint"]))
    print({name: np.round(of, 4) for name, of in errors.items()})
    assert np.mean(errors["midpoint"]) < 0.6 * np.mean(errors["euler"])


@pytest.mark.parametrize("integrator", ["euler", "midpoint"])
def test_the_record_holds_the_contacts_of_its_states(integrator):
    run = drive(ROUGH[0], 0.1, integrator)
    for k in (0, 7, len(run.time) - 1):
        here = contacts(ZOE, run.state[k], ROUGH[0])
        np.testing.assert_allclose(run.contact.height_error[k], here.height_error, rtol=0.0, atol=1e-12)
        np.testing.assert_allclose(run.contact.velocity[k], here.jacobian @ run.velocity[k], rtol=0.0, atol=1e-12)


def test_what_is_recorded_does_not_move_the_vehicle():
    model, arc = gr.Dynamics(ZOE, integrator="midpoint"), gr.drive.arc(1.0)
    all_rows, few = (gr.simulate(model, ROUGH[0], arc, duration=2.0, dt=0.1, every=every) for every in (1, 20))
    np.testing.assert_array_equal(all_rows.state[-1], few.state[-1])


def test_free_swinging_in_a_bowl_is_damped_by_the_middle_to_the_order_of_the_step():
    """Forces half a step late are a damping of K dt/2: with lateral frequency ω energy falls by ω² dt/2 per second."""
    vehicle = gr.vehicle("husky")
    curvature = 0.04
    bowl = gr.terrain.law(lambda x, y: 0.02 * (x * x + y * y))
    start = gr.settle(vehicle, bowl, x=3.0, y=0.0, yaw=0.0, penetration=0.02).state
    lost = {}
    for dt in (0.04, 0.02, 0.01):
        model = gr.Dynamics(vehicle, actuator=gr.actuation.PI(gain=0.0), integrator="midpoint")
        run = gr.simulate(
            model, bowl, gr.drive.constant(0.0), duration=20.0, dt=dt, start=start, velocity=np.zeros(6 + 4)
        )
        energy = run.solver.kinetic + run.solver.potential
        swing = np.ptp(run.solver.potential)
        lost[dt] = (energy[0] - energy[-1]) / swing
        assert energy.max() < energy[0] + 1e-3 * swing
    print(lost)
    assert lost[0.04] / lost[0.02] == pytest.approx(2.0, abs=0.3)
    assert lost[0.02] / lost[0.01] == pytest.approx(2.0, abs=0.3)
    assert lost[0.01] == pytest.approx(curvature * 9.81 * 0.01 / 2.0 * 20.0, rel=0.3)


def test_an_unknown_integrator_is_refused():
    with pytest.raises(SimulationError, match="integrator: 'rk4' is not one of euler, midpoint"):
        gr.Dynamics(ZOE, integrator="rk4")
