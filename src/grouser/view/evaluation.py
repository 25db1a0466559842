"""Pictures of an evaluation: errors with ellipses, over time, and over the duration of a prediction."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from grouser.calibration.evaluate import Errors, Evaluation, Horizon
from grouser.checks import FloatArray
from grouser.view import style
from grouser.view.arrays import SIGMAS_95

SAMPLE, PREDICTED, POINTS = style.VERMILLION, style.BLUE, style.SLATE
DASHES = (0, (5, 2.5))
RUNNING = 10
"""Intervals of the running rms."""


def plot_evaluation(evaluation: Evaluation, path: style.File = None, *, title: str = "") -> Figure:
    """A fit evaluated on a log: position errors with ellipses, and yaw errors, of plain and of calibrated odometry.

    Where the fit adapts, of the fit as it is and adapting, and both over time with changes of ground.
    """
    sets = [("plain odometry", evaluation.baseline, False), ("calibrated", evaluation.errors, True)]
    if evaluation.fixed is not None:
        sets = [("the fit as it is", evaluation.fixed, True), ("adapting", evaluation.errors, True)]
    elif evaluation.relagged is not None:
        sets[1] = ("calibrated, lag of this log", evaluation.relagged, True)
    further = len(evaluation.horizons) > 1
    heights = [1.6, 1.0, *[1.0] * (evaluation.fixed is not None), *[1.0] * further]
    with style.picture(path, 11.0, 9.4 + 3.6 * (len(heights) - 2), title=title) as figure:
        axes = figure.subplots(len(heights), 2, gridspec_kw={"height_ratios": heights})
        if further:
            _draw_horizons(axes[-1, 0], axes[-1, 1], evaluation.horizons)
        if evaluation.fixed is not None:
            grid = axes[2, 0].get_gridspec()
            for one in axes[2]:
                one.remove()
            _draw_adapting(figure.add_subplot(grid[2, :]), evaluation)
        for column, (name, errors, predicted) in enumerate(sets):
            draw_errors(axes[0, column], errors, name, predicted)
            _histogram(axes[1, column], errors, name, predicted)
        ellipse_legend(figure)
    return figure


def draw_errors(axes: Axes, errors: Errors, name: str, predicted: bool) -> None:
    """Position errors at the ends of intervals with their 95 % and 3 σ ellipses, and the predicted ones if wanted."""
    xy = errors.error[:, :2]
    size = min(14.0, max(2.0, 3000.0 / len(xy)))
    axes.axhline(0.0, color=style.FAINT, lw=0.6)
    axes.axvline(0.0, color=style.FAINT, lw=0.6)
    axes.scatter(xy[:, 0], xy[:, 1], s=size, color=POINTS, alpha=0.55, lw=0, zorder=2)
    spread = np.cov(xy.T) if len(xy) > 1 else np.zeros((2, 2))
    draw_ellipses(axes, spread, xy.mean(axis=0), edgecolor=SAMPLE)
    if predicted:
        mean = errors.covariance[:, :2, :2].mean(axis=0)
        draw_ellipses(axes, mean, np.zeros(2), edgecolor=PREDICTED, ls=DASHES)
    axes.autoscale_view()
    axes.set_aspect("equal", adjustable="datalim")
    rms = float(np.sqrt(np.mean(errors.position**2)))
    if predicted:
        held = f"{100.0 * float(np.mean(errors.inside)):.0f} % of {len(xy)} in their predicted 95 % ellipse"
        axes.annotate(held, (0.02, 0.98), xycoords="axes fraction", fontsize=8.5, va="top", color=style.INK)
    style.label(axes, x="error ahead [m]", y="error to the left [m]", title=f"{name}: rms {rms:.3f} m")


def draw_ellipses(
    axes: Axes, covariance: FloatArray, centre: FloatArray, thin: Any = (1.7, 0.8, None), **look: Any
) -> None:
    """The 95 % and the 3σ ellipse of a covariance (2, 2) [m²]; `thin`: their widths and the opacity of the second."""
    for factor, width, alpha in ((SIGMAS_95, thin[0], None), (3.0, thin[1], thin[2])):
        axes.add_patch(style.ellipse(covariance, centre, factor, lw=width, alpha=alpha, zorder=3, **look))


def _histogram(axes: Axes, errors: Errors, name: str, predicted: bool) -> None:
    yaw = np.degrees(errors.error[:, 2])
    n = min(max(10, round(math.sqrt(len(yaw)) * 1.6)), 60)
    heights = axes.hist(yaw, bins=n, density=True, color=POINTS, alpha=0.45, lw=0)[0]
    sigma = max(float(yaw.std()), 1e-9)
    reach = max(3.5 * sigma, float(np.abs(yaw).max()))
    at = np.linspace(-reach, reach, 400)
    axes.plot(at, _normal(at, float(yaw.mean()), sigma), color=SAMPLE)
    if predicted:
        expected = math.degrees(math.sqrt(float(errors.covariance[:, 2, 2].mean())))
        axes.plot(at, _normal(at, 0.0, expected), color=PREDICTED, ls=DASHES)
    rms = float(np.sqrt(np.mean(yaw**2)))
    # A predicted curve that is far too narrow must not flatten the rest.
    top = max(float(np.max(heights)), 1.0 / (sigma * math.sqrt(2.0 * math.pi)))
    axes.set(xlim=(-reach, reach), ylim=(0.0, 1.25 * top))
    style.label(axes, x="yaw error [°]", y="density [1/°]", title=f"{name}: rms {rms:.2f}°")


def _normal(at: FloatArray, mean: float, sigma: float) -> FloatArray:
    result: FloatArray = np.exp(-0.5 * ((at - mean) / sigma) ** 2) / (sigma * math.sqrt(2.0 * math.pi))
    return result


def ellipse_legend(figure: Figure) -> None:
    """Legend of the ellipses of `draw_errors`."""
    handles = [
        Line2D([], [], marker="o", ls="", ms=4, color=POINTS, alpha=0.6, label="one interval"),
        Line2D([], [], color=SAMPLE, label="of these errors"),
        Line2D([], [], color=PREDICTED, ls=DASHES, label="as predicted, mean"),
        Line2D([], [], color=style.INK, lw=1.7, label="95 %"),
        Line2D([], [], color=style.INK, lw=0.8, label="3σ"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=5)


def _draw_adapting(axes: Axes, evaluation: Evaluation) -> None:
    """Position errors over time, each before the filter has used its interval, and their running rms."""
    assert evaluation.fixed is not None
    start = float(evaluation.errors.times[0, 0])
    both = [("the fit as it is", evaluation.fixed, SAMPLE), ("adapting", evaluation.errors, PREDICTED)]
    top = 0.0
    for name, errors, colour in both:
        time, position = errors.times[:, 1] - start, errors.position
        rms = running_rms(position)
        axes.plot(time, position, ".", color=colour, ms=3.5, alpha=0.45)
        axes.plot(time, rms, color=colour, lw=1.6, label=f"{name}, rms of the last {min(RUNNING, len(rms))}")
        # Single outliers are outside the axes: the picture is for the curves.
        top = max(top, float(np.quantile(position, 0.98)), float(rms.max()))
    axes.set(ylim=(0.0, 1.15 * top), xlim=(0.0, float(evaluation.errors.times[-1, 1]) - start))
    mark_changes(axes, [change.summary() for change in evaluation.changes], start)
    handles, _ = axes.get_legend_handles_labels()
    handles.append(Line2D([], [], color=SAMPLE, marker=".", ls="", alpha=0.45, label="one interval"))
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
    """A vertical line where a change of ground was detected, with the name of the new ground."""
    for change in changes:
        at = change["time"] - start
        axes.axvline(at, color=style.INK, lw=0.9, ls=(0, (2, 2)), zorder=1)
        if names:
            axes.annotate(
                change["to"], (at, 0.97), xycoords=("data", "axes fraction"), xytext=(3, 0), textcoords="offset points",
                rotation=90, fontsize=8.5, va="top", color=style.INK,
            )  # fmt: skip


def change_handle() -> Line2D:
    """Legend entry of changes of ground."""
    return Line2D([], [], color=style.INK, lw=0.9, ls=(0, (2, 2)), label="change of ground noticed")


def _draw_horizons(sizes: Axes, shares: Axes, horizons: tuple[Horizon, ...]) -> None:
    """Position errors against those predicted, and coverage, of each duration, into two panels."""
    T = np.array([horizon.interval for horizon in horizons])
    order = np.argsort(T)
    T = T[order]
    found = [horizons[k].summary() for k in order]
    sizes.plot(T, [one["position_rms"] for one in found], "o-", color=style.VERMILLION, label="of these errors")
    sizes.plot(T, [one["expected_rms"] for one in found], "s--", color=style.BLUE, label="as predicted")
    sizes.set(ylim=(0.0, None), xlim=(0.0, None))
    sizes.legend(loc="upper left")
    duration = "duration of a prediction [s]"
    style.label(sizes, x=duration, y="position error, rms [m]", title="Errors by duration")
    inside = np.array([one["inside_95"] for one in found])
    # Two sigma of a share of n independent intervals, if 95 % is the truth.
    band = 2.0 * np.sqrt(0.95 * 0.05 / np.array([one["intervals"] for one in found]))
    shares.axhline(95.0, color=style.FAINT, lw=1.0, ls="--")
    shares.fill_between(
        T, 95.0 - 100.0 * band, np.minimum(95.0 + 100.0 * band, 100.0), color=style.BLUE, alpha=0.15, lw=0
    )
    shares.plot(T, 100.0 * inside, "o-", color=style.VERMILLION)
    shares.set(ylim=(min(60.0, 95.0 * float(inside.min())), 101.0), xlim=(0.0, None))
    style.label(shares, x=duration, y="in their 95 % ellipse [%]", title="Coverage (band: chance, 2 sigma)")
