"""L Algorithms 1 and 2 with the errata: norm of the velocity, and understeer that is truly compensated."""

import dataclasses
import math

import numpy as np
import pytest

import grouser as gr
from grouser.errors import SimulationError
from grouser.traction import InverseKinematics, SlipMeasure, TractionControl, TractionController, VelocityLimiter

MOVING = (0.4, 0.0, 0.1)


def test_algorithm_1_with_the_numbers_of_the_thesis():
    control = TractionControl()
    assert control.acceleration_limit(MOVING, 0.0) == pytest.approx(0.8 * 0.63)
    assert control.acceleration_limit(MOVING, 0.2) == pytest.approx(0.8 * 0.63 * (1.0 - 1.7 * 0.2))
    assert control.acceleration_limit(MOVING, 0.9) == pytest.approx(0.8 * 0.63 * 0.15)
    assert control.acceleration_limit((0.02, 0.0, 1.0), 0.4) == pytest.approx(0.63)


def test_algorithm_2_with_the_numbers_of_the_thesis():
    control = TractionControl()
    assert control.velocity_scale(MOVING, 0.25) == pytest.approx(np.full(3, 0.8))
    assert control.velocity_scale(MOVING, 0.9) == pytest.approx(np.full(3, 0.6))
    assert control.velocity_scale((0.01, 0.01, 0.0), 0.9) == pytest.approx(np.ones(3))


@pytest.mark.parametrize("velocity", [(-0.4, 0.0, 0.0), (0.0, 0.3, 0.0), (-0.1, -0.2, 0.3)])
def test_driving_in_reverse_or_sideways_is_controlled_too(velocity):
    """v > threshold as printed would never hold in reverse."""
    control = TractionControl()
    assert control.acceleration_limit(velocity, 0.3) == control.acceleration_limit(MOVING, 0.3)
    assert control.velocity_scale(velocity, 0.3) == pytest.approx(control.velocity_scale(MOVING, 0.3))


def test_more_slip_is_never_faster():
    control = TractionControl(turn_slip=-0.1)
    slips = np.linspace(0.0, 1.0, 50)
    limits = [control.acceleration_limit(MOVING, s) for s in slips]
    scales = np.array([control.velocity_scale(MOVING, s) for s in slips])
    assert (np.diff(limits) <= 0.0).all()
    assert (np.diff(scales, axis=0) <= 0.0).all()
    assert min(limits) > 0.0
    assert scales.min() > 0.0


def test_understeer_is_compensated_at_zero_slip():
    """A rover that turns (1 + p₆) of what its wheels say turns as desired; with the printed ε₃ it turns even less."""
    p6 = -0.0627
    lru = gr.vehicle("lru1")
    truth = gr.Kinematics(lru, slip=gr.slip.BodySlip([0.0, 0.0, 0.0, 0.0, 0.0, p6]))
    inverse = InverseKinematics(lru)
    desired = np.array([0.4, 0.0, 0.3])

    def realised(velocity):
        found = inverse.solve(*velocity)
        state = gr.settle(lru, gr.terrain.plane()).state
        command = np.zeros(len(lru.actuated))
        for joint, angle in zip(inverse.steering_joints, found.steering, strict=True):
            state[7 + lru.joint_index(joint)] = angle
        for wheel, rate in zip(inverse.driven_wheels, found.wheel_rates, strict=True):
            command[lru.actuated.index(wheel)] = rate
        return truth.velocity(state, command, gr.terrain.plane()).value[2]

    control = TractionControl(turn_slip=p6)
    assert realised(desired) == pytest.approx((1.0 + p6) * desired[2], abs=1e-9)
    assert realised(control.velocity_scale(MOVING, 0.0) * desired) == pytest.approx(desired[2], abs=1e-9)
    # L as printed: 1 − p₆ with its p₆ = −ours.
    assert realised(np.array([1.0, 1.0, 1.0 + p6]) * desired) < realised(desired)


def test_understeer_is_compensated_at_low_speed_too():
    scale = TractionControl(turn_slip=-0.2).velocity_scale((0.0, 0.0, 0.0), 0.3)
    assert scale == pytest.approx([1.0, 1.0, 1.25])


