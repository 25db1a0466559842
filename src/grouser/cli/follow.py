"""`grouser calibrate --follow`: calibration of a log while it is being written."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
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

Show = Callable[["LogFollower", "Update"], None]


def run(
    logs: Sequence[Path],
    manifest: Path,
    given: Wanted,
    *,
    interval: float,
    distance: float | None,
    stride: float | None,
    gate: float,
    noise_gate: float,
    checkpoint: Path | None,
    out: Path | None,
    poll: float,
    idle_exit: float | None,
    as_json: bool,
    refused: dict[str, Any],
) -> None:
    """Follow one log until it stops growing, or Ctrl-C."""
    for option, value in refused.items():
        if value is not None:
            raise GrouserError(f"{option}: is not for --follow; leave it out")
    if len(logs) != 1:
        raise GrouserError(f"--follow: one log is followed at a time, not {len(logs)}")
    if logs[0].suffix.lower() in (".bag", ".db3", ".mcap") or logs[0].is_dir():
        raise GrouserError(f"--follow: {logs[0]} is not a CSV; only a CSV can be followed while it grows")

    from grouser.calibration.checkpoint import load_checkpoint, save_checkpoint
    from grouser.calibration.follow import LogFollower
    from grouser.calibration.stream import StreamingCalibrator
    from grouser.logs.log import Sensor
    from grouser.logs.manifest import load_manifest

    read = load_manifest(manifest)
    motion = given.motion(read.vehicle, Sensor(**read.sensor.model_dump()))
    calibrator = StreamingCalibrator(
        motion, given.chosen(motion), interval=interval, distance=distance, stride=stride,
        gate=gate, noise_gate=noise_gate,
    )  # fmt: skip
    follower = LogFollower(logs[0], read, calibrator)
    resumed = 0
    if checkpoint is not None and checkpoint.exists():
        load_checkpoint(follower, checkpoint)
        resumed = calibrator.filter.updates
        console.remark(f"{checkpoint}: going on after {resumed} intervals")
    end = follower
    with _shown() as show:
        try:
            grown = time.monotonic()
            size = -1
            while True:
                for update in follower.advance():
                    if checkpoint is not None:
                        save_checkpoint(follower, checkpoint)
                    if out is not None:
                        calibrator.fit(follower.name).save(out)
                    show(follower, update)
                now = follower.path.stat().st_size
                if now != size:
                    size, grown = now, time.monotonic()
                elif idle_exit is not None and time.monotonic() - grown >= idle_exit:
                    break
                time.sleep(poll if idle_exit is None else min(poll, max(idle_exit, 0.01)))
            end, learnt = follower.finish()
            for update in learnt:
                show(end, update)
        except KeyboardInterrupt:
            console.remark("stopped")
    _report(end, resumed, checkpoint, out, as_json)


def _report(end: LogFollower, resumed: int, checkpoint: Path | None, out: Path | None, as_json: bool) -> None:
    fit = end.calibrator.fit(end.name)
    if fit.training.intervals == 0:
        raise GrouserError(
            f"{end.name}: no interval has been completed; `grouser check` shows what is in it"
            + "".join(f"; {count} rows: {reason}" for reason, count in end.rejected.items())
        )
    if out is not None:
        fit.save(out)
    if as_json:
        console.print_json(
            {
                **fit.summary(),
                "counts": end.calibrator.counts,
                "rejected": end.rejected,
                "resumed_after": resumed,
                "checkpoint": None if checkpoint is None else str(checkpoint),
                "fit": None if out is None else str(out),
            }
        )
        return
    from grouser.cli.calibrate import print_parameters

    t = fit.training
    print_parameters(fit, f"{fit.model.vehicle.name}: {t.intervals} intervals, {t.rejected} rejected")
    typer.echo(f"predictions made before learning from them: {t.position_rms:.3f} m rms")
    for reason, count in end.rejected.items():
        typer.echo(f"{count} rows: {reason}")
    if out is not None:
        typer.echo(f"wrote {out}")


@contextmanager
def _shown() -> Iterator[Show]:
    """A table that changes on a terminal, else one line an interval; both on stderr."""
    if not sys.stderr.isatty():
        yield _line
        return
    from rich.console import Console
    from rich.live import Live

    with Live(console=Console(stderr=True), auto_refresh=False) as live:
        yield lambda follower, update: live.update(_table(follower, update), refresh=True)


def _errors(follower: LogFollower, update: Update) -> tuple[float, float]:
    """Of the prediction just made: position [m], yaw [deg]."""
    import math

    error = dict(zip(follower.calibrator.residual, update.residual.tolist(), strict=True))
    return math.hypot(error.get("x", 0.0), error.get("y", 0.0)), math.degrees(abs(error.get("yaw", 0.0)))


def _line(follower: LogFollower, update: Update) -> None:
    f = follower.calibrator.filter
    position, yaw = _errors(follower, update)
    found = " ".join(f"{n}={v:.4g}±{s:.2g}" for n, v, s in zip(f.names, update.values, update.sigma, strict=True))
    said = "" if update.accepted else ", rejected"
    console.remark(f"t={update.time:.2f} s: off by {position:.3f} m, {yaw:.2f}°{said}; {found}")


def _table(follower: LogFollower, update: Update) -> Any:
    from rich.table import Table

    from grouser.calibration.meaning import meaning, unit_of

    f = follower.calibrator.filter
    position, yaw = _errors(follower, update)
    title = (
        f"{follower.name}, t = {update.time:.1f} s: {f.updates} intervals, {f.rejected} rejected;"
        f" the last prediction was off by {position:.3f} m, {yaw:.2f}°"
    )
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for name in ("parameter", "value", "1σ", "unit", "meaning"):
        table.add_column(name, justify="right" if name in ("value", "1σ") else "left")
    for name, value, sigma in zip(f.names, update.values, update.sigma, strict=True):
        table.add_row(name, f"{value:.5g}", f"{sigma:.2g}", unit_of(name), meaning(name))
    return table
