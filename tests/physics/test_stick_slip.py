"""Stick-slip of a sprung wheel: the sawtooth of a mass on a spring that is pulled over ground at a constant speed.

The spring winds up at a rate Ω while the contact sticks, up to static friction; then the wheel slips against dynamic
friction, half a swing and a little more, and sticks again. With A = (μ_s − μ_d) N r/k, r the lever of friction, the
wind-up is the sawtooth y_d ± A about y_d = μ_d N r/k, and its period is 2A/Ω + (2/ω)(π − arctan(Aω/Ω)), ω² = k/J.
"""

import dataclasses
import math
from itertools import pairwise

import numpy as np
import pytest

import grouser as gr
from grouser.contact import PiecewiseLinear
from grouser.vehicles import Frame, Vehicle, wheel_inertia

R, ARM = 0.125, 0.15  # [m] wheel radius; how far the steered wheel stands ahead of its pivot
K = 28.6  # [N m/rad]: 2°/N m, L §4.4.3
STATIC, SHARE = 0.8, 0.6
SPIN = 0.5  # [rad/s] of the motor
INERTIA = wheel_inertia(1.0, R, 0.1)


def standing(middle):
    """Four braked wheels that hold a body, and what is to slip in the middle of it."""
    wheels = [
        Frame(f"W{i}", "body", "RY", actuated=True, xyz=(x, y, 0.0), radius=R, mass=1.0, inertia=INERTIA)
        for i, (x, y) in enumerate(((0.4, 0.4), (0.4, -0.4), (-0.4, 0.4), (-0.4, -0.4)))
    ]
    body = Frame("body", mass=36.0, com=(0.0, 0.0, 0.05), inertia=(0.75, 1.35, 1.56))
    return Vehicle("stand", (body, *middle, *wheels))


def wound_by_its_motor():
    """The middle wheel is driven through a spring: friction f_x at the lever R turns it back."""
    wheel = Frame("middle", "body", "RY", actuated=True, radius=R, mass=1.0, inertia=INERTIA)
    soft = standing([wheel]).elastic(drive=(K, 0.0), rotor_share=1e-3)
    rigid = [
        one if "middle" in one.joints else dataclasses.replace(one, stiffness=None, damping=None)
        for one in soft.couplings
    ]
    J = (1.0 - 1e-3) * INERTIA[1]
    return soft.replace(couplings=tuple(rigid)), "middle_motor", {"middle_motor": 1.0, "middle": -1.0}, J, R


def wound_by_its_steering():
    """The middle wheel is ahead of its pivot and dragged sideways: friction f_y at the lever ARM turns it back."""
    steer = Frame("steer", "body", "RZ", actuated=True)
    wheel = Frame("middle", "steer", "RY", xyz=(ARM, 0.0, 0.0), radius=R, mass=1.0, inertia=INERTIA)
    vehicle = standing([steer, wheel]).replace(steering=(gr.vehicles.Steering("steer", 1.0),))
    J = INERTIA[2] + 1.0 * ARM**2
    return vehicle.elastic(steering=(K, 0.0)), "steer", {"steer_twist": -1.0}, J, ARM


def wind_up(case, *, dt, share, stribeck=0.02, rest=False):
    """Time [s], wind-up of the spring [rad] and load on the wheel [N]."""
    vehicle, motor, joints, _, _ = case
    holds = PiecewiseLinear(friction=5.0, slip_stiffness_x=1e6, slip_stiffness_y=1e6, static_penetration=1e-3)
    slips = holds.replace(friction=STATIC, slip_stiffness_x=1e5, slip_stiffness_y=1e5, dynamic_share=share)
    contact = {name: slips.replace(stribeck=stribeck) if name == "middle" else holds for name in vehicle.wheels}
    model = gr.Dynamics(vehicle, contact=contact, rest=rest)
    run = gr.simulate(model, gr.terrain.plane(), gr.drive.constant({motor: SPIN}), duration=4.0, dt=dt)
    assert run.status == "ok"
    wound = sum(k * run.joints[:, vehicle.joint_index(name)] for name, k in joints.items())
    load = run.contact.force[:, vehicle.wheels.index("middle"), 2]
    return run.time, wound, float(load[len(load) // 4 :].mean())


def breakaways(time, wound):
    """Times at which the spring lets go [s], and what it was wound up to there and where it stuck again [rad]."""
    later = time > 1.0
    middle = 0.5 * (wound[later].max() + wound[later].min())
    falls = np.flatnonzero((wound[:-1] >= middle) & (wound[1:] < middle) & later[1:])
    ends = list(pairwise(falls))
    tops = [wound[a:b].max() for a, b in ends]
    bottoms = [wound[a:b].min() for a, b in ends]
    return time[falls], np.array(tops), np.array(bottoms)


CASES = {"motor": wound_by_its_motor, "steering": wound_by_its_steering}
each = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def off(case, stribeck, *, dt=1e-3, rest=False):
    """Errors of period, amplitude and largest wind-up as shares, and v_s over the largest slip speed A ω r."""
    _, _, _, J, r = case
    time, wound, N = wind_up(case, dt=dt, share=SHARE, stribeck=stribeck, rest=rest)
    A, omega = STATIC * (1.0 - SHARE) * N * r / K, math.sqrt(K / J)
    period = 2.0 * A / SPIN + 2.0 / omega * (math.pi - math.atan(A * omega / SPIN))
    falls, tops, bottoms = breakaways(time, wound)
    assert len(falls) >= 4
    assert np.ptp(np.diff(falls)) <= 2.01 * dt  # the same every time: a let-go falls between two steps
    errors = np.diff(falls).mean() / period, (tops - bottoms).mean() / (2.0 * A), tops.mean() / (STATIC * N * r / K)
    return np.abs(np.array(errors) - 1.0), stribeck / (A * omega * r), dt / period


@each
def test_period_and_amplitude_are_those_of_the_textbook(case):
    """Friction falls while the slip speed passes v_s, not at once: a share v_s/(A ω r) of the swing."""
    wide, scale, step = off(case(), 0.02)
    assert (wide < 1.25 * scale + step).all()
    narrow, _, step = off(case(), 0.01)
    assert (narrow < 0.6 * wide + step).all()


@each
def test_a_contact_that_holds_at_rest_sticks_and_slips_too(case):
    """Bristles of contacts at rest stretch by up to 5 mm of the 28 and 40 mm that a wheel slips at once."""
    errors, _, _ = off(case(), 0.02, rest=True)
    assert (errors < 0.04).all()


@each
def test_friction_that_does_not_fall_slips_steadily(case):
    made = case()
    time, wound, N = wind_up(made, dt=1e-3, share=1.0)
    late = wound[time > 3.0]
    # What swings when it first lets go is 2 Ω/ω; friction is as good as constant, so that it stays but does not grow.
    J, r = made[3:]
    assert np.ptp(late) < 2.1 * SPIN / math.sqrt(K / J)
    assert late.mean() == pytest.approx(STATIC * N * r / K, rel=0.01)
