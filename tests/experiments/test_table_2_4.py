"""T Table 2.4 comes out of the physics: the quick version shows every trend the full one does."""

import json

import numpy as np
import pytest

from experiments.catalog import EXPERIMENTS

DAE = "stabilized DAE"
NEWTON = "unconstrained (Newton)"
NELDER_MEAD = "unconstrained (Nelder-Mead)"


@pytest.fixture(scope="module")
def result():
    calls = []
    result = EXPERIMENTS["table-2.4"].run(quick=True, progress=lambda done, total: calls.append((done, total)))
    assert calls[-1][0] == calls[-1][1] == len(calls)
    return result


def column(result, method, name):
    return {row["dt"]: row[name] for row in result.rows if row["method"] == method}


def test_every_row_is_there_with_every_value(result):
    assert list(column(result, DAE, "dt")) == [0.01, 0.02, 0.04, 0.10, 0.20]
    assert list(column(result, NEWTON, "dt")) == [0.04, 0.10, 0.20]
    assert list(column(result, NELDER_MEAD, "dt")) == [0.20]
    for row in result.rows:
        assert row["failed"] == 0
        assert row["us_per_step"] > 0.0
        assert all(np.isfinite(row[name]) for name in ("contact_speed", "position_error", "yaw_error"))


def test_constrained_wheels_slip_at_least_30_percent_less(result):
    dae, fitted = column(result, DAE, "contact_speed"), column(result, NEWTON, "contact_speed")
    assert dae[0.04] < 0.7 * fitted[0.04]


def test_contact_speed_grows_with_the_step_in_both_methods(result):
    for method in (DAE, NEWTON):
        assert (np.diff(list(column(result, method, "contact_speed").values())) > 0.0).all()


def test_the_constrained_error_grows_with_the_step(result):
    error = column(result, DAE, "position_error")
    assert error[0.01] == 0.0
    assert (np.diff(list(error.values())) > 0.0).all()
    assert error[0.02] < 0.02
    assert error[0.20] < 0.35


def test_the_unconstrained_error_is_half_a_metre_at_every_step(result):
    error = list(column(result, NEWTON, "position_error").values())
    # The spread over terrains is 0.25 m (100 seeds), so the mean of three is known to ±0.15 m.
    assert error == pytest.approx([0.5] * 3, abs=0.3)
    # The path is the commanded one whatever the step; only the sampled pitch shortens it a little differently.
    assert np.ptp(error) < 1e-3
    assert np.ptp(list(column(result, NEWTON, "yaw_error").values())) < 1e-9


def test_fitting_costs_more_than_constraints_and_nelder_mead_far_more(result):
    us = {method: column(result, method, "us_per_step")[0.20] for method in (DAE, NEWTON, NELDER_MEAD)}
    assert us[DAE] < us[NEWTON]
    assert us[NELDER_MEAD] > 20.0 * us[DAE]


def test_the_json_has_rows_and_the_papers_beside_them(result):
    data = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert set(data) == {"name", "rows", "paper", "notes", "settings"}
    assert data["name"] == "table-2.4"
    wanted = {"method", "dt", "contact_speed", "position_error", "yaw_error", "us_per_step"}
    assert all(wanted <= set(row) for row in data["rows"])
    assert all(wanted == set(row) for row in data["paper"])
    assert result.paper_row({"method": DAE, "dt": 0.04})["contact_speed"] == 0.0721
    assert "0.0721" in result.table()


def test_the_plot_is_written(result, tmp_path):
    path = tmp_path / "table.png"
    result.plot(path)
    assert path.read_bytes()[:4] == b"\x89PNG"
