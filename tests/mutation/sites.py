"""Places in a kernel where one sign, term or axis can be changed."""

from __future__ import annotations

import ast
import random
from dataclasses import asdict, dataclass
from pathlib import Path

AXES = {0: 1, 1: 2, 2: 0}


@dataclass(frozen=True)
class Site:
    """One change of one expression."""

    file: str
    line: int
    column: int
    change: str
    """"+ to -", "- to +", "sign", "term" or "axis"."""
    start: int
    end: int
    """Where the expression stands in the text, in characters."""
    before: str
    after: str

    def applied(self, text: str) -> str:
        """The text of the file with the change."""
        if text[self.start : self.end] != self.before:
            raise ValueError(f"{self.file}:{self.line}: the file has changed")
        return text[: self.start] + self.after + text[self.end :]

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


def sites_of(folder: Path, name: str) -> list[Site]:
    """All sites in the compiled functions of a file."""
    text = (folder / name).read_text()
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    lines = text.splitlines(keepends=True)

    def place(line: int, byte: int) -> int:
        return starts[line - 1] + len(lines[line - 1].encode()[:byte].decode())

    found = []
    for function in ast.walk(ast.parse(text)):
        if not isinstance(function, ast.FunctionDef) or not function.decorator_list:
            continue
        for node in ast.walk(ast.Module(body=function.body, type_ignores=[])):
            for change, after in _changes(node, text, place):
                start, end = place(node.lineno, node.col_offset), place(node.end_lineno, node.end_col_offset)
                found.append(Site(name, node.lineno, node.col_offset, change, start, end, text[start:end], after))
    return found


def _changes(node, text, place):
    """(kind, new source) of each change of an expression."""

    def source(part):
        return text[place(part.lineno, part.col_offset) : place(part.end_lineno, part.end_col_offset)]

    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        if _is_index(node):
            return
        plus = isinstance(node.op, ast.Add)
        right = source(node.right)
        if isinstance(node.right, ast.BinOp) and isinstance(node.right.op, (ast.Add, ast.Sub)):
            right = f"({right})"
        yield ("+ to -" if plus else "- to +"), f"({source(node.left)} {'-' if plus else '+'} {right})"
        yield "term", f"({source(node.left)})"
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and not isinstance(node.operand, ast.Constant):
        yield "sign", f"({source(node.operand)})"
    elif isinstance(node, ast.AugAssign) and isinstance(node.op, (ast.Add, ast.Sub)):
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, int):
            return  # a counter
        plus = isinstance(node.op, ast.Add)
        yield ("+ to -" if plus else "- to +"), f"{source(node.target)} {'-=' if plus else '+='} {source(node.value)}"
    elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        last = node.slice.elts[-1] if isinstance(node.slice, ast.Tuple) else node.slice
        if isinstance(last, ast.Constant) and type(last.value) is int and last.value in AXES:
            whole = source(node)
            at = place(last.lineno, last.col_offset) - place(node.lineno, node.col_offset)
            width = len(source(last))
            yield "axis", whole[:at] + str(AXES[last.value]) + whole[at + width :]


def _is_index(node: ast.BinOp) -> bool:
    """Whether it adds small whole numbers, as in an index or a size: a change there mostly leaves the array."""
    parts = (node.left, node.right)
    return any(isinstance(p, ast.Constant) and type(p.value) is int for p in parts)


def choose(sites: list[Site], count: int, seed: int) -> list[Site]:
    """Some sites, spread evenly over lines: no line is changed twice before all files have their share."""
    order = list(sites)
    random.Random(seed).shuffle(order)
    seen: set[tuple[str, int]] = set()
    first, again = [], []
    for site in order:
        (again if (site.file, site.line) in seen else first).append(site)
        seen.add((site.file, site.line))
    return (first + again)[:count]
