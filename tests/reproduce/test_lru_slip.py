"""L (5.35) comes back from 17 simulated drives, by the paper's own least squares."""

import json

import pytest

from grouser.reproduce.lru_slip import LRU_SLIP


@pytest.fixture(scope="module")
def result():
    calls = []
    result = LRU_SLIP.run(quick=True, progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (17, 17)
    return result


def test_the_json_has_rows_and_the_papers_beside_them(result):
    data = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert [row["parameter"] for row in data["rows"]] == ["p1", "p2", "p3", "p4", "p5", "p6"]
    assert all(result.paper_row(row) for row in result.rows)
    assert len(data["settings"]["drives"]) == 17


def test_the_planted_parameters_come_back(result):
    for row in result.rows:
        # Sideways slip is a few millimetres a drive, so p3 feels the step of the simulation most.
        assert row["estimate"] == pytest.approx(result.paper_row(row)["estimate"], abs=2e-3)


def test_five_steps_of_rate_seven_tenths_are_within_one_percent(result):
    for row in result.rows:
        assert row["after_5"] == pytest.approx(row["estimate"], abs=0.01 * 0.75)


def test_the_plot_is_written(result, tmp_path):
    path = tmp_path / "lru.png"
    result.plot(path)
    assert path.read_bytes()[:4] == b"\x89PNG"
