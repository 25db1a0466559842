"""A researcher's own laws: what is wrong with one is said when it is made, in words, and never read from memory."""

import math

import numpy as np
import pytest

import grouser as gr
from grouser.errors import GrouserError, SimulationError, TerrainError

HUSKY = gr.vehicle("husky")
FLAT = gr.terrain.plane()


def contact(function, jacobian=None):
    return gr.contact.law(jacobian=jacobian)(function)


def actuated(function, **options):
    return gr.Dynamics(HUSKY, actuator=gr.actuation.law(**options)(function))


def driven(function):
    return gr.simulate(gr.Kinematics(HUSKY), FLAT, gr.drive.law(function), duration=0.04)


def flat_jacobian(v, dz):
    return np.zeros((3, 5))


def _undefined(omega, v, force):
    return nothing_here  # noqa: F821


def bounded(v, r_omega, dz, *, mu=gr.param(3.0, "1", low=0.0, high=2.0)):
    return 0.0, 0.0, -mu * dz


def spring(v, r_omega, dz, *, k=gr.param(1e4, "N/m", low=0.0)):
    return 0.0, 0.0, -k * dz


WRONG = {
    "contact arguments": (
        lambda: contact(lambda v, dz: (0.0, 0.0, 1.0)),
        r"takes \(v, dz\), and must take \(v, r_omega, dz\)",
    ),
    "any arguments": (lambda: contact(lambda *v: (0.0, 0.0, 1.0)), r"must take \(v, r_omega, dz\)"),
    "two forces": (lambda: contact(lambda v, r_omega, dz: (0.0, 1.0)), "returns 2 numbers; it must return"),
    "one force": (lambda: contact(lambda v, r_omega, dz: 1.0), r"returns 1 number; it must return \(f_x, f_y, f_z\)"),
    "no force": (lambda: contact(lambda v, r_omega, dz: None), "returns no numbers; it must return"),
    "words": (lambda: contact(lambda v, r_omega, dz: ("a", "b", "c")), "returns no numbers; it must return"),
    "entry that is not there": (
        lambda: contact(lambda v, r_omega, dz: (v[7], 0.0, -dz)),
        "reaches beyond the end of an array: index 7",
    ),
    "parameter without a value": (
        lambda: contact(lambda v, r_omega, dz, *, k: (0.0, 0.0, -k * dz)),
        "write k=gr.param",
    ),
    "parameter out of bounds": (lambda: contact(bounded), "mu: 3 is not between 0 and 2 1"),
    "value out of bounds": (lambda: contact(spring).replace(k=-1.0), "k: -1 is not between 0 and inf N/m"),
    "value no number": (lambda: contact(spring).replace(k="stiff"), "k: 'stiff' is not a number"),
    "parameter of another name": (lambda: contact(spring).replace(c=1.0), "has no parameter 'c'; it has k"),
    "no function": (lambda: gr.contact.law(3.0), "3.0 is not a Python function of"),
    "jacobian arguments": (lambda: contact(spring, flat_jacobian), r"contact law 'flat_jacobian' takes \(v, dz\)"),
    "jacobian parameter": (
        lambda: contact(spring, lambda v, r_omega, dz, *, c: np.zeros((3, 5))),
        "takes 'c', which the law does not have",
    ),
    "jacobian rows": (
        lambda: contact(spring, lambda v, r_omega, dz: np.zeros((2, 5))),
        "returns 10 numbers; it must return 15 or 20 derivatives",
    ),
    "jacobian without the torque": (
        lambda: contact(lambda v, r_omega, dz: (0.0, 0.0, -dz, 1.0), lambda v, r_omega, dz: np.zeros((3, 5))),
        "returns 15 numbers; it must return 20 derivatives",
    ),
    "slip arguments": (lambda: gr.slip.law(lambda v: None), r"must take \(omega, v, force\)"),
    "slip numbers": (lambda: gr.slip.law(lambda omega, v, force: (0.0, 0.1)), "returns 2 numbers; it must return six"),
    "slip entry": (lambda: gr.slip.law(lambda omega, v, force: (v[9],) * 6), "end of an array: index 9"),
    "slip that does not compile": (lambda: gr.slip.law(_undefined), "does not compile: .*nothing_here"),
    "slip applied": (lambda: gr.slip.law(apply="here")(lambda omega, v, force: (0.0,) * 6), "apply = 'here'"),
    "actuator arguments": (lambda: actuated(lambda command: command), r"must take \(command, rate, angle\)"),
    "actuator memory arguments": (
        lambda: actuated(lambda command, rate, angle: rate, memory=("integral",)),
        r"must take \(command, rate, angle, integral, dt\)",
    ),
    "actuator entry": (lambda: actuated(lambda command, rate, angle: rate + angle[4]), "end of an array: index 4"),
    "one torque": (lambda: actuated(lambda command, rate, angle: 1.0), "returns 1 number; it must return a torque for"),
    "no new memory": (
        lambda: actuated(lambda command, rate, angle, integral, dt: rate, memory=("integral",)),
        "returns 4 numbers; it must return a torque",
    ),
    "joint arguments": (lambda: gr.joints.law(lambda angle: 0.0), r"must take \(angle, rate\)"),
    "joint numbers": (
        lambda: gr.joints.law(lambda angle, rate: (0.0, 1.0)),
        "returns 2 numbers; it must return a force",
    ),
    "joint of nothing": (
        lambda: gr.Dynamics(HUSKY, joints=(gr.joints.law(lambda angle, rate: -rate),)),
        "acts on no joint; use .on",
    ),
    "drive arguments": (lambda: driven(lambda t: t), r"must take \(t, state, velocity\)"),
    "drive entry": (lambda: driven(lambda t, state, velocity: velocity[11:12]), "returns no numbers; it must return a"),
    "drive rates": (lambda: driven(lambda t, state, velocity: (1.0, 2.0)), "returns 2 numbers; it must return a rate"),
    "ground arguments": (lambda: gr.terrain.law(lambda x: x), r"must take \(x, y\)"),
    "ground numbers": (lambda: gr.terrain.law(lambda x, y: (x, y)), "returns 2 numbers; it must return a height"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_function_is_refused_in_one_sentence(name):
    make, said = WRONG[name]
    with pytest.raises(GrouserError, match=said) as caught:
        make()
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, TerrainError if name.startswith("ground") else SimulationError)


def test_a_law_that_divides_by_zero_in_python_is_still_made():
    # Compiled code gives infinity there, and in Python the trial raises: that is no reason to refuse the law.
    law = contact(lambda v, r_omega, dz, *, k=1e4: (-v[0] / (v[2] * 1.0), 0.0, -k * dz))
    assert law.force([0.1, 0.0, 0.5], 1.0, -0.01)[0] == pytest.approx(-0.2)


def test_parameters_have_names_units_and_bounds_and_are_replaced():
    law = contact(spring)
    assert law.parameters == (("k", 1e4, "N/m", 0.0, math.inf),)
    soft = law.replace(k=5e3)
    assert soft.law is law.law
    assert law.parameters[0].value == 1e4
    assert soft.force(np.zeros(3), 0.0, -0.01)[2] == pytest.approx(50.0)
    assert repr(soft) == "spring(k=5000.0)"

    @gr.terrain.law(bounds=(-1.0, 1.0, -1.0, 1.0))
    def dome(x, y, *, rise=gr.param(0.2, "m")):
        return rise * (1.0 - x * x - y * y)

    flat = dome.replace(rise=0.0)
    assert [ground.height(0.0, 0.0) for ground in (dome, flat)] == [0.2, 0.0]
    assert flat.bounds == dome.bounds
    np.testing.assert_allclose(dome.gradient(0.5, -0.5), (-0.2, 0.2), rtol=0.0, atol=1e-9)

    @gr.drive.law
    def ahead(t, state, velocity, *, rate=gr.param(1.0, "rad/s")):
        return np.full(4, rate)

    runs = [gr.simulate(gr.Kinematics(HUSKY), FLAT, one, duration=0.2) for one in (ahead, ahead.replace(rate=2.0))]
    np.testing.assert_array_equal(runs[1].command, 2.0 * runs[0].command)


def test_a_joint_law_equals_the_spring_it_copies():
    zoe = gr.vehicle("zoe")
    ground = gr.terrain.rough(0.12, 1.0, 5, size=20.0)

    @gr.joints.law
    def spring_and_damper(angle, rate, *, k=gr.param(900.0, "N m/rad"), c=gr.param(60.0, "N m s/rad")):
        return -k * angle - c * rate

    def slope(angle, rate, *, c, k):
        return -k, -c

    exact = gr.joints.law(jacobian=slope)(spring_and_damper.function)
    pair = {zoe.joints[0]: 1.0, zoe.joints[3]: -0.5}
    models = (gr.joints.Spring(joints=pair, stiffness=900.0, damping=60.0), spring_and_damper.on(pair), exact.on(pair))
    runs = [
        gr.simulate(gr.Dynamics(zoe, joints=(one,), tolerance=1e-6), ground, gr.drive.arc(0.8, 0.1), duration=1.0)
        for one in models
    ]
    for run in runs[1:]:
        np.testing.assert_allclose(run.state, runs[0].state, rtol=0.0, atol=1e-8)


def test_a_joint_law_remembers_from_step_to_step():
    """A memory that sums the rate is the joint's way from where it began: the law is a spring that is at rest there."""
    zoe = gr.vehicle("zoe")
    ground = gr.terrain.rough(0.12, 1.0, 5, size=20.0)
    start = gr.settle(zoe, ground).state
    joint = zoe.joints[0]

    @gr.joints.law(memory={"way": 0.0, "offset": 0.25})
    def from_start(angle, rate, way, offset, dt, *, k=gr.param(2000.0, "N m/rad")):
        way = way + rate * dt
        return -k * (way - offset), way, offset

    class EndSpring(gr.joints.Spring):
        """Its force is that of the step's end, as the memory's."""

        elastic = False

    natural = start[7] + 0.25  # the second memory is what it starts with, and stays
    models = (EndSpring(joints=joint, stiffness=2000.0, natural=natural), from_start.on(joint))
    runs = [
        gr.simulate(model, ground, gr.drive.arc(0.8, 0.1), duration=2.0, start=start)
        for model in (gr.Dynamics(zoe, joints=(one,), tolerance=1e-6) for one in models)
    ]
    assert np.ptp(runs[0].joints[:, 0]) > 0.02
    np.testing.assert_allclose(runs[1].state, runs[0].state, rtol=0.0, atol=1e-8)


def test_a_law_that_is_not_a_number_ends_its_rollout_alone():
    # Not a number where a wheel slips by more than 0.3 m/s, so only the rollout that spins its wheels meets it.
    @gr.contact.law
    def fragile(v, r_omega, dz, *, stiffness=2e4, damping=1e3, friction=0.8):
        f_z = max(-stiffness * dz - damping * min(1.0, -dz / 0.002) * v[2], 0.0)
        speed = math.sqrt(v[0] ** 2 + v[1] ** 2 + 1e-4)
        grip = friction * f_z / speed if speed < 0.3 else math.nan
        return -grip * v[0], -grip * v[1], f_z

    model = gr.Dynamics(HUSKY, contact=fragile)
    commands = np.full((3, 20, 4), 2.0)
    commands[1, 8:] = 60.0
    many = gr.rollout(model, FLAT, commands, velocity=np.r_[0, 0, 0, 0.33, 0, 0, 2, 2, 2, 2])
    assert many.ok.tolist() == [True, False, True]
    assert many.steps[1] == 8
    assert np.isfinite(many.final_state).all()
    without = gr.rollout(model, FLAT, commands[::2], velocity=np.r_[0, 0, 0, 0.33, 0, 0, 2, 2, 2, 2])
    assert many.final_state[::2].tobytes() == without.final_state.tobytes()
