"""Odometry that learns slip while it drives: made-up drives whose slip changes, the covariance of what was learned."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from changing_drives import FIRST, SECOND, SENSOR, drive

import grouser as gr
from grouser.calibration.adapt import Learned, learned_along
from grouser.errors import OdometryError
from grouser.logs import Log
from grouser.motion import Bicycle, Corrected, Perturbative
from grouser.motion.fit import Fit
from grouser.motion.model import MotionModel
from grouser.motion.schedule import Schedule, carried
from grouser.odometry import Odometry
from grouser.odometry.judge import judge
from grouser.odometry.log import odometry_of
from grouser.odometry.systematic import Growth, Knowledge

NAMES = ["slip.a1", "slip.a9", "slip.a10"]


@cache
def fit() -> Fit:
    """Of the first ground."""
    motion = MotionModel(model=Perturbative(vehicle=gr.vehicle("warthog")), sensor=SENSOR)
    return gr.calibrate(motion, drive(200.0, FIRST, seed=0), [*NAMES, "noise"])


@cache
def changing(seed: int) -> tuple[Log, Learned]:
    """A drive of 200 s on the first ground, then the second, and what is learned on it."""
    log = drive(200.0, FIRST, SECOND, seed=seed)
    return log, learned_along(fit(), log)


def moved(log: Log, after: float) -> Log:
    """The log with other poses after a time [s]."""
    late = log.poses.time > after
    position, attitude = log.poses.position.copy(), log.poses.attitude.copy()
    position[late, :2] *= 1.3
    attitude[late, 2] += 0.3 * (log.poses.time[late] - after)
    return replace(log, poses=replace(log.poses, position=position, attitude=attitude))


def until(log: Log, end: float) -> Log:
    """The log without its poses after a time [s]."""
    early = log.poses.time <= end
    names = ("time", "position", "attitude", "segment")
    return replace(log, poses=replace(log.poses, **{name: getattr(log.poses, name)[early] for name in names}))


def test_on_ground_that_changes_half_way_it_ends_far_closer_than_the_fit() -> None:
    """In the 4 to 6 s until the change is noticed both err alike; the factor measured over six seeds is 7."""
    ends, nees = [], []
    for seed in (2, 3, 4):
        log, learned = changing(seed)
        assert len(learned.changes) == 1
        change = learned.changes[0]
        assert change.since == pytest.approx(100.0, abs=2.1)
        assert change.since < change.time <= 110.0
        adapting = judge(odometry_of(fit(), log, schedule=learned.schedule), log, SENSOR)
        fixed = judge(odometry_of(fit(), log), log, SENSOR)
        ends.append((adapting.end_error, fixed.end_error))
        nees += adapting.stretches[-8:].tolist()  # at the second ground for 100 s, of which these are the last 80 m
    adapting_end, fixed_end = np.mean(ends, axis=0)
    assert adapting_end < 0.25 * fixed_end
    assert 0.3 < np.mean(nees) < 1.6
    estimated: Any = learned.schedule.models[-1].model
    assert estimated.slip[[0, 8, 9]] == pytest.approx(SECOND, abs=0.01)


def test_poses_after_a_time_change_nothing_before_it() -> None:
    log, learned = changing(2)
    run = odometry_of(fit(), log, schedule=learned.schedule)
    for other in (moved(log, 60.0), until(log, 60.0)):
        schedule = learned_along(fit(), other).schedule
        again = odometry_of(fit(), other, schedule=schedule)
        before = log.time <= 60.0
        np.testing.assert_array_equal(again.states[before], run.states[before])
        np.testing.assert_array_equal(again.covariance[before], run.covariance[before])
        assert np.abs(again.position - run.position)[~before].max() > 0.1


def test_what_is_learned_holds_from_the_end_of_its_interval_on() -> None:
    log, learned = changing(2)
    first = learned.schedule.first
    assert learned.intervals == len(learned.schedule) == 100
    assert log.time[first[:4]] == pytest.approx([2.0, 4.0, 6.0, 8.0])
    # A pose stamped before it was true is compared with samples that come later.
    early = fit().model.replace(sensor=replace(SENSOR, lag=-0.3))
    schedule = learned_along(replace(fit(), model=early), log).schedule
    assert log.time[schedule.first[:4]] == pytest.approx([2.3, 4.3, 6.3, 8.3])


def test_without_poses_it_is_the_odometry_of_the_fit() -> None:
    log = until(changing(2)[0], -1.0)
    learned = learned_along(fit(), log)
    assert len(learned.schedule) == learned.intervals == 0
    adapting, fixed = odometry_of(fit(), log, schedule=learned.schedule), odometry_of(fit(), log)
    np.testing.assert_array_equal(adapting.states, fixed.states)
    np.testing.assert_array_equal(adapting.covariance, fixed.covariance)


def test_poses_correct_neither_position_nor_yaw() -> None:
    """Models of the fit's own values leave its path as it is, whatever was learned of their covariance."""
    log, learned = changing(3)
    same = replace(learned.schedule, models=(fit().model,) * len(learned.schedule))
    fixed = odometry_of(fit(), log)
    np.testing.assert_array_equal(odometry_of(fit(), log, schedule=same).states, fixed.states)


