"""Curves beside the picture: slip, force, energy and attitude over time, per wheel and for the whole vehicle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grouser.checks import FloatArray
from grouser.simulation import Run
from grouser.view import scene_arrays

LEAST = {"slip": 1e-3, "force": 1.0, "energy": 0.1, "attitude": 0.2}
"""What a plot spans at least, in its unit, so that curves that are constant but for rounding look constant."""


def scene_curves(run: Run, rows: NDArray[np.int64]) -> list[dict[str, Any]]:
    """Plots of a run at the chosen rows; a kinematic run has neither forces nor energy."""
    wheels = run.vehicle.wheels
    slip = run.contact.slip_speed
    plots = [_plot("slip", "Slip speed", "m/s", wheels, slip, "mean of the wheels", slip.mean(axis=1), rows)]
    if run.contact.force is not None:
        load = run.contact.force[..., 2]
        plots.append(_plot("force", "Normal force", "N", wheels, load, "sum of the wheels", load.sum(axis=1), rows))
    if run.solver is not None:
        names, energies = _energies(run)
        total = energies[:, 0] + energies[:, 1]
        plots.append(_plot("energy", "Energy", "J", names, energies, "kinetic and potential", total, rows))
    angles = np.degrees(run.rpy)
    level = np.degrees(np.arccos(np.clip(np.cos(run.roll) * np.cos(run.pitch), -1.0, 1.0)))
    plots.append(_plot("attitude", "Attitude", "°", ("roll", "pitch"), angles[:, :2], "tilt", level, rows))
    return plots


def _energies(run: Run) -> tuple[Sequence[str], FloatArray]:
    """Kinetic, potential since the start, and the work of motors and ground so far [J], shape (T, 2 to 4)."""
    assert run.solver is not None
    names = ["kinetic", "potential"]
    curves = [run.solver.kinetic, run.solver.potential - run.solver.potential[0]]
    seconds = np.diff(run.time)
    for name, power in (("motors", run.power), ("ground", run.contact.power)):
        if power is not None:
            # A recorded power is the mean of the step that begins there.
            names.append(name)
            curves.append(np.concatenate([[0.0], np.cumsum(power[:-1].sum(axis=1) * seconds)]))
    return names, np.column_stack(curves)


def _plot(
    key: str,
    title: str,
    unit: str,
    names: Sequence[str],
    curves: FloatArray,
    whole_name: str,
    whole: FloatArray,
    rows: NDArray[np.int64],
) -> dict[str, Any]:
    return {
        "key": key,
        "title": title,
        "unit": unit,
        "least": LEAST[key],
        "names": list(names),
        "curves": scene_arrays.single(curves[rows].T),
        "wholeName": whole_name,
        "whole": scene_arrays.single(whole[rows]),
    }
