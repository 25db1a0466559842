"""`grouser odometry --view`: the page it writes, what it says of it, and the mistakes it names."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import drive_files
import pytest

from grouser.cli import run


@pytest.fixture(scope="module")
def drive(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str, str]:
    """A log with a gap in it, its manifest, and a fit of another log."""
    folder = tmp_path_factory.mktemp("odometry view")
    first, manifest = drive_files.write(folder, seconds=30.0)
    fit = str(folder / "fit.toml")
    options = ["--manifest", manifest, "--split", "1", "--model", "four-number", "--out", fit]
    assert run(["calibrate", first, *options]) == 0
    heading, *rows = drive_files.lines(20.0, 2)
    for k in range(100, len(rows)):
        t, rest = rows[k].split(",", 1)
        rows[k] = f"{float(t) + 9.0},{rest}"
    log = folder / "gap.csv"
    log.write_text("\n".join([heading, *rows]) + "\n")
    return str(log), manifest, fit


def scene_of(page: Path) -> dict[str, Any]:
    found = re.search(r'<script[^>]*id="scene"[^>]*>(.*?)</script>', page.read_text(encoding="utf-8"), re.S)
    assert found
    scene = json.loads(found[1])
    assert isinstance(scene, dict)
    return scene


def test_page_has_odometry_plain_odometry_and_poses(
    drive: tuple[str, str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log, manifest, fit = drive
    page = tmp_path / "new folder" / "page.html"
    capsys.readouterr()
    assert run(["odometry", log, "--manifest", manifest, "--fit", fit, "--view", str(page), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["view"] == str(page)
    scene = scene_of(page)
    # The gap is nine seconds long: two drives, of which the second is longer.
    assert scene["title"] == "gap.csv: calibrated odometry, longest of 2 drives, from 14 s on"
    names = [one["name"] for one in scene["runs"]]
    assert names == ["calibrated odometry", "plain odometry", "measured x, y, yaw"]
    assert [one["rows"] for one in scene["runs"]][:2] == [300, 300]
    assert [one["distance"] for one in scene["runs"]][2] == result["distance"]
    (ellipses,) = scene["poses"]
    assert (ellipses["name"], ellipses["total"]) == ("calibrated odometry", 300)
    assert scene["grounds"][0]["description"].startswith("no map: plane of ")

    assert run(["odometry", log, "--manifest", manifest, "--view", str(page)]) == 0
    assert f"wrote {page}" in capsys.readouterr().out
    assert [one["name"] for one in scene_of(page)["runs"]] == ["plain odometry", names[2]]


def test_a_log_without_poses_is_driven_too(
    drive: tuple[str, str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log, manifest, fit = drive
    text = Path(manifest).read_text()
    blind = tmp_path / "blind.toml"
    blind.write_text(text[: text.index("[pose]")] + text[text.index("[sensor]") :])
    page = tmp_path / "page.html"
    assert run(["odometry", log, "--manifest", str(blind), "--fit", fit, "--view", str(page)]) == 0
    scene = scene_of(page)
    assert [one["name"] for one in scene["runs"]] == ["calibrated odometry"]
    assert len(scene["poses"]) == 1


def test_a_page_has_the_name_of_one(drive: tuple[str, str, str], capsys: pytest.CaptureFixture[str]) -> None:
    log, manifest, fit = drive
    capsys.readouterr()
    assert run(["odometry", log, "--manifest", manifest, "--fit", fit, "--view", "page.png"]) == 2
    said = capsys.readouterr().err
    assert "--view: page.png must end in .html" in said
    assert said.count("\n") == 1
