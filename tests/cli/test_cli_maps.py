"""A survey that nobody here made, from the command line: check, a start on it, parts of it, files of runs."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import grouser as gr
from grouser.cli import run

rasterio = pytest.importorskip("rasterio")

WEST, NORTH, SIDE = 440_000.0, 5_312_000.0, 300


@pytest.fixture(scope="module")
def dem(tmp_path_factory: pytest.TempPathFactory) -> str:
    """300 × 300 m in UTM at 1 m, gentle hills, and a hole of −9999 that the file does not declare."""
    x, y = np.meshgrid(np.arange(SIDE), np.arange(SIDE))
    heights = (320.0 + 6.0 * np.sin(0.03 * x) * np.cos(0.04 * y)).astype(np.float32)
    heights[60:80, 200:240] = -9999.0
    path = tmp_path_factory.mktemp("map") / "dem.tif"
    place = rasterio.transform.from_origin(WEST, NORTH, 1.0, 1.0)
    with rasterio.open(
        path, "w", driver="GTiff", width=SIDE, height=SIDE, count=1, dtype="float32", crs="EPSG:32633", transform=place
    ) as file:
        file.write(heights, 1)
    return str(path)


def result(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert run([*arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert isinstance(found, dict)
    return found


def test_check_says_what_a_map_is(dem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", dem, "--out", str(tmp_path / "map.png")]) == 0
    words = capsys.readouterr().out
    for part in (
        "a terrain, no errors",
        "x 440000.5 to 440299.5 m, y 5311700.5 to 5311999.5 m",  # all digits
        "300 × 300 nodes, 299 × 299 m",
        "cell         1 m",
        "314 to 326 m",
        "800 nodes (0.89 %)",
        "WGS 84 / UTM zone 33N (EPSG:32633), metres",
        "−9999, guessed",
        "float32",
        "is taken as no data (800 nodes, 0.89 %)",
        "wrote",
    ):
        assert part in words, part
    assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")


def test_check_gives_the_same_as_json(dem: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = result(capsys, "check", dem)
    assert found["bounds"] == [440000.5, 440299.5, 5311700.5, 5311999.5]
    assert (found["nodes"], found["cell"], found["holes"]) == ([300, 300], [1.0, 1.0], 800)
    assert found["source"]["epsg"] == 32633
    assert found["heights"] == pytest.approx([314.0, 326.0], abs=0.01)
    # The steepest of 6 sin(0.03 x) cos(0.04 y) are 0.18 along x and 0.24 along y, where the other is level.
    assert found["steepest"]["degrees"] == pytest.approx(math.degrees(math.atan(0.24)), abs=0.05)
    assert found["slopes_deg"]["50"] < found["slopes_deg"]["95"] < found["slopes_deg"]["99"] < 13.6


@pytest.mark.parametrize("kind", ["npz", "asc", "endless", "stl"])
def test_check_tells_of_other_terrains_too(
    kind: str, dem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / f"map.{'npz' if kind == 'endless' else kind}"
    if kind == "npz":
        gr.terrain.read(dem).save(path)
    elif kind == "asc":
        path.write_text("ncols 3\nnrows 3\nxllcorner 0\nyllcorner 0\ncellsize 0.5\n1 2 3\n1 2 3\n1 -9999 3\n")
    elif kind == "endless":
        gr.terrain.slope(10.0).save(path)
    else:
        pytest.importorskip("trimesh").Trimesh([[0, 0, 0], [4, 0, 1], [0, 4, 0]], [[0, 1, 2]]).export(path)
    found = result(capsys, "check", str(path))
    assert run(["check", str(path)]) == 0
    words = capsys.readouterr().out
    if kind == "npz":
        assert "−9999, guessed" in words
        assert found["holes"] == 800
    if kind == "asc":
        assert found["holes"] == 1
        assert "no system named; taken as metres" in words
    if kind == "endless":
        assert "endless" in words
        assert found["slopes_deg"]["50"] == pytest.approx(10.0)
    if kind == "stl":
        assert found["hole_share"] == pytest.approx(0.5, abs=0.01)
        assert found["heights"] == pytest.approx([0.0, 1.0], abs=0.02)


def test_check_draws_maps_only(tmp_path: Path, dem: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "zoe.toml").write_text(Path(gr.__file__).with_name("vehicles").joinpath("data/zoe.toml").read_text())
    assert run(["check", str(tmp_path / "zoe.toml"), "--out", str(tmp_path / "a.png")]) == 2
    assert "--out: draws a terrain" in capsys.readouterr().err
    assert run(["check", dem, "--out", str(tmp_path / "a.txt")]) == 2
    assert ".png or .svg or .pdf" in capsys.readouterr().err
    gr.terrain.plane().save(tmp_path / "flat.npz")
    assert run(["check", str(tmp_path / "flat.npz"), "--out", str(tmp_path / "a.png")]) == 2
    assert "has no edge" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["simulate", "rollout"])
def test_without_a_start_it_is_the_middle_of_the_map_and_said(
    command: str, dem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    few = ["--rollouts", "3"] if command == "rollout" else []
    assert run([command, "husky", "--terrain", dem, "--duration", "0.4", *few, "--json"]) == 0
    said = capsys.readouterr()
    found = json.loads(said.out)
    assert "the map covers x 440000.5 to 440299.5 m, y 5311700.5 to 5311999.5 m" in said.err
    assert "--start 440150,5311850" in said.err
    assert "is taken as no data" in said.err
    x, y = found["start"][:2] if command == "rollout" else found["final_position"][:2]
    assert abs(x - 440_150.0) < 1.0
    assert abs(y - 5_311_850.0) < 1.0


@pytest.mark.parametrize("model", ["kinematic", "dynamic"])
@pytest.mark.parametrize("command", ["simulate", "rollout"])
def test_a_start_is_in_coordinates_of_the_map(
    command: str, model: str, dem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Facing west: it goes that way."""
    more = ["--rollouts", "5", "--max-curvature", "0"] if command == "rollout" else []
    found = result(
        capsys, command, "husky", "--terrain", dem, "--start", "440100,5311800", "--heading", "180", "--model", model,
        "--duration", "2", *more,
    )  # fmt: skip
    x, y, _ = found["final_position"] if command == "simulate" else found["final_position_mean"]
    assert -2.1 < x - 440_100.0 < -0.4
    assert abs(y - 5_311_800.0) < 0.2
    assert found["model"] == model


