"""The online filter: agreement with the batch, gates, drift, bounds, and a state that comes back bit for bit."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from grouser.calibration.batch import gauss_newton
from grouser.calibration.online import OnlineFilter
from grouser.errors import CalibrationError
from grouser.motion.noise import Noise
from grouser.motion.parameters import ParameterVector, resolve
from grouser.motion.predict import LogProblem
from tests.motion import planted_logs as drives

NOISE = Noise(density=np.diag([2e-3, 1e-3, 1e-3]))
OPEN = {"gate": np.inf}


def filtered(problem, start, names, **options) -> OnlineFilter:
    filter = OnlineFilter(start, resolve(start, names), **options)
    for k in range(len(problem.intervals)):
        filter.update(problem, k)
    return filter


@pytest.fixture(scope="module")
def drive():
    truth, start = drives.slipping(noise=NOISE), drives.slipping(np.zeros(6), noise=NOISE)
    return drives.problem_of(drives.winding_log(truth, seed=7, seconds=60.0), start), start


def test_filter_and_batch_agree_at_convergence(drive):
    problem, start = drive
    online = filtered(problem, start, ["slip"], **OPEN)
    batch = gauss_newton(problem, start, resolve(start, ["slip"]), loss="none", prior=True)
    sigma = np.sqrt(np.diag(batch.covariance))
    # Apart by the curvature of the first steps, which the filter linearises at the prior.
    assert np.all(np.abs(online.p - batch.values) < sigma)
    np.testing.assert_allclose(np.sqrt(np.diag(online.P)), sigma, rtol=0.1)


def test_filter_is_the_batch_where_the_problem_is_linear():
    # Straight ahead the sensor's forward motion is linear in p₂, with one and the same R: recursive least squares.
    # No yaw noise, which would bend the way and shorten it.
    noise = Noise(density=np.diag([2e-3, 1e-3, 1e-9]))
    start = drives.slipping(np.zeros(6), noise=noise)
    truth = drives.slipping([0.0, -0.08, 0.0, 0.0, 0.0, 0.0], noise=noise)
    log = drives.repeated(truth, 20, seed=4, left=4.0, right=4.0)
    problem = drives.problem_of(log, start, interval=None)
    online = filtered(problem, start, ["slip.p2"], **OPEN)
    fixed = problem.covariance(start, problem.errors(start))
    batch = gauss_newton(problem, start, resolve(start, ["slip.p2"]), loss="none", covariance=fixed)
    assert abs(online.p[0] - batch.values[0]) < 1e-2 * np.sqrt(batch.covariance[0, 0])
    assert online.P[0, 0] == pytest.approx(batch.covariance[0, 0], rel=1e-3)


def with_jump(problem: LogProblem, k: int, metres: float) -> LogProblem:
    measured = problem.intervals.measured.copy()
    measured[k, 1] += metres
    return LogProblem(problem.log, drives.slipping(noise=NOISE), replace(problem.intervals, measured=measured))


def test_an_interval_a_metre_wrong_moves_nothing_unless_the_gate_is_open(drive):
    problem, start = drive
    last = len(problem.intervals) - 1
    wrong = with_jump(problem, last, 3.0)
    for gates, moves in (({"gate": 20.0}, False), (OPEN, True)):
        filter = OnlineFilter(start, resolve(start, ["slip", "noise"]), **gates)
        for k in range(last):
            filter.update(problem, k)
        before = filter.p.copy(), np.sqrt(np.diag(filter.P)), filter.s.copy()
        update = filter.update(wrong, last)
        assert update.accepted is moves
        # Of intervals filtered again with hardly another noise, an estimate moves by a small part of its sigma.
        assert bool(np.abs(filter.p - before[0]).max() > 0.2 * before[1].max()) is moves
        assert bool(filter.s[1] > 1.5 * before[2][1]) is moves
        assert filter.rejected >= (not moves)


def test_drift_follows_a_parameter_that_changes():
    start = drives.slipping(np.zeros(6), noise=Noise(density=1e-5 * np.eye(3)))
    before, after = (drives.slipping([0.0, p2, 0.0, 0.0, 0.0, 0.0], noise=start.noise) for p2 in (-0.05, -0.2))
    ends = {}
    for drift in (0.0, 0.02):
        parameter = replace(resolve(start, ["slip.p2"])[0], drift=drift)
        filter = OnlineFilter(start, [parameter], adapt=False, **OPEN)
        for truth, seconds in ((before, 60.0), (after, 20.0)):
            problem = drives.problem_of(drives.winding_log(truth, seed=1, seconds=seconds), start)
            for k in range(len(problem.intervals)):
                filter.update(problem, k)
        ends[drift] = filter.p[0], np.sqrt(filter.P[0, 0])
    assert abs(ends[0.02][0] + 0.2) < 3.0 * ends[0.02][1]
    assert abs(ends[0.0][0] + 0.2) > 10.0 * ends[0.0][1]


def test_bounds_are_kept(drive):
    problem, start = drive
    parameter = replace(resolve(start, ["slip.p6"])[0], lower=-0.1)
    filter = OnlineFilter(start, [parameter], **OPEN)
    for k in range(10):
        assert filter.update(problem, k).values[0] >= -0.1
    assert filter.p[0] == -0.1


def test_a_restored_filter_goes_on_bit_for_bit(drive):
    problem, start = drive
    names = ["slip", "sensor.x", "noise"]
    straight = filtered(problem, start, names)
    first = OnlineFilter(start, resolve(start, names))
    for k in range(9):
        first.update(problem, k)
    text = json.dumps(first.state)
    second = OnlineFilter(start, resolve(start, names))
    second.state = json.loads(text)
    for k in range(9, len(problem.intervals)):
        second.update(problem, k)
    assert second.state == straight.state


def test_uncertain_parameters_are_not_blamed_on_the_noise():
    # The start is far off, so early residuals are large; Q′ stays near the truth all the same.
    truth = drives.slipping(noise=NOISE)
    start = drives.slipping(np.zeros(6), noise=NOISE)
    problem = drives.problem_of(drives.winding_log(truth, seed=3, seconds=300.0, dt=0.1), start)
    filter = filtered(problem, start, ["slip", "noise"], **OPEN)
    sigma = np.sqrt(np.diag(filter.S))
    assert np.all(np.abs(filter.s - np.diag(NOISE.density)) < 3.0 * sigma)


def test_no_parameters_are_refused():
    with pytest.raises(CalibrationError, match="no parameters"):
        OnlineFilter(drives.slipping(), [])


def test_a_cholesky_factor_of_the_noise_is_learned_whole_whichever_entries_are_chosen():
    truth = drives.slipping(noise=Noise(form="cholesky"))
    problem = drives.problem_of(drives.winding_log(truth, seed=1), truth)
    learner = OnlineFilter(truth, resolve(truth, ["slip.p2", "sensor.time_noise", "noise.vy"]))
    assert learner.names == ["slip.p2", *truth.noise.names, "sensor.time_noise"]
    for k in range(4):
        learner.update(problem, k)
    np.testing.assert_allclose(ParameterVector(learner.calibrated, learner.names).values, learner.values, rtol=1e-9)
