"""The picture of lru-slip: the fit, the ends of the 17 drives, and the long drive, as L Fig. 5.7 to 5.9."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from grouser.calibration.batch import BatchResult
from grouser.checks import FloatArray

if TYPE_CHECKING:
    from experiments.lru_long_drive import LongDrive


def draw(
    fit: BatchResult, before: FloatArray, after: FloatArray, long: LongDrive, path: str | os.PathLike[str]
) -> None:
    """Parameters over iterations, errors at the ends of the drives, the map of the long drive and its distance."""
    from experiments.lru_slip import ETNA, NAMES
    from grouser.view import style

    with style.picture(path, 11.0, 10.0) as figure:
        (history, ends), (where, offset) = figure.subplots(2, 2, height_ratios=(1.0, 1.3))
        for k, name in enumerate(NAMES):
            history.plot(-fit.history[:, k], "o-", ms=3, color=style.PALETTE[k], label=name)
            history.axhline(ETNA[k], color=style.PALETTE[k], ls=":", lw=1.0)
        history.set(xlabel="iteration [1]", ylabel="parameter [SI]", title="batch estimate; dotted: L (5.35)")
        history.legend(ncols=2)
        drives = np.arange(1, len(before) + 1)
        ends.bar(drives - 0.2, np.hypot(before[:, 0], before[:, 1]), 0.4, color=style.PALETTE[1], label="without slip")
        ends.bar(drives + 0.2, np.hypot(after[:, 0], after[:, 1]), 0.4, color=style.PALETTE[0], label="with slip")
        ends.set(xlabel="drive [number]", ylabel="position error at the end [m]", yscale="log", title="17 drives")
        ends.legend()
        # The flank rises along x, which is drawn upwards; y points to the left.
        where.plot(-long.true[:, 1], long.true[:, 0], color="black", lw=2.0, label="true")
        way = long.distance(long.true)
        for k, (name, position) in enumerate(long.estimates.items()):
            colour = style.PALETTE[1 - k]
            where.plot(-position[:, 1], position[:, 0], color=colour, lw=1.2, label=name)
            offset.plot(way, long.offset(name), color=colour, label=f"{name}: {long.error_percent(name):+.2f} %")
        where.set(xlabel="across the slope [m]", ylabel="up the slope [m]", title="the long drive")
        where.set_aspect("equal", adjustable="datalim")
        where.legend()
        offset.axhline(0.0, color=style.FAINT, lw=0.8)
        offset.set(xlabel="true distance [m]", ylabel="estimated less true distance [m]", title="its distance")
        offset.legend()
        figure.suptitle("LRU on a flank: slip from the ends of 17 drives, and a long drive with it (L §5.3.4)")
