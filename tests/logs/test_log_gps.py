"""GPS fixes as poses: WGS-84 to metres, datum, fixes that are none, sigmas, headings."""

from __future__ import annotations

import math
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from log_drives import drive, rows, write
from log_hills import bare, hills

import grouser as gr
from grouser.errors import LogError
from grouser.logs.fixes import ecef, enu
from grouser.logs.manifest import load_manifest
from grouser.logs.skeleton import layout, skeleton

A, B = 6378137.0, 6356752.314245179
"""Half-axes of the WGS-84 ellipsoid [m]."""


def vincenty(start: tuple[float, float], stop: tuple[float, float]) -> float:
    """Length of the geodesic between two places (latitude, longitude) [deg] by Vincenty's inverse formula [m]."""
    f = (A - B) / A
    u1, u2 = (math.atan((1 - f) * math.tan(math.radians(place[0]))) for place in (start, stop))
    away = lam = math.radians(stop[1] - start[1])
    for _ in range(100):
        s = math.hypot(
            math.cos(u2) * math.sin(lam),
            math.cos(u1) * math.sin(u2) - math.sin(u1) * math.cos(u2) * math.cos(lam),
        )
        c = math.sin(u1) * math.sin(u2) + math.cos(u1) * math.cos(u2) * math.cos(lam)
        sigma = math.atan2(s, c)
        sin_a = math.cos(u1) * math.cos(u2) * math.sin(lam) / s
        cos2 = 1 - sin_a**2
        middle = c - 2 * math.sin(u1) * math.sin(u2) / cos2 if cos2 > 1e-12 else 0.0
        k = f / 16 * cos2 * (4 + f * (4 - 3 * cos2))
        lam = away + (1 - k) * f * sin_a * (sigma + k * s * (middle + k * c * (2 * middle**2 - 1)))
    e2 = cos2 * (A**2 - B**2) / B**2
    big = 1 + e2 / 16384 * (4096 + e2 * (-768 + e2 * (320 - 175 * e2)))
    small = e2 / 1024 * (256 + e2 * (-128 + e2 * (74 - 47 * e2)))
    inner = middle + small / 4 * c * (2 * middle**2 - 1)
    return B * big * (sigma - small * s * inner)


def geodetic(place: np.ndarray) -> tuple[float, float, float]:
    """Latitude, longitude [deg], height [m] of an earth-centred position, by iteration."""
    across, e2 = math.hypot(place[0], place[1]), 1 - (B / A) ** 2
    phi, height = math.atan2(place[2], across * (1 - e2)), 0.0
    for _ in range(50):
        n = A**2 / math.sqrt((A * math.cos(phi)) ** 2 + (B * math.sin(phi)) ** 2)
        height = across / math.cos(phi) - n
        phi = math.atan2(place[2], across * (1 - e2 * n / (n + height)))
    return math.degrees(phi), math.degrees(math.atan2(place[1], place[0])), height


def fixes(columns: dict[str, np.ndarray], datum: tuple[float, float, float]) -> dict[str, np.ndarray]:
    """The columns with latitude, longitude, altitude instead of x, y, z."""
    phi, lam = math.radians(datum[0]), math.radians(datum[1])
    n = A**2 / math.sqrt((A * math.cos(phi)) ** 2 + (B * math.sin(phi)) ** 2)
    origin = np.array([(n + datum[2]) * math.cos(phi) * math.cos(lam), (n + datum[2]) * math.cos(phi) * math.sin(lam),
                       (n * (B / A) ** 2 + datum[2]) * math.sin(phi)])  # fmt: skip
    east = np.array([-math.sin(lam), math.cos(lam), 0.0])
    up = np.array([math.cos(phi) * math.cos(lam), math.cos(phi) * math.sin(lam), math.sin(phi)])
    north = np.cross(up, east)
    z = columns.get("z", np.zeros_like(columns["x"]))
    found = [
        geodetic(origin + x * east + y * north + h * up) for x, y, h in zip(columns["x"], columns["y"], z, strict=True)
    ]
    rest = {name: column for name, column in columns.items() if name not in ("x", "y", "z")}
    return {**rest, **dict(zip(("lat", "lon", "alt"), np.array(found).T, strict=True))}


