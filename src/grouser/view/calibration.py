"""Pictures of a calibration: parameters over time, their uncertainty and correlation, path segments."""

import math
from dataclasses import replace

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from grouser.calibration.evaluate import errors_of
from grouser.checks import FloatArray
from grouser.errors import GrouserError
from grouser.logs import Log
from grouser.motion.fit import WEAK, Fit, History
from grouser.motion.intervals import Intervals, cut_log
from grouser.motion.model import MotionModel
from grouser.motion.parameters import Parameter, unit_of
from grouser.motion.predict import LogProblem
from grouser.view import style
from grouser.view.evaluation import DASHES, PREDICTED, change_handle, draw_ellipses, mark_changes

MOST_PANELS = 30
"""Parameters drawn; of more, the first."""


def plot_history(fit: Fit, path: style.File = None) -> Figure:
    """Parameters with one-sigma bands over the intervals of an online fit (T Fig. 3.5) or the steps of a batch fit."""
    history = fit.history
    if history is None or len(history.time) == 0:
        raise GrouserError("this fit has no history to draw: it was read from a file, or has no steps")
    shown = np.flatnonzero(np.isfinite(history.values).any(axis=0))[:MOST_PANELS].tolist()
    columns = min(3, len(shown))
    rows = math.ceil(len(shown) / columns)
    online = len(history.accepted) > 0
    with style.picture(path, 4.3 * columns, 0.7 + 2.15 * rows) as figure:
        panels = figure.subplots(rows, columns, squeeze=False, sharex=True).ravel()
        for axes in panels[len(shown) :]:
            axes.remove()
        for axes, k in zip(panels, shown, strict=False):
            _draw_parameter(axes, history, fit.parameters[k], k, unit_of(fit.model, fit.parameters[k].name))
            mark_changes(axes, fit.changes, float(history.time[0]), names=k == shown[0])
        for axes in panels[max(len(shown) - columns, 0) : len(shown)]:
            axes.set_xlabel("time since the first interval [s]" if online else "step of the fit [1]")
            axes.tick_params(labelbottom=True)
        handles = [Line2D([], [], color=style.BLUE, lw=1.6, label="estimate")]
        if online:
            handles.append(Line2D([], [], color=style.BLUE, lw=7, alpha=0.22, label="±1σ"))
        handles.append(Line2D([], [], color=style.FAINT, ls=DASHES, lw=1.0, label="prior"))
        if not history.accepted.all():
            handles.append(Line2D([], [], color=style.VERMILLION, marker="|", ls="", label="interval rejected"))
        if fit.changes:
            handles.append(change_handle())
        figure.legend(handles=handles, loc="outside lower center", ncols=5)
    return figure


def plot_certainty(fit: Fit, path: style.File = None) -> Figure:
    """Prior sigma over sigma (left) and correlations (right) of the systematic parameters."""
    names = [style.plain(p.name) for p in fit.systematic][:MOST_PANELS]
    if not names:
        raise GrouserError("this fit has no systematic parameters to draw: only noise was calibrated")
    n = len(names)
    before = np.array([p.sigma for p in fit.systematic[:n]])
    after = np.sqrt(np.maximum(np.diag(fit.covariance)[:n], 1e-300))
    with style.picture(path, 12.0, max(4.2, 2.2 + 0.32 * n)) as figure:
        bars, square = figure.subplots(1, 2, width_ratios=[1.0, 1.1])
        narrowed = np.maximum(before / after, 1.0)
        bars.barh(range(n), narrowed, color=np.where(narrowed < WEAK, style.VERMILLION, style.BLUE), height=0.7)
        bars.axvline(WEAK, color=style.FAINT, lw=1.0, ls="--")
        bars.set_xscale("log")
        bars.set_xlim(0.9, max(2.0 * float(narrowed.max()), 10.0))
        bars.xaxis.set_major_formatter("{x:g}")
        bars.set_yticks(range(n), names)
        bars.invert_yaxis()
        bars.grid(visible=False, axis="y")
        style.label(bars, x="prior sigma over sigma [1]", title=f"Information from the log (dashed: {WEAK:g}, weak)")
        image = square.imshow(correlation(fit)[:n, :n], cmap=style.SIGNED, vmin=-1.0, vmax=1.0)
        square.set_xticks(range(n), names, rotation=90)
        square.set_yticks(range(n), names)
        square.grid(visible=False)
        style.label(square, title="Correlation of parameters")
        figure.colorbar(image, ax=square, shrink=0.9).set_label("correlation [1]")
    return figure


