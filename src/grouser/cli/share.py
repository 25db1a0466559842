"""`grouser calibrate --share`: several logs, the parameters of the vehicle and those of each ground."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import typer

import grouser as gr
from grouser.cli import console
from grouser.cli.calibrate import print_parameters
from grouser.cli.wanted import Wanted
from grouser.errors import GrouserError

ONLINE = ("gate",)
"""Options of a filter that a shared fit has not."""


def share(
    logs: list[Path], manifest: Path, given: Wanted, options: dict[str, Any], *, out: Path | None, as_json: bool
) -> None:
    """Fit every candidate to all logs together; keep that which predicts logs left out best."""
    read = [console.read_log([path], manifest) for path in logs]
    options = {name: value for name, value in options.items() if name not in ONLINE}
    tried = {}
    if given.model == "corrected":
        raise GrouserError("--model: a correction is learned from one ground; --share fits any other model")
    for one in given.candidates(read[0]):
        if one.learns:
            continue
        with console.progress(f"calibrating {len(read)} logs together, {one.name} model") as report:
            tried[one.name] = gr.calibration.calibrate_together(
                one.motion, read, one.parameters, progress=report, **options
            )
    if not tried:
        raise GrouserError(f"--model: {given.model} cannot be fitted to several logs together; use perturbative")
    model = max(tried, key=lambda name: tried[name].log_likelihood)
    found = tried[model]
    if out is not None:
        found.fit.save(out)
    summary = found.summary()
    for p in found.fit.parameters:
        summary["parameters"][p.name] |= {"prior": p.value, "prior_sigma": p.sigma}
    judged = {name: {"log_likelihood": one.log_likelihood} for name, one in tried.items()}
    result = {
        "model": model, "tried": judged, **summary, "vehicle": found.fit.model.vehicle.name, "fit": out, "plot": None,
    }  # fmt: skip
    console.emit(result, as_json, lambda _: _print(found, model, judged), (out,))
    if not as_json:
        then = "--out fit.toml to keep it" if out is None else f"evaluate ANOTHER_LOG --manifest {manifest} --fit {out}"
        typer.echo(f"next: {'add ' if out is None else 'grouser '}{then}")


def _print(found: gr.calibration.SharedFit, model: str, tried: dict[str, dict[str, float]]) -> None:
    fit = found.fit
    title = f"{fit.model.vehicle.name}, {model} model: {len(found.grounds)} grounds, {fit.training.intervals} intervals"
    print_parameters(fit, f"{title}; of the grounds the mean")
    typer.echo("")
    columns = ("of each ground", *(f"{k + 1}" for k in range(len(found.grounds))), "spread, 1σ")
    rows = [
        (name, *(f"{g.values[name]:.3f} ± {g.sigma[name]:.3f}" for g in found.grounds), f"{found.spread[name]:.3f}")
        for name in found.own
    ]
    console.print_table("", columns, rows, right=range(1, len(columns)))
    typer.echo("\nerrors on each ground, predicted from the other grounds with the spread between them:")
    for k, (g, errors) in enumerate(zip(found.grounds, found.left_out, strict=True)):
        one = errors.summary()
        each = f"{g.intervals} intervals, {one['position_rms']:.3f} m, {one['yaw_rms_deg']:.2f}° rms"
        own = f"with its own values {g.position_rms:.3f} m, {np.degrees(g.yaw_rms):.2f}°"
        typer.echo(f"  {k + 1}  {g.name}: {each}, 95 % ellipses hold {100 * one['inside_95']:.0f} %; {own}")
    if len(tried) > 1:
        others = ", ".join(f"{name} {one['log_likelihood']:.3f}" for name, one in tried.items())
        typer.echo(f"kept: highest likelihood of grounds left out ({others})")
    if not found.converged:
        typer.echo("the fit has not converged; leave out parameters that the logs do not determine")
