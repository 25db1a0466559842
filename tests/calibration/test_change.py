"""A change of ground: noticed soon, recalled on return, and not invented by noise, outliers or spinning wheels."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import grouser as gr
from grouser.calibration.adapt import adapt, start_of
from grouser.calibration.change import BEGUN, KNOWN, UNKNOWN, ChangeTest, Prior
from grouser.calibration.interval_filter import Linear, Window
from grouser.calibration.memory import Memory
from grouser.calibration.online import ALARM, OnlineFilter
from grouser.motion.intervals import cut_log
from grouser.motion.predict import LogProblem
from tests.oracles import changing_slip as truth
from tests.oracles.changing_slip import FIRM, SOFT

INTERVAL = 2.0


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("change")


@pytest.fixture(scope="module")
def fit(folder):
    """Of two minutes on firm soil."""
    return gr.calibrate(truth.model(), truth.drive(folder, "firm", [(120.0, FIRM)], seed=100), ["slip", "noise"])


def cut(fit, log):
    return cut_log(log, fit.model, interval=INTERVAL)


def adapted(fit, log, **options):
    return adapt(fit, log, cut(fit, log), **options)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_change_is_noticed_within_five_intervals_and_recalled_on_return(seed, fit, folder):
    log = truth.drive(folder, f"there_and_back_{seed}", [(100.0, FIRM), (80.0, SOFT), (60.0, FIRM)], seed=seed)
    found = adapted(fit, log)
    there, back = found.changes
    assert 100.0 < there.time <= 100.0 + 5 * INTERVAL
    assert 180.0 < back.time <= 180.0 + 5 * INTERVAL
    assert abs(there.since - 100.0) <= INTERVAL
    assert abs(back.since - 180.0) <= INTERVAL
    assert (there.from_, there.recalled) == (back.to, False)
    assert (there.to, back.recalled) == (back.from_, True)
    # Learned of the soft ground, in 38 intervals: within 4 sigma, and nearer than the firm one.
    memory = found.filter.remember()
    soft = memory[there.to]
    k = memory.names.index("slip.a10")
    assert abs(soft.mean[k] - SOFT[9]) < 4.0 * np.sqrt(soft.covariance[k, k])
    assert np.sqrt(soft.covariance[k, k]) < 0.05
    assert soft.seconds == pytest.approx(back.since - there.since, abs=1e-6)
    assert memory[there.from_].visits == 2
    assert len(memory.grounds) == 2
    # A few intervals after it is noticed errors are as before the change.
    times, error = cut(fit, log).times[:, 0], np.hypot(*found.error[:, :2].T)

    def rms(first, last):
        return np.sqrt(np.mean(error[(times >= first) & (times < last)] ** 2))

    assert rms(there.time + 10.0, 180.0) < 1.5 * rms(0.0, 100.0)
    assert rms(back.time, 240.0) < 1.5 * rms(0.0, 100.0)


@pytest.mark.parametrize("seed", range(4))
def test_on_constant_ground_no_change_is_noticed(seed, fit, folder):
    found = adapted(fit, truth.drive(folder, f"constant_{seed}", [(240.0, FIRM)], seed=50 + seed))
    assert found.changes == []


def test_a_pose_50_metres_wrong_is_no_change(fit, folder):
    log = truth.drive(folder, "jump", [(160.0, FIRM)], seed=9)
    wrong = np.isclose(log.poses.time, 82.0)  # reading a log drops what jumps so far, so it is put in afterwards
    assert wrong.sum() == 1
    position = log.poses.position + np.where(wrong[:, None], [50.0, 0.0, 0.0], 0.0)
    found = adapted(fit, replace(log, poses=replace(log.poses, position=position)))
    far = np.hypot(*found.error[:, :2].T) > 20.0
    assert np.count_nonzero(far) == 2  # the interval that ends there, and the one that starts there
    assert not any(update.accepted for update, is_far in zip(found.updates, far, strict=True) if is_far)
    assert found.changes == []


def test_four_seconds_of_wheel_spin_are_no_change(fit, folder):
    log = truth.drive(folder, "spin", [(160.0, FIRM)], seed=9, spin=(82.0, 86.0))
    found = adapted(fit, log)
    assert np.hypot(*found.error[:, :2].T).max() > 2.0
    assert found.changes == []
    clean = adapted(fit, truth.drive(folder, "no_spin", [(160.0, FIRM)], seed=9))
    sigma = np.sqrt(np.diag(clean.filter.P))
    assert np.all(np.abs(found.filter.p - clean.filter.p) < sigma)


def test_on_a_ground_of_the_memory_a_drive_starts_with_it(fit, folder):
    """The fit is of firm soil; the drive begins on soft soil, which was felt on another day."""
    memory = Memory.of(fit.model, fit.systematic)
    adapted(fit, truth.drive(folder, "day", [(60.0, FIRM), (80.0, SOFT)], seed=21), memory=memory).filter.remember()
    soft = min(memory.grounds, key=lambda g: g.mean[memory.names.index("slip.a10")]).name
    memory.rename(soft, "soft")
    log = truth.drive(folder, "next", [(40.0, SOFT)], seed=22)
    errors = {}
    for name, known in (("with", memory), ("without", None)):
        found = adapted(fit, log, memory=None if known is None else known.copy())
        errors[name] = np.sqrt(np.mean(np.sum(found.error[2:6, :2] ** 2, axis=1)))
        assert (found.updates[5].ground == "soft") is (known is not None)
        assert found.changes == []  # a start is no change
    assert errors["with"] < 0.8 * errors["without"]


def test_an_evaluation_leaves_the_memory_as_it_is(fit, folder):
    memory = Memory.of(fit.model, fit.systematic)
    log = truth.drive(folder, "judged", [(60.0, FIRM), (40.0, SOFT)], seed=11)
    found = gr.evaluate(fit, log, adapt=True, memory=memory)
    assert len(found.changes) == 1
    assert found.ground == found.changes[0].to
    assert memory.grounds == []


def test_a_filter_restored_in_the_middle_of_a_test_continues_to_the_last_bit(fit, folder):
    log = truth.drive(folder, "restored", [(60.0, FIRM), (40.0, SOFT), (20.0, FIRM)], seed=3)
    motion, parameters, covariance = start_of(fit)
    problem = LogProblem(log, motion, cut(fit, log), encoders=False)

    def fresh():
        return OnlineFilter(motion, parameters, covariance=covariance)

    straight, states = fresh(), []
    for k in range(len(problem.intervals)):
        straight.update(problem, k)
        states.append(json.dumps(straight.state))
    assert len(straight.changes) == 2
    noticed = next(k for k, (_, end) in enumerate(problem.intervals.times) if end >= straight.changes[0].time)
    # Between change and alarm, right after the alarm, and while tests run on the old ground.
    for k in (noticed - 1, noticed, 20, 21):
        second = fresh()
        second.state = json.loads(states[k])
        assert (second.open is not None) is (k == noticed)
        assert second.tests is not None
        assert second.tests.running.age.max() >= (0 if k == noticed else BEGUN - 1) - 1
        for j in range(k + 1, len(problem.intervals)):
            second.update(problem, j)
            if j in (k + 1, len(states) - 1):
                assert json.dumps(second.state) == states[j]


# The test alone, on one number that is measured with noise: y = p + N(0, 1).

LIMITS = ((1, 1, 1), np.inf, np.array([[-np.inf, np.inf]]))
PRESENT, SPREAD = 0.1, 1.0
"""Variances of the present estimate, and of a new ground's."""


