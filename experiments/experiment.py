"""A published experiment and its result."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Row = dict[str, Any]
Progress = Callable[[int, int], None]
"""Called with the parts done and the parts in all."""


@dataclass(frozen=True)
class Result:
    """Measured rows and the paper's."""

    name: str
    """Of the experiment."""
    rows: list[Row]
    """What was measured; a value that could not be is None."""
    paper: list[Row]
    """The paper's values under the same column names, where it has them."""
    notes: list[str]
    """What a reader must know to compare the two."""
    settings: Row
    """Vehicle, ground, steps and everything else that decides the numbers."""
    keys: tuple[str, ...]
    """Columns by which a measured row finds the paper's."""
    draw: Callable[[Result, str | os.PathLike[str]], None] = field(repr=False, compare=False)
    """Draws it into a file."""
    summary: Row = field(default_factory=dict)
    """The few numbers the experiment is about, the worst of all rows; they stand at the top of the JSON object."""

    def to_json(self) -> Row:
        """As one JSON object."""
        return {
            "name": self.name,
            **self.summary,
            "rows": self.rows,
            "paper": self.paper,
            "notes": self.notes,
            "settings": self.settings,
        }

    def paper_row(self, row: Row) -> Row:
        """The paper's row for a measured one; empty if it has none."""
        return next((p for p in self.paper if all(p[key] == row[key] for key in self.keys)), {})

    def table(self) -> str:
        """Measured values, the paper's behind them in brackets, and the notes."""
        columns = list(self.rows[0])
        compared = {column for row in self.paper for column in row} - set(self.keys)
        lines = [[f"{column} (paper)" if column in compared else column for column in columns]]
        for row in self.rows:
            paper = self.paper_row(row)
            lines.append(
                [f"{_text(row[c])} ({_text(paper.get(c)):>6})" if c in compared else _text(row[c]) for c in columns]
            )
        widths = [max(len(line[i]) for line in lines) for i in range(len(columns))]
        aligned = [
            "  ".join(
                cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(line, widths, strict=True))
            )
            for line in lines
        ]
        rule = "-" * len(aligned[0])
        return "\n".join([aligned[0], rule, *aligned[1:], "", *(f"- {note}" for note in self.notes)])

    def plot(self, path: str | os.PathLike[str]) -> None:
        """Draw it into a .png, .pdf or .svg file."""
        self.draw(self, path)


@dataclass(frozen=True)
class Experiment:
    """A published experiment."""

    name: str
    """As on the command line."""
    description: str
    """In one sentence."""
    body: Callable[[bool, Progress], Result] = field(repr=False)
    """Runs it; `run` is the way in."""

    def run(self, quick: bool = False, progress: Progress | None = None) -> Result:
        """Run it in full, or a smaller version in well under a minute."""
        return self.body(quick, progress or (lambda done, total: None))


def _text(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        if 0.0 < abs(value) < 5e-4:
            return f"{value:.1e}"
        return f"{value:.4f}" if abs(value) < 1.0 else f"{value:.4g}" if abs(value) < 1000.0 else f"{value:.0f}"
    return str(value)
