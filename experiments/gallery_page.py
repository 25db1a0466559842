"""The page of the gallery: every picture with the command that draws it and the numbers behind it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from experiments.gallery_pictures import BESIDE
from grouser._version import __version__
from grouser.errors import GrouserError
from grouser.files import write_whole

LONG = 40
"""Lines of a table beyond which it is shown only when asked for."""


@dataclass(frozen=True)
class Entry:
    """A picture that was drawn."""

    name: str
    words: str
    """What it shows."""
    file: Path
    numbers: str
    """The table behind it, as text; empty where there is none."""


def write_page(path: Path, entries: list[Entry], *, quick: bool, machine: str) -> None:
    """Write it as Markdown, next to the pictures."""
    text = "\n".join(_lines(entries, quick=quick, machine=machine)) + "\n"
    write_whole(path, lambda file: file.write(text.encode()), GrouserError)


def _lines(entries: list[Entry], *, quick: bool, machine: str) -> list[str]:
    command = "python -m experiments.gallery --quick" if quick else "python -m experiments.gallery"
    lines = [
        "# Gallery",
        "",
        "Use this page to compare Grouser with published experiments. It has the pictures of the README and the",
        "documentation, and the papers' experiments with our numbers; those in brackets are the paper's.",
        f"`{command}` drew the pictures and wrote this page, with Grouser {__version__} on {machine}.",
        "",
    ]
    lines += [f"- [{entry.name}](#{_anchor(entry.name)}): {entry.words}" for entry in entries]
    for entry in entries:
        lines += ["", f"## {entry.name}", "", f"![{entry.words}]({entry.file.name})", ""]
        lines += [f"{entry.words[:1].upper()}{entry.words[1:]}. Drawn by `{_command(entry)}`."]
        beside = entry.file.with_stem(f"{entry.file.stem}{BESIDE}")
        lines += ["", f"![{beside.stem}]({beside.name})"] if beside.exists() else []
        if entry.numbers:
            table, _, notes = entry.numbers.partition("\n\n")
            block = ["", "```text", table, "```", ""]
            if table.count("\n") > LONG:
                block = ["", "<details><summary>All numbers</summary>", *block, "</details>", ""]
            lines += [*block, notes] if notes else block[:-1]
    return lines


def _command(entry: Entry) -> str:
    if entry.numbers:
        return f"python -m experiments {entry.name} --plot {entry.file.name}"
    return f"python -m experiments.gallery --only {entry.name}"


def _anchor(name: str) -> str:
    """As GitHub makes it from a heading: dots go."""
    return name.lower().replace(".", "")
