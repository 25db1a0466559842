"""A manifest's faults are named by table and field."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from log_drives import drive, manifest, rows, write

import grouser as gr
from grouser.errors import LogError, VehicleError
from grouser.logs.manifest import load_manifest

FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "unknown table": ({"rats": {}}, r"field rats: is not a field Grouser knows; did you mean 'rates'\?"),
    "unknown field": ({"sensor": {"lagg": 1.0}}, r"table \[sensor\], lagg: .* did you mean 'lag'\?"),
    "unknown field of a signal": ({"rates": {"FL": {"colum": "wl"}}}, r"table \[rates\], FL, field colum: .*'column'"),
    "unknown unit": ({"rates": {"FL": {"column": "wl", "unit": "kn"}}}, r"\[rates\], FL, field unit: 'kn' is not one"),
    "unit of an angle": ({"angles": {"FL": {"column": "wl", "unit": "rpm"}}}, r"field unit: 'rpm' is not one of rad"),
    "text for a number": ({"sensor": {"lag": "late"}}, r"table \[sensor\], lag: input should be a valid number"),
    "lag of an hour": ({"sensor": {"lag": 3600.0}}, r"table \[sensor\], lag: "),
    "negative noise": ({"sensor": {"yaw_noise": -1.0}}, r"yaw_noise: .* greater than 0"),
    "number for a column": ({"rates": {"FL": 1.5}}, r"table \[rates\], FL: "),
    "truth for a column": ({"rates": {"FL": True}}, r"table \[rates\], FL: should be a column's name"),
    "negative index": ({"rates": {"FL": -1}}, r"index counts from 0"),
    "sign of two": ({"rates": {"FL": {"column": "wl", "sign": 2}}}, r"field sign: "),
    "scale of zero": ({"rates": {"FL": {"column": "wl", "scale": 0.0}}}, r"field scale: must not be zero"),
    "kind of an angle": ({"angles": {"FL": {"column": "wl", "kind": "rate"}}}, r"only a rate or a command has a kind"),
    "pose without yaw": ({"pose": {"yaw": None}}, r"table \[pose\]: needs yaw"),
    "part of a quaternion": ({"pose": {"qw": "a"}}, r"table \[pose\]: has qw; a quaternion needs all"),
    "lag of a pose": ({"pose": {"x": {"column": "x", "lag": 1.0}}}, r"the lag belongs to \[sensor\]"),
    "outage backward": ({"outages": [{"from": 2.0, "to": 1.0}]}, r"from 2 must come before to 1"),
    "long delimiter": ({"csv": {"delimiter": "::"}}, r"must be one character"),
    "both column and topic": ({"rates": {"FL": {"column": "a", "topic": "/b"}}}, r"either column .* or topic"),
    "topic without field": ({"rates": {"FL": {"topic": "/b"}}}, r"needs a field"),
    "no rates": ({"rates": None}, r"table \[rates\]: is missing or empty"),
    "no such joint": ({"rates": {"FX": "wl"}}, r"vehicle 'warthog' has no joint 'FX'; joints are FL, FR, BL, BR"),
    "topic for a CSV": ({"rates": {"FL": {"topic": "/b", "field": "c"}}}, r"names a topic, but a.csv is a CSV"),
    "no clock": ({"time": None}, r"table \[time\], field column: is missing"),
}


@pytest.mark.parametrize(("changes", "message"), FAULTS.values(), ids=FAULTS.keys())
def test_fault_is_named(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", rows(drive(5.0)))
    with pytest.raises(LogError, match=message) as caught:
        gr.read_log(path, manifest=manifest(**changes))
    assert "\n" not in str(caught.value)


def test_file_must_say_what_it_is(tmp_path: Path) -> None:
    path = tmp_path / "log.toml"
    for text, message in (
        ("x = 1", r"log.toml, field schema: is missing"),
        ('schema = "grouser/vehicle@1"', r"is not a schema read here"),
        ('schema = "grouser/log@2"', r"newer Grouser"),
        ("schema = ", r"is not TOML"),
    ):
        path.write_text(text)
        with pytest.raises(LogError, match=message):
            load_manifest(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(LogError, match="not UTF-8"):
        load_manifest(path)
    with pytest.raises(LogError, match="no such file"):
        load_manifest(tmp_path / "none.toml")


def test_vehicle_file_is_looked_for_beside_the_manifest(tmp_path: Path) -> None:
    from grouser.vehicles.toml import write_toml

    write_toml(gr.vehicle("warthog"), tmp_path / "mine.toml")
    (tmp_path / "log.toml").write_text(
        'schema = "grouser/log@1"\nvehicle = "mine.toml"\ntime = { column = "t" }\nrates = { FL = "wl" }\n'
    )
    log = gr.read_log(write(tmp_path / "a.csv", rows(drive(5.0))), manifest=tmp_path / "log.toml")
    assert log.vehicle == str(tmp_path / "mine.toml")
    assert log.vehicle is not None
    assert gr.vehicle(log.vehicle).name == "warthog"
    assert len(log.poses) == 0
    with pytest.raises(VehicleError, match="there is no vehicle 'worthog'"):
        gr.read_log(tmp_path / "a.csv", manifest=manifest(vehicle="worthog"))


def test_other_delimiters_and_remarks(tmp_path: Path) -> None:
    lines = rows(drive(5.0))
    for delimiter, text in ((";", ";"), ("\t", "\t"), (" ", "   ")):
        path = tmp_path / "a.txt"
        path.write_text("# a remark\n\n" + "\n".join(line.replace(",", text) for line in lines) + "\n\n# the end\n")
        log = gr.read_log(path, manifest=manifest(csv={"delimiter": delimiter}))
        assert len(log) == len(lines) - 1
        assert log.report.n_rejected == 0


def test_windows_line_ends_quotes_and_byte_order_mark(tmp_path: Path) -> None:
    lines = rows(drive(5.0))
    lines[0] = ",".join(f'"{name}"' for name in lines[0].split(","))
    path = tmp_path / "a.csv"
    path.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(lines).encode() + b"\r\n")
    log = gr.read_log(path, manifest=manifest())
    assert len(log) == len(lines) - 1
    assert log.report.n_rejected == 0