def test_learned_slip_narrows_the_covariance_of_what_follows() -> None:
    """After 60 s on one ground the yaw of a stretch is known better than from the fit, whose ground was another."""
    log, learned = changing(2)
    adapting, fixed = odometry_of(fit(), log, schedule=learned.schedule), odometry_of(fit(), log)
    until_80 = int(np.searchsorted(log.time, 80.0))
    yaw = [np.sqrt(run.covariance[until_80, 3, 3]) for run in (adapting, fixed)]
    assert yaw[0] < 0.8 * yaw[1]
    assert (np.linalg.eigvalsh(adapting.covariance[until_80::50])[:, 0] > -1e-12).all()


def test_on_other_grounds_errors_are_consistent_once_it_has_learned() -> None:
    """Grounds drawn with the spread that is assumed between them; the first 20 m, before it has, are left out."""
    random = np.random.default_rng(5)
    adapting, fixed = [], []
    for seed in range(100, 112):
        slip = np.array(FIRST) + np.array([0.1, 0.03, 0.1]) * random.standard_normal(3)
        log = drive(80.0, tuple(slip), seed=seed)
        schedule = learned_along(fit(), log).schedule
        adapting += judge(odometry_of(fit(), log, schedule=schedule), log, SENSOR).stretches[2:].tolist()
        fixed += judge(odometry_of(fit(), log), log, SENSOR).stretches[2:].tolist()
    assert 0.5 < np.mean(adapting) < 1.3
    assert np.mean(fixed) > 10.0


def test_a_schedule_of_another_fit_is_refused() -> None:
    log, learned = changing(2)
    other = replace(learned.schedule, parameters=("slip.a1", "slip.a9", "slip.a13"))
    with pytest.raises(OdometryError, match="schedule: is not of the parameters of this fit"):
        odometry_of(fit(), log, schedule=other)


def test_the_error_that_is_left_after_learning_is_that_of_a_kalman_filter() -> None:
    """Slip that stays, measured twice: E[e₂ | e₁] by regression over many drawn filters."""
    random = np.random.default_rng(1)
    root = random.standard_normal((2, 2))
    P1 = root @ root.T
    H, R = np.array([[1.0, 0.4]]), 0.3
    K = P1 @ H.T / (H @ P1 @ H.T + R)
    P2 = P1 - K @ H @ P1
    e1 = random.multivariate_normal(np.zeros(2), P1, 400_000)
    e2 = e1 - (e1 @ H.T + np.sqrt(R) * random.standard_normal((len(e1), 1))) @ K.T
    by_regression = np.linalg.lstsq(e1, e2, rcond=None)[0].T
    A = carried(P1, P2, np.zeros(2, bool))
    assert by_regression == pytest.approx(A, abs=0.01)
    np.testing.assert_allclose(A @ P1, P2, rtol=1e-6)
    # Parameters that wandered keep their old error; on another ground it is forgotten, where it belongs to the ground.
    assert carried(P2, P1, np.zeros(2, bool)) == pytest.approx(np.eye(2), abs=1e-9)
    assert carried(np.diag([1.0, 2.0]), np.diag([0.5, 1.0]), np.array([True, False])) == pytest.approx(
        np.diag([0.0, 0.5]), abs=1e-9
    )


