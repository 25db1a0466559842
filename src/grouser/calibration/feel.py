"""What a ground feels like besides its slip: vibration, slope and motor current, where a log has them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from grouser.calibration.memory import Felt
from grouser.motion.predict import LogProblem

CURRENT = "current"
"""Labels of a manifest that begin so are motor currents; their sizes are added."""


def felt(problem: LogProblem, k: int) -> dict[str, float]:
    """Numbers of one interval, by signal: vibration [m/s²], slope [rad], current [as logged]."""
    log, (low, high) = problem.log, problem.intervals.ranges[k]
    start, end = problem.intervals.times[k]
    first, last = low + np.searchsorted(log.time[low:high], (start, end))
    out: dict[str, float] = {}
    if last - first < 2:
        return out
    if log.acceleration is not None:
        out["vibration"] = float(np.std(np.diff(log.acceleration[first:last, 2])) / np.sqrt(2.0))
    if log.attitude is not None:
        out["slope"] = float(np.mean(np.hypot(*log.attitude[first:last].T)))
    currents = [column for name, column in log.label.items() if name.startswith(CURRENT)]
    if currents:
        out["current"] = float(np.mean(np.sum(np.abs(np.stack(currents)[:, first:last]), axis=0)))
    return {name: value for name, value in out.items() if np.isfinite(value)}


class Feeling:
    """What the present ground felt like, interval by interval."""

    def __init__(self) -> None:
        self.rows: list[dict[str, float]] = []
        self.past: dict[str, Felt] = {}

    def add(self, problem: LogProblem, k: int) -> None:
        """One more interval."""
        self.rows.append(felt(problem, k))
        if len(self.rows) > 2 * KEPT:
            self.past = _together(self.past, self.rows[:KEPT])
            del self.rows[:KEPT]

    @property
    def state(self) -> dict[str, Any]:
        """As plain numbers."""
        return {"rows": list(self.rows), "past": {name: asdict(one) for name, one in self.past.items()}}

    @state.setter
    def state(self, state: dict[str, Any]) -> None:
        self.rows = [{str(k): float(v) for k, v in row.items()} for row in state["rows"]]
        self.past = {str(name): Felt(**one) for name, one in state["past"].items()}

    def take(self, new: int = 0) -> dict[str, Felt]:
        """All but the last `new` intervals, which are kept for the next ground."""
        split = len(self.rows) - new
        found = _together(self.past, self.rows[:split])
        self.rows, self.past = self.rows[split:], {}
        return found


KEPT = 100
"""Intervals that are held one by one."""


def _together(past: dict[str, Felt], rows: list[dict[str, float]]) -> dict[str, Felt]:
    out = dict(past)
    for name in {name for row in rows for name in row}:
        values = np.array([row[name] for row in rows if name in row])
        one = Felt(mean=float(values.mean()), sigma=float(values.std()), count=len(values))
        out[name] = out[name].with_(one) if name in out else one
    return out
