"""The site has every public name and every page, and every link leads somewhere."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

pytest.importorskip("gymnasium", reason="grouser.gym is public and needs it")

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS / "tools"))
import public_names  # noqa: E402
import site_pages as site  # noqa: E402

PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "release").glob("*.md")), *sorted(DOCS.rglob("*.md"))]


def test_every_public_name_has_an_entry() -> None:
    """The site has a page for each public part, and on it every name of that part."""
    pages = site.reference()
    for module in public_names.MODULES:
        entries = re.findall(r"^      heading: (.+)$", pages[f"reference/{module}.md"], flags=re.MULTILINE)
        assert entries == [name.name for name in public_names.names_of(module)]
    for name in public_names.top_level():
        assert f"[`gr.{name}`](" in pages["reference/index.md"]


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    listed = set(re.findall(r"([\w./-]+\.md)$", navigation, flags=re.MULTILINE))
    made = {*site.reference(), "examples.md", "contributing.md", "changelog.md"}
    there = {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")} | made
    assert listed == there


@pytest.mark.parametrize(
    ("page", "target", "turned"),
    [
        ("index.md", "tour.md", "tour.md"),
        ("index.md", "../CHANGELOG.md", "changelog.md"),
        ("how-to/terrain.md", "../../CONTRIBUTING.md#adding-a-terrain", "../contributing.md#adding-a-terrain"),
        ("how-to/vehicle.md", "../../examples/own_vehicle.py", "../examples.md#own_vehicle"),
        ("tour.md", "../examples", "examples.md"),
        ("contributing.md", "docs/limits.md#dynamics", "limits.md#dynamics"),
        ("index.md", "https://example.org", "https://example.org"),
        ("index.md", "#here", "#here"),
    ],
)
def test_links_that_leave_the_folder_are_turned(page: str, target: str, turned: str) -> None:
    assert site.turned(target, page) == turned


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
