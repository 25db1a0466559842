"""A report: question, numbers, pictures, settings to repeat it and versions, on one HTML page.

All is in one file: pictures inside it, no script, no network; it prints on A4 or letter. `report_run`, `report_fit` and
`report_odometry` make the three kinds.
"""

from __future__ import annotations

import base64
import hashlib
import io
import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from importlib import metadata
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from grouser._version import __version__
from grouser.errors import GrouserError
from grouser.files import write_whole
from grouser.view import style
from grouser.view.page import check_page

PACKAGES = ("numpy", "numba", "scipy", "matplotlib")
"""Packages whose versions may change a result."""
CHUNK = 1 << 20
"""Bytes read at a time, so that a log of any length is hashed in little memory."""

LARGEST_DRAWING = 1_500_000
"""Bytes of a vector picture; a larger one, of a long log, is embedded as a bitmap."""
DPI = 160.0
"""Resolution of such a bitmap."""

STYLE = Path(__file__).with_name("report.css").read_text(encoding="utf-8")


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
    """Lines to type, or a file; a folded one opens on a click."""

    caption: str
    text: str
    folded: bool = False


@dataclass(frozen=True, eq=False)
class Section:
    """A heading with paragraphs, tables, pictures and listings."""

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
        check_page(path, "report")
        text = make_page(self)
        write_whole(path, lambda file: file.write(text.encode()), GrouserError)
        return Path(path)


def repeat_section(
    settings: Sequence[tuple[str, str]],
    *,
    command: str = "",
    files: Sequence[str | os.PathLike[str]] = (),
    listings: Sequence[Listing] = (),
    notes: Sequence[str] = (),
) -> Section:
    """How to repeat it: the command, the settings, the files with their hashes."""
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
    """Versions of what made the page."""
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


def make_page(report: Report) -> str:
    """The page of a report. Every text is escaped, and the page's policy allows no script and no network."""
    fingerprint = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode("ascii")
    policy = f"default-src 'none'; style-src 'sha256-{fingerprint}'; img-src data:; base-uri 'none'; form-action 'none'"
    body = [
        "<header>",
        f'<p class="kind">Grouser, report of {_article(report.kind)}</p>',
        f"<h1>{escape(report.title)}</h1>",
        "</header>",
        f'<p class="question">{escape(report.question)}</p>',
        '<div class="answer">',
        *(f"<p>{escape(line)}</p>" for line in report.answer),
        "</div>",
    ]
    for section in report.sections:
        body += ["<section>", f"<h2>{escape(section.heading)}</h2>", *map(_part, section.parts), "</section>"]
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(report.title)}</title>",
            f"<style>{STYLE}</style>",
            "</head>",
            "<body>",
            *body,
            "</body>",
            "</html>",
            "",
        ]
    )


def _article(kind: str) -> str:
    return f"an {kind} evaluation" if kind == "odometry" else f"a {escape(kind)}"


def _part(part: str | Table | Picture | Listing) -> str:
    if isinstance(part, Table):
        return _table(part)
    if isinstance(part, Picture):
        words = escape(part.caption)
        return f'<figure><img src="{embedded(part.figure)}" alt="{words}"><figcaption>{words}</figcaption></figure>'
    if isinstance(part, Listing):
        if part.folded:
            return f"<details><summary>{escape(part.caption)}</summary><pre>{escape(part.text)}</pre></details>"
        return f'<p class="caption">{escape(part.caption)}</p><pre>{escape(part.text)}</pre>'
    return f"<p>{escape(part)}</p>"


def _table(table: Table) -> str:
    def row(cells: tuple[str, ...], tag: str) -> str:
        made = []
        for i, cell in enumerate(cells):
            side = ' class="right"' if i in table.numeric else ""
            made.append(f"<{tag}{side}>{escape(cell)}</{tag}>")
        return f"<tr>{''.join(made)}</tr>"

    return (
        f'<div class="table"><table><caption>{escape(table.caption)}</caption>'
        f"<thead>{row(table.columns, 'th')}</thead>"
        f"<tbody>{''.join(row(cells, 'td') for cells in table.rows)}</tbody></table></div>"
    )


def embedded(figure: Figure) -> str:
    """A figure as a data address: vectors, or a bitmap where those are too many."""
    with style.look(), matplotlib.rc_context({"svg.fonttype": "path"}):  # letters as outlines: no font is needed
        drawn = io.BytesIO()
        figure.savefig(drawn, format="svg", metadata={"Date": None})
        if drawn.tell() <= LARGEST_DRAWING:
            return _address("image/svg+xml", drawn.getvalue())
        drawn = io.BytesIO()
        figure.savefig(drawn, format="png", dpi=DPI, metadata={"Software": "grouser"})
        return _address("image/png", drawn.getvalue())


def _address(kind: str, data: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode('ascii')}"
