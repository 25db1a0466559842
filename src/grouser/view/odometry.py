"""Picture of odometry along a log: the path with ellipses, the heights, and the yaw error over time."""

import math
from itertools import pairwise

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from grouser.checks import FloatArray
from grouser.logs.log import IntArray
from grouser.odometry.judge import Judgement
from grouser.odometry.log import LogOdometry
from grouser.spacing import path_lengths
from grouser.view import style

ELLIPSES = 12
"""Drawn along a path, evenly spaced."""
PARTS = 2000
"""A curve of more than 8 points per part, each narrower than a dot, is drawn by its first point and its extremes."""
FINE = 10
"""Times as many parts for a path seen from above, where a part is wider than a dot."""
DASHES = (0, (5, 2.5))
MEASURED, ESTIMATED = style.BLACK, style.BLUE


def plot_odometry(run: LogOdometry, judged: Judgement, path: style.File = None, *, title: str = "") -> Figure:
    """Paths of odometry and poses from above, with 95 % ellipses; height along the path; yaw error over time."""
    with style.picture(path, 11.0, 9.0, title=title) as figure:
        grid = figure.add_gridspec(2, 2, height_ratios=[2.1, 1.0])
        _draw_path(figure.add_subplot(grid[0, :]), judged)
        _draw_heights(figure.add_subplot(grid[1, 0]), run, judged)
        _draw_yaw(figure.add_subplot(grid[1, 1]), judged)
        handles = [
            Line2D([], [], color=MEASURED, lw=1.8, label="poses of the log"),
            Line2D([], [], color=ESTIMATED, lw=1.6, ls=DASHES, label="odometry"),
            Line2D([], [], color=ESTIMATED, lw=1.0, label="95 % ellipse"),
            Line2D([], [], color=ESTIMATED, lw=7, alpha=0.18, label="±2σ"),
        ]
        figure.legend(handles=handles, loc="outside lower center", ncols=4)
    return figure


def _draw_path(axes: Axes, judged: Judgement) -> None:
    both = [way[shown(way[:, 0], way[:, 1], fine=FINE), :2].T for way in (judged.measured, judged.estimate)]
    axes.plot(*both[0], color=MEASURED, lw=1.8, zorder=2)
    axes.plot(*both[1], color=ESTIMATED, lw=1.6, ls=DASHES, zorder=3)
    axes.plot(*judged.measured[0, :2], marker="o", ms=6, mfc="white", mec=style.INK, zorder=5)
    for k in _evenly(judged.measured, ELLIPSES):
        here, covariance = judged.estimate[k, :2], judged.covariance[k, :2, :2]
        axes.add_patch(style.ellipse(covariance, here, edgecolor=ESTIMATED, lw=1.0, zorder=3))
        axes.plot(*zip(here, judged.measured[k, :2], strict=True), color=style.VERMILLION, lw=1.0, zorder=4)
    axes.autoscale_view()
    axes.set_aspect("equal", adjustable="datalim")
    words = f"{judged.distance:.0f} m, end error {judged.end_error:.2f} m"
    style.label(axes, x="x [m]", y="y [m]", title=f"From above: {words}; red: position error")


def _draw_heights(axes: Axes, run: LogOdometry, judged: Judgement) -> None:
    way, z, measured = np.interp(judged.time, run.time, run.path), judged.estimate[:, 2], judged.measured[:, 2]
    reach = 2.0 * np.sqrt(np.maximum(judged.covariance[:, 2, 2], 0.0))
    rows = shown(z, z - reach, z + reach, measured)
    way, reach, z, measured = way[rows], reach[rows], z[rows], measured[rows]
    axes.fill_between(way, z - reach, z + reach, color=ESTIMATED, alpha=0.18, lw=0)
    axes.plot(way, z, color=ESTIMATED, lw=1.4, ls=DASHES)
    words = "Height: not in the poses"
    if judged.height_rms is not None:
        axes.plot(way, measured, color=MEASURED, lw=1.4)
        words = f"Height: error {judged.height_rms:.3f} m rms"
    style.label(axes, x="path length [m]", y="z [m]", title=words)


def _draw_yaw(axes: Axes, judged: Judgement) -> None:
    error = np.degrees(judged.error[:, 3])
    sigma = np.degrees(np.sqrt(np.maximum(judged.covariance[:, 3, 3], 0.0)))
    axes.axhline(0.0, color=style.FAINT, lw=0.6)
    rows = shown(error, sigma)
    time = judged.time[rows]
    axes.fill_between(time, -2.0 * sigma[rows], 2.0 * sigma[rows], color=ESTIMATED, alpha=0.18, lw=0)
    axes.plot(time, error[rows], color=style.VERMILLION, lw=1.2)
    words = f"Yaw error: {error[-1]:.1f}° at the end of {math.degrees(judged.turning):.0f}°"
    style.label(axes, x="time [s]", y="odometry less pose [°]", title=words)


def shown(*curves: FloatArray, fine: int = 1) -> IntArray:
    """Which of n points are drawn: all, or those where a curve (n,) is extreme in one of `fine` × `PARTS` parts."""
    n, parts = len(curves[0]), fine * PARTS
    if n <= 8 * parts:
        return np.arange(n, dtype=np.int64)
    bounds = np.linspace(0, n, parts + 1).astype(np.int64)
    rows = {0, n - 1, *bounds[:-1].tolist()}
    for low, high in pairwise(bounds.tolist()):
        rows.update(low + int(find(curve[low:high])) for curve in curves for find in (np.argmin, np.argmax))
    return np.array(sorted(rows), dtype=np.int64)


def _evenly(points: FloatArray, count: int) -> list[int]:
    """Rows at even distances along a path; the last is one of them."""
    way = path_lengths(points[:, :2])
    marks = np.linspace(0.0, way[-1], count + 1)[1:]
    return sorted(set(np.minimum(np.searchsorted(way, marks), len(points) - 1).tolist()))