def correlation(fit: Fit) -> FloatArray:
    """Correlation of the systematic parameters, (np, np)."""
    sigma = np.sqrt(np.maximum(np.diag(fit.covariance), math.ulp(0.0)))
    result: FloatArray = np.clip(fit.covariance / np.outer(sigma, sigma), -1.0, 1.0)
    return result


def plot_segments(
    fit: Fit | MotionModel, log: Log, path: style.File = None, *, interval: float = 10.0, first: int = 0, count: int = 6
) -> Figure:
    """Predicted and measured paths over some intervals [s] of a log, each with its predicted ellipses, T Fig. 3.7."""

    motion = fit.model if isinstance(fit, Fit) else fit
    cut = cut_log(log, motion, interval=interval)
    chosen = cut.only(slice(first, first + count))
    if len(chosen) == 0:
        raise GrouserError(f"{log.name}: has {len(cut)} intervals of {interval:g} s, none from number {first} on")
    covariance = errors_of(fit, log, chosen).covariance
    with style.picture(path, 8.6, 7.4) as figure:
        axes = figure.add_subplot()
        for k in range(len(chosen)):
            _draw_segment(axes, motion, log, chosen.only(slice(k, k + 1)), covariance[k, :2, :2])
        axes.set_aspect("equal", adjustable="datalim")
        handles = [
            Line2D([], [], color=style.BLACK, lw=1.8, label="measured"),
            Line2D([], [], color=PREDICTED, lw=1.6, ls=DASHES, label=f"predicted over {interval:g} s"),
            Line2D([], [], color=PREDICTED, lw=1.2, label="95 % ellipse"),
            Line2D([], [], color=PREDICTED, lw=0.7, alpha=0.7, label="3σ ellipse"),
        ]
        figure.legend(handles=handles, loc="outside lower center", ncols=4)
        style.label(axes, x="x [m]", y="y [m]", title=f"{log.name}: {len(chosen)} intervals")
    return figure


def _draw_parameter(axes: Axes, history: History, parameter: Parameter, k: int, unit: str) -> None:
    time, value, sigma = history.time, history.values[:, k], history.sigma[:, k]
    online = len(history.accepted) > 0
    shown = time - time[0] if online else time
    axes.axhline(parameter.value, color=style.FAINT, ls=DASHES, lw=1.0)
    if np.isfinite(sigma).any():
        axes.fill_between(shown, value - sigma, value + sigma, color=style.BLUE, alpha=0.22, lw=0)
        # Without the first updates, whose bands are as wide as the prior.
        late = slice(min(len(value) // 20, len(value) - 1), None)
        low = min(float(np.min(value[late] - sigma[late])), float(value.min()), parameter.value)
        high = max(float(np.max(value[late] + sigma[late])), float(value.max()), parameter.value)
        margin = 0.05 * max(high - low, 1e-12)
        axes.set_ylim(low - margin, high + margin)
    axes.plot(shown, value, color=style.BLUE, lw=1.5, marker="" if online else "o", ms=3)
    if online:
        for t in shown[~history.accepted]:
            axes.axvline(t, ymax=0.06, color=style.VERMILLION, lw=1.0)
    axes.set_xlim(float(shown[0]), float(max(shown[-1], shown[0] + 1e-9)))
    style.label(axes, y=f"[{unit}]", title=parameter.name)


def _draw_segment(axes: Axes, motion: MotionModel, log: Log, one: Intervals, covariance: FloatArray) -> None:
    """One interval: the measured path, the predicted one in small pieces, and ellipses at its end."""
    t0, t1 = one.times[0]
    inside = (log.poses.segment == one.segment[0]) & (log.poses.time >= t0) & (log.poses.time <= t1)
    axes.plot(*log.poses.position[inside, :2].T, color=style.BLACK, lw=1.8, zorder=2)
    n = 24
    ends = t0 + (t1 - t0) * np.arange(1, n + 1) / n
    times = np.stack([np.full(n, t0), ends], axis=1)
    pieces = replace(one.only(np.zeros(n, dtype=np.int64)), times=times, overlapping=True)
    poses = LogProblem(log, motion, pieces, encoders=False).poses([motion])[0]
    c, s = math.cos(one.start[0, 5]), math.sin(one.start[0, 5])
    R = np.array([[c, -s], [s, c]])  # of the yaw at the start
    path = one.start[0, :2] + np.concatenate([np.zeros((1, 2)), poses[:, :2]]) @ R.T
    axes.plot(*path.T, color=PREDICTED, lw=1.6, ls=DASHES, zorder=3)
    axes.plot(*path[0], marker="o", ms=5, mfc="white", mec=style.INK, zorder=4)
    draw_ellipses(axes, R @ covariance @ R.T, path[-1], (1.2, 0.7, 0.7), edgecolor=PREDICTED)
