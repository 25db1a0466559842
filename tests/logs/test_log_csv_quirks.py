"""CSV files as people export them: each quirk has a key of the manifest, and check drafts it."""

from __future__ import annotations

import math
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from log_drives import drive, manifest

import grouser as gr
from grouser.errors import LogError
from grouser.logs.skeleton import layout, skeleton
from grouser.logs.units import unit_in, unit_word

NAMES = ("t", "wl", "wr", "roll", "pitch", "x", "y", "yaw")


def table(columns: dict[str, np.ndarray], delimiter: str = ",", *, end: str = "", digits: int = 12) -> list[str]:
    """The rows without a heading."""
    rows = zip(*(columns[name] for name in NAMES), strict=True)
    return [delimiter.join(f"{float(value):.{digits}g}" for value in row) + end for row in rows]


def save(path: Path, text: str, *, bom: bool = False, newline: str = "\n") -> Path:
    """A file with its last line ended."""
    path.write_bytes((b"\xef\xbb\xbf" if bom else b"") + text.replace("\n", newline).encode())
    return path


def assert_the_drive(log: gr.Log) -> None:
    columns = drive(10.0)
    np.testing.assert_allclose(log.elapsed, columns["t"], rtol=0.0, atol=1e-9)
    for joint, name in (("FL", "wl"), ("BR", "wr")):
        np.testing.assert_allclose(log.rates[joint], columns[name], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(log.poses.position[:, 0], columns["x"], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(log.poses.attitude[:, 2], columns["yaw"], rtol=1e-9, atol=1e-9)


def drafted(file: Path) -> dict[str, Any]:
    """The tables of the draft, for the Warthog."""
    found = tomllib.loads(skeleton(layout(file), gr.vehicle("warthog"), "warthog"))
    assert "FILL IN" not in str(found)
    return found


HEAD = ",".join(NAMES)
PLAIN: dict[str, tuple[str, dict[str, Any]]] = {
    "semicolons, and one at the end of the rows alone": (
        "\n".join([HEAD.replace(",", ";"), *table(drive(10.0), ";", end=";")]) + "\n", {"delimiter": ";"},
    ),
    "a delimiter at the end of the heading alone": (
        "\n".join([HEAD + ",", *table(drive(10.0))]) + "\n", {},
    ),
    "tabs and decimal commas": (
        "\n".join([HEAD.replace(",", "\t"), *table(drive(10.0), "\t")]).replace(".", ",") + "\n",
        {"delimiter": "\t", "decimal": ","},
    ),
    "semicolons and decimal commas": (
        "\n".join([HEAD.replace(",", ";"), *table(drive(10.0), ";")]).replace(".", ",") + "\n",
        {"delimiter": ";", "decimal": ","},
    ),
    "percent remarks, also between the rows": (
        "\n".join(["% a logger", HEAD, *table(drive(10.0))[:50], "% battery low", *table(drive(10.0))[50:]]) + "\n",
        {"comment": "%"},
    ),
    "names in the last remark, as NumPy writes them": (
        "\n".join(["# a logger", "# " + HEAD.replace(",", " "), *table(drive(10.0), " ")]) + "\n",
        {"header": "comment", "delimiter": " "},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "csv"), PLAIN.values(), ids=PLAIN.keys())
def test_layout_is_read_by_its_key_and_drafted(text: str, csv: dict[str, Any], tmp_path: Path) -> None:
    file = save(tmp_path / "d.csv", text)
    assert_the_drive(gr.read_log(file, manifest=manifest(csv=csv)))
    found = drafted(file)
    assert found.get("csv", {}) == csv
    assert_the_drive(gr.read_log(file, manifest=found))


def test_byte_order_mark_and_returns_of_windows(tmp_path: Path) -> None:
    file = save(tmp_path / "d.csv", "\n".join([HEAD, *table(drive(10.0))]) + "\n", bom=True, newline="\r\n")
    assert "csv" not in drafted(file)
    assert_the_drive(gr.read_log(file, manifest=drafted(file)))


def converted() -> dict[str, np.ndarray]:
    """The drive in milliseconds, rpm, degrees and millimetres."""
    columns = drive(10.0)
    turn = {"wl": 30.0 / math.pi, "wr": 30.0 / math.pi}
    factor = {"t": 1000.0, **turn, **dict.fromkeys(("roll", "pitch", "yaw"), 180.0 / math.pi), "x": 1e3, "y": 1e3}
    return {name: columns[name] * factor[name] for name in NAMES}


UNITS = "[ms];[rpm];(rev/min);deg;°;mm;mm;degrees"
WORDS = "time since start;left wheel;right wheel;roll angle;pitch angle;x to the east;y to the north;yaw angle"


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)], ids=["words, units, names", "names, words, units"])
def test_a_line_of_units_converts_what_the_manifest_leaves_open(order: tuple[int, ...], tmp_path: Path) -> None:
    above = (WORDS, UNITS, HEAD.replace(",", ";"))
    file = save(tmp_path / "d.csv", "\n".join([*(above[k] for k in order), *table(converted(), ";")]) + "\n")
    at = {line: k + 1 for k, line in enumerate(order)}
    csv = {"header": 3, "delimiter": ";", "units_line": at[1], "names_line": at[2]}
    log = gr.read_log(file, manifest=manifest(csv=csv))
    assert_the_drive(log)
    (said,) = log.report.remarks
    assert said.startswith(f"units by line {at[1]} of d.csv: t in ms, wl in rpm")
    found = drafted(file)
    assert found["csv"].items() <= csv.items()
    assert found["csv"]["units_line"] == at[1]
    assert_the_drive(gr.read_log(file, manifest=found))
    # What the manifest says goes before the line of units; so does the unit of the clock.
    rates = {joint: {"column": name, "unit": "rpm"} for joint, name in manifest()["rates"].items()}
    assert_the_drive(gr.read_log(file, manifest=manifest(csv=csv, rates=rates, time={"unit": "ms"})))