@pytest.mark.parametrize("place", [(47.3769, 8.5417), (-33.9, 151.2), (0.01, -0.01), (78.2, 15.6), (60.0, 179.9999)])
def test_metres_agree_with_the_geodesic(place: tuple[float, float]) -> None:
    for north, east in ((1e-3, 0.0), (0.0, 1e-3), (-7e-4, 9e-4)):
        other = (place[0] + north, place[1] + east)
        lat, lon, up = (np.array([value]) for value in (*other, 0.0))
        moved = enu(lat, lon, up, (*place, 0.0))[0]
        # A chord of 100 m is shorter than its arc by 1e-9 m.
        assert float(np.linalg.norm(moved)) == pytest.approx(vincenty(place, other), abs=1e-4)
        assert math.copysign(1.0, moved[0]) == math.copysign(1.0, east) or east == 0.0
        assert math.copysign(1.0, moved[1]) == math.copysign(1.0, north) or north == 0.0


def test_earth_centred_position_goes_back_to_the_same_angles() -> None:
    for place in ((47.0, 8.0, 500.0), (-12.0, -77.0, 3000.0), (85.0, 120.0, -20.0)):
        lat, lon, up = (np.array([value]) for value in place)
        assert geodetic(ecef(lat, lon, up)[0]) == pytest.approx(place, abs=1e-8)


def test_height_is_up_and_the_date_line_is_no_jump() -> None:
    lat, lon, up = np.array([10.0, 10.0, 10.0]), np.array([179.99995, -179.99995, 180.0]), np.array([5.0, 5.0, 12.0])
    moved = enu(lat, lon, up, (10.0, 180.0, 5.0))
    np.testing.assert_allclose(moved[:2, 0], [-5.48, 5.48], rtol=0.0, atol=0.01)
    np.testing.assert_allclose(moved[2], [0.0, 0.0, 7.0], rtol=0.0, atol=1e-6)


DATUM = (47.3769, 8.5417, 430.0)
GPS: dict[str, Any] = {"latitude": "lat", "longitude": "lon", "altitude": "alt", "yaw": "yaw", "fresh": "k"}


def test_fixes_become_the_poses_they_were_made_from(tmp_path: Path) -> None:
    columns = hills(1, 40.0)
    path = write(tmp_path / "a.csv", rows(fixes(columns, DATUM)))
    log = gr.read_log(path, manifest=bare(pose={**GPS, "datum": list(DATUM)}))
    local = gr.read_log(
        write(tmp_path / "b.csv", rows(columns)),
        manifest=bare(pose={"x": "x", "y": "y", "z": "z", "yaw": "yaw", "fresh": "k"}),
    )
    np.testing.assert_allclose(log.poses.position, local.poses.position, rtol=0.0, atol=1e-6)
    assert log.poses.datum == DATUM
    assert log.report.problems == ()
    assert log.part(0.0, 20.0).poses.datum == DATUM


def test_first_fix_is_the_datum_of_all_files(tmp_path: Path) -> None:
    found = fixes(hills(1, 20.0), DATUM)
    files = []
    for k, half in enumerate((slice(0, 200), slice(200, 400))):
        files.append(write(tmp_path / f"{k}.csv", rows({name: column[half] for name, column in found.items()})))
    log = gr.read_log(files, manifest=bare(pose=GPS))
    assert log.poses.datum == (found["lat"][0], found["lon"][0], found["alt"][0])
    np.testing.assert_allclose(log.poses.position[0], 0.0, rtol=0.0, atol=1e-9)
    steps = np.linalg.norm(np.diff(log.poses.position[:, :2], axis=0), axis=1)
    assert steps.max() < 0.5, "the second file goes on where the first one ended"


def test_what_is_no_fix_is_left_out_and_is_no_datum(tmp_path: Path) -> None:
    found = fixes(hills(1, 20.0), DATUM)
    found["status"] = np.zeros(400)
    found["status"][100:120] = -1.0
    found["lat"][:10], found["lon"][:10] = 0.0, 0.0
    found["lat"][50:60] = 99.0
    path = write(tmp_path / "a.csv", rows(found))
    log = gr.read_log(path, manifest=bare(pose={**GPS, "status": "status"}))
    assert np.abs(log.poses.position).max() < 100.0
    (rejected,) = (one for why, one in log.report.rejected_poses.items() if why.startswith("no GPS fix"))
    assert rejected.count == 40
    found["status"][:] = -1.0
    with pytest.raises(LogError, match=r"a.csv: has no GPS fix \(column lat\)"):
        gr.read_log(write(path, rows(found)), manifest=bare(pose={**GPS, "status": "status"}))


