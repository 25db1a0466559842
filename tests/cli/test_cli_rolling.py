"""`grouser rolling`: one JSON object, files, designs compared, and mistakes in one sentence."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import grouser as gr
from grouser.cli import run

HILLS = "rough:rms=.3,length=3,seed=1,size=24,interpolation=spline"


def printed(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    value = json.loads(capsys.readouterr().out)
    assert isinstance(value, dict)
    return value


def test_json_is_one_object_with_the_promised_numbers(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    files = [str(tmp_path / name) for name in ("run.npz", "run.csv", "run.png", "run.html")]
    options = [part for file in files[:3] for part in ("--out", file)] + ["--view", files[3]]
    assert run(["rolling", "pvc", "--terrain", HILLS, "--duration", "5", *options, "--json"]) == 0
    result = printed(capsys)
    assert result["status"] == "ok"
    assert result["degrees_of_freedom"] == result["degrees_of_freedom_most"] == 3
    assert result["closure_error_max"] < 3e-4
    assert result["rolling_residual_max"] < 1e-5
    assert max(result["contact_gap_max"], result["normal_error_max"]) < 1e-6
    assert result["rank_is_sure"] is True
    assert len(result["singular_values"]) == 9
    assert result["files"] == files
    assert result["designs"] == []
    back = gr.Run.load(files[0])
    assert back.distance == pytest.approx(result["distance"])
    assert len((tmp_path / "run.csv").read_text().splitlines()) == 502
    assert Path(files[2]).read_bytes()[:4] == b"\x89PNG"
    assert "<html" in Path(files[3]).read_text()


def test_rates_joints_and_start_are_taken(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["rolling", "pvc_locked", "--start", "1,2,90", "--duration", "2", "--drive", "0.5", "--json"]
    assert run(arguments) == 0
    straight = printed(capsys)
    assert straight["final_position"] == pytest.approx([1.0, 2.65, 0.65], abs=1e-9)  # 2 s of 0.5 rad/s, 0.65 m
    assert straight["degrees_of_freedom"] == 2
    assert run([*arguments, "--joint", "phi1=0.3", "--rate", "alpha2=0.4"]) == 0
    turned = printed(capsys)
    assert turned["final_position"][0] < 0.99  # to the left of +y


def test_designs_are_compared_in_json_and_for_people(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    picture = tmp_path / "designs.png"
    arguments = ["rolling", "pvc", "--terrain", HILLS, "--duration", "4", "--dt", "0.02", "--compare", "pvc_locked"]
    assert run([*arguments, "--plot", str(picture), "--json"]) == 0
    result = printed(capsys)
    free, locked = result["designs"]
    assert (free["vehicle"], locked["vehicle"]) == ("pvc", "pvc_locked")
    assert locked["slip_per_metre"] > 100.0 * free["slip_per_metre"]
    assert picture.read_bytes()[:4] == b"\x89PNG"
    assert run(arguments) == 0
    text = capsys.readouterr().out
    assert re.search(r"degrees of freedom +3 ", text)
    assert re.search(r"pvc_locked +1 ", text)


def test_a_run_that_ends_early_says_why_and_exits_with_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rolling", "pvc", "--terrain", HILLS, "--start", "9,0,0", "--dt", "0.05"]) == 1
    captured = capsys.readouterr()
    assert "off_terrain" in captured.out
    assert re.search(r"ended after \d.* s: the ground ended under a wheel", captured.err)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["zoe"], "wheel 'FL' is a thin disc"),
        (["pvc", "--terrain", "rough:rms=.3,length=3,seed=1"], "add interpolation=spline"),
        (["pvc", "--terrain", "ramp:height=.5,deg=20"], "has edges"),
        (["pvc", "--rate", "alpha1"], "--rate: 'alpha1' is not joint=number"),
        (["pvc", "--rate", "omega=1"], "no joint 'omega'"),
        (["pvc", "--joint", "phi1=nan"], "is not joint=number"),
        (["pvc", "--sigma", "0"], "--sigma: 0 is not a positive number"),
        (["pvc", "--sigma", "500"], "is too fast for steps of 0.01 s"),
        (["pvc", "--drive", "1e6"], "turns by more than half a turn in a step"),
        (["pvc", "--friction", "nan"], "--friction: nan is not a number of at least 0"),
        (["pvc", "--compare", "pvc", "--duration", "1"], "'pvc' is given twice"),
        (["pvc", "--out", "run.txt"], "must end in one of"),
        (["pvc", "--view", "run.png"], "--view: run.png must end in .html"),
        (["pvc", "--plot", "a.png"], "add --compare"),
        (["pvc", "--terrain", HILLS, "--start", "50,0,0"], "is not on the map, which covers x"),
        (["pvc", "--duration", "1", "--dt", "0.3"], "not a whole number of steps"),
    ],
)
def test_mistakes_are_one_sentence(arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rolling", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert sentence in captured.err


def test_a_spline_in_a_file_is_ground_to_roll_on(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    x, y = np.linspace(-3.0, 8.0, 45), np.linspace(-3.0, 3.0, 25)
    gr.terrain.spline(0.1 * np.sin(x)[:, None] * np.cos(y), x, y).save(tmp_path / "hills.npz")
    assert run(["rolling", "pvc", "--terrain", str(tmp_path / "hills.npz"), "--duration", "3", "--json"]) == 0
    result = printed(capsys)
    assert result["distance"] == pytest.approx(3.0 * 0.65, rel=0.1)  # wheel centres go further over a hilltop
    assert all(math.isfinite(value) for value in result["final_position"])


def test_help_shows_examples_and_fits(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rolling", "--help"]) == 0
    text = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    assert "Example: grouser rolling" in text
    assert "--json" in text