def test_a_unit_that_a_signal_cannot_have_is_refused(tmp_path: Path) -> None:
    units = UNITS.replace("mm", "pix", 1)
    file = save(tmp_path / "d.csv", "\n".join([UNITS.replace("ms", "s"), HEAD, "0"]).replace(";", ",") + "\n")
    rows = [units, HEAD.replace(",", ";"), *table(converted(), ";")]
    save(file, "\n".join(rows) + "\n")
    given = manifest(csv={"header": 2, "units_line": 1, "delimiter": ";"})
    with pytest.raises(
        LogError, match=r"\[pose\] x: line 1 of d.csv says 'pix' for column x, which is not one of m, cm"
    ):
        gr.read_log(file, manifest=given)
    given["pose"]["x"] = {"column": "x", "scale": 1e-3}
    assert_the_drive(gr.read_log(file, manifest=given))


def test_units_at_the_end_of_names_are_drafted(tmp_path: Path) -> None:
    names = "t [ms],wl (rpm),wr_rpm,roll_deg,pitch [deg],x_mm,y [mm],yaw_deg"
    file = save(tmp_path / "d.csv", "\n".join([names, *table(converted())]) + "\n")
    assert_the_drive(gr.read_log(file, manifest=drafted(file)))


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_unit_of_the_clock_is_drafted_by_its_steps(unit: str, tmp_path: Path) -> None:
    columns = drive(10.0)
    columns["t"] = np.round(columns["t"] * {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}[unit], 3)
    file = save(tmp_path / "d.csv", "\n".join([HEAD, *table(columns)]) + "\n")
    assert drafted(file)["time"]["unit"] == unit
    assert_the_drive(gr.read_log(file, manifest=drafted(file)))


@pytest.mark.parametrize(("bits", "kind"), [(None, "position"), (16, "position"), (None, "increment")])
def test_encoder_counts_become_rates_through_ticks_gear_and_wraps(bits: int | None, kind: str, tmp_path: Path) -> None:
    ticks, gear, columns = 4096, 30.0, drive(10.0)
    per_radian = ticks * gear / (2.0 * math.pi)
    rows, left = [], "ticks_left" if kind == "position" else "delta_ticks_left"
    counted = {}
    for name in ("wl", "wr"):
        rate = columns[name]
        angle = np.append(0.0, np.cumsum(0.5 * (rate[1:] + rate[:-1]) * 0.05))
        counted[name] = np.round(angle * per_radian) + 65000.0
        if kind == "increment":
            counted[name] = np.diff(counted[name], prepend=counted[name][0])
        elif bits:
            counted[name] %= 2**bits
    for k, t in enumerate(columns["t"]):
        rows.append(f"{t:.3f},{counted['wl'][k]:.0f},{counted['wr'][k]:.0f}")
    file = save(tmp_path / "d.csv", "\n".join([f"t,{left},{left.replace('left', 'right')}", *rows]) + "\n")
    source = {"kind": kind, "ticks_per_turn": ticks, "gear": gear} | ({"wraps": 2**bits} if bits else {})
    rates = {"FL": {"column": left, **source}, "FR": {"column": left.replace("left", "right"), **source}}
    log = gr.read_log(file, manifest={"vehicle": "warthog", "time": {"column": "t"}, "rates": rates})
    # A rate is the mean over two periods; one count is 5e-5 rad.
    for joint, name in (("FL", "wl"), ("FR", "wr")):
        np.testing.assert_allclose(log.rates[joint][1:-1][:150], columns[name][1:-1][:150], rtol=0.0, atol=4e-3)
    found = skeleton(layout(file))
    if not bits:
        assert f'{{ column = "{left}", kind = "{kind}", ticks_per_turn = "FILL IN" }}' in found