def test_growth_is_the_double_sum_over_epochs() -> None:
    """Errors e₀, e₁, e₂ of epochs with cov(e_j, e_k) = P of the later one: C = Σ Σ J_j cov(e_j, e_k) J_kᵀ."""
    random = np.random.default_rng(2)
    P = np.array([np.diag([4.0, 9.0]), np.diag([1.0, 4.0]), np.diag([0.5, 1.0])])
    left = np.array([np.eye(2), *(carried(a, b, np.zeros(2, bool)) for a, b in pairwise(P))])
    known = Knowledge(parameters=("a", "b"), fitted=(), first=np.array([0, 3, 5]), covariance=P, carried=left)
    # A pose that moves in x, y; slopes of yaw and of position as sums of steps D_i, turned by what follows.
    place = np.concatenate([np.zeros((1, 3)), np.cumsum(random.standard_normal((7, 3)), axis=0)])
    steps = random.standard_normal((8, 4, 2))

    def turned(i: int, j: int) -> np.ndarray:
        phi = np.eye(4)
        phi[0, 3], phi[1, 3] = -(place[j] - place[i])[1], (place[j] - place[i])[0]
        return phi

    steps[0] = 0.0
    slopes = np.array([sum(turned(i, j) @ steps[i] for i in range(j + 1)) for j in range(8)])
    growth = Growth(known)
    growth.begin(place[0], slopes[0], 0)
    found = np.concatenate(
        [growth.follow(place[a:b], slopes[a:b], known.epoch(np.arange(a, b))) for a, b in ((0, 2), (2, 6), (6, 8))]
    )
    for j in range(8):
        epochs = known.epoch(np.arange(j + 1))
        parts = [
            sum((turned(i, j) @ steps[i] for i in range(j + 1) if epochs[i] == k), np.zeros((4, 2))) for k in (0, 1, 2)
        ]
        expected = sum(parts[a] @ P[max(a, b)] @ parts[b].T for a in range(3) for b in range(3))
        assert found[j] == pytest.approx(expected, abs=1e-9)


def going(kind: str) -> Any:
    """A model whose streaming odometry has this kind of memory."""
    robot = gr.vehicle("warthog")
    if kind == "last steering angle":
        return Bicycle(vehicle=gr.vehicle("recbot"), steering_offset=0.02)
    if kind == "last second":
        slip, correction, reach = np.full(13, 0.01), np.full(5, 0.7), (1.5, 0.8, 1.0, 0.6)
        widths = (0.03, 0.02, 0.05)
        return Corrected(vehicle=robot, slip=slip, terms=(1, 2, 3), widths=widths, reach=reach, correction=correction)
    return gr.Kinematics(robot) if kind == "wheels" else Perturbative(vehicle=robot, slip=np.full(13, 0.01))


@pytest.mark.parametrize("kind", ["wheels", "surface", "last steering angle", "last second"])
def test_with_the_same_model_an_odometry_goes_on_as_if_nothing_had_happened(kind: str) -> None:
    model = going(kind)
    joints = model.vehicle.n_joints
    t = np.linspace(0.0, 1.95, 40)
    random = np.random.default_rng(3)
    rates, angles = 3.0 + random.standard_normal((40, joints)), 0.2 * random.standard_normal((40, joints))
    angles[15:20] = np.nan  # the last ones are kept
    attitude = 0.1 * random.standard_normal((40, 2))
    whole = Odometry(model).run(t, rates, angles, attitude)
    first = Odometry(model)
    parts = [first.run(t[:17], rates[:17], angles[:17], attitude[:17])]
    second = first.continued(model)
    counted = first.faults
    assert second.faults == counted
    parts.append(second.run(t[17:], rates[17:], angles[17:], attitude[17:]))
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    assert first.faults == counted  # the first one stays as it is
    assert first.estimate is not None
    assert first.estimate.time == t[16]


def test_another_vehicle_cannot_go_on() -> None:
    with pytest.raises(OdometryError, match="whose joints are not those of this odometry"):
        Odometry("warthog").continued(gr.Kinematics(gr.vehicle("lru2")))


def test_a_schedule_knows_what_belongs_to_the_ground() -> None:
    learned: Schedule = changing(2)[1].schedule
    assert learned.of_ground.all()
    assert learned.parameters == tuple(NAMES)
    (anew,) = np.flatnonzero(learned.new_ground)
    assert 51 <= anew <= 54
