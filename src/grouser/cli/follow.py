"""`grouser calibrate --follow`: calibration of a log while it is being written."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from grouser.cli import console
from grouser.cli.live import shown
from grouser.cli.motions import Wanted
from grouser.errors import GrouserError

if TYPE_CHECKING:
    from grouser.calibration.follow import LogFollower


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
    """Where it stopped, and how to go on."""
    said = f"stopped after {follower.calibrator.filter.updates} intervals of {follower.name}"
    if checkpoint is None:
        return f"{said}; without --checkpoint it would begin anew"
    if not checkpoint.exists():
        return f"{said}; nothing to keep in {checkpoint} yet"
    return f"{said}; the state is kept in {checkpoint}, and the same command goes on from there"


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
