"""What `grouser calibrate --follow` shows while it runs: a screen that changes on a terminal, plain lines elsewhere."""

from __future__ import annotations

import math
import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from grouser.cli import console

if TYPE_CHECKING:
    from grouser.calibration.follow import LogFollower
    from grouser.calibration.online import Update

RECENT = 20
"""Intervals of the running error."""
BREATH = 0.1
"""Seconds from one picture to the next at least: intervals of a file that is already long come faster."""
LEVELS = "▁▂▃▄▅▆▇█"


class Shown(Protocol):
    """Where news go."""

    def learnt(self, follower: LogFollower, update: Update) -> None:
        """An interval was used."""

    def waiting(self, follower: LogFollower, seconds: float) -> None:
        """The file has not grown for so many seconds."""


@contextmanager
def shown(name: str) -> Iterator[Shown]:
    """A screen on a terminal while a file is followed, gone afterwards, else one line an interval; both on stderr."""
    if not sys.stderr.isatty():
        yield Lines()
        return
    from rich.console import Console
    from rich.live import Live

    console.remark(f"following {name}; Ctrl-C ends it")
    out = Console(stderr=True)
    with Live(console=out, auto_refresh=False, transient=True) as live:
        yield Screen(live, out)


def errors(follower: LogFollower, update: Update) -> tuple[float, float]:
    """Of the prediction just made: position [m], yaw [deg]."""
    error = dict(zip(follower.calibrator.residual, update.residual.tolist(), strict=True))
    return math.hypot(error.get("x", 0.0), error.get("y", 0.0)), math.degrees(abs(error.get("yaw", 0.0)))


class Lines:
    """One line an interval."""

    def learnt(self, follower: LogFollower, update: Update) -> None:
        """Time, error of the prediction, and all parameters with their sigmas."""
        names = follower.calibrator.filter.names
        position, yaw = errors(follower, update)
        found = " ".join(f"{n}={v:.4g}±{s:.2g}" for n, v, s in zip(names, update.values, update.sigma, strict=True))
        said = "" if update.accepted else ", rejected"
        console.remark(f"t={update.time:.2f} s: off by {position:.3f} m, {yaw:.2f}°{said}; {found}")

    def waiting(self, follower: LogFollower, seconds: float) -> None:
        """Nothing: a pipe would fill with it."""


class Screen:
    """The last state, no taller and no wider than the terminal."""

    def __init__(self, live: Any, out: Any) -> None:
        self._live, self._console = live, out
        self._past: deque[tuple[float, float, bool]] = deque(maxlen=400)
        """Position error [m], yaw error [deg] and whether it was accepted, of the last intervals."""
        self._last: Update | None = None
        self._waited = 0.0
        self._drawn = 0.0

    def learnt(self, follower: LogFollower, update: Update) -> None:
        """An interval was used."""
        self._past.append((*errors(follower, update), update.accepted))
        self._last, self._waited = update, 0.0
        if time.monotonic() - self._drawn >= BREATH:
            self._draw(follower)

    def waiting(self, follower: LogFollower, seconds: float) -> None:
        """The file has not grown for so many seconds."""
        self._waited = seconds
        self._draw(follower)

    def _draw(self, follower: LogFollower) -> None:
        from rich.console import Group
        from rich.text import Text

        self._drawn = time.monotonic()
        lines = [Text(line, no_wrap=True, overflow="ellipsis") for line in self._heading(follower)]
        lines[0].stylize("bold")
        parts: list[Any] = list(lines)
        if self._last is not None:
            room = self._console.height - len(lines) - 3  # the table's heading, a line for what is left out, the cursor
            parts += self._table(follower, self._last, room)
        self._live.update(Group(*parts), refresh=True)

    def _heading(self, follower: LogFollower) -> list[str]:
        """What was read, how predictions fare, and what the covariance says beside the sigmas."""
        f = follower.calibrator.filter
        rows = sum(follower.rejected.values())
        state = f"; nothing new for {self._waited:.0f} s" if self._waited >= 2.0 else ""
        if self._last is None:
            read = follower.calibrator.counts["samples"]
            return [f"{follower.name}: {read} rows used, no interval yet{state}"]
        first = (
            f"{follower.name}, t = {self._last.time:.1f} s: {f.updates} intervals, {f.rejected} rejected;"
            f" {rows} rows not used{state}"
        )
        last, recent = self._past[-1], list(self._past)[-RECENT:]
        rms = [math.sqrt(sum(one[k] ** 2 for one in recent) / len(recent)) for k in (0, 1)]
        fared = (
            f"prediction off by {last[0]:.3f} m, {last[1]:.2f}°{'' if last[2] else ', rejected'};"
            f" rms of the last {len(recent)}: {rms[0]:.3f} m, {rms[1]:.2f}°"
        )
        return [first, fared, self._trend(), correlated(f), ""]

    def _trend(self) -> str:
        """Position errors of the last intervals as bars, × where one was rejected."""
        label = "error, oldest to newest "
        past = list(self._past)[-max(self._console.width - len(label) - 14, 10) :]
        top = max((one[0] for one in past if one[2]), default=0.0) or 1.0
        bars = "".join(LEVELS[min(int(8.0 * p / top), 7)] if accepted else "×" for p, _, accepted in past)
        return f"{label}{bars} █ {top:.2f} m"

    def _table(self, follower: LogFollower, update: Update, room: int) -> list[Any]:
        from rich.table import Table
        from rich.text import Text

        from grouser.motion.parameter_table import meaning, unit_of

        names, prior = follower.calibrator.filter.names, {p.name: p.sigma for p in follower.calibrator.parameters}
        wide = self._console.width >= console.WIDE
        table = Table(box=None, pad_edge=False)
        columns = ("parameter", "value", "1σ", "of prior", "unit", *(("meaning",) if wide else ()))
        for name in columns:
            right = name in ("value", "1σ", "of prior")
            table.add_column(name, justify="right" if right else "left", no_wrap=True, overflow="ellipsis")
        fits = len(names) if len(names) <= room + 1 else max(room, 1)
        for name, value, sigma in list(zip(names, update.values, update.sigma, strict=True))[:fits]:
            shown = (name, *rounded(value, sigma), f"{100.0 * sigma / prior[name]:.0f} %", unit_of(name))
            table.add_row(*shown, *((meaning(name),) if wide else ()))
        if fits == len(names):
            return [table]
        return [table, Text(f"… and {len(names) - fits} more; a taller window shows them", no_wrap=True)]


def rounded(value: float, sigma: float) -> tuple[str, str]:
    """A value and its sigma to the same decimal, two digits of the sigma."""
    if not 1e-5 <= sigma < 1e5:
        return f"{value:.4g}", f"{sigma:.2g}"
    decimals = max(1 - math.floor(math.log10(sigma)), 0)
    return f"{value:.{decimals}f}", f"{sigma:.{decimals}f}"


def correlated(filter: Any) -> str:
    """The two parameters whose errors go together most, by the filter's covariance."""
    P = filter.P
    n = len(P)
    if n < 2:
        return "one systematic parameter, so no correlation"
    size = [math.sqrt(max(P[i, i], 1e-300)) for i in range(n)]
    pairs = ((P[i, j] / (size[i] * size[j]), i, j) for i in range(n) for j in range(i))
    worst, i, j = max(pairs, key=lambda one: abs(one[0]))
    return f"strongest correlation: {filter.systematic[j].name} and {filter.systematic[i].name} {worst:+.2f}"