def test_sigmas_of_poses_are_read_and_filled_with_those_of_the_sensor(tmp_path: Path) -> None:
    columns = hills(1, 20.0)
    columns["var"] = np.where(np.arange(400) < 200, 0.04, 0.0)
    columns["dev"] = np.full(400, 2.0)
    pose = {
        "x": "x", "y": "y", "yaw": "yaw", "fresh": "k", "sigma_x": {"column": "var", "unit": "m^2"},
        "sigma_yaw": {"column": "dev", "unit": "deg"},
    }  # fmt: skip
    log = gr.read_log(write(tmp_path / "a.csv", rows(columns)), manifest=bare(pose=pose))
    assert log.poses.sigma is not None
    np.testing.assert_allclose(log.poses.sigma[0], [0.2, 0.01, math.radians(2.0)])
    np.testing.assert_allclose(log.poses.sigma[-1], [0.01, 0.01, math.radians(2.0)])
    assert log.part(0.0, 5.0).poses.sigma is not None
    table = log.poses.to_pandas()
    assert table.attrs["units"]["sigma_yaw"] == "rad"
    assert table["sigma_x"].iloc[0] == pytest.approx(0.2)
    plain = gr.read_log(tmp_path / "a.csv", manifest=bare())
    assert plain.poses.sigma is None


def test_heading_is_clockwise_from_north(tmp_path: Path) -> None:
    columns = hills(1, 40.0)
    columns["hdg"] = np.degrees(0.5 * np.pi - columns["yaw"]) % 360.0
    pose = {"x": "x", "y": "y", "heading": {"column": "hdg", "unit": "deg"}, "fresh": "k"}
    log = gr.read_log(write(tmp_path / "a.csv", rows(columns)), manifest=bare(pose=pose))
    plain = gr.read_log(tmp_path / "a.csv", manifest=bare())
    off = log.poses.attitude[:, 2] - plain.poses.attitude[:, 2]
    np.testing.assert_allclose(np.remainder(off + 1.0, 2.0 * np.pi) - 1.0, 0.0, rtol=0.0, atol=1e-9)
    assert log.report.problems == ()
    columns["hdg"] = np.degrees(columns["yaw"])
    with pytest.raises(LogError, match=r"\[pose\] heading: .* grows counter-clockwise.* name it yaw"):
        gr.read_log(write(tmp_path / "a.csv", rows(columns)), manifest=bare(pose=pose))


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no heading": ({"latitude": "lat", "longitude": "lon"}, r"needs yaw, heading or a quaternion.*single GPS antenna"),
    "no longitude": ({"latitude": "lat", "yaw": "yaw"}, "needs longitude"),
    "both": ({**GPS, "x": "x"}, "has both latitude and x"),
    "two headings": ({"x": "x", "y": "y", "yaw": "yaw", "heading": "h"}, "has both yaw and heading"),
    "datum": ({**GPS, "datum": [100.0, 0.0, 0.0]}, "datum is the latitude"),
    "datum without GPS": ({"x": "x", "y": "y", "yaw": "yaw", "datum": [1.0, 2.0, 3.0]}, "of a GPS log"),
    "altitude": ({"x": "x", "y": "y", "yaw": "yaw", "altitude": "alt"}, "altitude belongs to"),
    "no y": ({"x": "x", "yaw": "yaw"}, "needs y"),
}


@pytest.mark.parametrize(("pose", "message"), WRONG.values(), ids=WRONG.keys())
def test_wrong_table_is_refused_in_one_sentence(pose: dict[str, Any], message: str) -> None:
    with pytest.raises(LogError, match=rf"table \[pose\]: .*{message}"):
        load_manifest(bare(pose=pose))


def test_draft_of_a_gps_log(tmp_path: Path) -> None:
    columns = drive(5.0)
    there = {
        "t": columns["t"],
        "wl": columns["wl"],
        "Lat": columns["x"],
        "LON": columns["y"],
        "heading": columns["yaw"],
    }
    tables = tomllib.loads(skeleton(layout(write(tmp_path / "a.csv", rows(there)))))
    assert tables["pose"] == {
        "latitude": "Lat", "longitude": "LON", "heading": {"column": "heading", "unit": "deg"}
    }  # fmt: skip
