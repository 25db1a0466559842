"""Joint laws: derivatives against differences, and what their numbers are called."""

import ctypes
import math

import numpy as np
import pytest

import grouser as gr
from grouser.joints import Spring, Stops

POINTER = ctypes.POINTER(ctypes.c_double)


@gr.joints.law(memory=("wound",))
def winding(angle, rate, wound, dt, *, k=gr.param(50.0, "N m/rad"), leak=gr.param(2.0, "1/s")):
    wound = (wound + rate * dt) / (1.0 + leak * dt)
    return -k * wound * wound * math.sin(angle), wound


def winding_slopes(angle, rate, wound, dt, *, k, leak):
    wound = (wound + rate * dt) / (1.0 + leak * dt)
    by_rate = -2.0 * k * wound * math.sin(angle) * dt / (1.0 + leak * dt)
    return -k * wound * wound * math.cos(angle), by_rate


LAWS = {
    "spring": Spring(joints="s1", stiffness=30.0, damping=4.0),
    "stops": Stops(joints="s1", lower=-0.3, upper=0.4, stiffness=900.0, damping=70.0),
    "user's": winding,
    "user's with slopes": gr.joints.law(memory=("wound",), jacobian=winding_slopes)(winding.function),
}


def evaluate(model, c, rate, memory, dt):
    bound = model.bind()
    x = np.array([c, rate, *[memory] * len(model.start_memory), dt])
    out, jac = np.zeros(1 + len(model.start_memory)), np.zeros(2)
    call = ctypes.CFUNCTYPE(None, POINTER, POINTER, POINTER, POINTER)(bound.address)
    call(*(a.ctypes.data_as(POINTER) for a in (bound.parameters, x, out, jac)))
    return out, jac


@pytest.mark.parametrize("name", LAWS)
def test_jacobians_are_the_derivatives_of_the_force(name):
    rng, h, checked = np.random.default_rng(6), 1e-7, 0
    for _ in range(200):
        # Near the stops, where the damper comes in, as often as far beyond them.
        edge = rng.choice((-0.3, 0.4)) + rng.choice((1e-3, 0.1)) * rng.normal()
        at = (edge, rng.normal(), rng.normal(), 0.02)
        (force, *_), jac = evaluate(LAWS[name], *at)
        for k in range(2):
            sides = [evaluate(LAWS[name], *(v + s * h * (i == k) for i, v in enumerate(at)))[0][0] for s in (1, -1)]
            if abs(sides[0] + sides[1] - 2 * force) / h > 1e-2:
                continue  # a kink within the step
            checked += jac[k] != 0.0
            assert jac[k] == pytest.approx((sides[0] - sides[1]) / (2 * h), rel=1e-5, abs=1e-4)
    assert checked > 80


def test_a_stop_pushes_back_and_never_pulls():
    stops = LAWS["stops"]
    assert evaluate(stops, 0.0, 5.0, 0.0, 0.02)[0] == 0.0
    assert evaluate(stops, 0.5, 0.0, 0.0, 0.02)[0] == pytest.approx(-900.0 * 0.1)
    assert evaluate(stops, -0.5, -1.0, 0.0, 0.02)[0] == pytest.approx(900.0 * 0.2 + 70.0)
    assert evaluate(stops, 0.41, -3.0, 0.0, 0.02)[0] == 0.0  # leaves faster than the spring would push


def test_every_model_names_its_numbers_and_replaces_them():
    found = [
        gr.contact.PiecewiseLinear(friction=0.7).at_load(100.0),
        gr.contact.Pacejka(),
        gr.contact.Ishigami(),
        gr.contact.ErpCfm(0.5, 1e-3, 0.04),
        gr.actuation.PI(gain=3.0),
        gr.actuation.DCMotor(stall_torque=1.0, no_load_speed=10.0),
        gr.actuation.SharedDrive(groups=(), gain=3.0),
        *LAWS.values(),
        gr.slip.BodySlip([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]),
        gr.slip.DriveFrameSlip(np.zeros(7)),
    ]
    for model in found:
        assert len(model.parameters) >= 2
        for name, value, unit, low, high in model.parameters:
            assert unit
            assert low <= value <= high
            # within the bounds, whichever way
            other = value * 0.9 if math.isfinite(value) and value else 0.01
            changed = {p.name: p.value for p in model.replace(**{name: other}).parameters}
            assert changed[name] == other
            assert [n for n, v in changed.items() if v != {p.name: p.value for p in model.parameters}[n]] == [name]
    names = [p.name for p in gr.contact.Pacejka(stiffness=1e4).parameters]
    assert {"stiffness", "friction", "longitudinal.B", "lateral.E"} <= set(names)
    assert "stiffness" not in [p.name for p in gr.contact.Pacejka().parameters]  # it follows from the load
    with pytest.raises(gr.GrouserError, match="has no 'grip'; it has"):
        gr.contact.Pacejka().replace(grip=1.0)
    with pytest.raises(gr.GrouserError, match="no 'p7'; there are p1"):
        gr.slip.BodySlip(np.zeros(6)).replace(p7=1.0)
