"""Pictures of rolling vehicles: the chapter's figures of one run, and designs side by side."""

from __future__ import annotations

import os
from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec
from matplotlib.ticker import FuncFormatter, NullFormatter

from grouser.checks import FloatArray
from grouser.errors import GrouserError
from grouser.rolling.design import Design
from grouser.rolling.run import RollingRun
from grouser.view import style, topview

Path = str | os.PathLike[str]

LEAST_ERROR = 1e-16
"""Where a logarithmic axis of errors begins."""


def plot_rolling(run: RollingRun, path: Path | None = None) -> Figure:
    """One run: paths of contacts and wheel centres, joint angles and rates, platform velocities, constraint errors.

    After R Fig. 16.9 to 16.15. Saved if a path is given (.png, .svg or .pdf).
    """
    if len(run.time) < 2:
        raise GrouserError(f"the run of '{run.vehicle.name}' has no rows to draw: {run.status.meaning}")
    if path is not None:
        style.picture_suffix(path)
    with style.look():
        figure = style.new_figure(13.0, 11.0)
        grid = GridSpec(3, 4, figure=figure, height_ratios=[1.15, 1.0, 1.0])
        _draw_paths(figure.add_subplot(grid[0, :]), run)
        wheels = run.vehicle.wheels
        others = [name for name in run.vehicle.joints if name not in wheels]
        _draw_drives(figure.add_subplot(grid[1, 0]), run, wheels)
        _draw_rates(figure.add_subplot(grid[1, 1]), run, others)
        _draw_angles(figure.add_subplot(grid[1, 2]), run, others)
        _draw_freedoms(figure.add_subplot(grid[1, 3]), run)
        _draw_velocity(figure.add_subplot(grid[2, 0]), run, slice(0, 3), "velocity [m/s]", "Platform, world axes")
        _draw_velocity(figure.add_subplot(grid[2, 1]), run, slice(3, 6), "rate [rad/s]", "Platform, its own axes")
        _draw_closure(figure.add_subplot(grid[2, 2]), run)
        _draw_residual(figure.add_subplot(grid[2, 3]), run)
        figure.suptitle(
            f"{run.vehicle.name} rolls {run.distance:.2f} m in {run.time[-1]:g} s, σ = {run.sigma:g} 1/s",
            fontweight="bold",
        )
        if path is not None:
            style.save(figure, path)
    return figure


def plot_designs(designs: Mapping[str, Design], path: Path | None = None, *, title: str = "") -> Figure:
    """Designs led along one path: slip per metre, power lost, and slip speed over the distance."""
    if not designs:
        raise GrouserError("there are no designs to draw; give at least one")
    if path is not None:
        style.picture_suffix(path)
    with style.look():
        figure = style.new_figure(12.0, 7.4)
        grid = GridSpec(2, 2, figure=figure)
        names = list(designs)
        bars, lost = figure.add_subplot(grid[0, 0]), figure.add_subplot(grid[0, 1])
        along = figure.add_subplot(grid[1, :])
        for i, (name, design) in enumerate(designs.items()):
            colour = style.PALETTE[i % len(style.PALETTE)]
            freedoms = int(design.run.degrees_of_freedom.min())
            bars.barh(i, 1000.0 * design.slip_per_metre, color=colour)
            bars.text(1300.0 * design.slip_per_metre, i, f"{1000 * design.slip_per_metre:.2g}", va="center", fontsize=9)
            lost.barh(i, design.energy_per_metre, color=colour)
            lost.text(1.3 * design.energy_per_metre, i, f"{design.energy_per_metre:.2g}", va="center", fontsize=9)
            gone = np.concatenate(([0.0], np.cumsum(np.linalg.norm(np.diff(design.run.position, axis=0), axis=1))))
            label = f"{name}, {freedoms} {'freedom' if freedoms == 1 else 'freedoms'}"
            along.semilogy(gone, np.maximum(1000.0 * design.slip_speed.sum(axis=1), 1e-7), color=colour, label=label)
        for axes in (bars, lost):
            axes.set_yticks(range(len(names)), names)
            axes.invert_yaxis()
            axes.set_xscale("log")
            axes.set_axisbelow(True)
            _plain(axes.xaxis)
            low, high = axes.get_xlim()
            axes.set_xlim(0.5 * low, 8.0 * high)
        friction = next(iter(designs.values())).friction
        style.label(bars, x="slip of all wheels [mm per m]", title="Kinematic slip")
        style.label(lost, x="energy lost [J per m]", title=f"Lost to slip at friction {friction:g}")
        style.label(along, x="distance [m]", y="slip speed, all wheels [mm/s]", title="Along the path")
        _plain(along.yaxis)
        along.legend(ncols=3)
        if title:
            figure.suptitle(title, fontweight="bold")
        if path is not None:
            style.save(figure, path)
    return figure


