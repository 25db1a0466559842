"""Which rows of a log are samples, and where an unbroken stretch ends.

Rows keep their order. A row is left out where its clock does not move on; a stretch ends where the clock jumps,
where nothing was logged for too long, or where the log itself says so.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from grouser.checks import FloatArray
from grouser.logs.log import IntArray

__all__ = ["default_gap", "in_order", "number_segments"]

BoolArray = NDArray[np.bool_]

PERIODS = 5.0
SHORTEST_GAP = 0.25
"""[s]"""
STRAY = 10
"""Rows behind the clock, after which it is the clock that jumped back and not the rows that came late."""


def default_gap(period: float) -> float:
    """The longest hole that is not yet a gap [s]: 5 median periods, at least 0.25 s."""
    return max(PERIODS * period, SHORTEST_GAP)


def in_order(time: FloatArray, begins: BoolArray) -> tuple[BoolArray, BoolArray, BoolArray]:
    """Rows that repeat a time stamp, rows out of order, and rows at which the clock jumped back.

    Time [s] is finite; `begins` marks rows at which the log itself begins anew, where any time is right.
    """
    repeats = np.zeros(len(time), np.bool_)
    repeats[1:] = (np.diff(time) == 0.0) & ~begins[1:]
    late, jumps = np.zeros_like(repeats), np.zeros_like(repeats)
    row = np.flatnonzero(~repeats)
    clock, free = time[row], begins[row]
    starts = np.append(np.flatnonzero(free), len(row))
    judged = 0
    for i in np.flatnonzero((np.diff(clock, prepend=-np.inf) < 0.0) & ~free).tolist():
        if i < judged:
            continue
        last = clock[i - 1]
        end = min(i + STRAY, int(starts[np.searchsorted(starts, i)]))
        ahead = np.flatnonzero(clock[i:end] > last)
        if ahead.size == 0:
            jumps[row[i]] = True
            judged = i + 1
        else:
            judged = i + int(ahead[0])
            behind = row[i:judged]
            repeats[behind[time[behind] == last]] = True
            late[behind[time[behind] < last]] = True
    return repeats, late, jumps


def number_segments(time: FloatArray, group: IntArray, longest_gap: float) -> IntArray:
    """Segment of each sample: a new one where the group changes or the hole in time [s] is longer than allowed."""
    if len(time) == 0:
        return np.empty(0, dtype=np.int64)
    new = np.zeros(len(time), np.bool_)
    new[1:] = (np.diff(group) != 0) | (np.diff(time) > longest_gap)
    return np.cumsum(new, dtype=np.int64)
