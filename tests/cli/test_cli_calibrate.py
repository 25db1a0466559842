"""`grouser calibrate`: a fit from a log, honest about what was held out, and refusals in one sentence."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import drive_files
import pytest

from grouser.cli import run
from grouser.motion.fit import Fit


@pytest.fixture(scope="module")
def drive(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    return drive_files.write(tmp_path_factory.mktemp("drive"))


def printed(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """The one JSON object that was printed."""

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} in JSON")

    value = json.loads(capsys.readouterr().out, parse_constant=refuse)
    assert isinstance(value, dict)
    return value


def test_blocks_of_one_log_are_held_out_and_the_fit_is_made_from_all_of_it(
    drive: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log, manifest = drive
    out, plot = tmp_path / "fit.toml", tmp_path / "history.png"
    arguments = ["calibrate", log, "--manifest", manifest, "--model", "four-number"]
    assert run([*arguments, "--out", str(out), "--plot", str(plot), "--json"]) == 0
    result = printed(capsys)
    held_out = result["held_out"]
    assert (held_out["part"], held_out["parts"]) == ("block", 5)
    assert held_out["position_rms"] < 0.03  # two poses with 0.01 m of noise in each coordinate
    assert held_out["baseline"]["yaw_rms_deg"] > 10.0 * held_out["yaw_rms_deg"]
    assert result["training"]["part"] == "the whole log"
    assert result["training"]["intervals"] == held_out["n"]
    fit = Fit.load(out)
    assert fit.values["model.yaw_gain"] == result["parameters"]["model.yaw_gain"]["value"]
    for name, planted in (("yaw_gain", drive_files.YAW_GAIN), ("speed_gain", drive_files.SPEED_GAIN)):
        assert fit.values[f"model.{name}"] == pytest.approx(planted, abs=4.0 * fit.sigma[f"model.{name}"])
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert {"value", "sigma", "prior", "prior_sigma"} <= set(result["parameters"]["sensor.lag"])


def test_split_1_holds_nothing_out_and_the_same_command_prints_the_same(
    drive: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    log, manifest = drive
    found = []
    for _ in range(2):
        arguments = ["calibrate", log, "--manifest", manifest, "--online", "--split", "1", "--json"]
        assert run(arguments) == 0
        found.append(printed(capsys))
    assert found[0] == found[1]
    assert found[0]["held_out"] is None
    assert found[0]["training"]["method"] == "online"


def test_a_split_judges_the_rest_alone(drive: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    log, manifest = drive
    assert run(["calibrate", log, "--manifest", manifest, "--model", "four-number", "--split", "0.75", "--json"]) == 0
    result = printed(capsys)
    assert result["held_out"]["trained_on"] == 0.75
    assert result["held_out"]["n"] == pytest.approx(0.25 * result["training"]["intervals"], abs=1.0)


@pytest.mark.parametrize("several", [False, True])
def test_models_are_compared_in_a_table_for_one_log_and_for_several(
    several: bool, drive: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log, manifest = drive
    logs = [log]
    if several:
        again = tmp_path / "again.csv"
        again.write_text(Path(log).read_text())
        logs.append(str(again))
    assert run(["calibrate", *logs, "--manifest", manifest, "--json"]) == 0
    result = printed(capsys)
    tried = {**result["tried"], **result["not_tried"]}
    assert set(tried) == {"kinematic", "perturbative", "sliding", "corrected"}
    likelihoods = {name: one["log_likelihood"] for name, one in result["tried"].items()}
    assert result["model"] == max(likelihoods, key=lambda name: likelihoods[name])
    assert result["held_out"]["part"] == ("log" if several else "block")
    assert run(["calibrate", *logs, "--manifest", manifest]) == 0
    text = capsys.readouterr().out
    assert "log-likelihood" in text
    assert ("each of 2 logs" if several else "each of 5 blocks of time") in text


def test_people_read_a_table_what_is_not_determined_and_what_to_do_next(
    drive: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log, manifest = drive
    out = str(tmp_path / "fit.toml")
    names = "slip.p2,slip.p6,vehicle.mass,noise"
    assert run(["calibrate", log, "--manifest", manifest, "--online", "--parameters", names, "--out", out]) == 0
    text = capsys.readouterr().out
    assert "forward slip per speed" in text
    assert "hardly determined" in text
    assert "vehicle.mass" in text.split("hardly determined")[1]
    assert "the fit itself is made from the whole log" in text
    assert f"next: grouser evaluate ANOTHER_LOG --manifest {manifest} --fit {out}" in text


@pytest.mark.parametrize("model", ["kinematic", "diff-drive", "perturbative", "corrected", "dynamic"])
def test_every_model_lists_its_parameters(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["calibrate", "--list-parameters", "--vehicle", "warthog", "--model", model]
    assert run([*arguments, "--json"]) == 0
    rows = printed(capsys)["parameters"]
    assert all({"name", "value", "sigma", "lower", "upper", "unit", "meaning", "default"} == set(row) for row in rows)
    assert {"sensor.lag", "noise.vx", "vehicle.radius"} <= {row["name"] for row in rows}
    assert any(row["default"] for row in rows)
    assert run(arguments) == 0
    assert "vehicle.radius" in capsys.readouterr().out


def test_priors_are_where_the_fit_starts(drive: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    log, manifest = drive
    arguments = ["calibrate", log, "--manifest", manifest, "--model", "diff-drive", "--parameters", "model,noise"]
    tight = ["--prior", "model.yaw_gain=0.8:1e-6", "--split", "1", "--json"]
    assert run([*arguments, *tight]) == 0
    gain = printed(capsys)["parameters"]["model.yaw_gain"]
    assert (gain["prior"], gain["prior_sigma"]) == (0.8, 1e-6)
    assert gain["value"] == pytest.approx(0.8, abs=1e-4)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["LOG"], "--manifest: is missing"),
        (["--manifest", "M"], "LOG: is missing"),
        (["nowhere.csv", "--manifest", "M"], "there is no such file"),
        (["LOG", "--manifest", "nowhere.toml"], "nowhere.toml"),
        (["LOG", "--manifest", "M", "--parameters", "slop"], "no parameter 'slop'"),
        (["LOG", "--manifest", "M", "--model", "hover"], "--model: 'hover' is not one of best"),
        (["LOG", "--manifest", "M", "--contact", "pacejka"], "add --model dynamic"),
        (["LOG", "--manifest", "M", "--model", "bicycle"], "a bicycle steers some of its wheels"),
        (["LOG", "--manifest", "M", "--prior", "slip.p2"], "is not name=value:sigma"),
        (["LOG", "--manifest", "M", "--prior", "vehicle.radius=1:2"], "is not calibrated"),
        (["LOG", "--manifest", "M", "--split", "1.5"], "--split: 1.5"),
        (["LOG", "--manifest", "M", "--interval", "2", "--distance", "3"], "leave --interval or --distance out"),
        (["LOG", "--manifest", "M", "--interval", "500"], "has no interval of 500 s"),
        (["LOG", "--manifest", "M", "--plot", "picture.jpeg"], "--plot: picture.jpeg must end in .png"),
        (["LOG", "--manifest", "M", "--out", "no/such/fit.toml"], "its folder does not exist"),
        (["LOG", "--manifest", "M", "--follow", "--model", "corrected"], "learned from a whole log"),
        (["LOG", "--manifest", "M", "--split", "1", "--model", "corrected"], "chosen by what was held out"),
        (["LOG", "--manifest", "M", "--idle-exit", "1"], "--idle-exit: is for --follow"),
        (["LOG", "--manifest", "M", "--loss", "quartic"], "--loss: 'quartic' is not one of"),
        (["LOG", "LOG", "--manifest", "M", "--follow"], "one log is followed at a time"),
    ],
)
def test_mistakes_get_one_sentence(
    drive: tuple[str, str], arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    log, manifest = drive
    given = [{"LOG": log, "M": manifest}.get(word, word) for word in arguments]
    assert run(["calibrate", *given]) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert said.count("\n") == 1


FOLLOW = ["--follow", "--poll", "0.05", "--idle-exit", "0.2", "--json"]
FIRST = ["--parameters", "slip.p2,slip.p6,sensor.x,noise"]


def test_follow_learns_what_calibrate_online_learns(drive: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    log, manifest = drive
    assert run(["calibrate", log, "--manifest", manifest, *FIRST, *FOLLOW]) == 0
    followed = printed(capsys)
    assert run(["calibrate", log, "--manifest", manifest, *FIRST, "--online", "--split", "1", "--json"]) == 0
    whole = printed(capsys)
    assert followed["training"]["intervals"] == whole["training"]["intervals"]
    for name, one in whole["parameters"].items():
        assert followed["parameters"][name]["value"] == pytest.approx(one["value"], rel=1e-6, abs=1e-9)


def _warm(command: list[str]) -> subprocess.CompletedProcess[str]:
    """The second of two runs: `integrate_poses` rounds otherwise where it is compiled than from the cache."""
    subprocess.run(command, capture_output=True, check=True)
    return subprocess.run(command, capture_output=True, text=True, check=True)


def test_killed_at_any_moment_and_started_again_it_ends_with_the_same_bits(tmp_path: Path) -> None:
    log, manifest = drive_files.write(tmp_path, seconds=60.0)
    program = [sys.executable, "-c", "from grouser.cli import main; main()", "calibrate", log, "--manifest", manifest]
    whole = _warm([*program, *FIRST, *FOLLOW])
    checkpoint = tmp_path / "state.toml"
    again = [*program, *FIRST, *FOLLOW, "--checkpoint", str(checkpoint)]
    process = subprocess.Popen(again, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    seen = 0
    for line in process.stderr:
        seen += line.startswith("t=")
        if seen == 7:
            break
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stderr.close()
    assert checkpoint.exists()
    resumed = subprocess.run(again, capture_output=True, text=True, check=True)
    first, second = json.loads(whole.stdout), json.loads(resumed.stdout)
    assert 7 <= second["resumed_after"] < first["training"]["intervals"]
    assert second["parameters"] == first["parameters"]
    assert second["training"] == first["training"]
    assert second["counts"] == first["counts"]


def test_a_log_that_grows_in_pieces_cut_anywhere_ends_with_the_same_bits(tmp_path: Path) -> None:
    log, manifest = drive_files.write(tmp_path, seconds=40.0)
    text = Path(log).read_bytes()
    program = [sys.executable, "-c", "from grouser.cli import main; main()", "calibrate", log, "--manifest", manifest]
    whole = _warm([*program, *FIRST, *FOLLOW])
    Path(log).write_bytes(b"")
    options = [*FIRST, "--follow", "--poll", "0.02", "--idle-exit", "2", "--json"]
    process = subprocess.Popen([*program, *options], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    with Path(log).open("ab") as stream:
        for start in range(0, len(text), 7001):
            stream.write(text[start : start + 7001])
            stream.flush()
            time.sleep(0.05)
    out, _ = process.communicate(timeout=120)
    assert json.loads(out)["parameters"] == json.loads(whole.stdout)["parameters"]


def test_a_checkpoint_of_something_else_is_refused(
    drive: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log, manifest = drive
    checkpoint = tmp_path / "state.toml"
    follow = ["--manifest", manifest, *FOLLOW, "--checkpoint", str(checkpoint)]
    assert run(["calibrate", log, *follow, *FIRST]) == 0
    capsys.readouterr()
    other, _ = drive_files.write(tmp_path, seconds=20.0, seed=5)
    changed = tmp_path / "other.toml"
    changed.write_text(drive_files.MANIFEST + "yaw = 0.1\n")
    for arguments, sentence in (
        ([log, *follow, "--parameters", "slip.p2,noise"], "was made for other parameters: slip.p2, slip.p6"),
        ([log, *follow, *FIRST, "--prior", "slip.p2=0:1"], "other priors"),
        ([log, *follow, *FIRST, "--interval", "3"], "another interval"),
        ([other, *follow, *FIRST], "begins otherwise than the log it was made for"),
        ([log, "--manifest", str(changed), *follow[2:], *FIRST], "another manifest"),
    ):
        assert run(["calibrate", *arguments]) == 2
        said = capsys.readouterr().err
        assert sentence in said
        assert said.count("\n") == 1
    checkpoint.write_text("schema = 'grouser/stream@1'\n")
    assert run(["calibrate", log, *follow, *FIRST]) == 2
    assert "is not a whole checkpoint" in capsys.readouterr().err


def test_follow_counts_what_it_cannot_use_and_loses_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log, manifest = drive_files.write(tmp_path, seconds=60.0)
    rows = Path(log).read_text().splitlines()
    rows[200] = rows[200].replace(rows[200].split(",")[1], "nan", 1)
    rows[300] = rows[300].rsplit(",", 1)[0]
    rows[400], rows[401] = rows[401], rows[400]
    Path(log).write_text("\n".join(rows) + "\n0.5,1.0")
    assert run(["calibrate", log, "--manifest", manifest, *FIRST, *FOLLOW]) == 0
    result = printed(capsys)
    rejected = result["rejected"]
    assert rejected["rates.FL (column wl) is missing or not finite"] == 1
    assert rejected["the row has too few or too many columns"] == 1
    assert rejected["out of order: the time stamp lies before that of the row above"] == 1
    assert rejected["cut off: the last line of the file does not end"] == 1
    assert result["counts"]["samples"] == 1200 - 3
    assert result["counts"]["stretches"] == 1


def test_follow_takes_a_clock_that_jumps_back_for_a_new_stretch(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log, manifest = drive_files.write(tmp_path, seconds=30.0)
    rows = Path(log).read_text().splitlines()
    Path(log).write_text("\n".join([*rows, *rows[1:]]) + "\n")
    assert run(["calibrate", log, "--manifest", manifest, *FIRST, *FOLLOW]) == 0
    result = printed(capsys)
    assert result["counts"]["stretches"] == 2
    assert result["counts"]["samples"] == 1200


@pytest.mark.parametrize(
    ("column", "manifest_change", "sentence"),
    [
        (("wl,", "gone,"), ("", ""), "has no column 'wl'"),
        (("", ""), ('FL = "wl"\nBL = "wl"\nFR = "wr"\nBR = "wr"', "".join(
            f'{wheel} = {{ column = "{column}", scale = 1000.0 }}\n'
            for wheel, column in (("FL", "wl"), ("BL", "wl"), ("FR", "wr"), ("BR", "wr"))
        )), "times as far"),
        (("", ""), ('FL = "wl"', 'XX = "wl"'), "has no joint 'XX'"),
    ],
)  # fmt: skip
def test_follow_says_in_one_sentence_what_is_wrong_with_a_whole_log(
    tmp_path: Path,
    column: tuple[str, str],
    manifest_change: tuple[str, str],
    sentence: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    log, manifest = drive_files.write(tmp_path, seconds=30.0)
    Path(log).write_text(Path(log).read_text().replace(*column, 1))
    Path(manifest).write_text(Path(manifest).read_text().replace(*manifest_change))
    assert run(["calibrate", log, "--manifest", manifest, *FIRST, *FOLLOW]) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert said.count("\n") == 1


def test_powertrain_is_there_where_it_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["calibrate", "--list-parameters", "--vehicle", "husky", "--json"]
    for asked, there in (([], False), (["--parameters", "powertrain,noise"], True)):
        assert run([*arguments, *asked]) == 0
        names = [p["name"] for p in json.loads(capsys.readouterr().out)["parameters"]]
        assert ("powertrain.delay" in names) is there


def test_powertrain_of_a_log_without_commands_gets_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log, manifest = drive_files.write(tmp_path)
    assert run(["calibrate", log, "--manifest", manifest, "--parameters", "powertrain,noise"]) == 2
    assert "has no commands; a powertrain needs [commands] in its manifest" in capsys.readouterr().err
