"""Documentation, docstrings, help texts and errors are in plain words: no phrase of a list is in them.

The list holds mannered phrases that were in the project once, some with a plain replacement. A pattern is a regular
expression; letter case and line breaks do not matter.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PHRASES = [
    r"better read here",
    r"found out in the field",
    r"anyhow",
    r"made-up",  # simulated
    r"whence",  # from which
    r"knows how good",  # errors are consistent with the covariance
    r"so late",  # delay of the stamps
    r"how late",
    r"how sure",  # covariance, sigma
    r"nobody",
    r"told",  # commanded, given, by default
    r"tells?(?! us)",  # shows, determines, reports
    r"beside",  # next to, in addition to
    r"anew",  # again
    r"honest(ly)?",  # consistent
    r"learnt",  # estimated, fitted
    r"a (?:\w+ )?(?:of yours|of ours)",  # your own
    r"is said in",
    r"blamed",
    r"as it likes",
    r"go(?:es)? together",  # match
    r"will do(?: whose)?",
    r"by heart",
    r"for ever",
    r"(?:it|that|motion|time|estimate|copy|model|run|vehicle) goes on",  # continues
    r"go on (?:from|with|after|past)",  # continue
    r"(?:each|every|for|about|most) so (?:many|much)",  # a number, a given time
    r"has no say",
    r"which way ever",
    r"means? nothing",  # is not defined
    r"in truth",  # really, on the robot
    r"with my own hands",  # by hand
    r"(?:environment|lines|log) so",  # in this way
]
"""Not in README, CONTRIBUTING, docs/, release notes, experiments/, examples/ and src/grouser."""
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "release").glob("*.md")),
    *sorted((ROOT / "tests" / "data").glob("*.md")),
]
SOURCES = sorted((ROOT / "src" / "grouser").rglob("*.py"))
PROGRAMS = [*sorted((ROOT / "experiments").glob("*.py")), *sorted((ROOT / "examples").glob("*.py"))]


def found(text: str, phrases: list[str]) -> list[str]:
    """Places of a text where one of the phrases stands, with some words around."""
    flat = re.sub(r"\s+", " ", text)
    pattern = re.compile(rf"\b(?:{'|'.join(phrases)})\b", re.IGNORECASE)
    return [flat[max(0, hit.start() - 40) : hit.end() + 40] for hit in pattern.finditer(flat)]


def strings(path: Path) -> Iterator[str]:
    """Docstrings, messages and comments of a module."""
    source = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.value
    yield from re.findall(r"(?:^|\s)# (.*)$", source, flags=re.MULTILINE)


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_a_page_is_in_plain_words(page: Path) -> None:
    prose = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert found(prose, PHRASES) == []


def test_programs_are_in_plain_words() -> None:
    hits = {name(path): found("\n".join(strings(path)), PHRASES) for path in [*SOURCES, *PROGRAMS]}
    assert {path: places for path, places in hits.items() if places} == {}


def test_a_phrase_is_found_across_lines_and_in_any_case() -> None:
    assert found("poses are So\nlate here", PHRASES) == ["poses are So late here"]
    assert found("whencesoever, a stereotold", PHRASES) == []
