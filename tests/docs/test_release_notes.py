"""The table of old and new names in the release notes: what a program is sent to is there."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

import grouser as gr

ROOT = Path(__file__).resolve().parents[2]
NOTES = ROOT / "release" / "notes-0.2.0.md"
ROWS = [line.strip("|").split(" | ") for line in NOTES.read_text().splitlines() if line.startswith("| `")]


def new_names() -> list[str]:
    """What the right column names, also where it says that names stay the same in another package."""
    found = []
    for old, new in ROWS:
        names = re.findall(r"`([\w./]+)`", new)
        if new.strip().startswith("the same names in"):
            package = names[0]
            found += [f"{package}.{name}" for name in re.findall(r"`(\w+)`", old)]
        found += [name for name in names if name.startswith(("grouser.", "gr.", "experiments", "tests/"))]
    return found


def test_the_table_is_read():
    assert len(ROWS) > 30
    assert {"grouser.motion.predict", "tests/oracles/rolling_surfaces.py", "gr.contact.law"} <= set(new_names())


@pytest.mark.parametrize("name", new_names())
def test_a_new_name_is_there(name):
    if name.startswith("tests/"):
        assert (ROOT / name).is_file()
    elif name.startswith("gr."):
        found = gr
        for part in name.split(".")[1:]:
            found = getattr(found, part)
    else:
        importlib.import_module(name)
