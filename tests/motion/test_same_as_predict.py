"""`gr.rollout` of every kind of motion model on a plane ends where `predict` says, with the same spread."""

import numpy as np
import pytest

import grouser as gr
from grouser.calibration.simulated import log_of_motion
from grouser.motion import Bicycle, Corrected, DifferentialDrive, FourNumbers, MotionModel, Noise, Perturbative
from grouser.motion.intervals import cut_log
from grouser.motion.log_prediction import prediction_covariance
from grouser.motion.predict import LogProblem
from tests.motion.planted_logs import PRECISE, side_rates, winding
from tests.motion.windows import PLANE, measured_noise, sensed, sensed_ends, window_rates

ALPHA = np.array([-0.03, -0.01, -0.02, 0.0, 0.01, 0.05, -0.09, 0.0, 0.01, -0.42, -0.01, 0.0, 0.0])
STEADY = {"widths": (0.1,) * 8, "reach": (3.0, 5.0, 9.0, 9.0), "correction": np.linspace(-0.3, 0.4, 11)}


def models():
    warthog = gr.vehicle("warthog")
    slip = gr.slip.BodySlip([-0.1, -0.02, -0.1, -0.05, 0.02, -0.1])
    return {
        "kinematic": gr.Kinematics(warthog, slip=slip),
        "perturbative": Perturbative(vehicle=warthog, slip=ALPHA),
        "sliding": Perturbative(vehicle=warthog, slip=ALPHA, gravity_grows="time"),
        "corrected": Corrected(vehicle=warthog, slip=ALPHA, terms=tuple(range(6, 14)), **STEADY),
        "diff-drive": DifferentialDrive(vehicle=warthog, yaw_gain=0.6),
        "four-number": FourNumbers(vehicle=warthog, speed_gain=0.96, yaw_gain=0.6, lateral=0.1, yaw_per_speed=0.02),
    }


def ends_of(motion, log, cut, dt):
    rates, step = window_rates(log, motion, cut, dt)
    return sensed(gr.rollout(motion, PLANE, rates, dt=step, samples=0).final_state, motion.sensor)


@pytest.mark.parametrize("name", list(models()))
def test_poses_agree_to_the_order_of_integration(name):
    motion = MotionModel(model=models()[name], sensor=PRECISE)
    t, left, right, _ = winding(seconds=20.0, dt=0.02)
    log = log_of_motion(motion, t, side_rates(motion.vehicle, left, right))
    cut = cut_log(log, motion, interval=4.0)
    predicted = motion.predict(log, interval=4.0).pose[:, [0, 1, 5]]
    coarse, fine = (np.abs(ends_of(motion, log, cut, dt) - predicted).max() for dt in (0.08, 0.02))
    assert coarse < 0.1
    # Euler steps: a quarter of the step, about a quarter of the error; what is left is of the log's own samples.
    assert fine < 0.35 * coarse + 1e-3


def test_a_bicycle_agrees_where_it_steers():
    """The steering joint turns at a commanded rate, so its angle is that of the log."""
    recbot = gr.vehicle("recbot")
    run = gr.simulate(gr.Kinematics(recbot), PLANE, gr.drive.arc(speed=1.0, curvature=0.15), duration=4.0, dt=0.01)
    motion = MotionModel(model=Bicycle(vehicle=recbot, speed_gain=0.9))
    again = gr.simulate(motion, PLANE, run.command[:-1], duration=4.0, dt=0.01, samples=0)
    # Gain of the whole speed: the path is the same, shortened, as its curvature is that of the steered wheels.
    way = np.linalg.norm(np.diff(again.position, axis=0), axis=1).sum()
    assert way == pytest.approx(0.9 * np.linalg.norm(np.diff(run.position, axis=0), axis=1).sum(), rel=2e-3)


@pytest.mark.parametrize(("name", "wanted"), [
    ("kinematic", ["slip"]), ("perturbative", ["slip.a1", "slip.a6", "slip.a10"]), ("diff-drive", ["model.yaw_gain"]),
    ("four-number", ["model.speed_gain", "model.yaw_gain", "model.yaw_per_speed"]),
])  # fmt: skip
def test_samples_of_a_fit_are_as_wide_as_its_prediction(name, wanted):
    """Sigma of 200 samples is known to 5 %: the median over windows within three of these, and Euler's steps."""
    noise = Noise(density=np.diag([4e-4, 1e-4, 1e-5]))
    motion = MotionModel(model=models()[name], sensor=PRECISE, noise=noise)
    t, left, right, _ = winding(seconds=40.0)
    log = log_of_motion(motion, t, side_rates(motion.vehicle, left, right), seed=3)
    fit = gr.calibrate(motion, log, wanted)
    unseen = log_of_motion(motion, t, side_rates(motion.vehicle, right, left), seed=4)
    ends, cut = sensed_ends(fit, unseen, 4.0, samples=200)
    sampled = np.array([np.cov(one.T) for one in ends]) + measured_noise(unseen, fit.model, cut)
    problem = LogProblem(unseen, fit.model, cut, encoders=False)
    stated = prediction_covariance(problem, fit, problem.errors(fit.model), other_log=True)
    ratio = np.sqrt(np.diagonal(sampled, axis1=1, axis2=2) / np.diagonal(stated, axis1=1, axis2=2))
    # A differential drive has a gain of the turn alone: it cannot drive faster on another ground.
    seen = [2] if name == "diff-drive" else [0, 1, 2]
    assert np.median(ratio, axis=0)[seen] == pytest.approx(1.0, abs=0.15)


def test_samples_on_another_ground_are_wider_by_its_spread():
    """Straight ahead the speed of grounds differs by 1.5 %, the pull by 0.0015 rad/m: x by 0.015 s, yaw by 0.0015 s."""
    from dataclasses import replace

    from tests.motion.uncertain_fit import fit_of

    alike = fit_of(sigma=1e-6, noise=Noise(density=np.zeros((3, 3))), names=("slip.a1", "slip.a9", "slip.a10"))
    ahead = gr.drive.arc(speed=1.0, curvature=0.0)
    none, some = (
        gr.simulate(one, PLANE, ahead, duration=4.0, samples=1000).covariance[-1]
        for one in (alike, replace(alike, spread=None))
    )
    assert np.sqrt(none[0, 0]) < 1e-4
    way = 4.0 * 0.98
    # Sigma of 1000 samples is known to 2.2 %; four of these.
    assert np.sqrt(some[0, 0]) == pytest.approx(0.015 * way, rel=0.09)
    assert np.sqrt(some[3, 3]) == pytest.approx(0.0015 * way, rel=0.09)
