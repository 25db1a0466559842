"""Pictures of one run, of runs side by side, and of a fan of rollouts."""

from __future__ import annotations

import math
import os
import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec
from matplotlib.lines import Line2D

from grouser.checks import FloatArray
from grouser.errors import GrouserError
from grouser.simulation import Rollouts, Run, Status
from grouser.terrain import Terrain
from grouser.view import arrays, colours, style, topview
from grouser.view.account import Account
from grouser.view.scene_ground import Box, surroundings

Path = str | os.PathLike[str]

DASHES = (0, (5, 4))
LEAST_SLIP = 0.1
"""Smallest range of slip speed [cm/s], angle [°] and height error [mm] in a picture: rounding errors stay flat."""
LEAST_ANGLE = 0.2
LEAST_HEIGHT = 0.2
MOST_PATHS = 2000
"""Paths of a fan that are drawn; of more, evenly chosen ones."""


def plot_run(run: Run, path: Path | None = None, *, commanded: Run | None = None) -> Figure:
    """One run: top view with ground and contact tracks; slip, attitude and height errors over time.

    `commanded` is the same command on flat ground, drawn dashed. Saved if a path is given (.png, .svg or .pdf).
    """
    _has_states(run)
    box = surroundings(_drawn(run, commanded))
    wide = box[1] - box[0] > 1.4 * (box[3] - box[2])
    # A wide top view takes the height that its shape needs at this width, and the curves stand below it.
    top = min(12.0 * (box[3] - box[2]) / (box[1] - box[0]) + 0.6, 7.0)
    with style.picture(path, 13.0, top + 3.4 if wide else 7.6) as figure:
        if wide:
            grid = GridSpec(2, 3, figure=figure, height_ratios=[top, 2.9])
            places = [grid[0, :], grid[1, 0], grid[1, 1], grid[1, 2]]
        else:
            grid = GridSpec(3, 2, figure=figure, width_ratios=[1.25, 1.0])
            places = [grid[:, 0], grid[0, 1], grid[1, 1], grid[2, 1]]
        above, slip, attitude, height = (figure.add_subplot(place) for place in places)
        _draw_run(above, run, commanded, box)
        _draw_slip(slip, run)
        _draw_attitude(attitude, run)
        _draw_height_error(height, run)
    return figure


def plot_runs(
    runs: Sequence[Run],
    path: Path | None = None,
    *,
    commanded: Sequence[Run | None] | None = None,
    accounts: Sequence[Account | None] | None = None,
) -> Figure:
    """Runs one above another: contact tracks coloured by slip speed, the commanded path dashed, the deviation in words.

    `commanded` holds the same commands on flat ground, `accounts` the deviations (see `view.account`).
    """
    if not runs:
        raise GrouserError("there are no runs to draw; give at least one")
    for run in runs:
        _has_states(run)
    wanted: Sequence[Run | None] = [None] * len(runs) if commanded is None else commanded
    told: Sequence[Account | None] = [None] * len(runs) if accounts is None else accounts
    boxes = [surroundings(_drawn(r, c), margin=0.045) for r, c in zip(runs, wanted, strict=True)]
    width = 12.5
    rooms = [0.75 if t is None else 1.3 for t in told]
    heights = [(width - 1.8) * (b[3] - b[2]) / (b[1] - b[0]) + room for b, room in zip(boxes, rooms, strict=True)]
    with style.picture(path, width, min(sum(heights) + 0.4, 40.0), dpi=110) as figure:
        grid = GridSpec(len(runs), 1, figure=figure, height_ratios=heights)
        for i, (run, goal, tale, box) in enumerate(zip(runs, wanted, told, boxes, strict=True)):
            _draw_slipping(figure.add_subplot(grid[i]), run, goal, tale, box)
        figure.legend(handles=_slipping_legend(any(wanted)), loc="outside lower center", ncols=4, handlelength=2.6)
    return figure


