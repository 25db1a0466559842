"""The whole loop: truth, sensors, estimator, calibration and planner."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import grouser as gr
from grouser.calibration.simulated import log_of_run
from grouser.errors import PlanError
from grouser.plan.drive import cross_track

HUSKY = gr.vehicle("husky")
FEW: dict[str, Any] = {"samples": 48, "dt": 0.1, "horizon": 1.5, "draws": 4, "risk": 0.5, "threads": 1}


@functools.cache
def ground() -> gr.terrain.Terrain:
    """A gentle ground of 24 × 16 m."""
    return gr.terrain.rough(0.02, 1.5, 3, size=(24.0, 16.0), center=(6.0, 0.0), spacing=0.2)


@functools.cache
def fit() -> gr.Fit:
    """A calibrated model of the kind that `truth` is, with no slip known before."""
    runs = [
        gr.simulate(truth(0.0), ground(), gr.drive.arc(speed=0.8, curvature=k), duration=8.0, dt=0.02, start=(4, 0, a))
        for k, a in ((0.0, 0.0), (0.4, 1.0), (-0.4, 3.0))
    ]
    log = log_of_run(
        runs, pose_rate=5.0, position_noise=0.02, yaw_noise=0.01, attitude_noise=0.005, measured=HUSKY.joints
    )  # fmt: skip
    return gr.calibrate(gr.Kinematics(HUSKY, slip=gr.slip.BodySlip(np.zeros(6))), log, ["slip", "noise"], interval=1.0)


def truth(drift: float) -> gr.Kinematics:
    """A vehicle that pulls to one side by a drift [rad/m]."""
    return gr.Kinematics(HUSKY, slip=gr.slip.BodySlip([0.0, -0.02, 0.0, 0.0, drift, 0.0]))


def straight(length: float = 6.0) -> gr.plan.Cost:
    return gr.plan.Cost(gr.plan.Path([(0.0, 0.0), (length, 0.0)]), gr.plan.CommandRate())


def test_it_reaches_the_end_of_a_path_with_dynamics_as_truth_and_a_noisy_map() -> None:
    dynamic = gr.Dynamics(HUSKY, contact=gr.contact.Pacejka())
    known = gr.plan.noisy_map(ground(), sigma=0.01, seed=5)
    run = gr.plan.drive(fit(), dynamic, ground(), straight(), known=known, duration=14.0, seed=2, **FEW)
    assert run.reached
    assert run.status == "ok"
    assert np.abs(run.cross_track).max() < 0.3
    summary = run.summary()
    assert summary["position_error_rms"] < 0.05
    assert summary["distance"] == pytest.approx(6.0, abs=0.6)
    assert 0.2 < summary["nees"] < 4.0, "errors are of the size that the estimator says"
    assert np.sqrt(run.covariance[:, 0, 0]).max() < 0.1


def test_the_same_seed_gives_the_same_bytes_and_another_does_not() -> None:
    def once(seed: int) -> gr.plan.Drive:
        return gr.plan.drive(fit(), truth(0.0), ground(), straight(), duration=1.5, seed=seed, **FEW)

    first, second, other = once(1), once(1), once(2)
    for name in ("state", "estimate", "covariance", "command", "risk"):
        assert getattr(first, name).tobytes() == getattr(second, name).tobytes(), name
    assert first.estimate.tobytes() != other.estimate.tobytes()


def test_errors_of_the_estimate_fit_its_covariance_over_a_few_drives() -> None:
    nees = [
        gr.plan.drive(fit(), truth(0.0), ground(), straight(), duration=3.0, seed=seed, **FEW).nees[10:].mean()
        for seed in range(3)
    ]
    assert 0.3 < float(np.mean(nees)) < 3.0


def test_a_vehicle_that_pulls_aside_is_held_on_its_path_by_adaptation() -> None:
    aside = {}
    for adapt in (True, False):
        run = gr.plan.drive(fit(), truth(0.35), ground(), straight(8.0), duration=10.0, adapt=adapt, seed=3, **FEW)
        late = run.time > 5.0
        aside[adapt] = float(np.sqrt(np.mean(run.cross_track[late] ** 2)))
        slip = [one["slip.p5"] for one in run.parameters]
        assert (slip[-1] != slip[0]) == adapt
    assert aside[True] < 0.6 * aside[False]


def test_calibration_finds_the_pull_that_was_planted() -> None:
    run = gr.plan.drive(fit(), truth(0.2), ground(), straight(12.0), duration=13.0, interval=0.6, seed=4, **FEW)
    # The path is straight, so the wheels turn against the pull by −0.2 rad/m: only p5 − 0.2 p6 shows in the motion.
    pull = [p["slip.p5"] - 0.2 * p["slip.p6"] for p in run.parameters]
    assert pull[-1] == pytest.approx(0.2, abs=0.08)
    assert abs(pull[0]) < 0.05


def test_distance_from_a_path_has_its_sign_and_ends_at_its_corners() -> None:
    path = [(0.0, 0.0), (4.0, 0.0), (4.0, 4.0)]
    xy = np.array([(1.0, 0.5), (1.0, -0.5), (3.0, 2.0), (5.0, 2.0), (-3.0, 4.0)])
    assert cross_track(path, xy) == pytest.approx([0.5, -0.5, 1.0, -1.0, 5.0])


def test_a_noisy_map_differs_by_its_sigma_and_only_where_there_is_a_map() -> None:
    x, y = np.meshgrid(np.linspace(-4.0, 16.0, 80), np.linspace(-6.0, 6.0, 60))
    exact = gr.plan.noisy_map(ground(), sigma=0.0, cell=0.2)
    assert np.abs(exact.height(x, y) - ground().height(x, y)).max() < 0.01
    rough = gr.plan.noisy_map(ground(), sigma=0.03, seed=1, cell=0.2)
    assert (rough.height(x, y) - exact.height(x, y)).std() == pytest.approx(0.03, rel=0.25)
    with pytest.raises(PlanError, match="has no edge"):
        gr.plan.noisy_map(gr.terrain.plane())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"duration": 0.0}, "duration"),
        ({"reached": -1.0}, "reached"),
        ({"interval": 0.0}, "interval"),
        ({"sensors": 3}, "sensors"),
        ({"start": (100.0, 0.0, 0.0)}, "start: "),
        ({"truth": "husky"}, "truth"),
        ({"truth": gr.Kinematics(gr.vehicle("zoe"))}, "truth: is 'zoe'"),
        ({"cost": gr.plan.Cost(gr.plan.Speed(1.0))}, "neither a Goal nor a Path"),
        ({"ground": None}, "ground"),
        ({"known": gr.terrain.grid(np.zeros((5, 5)), x=np.arange(5.0) + 50.0, y=np.arange(5.0))}, "start on the map"),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence(change: dict[str, Any], words: str) -> None:
    given: dict[str, Any] = {"truth": truth(0.0), "ground": ground(), "cost": straight(), "duration": 1.0, **change}
    positional = [given.pop(name) for name in ("truth", "ground", "cost")]
    with pytest.raises(PlanError, match=words) as found:
        gr.plan.drive(gr.Kinematics(HUSKY), *positional, **given, **FEW)
    assert "\n" not in str(found.value)