def _draw_paths(axes: Axes, run: RollingRun) -> None:
    """Paths of contact points and, dashed, of wheel centres, after R Fig. 16.13."""
    centres = run.wheel_centres
    box = topview.surroundings([run.contact[..., 2:], centres[..., :2]])
    topview.draw_ground(axes, run.ground, box)
    for w, name in enumerate(run.vehicle.wheels):
        colour = _colour(w)
        axes.plot(run.contact[:, w, 2], run.contact[:, w, 3], color=colour, lw=1.2, label=f"contact of {name}")
        axes.plot(centres[:, w, 0], centres[:, w, 1], color=colour, lw=1.0, ls=(0, (4, 3)), alpha=0.8)
    axes.plot([], [], color=style.INK, lw=1.0, ls=(0, (4, 3)), label="wheel centres")
    axes.legend(loc="upper left", ncols=4, frameon=True, framealpha=0.8, edgecolor="none")
    style.label(axes, x="x [m]", y="y [m]", title="Paths of contact points and wheel centres")


def _draw_drives(axes: Axes, run: RollingRun, names: tuple[str, ...]) -> None:
    for w, name in enumerate(names):
        j = run.vehicle.joint_index(name)
        axes.plot(run.time, run.joint_rates[:, j], color=_colour(w), label=name)
        axes.plot(run.time, run.desired[:, j], color=style.FAINT, lw=0.8, ls=(0, (2, 2)))
    axes.legend(handlelength=1.2)
    style.label(axes, x="time [s]", y="rate [rad/s]", title="Drive rates (dotted: desired)")


def _draw_rates(axes: Axes, run: RollingRun, names: list[str]) -> None:
    for i, name in enumerate(names):
        axes.plot(run.time, run.joint_rates[:, run.vehicle.joint_index(name)], color=_colour(i), label=name)
    axes.legend(handlelength=1.2)
    style.label(axes, x="time [s]", y="rate [rad/s or m/s]", title="Rates of the other joints")


def _draw_angles(axes: Axes, run: RollingRun, names: list[str]) -> None:
    slides = [run.vehicle.frames[run.vehicle.frame_index(name)].joint in ("PX", "PY", "PZ") for name in names]
    for i, (name, slide) in enumerate(zip(names, slides, strict=True)):
        values = 100.0 * run.joint(name) if slide else np.degrees(run.joint(name))
        axes.plot(run.time, values, color=_colour(i), label=name)
    unit = "[° or cm]" if any(slides) else "[°]"
    style.label(axes, x="time [s]", y=f"displacement {unit}", title="Steering and passive joints")


def _draw_freedoms(axes: Axes, run: RollingRun) -> None:
    most = int(run.degrees_of_freedom.max())
    axes.step(run.time, run.degrees_of_freedom, color=style.BLACK, where="post")
    axes.set_yticks(range(most + 2))
    axes.set_ylim(0, most + 1)
    style.label(axes, x="time [s]", title="Degrees of freedom")


def _draw_velocity(axes: Axes, run: RollingRun, part: slice, unit: str, title: str) -> None:
    for i, values in enumerate(run.platform_velocity[:, part].T):
        axes.plot(run.time, values, color=_colour(i), label="xyz"[i])
    axes.legend(ncols=3, handlelength=1.2)
    style.label(axes, x="time [s]", y=unit, title=title)


def _draw_closure(axes: Axes, run: RollingRun) -> None:
    axes.semilogy(run.time, np.maximum(run.closure_error, LEAST_ERROR), color=style.BLUE, lw=1.0)
    _plain(axes.yaxis)
    style.label(axes, x="time [s]", y="‖C‖ [m, rad]", title="Closure of the contact chains")


def _draw_residual(axes: Axes, run: RollingRun) -> None:
    if run.ground is not None and len(run.time) > 4:
        worst: FloatArray = run.rolling_residual.max(axis=1)
        axes.semilogy(run.time[2:-2], np.maximum(worst, LEAST_ERROR), color=style.VERMILLION, lw=1.0)
        _plain(axes.yaxis)
    style.label(axes, x="time [s]", y="speed [m/s]", title="Slip measured from poses")


def _plain(axis: Axis) -> None:
    """Powers of ten as 1e-05: what needs no mathematical font."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def _colour(i: int) -> str:
    return style.PALETTE[i % len(style.PALETTE)]