def plot_rollouts(rollouts: Rollouts, ground: Terrain | None = None, path: Path | None = None) -> Figure:
    """A fan of rollouts seen from above, coloured by how each ended; needs recorded states (`every=…`)."""
    if rollouts.state.shape[1] < 2:
        raise GrouserError("these rollouts kept only their last states; roll out with every=… to draw their paths")
    n = len(rollouts.status)
    chosen = arrays.evenly(n, MOST_PATHS)
    xy = rollouts.state[chosen, :, 4:6]
    box = surroundings([xy])
    tall = (box[3] - box[2]) / (box[1] - box[0])
    with style.picture(path, 1.6 + 8.0 / max(tall, 1.0), 0.9 + 8.0 * min(max(tall, 0.3), 1.0)) as figure:
        axes = figure.add_subplot()
        image = topview.draw_ground(axes, ground, box)
        counts = rollouts.counts()
        handles = []
        faint = min(0.8, max(0.12, 60.0 / len(chosen)))
        for status, colour in colours.STATUS.items():
            mine = rollouts.status[chosen] == str(status)
            if not mine.any():
                continue
            alpha = faint if status is Status.OK else max(faint, 0.5)
            for line in xy[mine]:
                axes.plot(line[:, 0], line[:, 1], color=colour, lw=0.9, alpha=alpha, zorder=3)
            axes.scatter(xy[mine, -1, 0], xy[mine, -1, 1], s=7, color=colour, alpha=min(1.0, 2 * alpha), lw=0, zorder=4)
            words = str(status).replace("_", " ")
            handles.append(Line2D([], [], color=colour, lw=2, label=f"{words} ({counts[str(status)]})"))
        axes.plot(*xy[0, 0], marker="o", ms=7, mfc="white", mec=style.INK, zorder=6)
        axes.legend(handles=handles, loc="upper left", frameon=True, framealpha=0.85, edgecolor="none")
        shown = "" if len(chosen) == n else f", {len(chosen)} of them drawn"
        style.label(axes, x="x [m]", y="y [m]", title=f"{n} rollouts of {rollouts.time[-1]:g} s{shown}")
        _height_bar(axes, image)
    return figure


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
        style.label(along, y="force in the ground plane [N]", title="Tangential force")
        style.label(powers, x="time [s]", y="power [W]", title="Power")
        style.label(energy, x="time [s]", y="energy [J]", title="Energy")
        for axes in (powers, energy):
            axes.legend()
        _wheel_legend(figure, normal)
    return figure


def _wheel_legend(figure: Figure, axes: Axes) -> None:
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(len(labels), 8))


def _draw_run(axes: Axes, run: Run, commanded: Run | None, box: Box) -> None:
    image = topview.draw_ground(axes, run.ground, box)
    topview.draw_ruts(axes, run.ruts)
    for w, name in enumerate(run.vehicle.wheels):
        topview.draw_path(
            axes, run.contact.point[:, w], color=_wheel_colour(w), lw=1.1, label=style.plain(name), zorder=3
        )
    if commanded is not None:
        topview.draw_path(
            axes, commanded.position, color=style.INK, ls=DASHES, lw=1.2, label="commanded, flat ground", zorder=4
        )
    topview.draw_path(axes, run.position, color=style.BLACK, lw=2.0, label="body", zorder=4.5)
    topview.draw_vehicle(axes, run, 0, colour=style.FAINT)
    topview.draw_vehicle(axes, run, -1)
    ended = "" if run.status is Status.OK else f" · {str(run.status).replace('_', ' ')}: {run.status.meaning}"
    style.label(
        axes,
        x="x [m]",
        y="y [m]",
        title=f"{run.vehicle.name} · {run.steps * run.dt:g} s · {run.distance:.2f} m driven{ended}",
    )
    # Below the axis label, whose distance is in points whatever the shape of the view.
    axes.legend(
        loc="upper center", bbox_to_anchor=(0.5, 0.0), borderaxespad=4.0, ncols=9, columnspacing=1.2, handlelength=1.6
    )
    _height_bar(axes, image)


def _draw_slip(axes: Axes, run: Run) -> None:
    for w, name in enumerate(run.vehicle.wheels):
        axes.plot(
            run.time, 100.0 * run.contact.slip_speed[:, w], color=_wheel_colour(w), lw=1.1, label=style.plain(name)
        )
    _time_axis(axes, run)
    axes.set_ylim(0.0, max(axes.get_ylim()[1], LEAST_SLIP))
    style.label(axes, x="time [s]", y="slip speed [cm/s]", title="Slip at the wheels")


def _draw_attitude(axes: Axes, run: Run) -> None:
    angles = np.degrees(run.rpy)
    for i, (name, colour) in enumerate((("roll", style.BLUE), ("pitch", style.ORANGE), ("yaw", style.BLACK))):
        axes.plot(run.time, angles[:, i], color=colour, label=name)
    _time_axis(axes, run)
    _span_at_least(axes, LEAST_ANGLE)
    axes.legend(ncols=3, loc="best", handlelength=1.2, columnspacing=1.0)
    style.label(axes, x="time [s]", y="angle [°]", title="Attitude")