@pytest.mark.parametrize(
    ("measure", "slip", "expected"),
    [
        ("magnitude", (-0.03, 0.04, 0.0), (0.1, 0.1, 0.1)),
        ("magnitude", (0.05, 0.0, 0.0), (0.1, 0.1, 0.1)),
        ("forward", (-0.05, 0.0, 0.0), (0.1, 0.1, 0.1)),
        ("forward", (0.05, 0.0, 0.0), (0.0, 0.0, 0.0)),
        ("signed", (0.05, 0.0, 0.0), (-0.1, -0.1, -0.1)),
        ("signed", (2.0, 0.0, 0.0), (-0.5, -0.5, -0.5)),
        ("vector", (-0.05, 0.0, 0.04), (0.1, 0.0, 0.2)),
    ],
)
def test_variants_of_slip(measure, slip, expected):
    """Odometry says 0.5 m/s ahead and −0.2 rad/s; slip is true less odometry."""
    control = TractionControl(measure=measure)
    assert control.slip_for_control(slip, (0.5, 0.0, -0.2)) == pytest.approx(expected)


def test_signed_slip_speeds_up_downhill_but_not_beyond_the_motors():
    control = TractionControl(measure=SlipMeasure.SIGNED)
    assert control.velocity_scale(MOVING, -0.25) == pytest.approx(np.full(3, 1.2))
    assert control.acceleration_limit(MOVING, -0.5) == pytest.approx(0.63)


def test_the_limiter_keeps_the_components_in_step():
    limiter = VelocityLimiter(arm=0.5)
    command = np.zeros(3)
    for _ in range(5):
        before = command
        command = limiter.update((0.6, 0.0, 0.6), 0.5, 0.02)
        change = command - before
        assert math.hypot(change[0], change[1]) + 0.5 * abs(change[2]) == pytest.approx(0.01)
        assert command[2] == pytest.approx(command[0])  # the curvature of the path stays
    for _ in range(200):
        command = limiter.update((0.6, 0.0, 0.6), 0.5, 0.02)
    assert command == pytest.approx([0.6, 0.0, 0.6])


@pytest.mark.parametrize("direction", [1.0, -1.0])
def test_a_slipping_rover_is_slowed_and_a_wrong_sign_would_not(direction):
    """Uphill, in either direction of travel; the model and the fused velocity both tell of slip 0.3."""
    controller = TractionController(TractionControl(measure="forward"), arm=0.5)
    odometry = direction * np.array([0.5, 0.0, 0.0])
    slip = -0.3 * odometry
    for _ in range(400):
        state = controller.update(odometry, odometry, slip, odometry + slip, 0.02)
    assert state.slip == pytest.approx(np.full(3, 0.3), abs=1e-6)
    assert state.command == pytest.approx((1.0 - 0.8 * 0.3) * odometry, abs=1e-6)
    assert state.acceleration_limit == pytest.approx(0.8 * 0.63 * (1.0 - 1.7 * 0.3), abs=1e-6)
    # Skidding ahead of its wheels is no reason to slow down for this variant.
    skidding = TractionController(TractionControl(measure="forward"), arm=0.5)
    for _ in range(400):
        state = skidding.update(odometry, odometry, -slip, odometry - slip, 0.02)
    assert state.command == pytest.approx(odometry, abs=1e-6)


def test_without_control_only_the_motors_limit():
    controller = TractionController(None, arm=0.5)
    slip = np.array([-0.2, 0.0, 0.0])
    first = controller.update((0.5, 0.0, 0.0), (0.5, 0.0, 0.0), slip, None, 0.02)
    assert first.command == pytest.approx([0.63 * 0.02, 0.0, 0.0])
    for _ in range(100):
        state = controller.update((0.5, 0.0, 0.0), (0.5, 0.0, 0.0), slip, None, 0.02)
    assert state.command == pytest.approx([0.5, 0.0, 0.0])


@pytest.mark.parametrize(
    "change",
    [
        {"acceleration_share": 0.0},
        {"acceleration_share": 1.2},
        {"acceleration_slope": 2.0},
        {"velocity_slope": 2.1},
        {"velocity_slope": -0.1},
        {"largest_slip": 0.0},
        {"threshold": -1.0},
        {"motor_acceleration": math.nan},
        {"wheel_rate": 0.0},
        {"turn_slip": -1.0},
        {"measure": "sideways"},
    ],
)
def test_parameters_that_make_no_sense_are_refused(change):
    with pytest.raises(SimulationError, match=next(iter(change))):
        TractionControl(**change)


def test_parameters_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        TractionControl().threshold = 1.0
