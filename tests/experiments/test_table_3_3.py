"""T Table 3.3: what calibration on a drive over steep slopes is worth."""

import dataclasses

import numpy as np
import pytest

from experiments import calibration_drives as drives
from experiments import table_3_3 as table
from experiments.online_calibration import learn
from grouser.kinematics import Kinematics
from grouser.vehicles import vehicle


@pytest.fixture(scope="module")
def result():
    return table.TABLE_3_3.run(quick=True)


@pytest.fixture(scope="module")
def position(result):
    return {row["model"]: row["position_error"] for row in result.rows}


def test_errors_fall_from_differential_drive_to_kinematics_with_slip(position):
    errors = [position[m] for m in (table.PLANAR, table.PLANAR_AFTER, table.SPATIAL, table.SPATIAL_AFTER)]
    assert errors == sorted(errors, reverse=True)


def test_gains_are_in_the_range_of_the_paper(position):
    after = position[table.SPATIAL_AFTER]
    assert 1.0 - after / position[table.PLANAR] > 0.5  # paper .57
    assert 0.15 < 1.0 - after / position[table.PLANAR_AFTER] < 0.35  # paper .23
    assert 0.1 < 1.0 - after / position[table.SPATIAL] < 0.35  # paper .18


def test_online_errors_are_within_15_percent_of_converged_ones(position):
    assert position[table.SPATIAL_ONLINE] < 1.15 * position[table.SPATIAL_AFTER]
    assert position[table.PLANAR_ONLINE] < 1.15 * position[table.PLANAR_AFTER]


def test_rows_are_those_of_the_paper_and_plain_json(result):
    import json

    assert [row["model"] for row in result.rows] == [row["model"] for row in result.paper]
    assert json.loads(json.dumps(result.to_json()))["rows"] == result.rows


def test_draws_a_picture(result, tmp_path):
    result.plot(tmp_path / "table.png")
    assert (tmp_path / "table.png").stat().st_size > 10_000


def test_an_online_prediction_knows_prior_intervals_only():
    log = drives.log_of_drive(drives.drive_crusher(40.0, 1), name="short")
    model, asked = Kinematics(vehicle("crusher")), {"density": table.DENSITY, "interval": 2.0}
    whole = learn(log, model, ["slip"], **asked)
    # The same drive with other poses after 20 s.
    late = log.poses.time > 20.0 + 1e-9
    moved = np.where(late[:, None], log.poses.position + np.array([3.0, -2.0, 0.0]), log.poses.position)
    other = dataclasses.replace(log, poses=dataclasses.replace(log.poses, position=moved))
    changed = learn(other, model, ["slip"], **asked)
    known = whole.intervals.times[:, 1] <= 20.0 + 1e-9
    assert 5 < np.count_nonzero(known) < len(known)
    np.testing.assert_array_equal(changed.online[known], whole.online[known])
    assert np.abs(changed.online[~known] - whole.online[~known]).max() > 0.1


def test_the_first_online_prediction_has_the_parameters_of_the_start():
    log = drives.log_of_drive(drives.drive_crusher(20.0, 2), name="short")
    learned = learn(log, Kinematics(vehicle("crusher")), ["slip"], density=table.DENSITY, interval=2.0)
    np.testing.assert_allclose(learned.online[0], learned.before[0], rtol=0.0, atol=1e-9)
    assert np.abs(learned.online[5:] - learned.before[5:]).max() > 1e-3


def test_drives_are_the_same_every_time_and_reach_what_the_paper_drove():
    run = drives.drive_crusher(60.0, 3)
    np.testing.assert_array_equal(drives.drive_crusher(60.0, 3).state, run.state)
    assert 3.0 < run.velocity[:, 3].max() < 6.5
    assert np.degrees(np.abs(run.rpy[:, :2])).max() > 8.0
    assert np.all(np.diff(run.time) > 0.0)
    # Joined stretches are one motion: no step is longer than the speed allows.
    assert np.linalg.norm(np.diff(run.position, axis=0), axis=1).max() < 8.0 * drives.DT
