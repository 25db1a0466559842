"""A picture, an empty file or a folder where a file of another kind belongs: one sentence that names it, code 2."""

from __future__ import annotations

from pathlib import Path

import pytest

from grouser.cli import run

PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4
MANIFEST = """
schema = "grouser/log@1"
vehicle = "warthog"
[time]
column = "t"
[rates]
FL = "wl"
BL = "wl"
FR = "wr"
BR = "wr"
[pose]
x = "x"
y = "y"
yaw = "yaw"
"""
READERS: dict[str, tuple[tuple[str, ...], list[str]]] = {
    "check": (
        (".npz", ".csv", ".toml", ".urdf", ".asc", ".tif", ".stl", ".obj", ".ply", ".bag", ".db3", ".mcap", ".png"),
        ["check", "FILE"],
    ),
    "check with a manifest": ((".csv", ".png"), ["check", "FILE", "--manifest", "good.toml"]),
    "manifest": ((".toml", ".png"), ["check", "drive.csv", "--manifest", "FILE"]),
    "vehicle": ((".toml", ".urdf", ".png", ".npz", ".csv"), ["simulate", "FILE", "--duration", "0.4"]),
    "terrain": (
        (".npz", ".asc", ".tif", ".stl", ".obj", ".ply", ".png"),
        ["simulate", "husky", "--duration", "0.4", "--terrain", "FILE"],
    ),
    "calibrate": ((".csv", ".png"), ["calibrate", "FILE", "--manifest", "good.toml"]),
    "fit": ((".toml", ".png"), ["evaluate", "drive.csv", "--manifest", "good.toml", "--fit", "FILE"]),
    "odometry": ((".csv",), ["odometry", "FILE", "--manifest", "good.toml"]),
    "view": ((".npz", ".csv", ".png"), ["view", "FILE"]),
}
CASES = [
    pytest.param(kind, suffix, arguments, id=f"{reader} {kind}{suffix}")
    for reader, (suffixes, arguments) in READERS.items()
    for suffix in suffixes
    for kind in ("empty", "picture", "folder")
]


@pytest.mark.parametrize(("kind", "suffix", "arguments"), CASES)
def test_wrong_file_is_one_sentence_that_names_it(
    kind: str,
    suffix: str,
    arguments: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("good.toml").write_text(MANIFEST)
    Path("drive.csv").write_text("t,wl,wr,x,y,yaw\n" + "".join(f"{0.1 * k},1,1,{0.03 * k},0,0\n" for k in range(50)))
    name = kind + suffix
    if kind == "folder":
        Path(name).mkdir()
    else:
        Path(name).write_bytes(b"" if kind == "empty" else PICTURE)
    before = sorted(Path().rglob("*"))
    assert run([name if word == "FILE" else word for word in arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    lines = [line for line in printed.err.splitlines() if "compiling" not in line]
    assert len(lines) == 1
    assert lines[0].startswith("grouser: ")
    assert name in lines[0]
    assert "Traceback" not in printed.err
    assert "No module named" not in printed.err  # a picture is the trouble, not the installation
    assert sorted(Path().rglob("*")) == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["check", "empty.npz"], "is empty"),
        (["check", "empty.csv"], "is empty"),
        (["check", "empty.mcap"], "is empty"),
        (["check", "empty.db3"], "is empty"),
        (["simulate", "husky", "--terrain", "empty.stl"], "is empty"),
        (["simulate", "husky", "--terrain", "folder.npz"], "is a folder"),
        (["check", "folder.mcap"], "is a folder"),
        (["check", "empty.csv", "--manifest", "folder.npz"], "is a folder"),
        (["simulate", "picture.png"], "give a .toml or .urdf"),
        (["check", "picture.csv"], "is not text"),
        (["check", "picture.obj"], "its text is not UTF-8"),
    ],
)
def test_the_sentence_says_what_is_wrong(
    arguments: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for word in arguments:
        if word.startswith("folder"):
            Path(word).mkdir()
        elif word.startswith(("empty", "picture")):
            Path(word).write_bytes(b"" if word.startswith("empty") else PICTURE)
    assert run(arguments) == 2
    assert said in capsys.readouterr().err
