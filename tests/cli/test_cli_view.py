"""`grouser view` and `grouser simulate --view`: a page is written and named, or one sentence says why not."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from grouser.cli import run

PAGE = "<!doctype html>"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two runs and a fan."""
    folder = tmp_path_factory.mktemp("runs")
    for name, curvature in (("straight", "0"), ("left", "0.3")):
        out = str(folder / f"{name}.npz")
        assert run(["simulate", "husky", "--duration", "1", "--curvature", curvature, "--out", out]) == 0
    arguments = ["rollout", "husky", "--rollouts", "20", "--duration", "1"]
    assert run([*arguments, "--every", "5", "--out", str(folder / "fan.npz")]) == 0
    assert run([*arguments, "--out", str(folder / "ends.npz")]) == 0
    return folder


def scene_of(page: Path) -> dict:
    text = page.read_text(encoding="utf-8")
    assert text.startswith(PAGE)
    return json.loads(text.split('id="scene">')[1].split("</script>")[0])


def test_simulate_writes_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "new" / "run.html"
    assert run(["simulate", "husky", "--duration", "1", "--view", str(page), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["files"] == [str(page)]
    assert scene_of(page)["runs"][0]["rows"] == 26
    assert run(["simulate", "husky", "--duration", "1", "--view", str(tmp_path / "run.png")]) == 2
    assert "--view" in capsys.readouterr().err


def test_view_lays_runs_and_rollouts_over_each_other(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["view", str(files / "straight.npz")]) == 0
    assert f"wrote {files / 'straight.html'}" in capsys.readouterr().out
    page = files / "new" / "both.html"
    arguments = [str(files / "straight.npz"), str(files / "left.npz"), "--fan", str(files / "fan.npz")]
    assert run(["view", *arguments, "--out", str(page), "--title", "Both", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["file"] == str(page)
    assert result["bytes"] == page.stat().st_size
    scene = scene_of(page)
    assert [one["name"] for one in scene["runs"]] == ["straight", "left"]
    assert (scene["title"], scene["fan"]["drawn"]) == ("Both", 20)


def test_a_fan_may_stand_alone_on_its_ground(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fan = str(files / "fan.npz")
    assert run(["view", "--fan", fan, "--terrain", "slope:deg=10", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["runs"] == []
    scene = scene_of(files / "fan.html")
    assert (scene["runs"], scene["fan"]["drawn"]) == ([], 20)
    for arguments in ([], ["--fan", fan]):
        assert run(["view", *arguments]) == 2
        assert "--fan and its ground with --terrain" in capsys.readouterr().err


def test_mistakes_are_one_sentence(files: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    straight = str(files / "straight.npz")
    (tmp_path / "bad.npz").write_bytes(b"no archive")
    np.savez(tmp_path / "other.npz", state=np.zeros((2, 3, 4)), status=np.array(["ok"]))
    for arguments, said in (
        (["missing.npz"], "no such file"),
        ([str(tmp_path / "bad.npz")], "not a readable .npz"),
        ([straight, "--out", "run.pdf"], "--out: run.pdf must end in .html"),
        ([straight, "--mesh", "hull.stl"], "body=hull.stl"),
        ([straight, "--mesh", "hull=hull.stl"], "no vehicle has a frame 'hull'"),
        ([straight, "--fan", str(files / "ends.npz")], "--every"),
        ([straight, "--fan", str(tmp_path / "bad.npz")], "not a readable .npz"),
        ([straight, "--fan", str(tmp_path / "other.npz")], "make it again"),
        ([straight, "--fan", str(tmp_path / "none.npz")], "no such file"),
        ([straight, "--terrain", "moon"], "moon"),
    ):
        assert run(["view", *arguments, *([] if "--out" in arguments else ["--out", str(tmp_path / "p.html")])]) == 2
        err = capsys.readouterr().err
        assert said in err
        assert len(err.splitlines()) == 1
    assert not (tmp_path / "p.html").exists()
