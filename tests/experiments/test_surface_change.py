"""A change of ground: the test on planted numbers, the border on a planted crossing, and real runs."""

from __future__ import annotations

import numpy as np
import pytest

import grouser as gr
from experiments.surface_change import SURFACE_CHANGE
from experiments.surface_change_border import best_line, find_border
from experiments.surface_change_data import MANIFEST, Drive, files, twist_of_rates
from experiments.surface_change_test import ChangeTest, find_changes

TEST = ChangeTest()
LEVEL, SIGMA = np.array([0.8, 0.2]), np.array([0.07, 0.10])


def windows(count: int, seed: int) -> np.ndarray:
    """Independent windows about a level, with the spread that the test expects."""
    return LEVEL + SIGMA * np.random.default_rng(seed).normal(size=(count, 2))


def test_on_one_ground_false_alarms_are_as_rare_as_promised() -> None:
    """At most one an hour; a Poisson count of mean 3 exceeds 7 once in 84 tries, and ours is rarer than promised."""
    hours = 3
    alarms, _ = find_changes(windows(int(hours * 3600 / TEST.window), 1), TEST)
    assert len(alarms) <= 7


@pytest.mark.parametrize("shift", [(-0.3, 0.0), (0.0, 0.5), (-0.3, 0.5), (0.3, -0.5), (0.15, -0.25)])
def test_a_change_is_found_within_a_second_whichever_way_it_goes(shift: tuple[float, float]) -> None:
    late = []
    for seed in range(60):
        x = windows(80, seed)
        x[40:] += shift
        alarms, _ = find_changes(x, TEST)
        late.append((alarms[0] - 39) * TEST.window if alarms else np.inf)
    early = sum(one <= 0.0 for one in late)
    assert early <= 1
    assert np.median(late) <= 1.0 if min(map(abs, shift)) < 0.2 else np.mean(np.array(late) <= 1.0) > 0.9


def test_one_or_two_wild_windows_are_no_change() -> None:
    x = windows(60, 3)
    x[30], x[31] = LEVEL + 40.0 * SIGMA, LEVEL - 40.0 * SIGMA
    assert find_changes(x, TEST)[0] == []
    x[30:32] = LEVEL + 40.0 * SIGMA
    assert find_changes(x, TEST)[0] == []


def test_an_alarm_depends_on_nothing_that_comes_after_it() -> None:
    x = windows(80, 5)
    x[40:] += (-0.3, 0.5)
    alarms, statistic = find_changes(x, TEST)
    k = alarms[0]
    early, before = find_changes(x[: k + 1], TEST)
    assert early == [k]
    np.testing.assert_array_equal(before, statistic[: k + 1])


def test_the_ratio_of_likelihoods_is_one_on_average_where_nothing_changes() -> None:
    """What the promise rests on; bounded from above it is below one."""
    from experiments.surface_change_test import Usual, advance

    usual, out = Usual(LEVEL, np.zeros(2), SIGMA**2), np.zeros((2, 2))

    def mean_ratios(shifts: np.ndarray, seed: int) -> np.ndarray:
        total = np.zeros(len(shifts))
        for x in windows(20_000, seed):
            R = np.zeros(len(shifts))
            advance(R, shifts, *usual.off(x), out)  # (1 + 0) e^λ
            total += R
        return total / 20_000

    small = np.array([[0.05, 0.0], [0.0, -0.1], [-0.05, 0.1]])
    np.testing.assert_allclose(mean_ratios(small, 7), 1.0, rtol=0.0, atol=0.03)
    assert mean_ratios(TEST.hypotheses, 8).max() < 1.05


def planted(border: float, seed: int) -> Drive:
    """A run along x that crosses a border, each driven wheel changing its current and its part of the speed."""
    rng = np.random.default_rng(seed)
    n, dt = 120, 0.1
    time = 0.6 + dt * np.arange(n)
    centre = np.stack([-1.7 + 0.08 * time, np.full(n, -1.5)], axis=1)
    wheels = centre[:, None] + gr.vehicle("robotino").wheel_positions[None, :, :2]
    over = (wheels[:, :, 0] > border).astype(float)
    current = 0.5 + 0.4 * over + 0.06 * rng.normal(size=(n, 3))
    ratio = 0.8 - 0.15 * over[:, 0] - 0.2 * over[:, 2] + 0.07 * rng.normal(size=n)
    return Drive(
        name="planted", changes=True, surface="a_b", direction=0.0, speed=0.1, time=time, ratio=ratio,
        wheel_current=current, rim_speed=np.full(n, 0.1), position=centre, wheels=wheels,
        driven=np.array([True, False, True]),
    )  # fmt: skip


def test_a_planted_border_is_found_with_its_uncertainty() -> None:
    drives = [planted(-1.2, seed) for seed in range(8)]
    borders = [find_border(drive, 0.1) for drive in drives]
    for one in borders:
        assert abs(one.offset + 1.2) < 4.0 * max(one.sigma, 0.01)
        assert abs(one.first - (1.7 - 1.2 - 0.0625) / 0.08) < 0.5
    assert best_line(drives, borders, 0.1).loss < 3.0 * 7  # these do share one line
    moved = [planted(-1.2 + 0.05 * k, 10 + k) for k in range(6)]
    found = [find_border(drive, 0.1) for drive in moved]
    assert best_line(moved, found, 0.1).loss > 3.0 * 5  # these do not


def test_the_stored_runs_are_read_with_currents_in_their_directions() -> None:
    forward, left = twist_of_rates()
    b = np.radians([60.0, 180.0, 300.0])
    known = np.linalg.inv(np.stack([-np.sin(b), np.cos(b), np.full(3, 0.125)], axis=1))[:2] * 0.04
    np.testing.assert_allclose([forward, left], known, rtol=0.0, atol=1e-12)
    log = gr.read_log(next(path for path in files() if path.stem == "green_table_exp32"), manifest=MANIFEST)
    assert log.report.rows == len(log) == 194
    assert set(log.currents) == {"W1", "W2", "W3"}
    assert 0.2 < np.mean(log.currents["W2"]) < 1.5
    assert not log.report.problems


def test_the_stored_changes_are_found_in_time_and_none_where_there_is_none() -> None:
    result = SURFACE_CHANGE.run(quick=True)
    assert result.summary["in_time"] == result.summary["runs"] == 3
    assert result.summary["false_alarms"] == 0
    surfaces = {row["surface"]: row for row in result.settings["surfaces"]}
    assert surfaces["table"]["slip"] < 0.2 < 0.35 < surfaces["green"]["slip"]
