"""Where the surface changes, found afterwards from a whole run: a straight border, crossed wheel by wheel.

Speed ratio and currents of a run have one level before the border and change by a step of their own as each driven
wheel crosses it. The border of a run lies across the direction of travel; its offset is the most likely one, all
levels fitted. One line for all runs, of any direction, is tried too.
Nothing here is causal, and nothing is shared with the test in `surface_change_test.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from experiments.surface_change_data import Drive
from grouser.checks import FloatArray

STEP = 0.01
"""Offsets that are tried, apart [m]."""
BLUR = 0.02
"""Way over which a wheel changes from one surface to the other, half of it [m]."""
CORRELATED = 0.3
"""Time over which neighbouring windows are alike [s]: the log-likelihood of that many counts once."""


class Border(NamedTuple):
    """A border of one run."""

    offset: float
    """Along the border's normal: the floor's x, the direction of travel, unless another is given [m]."""
    sigma: float
    """One sigma of it, by the likelihood of the offsets [m]."""
    first: float
    """When the first driven wheel crosses it [s]."""
    last: float
    """When the last one does [s]."""
    sigma_time: float
    """One sigma of these [s]."""
    offsets: FloatArray
    """Offsets that were tried [m], (k,)."""
    misfit: FloatArray
    """Minus twice their log-likelihood, up to a constant, (k,)."""

    @property
    def time(self) -> float:
        """The middle of the crossing [s]."""
        return 0.5 * (self.first + self.last)


def find_border(drive: Drive, window: float, angle: float = 0.0) -> Border:
    """The most likely border of a run, whose normal is turned by an angle [rad] from the direction of travel."""
    along = drive.wheels[:, drive.driven] @ np.array([np.cos(angle), np.sin(angle)])
    offsets = np.arange(np.floor(along.min() / STEP), np.ceil(along.max() / STEP)) * STEP
    misfit = np.array([_misfit(drive, along, offset) for offset in offsets]) * min(1.0, window / CORRELATED)
    k = int(np.argmin(misfit))
    weight = np.exp(-0.5 * (misfit - misfit[k]))
    mean = float(weight @ offsets / weight.sum())
    sigma = float(np.sqrt(weight @ (offsets - mean) ** 2 / weight.sum()))
    middle = drive.time - 0.5 * window
    crossed = [float(np.interp(offsets[k], np.maximum.accumulate(one), middle)) for one in along.T]
    speed = float(np.median(drive.ratio * drive.rim_speed))
    return Border(float(offsets[k]), sigma, min(crossed), max(crossed), sigma / speed, offsets, misfit)


def _misfit(drive: Drive, along: FloatArray, offset: float) -> float:
    over = np.clip((along - offset) / (2.0 * BLUR) + 0.5, 0.0, 1.0)
    columns = np.concatenate([np.ones((len(over), 1)), over], axis=1)
    seen = np.column_stack([drive.ratio, drive.wheel_current[:, drive.driven]])
    left = seen - columns @ np.linalg.lstsq(columns, seen, rcond=None)[0]
    return float(len(seen) * np.log(np.mean(left**2, axis=0)).sum())


class CommonLine(NamedTuple):
    """How well one line explains all runs, against one across the direction of travel for each."""

    angle: float
    """Of its normal from the direction of travel [deg]."""
    offset: float
    """The best common one [m]."""
    spread: float
    """Of the runs' own offsets, with this normal, about it, rms [m]."""
    left_out: float
    """Rms distance of a run's own border, with this normal, from the common one of all others, along the travel [m]."""
    loss: float
    """Log-likelihood that one line for all costs."""
    freedoms: int
    """Offsets that it saves."""


def best_line(drives: Sequence[Drive], borders: Sequence[Border], window: float) -> CommonLine:
    """One border for all runs, in the most likely of directions 15° apart; borders: the runs' own."""
    own = sum(float(one.misfit.min()) for one in borders)
    tried = [
        common_line([find_border(drive, window, np.radians(angle)) for drive in drives], angle, own)
        for angle in np.arange(-75.0, 90.1, 15.0)
    ]
    return min(tried, key=lambda line: line.loss)


def common_line(borders: Sequence[Border], angle: float, own_misfit: float) -> CommonLine:
    """One border for all runs with a normal at an angle [deg]; own_misfit: that of the runs' own borders."""
    grid = np.arange(max(one.offsets[0] for one in borders), min(one.offsets[-1] for one in borders) + 0.5 * STEP, STEP)
    misfits = np.array([np.interp(grid, one.offsets, one.misfit) for one in borders])
    total, own = misfits.sum(axis=0), np.array([one.offset for one in borders])
    best = float(grid[int(np.argmin(total))])
    others = np.array([grid[int(np.argmin(total - row))] for row in misfits])
    loss = 0.5 * float(total.min() - own_misfit)
    rms = float(np.sqrt(np.mean((own - best) ** 2)))
    left_out = float(np.sqrt(np.mean((own - others) ** 2))) / max(abs(np.cos(np.radians(angle))), 0.1)
    return CommonLine(angle, best, rms, left_out, loss, len(borders) - 1)
