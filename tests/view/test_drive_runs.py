"""A log as drawable runs: of a simulated drive, what is drawn is that drive again."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import pytest

import grouser as gr
from grouser.calibration import log_of_run
from grouser.kinematics import frame_poses
from grouser.logs import Log
from grouser.logs.log import Sensor
from grouser.odometry.compare import Compared
from grouser.odometry.judge import judge
from grouser.odometry.log import odometry_of
from grouser.view import drive

SENSOR = Sensor(x=0.4, y=-0.2, z=0.6, yaw=0.7, lag=0.12)
SLIP = gr.slip.BodySlip([0.0, -0.05, 0.0, 0.0, 0.01, -0.3])


def truth(ground: gr.terrain.Terrain, duration: float = 8.0) -> gr.Run:
    model = gr.Kinematics(gr.vehicle("warthog"), slip=SLIP)
    return gr.simulate(model, ground, gr.drive.arc(1.0, 0.4), duration=duration)


def compared(log: Log) -> Compared:
    slipping = gr.MotionModel(model=gr.Kinematics(gr.vehicle("warthog"), slip=SLIP), sensor=log.sensor)
    run, plain = odometry_of(slipping, log), odometry_of("warthog", log)
    judged, baseline = (judge(one, log, log.sensor) for one in (run, plain))
    return Compared(slipping, run, False, plain, judged, baseline)


@pytest.fixture(scope="module")
def tilted() -> tuple[gr.Run, Log, Compared]:
    run = truth(gr.terrain.slope(deg=5.0, heading_deg=40.0))
    log = log_of_run(run, sensor=SENSOR)
    return run, log, compared(log)


def decoded(array: dict[str, Any]) -> np.ndarray:
    kinds = {"f8": np.float64, "f4": np.float32}
    return np.frombuffer(base64.b64decode(array["base64"]), kinds[array["type"]]).reshape(array["shape"])


def test_measured_vehicle_stands_where_the_simulated_one_stood(tilted: tuple[gr.Run, Log, Compared]) -> None:
    """The sensor sits aside, turned and above, and is late; the body under it is found again."""
    run, log, both = tilted
    assert both.judged is not None
    wheels = drive.wheels_of(log, run.vehicle, drive.longest_drive(both.run))
    drawn = drive.measured_run(both.run, run.vehicle, wheels, both.judged, log.sensor)
    assert len(drawn.time) > 60
    # The odometry begins at the first state, at the origin along x; so does the run, but for the height.
    for state, t in zip(drawn.state, drawn.time, strict=True):
        k = round(t / run.dt)
        assert run.time[k] == pytest.approx(t, abs=1e-9)
        _, hubs = frame_poses(run.vehicle, state)
        _, there = frame_poses(run.vehicle, run.state[k])
        np.testing.assert_allclose(hubs, there - run.position[0], rtol=0.0, atol=1e-3)


def test_slip_and_wheel_angles_are_those_of_the_simulation(tilted: tuple[gr.Run, Log, Compared]) -> None:
    run, log, both = tilted
    rows = drive.longest_drive(both.run)
    wheels = drive.wheels_of(log, run.vehicle, rows)
    drawn = drive.odometry_run(both.run, run.vehicle, wheels, rows)

    def at(t: np.ndarray, values: np.ndarray) -> np.ndarray:
        return np.stack([np.interp(t, run.time, column) for column in values.reshape(len(run.time), -1).T], axis=1)

    inside = slice(2, -2)
    t = drawn.time[inside]
    np.testing.assert_allclose(drawn.joints[inside], at(t, run.joints - run.joints[0]), rtol=0.0, atol=5e-3)
    slip = run.contact.velocity[..., :2]
    assert np.abs(slip).max() > 0.1
    found = drawn.contact.velocity[..., :2].reshape(len(drawn.time), -1)[inside]
    np.testing.assert_allclose(found, at(t, slip), rtol=0.0, atol=5e-3)
    # That of the poses is smoothed over a second: a turn of 0.3 rad/s hardly changes in that time.
    assert both.judged is not None
    measured = drive.measured_run(both.run, run.vehicle, wheels, both.judged, log.sensor)
    middle = slice(10, -10)
    found = measured.contact.velocity[..., :2].reshape(len(measured.time), -1)[middle]
    np.testing.assert_allclose(found, at(measured.time[middle], slip), rtol=0.0, atol=0.02)


def test_plane_is_fitted_to_the_way_or_lies_below_it(tilted: tuple[gr.Run, Log, Compared]) -> None:
    run, log, both = tilted
    rows = drive.longest_drive(both.run)
    wheels = drive.wheels_of(log, run.vehicle, rows)
    drawn = drive.odometry_run(both.run, run.vehicle, wheels, rows)
    ground = drive.fitted_ground(drawn)
    assert ground.kind == "slope"
    assert "no map: plane of 5.0° fitted to the path, residual 0.00 m rms" in ground.description
    points = drawn.contact.point.reshape(-1, 3)
    np.testing.assert_allclose(ground.sample(points[:, 0], points[:, 1]).height, points[:, 2], rtol=0.0, atol=2e-3)
    assert ground.settings["heading_deg"] == pytest.approx(40.0, abs=0.5)

    points[:, 2] += 0.8 * np.sin(2.0 * points[:, 0]) * np.sin(2.0 * points[:, 1])
    below = drive.fitted_ground(drawn)
    points[:, 2] -= 0.8 * np.sin(2.0 * points[:, 0]) * np.sin(2.0 * points[:, 1])
    assert below.kind == "plane"
    assert "level plane below the path, whose height varies by" in below.description


def test_scene_says_how_much_of_a_long_log_is_drawn(
    tilted: tuple[gr.Run, Log, Compared], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, log, both = tilted
    assert both.judged is not None
    monkeypatch.setattr(drive, "MOST_ROWS", 50)
    scene = drive.odometry_scene(log, both, name="calibrated odometry")
    assert [one["name"] for one in scene["runs"]] == ["calibrated odometry", "plain odometry", "measured poses"]
    assert [one["drawn"] for one in scene["runs"]] == [50, 50, 50]
    assert [one["rows"] for one in scene["runs"]] == [len(log), len(log), len(both.judged.time)]
    assert (scene["poses"][0]["drawn"], scene["poses"][0]["total"]) == (50, len(log))
    way = float(both.run.path[-1])
    assert scene["runs"][0]["distance"] == way  # of all samples, not of the chords between those drawn
    for one in scene["runs"]:
        time = decoded(one["time"])
        assert np.all(np.diff(time) > 0.0)
        assert time[0] < 0.2
        assert time[-1] > 7.6


def test_plot_is_of_the_distance_that_is_judged(tilted: tuple[gr.Run, Log, Compared]) -> None:
    """Plain odometry turns too far; how far it is off is what `judge` says, but for the arm of the sensor."""
    _, log, both = tilted
    assert both.baseline is not None
    scene = drive.odometry_scene(log, both)
    good, plain, _ = scene["runs"]
    assert [one["plots"][0]["key"] for one in (good, plain)] == ["apart", "apart"]
    off = decoded(plain["plots"][0]["whole"])
    end = np.flatnonzero(np.isfinite(off))[-1]
    assert both.baseline.end_error > 0.5
    assert off[end] == pytest.approx(both.baseline.end_error, abs=0.45 * abs(both.baseline.yaw_error) + 0.05)
    assert np.nanmax(decoded(good["plots"][0]["whole"])) < 0.02


def test_plain_odometry_is_not_drawn_twice_and_no_poses_are_no_harm(tilted: tuple[gr.Run, Log, Compared]) -> None:
    _, log, both = tilted
    assert both.plain is not None
    alone = Compared(both.motion, both.plain, False, both.plain, both.baseline, both.baseline)
    assert [one["name"] for one in drive.odometry_scene(log, alone, name="plain odometry")["runs"]] == [
        "plain odometry", "measured poses",
    ]  # fmt: skip
    blind = drive.odometry_scene(log, Compared(both.motion, both.run, False), name="odometry")
    assert [one["name"] for one in blind["runs"]] == ["odometry"]
    assert len(blind["poses"]) == 1
