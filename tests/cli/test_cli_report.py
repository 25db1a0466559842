"""`grouser report`: the three kinds by what is given, the page beside it, and the mistakes it names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import drive_files
import pytest

import grouser as gr
from grouser.cli import run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved run, a log, another with its manifest, and a fit of the first."""
    here = tmp_path_factory.mktemp("report")
    ground = gr.terrain.rough(rms=0.05, length=0.4, seed=7)
    gr.simulate(gr.Kinematics(gr.vehicle("husky")), ground, gr.drive.arc(1.0), duration=1.0).save(here / "run.npz")
    log, manifest = drive_files.write(here)
    drive_files.write(here, "other.csv", seed=2)
    arguments = ["--manifest", manifest, "--split", "1", "--model", "four-number", "--out", str(here / "fit.toml")]
    assert run(["calibrate", log, *arguments]) == 0
    return here


def printed(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    value = json.loads(capsys.readouterr().out)
    assert isinstance(value, dict)
    return value


def test_a_run_is_reported_beside_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert run(["report", str(folder / "run.npz"), "--json"]) == 0
    said = printed(capsys)
    page = folder / "run-report.html"
    assert said["report"] == str(page)
    assert said["kind"] == "simulation"
    assert said["distance"] == pytest.approx(gr.Run.load(folder / "run.npz").distance)
    assert said["bytes"] == page.stat().st_size
    assert f"grouser report {folder / 'run.npz'}" in page.read_text()


def test_a_fit_is_reported_with_the_log_it_is_judged_on(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "new" / "fit.html"
    arguments = ["--log", str(folder / "other.csv"), "--manifest", str(folder / "log.toml"), "--interval", "3"]
    capsys.readouterr()
    assert run(["report", str(folder / "fit.toml"), *arguments, "--out", str(page), "--json"]) == 0
    said = printed(capsys)
    assert said["kind"] == "calibration"
    # The drive turns 0.6 of what its wheels say, and goes 0.95 of it.
    assert said["parameters"]["model.yaw_gain"]["value"] == pytest.approx(drive_files.YAW_GAIN, abs=0.01)
    assert said["interval"] == 3.0
    evaluation = said["evaluation"]
    assert evaluation["baseline"]["position_rms"] > 3.0 * evaluation["position_rms"]
    text = page.read_text()
    for name in ("fit.toml", "other.csv", "log.toml"):
        assert f"<td>{name}</td>" in text
    assert "--interval 3 --out" in text


def test_a_log_is_reported_as_odometry_in_the_users_own_words(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "odometry.html"
    arguments = ["--manifest", str(folder / "log.toml"), "--fit", str(folder / "fit.toml"), "--out", str(page)]
    capsys.readouterr()
    assert run(["report", str(folder / "other.csv"), *arguments, "--question", "Is <it> good & cheap?"]) == 0
    out = capsys.readouterr().out
    assert "times smaller than plain odometry's" in out
    assert f"wrote {page}" in out
    assert "Is &lt;it&gt; good &amp; cheap?" in page.read_text()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["run.npz", "--manifest", "log.toml"], "--manifest: does nothing in a report of a run"),
        (["run.npz", "run.npz"], "a report is of one run"),
        (["other.csv"], "--manifest: is needed to read a log"),
        (["other.csv", "--manifest", "log.toml", "--interval", "2"], "--interval: does nothing in a report of a log"),
        (["fit.toml", "--log", "other.csv"], "--log and --manifest"),
        (["fit.toml", "--interval", "2"], "--interval: is the length of predictions of a log"),
        (["fit.toml", "--gyro"], "--gyro: does nothing in a report of a fit"),
        (["run.npz", "--out", "page.pdf"], "--out: page.pdf must end in .html"),
        (["none.npz"], "no such file"),
        (["log.toml"], "expected 'grouser/fit@1'"),
    ],
)
def test_mistakes_are_one_sentence_and_leave_nothing(
    arguments: list[str],
    sentence: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(folder)
    before = {file: file.stat().st_mtime_ns for file in folder.iterdir()}
    capsys.readouterr()
    assert run(["report", *arguments]) == 2
    said = capsys.readouterr()
    assert sentence in said.err
    assert said.err.count("\n") == 1
    assert said.out == ""
    assert {file: file.stat().st_mtime_ns for file in folder.iterdir()} == before
