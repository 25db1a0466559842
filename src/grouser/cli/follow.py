"""`grouser calibrate --follow`: online calibration of a log while it is being written, and its display."""

from __future__ import annotations

import math
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import typer
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from grouser.calibration import Update
from grouser.calibration.checkpoint import load_checkpoint, save_checkpoint
from grouser.calibration.follow import LogFollower
from grouser.calibration.stream import StreamingCalibrator
from grouser.cli import console
from grouser.cli.calibrate import print_parameters
from grouser.cli.wanted import Carried, Wanted
from grouser.errors import GrouserError
from grouser.logs.manifest import load_manifest
from grouser.logs.raw import is_bag
from grouser.motion.parameter_table import meaning
from grouser.motion.parameters import unit_of

RECENT = 20
"""Intervals of the running error."""
REDRAW = 0.1
"""Shortest time between two drawings of the screen [s]; intervals of a long file come faster."""
LEVELS = "▁▂▃▄▅▆▇█"


def follow(
    logs: Sequence[Path], manifest: Path, given: Wanted, cut: dict[str, Any], *, carried: Carried,
    checkpoint: Path | None, out: Path | None, poll: float, idle_exit: float | None, as_json: bool,
) -> None:  # fmt: skip
    """Follow one log until it stops growing, or Ctrl-C; `cut` holds intervals and gates."""
    if len(logs) != 1:
        raise GrouserError(f"--follow: one log is followed at a time, not {len(logs)}")
    if is_bag(logs[0]) or logs[0].is_dir():
        raise GrouserError(
            f"--follow: {logs[0]} is a bag, and only a CSV can be followed while it grows; once the bag is closed,"
            " calibrate it without --follow"
        )

    read = load_manifest(manifest)
    memory, learning = carried.grounds(), {"adapt": not carried.steady, **cut}
    if carried.start is not None:
        calibrator = StreamingCalibrator(carried.fit(), memory=memory, **learning)
    else:
        wanted = given.first
        motion = wanted.motion(read.vehicle, read.mounting())
        calibrator = StreamingCalibrator(motion, wanted.chosen(motion), memory=memory, **learning)
    follower = LogFollower(logs[0], read, calibrator)
    resumed = 0
    if checkpoint is not None and checkpoint.exists():
        load_checkpoint(follower, checkpoint)
        resumed = calibrator.filter.updates
        console.remark(f"{checkpoint}: continues after {resumed} intervals")
    end = follower
    with shown(follower.name) as show:
        try:
            grown = time.monotonic()
            size = -1
            while True:
                for update in follower.advance():
                    if checkpoint is not None:
                        save_checkpoint(follower, checkpoint)
                    if out is not None:
                        calibrator.fit(follower.name).save(out)
                    show.learnt(follower, update)
                now = follower.path.stat().st_size
                if now != size:
                    size, grown = now, time.monotonic()
                elif idle_exit is not None and time.monotonic() - grown >= idle_exit:
                    break
                show.waiting(follower, time.monotonic() - grown)
                time.sleep(poll if idle_exit is None else min(poll, max(idle_exit, 0.01)))
            end, learnt = follower.finish()
            for update in learnt:
                show.learnt(end, update)
            stopped = ""
        except KeyboardInterrupt:
            stopped = f"stopped after {calibrator.filter.updates} intervals of {follower.name}"
    if stopped:
        then = "without --checkpoint the next run starts over"
        if checkpoint is not None:
            then = f"the state is in {checkpoint}; the same command continues from there"
            then = then if checkpoint.exists() else f"{checkpoint} is not written yet"
        console.remark(f"{stopped}; {then}")
    carried.write(end.calibrator.filter.remember() if carried.memory is not None else None)
    _report(end, resumed, checkpoint, out, as_json)


def _report(end: LogFollower, resumed: int, checkpoint: Path | None, out: Path | None, as_json: bool) -> None:
    fit = end.calibrator.fit(end.name)
    lost = [f"{count} rows: {reason}" for reason, count in end.rejected.items()]
    if fit.training.intervals == 0:
        said = f"{end.name}: no interval has been completed; `grouser check` shows what is in it"
        raise GrouserError("; ".join([said, *lost]))
    if out is not None:
        fit.save(out)

    def show(_: dict[str, Any]) -> None:
        t = fit.training
        print_parameters(fit, f"{fit.model.vehicle.name}: {t.intervals} intervals, {t.rejected} rejected")
        typer.echo("\n".join([f"errors of predictions before each update: {t.position_rms:.3f} m rms", *lost]))
        for change in fit.changes:
            typer.echo(console.change_of_ground(change))

    counted = {"counts": end.calibrator.counts, "rejected": end.rejected, "resumed_after": resumed}
    console.emit({**fit.summary(), **counted, "checkpoint": checkpoint, "fit": out}, as_json, show, [out])


@contextmanager
def shown(name: str) -> Iterator[Lines | Screen]:
    """A screen on a terminal while a file is followed, gone afterwards, else one line an interval; both on stderr."""
    if not sys.stderr.isatty():
        yield Lines()
        return
    console.remark(f"following {name}; Ctrl-C ends it")
    out = Console(stderr=True)
    with Live(console=out, auto_refresh=False, transient=True) as live:
        yield Screen(live, out)


