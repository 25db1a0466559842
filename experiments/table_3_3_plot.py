"""The picture of table-3.3: error scatter (T Fig. 3.6) and parameters while learning (Fig. 3.5)."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from grouser.checks import FloatArray
from grouser.motion.fit import Fit


def draw(errors: dict[str, FloatArray], fit: Fit, path: str | os.PathLike[str]) -> None:
    """Errors by model, and the history of the slip parameters."""
    from grouser.view import style

    shown = ("diff. drive", "diff. drive+ converged", "3D kin.+ converged")
    with style.look():
        figure = style.new_figure(12.0, 7.5)
        halves: Any = figure.subfigures(2, 1, height_ratios=(1.0, 0.9))
        top, bottom = halves
        reach = 1.05 * float(np.abs(errors[shown[0]][:, :2]).max())
        for axes, name in zip(top.subplots(1, 3, sharex=True, sharey=True), shown, strict=True):
            axes.plot(errors[name][:, 0], errors[name][:, 1], ".", ms=4, color=style.BLUE)
            axes.set(xlim=(-reach, reach), ylim=(-reach, reach))
            axes.set_aspect("equal")
            style.label(axes, x="error along x [m]", y="error along y [m]", title=name)
        axes = bottom.subplots(1, 1)
        assert fit.history is not None
        for k in range(6):
            axes.plot(fit.history.values[:, k], label=fit.names[k].partition(".")[2], color=style.PALETTE[k])
        axes.legend(ncols=6)
        style.label(axes, x="interval [number]", y="slip parameter [SI]", title="3D kin.+ while it learns")
        figure.suptitle("Crusher on steep slopes, 2 s ahead (T Table 3.3)")
        style.save(figure, path)
