"""What a careless user gives to odometry, its signals and its estimators: one sentence, never a silent guess."""

from __future__ import annotations

import logging
import math
from typing import Any

import numpy as np
import pytest

import grouser as gr
from grouser.errors import GrouserError
from grouser.odometry.contact_angles import ContactAngleEstimator
from grouser.odometry.encoder import Encoders
from grouser.odometry.motor_slip import MotorSlipDetector, PassiveSchedule, PassiveWheelSlip
from grouser.odometry.sources import AttitudeSource

UNIX_TIME = 1.7e9
"""What ROS stamps its messages with [s]."""


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"process_noise": 4}, "process_noise: 4 is not a Noise"),
        ({"measured": 5}, "measured: 5 is not a list of joints"),
        ({"measured": "FL"}, "measured: 'FL' is not a list of joints"),  # not the joints 'F' and 'L'
        ({"stops": 5}, "stops: 5 is not a Mapping"),
        ({"stops": {"bogieF": 1.0}}, "stops of 'bogieF': has shape"),
        ({"stops": {"bogieF": (0.0,)}}, "stops of 'bogieF': has shape"),
        ({"stops": {"bogieF": (1.0, 0.0)}}, "stops of 'bogieF': 1 must be below 0"),
    ],
)
def test_options_that_are_no_options_are_refused(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(GrouserError) as caught:
        gr.Odometry("lru2", **options)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_numbers_too_large_for_a_float_are_refused_and_change_nothing() -> None:
    odometry = gr.Odometry("lru2")
    rates = np.ones(10)
    before = odometry.update(0.0, rates, np.zeros(10))
    for sample in ((10**400, rates), (0.1, {"FL": 10**400})):
        with pytest.raises(GrouserError, match="too large"):
            odometry.update(*sample)
    after = odometry.update(0.1, rates, np.zeros(10))
    assert after.position[0] == pytest.approx(before.position[0] + 0.1 * before.twist[3])


@pytest.mark.parametrize("name", ["crusher", "rocky7", "lru2", "husky", "zoe", "pvc"])
def test_with_no_wheel_measured_no_vehicle_claims_to_know_its_speed(name: str) -> None:
    """Crusher's links lean its assumed contacts against each other, which once seemed to fix its speed at zero."""
    odometry = gr.Odometry(name)
    nothing = np.full(odometry.vehicle.n_joints, np.nan)
    estimate = odometry.update(0.0, nothing)
    assert odometry.faults["unobserved"] == 1
    assert estimate.twist_covariance[3, 3] > 0.5
    assert not estimate.observed[3]
    later = odometry.update(0.1, nothing)
    assert math.sqrt(later.ros_pose_covariance()[0]) > 0.05  # a step of 0.1 s at about 1 m/s, one sigma


def test_an_attitude_straight_up_is_a_fault_and_does_not_spin_the_yaw() -> None:
    """There roll and yaw are one turn: yaw rate is divided by cos(pitch)."""
    odometry = gr.Odometry("husky")
    rates = np.array([1.0 if "L" in joint else 2.0 for joint in odometry.vehicle.joints])
    odometry.update(0.0, rates, None, (0.0, 0.1))
    up = odometry.update(0.1, rates, None, (0.0, 0.5 * math.pi))
    assert odometry.faults == {"attitude": 1}
    assert up.degraded
    assert up.attitude == pytest.approx([0.0, 0.1])
    assert abs(up.yaw) == pytest.approx(0.1 * abs(up.twist[2]) / math.cos(0.1))
    steep = odometry.update(0.2, rates, None, (0.0, math.radians(80.0)))
    assert steep.attitude[1] == pytest.approx(math.radians(80.0))
    assert odometry.faults == {"attitude": 1}


def test_unix_time_is_a_time() -> None:
    """Everything that takes a time stamp gives the same answers in 2024 as it does at zero."""
    at_zero, now = gr.Odometry("lru2", contact_angles="estimated"), gr.Odometry("lru2", contact_angles="estimated")
    rates, angles = np.zeros(10), np.zeros(10)
    rates[[2, 4, 7, 9]] = 2.0
    for k in range(5):
        early = at_zero.update(0.125 * k, rates, angles, (0.0, 0.0))
        late = now.update(UNIX_TIME + 0.125 * k, rates, angles, (0.0, 0.0))
    assert late.position == pytest.approx(early.position)
    assert early.position[0] > 0.1
    encoders = Encoders(2, 1000)
    encoders.update(UNIX_TIME, [0, 0])
    assert encoders.update(UNIX_TIME + 0.5, [10, 20]).rate == pytest.approx(2 * np.pi / 1000 / 0.5 * np.array([10, 20]))
    source = AttitudeSource()
    source.imu(UNIX_TIME, 0.1, 0.2)
    assert source.at(UNIX_TIME).pitch == pytest.approx(0.2)
    MotorSlipDetector(2).update(UNIX_TIME, [1.0, 1.0], [1.0, 1.0])
    PassiveWheelSlip([0.1, 0.1]).update(UNIX_TIME, [1.0, 1.0], None)
    assert PassiveSchedule(2, start=UNIX_TIME).wheel(UNIX_TIME + 0.55) is not None


@pytest.mark.parametrize("t", ["noon", math.nan, math.inf, 1e13, 10**400, None])
def test_what_is_no_time_is_refused(t: Any) -> None:
    for update in (
        lambda: Encoders(1, 1000).update(t, [0]),
        lambda: AttitudeSource().at(t),
        lambda: ContactAngleEstimator(gr.vehicle("lru2")).update(t, np.zeros(10)),
    ):
        with pytest.raises(GrouserError, match=r"^t: "):
            update()


def test_a_time_far_beyond_any_clock_is_a_fault_also_where_contact_angles_are_estimated() -> None:
    odometry = gr.Odometry("lru2", contact_angles="estimated")
    odometry.update(0.0, np.ones(10), np.zeros(10), (0.0, 0.0))
    assert odometry.update(1e13, np.ones(10), np.zeros(10), (0.0, 0.0)).degraded
    assert odometry.faults == {"time": 1}


@pytest.mark.parametrize(
    "sample",
    [
        {"rates": {"FL": "fast"}},
        {"rates": np.zeros(10), "attitude": "ab"},
        {"rates": np.zeros(10), "gyro": ["a", "b", "c"]},
        {"rates": np.zeros(10), "pitch_rate": "down"},
    ],
)
def test_contact_angles_refuse_words(sample: dict[str, Any]) -> None:
    with pytest.raises(GrouserError, match="number"):
        ContactAngleEstimator(gr.vehicle("lru2")).update(0.0, **sample)


def test_faults_can_be_counted_without_being_said(caplog: pytest.LogCaptureFixture) -> None:
    odometry = gr.Odometry("lru2")
    said = {"angle"}
    odometry.begin_faults(said)
    with caplog.at_level(logging.WARNING, "grouser.odometry"):
        odometry.update(0.0, np.full(10, np.nan))
        odometry.update(0.1, np.full(10, np.nan))
    kinds = [record.getMessage().rsplit("(", 1)[1].split(";")[0] for record in caplog.records]
    assert kinds == ["rate", "unobserved"]
    assert said == {"angle", "rate", "unobserved"}
    assert odometry.faults == {"rate": 2, "angle": 2, "unobserved": 2}


@pytest.mark.parametrize("planar", [False, True])
@pytest.mark.parametrize("name", ["crusher", "husky", "landtamer", "lru2", "pvc_four", "recbot", "rocky7", "zoe"])
def test_on_level_ground_every_vehicle_goes_as_far_as_its_wheels_roll(name: str, planar: bool) -> None:
    """Crusher stands with its links at 0.1 rad: contacts that leaned with them made it 3 % too fast, and fly."""
    odometry = gr.Odometry(name, planar=planar)
    vehicle = odometry.vehicle
    rates = {wheel: 0.5 / r for wheel, r in zip(vehicle.wheels, vehicle.arrays.radius, strict=True)}
    for k in range(11):
        estimate = odometry.update(0.1 * k, rates, vehicle.rest)
    assert estimate.twist == pytest.approx([0.0, 0.0, 0.0, 0.5, 0.0, 0.0], abs=1e-9)
    assert estimate.position == pytest.approx([0.5, 0.0, 0.0], abs=1e-9)


def test_a_swung_arm_keeps_its_contact_below_the_wheel_with_an_angle_missing_or_not() -> None:
    odometry = gr.Odometry("crusher")
    rates = dict.fromkeys(odometry.vehicle.wheels, 1.0)
    links = {joint: 0.3 if joint.endswith("L") else -0.2 for joint in odometry.vehicle.joints if "link" in joint}
    held = rates | dict.fromkeys(links, 0.0)
    for k, angles in enumerate((links, {**links, "linkML": math.nan})):
        estimate = odometry.update(0.1 * k, held, angles)
        assert estimate.twist == pytest.approx([0.0, 0.0, 0.0, 0.7, 0.0, 0.0], abs=1e-9)
    odometry.reset()
    assert odometry.update(0.0, held, odometry.vehicle.rest).twist[3] == pytest.approx(0.7)
    told = odometry.update(0.1, held, odometry.vehicle.rest, contact_angles=np.zeros(6))
    assert abs(told.twist[1]) > 0.01  # angle zero is along the arm, when told so
    assert odometry.update(0.2, held, odometry.vehicle.rest).twist[3] == pytest.approx(0.7)


def test_a_dynamic_model_is_refused_also_inside_a_fit() -> None:
    dynamics = gr.Dynamics(gr.vehicle("warthog"))
    for model in (dynamics, gr.MotionModel(model=dynamics, ground=gr.terrain.plane())):
        with pytest.raises(GrouserError, match="the fit of a kinematic model"):
            gr.Odometry(model)  # type: ignore[arg-type]
