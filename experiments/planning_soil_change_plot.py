"""The picture of planning-soil-change: distance from the path since the soil changed, with adaptation and without."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from experiments.experiment import Result
    from experiments.planning_soil_change import Driven


def draw(
    result: Result, drives: dict[bool, list[Driven]], former: dict[bool, float], path: str | os.PathLike[str]
) -> None:
    """Every drive thin, the rms of all thick, and 1.5 times the former rms."""
    from experiments.planning_soil_change import BACK, over_time
    from grouser.view import style

    with style.picture(path, 10.0, 7.0) as figure:
        panels = figure.subplots(2, 1, sharex=True)
        for axes, adapt, name in zip(panels, (True, False), ("with", "without"), strict=True):
            for one in drives[adapt]:
                axes.plot(one.time, one.aside, color=style.FAINT, lw=0.6)
            time, rms = over_time(drives[adapt])
            axes.plot(time, rms, color=style.BLUE, lw=2.0, label="rms of all drives after the change")
            axes.axhline(BACK * former[adapt], color=style.VERMILLION, ls="--", label=f"{BACK:g} × rms before")
            axes.axvline(0.0, color=style.GREEN, lw=1.0)
            axes.set_title(f"{name} online calibration")
            axes.legend(loc="upper left")
            style.label(axes, x="time since the soil changed [s]", y="distance from the path [m]")
        figure.suptitle(f"From firm ground into sand on a side slope, {len(drives[True])} drives each")
