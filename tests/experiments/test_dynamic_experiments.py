"""The dynamic experiments come out of the physics: quick versions show every trend the full ones do."""

import json

import numpy as np
import pytest

from experiments.catalog import EXPERIMENTS

NAMES = ("table-2.6", "table-2.7", "traction-loss", "rollover", "figure-8")


@pytest.fixture(scope="module")
def results():
    found = {}
    for name in NAMES:
        calls = []
        found[name] = EXPERIMENTS[name].run(quick=True, progress=lambda *at, calls=calls: calls.append(at))
        assert calls[-1][0] == calls[-1][1] == len(calls)
    return found


def column(result, by, name, value):
    return {row["dt"]: row[value] for row in result.rows if row[by] == name}


@pytest.mark.parametrize("name", NAMES)
def test_the_json_has_rows_and_the_papers_beside_them(results, name):
    data = json.loads(json.dumps(results[name].to_json(), allow_nan=False))
    assert set(data) == {"name", "rows", "paper", "notes", "settings"}
    assert data["name"] == name
    assert data["settings"]["quick"] is True
    columns = set(data["rows"][0])
    assert all(set(row) == columns for row in data["rows"])
    assert all(set(row) <= columns for row in data["paper"])
    assert all(results[name].paper_row(row) or name not in ("table-2.6", "table-2.7") for row in data["rows"])


@pytest.mark.parametrize("name", NAMES)
def test_the_plot_is_written(results, name, tmp_path):
    path = tmp_path / "result.png"
    results[name].plot(path)
    assert path.read_bytes()[:4] == b"\x89PNG"


def test_no_terrain_fails_at_any_step(results):
    for name in ("table-2.6", "table-2.7", "figure-8"):
        assert all(row["failed"] == 0 for row in results[name].rows)


def test_forces_cost_more_than_kinematics_and_every_model_beats_the_printed_cost(results):
    rows = results["table-2.6"].rows
    us = {(row["model"], row["dt"]): row["us_per_step"] for row in rows}
    for model in ("erp/cfm", "piecewise-linear", "pacejka", "terramechanics"):
        assert us[model, 0.04] > us["kinematic", 0.04]
        assert us[model, 0.04] < results["table-2.6"].paper_row({"model": model, "dt": 0.04})["us_per_step"]
    for row in rows:
        assert row["realtime_factor"] == pytest.approx(1e6 * row["dt"] / row["us_per_step"])


@pytest.mark.parametrize("contact", ["piecewise-linear", "pacejka", "terramechanics"])
def test_the_error_grows_with_the_step_and_stays_centimetres_after_10_metres(results, contact):
    result = results["table-2.7"]
    position = list(column(result, "contact", contact, "position_error").values())
    yaw = list(column(result, "contact", contact, "yaw_error").values())
    assert position[0] == yaw[0] == 0.0
    assert (np.diff(position) > 0.0).all()
    assert position[-1] < 0.06
    assert yaw[-1] < 0.015


def test_newton_needs_one_iteration_where_friction_is_linear_and_about_two_where_it_is_not(results):
    result = results["table-2.7"]
    assert column(result, "contact", "piecewise-linear", "iterations")[0.04] == pytest.approx(1.0, abs=0.1)
    for contact in ("pacejka", "terramechanics"):
        assert 1.5 < column(result, "contact", contact, "iterations")[0.04] < 2.7


def test_force_falls_beyond_the_critical_slip(results):
    for row in results["traction-loss"].rows:
        if row["critical_slip"] is not None:
            assert row["critical_slip"] == pytest.approx(0.38, abs=0.02)
            # Locked wheels keep 93 % of the peak, spinning ones at slip 6 keep 77 %.
            assert row["force_there"] < 0.95 * row["peak_force"]
    assert sum(row["critical_slip"] is not None for row in results["traction-loss"].rows) == 2


def test_yaw_stability_is_lost_with_traction(results):
    rows = {(row["case"], row["phase"]): row for row in results["traction-loss"].rows}
    for case in ("straight", "turning"):
        rolling = rows[case, "rolling"]["yaw_sensitivity"]
        assert 0.0 < rolling < 0.03
        for phase in ("accelerating", "braking"):
            assert rows[case, phase]["yaw_sensitivity"] > 10.0 * rolling
    assert rows["turning", "braking"]["largest_sideslip_deg"] > 30.0
    assert rows["straight", "braking"]["largest_sideslip_deg"] < 1e-6


def test_both_heights_lift_wheels_and_only_the_high_one_rolls_over_and_goes_on(results):
    low, high = results["rollover"].rows
    assert (low["cg_height"], high["cg_height"]) == (0.83, 1.25)
    assert low["wheels_lifted"] >= 1
    assert high["wheels_lifted"] >= 3
    assert low["rolled_over"] is False
    assert high["rolled_over"] is True
    assert low["largest_tilt_deg"] < 5.0
    # The assumed damping of the tyres decides: with a tenth of it the thesis's four wheels and more lift, and settle.
    assert low["wheels_lifted"] <= low["wheels_lifted_at_0.01_s"] < low["wheels_lifted_at_0.005_s"]
    assert low["wheels_lifted_at_0.005_s"] >= 4
    for row in (low, high):
        assert row["finite"]
        assert row["status"] == "ok"


def test_cost_falls_and_error_grows_with_the_step(results):
    result = results["figure-8"]
    load = list(column(result, "variant", "exact", "load").values())
    error = list(column(result, "variant", "exact", "position_error").values())
    assert (np.diff(load) < 0.0).all()
    assert (np.diff(error) > 0.0).all()
    assert error[-1] < 0.02  # per metre


def test_approximations_change_the_end_by_less_than_the_step_of_a_tenth(results):
    result = results["figure-8"]
    coarse = column(result, "variant", "exact", "position_error")[0.10]
    for variant in ("fixed inertia", "single-body bias", "both"):
        error = column(result, "variant", variant, "position_error")
        assert 0.0 < error[0.005] < coarse
