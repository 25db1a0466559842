"""Models that are pickled, or copied, hold no address of the process or the object they came from."""

import copy
import gc
import pickle
import subprocess
import sys

import numpy as np
import pytest

import grouser as gr
from grouser.errors import GrouserError

HUSKY = gr.vehicle("husky")
SLIP = gr.slip.BodySlip([-0.2, -0.03, -0.3, 0.01, 0.0, -0.4])
MODELS = {
    "enhanced": gr.Kinematics(HUSKY, slip=SLIP),
    "crab": gr.Kinematics(HUSKY, slip=gr.slip.DriveFrameSlip([-0.2, -0.03, -0.3, 0.01, 0.0, -0.4, -0.1])),
    "dynamic": gr.Dynamics(HUSKY, contact=gr.contact.Pacejka(friction=0.5), actuator=gr.actuation.PI(gain=300.0)),
    "by wheel": gr.Dynamics(HUSKY, contact=dict.fromkeys(HUSKY.wheels, gr.contact.PiecewiseLinear(friction=0.4))),
}
GROUND = gr.terrain.slope(deg=6.0, heading_deg=50.0)


def end(model):
    return gr.simulate(model, GROUND, gr.drive.arc(0.5, 0.3), duration=0.4).state[-1]


def addresses(model):
    if isinstance(model, gr.Dynamics):
        return {law.par_address for laws in model._laws.values() for law in laws}
    return {model.arrays().slip_par}


@pytest.mark.parametrize("name", MODELS)
def test_a_copy_has_parameters_of_its_own_and_moves_alike(name):
    model = MODELS[name]
    wanted = end(model)
    again = pickle.loads(pickle.dumps(model))
    assert not addresses(again) & addresses(model)  # or it would read freed memory, or another process's
    np.testing.assert_array_equal(end(again), wanted)
    deep = copy.deepcopy(again)
    del again
    gc.collect()
    np.testing.assert_array_equal(end(deep), wanted)


def test_a_model_sent_to_another_process_moves_alike_there(tmp_path):
    model = MODELS["dynamic"]
    end(model)
    (tmp_path / "model").write_bytes(pickle.dumps((model, GROUND)))
    program = (
        "import pickle, sys, grouser as gr\n"
        "model, ground = pickle.load(open(sys.argv[1], 'rb'))\n"
        "run = gr.simulate(model, ground, gr.drive.arc(0.5, 0.3), duration=0.4)\n"
        "print(run.state[-1].tobytes().hex())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "model")], capture_output=True, text=True, check=True
    )
    assert bytes.fromhex(done.stdout.strip()) == end(model).tobytes()


def test_an_odometry_is_saved_and_goes_on_after_its_original_is_gone():
    rates = [3.0, 4.0, 3.0, 4.0]

    def drive(odometry, first, last):
        for k in range(first, last):
            found = odometry.update(0.05 * k, rates, attitude=(0.1, -0.05))
        return found

    for given in ({}, {"contact_angles": gr.terrain.slope(deg=5.0)}):
        odometry = gr.Odometry(gr.Kinematics(HUSKY, slip=gr.slip.BodySlip(SLIP.coefficients.copy())), **given)
        drive(odometry, 0, 10)
        saved = pickle.dumps(odometry)
        fork = copy.deepcopy(odometry)
        wanted = drive(odometry, 10, 20)
        assert fork.estimate.time == pytest.approx(0.45)  # they share nothing
        del odometry
        gc.collect()
        np.full(10_000, np.nan)  # what was freed is likely overwritten
        for other in (fork, pickle.loads(saved)):
            found = drive(other, 10, 20)
            np.testing.assert_array_equal(found.position, wanted.position)
            np.testing.assert_array_equal(found.pose_covariance, wanted.pose_covariance)


def test_what_was_compiled_from_a_function_says_that_it_stays():
    def force(v, r_omega, dz):
        return -50.0 * v[0], -50.0 * v[1], -1e4 * dz

    def slip(omega, v, force):
        return 0.0, 0.0, 0.0, -0.1 * v[0], 0.0, 0.0

    def torque(command, rate, angle):
        return 100.0 * (command - rate)

    own = [
        gr.Dynamics(HUSKY, contact=gr.contact.law(force)),
        gr.Kinematics(HUSKY, slip=gr.slip.law(slip)),
        gr.Dynamics(HUSKY, actuator=gr.actuation.law(torque)),
        gr.Dynamics(HUSKY, joints=(gr.joints.law(lambda angle, rate: -rate).on("FL"),)),
    ]
    for model in own:
        with pytest.raises(GrouserError, match="cannot be pickled; make it again in the other process"):
            pickle.dumps(model)
        np.testing.assert_array_equal(end(copy.deepcopy(model)), end(model))