def errors(follower: LogFollower, update: Update) -> tuple[float, float]:
    """Errors of the prediction just made: position [m], yaw [deg]."""
    error = dict(zip(follower.calibrator.residual, update.residual.tolist(), strict=True))
    return math.hypot(error.get("x", 0.0), error.get("y", 0.0)), math.degrees(abs(error.get("yaw", 0.0)))


class Lines:
    """One line an interval."""

    def learnt(self, follower: LogFollower, update: Update) -> None:
        """Time, error of the prediction, and all parameters with their sigmas."""
        position, yaw = errors(follower, update)
        values = zip(follower.calibrator.filter.names, update.values, update.sigma, strict=True)
        found = " ".join(f"{name}={value:.4g}±{sigma:.2g}" for name, value, sigma in values)
        said = f", {update.ground}{'' if update.accepted else ', rejected'}"
        console.remark(f"t={update.time:.2f} s: off by {position:.3f} m, {yaw:.2f}°{said}; {found}")

    def waiting(self, follower: LogFollower, seconds: float) -> None:
        """No output: a file or pipe would fill with it."""


class Screen:
    """The last state, no taller and no wider than the terminal."""

    def __init__(self, live: Live, out: Console) -> None:
        self._live, self._console = live, out
        self._past: deque[tuple[float, float, bool]] = deque(maxlen=400)
        """Position error [m], yaw error [deg] and whether it was accepted, of the last intervals."""
        self._last: Update | None = None
        self._waited = self._drawn = 0.0

    def learnt(self, follower: LogFollower, update: Update) -> None:
        """An interval was used."""
        self._past.append((*errors(follower, update), update.accepted))
        self._last, self._waited = update, 0.0
        if time.monotonic() - self._drawn >= REDRAW:
            self._draw(follower)

    def waiting(self, follower: LogFollower, seconds: float) -> None:
        """The file has not grown for some seconds."""
        self._waited = seconds
        self._draw(follower)

    def _draw(self, follower: LogFollower) -> None:
        self._drawn = time.monotonic()
        lines = [Text(line, no_wrap=True, overflow="ellipsis") for line in self._heading(follower)]
        lines[0].stylize("bold")
        parts: list[Any] = list(lines)
        if self._last is not None:
            room = self._console.height - len(lines) - 3  # the table's heading, a line for what is left out, the cursor
            parts += self._table(follower, self._last, room)
        self._live.update(Group(*parts), refresh=True)

    def _heading(self, follower: LogFollower) -> list[str]:
        """Rows read, errors of predictions, and the strongest correlation."""
        f = follower.calibrator.filter
        state = f"; nothing new for {self._waited:.0f} s" if self._waited >= 2.0 else ""
        if self._last is None:
            return [f"{follower.name}: {follower.calibrator.counts['samples']} rows used, no interval yet{state}"]
        lost = sum(follower.rejected.values())
        used = f"{f.ground}; {f.updates} intervals, {f.rejected} rejected; {lost} rows not used{state}"
        last, recent = self._past[-1], list(self._past)[-RECENT:]
        rms = [math.sqrt(sum(one[k] ** 2 for one in recent) / len(recent)) for k in (0, 1)]
        off = f"prediction off by {last[0]:.3f} m, {last[1]:.2f}°{'' if last[2] else ', rejected'}"
        return [
            f"{follower.name}, t = {self._last.time:.1f} s: {used}",
            f"{off}; rms of the last {len(recent)}: {rms[0]:.3f} m, {rms[1]:.2f}°",
            self._trend(),
            correlated(f),
            "",
        ]

    def _trend(self) -> str:
        """Position errors of the last intervals as bars, × where one was rejected."""
        label = "error, oldest to newest "
        past = list(self._past)[-max(self._console.width - len(label) - 14, 10) :]
        top = max((one[0] for one in past if one[2]), default=0.0) or 1.0
        bars = "".join(LEVELS[min(int(8.0 * p / top), 7)] if accepted else "×" for p, _, accepted in past)
        return f"{label}{bars} █ {top:.2f} m"

    def _table(self, follower: LogFollower, update: Update, room: int) -> list[Any]:
        motion = follower.calibrator.motion
        names, prior = follower.calibrator.filter.names, {p.name: p.sigma for p in follower.calibrator.parameters}
        wide = self._console.width >= console.WIDE
        table = Table(box=None, pad_edge=False)
        for name in ("parameter", "value", "1σ", "of prior", "unit", *["meaning"] * wide):
            right = name in ("value", "1σ", "of prior")
            table.add_column(name, justify="right" if right else "left", no_wrap=True, overflow="ellipsis")
        fits = len(names) if len(names) <= room + 1 else max(room, 1)
        for name, value, sigma in list(zip(names, update.values, update.sigma, strict=True))[:fits]:
            shown = (name, *rounded(value, sigma), f"{100.0 * sigma / prior[name]:.0f} %", unit_of(motion, name))
            table.add_row(*shown, *[meaning(name)] * wide)
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
    """The two parameters with the strongest correlation in the filter's covariance."""
    P = filter.P
    if len(P) < 2:
        return "one systematic parameter, no correlation"
    size = np.sqrt(np.maximum(np.diag(P), 1e-300))
    correlation = np.tril(P / np.outer(size, size), -1)
    i, j = np.unravel_index(np.argmax(np.abs(correlation)), P.shape)
    first, second = filter.systematic[j].name, filter.systematic[i].name
    return f"strongest correlation: {first} and {second} {correlation[i, j]:+.2f}"
