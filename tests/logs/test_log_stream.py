"""A log as a stream of events: a jittered bag holds what the CSV of the drive holds; clocks and frames are said."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bag_drives import (
    CAMERA_PLACE,
    IMU_PLACE,
    LINKS,
    START,
    BagWriter,
    bag_manifest,
    columns,
    csv_manifest,
    write_bag,
    write_csv,
)

import grouser as gr
from grouser.errors import LogError
from grouser.logs.events import Event
from grouser.logs.manifest import load_manifest
from grouser.logs.stream import Stream, open_stream

pytest.importorskip("rosbags", reason="rosbags is not installed; it is in the extra [ros]")

JOINTS = gr.vehicle("warthog").joints


def stream(path: Path, tables: dict[str, Any]) -> Stream:
    manifest = load_manifest(tables)
    return open_stream(path, manifest, JOINTS, gr.read_log(path, manifest=manifest, strict=False))


def sorted_by_stamp(events: list[Event], kind: str) -> tuple[np.ndarray, np.ndarray]:
    chosen = sorted((one for one in events if one.kind == kind), key=lambda one: one.t)
    values = [np.concatenate([np.atleast_1d(v) for v in one.values]) for one in chosen]
    return np.array([one.t for one in chosen]), np.array(values)


@pytest.fixture(scope="module")
def drive() -> dict[str, np.ndarray]:
    return columns(8.0)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory, drive: dict[str, np.ndarray]) -> tuple[Stream, Stream]:
    folder = tmp_path_factory.mktemp("stream")
    bag = write_bag(folder / "bag", drive)
    return stream(write_csv(folder / "drive.csv", drive), csv_manifest()), stream(bag, bag_manifest())


def test_a_jittered_bag_sorted_by_stamp_is_the_csv(both: tuple[Stream, Stream]) -> None:
    """The IMU's axes are turned by tf; what is left is nanoseconds of the stamps."""
    rows, topics = ([*one.events()] for one in both)
    zero = both[1].zero
    assert zero == pytest.approx(START)
    for kind in ("imu", "joints"):
        (t_csv, csv), (t_bag, bag) = (sorted_by_stamp(events, kind) for events in (rows, topics))
        assert t_bag - zero == pytest.approx(t_csv, abs=1e-6)
        np.testing.assert_allclose(bag, csv, rtol=0.0, atol=1e-12)
    arrived = [one.arrived for one in topics]
    assert arrived == sorted(arrived)
    stamps = [one.t for one in topics]
    assert stamps != sorted(stamps)


def test_clocks_show_rate_delay_and_order(both: tuple[Stream, Stream]) -> None:
    list(both[1].events())
    clocks = {one.topic: one for one in both[1].clocks}
    imu = clocks["/imu"]
    assert imu.messages == 400
    assert imu.rate == pytest.approx(50.0, rel=1e-6)
    assert imu.offset == pytest.approx(0.04, abs=0.01)  # uniform from 0 to 0.08 s
    assert imu.jitter == pytest.approx(0.036, abs=0.005)
    assert 0.2 < imu.out_of_order < 0.8
    assert 0.02 <= imu.latest <= 0.08
    assert imu.frames == ("imu_link",)
    assert (imu.zeros, imu.duplicates, imu.jumps, imu.gaps) == (0, 0, 0, 0)
    assert any("after newer ones" in line for line in imu.remarks())


def test_the_chain_of_frames_is_said(both: tuple[Stream, Stream]) -> None:
    mount = both[1].mounts.imu
    assert mount.p_body_sensor == pytest.approx(IMU_PLACE)
    assert mount.said == "tf imu_link → mast → base_link"
    assert both[0].mounts.imu.p_body_sensor == pytest.approx(IMU_PLACE)


def test_a_missing_link_is_one_sentence(tmp_path: Path, drive: dict[str, np.ndarray]) -> None:
    bag = write_bag(tmp_path / "bag", drive, links=LINKS[1:])
    with pytest.raises(LogError, match=r"IMU, frame 'imu_link': tf does not join .* hangs on 'mast'.*imu_rpy") as said:
        stream(bag, bag_manifest())
    assert "\n" not in str(said.value)
    bag = write_bag(tmp_path / "other", drive, links=LINKS[2:])
    with pytest.raises(LogError, match=r"tf has no frame 'imu_link'; .*frames are base_link, camera_link"):
        stream(bag, bag_manifest())
    # The manifest comes before tf, and a robot without tf is taken as it is.
    given = stream(bag, bag_manifest(imu_position=[1.0, 2.0, 3.0], imu_rpy=[0.0, 0.0, 0.1]))
    assert given.mounts.imu.said == "by the manifest"
    none = stream(write_bag(tmp_path / "none", drive, links=None), bag_manifest())
    assert "assumed" in none.mounts.imu.said


