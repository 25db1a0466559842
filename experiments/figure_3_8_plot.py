"""The picture of figure-3.8: error scatter with ellipses, yaw histograms, and the variants of T Fig. 3.11."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from grouser.checks import FloatArray

if TYPE_CHECKING:
    from experiments.figure_3_8 import Scatter


def draw(scatters: Sequence[Scatter], path: str | os.PathLike[str]) -> None:
    """A column for each interval: position errors with three-sigma ellipses above, yaw errors below."""
    from grouser.view import style

    intervals = list(dict.fromkeys(s.interval for s in scatters))
    names = list(dict.fromkeys(s.calibrated_to for s in scatters))
    looks = dict(zip(names, ((style.GREEN, "--"), (style.ORANGE, ":"), (style.PURPLE, "-.")), strict=True))
    with style.look():
        figure = style.new_figure(4.4 * len(intervals), 8.0)
        panels = figure.subplots(2, len(intervals), height_ratios=(1.4, 1.0), squeeze=False)
        for column, interval in enumerate(intervals):
            here = [s for s in scatters if s.interval == interval]
            _positions(panels[0, column], here, looks, style)
            _yaws(panels[1, column], here, looks, style)
            panels[0, column].set_title(f"{interval:g} s ahead")
        handles, labels = panels[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3)
        figure.suptitle("Crusher on steep slopes: errors and predicted uncertainty, 3σ (T Fig. 3.8, 3.9, 3.11)")
        style.save(figure, path)


def _positions(axes: Any, here: Sequence[Scatter], looks: dict[str, tuple[str, str]], style: Any) -> None:
    first = here[0]
    inside, outside = first.errors.error[first.inlier], first.errors.error[~first.inlier]
    axes.plot(inside[:, 0], inside[:, 1], ".", ms=3, color=style.BLUE, label="inliers")
    axes.plot(
        outside[:, 0], outside[:, 1], "x", ms=4, color=style.FAINT, label="outliers, where the picture holds them"
    )
    x, y = ellipse(first.sample) + inside[:, :2].mean(axis=0)[:, None]
    axes.plot(x, y, color=style.VERMILLION, label="sample")
    for scatter in here:
        colour, dashes = looks[scatter.calibrated_to]
        axes.plot(*ellipse(scatter.predicted), color=colour, ls=dashes, label=f"predicted: {scatter.calibrated_to}")
    reach = 1.1 * max(float(np.abs(inside[:, :2]).max()), *(float(np.abs(ellipse(s.predicted)).max()) for s in here))
    axes.set(xlim=(-reach, reach), ylim=(-reach, reach))
    axes.set_aspect("equal")
    style.label(axes, x="error along x [m]", y="error along y [m]")


def _yaws(axes: Any, here: Sequence[Scatter], looks: dict[str, tuple[str, str]], style: Any) -> None:
    first = here[0]
    axes.hist(first.errors.error[first.inlier, 2], bins=41, color=style.SKY)
    for sign in (-3.0, 3.0):
        axes.axvline(sign * np.sqrt(first.sample[2, 2]), color=style.VERMILLION)
        for scatter in here:
            colour, dashes = looks[scatter.calibrated_to]
            axes.axvline(sign * np.sqrt(scatter.predicted[2, 2]), color=colour, ls=dashes)
    style.label(axes, x="yaw error [rad]", y="intervals [1]")


def ellipse(covariance: FloatArray) -> FloatArray:
    """Points of the three-sigma ellipse of a position, (2, 101)."""
    values, vectors = np.linalg.eigh(covariance[:2, :2])
    angle = np.linspace(0.0, 2.0 * np.pi, 101)
    result: FloatArray = 3.0 * (vectors * np.sqrt(np.maximum(values, 0.0))) @ np.stack([np.cos(angle), np.sin(angle)])
    return result
