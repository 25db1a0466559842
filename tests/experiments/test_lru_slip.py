"""L (5.35) comes back from 17 simulated drives, by the paper's own least squares; slip mends a long distance."""

import json

import numpy as np
import pytest

from experiments import lru_long_drive as long_drive
from experiments.lru_slip import DRIVES, ETNA, LRU_SLIP, drive_short
from grouser.kinematics import Kinematics
from grouser.slip import DriveFrameSlip
from grouser.vehicles import vehicle

PARAMETERS = ["p1", "p2", "p3", "p4", "p5", "p6"]


@pytest.fixture(scope="module")
def result():
    calls = []
    result = LRU_SLIP.run(quick=True, progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (18, 18)
    return result


def test_the_json_has_rows_and_the_papers_beside_them(result):
    data = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert [row["parameter"] for row in data["rows"][:6]] == PARAMETERS
    assert all(result.paper_row(row) for row in result.rows[:6])
    assert len(data["settings"]["drives"]) == 17


def test_the_planted_parameters_come_back(result):
    for row in result.rows[:6]:
        # Sideways slip is a few millimetres a drive, so p3 feels the step of the simulation most.
        assert row["estimate"] == pytest.approx(result.paper_row(row)["estimate"], abs=2e-3)


def test_five_steps_of_rate_seven_tenths_are_within_one_percent(result):
    for row in result.rows[:6]:
        assert row["after_5"] == pytest.approx(row["estimate"], abs=0.01 * 0.75)


def distance_error(result, name):
    return next(r["estimate"] for r in result.rows if r["parameter"] == f"distance error {name} [%]")


def test_slip_brings_the_error_of_a_long_drives_distance_below_two_percent(result):
    with_slip, without = (abs(distance_error(result, name)) for name in ("with slip", "without slip"))
    assert with_slip < 2.0
    assert without > 2.0 * with_slip


def test_the_long_drives_slip_is_learnt_from_its_soils_and_not_from_etna(result):
    p = np.array(result.settings["long_drive"]["slip_parameters"])
    # Uphill wheels slip by about as much as the slope: p1 is near 1 in both soils, in L's sign.
    assert 0.5 < p[0] < 1.5
    assert not np.allclose(p, ETNA, atol=0.05)


def test_a_crab_drive_slips_along_its_travel():
    i = next(k for k, (_, _, travel, _) in enumerate(DRIVES) if travel not in (0.0, 180.0))
    slope, heading, travel, _ = DRIVES[i]
    assert heading == 0.0
    rover = vehicle("lru1")
    plain = drive_short(Kinematics(rover), i, False)
    # Rolling resistance alone: a tenth less of the way, in the same direction. In the body's axes it would only take
    # from the way ahead.
    resisted = drive_short(Kinematics(rover, slip=DriveFrameSlip([0.0, -0.1, 0.0, 0.0, 0.0, 0.0])), i, False)
    way, less = (run.position[-1, :2] - run.position[0, :2] for run in (plain, resisted))
    assert np.degrees(np.arctan2(way[1], way[0] / np.cos(np.radians(slope)))) == pytest.approx(travel, abs=0.5)
    assert less == pytest.approx(0.9 * way, rel=5e-3)


def test_the_rounds_go_clockwise_and_are_long_enough():
    path = long_drive.rounds()
    assert path.length > long_drive.DISTANCE
    x, y = path.points.T
    # x points up the slope, y to the left: seen from above, left-handed rounds have a positive area.
    assert 0.5 * np.sum(x[:-1] * y[1:] - x[1:] * y[:-1]) < 0.0
    assert np.ptp(x) == pytest.approx(100.0)


def test_both_soils_lie_on_the_way():
    points = long_drive.rounds().points
    assert {long_drive.soil_at(*point) for point in points} == set(long_drive.SOILS)


def test_the_plot_is_written(result, tmp_path):
    path = tmp_path / "lru.png"
    result.plot(path)
    assert path.read_bytes()[:4] == b"\x89PNG"
