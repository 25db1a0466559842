"""P's figures come out of the physics: a dynamic vehicle's slip is learned online by 13 parameters."""

import json

import numpy as np
import pytest

from experiments.slip_surface import SLIP_SURFACE


@pytest.fixture(scope="module")
def result():
    calls = []
    result = SLIP_SURFACE.run(quick=True, progress=lambda done, total: calls.append((done, total)))
    assert calls[-1][0] == calls[-1][1] == len(calls)
    return result


def test_the_json_has_rows_and_the_papers_beside_them(result):
    data = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert [row["error"] for row in data["rows"]] == ["along track", "cross track", "heading"]
    assert all(result.paper_row(row) for row in result.rows)
    assert data["settings"]["quick"] is True


def test_online_calibration_removes_more_than_half_of_every_error_and_most_of_the_heading(result):
    reduction = {row["error"]: row["reduction_percent"] for row in result.rows}
    assert reduction["along track"] > 50.0
    assert reduction["cross track"] > 55.0
    assert reduction["heading"] > 75.0
    for row in result.rows:
        assert row["converged"] < row["uncalibrated"]


def test_the_vehicle_turns_too_little_and_slips_downhill(result):
    slip = result.settings["slip"]
    assert -0.75 < slip["slip.a10"] < -0.4
    assert slip["slip.a4"] > 0.0
    assert slip["slip.a8"] > 0.0
    assert abs(slip["slip.a9"]) < 0.05  # left and right alike


def test_longer_calibration_predicts_the_rest_better(result):
    curve = [one["mean"] for one in result.settings["held_out"]]
    assert curve[-1] < 0.6 * curve[0]


def test_the_noise_is_a_covariance_and_predicts_the_scatter_within_a_factor(result):
    assert np.linalg.eigvalsh(result.settings["noise"])[0] > 0.0
    for row in result.rows:
        assert 0.4 < row["predicted"] / row["online"] < 2.5


def test_the_plot_is_written(result, tmp_path):
    path = tmp_path / "slip.png"
    result.plot(path)
    assert path.read_bytes()[:4] == b"\x89PNG"