def measured(y):
    one = np.ones((1, 1))
    return Linear(np.array([y]), one, 0.0 * one, one[None], 2.0, 0.0 * one)


def judged(values, names=("",), spread=SPREAD):
    """The test along some measurements; the present estimate is not learned further."""
    at, P = np.zeros(1), PRESENT * np.eye(1)
    priors = [Prior(name, at, spread * np.eye(1), 1.0 / len(names)) for name in names]
    test = ChangeTest(ALARM, priors, LIMITS)
    test.begin(priors)
    window = Window(LIMITS)
    window.run.phi[:] = 1.0
    found = []
    for y in values:
        one = measured(y)
        window.begin(at, P)
        evidence = window.add(one, at.copy(), P.copy())
        lines = lambda X, one=one: (np.tile(one.y, (len(X), 1)), np.tile(one.H, (len(X), 1, 1)))  # noqa: E731
        found.append(test.update(one, at, np.ones(1), lines, evidence))
    return test.running, found


def log_normal(y, mean, variance):
    return -0.5 * ((y - mean) ** 2 / variance + np.log(2.0 * np.pi * variance))


def test_the_ratio_is_that_of_two_gaussians():
    """Of a test begun two measurements ago: the second is judged by what the first left, p = g y₁, P = s − g s."""
    y = (0.4, 2.0)
    running, _ = judged(y)
    gain = SPREAD / (SPREAD + 1.0)
    new = log_normal(y[0], 0.0, SPREAD + 1.0) + log_normal(y[1], gain * y[0], (1.0 - gain) * SPREAD + 1.0)
    old = sum(log_normal(one, 0.0, PRESENT + 1.0) for one in y)
    # Measurements may be outliers too, a few in a hundred, which moves either evidence a little.
    assert running.log_ratio[0] == pytest.approx(new - old, abs=0.02)


def test_while_nothing_changes_the_ratio_is_one_on_average():
    rng = np.random.default_rng(0)
    values = np.sqrt(PRESENT + 1.0) * rng.normal(size=1500)
    ratios = np.exp([judged([y], names=("", "a"))[0].log_ratio[0] for y in values])
    # On average 1, less what the bound of an interval's ratio takes off.
    assert ratios.mean() == pytest.approx(1.0, abs=3.0 * ratios.std() / np.sqrt(len(ratios)))
    assert ratios.std() > 0.2


def test_an_interval_raises_the_sum_by_no_more_than_its_bound():
    """A measurement 4 sigma off raises it by 4.0: bounded if a new ground explains it, not if a known one does."""
    far = 4.0
    new, known = (judged([far], names=(name,), spread=10.0)[0].log_ratio[0] for name in ("", "a"))
    assert new == UNKNOWN
    assert UNKNOWN + 0.4 < known < KNOWN
    for values in ([far], [far, far], [far, -far]):
        assert judged(values, spread=10.0)[1] == [None] * len(values)  # one or two never are a change
    assert judged([far] * 3, spread=10.0)[1] == [None, None, 0]


def test_the_most_probable_hypothesis_is_the_one_that_explains_the_measurements():
    at, P = np.zeros(1), PRESENT * np.eye(1)
    priors = [Prior("far", np.full(1, 9.0), 0.1 * np.eye(1), 0.5), Prior("near", np.full(1, 3.0), 0.1 * np.eye(1), 0.5)]
    test = ChangeTest(ALARM, priors, LIMITS)
    test.begin(priors)
    one, evidence = measured(3.2), log_normal(3.2, 0.0, PRESENT + 1.0)
    test.update(one, at, np.ones(1), lambda X: (np.tile(one.y, (len(X), 1)), np.tile(one.H, (len(X), 1, 1))), evidence)
    assert test.running.names[test.running.best(0)] == "near"
    assert np.exp(test.running.log_weight[0]).sum() == pytest.approx(1.0)
    assert P[0, 0] == PRESENT
