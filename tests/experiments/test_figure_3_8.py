"""T Fig. 3.8, 3.9, 3.11: predicted uncertainty against the scatter of errors."""

import json

import numpy as np
import pytest

from experiments import figure_3_8 as figure


@pytest.fixture(scope="module")
def result():
    return figure.FIGURE_3_8.run(quick=True)


def rows_of(result, name):
    return [row for row in result.rows if row["calibrated_to"] == name]


def test_predicted_ellipses_match_the_scatter(result):
    for row in rows_of(result, figure.POSE):
        # Of 90 to 360 intervals with long tails: half axes to a third, so areas to a factor of two.
        assert 0.5 < row["area_ratio"] < 2.0
        assert row["predicted_yaw"] == pytest.approx(row["sample_yaw"], rel=0.5)
        assert 0.88 < row["inside_95"] <= 1.0


def test_uncertainty_grows_with_time_and_most_across_the_track(result):
    rows = rows_of(result, figure.POSE)
    for name in ("sample_major", "predicted_major", "sample_yaw", "predicted_yaw"):
        assert rows[0][name] < rows[1][name] < rows[2][name]


def test_noise_calibrated_to_velocities_is_far_too_small(result):
    for row in rows_of(result, figure.VELOCITY):
        assert row["area_ratio"] < 0.3
        assert row["predicted_yaw"] < 0.6 * row["sample_yaw"]
        assert row["inside_95"] < 0.75


def test_a_high_gate_is_conservative(result):
    for low, high in zip(rows_of(result, figure.POSE), rows_of(result, figure.CONSERVATIVE), strict=True):
        assert high["rejected"] <= low["rejected"]
        assert high["area_ratio"] >= 0.99 * low["area_ratio"]
    assert rows_of(result, figure.POSE)[0]["rejected"] > 0
    assert rows_of(result, figure.CONSERVATIVE)[0]["area_ratio"] > 2.0


def test_rows_are_plain_json_and_a_picture_is_drawn(result, tmp_path):
    assert json.loads(json.dumps(result.to_json()))["rows"] == result.rows
    result.plot(tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 10_000


def test_axes_of_an_ellipse_are_found():
    turn = np.radians(30.0)
    R = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    covariance = R @ np.diag([4.0, 0.25]) @ R.T
    assert figure.axes_of(covariance) == pytest.approx((2.0, 0.5, 30.0))
