"""What makes no sense is refused with a named error before a kernel is entered, and no NaN comes out."""

import math

import numpy as np
import pytest

import grouser as gr
from grouser.collision import contacts
from grouser.kinematics import Weights, frame_jacobian, frame_poses, rollover_margin

ZOE = gr.vehicle("zoe")
MODEL = gr.Kinematics(ZOE)
PLANE = gr.terrain.plane()
STATE = gr.settle(ZOE, PLANE).state
DRIVE = gr.drive.arc(1.0)
NAN, INF = math.nan, math.inf


def without(index, value=NAN):
    bad = STATE.copy()
    bad[index] = value
    return bad


ZERO_QUATERNION = np.concatenate([np.zeros(4), STATE[4:]])
BAD_STATES = {
    "nan": without(5),
    "inf": without(9, INF),
    "huge": without(4, 1e12),
    "short": STATE[:-1],
    "matrix": STATE[None, None],
    "zero quaternion": ZERO_QUATERNION,
    "text": "here",
}


def simulate(**changes):
    given = {"model": MODEL, "ground": PLANE, "drive": DRIVE, "duration": 0.4} | changes
    return gr.simulate(given.pop("model"), given.pop("ground"), given.pop("drive"), **given)


def rollout(**changes):
    given = {"model": MODEL, "ground": PLANE, "commands": np.ones((2, 3, 4))} | changes
    return gr.rollout(given.pop("model"), given.pop("ground"), given.pop("commands"), **given)


