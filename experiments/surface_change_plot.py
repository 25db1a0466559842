"""The picture of surface-change: speed ratio and current of runs, with border and alarm."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from experiments.experiment import Result

COLUMNS = 3
MOST = 18


def draw(result: Result, path: str | os.PathLike[str]) -> None:
    """One panel a run."""
    from grouser.view import style

    curves = result.settings["curves"][:MOST]
    columns = min(COLUMNS, len(curves))
    lines = math.ceil(len(curves) / columns)
    with style.picture(path, 4.0 * columns, 2.0 * lines + 0.8) as figure:
        panels = figure.subplots(lines, columns, squeeze=False)
        for panel in panels.ravel()[len(curves) :]:
            panel.set_visible(False)
        for axes, one in zip(panels.ravel(), curves, strict=False):
            axes.axvspan(one["first"], max(one["last"], one["first"] + 0.05), color=style.FAINT, alpha=0.6)
            axes.plot(one["time"], one["ratio"], color=style.BLUE, label="camera speed by wheel speed [1]")
            axes.plot(one["time"], one["current"], color=style.ORANGE, label="sum of currents [A]")
            for k, alarm in enumerate(one["alarms"]):
                axes.axvline(
                    alarm, color=style.VERMILLION, ls="-" if k == 0 else ":", label="alarm" if k == 0 else None
                )
            axes.set_ylim(0.0, 2.6)
            axes.set_title(one["run"], fontsize=8)
            style.label(axes, x="time [s]", y="")
        panels[0, 0].legend(fontsize=7)
        figure.suptitle("A change of surface: grey, driven wheels cross the border (found afterwards)")
