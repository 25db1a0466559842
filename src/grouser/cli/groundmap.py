"""`grouser groundmap`: slip and friction by place, from driving logs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import grouser as gr
from grouser.cli import console, values
from grouser.cli.values import option, positive
from grouser.files import check_target

EXAMPLES = (
    "drive.csv --manifest log.toml --fit fit.toml",
    "a.csv b.csv --manifest log.toml --fit fit.toml --out map.npz --plot map.png",
    "drive.csv --manifest log.toml --fit fit.toml --predict another.csv --json",
)


def groundmap(
    logs: Annotated[list[Path], typer.Argument(metavar="LOG...", help="Driving logs with poses in one frame.")],
    manifest: values.Manifest,
    fit: Annotated[Path, option("File of `grouser calibrate --share` (.toml).")],
    parameters: Annotated[str | None, option("Ground parameters, with commas; default: all.")] = None,
    cell: Annotated[float | None, option("Side of a cell, m; default: at most 2.", check=positive)] = None,
    length: Annotated[
        float | None, option("Correlation length, m; most likely one unless given.", check=positive)
    ] = None,
    interval: values.Interval = None,
    predict: Annotated[Path | None, option("Another log: its errors with the map and without.")] = None,
    out: Annotated[Path | None, values.npz_file("File for the map (.npz).")] = None,
    plot: Annotated[Path | None, values.picture("Means and sigmas, into a .png, .svg or .pdf file.")] = None,
    terrain: values.OtherGround = None,
    as_json: console.Json = False,
) -> None:
    """Map slip and friction by place from driving logs.

    Each interval of the logs constrains the parameters of the ground along its path. Away from the path their standard
    deviation grows to the spread between grounds. Poses of all logs must be in one frame.
    """
    each, _ = values.prediction(interval, None)
    if each is None:
        raise gr.GrouserError("--interval: a map needs intervals shorter than whole runs; give seconds")
    if out is not None:
        check_target(out, gr.GrouserError)
    found = gr.Fit.load(fit, ground=values.ground(terrain))
    names = [name.strip() for name in (parameters or "").split(",") if name.strip()]
    read = [console.read_log([path], manifest) for path in logs]
    options: dict[str, Any] = {"parameters": names, "cell": cell, "length": length, "interval": each}
    with console.progress("mapping the ground") as report:
        made = gr.calibration.map_ground(found, read, progress=report, **options)
    if out is not None:
        made.map.save(out)
    if plot is not None:
        made.map.plot(plot)
    result = {**_summary(made), "fit": fit, "map": out, "plot": plot, "prediction": None}
    if predict is not None:
        other = console.read_log([predict], manifest)
        with_map, without = gr.calibration.errors_by_map(made.map, found, other, interval=each)
        result["prediction"] = {
            "log": other.name, "with_map": with_map.summary(), "without_map": without.summary(),
        }  # fmt: skip
    console.emit(result, as_json, _print, (out, plot))


def _summary(made: gr.calibration.Mapping) -> dict[str, Any]:
    """Plain numbers."""
    one, by_name = made.map, {}
    known = _known(one)
    for k, name in enumerate(one.names):
        mean, sigma = one.mean[..., k][known], one.sigma[..., k][known]
        by_name[name] = {
            "least": float(mean.min()), "most": float(mean.max()), "sigma_least": float(sigma.min()),
            "sigma_most": float(one.sigma[..., k].max()), "any_ground": float(one.outside_mean[k]),
            "any_ground_sigma": float(np.sqrt(one.outside_covariance[k, k])), "scale": float(made.scale[k]),
        }  # fmt: skip
    return {
        "extent": list(one.extent), "cells": list(one.mean.shape[:2]), "cell": one.cell, "length": one.length,
        "driven_cells": int(np.count_nonzero(known)), "parameters": by_name,
        "intervals": made.intervals, "rejected": made.rejected, "every": made.thinned,
        "log_likelihood": made.log_likelihood, "log_likelihood_without": made.without,
    }  # fmt: skip


def _known(one: gr.terrain.GroundMap) -> np.ndarray:
    """Cells that were driven over, (nx, ny) bool."""
    cells = np.array(one.mean.shape[:2])
    at = np.clip(((one.path - one.origin) / one.cell).astype(np.int64), 0, cells - 1)
    known = np.zeros(tuple(cells), dtype=bool)
    known[at[:, 0], at[:, 1]] = True
    return known


def _print(one: dict[str, Any]) -> None:
    x0, x1, y0, y1 = one["extent"]
    nx, ny = one["cells"]
    typer.echo(
        f"x from {x0:.1f} to {x1:.1f} m, y from {y0:.1f} to {y1:.1f} m: {nx} × {ny} cells of {one['cell']:.2g} m"
    )
    used = f"{one['intervals']} intervals, {one['rejected']} rejected; {one['driven_cells']} cells driven over"
    typer.echo(used if one["every"] == 1 else f"{used}; every {one['every']}th interval is used")
    typer.echo(f"correlation length {one['length']:g} m")
    rows = [
        (name, f"{v['least']:.3f}", f"{v['most']:.3f}", f"{v['sigma_least']:.3f}", f"{v['sigma_most']:.3f}",
         f"{v['any_ground']:.3f} ± {v['any_ground_sigma']:.3f}")
        for name, v in one["parameters"].items()
    ]  # fmt: skip
    columns = ("parameter", "least driven", "most driven", "least sigma", "largest sigma", "any ground")
    console.print_table("", columns, rows, right=range(1, 6))
    if one["prediction"] is not None:
        typer.echo(f"\n{one['prediction']['log']}:")
        for name in ("without_map", "with_map"):
            e = one["prediction"][name]
            errors = f"{e['position_rms']:.3f} m, {e['yaw_rms_deg']:.2f}° rms, NEES {e['nees']:.2f}"
            typer.echo(f"  {name.replace('_', ' '):<12} {errors}, 95 % ellipses hold {100 * e['inside_95']:.0f} %")
