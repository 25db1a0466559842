"""Units, signs, lags, counts and positions become SI signals at the samples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from log_drives import RADIUS, drive, manifest, rows, write

import grouser as gr
from grouser.errors import LogError
from grouser.logs.signals import differenced, unlag


def read(tmp_path: Path, columns: dict[str, np.ndarray], **changes: Any) -> gr.Log:
    return gr.read_log(write(tmp_path / "a.csv", rows(columns)), manifest=manifest(**changes))


@pytest.mark.parametrize(
    ("unit", "factor"),
    [("rpm", 60.0 / (2.0 * np.pi)), ("deg/s", 180.0 / np.pi), ("mrad/s", 1e3), ("rev/s", 0.5 / np.pi)],
)
def test_units_of_a_rate(unit: str, factor: float, tmp_path: Path) -> None:
    columns = drive()
    true = columns["wl"].copy()
    columns["wl"] = -true * factor
    log = read(tmp_path, columns, rates={j: {"column": "wl", "unit": unit, "sign": -1} for j in ("FL", "BL")})
    np.testing.assert_allclose(log.rates["FL"], true, rtol=1e-12)


@pytest.mark.parametrize(("unit", "factor"), [("ms", 1e3), ("us", 1e6), ("ns", 1e9)])
def test_units_of_time(unit: str, factor: float, tmp_path: Path) -> None:
    columns = drive()
    true = columns["t"].copy()
    columns["t"] = true * factor
    log = read(tmp_path, columns, time={"unit": unit})
    np.testing.assert_allclose(log.time, true, rtol=0.0, atol=1e-9)


def test_counts_and_positions_give_the_rate_at_the_sample(tmp_path: Path) -> None:
    # A rate that rises evenly is met exactly by central differences, except at the two ends.
    columns = drive()
    t = columns["t"]
    angle = 1.0 * t + 0.05 * t**2
    columns["count"] = np.diff(angle, prepend=angle[0]) * 100.0
    columns["angle"] = angle
    log = read(
        tmp_path,
        columns,
        rates={
            "FL": {"column": "count", "kind": "increment", "scale": 0.01},
            "FR": {"column": "angle", "kind": "position"},
        },
        limits={"check_units": False},
    )
    for joint in ("FL", "FR"):
        np.testing.assert_allclose(log.rates[joint][1:-1], 1.0 + 0.1 * t[1:-1], rtol=0.0, atol=1e-9)
        np.testing.assert_allclose(log.rates[joint], 1.0 + 0.1 * t, rtol=0.0, atol=0.01)


def test_counts_add_up_to_the_distance(tmp_path: Path) -> None:
    columns = drive()
    t = columns["t"]
    rolled = np.cumsum(columns["wl"]) * 0.05
    columns["count"] = np.diff(rolled, prepend=rolled[0])
    log = read(tmp_path, columns, rates={"FL": {"column": "count", "kind": "increment"}})
    assert np.trapezoid(log.rates["FL"], t) == pytest.approx(rolled[-1] - rolled[0], abs=RADIUS * 0.05)


def test_missing_count_spoils_its_two_neighbours_only() -> None:
    time, segment = np.arange(8) * 0.1, np.zeros(8, dtype=np.int64)
    increment = np.full(8, 0.2)
    increment[4] = np.nan
    rate = differenced(increment, time, segment, "increment")
    assert np.flatnonzero(np.isnan(rate)).tolist() == [3, 4]
    np.testing.assert_allclose(rate[~np.isnan(rate)], 2.0)


def test_no_rate_is_made_across_a_gap(tmp_path: Path) -> None:
    columns = drive()
    columns["angle"] = columns["t"].copy()
    columns["angle"][300:] += 1000.0
    columns["t"][300:] += 5.0
    log = read(tmp_path, columns, rates={"FL": {"column": "angle", "kind": "position"}}, limits={"check_units": False})
    np.testing.assert_allclose(log.rates["FL"], 1.0, rtol=0.0, atol=1e-9)


def test_late_signal_is_put_back_and_the_ends_without_a_value_are_dropped(tmp_path: Path) -> None:
    columns = drive()
    true = columns["wl"].copy()
    columns["wl"] = np.interp(columns["t"] - 0.1, columns["t"], true)
    log = read(tmp_path, columns, rates={j: {"column": "wl", "lag": 0.1} for j in ("FL", "BL")})
    assert len(log) == 598
    np.testing.assert_allclose(log.rates["FL"], true[:598], rtol=0.0, atol=1e-9)
    assert next(iter(log.report.rejected)).startswith("rates.FL (column wl) has no sample at t − lag")


def test_lag_is_never_taken_out_across_segments() -> None:
    time = np.array([0.0, 0.1, 0.2, 5.0, 5.1, 5.2])
    signal = np.array([0.0, 1.0, 2.0, 50.0, 51.0, 52.0])
    shifted = unlag(signal, time, np.array([0, 0, 0, 1, 1, 1]), 0.1)
    np.testing.assert_allclose(shifted, [1.0, 2.0, np.nan, 51.0, 52.0, np.nan])


def test_gyro_may_have_the_other_sign_and_holes(tmp_path: Path) -> None:
    columns = drive()
    columns["g"] = np.ones(600)
    columns["g"][5] = np.nan
    log = read(tmp_path, columns, gyro={"z": {"column": "g", "sign": -1, "unit": "deg/s"}})
    assert log.gyro is not None
    assert len(log) == 600
    assert np.isnan(log.gyro[:, :2]).all()
    assert np.isnan(log.gyro[5, 2])
    assert log.gyro[0, 2] == pytest.approx(-np.pi / 180.0)


WRONG_BY = {
    "rates in mrad/s": (dict.fromkeys(("wl", "wr"), 1000.0), r"column wl and column wr: .* are the rates in mrad/s\?"),
    "one rate in mrad/s": ({"wr": 1000.0}, r"a.csv, \[rates\] FR, BR: column wr: .* are the rates in mrad/s\?"),
    "rates in rpm": (dict.fromkeys(("wl", "wr"), 9.549), r"are the rates in rpm\?"),
    "rates in deg/s": (dict.fromkeys(("wl", "wr"), 57.3), r"are the rates in deg/s\?"),
    "pose in mm": (dict.fromkeys("xy", 1000.0), r"is the pose \(column x and column y\) in mm\?"),
    "time in ms": ({"t": 1000.0}, r"rows come 50 s apart by time column 't' in s.* is its unit ms\?"),
}


@pytest.mark.parametrize(("factors", "message"), WRONG_BY.values(), ids=WRONG_BY.keys())
def test_wrong_unit_is_found_and_named(factors: dict[str, float], message: str, tmp_path: Path) -> None:
    columns = drive()
    for name, factor in factors.items():
        columns[name] = columns[name] * factor
    with pytest.raises(LogError, match=message):
        read(tmp_path, columns)


def test_one_glitch_does_not_look_like_a_wrong_unit(tmp_path: Path) -> None:
    columns = drive(120.0)
    columns["wl"][1000] = 5e4
    log = read(tmp_path, columns)
    assert len(log) == 2400
    assert len(read(tmp_path, columns, limits={"joint_rate": 100.0})) == 2399


def test_wheels_that_spin_in_place_are_read_if_the_manifest_says_so(tmp_path: Path) -> None:
    columns = drive()
    for name in ("x", "y", "yaw"):
        columns[name] = 1e-3 * np.sin(columns["t"])
    with pytest.raises(LogError, match="check_units = false"):
        read(tmp_path, columns)
    assert len(read(tmp_path, columns, limits={"check_units": False})) == 600


def test_wheel_that_never_turns_while_the_vehicle_moves_is_named(tmp_path: Path) -> None:
    columns = drive()
    columns["wl"][:] = 0.0
    with pytest.raises(LogError, match=r"column wl: the rate of wheel FL is zero throughout"):
        read(tmp_path, columns)