def test_visual_odometry_of_a_camera_is_that_of_the_body(tmp_path: Path, drive: dict[str, np.ndarray]) -> None:
    """The camera sits ahead and looks 0.3 rad to the left; its world begins where it does."""
    bag = BagWriter()
    bag.static(LINKS)
    px, py, pz = CAMERA_PLACE
    for k, t in enumerate(drive["t"].tolist()):
        x, y, yaw = (float(drive[name][k]) for name in ("x", "y", "yaw"))
        bag.joints(t, t, drive["wl"][k], drive["wr"][k])
        c, s = math.cos(yaw), math.sin(yaw)
        bag.odometry("/vo", t, t + 0.03, (x + c * px - s * py, y + s * px + c * py, pz, yaw + 0.3), "camera_link")
    tables = bag_manifest(visual={"topic": "/vo"})
    for table in ("gyro", "acceleration", "pose"):
        del tables[table]
    opened = stream(bag.write(tmp_path / "bag"), tables)
    events = [one for one in opened.events() if one.kind == "pose"]
    assert opened.mounts.visual.said == "tf camera_link → base_link"
    for k, event in enumerate(events):
        position, quaternion, covariance, source = event.values
        assert position == pytest.approx([drive["x"][k], drive["y"][k], 0.0], abs=1e-9)
        assert 2.0 * math.atan2(quaternion[3], quaternion[0]) == pytest.approx(drive["yaw"][k], abs=1e-9)
        assert covariance is None
        assert source == "/vo"
    assert len(events) == len(drive["t"])


def gps_bag(path: Path, drive: dict[str, np.ndarray], kinds: list[int]) -> Path:
    """Fixes of a receiver at 46.5° N on an ellipsoid written again; one of each covariance type in turn."""
    a, e2 = 6378137.0, 6.69437999014e-3
    phi = math.radians(46.5)
    meridian = a * (1.0 - e2) / (1.0 - e2 * math.sin(phi) ** 2) ** 1.5
    across = a / math.sqrt(1.0 - e2 * math.sin(phi) ** 2) * math.cos(phi)
    bag = BagWriter()
    covariance = np.array([[4.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 9.0]])
    for k, t in enumerate(drive["t"].tolist()):
        bag.joints(t, t, drive["wl"][k], drive["wr"][k])
        if k % 10 == 0:
            place = 46.5 + math.degrees(drive["y"][k] / meridian), 7.5 + math.degrees(drive["x"][k] / across), 400.0
            bag.fix(t, t + 0.01, place, covariance, kinds[(k // 10) % len(kinds)])
    return bag.write(path)


def test_fixes_become_metres_east_and_north_with_the_covariance_they_give(
    tmp_path: Path, drive: dict[str, np.ndarray]
) -> None:
    tables = bag_manifest(gps={"topic": "/fix", "covariance_scale": 2.0, "noise": [5.0, 6.0, 7.0]})
    for table in ("gyro", "acceleration", "pose"):
        del tables[table]
    opened = stream(gps_bag(tmp_path / "bag", drive, [0, 2, 3]), tables)
    events = [one for one in opened.events() if one.kind == "gps"]
    assert opened.datum == pytest.approx((46.5, 7.5, 400.0))
    places = np.array([one.values[0] for one in events])
    assert places[:, :2] == pytest.approx(np.column_stack([drive["x"], drive["y"]])[::10], abs=1e-3)
    unknown, diagonal, known = (one.values[1] for one in events[:3])
    assert unknown == pytest.approx(np.diag([25.0, 36.0, 49.0]))
    assert diagonal == pytest.approx(2.0 * np.diag([4.0, 2.0, 9.0]))
    assert known == pytest.approx(2.0 * np.array([[4.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 9.0]]))


def test_stamps_of_zero_and_of_another_clock(tmp_path: Path, drive: dict[str, np.ndarray]) -> None:
    def bag(path: Path, shift: float | None) -> Path:
        made = BagWriter()
        for k, t in enumerate(drive["t"].tolist()):
            made.joints(t, t + 0.01, drive["wl"][k], drive["wr"][k])
            stamp = -float(START) if shift is None else t - shift
            made.pose("/truth", stamp, t + 0.01, drive["x"][k], drive["y"][k], drive["yaw"][k])
        return made.write(path)

    tables = bag_manifest(pose="pose")
    for table in ("gyro", "acceleration"):
        del tables[table]
    zero = stream(bag(tmp_path / "zero", None), tables)
    poses = [one for one in zero.events() if one.kind == "pose"]
    assert [one.t for one in poses] == pytest.approx(START + drive["t"] + 0.01, abs=1e-6)
    clock = next(one for one in zero.clocks if one.topic == "/truth")
    assert (clock.zeros, clock.offset) == (len(drive["t"]), None)
    assert "400 stamps are zero" in clock.remarks()[0]
    other = bag(tmp_path / "other", 3600.0)
    with pytest.raises(LogError, match=r'topic /truth: is stamped 3600.* two clocks; use stamp = "record"'):
        stream(other, tables)
    tables["time"] = {"stamp": "record"}
    recorded = [one for one in stream(tmp_path / "other", tables).events() if one.kind == "pose"]
    assert recorded[0].t == pytest.approx(START + 0.01)


def test_headings_of_a_compass_are_yaws(tmp_path: Path, drive: dict[str, np.ndarray]) -> None:
    """Clockwise from north in degrees, magnetic; north is 0.1 rad east of true north's opposite side."""
    data = {**drive, "compass": np.degrees(0.5 * np.pi - drive["yaw"] - 0.1)}
    tables = csv_manifest(heading={"label": "compass", "unit": "deg", "kind": "heading", "declination": 0.1})
    tables["labels"] = {"compass": "compass"}
    opened = stream(write_csv(tmp_path / "drive.csv", data), tables)
    events = [one for one in opened.events() if one.kind == "heading"]
    assert [one.values[0] for one in events] == pytest.approx(drive["yaw"], abs=1e-9)
    tables["labels"] = {}
    with pytest.raises(LogError, match=r"\[labels\] has no 'compass'"):
        list(stream(tmp_path / "drive.csv", tables).events())
