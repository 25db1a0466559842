"""Picture of the convergence of a calibration, P Fig. 5."""

from __future__ import annotations

import math
import os

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from experiments.convergence import Convergence
from grouser.view import style
from grouser.view.evaluation import DASHES


def plot_convergence(curves: dict[str, Convergence], path: str | os.PathLike[str] | None = None) -> Figure:
    """Errors on held-out data over training time, P Fig. 5; plain odometry and the end of each curve dashed."""
    with style.picture(path, 10.5, 4.4) as figure:
        left, right = figure.subplots(1, 2)
        for colour, (name, one) in zip(style.PALETTE, curves.items(), strict=False):
            left.plot(one.time, one.position_rms, color=colour, label=name, drawstyle="steps-post")
            right.plot(one.time, np.degrees(one.yaw_rms), color=colour, drawstyle="steps-post")
        plain = next(iter(curves.values())).baseline
        for axes, level in ((left, plain[0]), (right, math.degrees(plain[1]))):
            axes.axhline(level, color=style.FAINT, ls=DASHES, lw=1.0, label="plain odometry")
            axes.set_yscale("log")
            axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            axes.yaxis.set_major_formatter("{x:g}")
            axes.yaxis.set_minor_formatter(NullFormatter())
            axes.set_xlim(left=0.0)
        style.label(left, x="training time [s]", y="rms position error [m]", title="Position, held-out data")
        style.label(right, x="training time [s]", y="rms yaw error [°]", title="Yaw, held-out data")
        figure.legend(handles=left.get_legend_handles_labels()[0], loc="outside lower center", ncols=4)
    return figure
