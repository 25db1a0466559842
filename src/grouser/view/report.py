"""A report: question, answer, numbers, pictures, settings to repeat it and versions, on one HTML page.

All is in one file: pictures inside it, no script, no network; it prints on A4 or letter. `report_run`, `report_fit` and
`report_odometry` make the three kinds.
"""

import base64
import hashlib
import io
import os
import platform
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
from matplotlib.figure import Figure

from grouser._version import __version__
from grouser.errors import GrouserError
from grouser.view import style
from grouser.view.page import check_page, digest, write_page

PACKAGES = ("numpy", "numba", "scipy", "matplotlib")
"""Packages whose versions may change a result."""
LARGEST_DRAWING = 1_500_000
"""Bytes of a vector picture; a larger one, of a long log, is embedded as a bitmap."""
DPI = 160.0
"""Resolution of such a bitmap."""
NOT_ASKED = "The words of the question fit nothing that this page measures; what it knows:"
ERRORS = ("error", "far", "off", "accura", "predict", "good", "well", "better")
"""Stems of words in questions about accuracy."""
TRUST = ("trust", "consisten", "covarian", "uncertain", "certain", "sigma", "nees", "ellips", "sure")
"""Stems of words in questions about consistency."""
PAGE, STYLE = (Path(__file__).with_name(f"report.{kind}").read_text(encoding="utf-8") for kind in ("html", "css"))


class Fact(NamedTuple):
    """A sentence, and the stems of words that ask for it."""

    sentence: str
    asked_by: tuple[str, ...]
    always: bool = True
    """Whether it is in the answer without being asked for."""


class Table(NamedTuple):
    """Cells of text under a caption; units stand in the heading or in the cell."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: tuple[int, ...] = ()
    """Columns that are aligned right."""


class Picture(NamedTuple):
    """A figure, and what it shows in a sentence."""

    figure: Figure
    caption: str


class Listing(NamedTuple):
    """Lines to type, or a file; a folded one opens on a click."""

    caption: str
    text: str
    folded: bool = False


Part = str | Table | Picture | Listing


class Section(NamedTuple):
    """A heading with paragraphs, tables, pictures and listings."""

    heading: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class Report:
    """One page."""

    kind: str
    """"simulation", "calibration" or "odometry"."""
    title: str
    question: str
    """Question that the page answers."""
    answer: tuple[str, ...]
    """Sentences, the most important first."""
    sections: tuple[Section, ...]
    """The numbers, the pictures, the settings."""
    numbers: dict[str, Any] = field(default_factory=dict)
    """Key numbers, as JSON takes them."""

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the page, whole or not at all, and return where it is. It needs no network and runs no script."""
        check_page(path, "report")
        return write_page(path, make_page(self))


def answer(question: str, facts: Sequence[Fact]) -> tuple[str, ...]:
    """Sentences of the answer: first those that the question asks for, then those that are always given, each once.

    If a question asks for none of them, the first sentence says so.
    """
    words = re.findall(r"[^\W\d_]+", question.lower())
    fits = {fact: sum(word.startswith(fact.asked_by) for word in words) for fact in facts}
    asked = sorted((fact for fact in facts if fits[fact]), key=lambda fact: -fits[fact])  # most of its words first
    rest = [fact for fact in facts if fact.always and fact not in asked]
    lines = tuple(fact.sentence for fact in [*asked, *rest])
    return (NOT_ASKED, *lines) if words and not asked else lines


def repeat_sections(
    settings: Sequence[tuple[str, str]],
    *,
    command: str = "",
    files: Sequence[str | os.PathLike[str]] = (),
    listings: Sequence[Listing] = (),
    notes: Sequence[str] = (),
) -> tuple[Section, Section]:
    """How to repeat it: the command, the settings, the files with their hashes; and the versions of what made it."""
    made = [Listing("This page was made by", command)] if command else []
    parts: list[Part] = [*made, *listings, Table("Settings", ("what", "value"), tuple(settings))]
    if files:
        # A bag of ROS 2 is a folder.
        found = [sorted(path.rglob("*")) if path.is_dir() else [path] for path in map(Path, files)]
        single = [file for several in found for file in several if not file.is_dir()]
        rows = tuple((file.name, f"{file.stat().st_size:,} bytes", file_hash(file)) for file in single)
        parts.append(Table("Files that went in", ("file", "size", "SHA-256"), rows, numeric=(1,)))
    made_with = (
        ("grouser", __version__),
        ("Python", platform.python_version()),
        *((name, metadata.version(name)) for name in PACKAGES),
        ("machine", f"{platform.machine()}, {os.cpu_count() or 1} cores"),
        ("system", platform.platform()),
    )
    versions = Table("What this page was made with", ("what", "version"), made_with)
    return Section("To repeat it", (*parts, *notes)), Section("Versions", (versions,))


def file_hash(path: str | os.PathLike[str]) -> str:
    """SHA-256 of a file, in hexadecimal."""
    try:
        with Path(path).open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise GrouserError(f"{path}: cannot be read ({error.strerror or error})") from None


def number(value: float, unit: str = "", *, digits: int = 4) -> str:
    """A number as text, with its unit and a true minus sign."""
    text = f"{value:.{digits}g}".replace("-", "−")
    return f"{text} {unit}" if unit and unit != "1" else text


def make_page(report: Report) -> str:
    """The page of a report. Every text is escaped, and the page's policy allows no script and no network."""
    policy = f"default-src 'none'; style-src '{digest(STYLE)}'; img-src data:; base-uri 'none'; form-action 'none'"
    kind = "an odometry evaluation" if report.kind == "odometry" else f"a {escape(report.kind)}"
    answer = "\n".join(f"<p>{escape(line)}</p>" for line in report.answer)
    body = []
    for section in report.sections:
        body += ["<section>", f"<h2>{escape(section.heading)}</h2>", *map(_part, section.parts), "</section>"]
    return PAGE.format(
        policy=escape(policy), title=escape(report.title), style=STYLE, kind=kind, question=escape(report.question),
        answer=answer, body="\n".join(body),
    )  # fmt: skip


def _part(part: Part) -> str:
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
    side = [' class="right"' if i in table.numeric else "" for i in range(len(table.columns))]

    def row(cells: tuple[str, ...], tag: str) -> str:
        made = (f"<{tag}{where}>{escape(cell)}</{tag}>" for where, cell in zip(side, cells, strict=True))
        return f"<tr>{''.join(made)}</tr>"

    return (
        f'<div class="table"><table><caption>{escape(table.caption)}</caption>'
        f"<thead>{row(table.columns, 'th')}</thead>"
        f"<tbody>{''.join(row(cells, 'td') for cells in table.rows)}</tbody></table></div>"
    )


def embedded(figure: Figure) -> str:
    """A figure as a data address: vectors, or a bitmap where those are too many."""
    with style.look(), matplotlib.rc_context({"svg.fonttype": "path"}):  # letters as outlines: no font is needed
        kind, drawn = "svg+xml", io.BytesIO()
        figure.savefig(drawn, format="svg", metadata={"Date": None})
        if drawn.tell() > LARGEST_DRAWING:
            kind, drawn = "png", io.BytesIO()
            figure.savefig(drawn, format="png", dpi=DPI, metadata={"Software": "grouser"})
    return f"data:image/{kind};base64,{base64.b64encode(drawn.getvalue()).decode('ascii')}"
