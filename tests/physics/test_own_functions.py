"""A researcher's own laws: what is wrong with one is said when it is made, in words, and never read from memory."""

import math

import numpy as np
import pytest

import grouser as gr
from grouser.errors import SimulationError

HUSKY = gr.vehicle("husky")


def contact(function, jacobian=None):
    return gr.contact.model(parameters=[1e4, 2.0], jacobian=jacobian)(function)


def actuated(function):
    return gr.Dynamics(HUSKY, actuator=gr.actuation.model(function, [1.0]))


def driven(function):
    return gr.simulate(gr.Kinematics(HUSKY), gr.terrain.plane(), gr.drive.compiled(function), duration=0.04)


WRONG = {
    "contact arguments": (
        lambda: contact(lambda v, dz: (0.0, 0.0, 1.0)),
        r"it takes \(v, dz\), and must take \(p, v, r_omega, dz\)",
    ),
    "two forces": (lambda: contact(lambda p, v, r_omega, dz: (0.0, 1.0)), "it returns 2 values; it must return"),
    "one force": (lambda: contact(lambda p, v, r_omega, dz: 1.0), "it returns a float; it must return the three"),
    "no force": (lambda: contact(lambda p, v, r_omega, dz: None), "it returns nothing; it must return the three"),
    "parameter that is not there": (
        lambda: contact(lambda p, v, r_omega, dz: (p[7], 0.0, -dz)),
        "reaches beyond the end of an array: index 7",
    ),
    "jacobian arguments": (
        lambda: contact(lambda p, v, r_omega, dz: (0.0, 0.0, -p[0] * dz), lambda p, v, J: None),
        r"it takes \(p, v, J\), and must take \(p, v, r_omega, dz, J\)",
    ),
    "slip arguments": (lambda: gr.slip.function(lambda p, v: None), r"must take \(p, omega, v, f, slip\)"),
    "slip that is returned": (
        lambda: gr.slip.function(lambda p, omega, v, f, slip: (0.0, 0.0, 0.1)),
        "returns something and writes nothing; it must write slip",
    ),
    "slip parameter": (lambda: gr.slip.function(_far_slip, [0.1]), "reaches beyond the end of an array: index 3"),
    "slip entry": (lambda: gr.slip.function(_wide_slip, [0.1]), "reaches beyond the end of an array: index 9"),
    "slip that does not compile": (lambda: gr.slip.function(_undefined_slip), "does not compile: .*nothing_here"),
    "actuator arguments": (lambda: actuated(lambda p, command: None), r"must take \(p, command, rate, angle, torque\)"),
    "actuator entry": (lambda: actuated(_wide_torque), "reaches beyond the end of an array: index 4"),
    "torque that is returned": (lambda: actuated(lambda p, command, rate, angle, torque: rate), "it must write torque"),
    "drive arguments": (lambda: driven(lambda t, command: None), r"must take \(t, state, velocity, command\)"),
    "drive entry": (lambda: driven(_wide_drive), "reaches beyond the end of an array: index 4"),
}


def _far_slip(p, omega, v, f, slip):
    slip[3] = -p[3] * v[0]


def _wide_slip(p, omega, v, f, slip):
    slip[9] = 1.0


def _undefined_slip(p, omega, v, f, slip):
    slip[3] = nothing_here  # noqa: F821


def _wide_torque(p, command, rate, angle, torque):
    torque[4] = 1.0


def _wide_drive(t, state, velocity, command):
    command[4] = 1.0


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_function_is_refused_in_one_sentence(name):
    make, said = WRONG[name]
    with pytest.raises(SimulationError, match=said) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_a_law_that_divides_by_zero_in_python_is_still_made():
    # Compiled code gives infinity there, and in Python the trial raises: that is no reason to refuse the law.
    law = contact(lambda p, v, r_omega, dz: (-v[0] / (v[2] * 1.0), 0.0, -p[0] * dz))
    assert law.force([0.1, 0.0, 0.5], 1.0, -0.01)[0] == pytest.approx(-0.2)


def test_a_law_that_is_not_a_number_ends_its_rollout_alone():
    # Not a number where a wheel slips by more than 0.3 m/s, so only the rollout that spins its wheels meets it.
    @gr.contact.model(parameters=[2e4, 1e3, 0.8])
    def fragile(p, v, r_omega, dz):
        f_z = max(-p[0] * dz - p[1] * min(1.0, -dz / 0.002) * v[2], 0.0)
        speed = math.sqrt(v[0] ** 2 + v[1] ** 2 + 1e-4)
        grip = p[2] * f_z / speed if speed < 0.3 else math.nan
        return -grip * v[0], -grip * v[1], f_z

    model = gr.Dynamics(HUSKY, contact=fragile)
    commands = np.full((3, 20, 4), 2.0)
    commands[1, 8:] = 60.0
    many = gr.rollout(model, gr.terrain.plane(), commands, velocity=np.r_[0, 0, 0, 0.33, 0, 0, 2, 2, 2, 2])
    assert many.ok.tolist() == [True, False, True]
    assert many.steps[1] == 8
    assert np.isfinite(many.final_state).all()
    without = gr.rollout(model, gr.terrain.plane(), commands[::2], velocity=np.r_[0, 0, 0, 0.33, 0, 0, 2, 2, 2, 2])
    assert many.final_state[::2].tobytes() == without.final_state.tobytes()