def _draw_height_error(axes: Axes, run: Run) -> None:
    for w in range(run.vehicle.n_wheels):
        axes.plot(run.time, 1000.0 * run.contact.height_error[:, w], color=_wheel_colour(w), lw=1.1)
    _time_axis(axes, run)
    _span_at_least(axes, LEAST_HEIGHT)
    style.label(axes, x="time [s]", y="Δz [mm]", title="Height error (below 0 is in the ground)")


def _draw_slipping(axes: Axes, run: Run, commanded: Run | None, tale: Account | None, box: Box) -> None:
    image = topview.draw_ground(axes, run.ground, box)
    slip = run.contact.slip_speed
    norm = Normalize(0.0, max(float(np.quantile(slip, 0.98)), 1e-3))
    for w in range(run.vehicle.n_wheels):
        topview.draw_slip_track(axes, run.contact.point[:, w], slip[:, w], norm)
    if commanded is not None:
        topview.draw_path(axes, commanded.position, color=style.INK, ls=DASHES, lw=1.3, zorder=4)
        topview.draw_vehicle(axes, commanded, -1, colour=style.FAINT, alpha=0.6)
    topview.draw_path(axes, run.position, color=style.BLACK, lw=2.0, zorder=4.5)
    topview.draw_vehicle(axes, run, 0)
    topview.draw_vehicle(axes, run, -1)
    style.label(axes, x="x [m]", y="y [m]")
    topview.draw_bar(axes, ScalarMappable(norm, style.SLIP), "slip speed [m/s]")
    if tale is None:
        axes.set_title(style.plain(run.vehicle.name))
    else:
        why = textwrap.fill("because " + "; ".join(tale.reasons()), 165) if tale.reasons() else ""
        lines = why.count("\n") + 1 if why else 0
        axes.set_title(style.plain(tale.headline()), pad=6 + 13 * lines)
        note = axes.annotate(
            style.plain(why), (0.0, 1.0), (0, 5), xycoords="axes fraction", textcoords="offset points", fontsize=9,
            va="bottom",
        )  # fmt: skip
        note.set_in_layout(False)  # or a long line would squeeze the view
    if image is not None and run.ground is not None:
        low, high = image.get_clim()
        axes.annotate(
            style.plain(f"{run.ground.description}; here {low:+.2f} to {high:+.2f} m".replace("-", "−")),
            (1.0, 0.0), (-5, 5), xycoords="axes fraction", textcoords="offset points",
            fontsize=8, color="#5C5243", ha="right", va="bottom", zorder=7,
            bbox={"facecolor": "white", "alpha": 0.7, "lw": 0, "pad": 1.5},
        )  # fmt: skip


def _slipping_legend(with_commanded: bool) -> list[Line2D]:
    handles = [Line2D([], [], color=style.BLACK, lw=2.0, label="path of the body")]
    if with_commanded:
        handles.append(Line2D([], [], color=style.INK, ls=DASHES, lw=1.3, label="as commanded, on flat ground"))
    handles.append(Line2D([], [], color=style.SLIP(0.35), lw=2.0, label="contact tracks, coloured by slip"))
    return handles


def _height_bar(axes: Axes, image: Any) -> None:
    if image is not None and np.ptp(image.get_clim()) > 2e-3:
        topview.draw_bar(axes, image, "ground height [m]")


def _drawn(run: Run, commanded: Run | None) -> list[FloatArray]:
    """All points that a view of a run must show."""
    return [p for r in (run, commanded) if r is not None for p in (r.contact.point, r.position)]


def _time_axis(axes: Axes, run: Run) -> None:
    axes.set_xlim(0.0, max(float(run.time[-1]), 1e-9))
    axes.margins(y=0.08)


def _span_at_least(axes: Axes, least: float) -> None:
    """Widen the vertical axis about its middle: rounding errors of a constant must not fill it."""
    low, high = axes.get_ylim()
    more = max(0.0, least - (high - low))
    axes.set_ylim(low - 0.5 * more, high + 0.5 * more)


def _wheel_colour(wheel: int) -> str:
    return style.PALETTE[wheel % len(style.PALETTE)]


def _has_states(run: Run) -> None:
    if len(run.time) == 0 or not math.isfinite(float(run.state.sum())):
        raise GrouserError(
            f"the run of '{run.vehicle.name}' has no states to draw: {run.status.meaning} in its first step"
        )
