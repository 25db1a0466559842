"""A run of the dynamics in files: everything comes back."""

import numpy as np

import grouser as gr


def test_a_dynamic_run_comes_back_exactly(tmp_path):
    model = gr.Dynamics(gr.vehicle("husky"), contact=gr.contact.Pacejka(), actuator=gr.actuation.PI(gain=50.0))
    run = gr.simulate(model, gr.terrain.slope(5.0), gr.drive.arc(0.5, 0.2), duration=0.4, dt=0.02)
    run.save(tmp_path / "run.npz")
    again = gr.Run.load(tmp_path / "run.npz")
    np.testing.assert_array_equal(again.contact.force, run.contact.force)
    np.testing.assert_array_equal(again.torque, run.torque)
    np.testing.assert_array_equal(again.power, run.power)
    np.testing.assert_array_equal(again.solver.kinetic, run.solver.kinetic)
    np.testing.assert_array_equal(again.state, run.state)
    assert again.halved_steps == run.halved_steps


def test_the_table_of_a_dynamic_run_has_forces_and_torques(tmp_path):
    model = gr.Dynamics(gr.vehicle("husky"))
    run = gr.simulate(model, gr.terrain.plane(), gr.drive.arc(0.5), duration=0.2, dt=0.02)
    run.to_csv(tmp_path / "run.csv")
    table = np.genfromtxt(tmp_path / "run.csv", delimiter=",", names=True)
    np.testing.assert_allclose(table["force_up_FL"], run.contact.force[:, 0, 2], rtol=1e-9)
    np.testing.assert_allclose(table["torque_BR"], run.torque[:, 3], rtol=0.0, atol=1e-9)
