"""The monitor on a few drives of the experiment's simulator, which shares no code with Grouser."""

import numpy as np
import pytest

from experiments import on_board_rover
from experiments.on_board_monitor import judge
from experiments.on_board_rover import simulate


def test_the_truth_shares_no_code_with_grouser():
    with open(on_board_rover.__file__, encoding="utf-8") as file:
        assert "grouser" not in file.read().replace("Shares no code with Grouser", "").lower()


@pytest.mark.parametrize("seed", [3000, 3001, 3002, 3003])
def test_digs_are_found_with_visual_speed(seed):
    outcome = judge(simulate(seed, duration=170.0, digs=2), ("visual",))
    assert max(outcome.latency) < 1.5
    assert outcome.false["stuck"] == 0


def test_an_alarm_without_a_dig_is_false_and_a_missed_dig_is_late():
    truth = simulate(3000, duration=170.0, digs=2)
    nothing = on_board_rover.Truth(**{**vars(truth), "digs": []})
    assert judge(nothing, ("visual",)).false["stuck"] == 2
    calm = simulate(3001, duration=170.0)
    moved = on_board_rover.Truth(**{**vars(calm), "digs": [(100.0, 108.0)]})
    assert judge(moved, ("visual",)).latency == [np.inf]


def test_ten_minutes_of_normal_driving_raise_no_alarm_of_motion():
    outcome = judge(simulate(8000, duration=600.0), ("visual",))
    assert outcome.false["stuck"] == outcome.false["sliding"] == 0


def test_changes_of_ground_are_noticed_and_nothing_else():
    """Two drives of 20 min, 30 changes: at most one alarm that is none, most changes found within 5 s of driving."""
    found = [judge(simulate(seed, duration=1200.0), ()) for seed in (8100, 8101)]
    assert sum(one.false["ground_changed"] - one.late for one in found) <= 1
    assert sum(one.noticed_driving for one in found) > 0.5 * sum(one.changes for one in found)


def test_late_and_repeated_alarms_of_the_ground_are_counted_as_false():
    truth = simulate(8100, duration=600.0)
    none = on_board_rover.Truth(**{**vars(truth), "grounds": truth.grounds[:1]})
    outcome, without = judge(truth, ()), judge(none, ())
    assert outcome.noticed > 0
    assert without.false["ground_changed"] >= outcome.noticed
    assert without.late == without.noticed == without.noticed_driving == 0
