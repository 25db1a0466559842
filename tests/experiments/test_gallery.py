"""`python -m experiments.gallery`: every picture that README and documentation show is one it makes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from matplotlib.image import imread

from experiments import gallery_pictures
from experiments.gallery import run
from grouser.errors import GrouserError

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def shown(page: Path) -> set[Path]:
    """Files of the pictures on a page, as it refers to them."""
    text = page.read_text(encoding="utf-8")
    found = re.findall(r"!\[[^\]]*\]\(([^)\s]+)", text) + re.findall(r"<img[^>]+src=\"([^\"]+)", text)
    return {(page.parent / name).resolve() for name in found if "://" not in name}


def test_every_picture_shown_is_there_and_one_of_the_gallery() -> None:
    made = gallery_pictures.drawings()
    pictures = {picture: page for page in PAGES for picture in shown(page)}
    assert ROOT / "docs" / "images" / "demo.png" in pictures
    for picture, page in pictures.items():
        place = f"{page.relative_to(ROOT)} shows {picture.name}"
        assert picture.is_file(), f"{place}, which is not there"
        assert picture.parent == ROOT / "docs" / "images", place
        name = picture.stem.removesuffix("-designs")
        if name == "drive":  # a screenshot of the live page, which needs a person's hands
            assert picture.stat().st_size <= 400_000
            continue
        assert name in made, f"{place}, which the gallery does not make"
        assert picture.suffix == (made[name].suffix or ".png"), place
        assert picture.stat().st_size <= made[name].largest, f"{place}, which is too large for a repository"
    assert {name for name, one in made.items() if one.largest > gallery_pictures.LARGEST} == {"viewer"}
    assert made["viewer"].largest == 1_500_000


def test_the_list_names_them_and_what_they_show(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--list", "--json"]) == 0
    words = json.loads(capsys.readouterr().out)["pictures"]
    assert {"demo", "table-2.4", "rollover"} <= set(words)
    assert "table-3.5" not in words  # its numbers are in the picture of table-3.4
    assert all(words.values())


def test_quick_ones_are_drawn_small_and_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "new" / "images"
    names = ["demo", "rollouts", "forces"]
    chosen = [word for name in names for word in ("--only", name)]
    assert run(["--quick", *chosen, "--out", str(out), "--json"]) == 0
    said = capsys.readouterr()
    result = json.loads(said.out)
    assert sorted(file.name for file in out.iterdir()) == sorted(f"{name}.png" for name in names)
    assert [result["pictures"][name]["file"] for name in names] == [str(out / f"{name}.png") for name in names]
    assert result["failed"] == {}
    assert "1 of 3: demo" in said.err
    for file in out.iterdir():
        assert file.stat().st_size <= gallery_pictures.LARGEST
        picture = imread(file)
        assert picture.shape[0] > 200
        assert picture[..., :3].std() > 0.05  # not blank


def test_the_page_shows_every_picture_with_its_command_and_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def draw(path: Path, quick: bool, progress: object) -> None:
        path.write_text("<svg/>")

    def reproduce(path: Path, quick: bool, progress: object) -> str:
        path.write_text("<svg/>")
        path.with_stem(f"{path.stem}-designs").write_text("<svg/>")
        return "dt  error (paper)\n-----------------\n1   2.0 (   2.1)\n\n- The paper's ground is not known."

    two = {"a": gallery_pictures.Drawing("a run", draw), "table-1.2": gallery_pictures.Drawing("errors", reproduce)}
    monkeypatch.setattr(gallery_pictures, "drawings", lambda: two)
    assert run(["--out", str(tmp_path), "--kind", "svg", "--only", "a"]) == 0
    assert not (tmp_path / "README.md").exists()  # a part must not replace the whole
    assert run(["--out", str(tmp_path), "--kind", "svg"]) == 0
    page = tmp_path / "README.md"
    assert shown(page) == {tmp_path / f"{name}.svg" for name in ("a", "table-1.2", "table-1.2-designs")}
    text = page.read_text(encoding="utf-8")
    assert "(#table-12)" in text
    assert "`python -m experiments.gallery --only a`" in text
    assert "`python -m experiments table-1.2 --plot table-1.2.svg`" in text
    assert "```text\ndt  error (paper)\n-----------------\n1   2.0 (   2.1)\n```\n\n- The paper's ground" in text


def test_one_that_cannot_be_drawn_does_not_stop_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(path: Path, quick: bool, progress: object) -> None:
        raise GrouserError("its data is not here")

    def draw(path: Path, quick: bool, progress: object) -> None:
        path.write_text("<svg/>")

    two = {"a": gallery_pictures.Drawing("fails", fail), "b": gallery_pictures.Drawing("works", draw)}
    monkeypatch.setattr(gallery_pictures, "drawings", lambda: two)
    assert run(["--out", str(tmp_path), "--kind", "svg", "--json"]) == 1
    said = capsys.readouterr()
    assert json.loads(said.out)["failed"] == {"a": "its data is not here"}
    assert "grouser: a: its data is not here" in said.err
    assert [file.name for file in tmp_path.iterdir()] == ["b.svg"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--only", "mona-lisa"], "there is no picture 'mona-lisa'; there are demo"),
        (["--kind", "gif"], "'gif' is not one of png, svg, pdf"),
    ],
)
def test_mistakes_are_one_sentence(
    arguments: list[str], sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*arguments, "--out", str(tmp_path / "x")]) == 2
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / "x").exists()
