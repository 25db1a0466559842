"""Picture of slip rates over speed and turn rate, P Fig. 6."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from grouser.checks import FloatArray
from grouser.view import style


def plot_slip_surface(
    slip: Callable[[FloatArray, FloatArray], Any],
    path: str | os.PathLike[str] | None = None,
    *,
    speed: tuple[float, float] = (-1.0, 1.0),
    turn: tuple[float, float] = (-1.0, 1.0),
    title: str = "",
) -> Figure:
    """Slip rates over speed [m/s] and turn rate [rad/s], P Fig. 6.

    `slip` takes arrays of both and gives (δv_x, δv_y, δω), as a tuple or along the last axis.
    """
    v, w = np.meshgrid(np.linspace(*speed, 61), np.linspace(*turn, 61))
    found = slip(v, w)
    parts = list(found) if isinstance(found, (tuple, list)) else list(np.moveaxis(np.asarray(found), -1, 0))
    names = ("forward slip δv_x [m/s]", "sideways slip δv_y [m/s]", "turn slip δω [rad/s]")
    with style.picture(path, 14.0, 4.6) as figure:
        for axes, part, name in zip(figure.subplots(1, 3), parts, names, strict=True):
            values = np.broadcast_to(np.asarray(part, dtype=np.float64), v.shape)
            reach = max(float(np.abs(values).max()), 1e-9)
            levels = np.linspace(-reach, reach, 21)
            axes.grid(visible=False)
            filled = axes.contourf(v, w, values, levels=levels, cmap=style.SIGNED)
            axes.contour(v, w, values, levels=levels[::2], colors=style.INK, linewidths=0.4, alpha=0.6)
            bar = figure.colorbar(filled, ax=axes, shrink=0.92, ticks=np.linspace(-reach, reach, 5))
            bar.set_label(name)
            bar.ax.ticklabel_format(axis="y", scilimits=(-2, 3))
            title_here = name.split(" δ")[0]
            style.label(axes, x="speed of the wheels [m/s]", y="turn rate of the wheels [rad/s]", title=title_here)
        if title:
            figure.suptitle(style.plain(title), x=0.02, ha="left", fontsize=11)
    return figure