@pytest.mark.parametrize(
    ("signal", "message"),
    [
        ({"column": "wl", "unit": "deg", "ticks_per_turn": 10, "kind": "position"}, "both ticks_per_turn and unit"),
        ({"column": "wl", "wraps": 65536}, "wraps, which is of positions"),
        ({"column": "wl", "gear": 0}, "gear"),
    ],
)
def test_what_an_encoder_cannot_be_is_refused(signal: dict[str, Any], message: str, tmp_path: Path) -> None:
    file = save(tmp_path / "d.csv", "\n".join([HEAD, *table(drive(10.0))]) + "\n")
    with pytest.raises(LogError, match=message):
        gr.read_log(file, manifest=manifest(rates={"FL": signal}))


@pytest.mark.parametrize(
    ("csv", "message"),
    [
        ({"decimal": ","}, 'decimal = "," needs another delimiter'),
        ({"header": 2, "units_line": 3}, "units_line = 3 lies below the heading of 2 lines"),
        ({"header": 2, "units_line": 2}, "units_line = 2 is the line of the names; give names_line"),
        ({"comment": ""}, "comment"),
    ],
)
def test_what_a_layout_cannot_be_is_refused(csv: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(LogError, match=message):
        gr.read_log(tmp_path / "d.csv", manifest=manifest(csv=csv))


def test_words_of_units() -> None:
    for text, unit in (("[deg/s]", "deg/s"), ("KM/H", "km/h"), ("m/s²", "m/s^2"), ("°", "deg"), ("pix", None)):
        assert unit_word(text) == unit
    for name, unit in (
        ("v [km/h]", "km/h"),
        ("yaw_deg", "deg"),
        ("gz (deg/s)", "deg/s"),
        ("v_l", None),
        ("omega_s", None),
    ):
        assert unit_in(name) == unit


@pytest.mark.parametrize(
    "written", ["2024-05-01 12:00:{:06.3f}", '"2024-05-01T14:00:{:06.3f}+02:00"', "12:00:{:06.3f}"]
)
@pytest.mark.parametrize("long", [False, True])
def test_a_clock_of_dates_and_times_is_read_in_seconds(
    written: str, long: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from grouser.logs import table

    monkeypatch.setattr(table, "LONG", 0 if long else table.LONG)  # by the kernel, and by Python
    rows = [f"{written.format(0.05 * k)},1.5,2.5" for k in range(400)]
    (tmp_path / "a.csv").write_text("\n".join(["timestamp,wl,wr", *rows]) + "\n")
    log = gr.read_log(tmp_path / "a.csv", manifest={"time": {"column": "timestamp"}, "rates": {"L": "wl", "R": "wr"}})
    assert len(log) == 400
    np.testing.assert_allclose(log.elapsed, 0.05 * np.arange(400), rtol=0.0, atol=1e-6)
    if "2024" in written:
        assert log.time[0] == 1714564800.0
    milli = {"time": {"column": "timestamp", "unit": "ms"}, "rates": {"L": "wl"}}
    with pytest.raises(LogError, match="the time stamp is neither a number nor a date and time by ISO 8601"):
        gr.read_log(tmp_path / "a.csv", manifest=milli)


def test_a_heading_of_windows_is_read_and_drafted_with_its_units(tmp_path: Path) -> None:
    heading = "time [s],wheel left [°/s],wheel right [°/s],x [m],x [m]"
    rows = [f"{0.05 * k:.2f},90.0,180.0,1.0,2.0" for k in range(100)]
    (tmp_path / "a.csv").write_bytes("\r\n".join([heading, *rows, ""]).encode("cp1252"))
    text = skeleton(layout(tmp_path / "a.csv"), gr.vehicle("husky"), "husky")
    assert 'FL = { column = "wheel left [°/s]", unit = "deg/s" }' in text
    (tmp_path / "a.toml").write_text(text)
    log = gr.read_log(tmp_path / "a.csv", manifest=tmp_path / "a.toml")
    np.testing.assert_allclose(log.rates["FR"], np.pi)


def test_of_columns_with_one_name_the_draft_takes_the_first_by_its_index(tmp_path: Path) -> None:
    rows = [f"{0.05 * k:.2f},1.0,2.0,{0.1 * k},0.0,0.0,9.0" for k in range(100)]
    (tmp_path / "a.csv").write_text("\n".join(["t,wl,wr,x,y,yaw,x", *rows]) + "\n")
    assert "\nx = 3\n" in skeleton(layout(tmp_path / "a.csv"), gr.vehicle("husky"), "husky")
