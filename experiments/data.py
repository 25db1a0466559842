"""Recorded data that experiments and tests read: `tests/data`, or a folder of the user's own.

Large files are stored compressed; `unpacked` writes them to `out/data` once.
"""

from __future__ import annotations

import lzma
import os
from pathlib import Path

from grouser.errors import GrouserError

ROOT = Path(__file__).resolve().parents[1]
STORED = ROOT / "tests" / "data"
UNPACKED = ROOT / "out" / "data"
VARIABLE = "GROUSER_DATA"
"""Environment variable that names another folder; `python -m experiments --data FOLDER` sets it."""


def folder(name: str, file: str, source: str) -> Path:
    """The folder that holds `file`: in $GROUSER_DATA (itself or its subfolder `name`), or else in the clone's data.

    `source` says in an error message where the data come from.
    """
    given = os.environ.get(VARIABLE)
    places = [Path(given), Path(given) / name] if given else [unpacked(name)]
    for place in places:
        if (place / file).is_file():
            return place
    where = given or STORED / name
    raise GrouserError(f"{where} does not hold {file} ({source}); --data must name the folder it is in")


def unpacked(name: str = "") -> Path:
    """A folder of `tests/data` with its files decompressed; all of them without a name.

    Files that are there and not older than the stored ones are kept. Two processes may do this at once.
    """
    for stored in sorted((STORED / name).rglob("*")):
        relative = stored.relative_to(STORED)
        if stored.is_dir():
            continue
        target = UNPACKED / (relative.with_suffix("") if stored.suffix == ".xz" else relative)
        if target.is_file() and target.stat().st_mtime >= stored.stat().st_mtime:
            continue
        content = stored.read_bytes()
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_name(f"{target.name}.{os.getpid()}.part")
        part.write_bytes(lzma.decompress(content) if stored.suffix == ".xz" else content)
        part.replace(target)
    return UNPACKED / name
