"""The reference: one Markdown page for every public part, from its docstrings alone."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path

from public_names import MODULES, Member, Name, names_of, top_level

ARGUMENT = re.compile(r"([a-z]\w*(?:, [a-z]\w*)*)(?: \[[^]]*\])?: ")
"""The beginning of a line that says what an argument is."""
HEAD = "<!-- Made by `make docs` from the docstrings. Edit those, not this page. -->\n"


def pages() -> dict[str, str]:
    """Text of every page by its path under docs/."""
    home: dict[int, str] = {}
    made = {}
    for module in MODULES:
        names = names_of(module)
        for name in names:
            if name.kind != "constant":
                home.setdefault(id(name.value), f"reference/{module}.md#{_anchor(name, names)}")
        made[f"reference/{module}.md"] = _page(module, names)
    made["reference.md"] = _index(home)
    return made


def write(folder: Path) -> list[Path]:
    """Write the pages under docs/, take out those of parts that are no more; returns what changed."""
    made = pages()
    changed = []
    for old in (folder / "reference").glob("*.md"):
        if f"reference/{old.name}" not in made:
            old.unlink()
            changed.append(old)
    for place, text in made.items():
        path = folder / place
        path.parent.mkdir(exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            changed.append(path)
    return changed


def _index(home: dict[int, str]) -> str:
    import grouser

    lines = [
        HEAD,
        "# Reference\n",
        "SI units and radians. Names of the top level, `import grouser as gr`:\n",
        "| name | what it is |",
        "|---|---|",
    ]
    for name in top_level():
        value = getattr(grouser, name)
        lines.append(f"| [`gr.{name}`]({home[id(value)]}) | {_first_line(inspect.getdoc(value) or '')} |")
    lines += ["\nParts, each `gr.<part>`; `view` is imported by itself:\n", "| part | what it is |", "|---|---|"]
    for module in MODULES:
        part = importlib.import_module(f"grouser.{module}")
        shown = module.removeprefix("simulation.")
        lines.append(f"| [`{shown}`](reference/{module}.md) | {_first_line(part.__doc__ or '')} |")
    return "\n".join(lines) + "\n"


def _page(module: str, names: list[Name]) -> str:
    part = importlib.import_module(f"grouser.{module}")
    title = f"grouser.{module.removeprefix('simulation.')}"
    parts = [HEAD, f"# {title}\n", _prose(inspect.getdoc(part) or ""), ""]
    parts += [_entry(name) for name in names]
    return "\n".join(parts).rstrip() + "\n"


def _entry(name: Name) -> str:
    lines = [f"## {name.name}\n"]
    if name.signature:
        lines += ["```text", name.signature, "```\n"]
    lines += [_prose(name.doc), ""]
    fields = [m for m in name.members if m.kind in ("field", "property", "value")]
    if fields:
        lines += ["| | type | |", "|---|---|---|", *(_row(m) for m in fields), ""]
    for m in name.members:
        if m.kind == "method":
            lines += [f"**{m.name}**\n", "```text", m.annotation, "```\n", _prose(m.doc), ""]
    return "\n".join(lines)


def _row(m: Member) -> str:
    kind = f"`{m.annotation}`".replace("|", "\\|") if m.annotation else ""
    return f"| `{m.name}` | {kind} | {_cell(m.doc)} |"


def _cell(doc: str) -> str:
    return re.sub(r"\s+", " ", doc).replace("|", "\\|")


def _prose(doc: str) -> str:
    """A docstring as Markdown: lines like "rms, length: …" make a list, lines with `>>>` stay as they are."""
    out, code = [], False
    for line in doc.splitlines():
        if line.startswith(">>>") != code:
            out.append("```" if code else "```text")
            code = not code
        if code:
            out.append(line)
            continue
        line = re.sub(r"([|*<])", r"\\\1", line.strip())
        argument = ARGUMENT.match(line)
        if argument and not (out and out[-1] and not out[-1].startswith(("- ", "  "))):
            line = f"- `{argument[1]}`: {line[argument.end() :]}"
        elif out and out[-1].startswith(("- ", "  ")) and line:
            line = f"  {line}"
        out.append(line)
    if code:
        out.append("```")
    return "\n".join(out)


def _first_line(doc: str) -> str:
    first = re.split(r"\n\n", doc.strip())[0]
    return _cell(first)


def _anchor(name: Name, names: list[Name]) -> str:
    """The anchor GitHub gives a heading: lower case, numbered where two are alike (`Vehicle`, `vehicle`)."""
    alike = [other.name for other in names if other.name.lower() == name.name.lower()]
    place = alike.index(name.name)
    return name.name.lower() + (f"-{place}" if place else "")
