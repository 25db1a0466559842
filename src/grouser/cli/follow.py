"""`grouser calibrate --follow`: calibration of a log while it is being written, and what it shows meanwhile."""

from __future__ import annotations

import math
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from grouser.cli import console
from grouser.cli.motions import Wanted
from grouser.errors import GrouserError

if TYPE_CHECKING:
    from grouser.calibration.follow import LogFollower
    from grouser.calibration.online import Update

RECENT = 20
"""Intervals of the running error."""
BREATH = 0.1
"""Shortest time between two pictures [s]: intervals of a long file come faster."""
LEVELS = "▁▂▃▄▅▆▇█"


def follow(
    logs: Sequence[Path],
    manifest: Path,
    given: Wanted,
    cut: dict[str, Any],
    *,
    checkpoint: Path | None,
    out: Path | None,
    poll: float,
    idle_exit: float | None,
    as_json: bool,
    refused: dict[str, Any],
) -> None:
    """Follow one log until it stops growing, or Ctrl-C; `cut` holds intervals and gates."""
    for option, value in refused.items():
        if value is not None:
            raise GrouserError(f"{option}: is not for --follow; leave it out")
    if len(logs) != 1:
        raise GrouserError(f"--follow: one log is followed at a time, not {len(logs)}")
    if logs[0].suffix.lower() in (".bag", ".db3", ".mcap") or logs[0].is_dir():
        raise GrouserError(
            f"--follow: {logs[0]} is a bag, and only a CSV can be followed while it grows; once the bag is closed,"
            " calibrate it without --follow"
        )

    from grouser.calibration.checkpoint import load_checkpoint, save_checkpoint
    from grouser.calibration.follow import LogFollower
    from grouser.calibration.stream import StreamingCalibrator
    from grouser.logs.log import Sensor
    from grouser.logs.manifest import load_manifest

    read = load_manifest(manifest)
    wanted = given.candidates()[0]
    motion = wanted.motion(read.vehicle, Sensor(**read.sensor.model_dump()))
    calibrator = StreamingCalibrator(motion, wanted.chosen(motion), **cut)
    follower = LogFollower(logs[0], read, calibrator)
    resumed = 0
    if checkpoint is not None and checkpoint.exists():
        load_checkpoint(follower, checkpoint)
        resumed = calibrator.filter.updates
        console.remark(f"{checkpoint}: continues after {resumed} intervals")
    end = follower
    stopped = False
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
        except KeyboardInterrupt:
            stopped = True
    if stopped:
        console.remark(_stopped(follower, checkpoint))
    _report(end, resumed, checkpoint, out, as_json)


def _stopped(follower: LogFollower, checkpoint: Path | None) -> str:
    """Where it stopped, and how to continue."""
    said = f"stopped after {follower.calibrator.filter.updates} intervals of {follower.name}"
    if checkpoint is None:
        return f"{said}; without --checkpoint the next run starts over"
    if not checkpoint.exists():
        return f"{said}; {checkpoint} is not written yet"
    return f"{said}; the state is in {checkpoint}; the same command continues from there"


def _report(end: LogFollower, resumed: int, checkpoint: Path | None, out: Path | None, as_json: bool) -> None:
    fit = end.calibrator.fit(end.name)
    if fit.training.intervals == 0:
        raise GrouserError(
            f"{end.name}: no interval has been completed; `grouser check` shows what is in it"
            + "".join(f"; {count} rows: {reason}" for reason, count in end.rejected.items())
        )
    if out is not None:
        fit.save(out)
    result = {
        **fit.summary(),
        "counts": end.calibrator.counts,
        "rejected": end.rejected,
        "resumed_after": resumed,
        "checkpoint": console.path_of(checkpoint),
        "fit": console.path_of(out),
    }

    def show(_: dict[str, Any]) -> None:
        from grouser.cli.calibrate import print_parameters

        t = fit.training
        print_parameters(fit, f"{fit.model.vehicle.name}: {t.intervals} intervals, {t.rejected} rejected")
        typer.echo(f"errors of predictions before each update: {t.position_rms:.3f} m rms")
        for reason, count in end.rejected.items():
            typer.echo(f"{count} rows: {reason}")
        if out is not None:
            typer.echo(f"wrote {out}")

    console.emit(result, as_json, show)


@contextmanager
def shown(name: str) -> Iterator[Lines | Screen]:
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
    """Errors of the prediction just made: position [m], yaw [deg]."""
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
        """The file has not grown for some seconds."""
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
        """Rows read, errors of predictions, and the strongest correlation."""
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

        from grouser.motion.parameter_table import meaning
        from grouser.motion.parameters import unit_of

        motion = follower.calibrator.motion
        names, prior = follower.calibrator.filter.names, {p.name: p.sigma for p in follower.calibrator.parameters}
        wide = self._console.width >= console.WIDE
        table = Table(box=None, pad_edge=False)
        columns = ("parameter", "value", "1σ", "of prior", "unit", *(("meaning",) if wide else ()))
        for name in columns:
            right = name in ("value", "1σ", "of prior")
            table.add_column(name, justify="right" if right else "left", no_wrap=True, overflow="ellipsis")
        fits = len(names) if len(names) <= room + 1 else max(room, 1)
        for name, value, sigma in list(zip(names, update.values, update.sigma, strict=True))[:fits]:
            shown = (name, *rounded(value, sigma), f"{100.0 * sigma / prior[name]:.0f} %", unit_of(motion, name))
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
    """The two parameters with the strongest correlation in the filter's covariance."""
    P = filter.P
    n = len(P)
    if n < 2:
        return "one systematic parameter, no correlation"
    size = [math.sqrt(max(P[i, i], 1e-300)) for i in range(n)]
    pairs = ((P[i, j] / (size[i] * size[j]), i, j) for i in range(n) for j in range(i))
    worst, i, j = max(pairs, key=lambda one: abs(one[0]))
    return f"strongest correlation: {filter.systematic[j].name} and {filter.systematic[i].name} {worst:+.2f}"
