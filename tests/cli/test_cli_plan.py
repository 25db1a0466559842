"""`grouser plan`: what it prints, its files, and every mistake in one sentence."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import grouser as gr
from grouser.cli import run
from tests.motion.uncertain_fit import fit_of

KEYS = {"reached", "distance", "duration", "energy", "risk", "least_tip_margin_deg", "refused", "path"}
"""What the issue asks for at least."""
QUICK = ("--samples", "32")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Maps, a fit, soils, keep-outs and a cart without motors."""
    path = tmp_path_factory.mktemp("plan")
    x = np.arange(0.0, 20.01, 0.25)
    bumps = 0.1 * np.sin(0.8 * x)[:, None] * np.cos(0.6 * x)[None, :]
    gr.terrain.grid(bumps, x=x, y=x).save(path / "map.npz")
    wall = bumps + np.where(np.abs(x - 10.0) < 1.0, 4.0, 0.0)[:, None]
    gr.terrain.grid(wall, x=x, y=x).save(path / "wall.npz")
    hole = bumps.copy()
    hole[(np.hypot(x[:, None] - 15.0, x[None, :] - 15.0) < 1.5)] = np.nan
    gr.terrain.grid(hole, x=x, y=x).save(path / "hole.npz")
    east = 500_000.0 + x
    gr.terrain.grid(bumps, x=east, y=4_100_000.0 + x).save(path / "utm.npz")
    classes = np.zeros((20, 20), dtype=np.uint8)
    classes[9:11, :14] = 1
    gr.terrain.SoilRaster(classes=classes, cell=1.0).save(path / "mask.npz")
    rows = "\n".join(" ".join(map(str, row)) for row in classes.T[::-1])
    (path / "mask.asc").write_text(f"ncols 20\nnrows 20\nxllcorner 0\nyllcorner 0\ncellsize 1\n{rows}\n")
    far = "ncols 2\nnrows 2\nxllcorner 900\nyllcorner 0\ncellsize 1\n1 1\n1 1\n"
    (path / "far.asc").write_text(far)
    fit_of(vehicle="husky").save(path / "fit.toml")
    text = Path(gr.__file__).with_name("vehicles").joinpath("data", "husky.toml").read_text()
    (path / "cart.toml").write_text(text.replace("actuated = true", "actuated = false"))
    return path


