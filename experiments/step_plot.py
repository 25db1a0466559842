"""Pictures of values against the step size, measured and printed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from experiments.experiment import Result, Row

MARKERS = ("o", "s", "^", "D", "v", "P", "X")
"""What a colour says, the marker says once more."""


def draw_steps(
    result: Result,
    path: str | os.PathLike[str],
    *,
    by: str,
    panels: Sequence[tuple[str, str]],
    title: str,
    logarithmic: Sequence[str] = (),
) -> None:
    """A panel per column (name, axis label), a line per value of `by`; open markers are the paper's."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    from grouser.view import style

    with style.picture(path, 4.6 * len(panels), 4.9) as figure:
        axes = figure.subplots(1, len(panels), squeeze=False)[0]
        names = list(dict.fromkeys(row[by] for row in result.rows))
        for ax, (column, label) in zip(axes, panels, strict=True):
            for i, name in enumerate(names):
                line = {"color": style.PALETTE[i % len(style.PALETTE)], "marker": MARKERS[i % len(MARKERS)]}
                x, y = _series(result.rows, by, name, column)
                ax.plot(x, y, label=str(name), **line)
                x, y = _series(result.paper, by, name, column)
                if x:
                    ax.plot(x, y, ms=10, mfc="none", mew=1.5, linestyle="none", label=f"{name}, paper", **line)
            ax.set_xscale("log")
            steps = sorted({row["dt"] for row in result.rows if row["dt"] is not None})
            ax.set_xticks(steps, [f"{dt:g}" for dt in steps])
            ax.minorticks_off()
            ax.set_xlabel("step size [s]")
            ax.set_ylabel(label)
            if column in logarithmic:
                ax.set_yscale("log")
                ax.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
                ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
                ax.yaxis.set_minor_formatter(NullFormatter())
            else:
                ax.set_ylim(bottom=0.0)
        handles: dict[str, Any] = {}
        for ax in axes:
            handles.update({text: handle for handle, text in zip(*ax.get_legend_handles_labels(), strict=True)})
        figure.legend(list(handles.values()), list(handles), loc="outside lower center", ncols=4)
        figure.suptitle(title)


def _series(rows: list[Row], by: str, name: object, column: str) -> tuple[list[float], list[float]]:
    """Step sizes and values of one line where there are any."""
    points = [(row["dt"], row[column]) for row in rows if row[by] == name and row.get(column) is not None]
    return [x for x, _ in points], [y for _, y in points]
