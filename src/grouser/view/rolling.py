"""Pictures of rolling vehicles: the chapter's figures of one run, and designs side by side."""

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec
from matplotlib.ticker import FuncFormatter, NullFormatter

from grouser.checks import FloatArray
from grouser.errors import GrouserError
from grouser.kinematics import frame_poses
from grouser.rolling.design import Design
from grouser.rolling.measure import measure
from grouser.simulation.run import Run
from grouser.spacing import path_lengths
from grouser.view import style
from grouser.view.plot import draw_ground
from grouser.view.scene_ground import surroundings


def plot_rolling(run: Run, path: style.File = None) -> Figure:
    """One run: paths of contacts and wheel centres, joint angles and rates, platform velocities, constraint errors.

    After R Fig. 16.9 to 16.15. Saved if a path is given (.png, .svg or .pdf).
    """
    found = measure(run)
    if len(run.time) < 2:
        raise GrouserError(f"the run of '{run.vehicle.name}' has no rows to draw: {run.status.meaning}")
    rolling = found.rolling
    wheels, joints = run.vehicle.wheels, run.vehicle.joints
    others = [name for name in joints if name not in wheels]
    rates = dict(zip(joints, run.joint_rates.T, strict=True))
    with style.picture(path, 13.0, 11.0) as figure:
        grid = GridSpec(3, 4, figure=figure, height_ratios=[1.15, 1.0, 1.0])
        _draw_paths(figure.add_subplot(grid[0, :]), run)
        drives, moving, angles, freedoms, linear, turning, closure, residual = (
            figure.add_subplot(grid[1 + i // 4, i % 4]) for i in range(8)
        )
        drive_rates = {name: rates[name] for name in wheels}
        _draw_lines(drives, run, drive_rates, "rate [rad/s]", "Drive rates (dotted: desired)")
        desired = rolling.desired[:, [joints.index(name) for name in wheels]]
        drives.plot(run.time, desired, color=style.FAINT, lw=0.8, ls=(0, (2, 2)))
        other_rates = {name: rates[name] for name in others}
        _draw_lines(moving, run, other_rates, "rate [rad/s or m/s]", "Rates of the other joints")
        slides = [run.vehicle.frames[run.vehicle.frame_index(name)].joint in ("PX", "PY", "PZ") for name in others]
        for i, (name, slide) in enumerate(zip(others, slides, strict=True)):
            angles.plot(
                run.time, 100.0 * run.joint(name) if slide else np.degrees(run.joint(name)), color=style.colour_of(i)
            )
        unit = "[° or cm]" if any(slides) else "[°]"
        style.label(angles, x="time [s]", y=f"displacement {unit}", title="Steering and passive joints")
        freedoms.step(run.time, rolling.degrees_of_freedom, color=style.BLACK, where="post")
        most = int(rolling.degrees_of_freedom.max())
        freedoms.set_yticks(range(most + 2))
        freedoms.set_ylim(0, most + 1)
        style.label(freedoms, x="time [s]", title="Degrees of freedom")
        v, omega = (dict(zip("xyz", part, strict=True)) for part in np.split(found.platform_velocity.T, 2))
        _draw_lines(linear, run, v, "velocity [m/s]", "Platform, world axes", ncols=3)
        _draw_lines(turning, run, omega, "rate [rad/s]", "Platform, its own axes", ncols=3)
        _draw_error(closure, run.time, rolling.closure_error, style.BLUE)
        style.label(closure, x="time [s]", y="‖C‖ [m, rad]", title="Closure of the contact chains")
        if run.ground is not None and len(run.time) > 4:
            worst = found.rolling_residual.max(axis=1)
            _draw_error(residual, run.time[2 : 2 + len(worst)], worst, style.VERMILLION)
        style.label(residual, x="time [s]", y="speed [m/s]", title="Slip measured from poses")
        words = f"{run.vehicle.name} rolls {run.distance:.2f} m in {run.time[-1]:g} s, σ = {rolling.sigma:g} 1/s"
        figure.suptitle(words, fontweight="bold")
    return figure


def plot_designs(designs: Mapping[str, Design], path: style.File = None, *, title: str = "") -> Figure:
    """Designs led along one path: slip per metre, power lost, and slip speed over the distance."""
    if not designs:
        raise GrouserError("there are no designs to draw; give at least one")
    with style.picture(path, 12.0, 7.4) as figure:
        grid = GridSpec(2, 2, figure=figure)
        bars, lost, along = (figure.add_subplot(place) for place in (grid[0, 0], grid[0, 1], grid[1, :]))
        for i, (name, design) in enumerate(designs.items()):
            colour, freedoms = style.colour_of(i), int(design.rolling.degrees_of_freedom.min())
            for axes, length in ((bars, 1000.0 * design.slip_per_metre), (lost, design.energy_per_metre)):
                axes.barh(i, length, color=colour)
                axes.text(1.3 * length, i, f"{length:.2g}", va="center", fontsize=9)
            gone = path_lengths(design.run.position)
            label = f"{name}, {freedoms} {'freedom' if freedoms == 1 else 'freedoms'}"
            along.semilogy(gone, np.maximum(1000.0 * design.slip_speed.sum(axis=1), 1e-7), color=colour, label=label)
        for axes in (bars, lost):
            axes.set_yticks(range(len(designs)), list(designs))
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
    return figure


def _draw_paths(axes: Axes, run: Run) -> None:
    """Paths of contact points and, dashed, of wheel centres, after R Fig. 16.13."""
    centres = frame_poses(run.vehicle, run.state)[1][:, run.vehicle.arrays.wheel]
    points = run.contact.point
    draw_ground(axes, run.ground, surroundings([points, centres]))
    for w, name in enumerate(run.vehicle.wheels):
        axes.plot(*points[:, w, :2].T, color=style.colour_of(w), lw=1.2, label=f"contact of {name}")
        axes.plot(*centres[:, w, :2].T, color=style.colour_of(w), lw=1.0, ls=(0, (4, 3)), alpha=0.8)
    axes.plot([], [], color=style.INK, lw=1.0, ls=(0, (4, 3)), label="wheel centres")
    axes.legend(loc="upper left", ncols=4, frameon=True, framealpha=0.8, edgecolor="none")
    style.label(axes, x="x [m]", y="y [m]", title="Paths of contact points and wheel centres")


def _draw_lines(
    axes: Axes, run: Run, curves: Mapping[str, FloatArray], unit: str, title: str, *, ncols: int = 1
) -> None:
    for i, (name, values) in enumerate(curves.items()):
        axes.plot(run.time, values, color=style.colour_of(i), label=name)
    axes.legend(ncols=ncols, handlelength=1.2)
    style.label(axes, x="time [s]", y=unit, title=title)


def _draw_error(axes: Axes, time: FloatArray, error: FloatArray, colour: str) -> None:
    axes.semilogy(time, np.maximum(error, 1e-16), color=colour, lw=1.0)
    _plain(axes.yaxis)


def _plain(axis: Axis) -> None:
    """Powers of ten as 1e-05: what needs no mathematical font."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())