def test_rollouts_of_the_dynamic_model_are_those_of_the_library(dem: str, tmp_path: Path) -> None:
    out = tmp_path / "fan.npz"
    assert run(["rollout", "husky", "--model", "dynamic", "--friction", "0.7", "--rollouts", "2", "--duration", "1",
                "--terrain", dem, "--start", "440100,5311800,90", "--out", str(out)]) == 0  # fmt: skip
    with np.load(out) as file:
        speed, curvature, final = file["speed"], file["curvature"], file["final_state"]
    model = gr.Dynamics(gr.vehicle("husky"), contact=gr.contact.PiecewiseLinear(friction=0.7))
    for k in range(2):
        arc = gr.drive.arc(float(speed[k]), float(curvature[k]))
        one = gr.simulate(model, gr.terrain.read(dem), arc, duration=1.0, start=(440_100.0, 5_311_800.0, math.pi / 2))
        np.testing.assert_allclose(final[k], one.state[-1], rtol=0.0, atol=1e-7)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ["simulate", "husky", "--start", "0,0"],
            "--start: x = 0, y = 0 m is not on the map, which covers x 440000.5 to",
        ),
        (["rollout", "husky", "--start", "0,0,90"], "such as --start 440150,5311850"),
        (["rollout", "husky", "--start", "440220,5311930"], "there is no ground; the map lies within x 440000.5 to"),
        (["simulate", "husky", "--start", "440100"], "neither x,y nor x,y,yaw"),
        (
            ["rollout", "husky", "--start", "440100,5311800,90", "--heading", "3"],
            "--heading: --start has a yaw already",
        ),
        (["rollout", "husky", "--heading", "nan"], "not a number of degrees"),
        (["rollout", "husky", "--model", "static"], "--model: 'static' is not one of kinematic, dynamic"),
        (["rollout", "husky", "--friction", "0.5"], "--friction: is for the dynamic model; add --model dynamic"),
        (
            ["plan", "husky", "--from", "0,0", "--to", "80,40"],
            "start (0, 0) m is off the map, which lies within x 440000.5",
        ),
    ],
)
def test_what_cannot_be_driven_is_said(
    arguments: list[str], says: str, dem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*arguments, "--terrain", dem]) == 2
    said = capsys.readouterr().err.strip().splitlines()
    assert says in said[-1]


def test_a_part_of_a_map_is_driven_on_and_kept(dem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    part = f"{dem}:crop=440050,5311750,440110,5311800,step=2"
    out = tmp_path / "run.npz"
    found = result(capsys, "simulate", "husky", "--terrain", part, "--duration", "1", "--out", str(out))
    assert found["status"] == "ok"
    kept = gr.Run.load(out).ground
    assert kept is not None
    assert kept.bounds[0] < 440_051.0
    assert kept.bounds[1] < 440_113.0
    assert run(["check", str(out)]) == 0
    words = capsys.readouterr().out
    assert "ground near the run: part of map dem.tif" in words
    assert "of x 440000.5 to 440299.5 m" in words
    assert run(["view", str(out)]) == 0
    assert run(["report", str(out)]) == 0
    page = (tmp_path / "run-report.html").read_text()
    assert "the whole map: x 440000.5 to 440299.5 m" in page
    assert (tmp_path / "run.html").stat().st_size < 2_000_000


def test_a_study_names_a_part_of_a_map_and_starts_on_it(dem: str, tmp_path: Path) -> None:
    study = {
        "vehicle": "husky", "grounds": {"hills": f"{Path(dem).name}:step=2"}, "duration": 0.4, "measures": ["distance"],
        "sampling": {"method": "random", "runs": 2}, "start": [440_100.0, 5_311_800.0, 0.0],
    }  # fmt: skip
    from grouser.study.run import run_study
    from grouser.study.spec import Spec

    spec = Spec.of(study, folder=Path(dem).parent)
    assert list(spec.files) == ["dem.tif"]
    assert run_study(spec, tmp_path / "rows").summary()["status"] == {"ok": 2}
    off = Spec.of({**study, "start": [0.0, 0.0, 0.0]}, folder=Path(dem).parent)
    with pytest.raises(
        gr.GrouserError, match=r"start: x = 0, y = 0 m is not on ground 'hills', which lies within x 440001"
    ):
        run_study(off, tmp_path / "others")
