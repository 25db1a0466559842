"""The code blocks of a Markdown page, in order, and the commands of a shell block."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, replace
from pathlib import Path

SAVE = re.compile(r"[Ss]ave (?:this|it) as `([^`]+)`")
FENCE = re.compile(r"^```(\w*)\s*$")
NOT_RUN = re.compile(r"^<!-- not run: (.*) -->$")


@dataclass(frozen=True)
class Block:
    """A fenced block."""

    language: str
    text: str
    line: int
    """Of its first line in the page, from 1."""
    not_run: str | None
    """Why it is not run, from a comment just above it; None: it is run."""
    file: str | None = None
    """What the text around it tells to save it as."""


def blocks_of(page: Path) -> list[Block]:
    """All fenced blocks of a page."""
    lines = page.read_text(encoding="utf-8").splitlines()
    found: list[Block] = []
    opened: tuple[str, int] | None = None
    spans: list[tuple[int, int]] = []
    for number, line in enumerate(lines, 1):
        fence = FENCE.match(line)
        if opened is None and fence:
            opened = (fence[1], number + 1)
        elif opened is not None and line.startswith("```"):
            language, first = opened
            found.append(Block(language, "\n".join(lines[first - 1 : number - 1]), first, _reason(lines, first)))
            spans.append((first - 1, number))
            opened = None
    assert opened is None, f"{page}: the block that begins in line {opened[1]} is not closed"
    ends = [0, *(end for _, end in spans)]
    starts = [*(start for start, _ in spans), len(lines) + 1]
    between = ["\n".join(lines[end : start - 1]) for end, start in zip(ends, starts, strict=True)]
    return [
        replace(block, file=_named(between[k], between[k + 1])) if block.language == "toml" else block
        for k, block in enumerate(found)
    ]


def _named(before: str, after: str) -> str | None:
    name = SAVE.search(before) or SAVE.search(after)
    return name[1] if name else None


def _reason(lines: list[str], first: int) -> str | None:
    above = [line for line in lines[: first - 2] if line.strip()]
    marked = NOT_RUN.match(above[-1].strip()) if above else None
    return marked[1].strip() if marked else None


def commands_of(text: str) -> list[list[str]]:
    """The commands of a shell block, as words; comments and what is optional in brackets are left out."""
    joined = text.replace("\\\n", " ")
    found = []
    for line in joined.splitlines():
        bare = re.sub(r"(?:^|\s)#.*$", "", re.sub(r"\[[A-Z]+\]", "", line)).strip()
        if bare:
            found.append(shlex.split(bare))
    return found
