"""Griffe extension: lines of a docstring such as "rms, length: …" become a list, equations keep their signs."""

from __future__ import annotations

import re
from typing import Any

ARGUMENT = re.compile(r"([a-z]\w*(?:, [a-z]\w*)*)(?: \[[^]]*\])?: ")
"""The beginning of a line that says what an argument is."""


def as_markdown(doc: str) -> str:
    """A docstring as Markdown; lines with `>>>` are a block of code."""
    out: list[str] = []
    code = False
    for line in doc.splitlines():
        if line.startswith(">>>") != code:
            out += ["```"] if code else ["", "```python"]
            code = not code
        if code:
            out.append(line)
            continue
        line = re.sub(r"<(?=\S)", "&lt;", re.sub(r"(?<!\\)([|*])", r"\\\1", line.strip()))
        argument = ARGUMENT.match(line)
        if argument and not (out and out[-1] and not out[-1].startswith(("- ", "  "))):
            line = f"- `{argument[1]}`{line[len(argument[1]) :]}"
        elif out and out[-1].startswith(("- ", "  ")) and line:
            line = f"  {line}"
        out.append(line)
    return "\n".join([*out, "```"] if code else out)


try:
    import griffe
except ModuleNotFoundError:  # tests look at the pages without building them
    pass
else:

    class DocstringLists(griffe.Extension):
        """Rewrites each docstring once it is found."""

        def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
            """Called by Griffe for every module, class, function and attribute."""
            if obj.docstring is not None:
                obj.docstring.value = as_markdown(obj.docstring.value)