CASES = {
    **{f"simulate start {k}": (lambda s=s: simulate(start=s)) for k, s in BAD_STATES.items()},
    **{f"rollout start {k}": (lambda s=s: rollout(start=s)) for k, s in BAD_STATES.items()},
    **{f"velocity state {k}": (lambda s=s: MODEL.velocity(s, np.ones(4), PLANE)) for k, s in BAD_STATES.items()},
    **{f"estimate state {k}": (lambda s=s: MODEL.estimate(s, np.ones(7), PLANE)) for k, s in BAD_STATES.items()},
    **{f"contacts state {k}": (lambda s=s: contacts(ZOE, s, PLANE)) for k, s in BAD_STATES.items()},
    **{f"actuate state {k}": (lambda s=s: gr.actuate(MODEL, s, PLANE, forward=1.0)) for k, s in BAD_STATES.items()},
    **{f"frame_poses {k}": (lambda s=s: frame_poses(ZOE, s)) for k, s in BAD_STATES.items()},
    **{f"frame_jacobian {k}": (lambda s=s: frame_jacobian(ZOE, s, "FL")) for k, s in BAD_STATES.items()},
    **{
        f"simulate {name} {value}": (lambda n=name, v=value: simulate(**{n: v}))
        for name in ("duration", "dt")
        for value in (0.0, -1.0, NAN, INF, "long", None, [1.0])
    },
    "simulate duration no multiple": lambda: simulate(duration=0.41),
    "simulate model": lambda: simulate(model=ZOE),
    "simulate ground": lambda: simulate(ground=0.0),
    "simulate every 0": lambda: simulate(every=0),
    "simulate every text": lambda: simulate(every="second"),
    "simulate every half": lambda: simulate(every=1.5),
    "simulate endless": lambda: simulate(duration=1e8, dt=1e-3),
    "rollout nan": lambda: rollout(commands=np.full((2, 3, 4), NAN)),
    "rollout flat": lambda: rollout(commands=np.ones((3, 4))),
    "rollout columns": lambda: rollout(commands=np.ones((2, 3, 5))),
    "rollout none": lambda: rollout(commands=np.ones((0, 3, 4))),
    "rollout no steps": lambda: rollout(commands=np.ones((2, 0, 4))),
    "rollout text": lambda: rollout(commands=np.full((2, 3, 4), "go")),
    "rollout list": lambda: rollout(commands=[[1.0]]),
    "rollout dt": lambda: rollout(dt=NAN),
    "rollout every": lambda: rollout(every=99),
    "rollout threads 0": lambda: rollout(threads=0),
    "rollout threads many": lambda: rollout(threads=10_000),
    "rollout threads text": lambda: rollout(threads="all"),
    "rollout starts": lambda: rollout(start=np.tile(STATE, (3, 1))),
    "settle nan": lambda: gr.settle(ZOE, PLANE, x=NAN),
    "settle yaw": lambda: gr.settle(ZOE, PLANE, yaw=INF),
    "settle joints": lambda: gr.settle(ZOE, PLANE, joints=[0.0]),
    "settle joints nan": lambda: gr.settle(ZOE, PLANE, joints=np.full(7, NAN)),
    "settle penetration": lambda: gr.settle(ZOE, PLANE, penetration=NAN),
    "settle ground": lambda: gr.settle(ZOE, "the moon"),
    "settle vehicle": lambda: gr.settle("zoe", PLANE),
    "velocity command nan": lambda: MODEL.velocity(STATE, [1, 1, 1, NAN], PLANE),
    "velocity command short": lambda: MODEL.velocity(STATE, [1, 1], PLANE),
    "velocity no ground": lambda: MODEL.velocity(STATE, np.ones(4)),
    "velocity ground": lambda: MODEL.velocity(STATE, np.ones(4), "ground"),
    "velocity angles": lambda: MODEL.velocity(STATE, np.ones(4), angles=[0.0, NAN, 0.0, 0.0]),
    "estimate rates short": lambda: MODEL.estimate(STATE, np.ones(3), PLANE),
    "estimate rates inf": lambda: MODEL.estimate(STATE, np.full(7, INF), PLANE),
    "estimate rates text": lambda: MODEL.estimate(STATE, ["a"] * 7, PLANE),
    "estimate gyro": lambda: MODEL.estimate(STATE, np.ones(7), PLANE, gyro=[0, 0, NAN]),
    "actuate nan": lambda: gr.actuate(MODEL, STATE, PLANE, forward=NAN),
    "actuate text": lambda: gr.actuate(MODEL, STATE, PLANE, turn="left"),
    "actuate model": lambda: gr.actuate(ZOE, STATE, PLANE, forward=1.0),
    "frame unknown": lambda: frame_jacobian(ZOE, STATE, "wing"),
    "frame offset": lambda: frame_jacobian(ZOE, STATE, "FL", [0, NAN, 0]),
    "frame offset shape": lambda: frame_jacobian(ZOE, np.array([STATE, STATE]), "FL", np.zeros((3, 3))),
    "margin shape": lambda: rollover_margin(ZOE, STATE[None, :5], np.zeros((1, 13)), np.zeros((1, 4, 3))),
    "margin rows": lambda: rollover_margin(ZOE, STATE[None], np.zeros((2, 13)), np.zeros((1, 4, 3))),
    "margin nan": lambda: rollover_margin(ZOE, STATE[None], np.full((1, 13), NAN), np.zeros((1, 4, 3))),
    "model vehicle": lambda: gr.Kinematics("zoe"),
    "model slip": lambda: gr.Kinematics(ZOE, slip=[0.0] * 6),
    "model time constant": lambda: gr.Kinematics(ZOE, time_constant=-0.1),
    "model penetration": lambda: gr.Kinematics(ZOE, penetration=-0.01),
    "model penetration deep": lambda: gr.Kinematics(ZOE, penetration=1.0),
    "model integrator": lambda: gr.Kinematics(ZOE, integrator="heun"),
    "model integrator list": lambda: gr.Kinematics(ZOE, integrator=["euler"]),
    "model tip": lambda: gr.Kinematics(ZOE, tip_angle=0.0),
    "model weights": lambda: gr.Kinematics(ZOE, weights=2.0),
    "weights negative": lambda: Weights(lateral=-1.0),
    "weights zero": lambda: Weights(normal=0.0),
    "weights nan": lambda: Weights(coupling=NAN),
    "arc nan": lambda: gr.drive.arc(NAN),
    "arc curvature": lambda: gr.drive.arc(1.0, INF),
    "table dt": lambda: gr.drive.table(np.ones((2, 4)), dt=0.0),
    "table ragged": lambda: gr.drive.table([[1.0], [1.0, 2.0]]),
    "schedule none": lambda: gr.drive.schedule(None),
    "slip function": lambda: gr.slip.law(lambda omega, v, force: nothing),  # noqa: F821
    "slip function no function": lambda: gr.slip.law(3.0),
    "compiled no function": lambda: simulate(drive=gr.drive.law(3.0)),
}


@pytest.mark.parametrize("case", [pytest.param(case, id=name) for name, case in CASES.items()])
def test_nonsense_is_a_grouser_error(case):
    with pytest.raises(gr.GrouserError) as caught:
        case()
    assert "\n" not in str(caught.value)  # one sentence


def test_a_state_is_not_changed_by_asking_about_it():
    before = (2.0 * STATE).copy()
    given = before.copy()
    contacts(ZOE, given, PLANE)
    MODEL.velocity(given, np.ones(4), PLANE)
    gr.actuate(MODEL, given, PLANE, forward=1.0)
    simulate(start=given)
    np.testing.assert_array_equal(given, before)


def test_a_quaternion_of_any_length_means_its_direction():
    longer = STATE.copy()
    longer[:4] *= 3.0
    np.testing.assert_allclose(
        MODEL.velocity(longer, np.ones(4), PLANE).value,
        MODEL.velocity(STATE, np.ones(4), PLANE).value,
        rtol=0.0,
        atol=1e-12,
    )
