"""T Table 2.5: the stepped force balance and a stiff solver make the same prediction, at very different cost."""

import json

import pytest

from experiments.catalog import EXPERIMENTS


@pytest.fixture(scope="module")
def result():
    return EXPERIMENTS["table-2.5"].run(quick=True)


def test_every_method_reaches_the_end(result):
    assert [row["dt"] for row in result.rows[:5]] == [0.01, 0.02, 0.04, 0.10, 0.20]
    assert all(row["status"] == "ok" for row in result.rows)
    data = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert {"method", "dt", "position_error", "yaw_error", "seconds", "iterations"} <= set(data["rows"][0])


def test_the_stiff_solver_agrees_within_a_tenth_of_a_metre_after_39(result):
    # Both are measured against the DAE at dt 0.01, so the two may be as far apart as the sum.
    dae = next(row for row in result.rows if row["dt"] == 0.04)
    for solver in result.rows[5:]:
        assert dae["position_error"] + solver["position_error"] < 0.1


def test_the_step_is_far_cheaper_even_if_an_evaluation_cost_the_solver_a_whole_step(result):
    dae = next(row for row in result.rows if row["dt"] == 0.04)
    for solver in result.rows[5:]:
        assert solver["evaluations"] > 15 * dae["evaluations"]


def test_the_plot_is_written(result, tmp_path):
    result.plot(tmp_path / "table.png")
    assert (tmp_path / "table.png").read_bytes()[:4] == b"\x89PNG"
