"""`grouser odometry`: the numbers it prints, the files it writes, the mistakes it names."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import drive_files
import numpy as np
import pytest

from grouser.cli import run

KEYS = {"distance", "end_error", "end_error_percent", "yaw_error_deg", "yaw_error_percent", "height_rms", "nees"}
MANIFEST = Path(__file__).parents[2] / "examples" / "warthog" / "log.toml"


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str, str]:
    """Another log, its manifest, and a fit of the first."""
    folder = tmp_path_factory.mktemp("odometry")
    log, manifest = drive_files.write(folder)
    other, _ = drive_files.write(folder, "other.csv", seed=2)
    fit = str(folder / "fit.toml")
    assert run(["calibrate", log, "--manifest", manifest, "--split", "1", "--model", "four-number", "--out", fit]) == 0
    return other, manifest, fit


def printed(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    value = json.loads(capsys.readouterr().out)
    assert isinstance(value, dict)
    return value


def test_json_has_the_promised_keys_and_the_right_drive(
    fitted: tuple[str, str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    log, manifest, fit = fitted
    capsys.readouterr()
    assert run(["odometry", log, "--manifest", manifest, "--fit", fit, "--json"]) == 0
    result = printed(capsys)
    assert set(result) >= KEYS
    # 60 s at 0.95 (0.9 + 0.4 sin(0.5 t + 2)) m/s.
    t = np.arange(0.0, 60.0, 0.05)
    driven = float(np.sum(0.95 * (0.9 + 0.4 * np.sin(0.5 * t + 2.0))) * 0.05)
    assert result["distance"] == pytest.approx(driven, rel=0.02)
    turned = float(np.sum(np.abs(0.6 * (0.8 * np.sin(0.3 * t) + 0.4 * np.sin(0.9 * t)))) * 0.05)
    assert result["turning_deg"] == pytest.approx(np.degrees(turned), rel=0.1)
    assert result["end_error_percent"] == pytest.approx(100.0 * result["end_error"] / result["distance"])
    assert result["end_error_percent"] < 1.5
    assert result["yaw_error_percent"] < 1.0
    assert result["baseline"]["end_error"] > 5.0 * result["end_error"]
    assert result["height_rms"] is None  # its poses have no height
    low, high = result["nees_band"]
    assert low < 1.0 < high
    assert result["nees"] < high
    assert result["faults"] == {}
    assert result["trained_on_this_log"] is False


def test_people_read_what_the_numbers_mean_and_files_are_written(
    fitted: tuple[str, str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log, manifest, fit = fitted
    plot, tum, table = tmp_path / "drive.svg", tmp_path / "drive.tum", tmp_path / "drive.csv"
    capsys.readouterr()
    assert run(["odometry", log, "--manifest", manifest, "--fit", fit, "--plot", str(plot), "--out", str(tum)]) == 0
    text = capsys.readouterr().out
    assert "plain odometry" in text
    assert "calibrated odometry" in text
    assert re.search(r"of \d+ stretches of 10 m", text)
    assert "Yaw error" in plot.read_text()
    poses = np.loadtxt(tum)
    assert poses.shape == (1200, 8)
    assert np.linalg.norm(poses[:, 4:], axis=1) == pytest.approx(1.0)
    assert run(["odometry", log, "--manifest", manifest, "--fit", fit, "--out", str(table)]) == 0
    rows = table.read_text().splitlines()
    assert len(rows) == 1201
    last = dict(zip(rows[0].split(","), map(float, rows[-1].split(",")), strict=True))
    assert [last[name] for name in "xyz"] == pytest.approx(poses[-1, 1:4].tolist())
    assert last["pose_covariance_x_x"] > 0.0


def test_without_a_fit_it_is_plain_odometry(fitted: tuple[str, str, str], capsys: pytest.CaptureFixture[str]) -> None:
    log, manifest, _ = fitted
    capsys.readouterr()
    assert run(["odometry", log, "--manifest", manifest, "--json"]) == 0
    result = printed(capsys)
    assert result["fit"] is None
    assert result["end_error"] == pytest.approx(result["baseline"]["end_error"])


def test_adapting_shows_the_fit_as_it_is_beside_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The wheels of the log turn with another gain than those of the fit, which it learns within seconds."""
    log, manifest = drive_files.write(tmp_path)
    fit, other = str(tmp_path / "fit.toml"), tmp_path / "other.csv"
    made = ["--split", "1", "--model", "perturbative", "--parameters", "slip.a1,slip.a9,slip.a10,noise", "--out", fit]
    assert run(["calibrate", log, "--manifest", manifest, *made]) == 0
    gain, drive_files.YAW_GAIN = drive_files.YAW_GAIN, 0.5
    try:
        other.write_text("\n".join(drive_files.lines(seconds=80.0, seed=2)) + "\n")
    finally:
        drive_files.YAW_GAIN = gain
    asked = ["odometry", str(other), "--manifest", manifest, "--fit", fit, "--adapt"]
    capsys.readouterr()
    assert run([*asked, "--json"]) == 0
    result = printed(capsys)
    assert result["changes"] == []
    assert result["learned_intervals"] == pytest.approx(39, abs=1)
    assert result["ground"] == "ground 1"
    assert set(result["fixed"]) >= {"end_error", "yaw_error_deg", "nees", "nees_band"}
    assert result["end_error"] < 0.5 * result["fixed"]["end_error"]
    assert result["nees"] < 0.5 * result["fixed"]["nees"]
    assert run(["odometry", str(other), "--manifest", manifest, "--fit", fit, "--json"]) == 0
    alone = printed(capsys)
    assert {key: alone[key] for key in result["fixed"]} == result["fixed"]
    assert run(asked) == 0
    text = capsys.readouterr().out
    assert re.search(r"plain odometry .*\ncalibrated odometry .*\nadapting odometry ", text)
    assert "adapting odometry: NEES of" in text
    assert "no change of ground was noticed" in text


