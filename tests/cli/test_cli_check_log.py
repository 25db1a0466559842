"""`grouser check` of a log: with a manifest what is in it, without one a manifest to start from."""

from __future__ import annotations

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from grouser.cli import run

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "logs"))
from log_drives import drive, rows, write

MANIFEST = """schema = "grouser/log@1"
vehicle = "warthog"
time = { column = "t" }
rates = { FL = "wl", BL = "wl", FR = "wr", BR = "wr" }
attitude = { roll = "roll", pitch = "pitch" }
pose = { x = "x", y = "y", yaw = "yaw" }
"""


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    (tmp_path / "log.toml").write_text(MANIFEST)
    return str(write(tmp_path / "drive.csv", rows(drive(60.0)))), str(tmp_path / "log.toml")


def answer(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert run([*arguments, "--json"]) == 0
    value: dict[str, Any] = json.loads(capsys.readouterr().out)
    return value


def test_log_is_measured(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    log, manifest = files
    found = answer(["check", log, "--manifest", manifest], capsys)
    assert found["kind"] == "log"
    assert found["can_calibrate"] is True
    assert found["duration"] == pytest.approx(59.95)
    assert found["distance"] == pytest.approx(54.0, rel=0.02)
    assert found["top_speed"] == pytest.approx(1.0, rel=0.02)
    assert found["lag"] == pytest.approx(0.0, abs=0.02)
    assert found["report"]["rows"] == 1200
    assert run(["check", log, "--manifest", manifest]) == 0
    printed = capsys.readouterr().out
    assert "can be calibrated" in printed
    assert "20 Hz" in printed


def test_what_a_log_cannot_tell_is_said(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    log, manifest = files
    columns = drive(10.0)
    columns["roll"] *= 0.0
    write(Path(log), rows(columns))
    found = answer(["check", log, "--manifest", manifest], capsys)
    assert found["can_calibrate"] is False
    said = " ".join(found["cannot_determine"])
    assert "a first fit needs 20 s" in said
    assert "slip by roll" in said


def test_lag_of_the_poses_is_noticed(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    log, manifest = files
    late, now = drive(60.0), drive(60.0)
    for name in ("x", "y", "yaw"):
        late[name][4:] = now[name][:-4]
    write(Path(log), rows(late))
    assert answer(["check", log, "--manifest", manifest], capsys)["lag"] == pytest.approx(0.2, abs=0.02)


def test_rejected_samples_are_shown_by_reason(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    log, manifest = files
    lines = rows(drive(60.0))
    lines[5] = lines[5].replace(lines[5].split(",")[1], "nan", 1)
    lines[9] += ",1"
    write(Path(log), lines)
    assert run(["check", log, "--manifest", manifest]) == 0
    printed = capsys.readouterr().out
    assert "1 sample rejected: rates.FL (column wl) is missing or not finite (drive.csv line 6)" in printed
    assert "1 sample rejected: the row has too few or too many columns (drive.csv line 10)" in printed


def test_without_a_manifest_it_offers_one_that_can_be_completed(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    log, _ = files
    found = answer(["check", log], capsys)
    assert found["columns"] == ["t", "wl", "wr", "roll", "pitch", "x", "y", "yaw"]
    tables = tomllib.loads(found["manifest"])
    assert tables["time"]["column"] == "t"
    assert tables["rates"] == {"wl": "wl", "wr": "wr"}
    assert tables["pose"]["yaw"] == "yaw"
    done = found["manifest"].replace('"FILL IN"', '"warthog"').replace("wl =", "FL =").replace("wr =", "FR =")
    Path(log).with_name("mine.toml").write_text(done)
    assert answer(["check", log, "--manifest", str(Path(log).with_name("mine.toml"))], capsys)["can_calibrate"]
    assert run(["check", log]) == 0
    assert "--manifest" in capsys.readouterr().out


def test_table_without_heading(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "a.csv", [line.replace(",", ";") for line in rows(drive(5.0))[1:]])
    found = answer(["check", str(path)], capsys)
    assert (found["header"], found["delimiter"], len(found["columns"])) == (False, ";", 8)
    tomllib.loads(found["manifest"])


def test_manifest_alone_is_checked(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    _, manifest = files
    found = answer(["check", manifest], capsys)
    assert found["kind"] == "log manifest"
    assert found["signals"]["rates.FL"] == "column wl"


MISTAKES = {
    "missing log": ["check", "none.csv", "--manifest", "log.toml"],
    "missing manifest": ["check", "drive.csv", "--manifest", "none.toml"],
    "empty log": ["check", "empty.csv", "--manifest", "log.toml"],
    "empty log without a manifest": ["check", "empty.csv"],
    "log as its manifest": ["check", "drive.csv", "--manifest", "drive.csv"],
    "several without a manifest": ["check", "drive.csv", "drive.csv"],
    "damaged bag": ["check", "damaged.bag"],
}


@pytest.mark.parametrize("arguments", MISTAKES.values(), ids=MISTAKES.keys())
def test_mistake_is_one_sentence_and_code_2(
    arguments: list[str], files: tuple[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = Path(files[0]).parent
    monkeypatch.chdir(folder)
    (folder / "empty.csv").write_text("")
    (folder / "damaged.bag").write_text("#ROSBAG V2.0\n")
    assert run(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert len(printed.err.splitlines()) == 1
    assert printed.err.startswith("grouser: ")


def test_problems_are_shown_with_key_and_remedy_and_end_with_2(
    files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    log, manifest = files
    columns = drive(60.0)
    columns["wl"], columns["wr"] = columns["wr"], columns["wl"]
    columns["roll"] = 100.0 * columns["roll"]
    write(Path(log), rows(columns))
    assert run(["check", log, "--manifest", manifest, "--json"]) == 2
    found = json.loads(capsys.readouterr().out)
    assert [(one["severity"], one["key"]) for one in found["problems"]] == [
        ("error", "rates.FL, rates.BL"),
        ("error", "attitude.roll"),
    ]
    assert set(found["problems"][0]) == {"key", "severity", "message", "remedy"}
    assert found["can_calibrate"] is False
    assert run(["check", log, "--manifest", manifest]) == 2
    printed = capsys.readouterr().out
    assert "a log, 2 errors" in printed
    assert "error: [rates] FL, BL: the robot turns left when these wheels run faster than FR, BR" in printed
    assert "cannot be calibrated" in printed


@pytest.mark.parametrize("command", ["calibrate", "odometry"])
def test_commands_refuse_what_check_calls_an_error(
    command: str, files: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    log, manifest = files
    columns = drive(60.0)
    columns["wl"], columns["wr"] = columns["wr"], columns["wl"]
    write(Path(log), rows(columns))
    assert run([command, log, "--manifest", manifest]) == 2
    error = capsys.readouterr().err
    assert len(error.splitlines()) == 1
    assert "likely swapped" in error


def test_warnings_go_to_stderr_and_the_log_is_used(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    log, manifest = files
    late, now = drive(60.0), drive(60.0)
    for name in ("x", "y", "yaw"):
        late[name][6:] = now[name][:-6]
    write(Path(log), rows(late))
    assert run(["odometry", log, "--manifest", manifest, "--json"]) == 0
    printed = capsys.readouterr()
    json.loads(printed.out)
    assert "grouser: warning: drive.csv, [sensor] lag: the poses come 0.30 s later" in printed.err
