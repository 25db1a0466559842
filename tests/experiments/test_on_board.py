"""The experiment on board: its table, and what the monitor finds of digs that it has not seen before."""

import json

import pytest

from experiments.__main__ import run


@pytest.fixture(scope="module")
def table():
    import contextlib
    import io

    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        assert run(["on-board", "--quick", "--json"]) == 0
    return json.loads(said.getvalue())


def test_every_scenario_of_the_issue_is_there_with_its_band(table):
    rows = {row["name"]: row for row in table["rows"] if row["nees"] is not None}
    wanted = (
        "moving start",
        "slow slide",
        "20 m of ramp",
        "one wheel lost",
        "one wheel 40 %",
        "one hour parked",
        "outage",
    )
    for part in wanted:
        assert any(part in name for name in rows), part
    for name, row in rows.items():
        low, high = row["band"]
        assert row["inside"] == (low <= row["nees"] <= high), name
        assert row["nees"] < 2.0 * high, name  # too small a covariance is the fault that hurts


def test_digs_are_found_in_time_with_a_second_source_of_speed(table):
    row = next(row for row in table["rows"] if row["name"] == "monitor: IMU, current, visual")
    assert row["within"] >= 0.97
    assert row["false_stuck_per_h"] == 0.0
