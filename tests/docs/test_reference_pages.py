"""The reference in the repository is the one its docstrings make, and every link of the pages leads somewhere."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

pytest.importorskip("gymnasium", reason="grouser.gym is public and needs it")

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS / "tools"))
import reference  # noqa: E402

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]


def test_the_reference_is_up_to_date() -> None:
    made = reference.pages()
    there = {str(path.relative_to(DOCS)) for path in (DOCS / "reference").glob("*.md")} | {"reference.md"}
    assert there == set(made), "run: make docs"
    old = [place for place, text in made.items() if (DOCS / place).read_text(encoding="utf-8") != text]
    assert old == [], "run: make docs"


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if target.startswith(("http://", "https://", "mailto:")):
            continue
        place, _, anchor = target.partition("#")
        path = page if not place else (page.parent / place).resolve()
        assert path.exists(), f"{page.name}: {target} is not there"
        if anchor:
            assert anchor in anchors(path), f"{page.name}: {target} has no such heading"


def anchors(page: Path) -> set[str]:
    """The anchors GitHub gives the headings of a page."""
    found: dict[str, int] = {}
    out = set()
    for heading in re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE):
        bare = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        out.add(bare if bare not in found else f"{bare}-{found[bare]}")
        found[bare] = found.get(bare, 0) + 1
    return out


def test_every_page_can_be_reached_from_the_index() -> None:
    seen, todo = set(), [DOCS / "index.md"]
    while todo:
        page = todo.pop()
        if page in seen:
            continue
        seen.add(page)
        for target in re.findall(r"\]\(([^)\s#]+\.md)[^)]*\)", page.read_text(encoding="utf-8")):
            if not target.startswith("http"):
                todo.append((page.parent / target).resolve())
    assert sorted(str(p.relative_to(ROOT)) for p in set(DOCS.rglob("*.md")) - seen) == []
