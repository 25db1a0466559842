"""Errors over time of a fit as it is and of one that adapts, with changes of ground."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from grouser.calibration.evaluate import Evaluation
from grouser.checks import FloatArray
from grouser.view import style

RUNNING = 10
"""Intervals of the running rms."""
FIXED, ADAPTING, GROUND = style.VERMILLION, style.BLUE, style.INK


def draw_adapting(axes: Axes, evaluation: Evaluation) -> None:
    """Position errors over time, each before its interval was learned from, and their running rms."""
    assert evaluation.fixed is not None
    start = float(evaluation.errors.times[0, 0])
    both = [("the fit as it is", evaluation.fixed, FIXED), ("adapting", evaluation.errors, ADAPTING)]
    top = 0.0
    for name, errors, colour in both:
        time, position = errors.times[:, 1] - start, errors.position
        rms = running_rms(position)
        axes.plot(time, position, ".", color=colour, ms=3.5, alpha=0.45)
        axes.plot(time, rms, color=colour, lw=1.6, label=f"{name}, rms of the last {min(RUNNING, len(rms))}")
        # Single outliers leave the picture, which is for the curves.
        top = max(top, float(np.quantile(position, 0.98)), float(rms.max()))
    axes.set(ylim=(0.0, 1.15 * top), xlim=(0.0, float(evaluation.errors.times[-1, 1]) - start))
    mark_changes(axes, [change.summary() for change in evaluation.changes], start)
    handles, _ = axes.get_legend_handles_labels()
    handles.append(Line2D([], [], color=FIXED, marker=".", ls="", alpha=0.45, label="one interval"))
    if evaluation.changes:
        handles.append(change_handle())
    axes.legend(handles=handles, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=4, borderaxespad=0.2)
    style.label(axes, x="time since the first interval [s]", y="position error [m]", title="Over time")


def running_rms(values: FloatArray) -> FloatArray:
    """RMS of the last intervals up to each, (I,); of fewer at the start."""
    total = np.cumsum(np.square(values))
    count = np.minimum(np.arange(1, len(values) + 1), RUNNING)
    total[RUNNING:] -= total[:-RUNNING].copy()
    return np.asarray(np.sqrt(np.maximum(total, 0.0) / count))


def mark_changes(axes: Axes, changes: Sequence[dict[str, Any]], start: float, *, names: bool = True) -> None:
    """A vertical line where a change of ground was noticed, with the name of the new ground."""
    for change in changes:
        at = change["time"] - start
        axes.axvline(at, color=GROUND, lw=0.9, ls=(0, (2, 2)), zorder=1)
        if names:
            axes.annotate(
                change["to"], (at, 0.97), xycoords=("data", "axes fraction"), xytext=(3, 0), textcoords="offset points",
                rotation=90, fontsize=8.5, va="top", color=GROUND,
            )  # fmt: skip


def change_handle() -> Line2D:
    """The entry of a legend for them."""
    return Line2D([], [], color=GROUND, lw=0.9, ls=(0, (2, 2)), label="change of ground noticed")