def answer(capsys: pytest.CaptureFixture[str], folder: Path, *arguments: str, code: int = 0) -> dict[str, Any]:
    given = [one.replace("FOLDER", str(folder)) for one in arguments]
    assert run(["plan", *given, *QUICK, "--json"]) == code
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_the_line_of_the_issue_gives_numbers_a_picture_and_a_page(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [tmp_path / "deeper" / "plan.png", tmp_path / "plan.html"]
    line = ["husky", "--terrain", "FOLDER/map.npz", "--from", "3,3", "--to", "10,6", "--fit", "FOLDER/fit.toml"]
    line += ["--risk", ".1"]
    found = answer(capsys, folder, *line, "--out", str(files[0]), "--view", str(files[1]))
    assert found.keys() >= KEYS
    assert found["reached"] is True
    assert found["files"] == [str(file) for file in files]
    assert all(file.stat().st_size > 10_000 for file in files)
    assert found["distance"] >= math.hypot(7.0, 3.0) - 0.4
    assert found["duration"] > found["distance"] / 1.0  # no faster than --max-speed
    assert 0.0 <= found["risk"] <= 1.0
    assert found["drawn_models"] == 100
    assert found["path"][0][:2] == [3.0, 3.0]
    assert np.hypot(found["path"][-1][0] - 10.0, found["path"][-1][1] - 6.0) <= 0.3
    assert {one["minimise"] for one in found["alternatives"]} <= {"time", "risk"}
    again = answer(capsys, folder, *line)
    assert {**again, "files": 0} == {**found, "files": 0}  # the same seed


def test_people_get_cost_chance_and_alternatives(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["plan", "husky", "--terrain", f"{folder}/map.npz", "--from", "3,3", "--to", "7,6", *QUICK]
    assert run([*line, "--minimise", "time"]) == 0
    printed = capsys.readouterr().out
    assert "husky: least time" in printed
    assert " J" in printed
    assert "not known: no --fit" in printed
    assert "route, least energy" in printed


@pytest.mark.parametrize("mask", ["mask.npz", "mask.asc"])
def test_a_raster_keeps_out(mask: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["husky", "--terrain", "FOLDER/map.npz", "--from", "6,10", "--to", "14,10"]
    found = answer(capsys, folder, *line, "--keep-out", f"FOLDER/{mask}", "--keep-out", "17,2,1")
    assert found["reached"]
    at = [y for x, y, _ in found["path"] if 9.0 <= x <= 11.0]
    assert min(at) > 14.0  # round the end of the wall
    assert found["refused"][0]["way"] == "straight way"
    assert "keep-out" in found["refused"][0]["reason"]


def test_map_coordinates_are_those_of_the_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    near = answer(capsys, folder, "husky", "--terrain", "FOLDER/map.npz", "--from", "3,3", "--to", "7,6")
    line = ["husky", "--terrain", "FOLDER/utm.npz", "--from", "500003,4100003", "--to", "500007,4100006"]
    far = answer(capsys, folder, *line)
    assert far["reached"]
    assert far["distance"] == pytest.approx(near["distance"], rel=0.05)
    assert far["path"][-1][0] == pytest.approx(500007.0, abs=0.31)


def test_a_goal_that_no_way_leads_to_ends_with_code_1_and_the_reason(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["plan", "husky", "--terrain", f"{folder}/wall.npz", "--from", "3,10", "--to", "17,10", *QUICK]
    files = [str(tmp_path / name) for name in ("plan.png", "plan.html")]
    assert run([*line, "--out", files[0], "--view", files[1], "--json"]) == 1
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    assert found["reached"] is False
    assert found["risk"] == 1.0
    assert found["refused"]
    last = printed.err.splitlines()[-1]
    assert last.startswith("grouser: the goal is not reached: ")
    assert len(last) < 250
    assert all(Path(file).stat().st_size > 10_000 for file in files)


def test_dynamics_drives_too(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["husky", "--terrain", "FOLDER/map.npz", "--from", "3,3", "--to", "6,5", "--model", "dynamic"]
    found = answer(capsys, folder, *line)
    assert found["reached"]
    assert found["energy"] > 0.0


MISTAKES = {
    "no goal": (["--from", "3,3"], "Missing option '--to'"),
    "goal in words": (["--from", "3,3", "--to", "there"], "--to: 'there' is not 2 numbers"),
    "goal off the map": (
        ["--from", "3,3", "--to", "80,40"],
        "goal (80, 40) m is off the map, which lies within x 0 to",
    ),
    "start off the map": (["--from", "-3,3", "--to", "8,4"], "start (-3, 3) m is off the map"),
    "goal too near to the edge": (["--from", "3,3", "--to", "19.9,4"], "goal (19.9, 4) m is 0.1 m from the edge"),
    "start in a keep-out": (["--from", "3,3", "--to", "8,4", "--keep-out", "3,3,1"], "start (3, 3) m is in a keep-out"),
    "goal near a keep-out": (["--from", "3,3", "--to", "8,4", "--keep-out", "9.2,4,1"], "goal (8, 4) m is 0."),
    "same start and goal": (["--from", "3,3", "--to", "3,3"], "start and goal are 0 m apart"),
    "goal in a hole": (
        ["--terrain", "FOLDER/hole.npz", "--from", "3,3", "--to", "15,15"],
        "goal (15, 15) m lies in a hole of the map",
    ),
    "goal at a hole": (
        ["--terrain", "FOLDER/hole.npz", "--from", "3,3", "--to", "13.3,15"],
        "goal (13.3, 15) m is too near to a hole",
    ),
    "no edge, start in a keep-out": (
        ["--terrain", "flat", "--from", "0,0", "--to", "8,4", "--keep-out", "0,0,1"],
        "start (0, 0) m is in a keep-out",
    ),
    "no map file": (["--terrain", "none.tif", "--from", "0,0", "--to", "8,4"], "none.tif"),
    "risk of 0": (["--from", "3,3", "--to", "8,4", "--risk", "0"], "--risk: 0 is not a chance between 0 and 1"),
    "risk of 1": (["--from", "3,3", "--to", "8,4", "--risk", "1"], "--risk: 1 is not a chance between 0 and 1"),
    "risk below 0": (["--from", "3,3", "--to", "8,4", "--risk", "-1"], "--risk: -1 is not a chance between 0 and 1"),
    "risk NaN": (["--from", "3,3", "--to", "8,4", "--risk", "nan"], "--risk: nan is not a chance"),
    "unknown soil": (
        ["--from", "3,3", "--to", "8,4", "--soils", "FOLDER/mask.npz", "--soil", "0=swamp", "--soil", "1=own"],
        "--soil: 'swamp' is for the dynamic model",
    ),
    "unknown soil of dynamics": (
        ["--from", "3,3", "--to", "8,4", "--model", "dynamic", "--soils", "FOLDER/mask.npz", "--soil", "0=swamp"],
        "contact: 'swamp' is not one of",
    ),
    "unknown model": (["--from", "3,3", "--to", "8,4", "--model", "magic"], "--model: 'magic' is not one of kinematic"),
    "model and fit": (
        ["--from", "3,3", "--to", "8,4", "--model", "dynamic", "--fit", "FOLDER/fit.toml"],
        "--model: the fit says how the vehicle moves",
    ),
    "unknown aim": (["--from", "3,3", "--to", "8,4", "--minimise", "fun"], "--minimise: 'fun' is not one of energy"),
    "keep-out of two numbers": (
        ["--from", "3,3", "--to", "8,4", "--keep-out", "3,3"],
        "--keep-out: '3,3' is not 3 numbers with commas between, such as 4,2,1.5, nor a raster",
    ),
    "keep-out elsewhere": (
        ["--from", "3,3", "--to", "8,4", "--keep-out", "FOLDER/far.asc"],
        "far.asc: covers x 900.5 to 902.5 m, y 0.5 to 2.5 m, which is not on the map",
    ),
    "no keep-out file": (["--from", "3,3", "--to", "8,4", "--keep-out", "none.npz"], "none.npz"),
    "standing still": (["--from", "3,3", "--to", "8,4", "--max-speed", "0"], "--max-speed: 0 m/s is not above 0"),
    "too fast": (
        ["--from", "3,3", "--to", "8,4", "--max-speed", "1e9"],
        "1e+09 m/s is not above 0 and at most 100 m/s",
    ),
    "picture of no kind": (["--from", "3,3", "--to", "8,4", "--out", "plan.xyz"], "--out: plan.xyz must end in"),
    "page of no kind": (["--from", "3,3", "--to", "8,4", "--view", "plan.png"], "--view: plan.png must end in"),
    "few samples": (["--from", "3,3", "--to", "8,4", "--samples", "2"], "--samples: 2 is not between 8 and 1000000"),
}


@pytest.mark.parametrize(("options", "words"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_ends_with_one_sentence_and_code_2(
    options: list[str], words: str, folder: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    options = [one.replace("FOLDER", str(folder)) for one in options]
    terrain = [] if "--terrain" in options else ["--terrain", f"{folder}/map.npz"]
    refused(capsys, ["plan", "husky", *terrain, *options], words)
    assert not list(tmp_path.iterdir())


def test_a_fit_of_another_vehicle_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["plan", "warthog", "--terrain", f"{folder}/map.npz", "--from", "3,3", "--to", "8,4"]
    refused(capsys, [*line, "--fit", f"{folder}/fit.toml"], "is of 'husky', not of 'warthog'")


def test_a_vehicle_without_motors_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["plan", f"{folder}/cart.toml", "--terrain", f"{folder}/map.npz", "--from", "3,3", "--to", "8,4"]
    refused(capsys, line, "no wheel has a motor")


def refused(capsys: pytest.CaptureFixture[str], line: list[str], words: str) -> None:
    assert run(line) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    said = [one for one in printed.err.splitlines() if "compiling" not in one]
    assert len(said) == 1, said
    assert words in said[0]
    assert said[0].startswith("grouser: ")
    assert len(said[0]) < 250


def test_an_interrupt_is_quiet(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("grouser.plan.mppi.MPPI.command", interrupted)
    assert run(["plan", "husky", "--terrain", f"{folder}/map.npz", "--from", "3,3", "--to", "8,4", *QUICK]) == 130
    assert "Traceback" not in capsys.readouterr().err
