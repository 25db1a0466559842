"""MkDocs hook: pages of the site that are not in docs/, and links that leave it.

The reference has a page for every public part, made from its docstrings. CONTRIBUTING, CHANGELOG and the examples are
pages of the site too; links to them are turned.
"""

from __future__ import annotations

import importlib
import inspect
import posixpath
import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import public_names
from docstring_lists import as_markdown

ROOT = Path(__file__).parents[2]
MOVED = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md", "README.md": "index.md"}
"""Files of the repository and the pages of the site that show them; README and index say the same."""
LINK = re.compile(r"\]\(([^)\s]+)\)")


def on_files(files: Any, config: Any) -> Any:
    """Called by MkDocs: adds the pages that are not in the repository."""
    from mkdocs.structure.files import File

    made = {**reference(), "examples.md": _examples()}
    made |= {MOVED[name]: (ROOT / name).read_text(encoding="utf-8") for name in ("CONTRIBUTING.md", "CHANGELOG.md")}
    for place, text in made.items():
        files.append(File.generated(config, place, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Called by MkDocs for each page: turns links that leave docs/, keeps the gallery's tables out of the search."""
    if page.file.src_uri == "images/README.md":
        page.meta["search"] = {"exclude": True}
    return LINK.sub(lambda match: f"]({turned(match[1], page.file.src_uri)})", markdown)


def turned(target: str, page: str) -> str:
    """A link of a page, by its path on the site, as a link on the site."""
    place, _, anchor = target.partition("#")
    if "://" in target or not place or place.startswith("mailto:"):
        return target
    moved = page in ("contributing.md", "changelog.md")
    there = posixpath.normpath(posixpath.join("" if moved else posixpath.join("docs", posixpath.dirname(page)), place))
    if there.startswith("examples"):
        there, anchor = "examples.md", posixpath.basename(there).removesuffix(".py") if there.endswith(".py") else ""
    elif there in MOVED:
        there = MOVED[there]
    elif there.startswith("docs/"):
        there = there.removeprefix("docs/")
    else:
        return target
    return posixpath.relpath(there, posixpath.dirname(page) or ".") + (f"#{anchor}" if anchor else "")


def _examples() -> str:
    """The programs of examples/, each in full."""
    parts = ["# Examples\n\nPrograms to copy from, each on one screen. The tests run all of them.\n"]
    for path in sorted((ROOT / "examples").glob("*.py")):
        parts.append(f"## {path.stem}\n\n```python\n{path.read_text(encoding='utf-8').rstrip()}\n```\n")
    return "\n".join(parts)


def reference() -> dict[str, str]:
    """Text of every reference page by its path below docs/."""
    home: dict[int, str] = {}
    made = {}
    for module in public_names.MODULES:
        names = public_names.names_of(module)
        for name in names:
            home.setdefault(id(name.value), f"{module}.md#{_source(name)}")
        made[f"reference/{module}.md"] = _page(module, names)
    made["reference/index.md"] = _index(home)
    return made


def _index(home: dict[int, str]) -> str:
    import grouser

    lines = ["# Reference\n", "SI units and radians. Names of the top level, `import grouser as gr`:\n"]
    lines += ["| name | what it is |", "|---|---|"]
    for name in public_names.top_level():
        value = getattr(grouser, name)
        lines.append(f"| [`gr.{name}`]({home[id(value)]}) | {_first_line(value)} |")
    lines += ["\nParts, each `gr.<part>`; `gym` and `view` are imported by themselves:\n", "| part | what it is |"]
    lines.append("|---|---|")
    for module in public_names.MODULES:
        part = importlib.import_module(f"grouser.{module}")
        lines.append(f"| [`{_short(module)}`]({module}.md) | {_first_line(part)} |")
    return "\n".join(lines) + "\n"


def _page(module: str, names: list[public_names.Name]) -> str:
    part = importlib.import_module(f"grouser.{module}")
    lines = [f"# grouser.{_short(module)}\n", as_markdown(inspect.getdoc(part) or ""), ""]
    for name in names:
        lines += [f"::: {_source(name)}", "    options:", f"      heading: {name.name}"]
        lines += [f"      toc_label: {name.name}", ""]
    return "\n".join(lines)


def _source(name: public_names.Name) -> str:
    """Where a name is defined; `grouser.slip.function` is a module too, so the public path may not be enough."""
    if name.kind == "constant" or not str(getattr(name.value, "__module__", "")).startswith("grouser"):
        return name.path
    return f"{name.value.__module__}.{name.value.__qualname__}"


def _short(module: str) -> str:
    return module.removeprefix("simulation.")


def _first_line(value: object) -> str:
    first = re.split(r"\n\n", (inspect.getdoc(value) or "").strip())[0]
    return re.sub(r"\s+", " ", first).replace("|", "\\|")
