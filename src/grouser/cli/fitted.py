"""`--fit`, `--samples`: commands that drive a calibrated model, with samples of its uncertainty."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import grouser as gr
from grouser.cli import console, values
from grouser.cli.values import option
from grouser.errors import GrouserError, SimulationError

if TYPE_CHECKING:
    from grouser.checks import FloatArray

MOST_COMMANDS = 50_000_000
"""Numbers that the commands of arcs may be (400 MB)."""
ARCS_AT_ONCE = 64
"""Arcs whose commands are recorded together."""

of_fit = partial(option, panel="Calibrated model")
FitFile = Annotated[Path | None, of_fit("Fit of grouser calibrate (.toml): drive its model, with samples.")]
Samples = Annotated[int | None, of_fit("Drives with drawn parameters and noise; needs --fit.")]


def load_fit(path: Path, rover: gr.Vehicle, ground: gr.terrain.Terrain) -> gr.Fit:
    """The fit of --fit, which must be of the vehicle that is to drive."""
    fit = gr.Fit.load_for(path, ground)
    if fit.model.vehicle.name != rover.name:
        raise GrouserError(f"--fit: {path} is of '{fit.model.vehicle.name}', not of '{rover.name}'; name that vehicle")
    return fit


def remark_other_vehicle(fit: gr.Fit, log: gr.Log) -> None:
    """A remark where the fit is of another vehicle than the manifest names: the fit's is used."""
    named, used = log.vehicle, fit.model.vehicle.name
    with suppress(GrouserError):  # of a vehicle that only its fit holds
        named = named and gr.vehicle(named).name
    if named not in (None, used):
        console.remark(f"grouser: the fit is of vehicle '{used}', which is used; the manifest names '{named}'")


def check_samples(samples: int | None, fit: Path | None) -> None:
    """Samples are of a fit, 0 or more of them."""
    if samples is not None and fit is None:
        raise GrouserError("--samples: a model alone is certain; add --fit FILE")
    if samples is not None:
        values.whole(samples, 0, 1_000_000, "--samples")


def roll_out_arcs(
    fit: gr.Fit, arcs: Any, ground: gr.terrain.Terrain, *, every: int, **options: Any
) -> tuple[dict[str, Any], gr.Rollouts]:
    """Samples of random arcs by a fit: numbers for JSON, and the rollouts. options: as of `grouser.rollout`."""
    import numpy as np  # not for --help

    from grouser.cli.arcs import summary_of

    many = gr.rollout(fit, ground, arc_commands(arcs), dt=arcs.dt, every=every or None, **options)
    assert many.outcome is not None
    position, spread = many.final_position, many.final_covariance
    known = np.isfinite(spread).all(axis=(1, 2))
    mean = np.sqrt(np.diagonal(spread[known], axis1=1, axis2=2).mean(axis=0)).tolist() if known.any() else None
    direction = np.clip(np.abs(np.exp(1j * many.final_yaw).mean()), 1e-12, 1.0)
    return {
        "status": many.counts(),
        "final_position_mean": position.mean(axis=0).tolist(),
        "final_position_std": position.std(axis=0).tolist(),
        "final_yaw_std": float(np.sqrt(-2.0 * np.log(direction))),
        "samples": many.samples,
        **summary_of(many.outcome),
        "mean_sigma": None if mean is None else mean[:3],
        "mean_yaw_sigma_deg": None if mean is None else float(np.degrees(mean[3])),
        "underdetermined_steps": int(many.deficient.sum()),
        "steps": int(many.steps.sum()),
    }, many


def arc_commands(arcs: Any) -> FloatArray:
    """Commands of random arcs, (N, T, na) [rad/s or m/s], as the vehicle gets them on level ground."""
    vehicle, n = arcs.model.vehicle, len(arcs.speed)
    if n * arcs.steps * len(vehicle.actuated) > MOST_COMMANDS:
        raise SimulationError(
            f"--rollouts: commands of {n} arcs of {arcs.steps} steps do not fit in memory; take fewer"
        )
    found: FloatArray = arcs.commands(ARCS_AT_ONCE)
    return found
