"""Picture of what only the dynamic model knows: loads, slip forces, power and energy over time."""

from __future__ import annotations

import os

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from grouser.errors import GrouserError
from grouser.simulation import Run
from grouser.view import style


def plot_forces(run: Run, path: str | os.PathLike[str] | None = None) -> Figure:
    """Normal and tangential forces on the wheels, power of actuators and ground, energy; saved if a path is given."""
    force, solver, power = run.contact.force, run.solver, run.power
    if force is None or solver is None or power is None or len(run.time) == 0:
        raise GrouserError(f"the run of '{run.vehicle.name}' has no forces to draw: use a dynamic model")
    with style.picture(path, 12.0, 6.6) as figure:
        (normal, along), (powers, energy) = figure.subplots(2, 2, sharex=True)
        for w, name in enumerate(run.vehicle.wheels):
            colour = style.PALETTE[w % len(style.PALETTE)]
            normal.plot(run.time, force[:, w, 2], color=colour, lw=1.1, label=style.plain(name))
            along.plot(run.time, np.hypot(force[:, w, 0], force[:, w, 1]), color=colour, lw=1.1)
        powers.plot(run.time, power.sum(axis=1), color=style.BLUE, label="of the actuators")
        if run.contact.power is not None:
            powers.plot(
                run.time, run.contact.power.sum(axis=1), color=style.VERMILLION, label="of the ground on wheels"
            )
        energy.plot(run.time, solver.kinetic, color=style.BLUE, label="kinetic")
        raised = solver.potential - solver.potential[0]
        energy.plot(run.time, raised, color=style.ORANGE, ls="--", label="potential, since the start")
        style.label(normal, y="normal force [N]", title="Load of the wheels")
        style.label(along, y="force in the ground plane [N]", title="Grip used")
        style.label(powers, x="time [s]", y="power [W]", title="Power")
        style.label(energy, x="time [s]", y="energy [J]", title="Energy")
        for axes in (powers, energy):
            axes.legend()
        _wheel_legend(figure, normal)
    return figure


def _wheel_legend(figure: Figure, axes: Axes) -> None:
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(len(labels), 8))
