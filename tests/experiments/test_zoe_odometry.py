"""Zoë over ramps: 3D odometry holds where 2D turns, to either side as the ramps lie."""

import json

import numpy as np
import pytest

from experiments import zoe_course as course
from experiments.zoe_odometry import ZOE_ODOMETRY, drive_course, odometry_along, planted_zoe
from grouser.simulation import Status


@pytest.fixture(scope="module")
def result():
    calls = []
    result = ZOE_ODOMETRY.run(quick=True, progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (5, 5)
    return result


def row(result, wheels, odometry):
    return next(r for r in result.rows if (r["wheels"], r["odometry"]) == (wheels, odometry))


def test_the_json_has_rows_and_the_papers_beside_them(result):
    data = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert {r["wheels"] for r in data["rows"]} == {"left", "right"}
    assert result.paper_row(row(result, "left", "3D calibrated"))["yaw_max"] == 2.5


@pytest.mark.parametrize("side", ["left", "right"])
def test_calibrated_in_3d_a_lap_stays_within_what_the_paper_allows_for_more_than_three(result, side):
    best = row(result, side, "3D calibrated")
    assert best["position_max"] < 0.75
    assert best["yaw_max"] < 2.5


def test_odometry_in_2d_turns_the_way_of_the_paper_and_to_the_other_side_with_the_ramps(result):
    # Four ramps turn the rover by 1 to 2° each, which wheels and steering do not show.
    left, right = (row(result, side, "2D exact geometry")["yaw_end"] for side in ("left", "right"))
    assert 4.0 < left < 8.0
    assert -8.0 < right < -4.0


@pytest.mark.parametrize("side", ["left", "right"])
def test_contact_angles_are_what_makes_3d_better_than_2d(result, side):
    flat, zero, known = (
        row(result, side, name)["yaw_max"] for name in ("2D exact geometry", "3D angles zero", "3D calibrated")
    )
    assert zero > 0.8 * flat  # T: with angles of zero it is no better
    assert known < 0.5 * zero


def test_calibration_finds_the_planted_radius_and_zeros(result):
    # The mean radius is 0.322; tyres slip by some thousandths. Zeros of 0.1° each: their difference is what turns.
    # The drive over ramps amplifies rounding: on five kinds of processors it came out as −0.16° ± 0.02°.
    for fits in result.settings["calibrated"].values():
        assert fits["3D"]["radius"] == pytest.approx(0.322, abs=0.001)
        assert fits["3D"]["s1.yaw"] - fits["3D"]["s2.yaw"] == pytest.approx(-np.radians(0.2), abs=np.radians(0.1))


def test_angles_known_from_the_ramps_are_those_of_the_contacts():
    drive = drive_course(1, 12.0, seed=3)
    run = drive.run
    assert run.status is Status.OK
    car = planted_zoe()
    known = course.angles_on_ramps(car, run.time, run.rpy[:, :2], run.joints)
    true = run.contact.angle[: len(run.time)]
    climbing = true[:, 0] < -0.4
    assert climbing.sum() > 50  # the front left wheel climbs for two seconds and more
    assert np.median(known[climbing, 0] - true[climbing, 0]) == pytest.approx(0.0, abs=np.radians(3.0))
    # The right wheels stay on ground that is nearly level.
    assert np.abs(known[:, 1] - true[:, 1]).max() < np.radians(4.0)


def test_ramps_on_the_other_side_mirror_the_known_angles():
    car = planted_zoe()
    time = np.arange(0.0, 2.0, 0.04)
    roll = np.linspace(0.0, 0.2, len(time))
    joints = np.zeros((len(time), car.n_joints))
    joints[:, car.joint_index("r2")] = -roll  # the rear axle stays level
    left = course.angles_on_ramps(car, time, np.column_stack([roll, 0.0 * roll]), joints)
    right = course.angles_on_ramps(car, time, np.column_stack([-roll, 0.0 * roll]), -joints)
    assert left[-1, 0] < -0.5  # left side up: the front left wheel climbs, its contact is ahead
    assert left[-1, 1:] == pytest.approx(0.0, abs=1e-9)
    assert right[:, [1, 0, 3, 2]] == pytest.approx(left)


def test_perfect_sensors_on_level_ground_would_need_no_ramps(monkeypatch):
    monkeypatch.setattr(course, "RAMPS", ())
    drive = drive_course(1, 15.0, seed=4)
    track = odometry_along(drive, planted_zoe(zeros=True), planar=True)
    assert track.values["yaw_max"] < 1.0
    assert track.values["position_max"] < 0.1


def test_the_plot_is_written(result, tmp_path):
    path = tmp_path / "zoe.png"
    result.plot(path)
    assert path.read_bytes()[:4] == b"\x89PNG"