def test_help_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["odometry", "--help"]) == 0
    text = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    assert "Example: grouser odometry" in text
    assert "--json" in text
    assert len(text.splitlines()) <= 40


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["LOG", "--manifest", "M", "--fit", "nowhere.toml"], "nowhere.toml: there is no such file"),
        (["LOG", "--manifest", "M", "--fit", "M"], "expected 'grouser/fit@1'"),
        (["LOG", "--manifest", "M", "--fit", "F", "--gyro"], "has no gyro about the body's z axis"),
        (["LOG", "--manifest", "M", "--adapt"], "--adapt: learns on from a fit, and none is given; add --fit fit.toml"),
        (["LOG", "--manifest", "M", "--fit", "F", "--memory", "m.toml"], "--memory: is for --adapt"),
        (["LOG", "--manifest", "M", "--fit", "F", "--adapt", "--memory", "no.toml"], "no.toml: there is no such file"),
        (["LOG", "--manifest", "M", "--fit", "F", "--out", "a.bag"], "--out: a.bag must end in .tum or .csv"),
        (["LOG", "--manifest", "M", "--fit", "F", "--plot", "a.gif"], "--plot: a.gif must end in .png"),
    ],
)
def test_mistakes_get_one_sentence(
    fitted: tuple[str, str, str], arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [dict(zip(("LOG", "M", "F"), fitted, strict=True)).get(word, word) for word in arguments]
    assert run(["odometry", *given]) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert said.count("\n") == 1


def without_poses(manifest: str, folder: Path) -> str:
    text = Path(manifest).read_text()
    blind = folder / "blind.toml"
    blind.write_text(text[: text.index("[pose]")] + text[text.index("[sensor]") :])
    return str(blind)


def test_without_poses_it_runs_and_says_that_it_cannot_be_judged(
    fitted: tuple[str, str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every promised key is there; null is not a number that somebody might believe."""
    log, manifest, fit = fitted
    blind = without_poses(manifest, tmp_path)
    out = tmp_path / "new folder" / "drive.tum"
    assert run(["odometry", log, "--manifest", blind, "--fit", fit, "--out", str(out), "--json"]) == 0
    result = printed(capsys)
    assert {key: result[key] for key in KEYS} == dict.fromkeys(KEYS)
    assert result["baseline"] is None
    assert result["not_judged"] == "has no poses, and errors need two"
    assert len(np.loadtxt(out)) == result["samples"]
    assert run(["odometry", log, "--manifest", blind]) == 0
    assert "has no poses" in capsys.readouterr().out
    assert run(["odometry", log, "--manifest", blind, "--plot", str(tmp_path / "a.png")]) == 2
    assert "leave --plot out" in capsys.readouterr().err


def test_the_fit_of_another_vehicle_is_not_taken_in_silence(
    fitted: tuple[str, str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log, manifest, fit = fitted
    husky = tmp_path / "husky.toml"
    husky.write_text(Path(manifest).read_text().replace("warthog", "husky"))
    capsys.readouterr()
    assert run(["odometry", log, "--manifest", str(husky), "--fit", fit, "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["vehicle"] == "warthog"
    assert "the fit is of vehicle 'warthog', which is used; the manifest names 'husky'" in captured.err
    assert run(["odometry", log, "--manifest", manifest, "--fit", fit, "--json"]) == 0
    assert capsys.readouterr().err == ""


def test_each_kind_of_fault_is_said_once_a_log(
    fitted: tuple[str, str, str], tmp_path: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not once for every odometry that is run, nor once for every drive that a gap begins."""
    log, manifest, _ = fitted
    rows = Path(log).read_text().splitlines()
    late = [line if k < 600 else ",".join([str(float(line.split(",")[0]) + 9.0), *line.split(",")[1:]])
            for k, line in enumerate(rows[1:])]  # fmt: skip
    gap = tmp_path / "gap.csv"
    gap.write_text("\n".join([rows[0], *late]) + "\n")
    steered = tmp_path / "steered.toml"
    steered.write_text(Path(manifest).read_text().replace("warthog", "lru2"))  # its steering angles are not measured
    assert run(["odometry", str(gap), "--manifest", str(steered), "--json"]) == 0
    result = printed(capsys)
    assert result["drives"] == 2
    assert result["faults"]["angle"] == result["samples"]
    assert sum("an angle is missing" in record.getMessage() for record in caplog.records) == 1


def test_real_robot_from_the_command_line(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Slip of one Warthog log, odometry of another, with its gyro; the bounds are those of the issue."""
    logs = data / "warthog"
    fit = str(tmp_path / "fit.toml")
    first = str(logs / "warthog_grass_20240808_1619.csv")
    assert run(["calibrate", first, "--manifest", str(MANIFEST), "--out", fit, "--split", "1", "--json"]) == 0
    other = str(logs / "warthog_grass_20240729_1446.csv")
    for options, end, yaw in (([], 3.5, 2.5), (["--gyro"], 2.5, 0.5)):
        capsys.readouterr()
        assert run(["odometry", other, "--manifest", str(MANIFEST), "--fit", fit, *options, "--json"]) == 0
        result = printed(capsys)
        assert result["end_error_percent"] <= end
        assert result["yaw_error_percent"] <= yaw
        assert result["height_rms"] <= 0.15
        assert result["baseline"]["end_error_percent"] > 4.0
        assert result["baseline"]["yaw_error_percent"] > 12.0
