"""A report: the question, the numbers, the pictures, the settings to repeat it and the versions, on one HTML page.

`report_run`, `report_fit` and `report_odometry` make the three kinds; this is what they share.
"""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from grouser._version import __version__
from grouser.errors import GrouserError
from grouser.files import write_whole

SUFFIXES = (".html", ".htm")
PACKAGES = ("numpy", "numba", "scipy", "matplotlib")
"""Whose versions a result may hang on."""
CHUNK = 1 << 20
"""Bytes read at a time, so that a log of any length is hashed in little memory."""


@dataclass(frozen=True)
class Table:
    """Cells of text under a caption; units stand in the heading or in the cell."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: tuple[int, ...] = ()
    """Columns that are aligned right."""


@dataclass(frozen=True, eq=False)
class Picture:
    """A figure, and what it shows in a sentence."""

    figure: Figure
    caption: str


@dataclass(frozen=True)
class Listing:
    """Lines to type or a file to keep, as they stand; a folded one is opened by a click."""

    caption: str
    text: str
    folded: bool = False


@dataclass(frozen=True, eq=False)
class Section:
    """A heading and what stands below it: paragraphs, tables, pictures, listings."""

    heading: str
    parts: tuple[str | Table | Picture | Listing, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class Report:
    """One page."""

    kind: str
    """"simulation", "calibration" or "odometry"."""
    title: str
    question: str
    """What the page answers."""
    answer: tuple[str, ...]
    """In words, the most important first."""
    sections: tuple[Section, ...]
    """The numbers, the pictures, the settings."""
    numbers: dict[str, Any] = field(default_factory=dict)
    """Key numbers, as JSON takes them."""

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the page, whole or not at all, and return where it is. It needs no network and runs no script."""
        from grouser.view.report_page import make_page

        check_report_name(path)
        text = make_page(self)
        write_whole(path, lambda file: file.write(text.encode()), GrouserError)
        return Path(path)


def check_report_name(path: str | os.PathLike[str]) -> None:
    """Refuse a name that no browser would open as a page."""
    if Path(path).suffix.lower() not in SUFFIXES:
        raise GrouserError(f"{path}: a report ends in {SUFFIXES[0]}")


def repeat_section(
    settings: Sequence[tuple[str, str]],
    *,
    command: str = "",
    files: Sequence[str | os.PathLike[str]] = (),
    listings: Sequence[Listing] = (),
    notes: Sequence[str] = (),
) -> Section:
    """What it takes to have the same again: the command, the settings, the files with their hashes."""
    parts: list[str | Table | Picture | Listing] = []
    if command:
        parts.append(Listing("This page was made by", command))
    parts += listings
    parts.append(Table("Settings", ("what", "value"), tuple(settings)))
    if files:
        single = [one for file in files for one in _files_of(Path(file))]
        rows = tuple((file.name, f"{file.stat().st_size:,} bytes", file_hash(file)) for file in single)
        parts.append(Table("Files that went in", ("file", "size", "SHA-256"), rows, numeric=(1,)))
    parts += notes
    return Section("To repeat it", tuple(parts))


def versions_section() -> Section:
    """What it ran with."""
    rows = [("grouser", __version__), ("Python", platform.python_version())]
    rows += [(name, _version(name)) for name in PACKAGES]
    rows.append(("machine", f"{platform.machine()}, {os.cpu_count() or 1} cores"))
    rows.append(("system", platform.platform()))
    return Section("Versions", (Table("What this page was made with", ("what", "version"), tuple(rows)),))


def file_hash(path: str | os.PathLike[str]) -> str:
    """SHA-256 of a file, in hexadecimal."""
    found = hashlib.sha256()
    try:
        with Path(path).open("rb") as stream:
            while piece := stream.read(CHUNK):
                found.update(piece)
    except OSError as error:
        raise GrouserError(f"{path}: cannot be read ({error.strerror or error})") from None
    return found.hexdigest()


def _files_of(path: Path) -> list[Path]:
    """A file, or those of a folder: a bag of ROS 2 is one."""
    return sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]


def number(value: float, unit: str = "", *, digits: int = 4) -> str:
    """A number for people, with its unit; a minus sign as long as a plus."""
    text = f"{value:.{digits}g}".replace("-", "−")
    return f"{text} {unit}" if unit and unit != "1" else text


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not known"
