"""The picture of T Tables 3.4 to 3.8: mean errors by surface and model, and the paper's."""

from __future__ import annotations

import os

import numpy as np

from experiments.experiment import Result


def draw(result: Result, title: str, path: str | os.PathLike[str]) -> None:
    """Bars by model for each surface and horizon; a line across a bar is the paper's value."""
    from grouser.view import style

    surfaces = list(dict.fromkeys(row["surface"] for row in result.rows))
    columns = (("position_error", "m"), ("yaw_error", "rad"))
    panels = [(horizon, column, unit) for horizon in (10.0, 20.0) for column, unit in columns]
    colours = dict(zip(dict.fromkeys(row["model"] for row in result.rows), style.PALETTE, strict=False))
    with style.look():
        figure = style.new_figure(12.0, 7.5)
        for axes, (horizon, column, unit) in zip(figure.subplots(2, 2).ravel(), panels, strict=True):
            rows = [row for row in result.rows if row["horizon"] == horizon]
            models = list(dict.fromkeys(row["model"] for row in rows))
            width = 0.8 / len(models)
            for k, model in enumerate(models):
                mine = [next(r for r in rows if r["surface"] == s and r["model"] == model) for s in surfaces]
                at = np.arange(len(surfaces)) + (k - 0.5 * (len(models) - 1)) * width
                axes.bar(at, [row[column] for row in mine], 0.9 * width, color=colours[model], label=model, zorder=2)
                paper = [result.paper_row(row).get(column, np.nan) for row in mine]
                axes.hlines(paper, at - 0.45 * width, at + 0.45 * width, color=style.INK, lw=1.5, zorder=3)
            axes.set_xticks(np.arange(len(surfaces)), surfaces)
            what = column.removesuffix("_error")
            style.label(axes, y=f"mean {what} error [{unit}]", title=f"{horizon:g} m ahead")
        handles, labels = figure.axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
        figure.suptitle(f"{title}; lines across bars are the paper's")
        style.save(figure, path)
