"""Pictures of one run, of runs side by side, and of a fan of rollouts."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from itertools import cycle
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize, to_rgba
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, Polygon

from grouser.checks import FloatArray
from grouser.errors import GrouserError
from grouser.kinematics import frame_poses
from grouser.simulation import Rollouts, Run, Status
from grouser.simulation.records import RutRecord
from grouser.spacing import evenly
from grouser.terrain import Terrain
from grouser.view import colours, style
from grouser.view.account import Account
from grouser.view.scene_ground import Box, pixel_centres, surroundings

DASHES = (0, (5, 4))
LEAST_SLIP, LEAST_ANGLE, LEAST_HEIGHT = 0.1, 0.2, 0.2
"""Smallest range of slip speed [cm/s], angle [°] and height error [mm] in a picture: rounding errors stay flat."""
NODES = 360
"""Ground samples along the longer side of a picture."""
SOIL_TINT = 0.2
"""Opacity of the tint of soils, a share: paths on it stay readable."""
LIGHT = np.array([-0.5, 0.5, 0.7]) / math.sqrt(0.99)
"""Direction of the light: from the upper left, as on maps."""
MOST_PATHS = 2000
"""Paths of a fan that are drawn; of more, evenly chosen ones."""


def plot_run(run: Run, path: style.File = None, *, commanded: Run | None = None) -> Figure:
    """One run: top view with ground and contact tracks; slip, attitude and height errors over time.

    `commanded` is the same command on flat ground, drawn dashed. Saved if a path is given (.png, .svg or .pdf).
    """
    _has_states(run)
    box = surroundings(_drawn(run, commanded))
    wide = box[1] - box[0] > 1.4 * (box[3] - box[2])
    # A wide top view gets the height of its aspect ratio, and the curves are below it.
    top = min(12.0 * (box[3] - box[2]) / (box[1] - box[0]) + 0.6, 7.0)
    with style.picture(path, 13.0, top + 3.4 if wide else 7.6) as figure:
        if wide:
            grid = GridSpec(2, 3, figure=figure, height_ratios=[top, 2.9])
            places = [grid[0, :], *(grid[1, i] for i in range(3))]
        else:
            grid = GridSpec(3, 2, figure=figure, width_ratios=[1.25, 1.0])
            places = [grid[:, 0], *(grid[i, 1] for i in range(3))]
        above, slip, attitude, height = (figure.add_subplot(place) for place in places)
        _draw_run(above, run, commanded, box)
        _draw_curves(slip, run, 100.0 * run.contact.slip_speed)
        slip.set_ylim(0.0, max(slip.get_ylim()[1], LEAST_SLIP))
        style.label(slip, x="time [s]", y="slip speed [cm/s]", title="Slip at the wheels")
        _draw_curves(attitude, run, np.degrees(run.rpy), LEAST_ANGLE, (style.BLUE, style.ORANGE, style.BLACK), 1.4)
        labels = ("roll", "pitch", "yaw")
        attitude.legend(attitude.lines, labels, ncols=3, loc="best", handlelength=1.2, columnspacing=1.0)
        style.label(attitude, x="time [s]", y="angle [°]", title="Attitude")
        _draw_curves(height, run, 1000.0 * run.contact.height_error, LEAST_HEIGHT)
        style.label(height, x="time [s]", y="Δz [mm]", title="Height error (below 0 is in the ground)")
    return figure


def plot_runs(
    runs: Sequence[Run],
    path: style.File = None,
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
    goals: Sequence[Run | None] = commanded or [None] * len(runs)
    deviations: Sequence[Account | None] = accounts or [None] * len(runs)
    boxes = [surroundings(_drawn(r, c), margin=0.045) for r, c in zip(runs, goals, strict=True)]
    width = 12.5
    rooms = [0.75 if deviation is None else 1.3 for deviation in deviations]
    heights = [(width - 1.8) * (b[3] - b[2]) / (b[1] - b[0]) + room for b, room in zip(boxes, rooms, strict=True)]
    with style.picture(path, width, min(sum(heights) + 0.4, 40.0), dpi=110) as figure:
        grid = GridSpec(len(runs), 1, figure=figure, height_ratios=heights)
        for i, (run, goal, deviation, box) in enumerate(zip(runs, goals, deviations, boxes, strict=True)):
            _draw_slipping(figure.add_subplot(grid[i]), run, goal, deviation, box)
        handles: list[Line2D | Patch] = [Line2D([], [], color=style.BLACK, lw=2.0, label="path of the body")]
        if any(goals):
            handles.append(Line2D([], [], color=style.INK, ls=DASHES, lw=1.3, label="as commanded, on flat ground"))
        handles.append(Line2D([], [], color=style.SLIP(0.35), lw=2.0, label="contact tracks, coloured by slip"))
        handles += soil_patches(next((run.ground for run in runs if run.ground and run.ground.soils), None))
        figure.legend(handles=handles, loc="outside lower center", ncols=4, handlelength=2.6)
    return figure


def plot_rollouts(rollouts: Rollouts, ground: Terrain | None = None, path: style.File = None) -> Figure:
    """A fan of rollouts seen from above, coloured by how each ended; needs recorded states (`every=…`)."""
    if rollouts.state.shape[1] < 2:
        raise GrouserError("these rollouts kept only their last states; roll out with every=… to draw their paths")
    n = len(rollouts.status)
    chosen = evenly(n, MOST_PATHS)
    xy = rollouts.state[chosen, :, 4:6]
    box = surroundings([xy])
    tall = (box[3] - box[2]) / (box[1] - box[0])
    with style.picture(path, 1.6 + 8.0 / max(tall, 1.0), 0.9 + 8.0 * min(max(tall, 0.3), 1.0)) as figure:
        axes = figure.add_subplot()
        image = draw_ground(axes, ground, box)
        counts = rollouts.counts()
        handles: list[Line2D | Patch] = []
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
        handles += soil_patches(ground)
        axes.legend(handles=handles, loc="upper left", frameon=True, framealpha=0.85, edgecolor="none")
        shown = "" if len(chosen) == n else f", {len(chosen)} of them drawn"
        style.label(axes, x="x [m]", y="y [m]", title=f"{n} rollouts of {rollouts.time[-1]:g} s{shown}")
        height_bar(axes, image)
    return figure


def plot_forces(run: Run, path: style.File = None) -> Figure:
    """Normal and tangential forces on the wheels, power of actuators and ground, energy; saved if a path is given."""
    force, solver, power = run.contact.force, run.solver, run.power
    if force is None or solver is None or power is None or len(run.time) == 0:
        raise GrouserError(f"the run of '{run.vehicle.name}' has no forces to draw: use a dynamic model")
    with style.picture(path, 12.0, 6.6) as figure:
        (normal, along), (powers, energy) = figure.subplots(2, 2, sharex=True)
        for w, name in enumerate(run.vehicle.wheels):
            colour = style.colour_of(w)
            normal.plot(run.time, force[:, w, 2], color=colour, lw=1.1, label=style.plain(name))
            along.plot(run.time, np.hypot(force[:, w, 0], force[:, w, 1]), color=colour, lw=1.1)
        powers.plot(run.time, power.sum(axis=1), color=style.BLUE, label="of the actuators")
        if run.contact.power is not None:
            taken = run.contact.power.sum(axis=1)
            powers.plot(run.time, taken, color=style.VERMILLION, label="of the ground on wheels")
        energy.plot(run.time, solver.kinetic, color=style.BLUE, label="kinetic")
        raised = solver.potential - solver.potential[0]
        energy.plot(run.time, raised, color=style.ORANGE, ls="--", label="potential, since the start")
        style.label(normal, y="normal force [N]", title="Load of the wheels")
        style.label(along, y="force in the ground plane [N]", title="Tangential force")
        style.label(powers, x="time [s]", y="power [W]", title="Power")
        style.label(energy, x="time [s]", y="energy [J]", title="Energy")
        for axes in (powers, energy):
            axes.legend()
        figure.legend(handles=normal.lines, loc="outside lower center", ncols=min(len(normal.lines), 8))
    return figure


def draw_ground(axes: Axes, ground: Terrain | None, box: Box) -> Any:
    """Shade the ground in a box, with contours; returns the image, or None where there is nothing to show."""
    xmin, xmax, ymin, ymax = box
    axes.set(xlim=(xmin, xmax), ylim=(ymin, ymax), aspect="equal")
    axes.grid(False)
    if ground is None:
        return None
    longest = max(xmax - xmin, ymax - ymin)
    nx, ny = (max(int(NODES * side / longest), 24) for side in (xmax - xmin, ymax - ymin))
    x, y = np.linspace(xmin, xmax, nx), np.linspace(ymin, ymax, ny)
    sample = ground.sample(x[None, :], y[:, None])
    height = np.ma.masked_where(~sample.inside, sample.height)
    if height.count() == 0:
        return None
    low, high = float(height.min()), float(height.max())
    look: dict[str, Any] = {"origin": "lower", "extent": box, "interpolation": "bilinear"}
    image = axes.imshow(height, cmap=style.GROUND, norm=Normalize(low, max(high, low + 1e-3)), zorder=0, **look)
    if high - low > 1e-6:
        shadow = np.where(sample.inside, (LIGHT[2] - sample.normal @ LIGHT) / LIGHT[2], 0.0)
        cover = np.where((shadow > 0.0)[..., None], (0.25, 0.21, 0.15, 0.0), (1.0, 1.0, 1.0, 0.0))
        cover[..., 3] = np.clip(0.4 * np.abs(shadow), 0.0, 0.3)
        axes.imshow(cover, zorder=0.1, **look)
        axes.contour(x, y, height, levels=6, colors="#9C8F7C", linewidths=0.45, alpha=0.6, zorder=0.2)
    if ground.soils is not None:
        _tint_soils(axes, ground, box, (nx, ny))
    return image


def _tint_soils(axes: Axes, ground: Terrain, box: Box, nodes: tuple[int, int]) -> None:
    """Tint the soils of a ground, at the middles of pixels of a box."""
    x, y = pixel_centres(box, nodes)
    found = ground.soil(x[None, :], y[:, None])
    tint = np.zeros((*found.shape, 4))
    for kind, _, colour in _soils(ground):
        tint[found == kind] = to_rgba(colour, SOIL_TINT)
    axes.imshow(tint, origin="lower", extent=box, interpolation="nearest", zorder=0.05)


def _draw_ruts(axes: Axes, ruts: RutRecord | None) -> None:
    """Pressed soil, the deeper the darker."""
    if ruts is None or len(ruts.x) == 0:
        return
    at = np.rint(np.column_stack([ruts.x, ruts.y]) / ruts.cell).astype(np.int64)
    low, high = at.min(axis=0), at.max(axis=0)
    cover = np.zeros((*(high - low + 1)[::-1], 4))
    cover[..., :3] = style.RUT
    column, row = (at - low).T
    cover[row, column, 3] = 0.55 * ruts.depth / ruts.depth.max()
    (left, bottom), (right, top) = ruts.cell * (low - 0.5), ruts.cell * (high + 0.5)
    view = (*axes.get_xlim(), *axes.get_ylim())
    axes.imshow(cover, origin="lower", extent=(left, right, bottom, top), interpolation="nearest", zorder=0.3)
    axes.axis(view)
    words = f"ruts, up to {1000.0 * ruts.depth.max():.0f} mm"
    axes.add_patch(Polygon(np.zeros((0, 2)), closed=True, color=style.RUT, alpha=0.55, lw=0, label=words))


def _soils(ground: Terrain) -> list[tuple[int, str, str]]:
    """Class, name and colour of the soils of a ground."""
    known = () if ground.soils is None else ground.soils.soils
    return [(soil.kind, soil.name, colour) for soil, colour in zip(known, cycle(style.SOILS), strict=False)]


def soil_patches(ground: Terrain | None) -> list[Patch]:
    """Entries of a legend: the soils of a ground by name."""
    soils = [] if ground is None else _soils(ground)
    return [Patch(facecolor=to_rgba(colour, 2.0 * SOIL_TINT), label=style.plain(name)) for _, name, colour in soils]


def legend_below(axes: Axes, handles: Sequence[Any], ground: Terrain | None, **look: Any) -> None:
    """A legend with the soils of a ground, below the axis label, at a distance in points."""
    place: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "borderaxespad": 4.0}
    axes.legend(handles=[*handles, *soil_patches(ground)], **place, **look)


def draw_vehicle(axes: Axes, run: Run, row: int, *, colour: str = style.INK, alpha: float = 1.0) -> None:
    """The wheels of a vehicle as it stands, each turned as it is steered, and the lines that join them."""
    vehicle = run.vehicle
    R_world_frame, p_world_frame = frame_poses(vehicle, run.state[row])
    body = p_world_frame[0, :2]
    for frame in vehicle.arrays.wheel:
        shape, centre = vehicle.frames[int(frame)], p_world_frame[frame, :2]
        radius = shape.radius or 0.0
        half_width = 0.5 * (shape.width or 0.4 * radius)
        ahead = np.cross(R_world_frame[frame][:, 1], (0.0, 0.0, 1.0))[:2]
        ahead = ahead / max(float(np.hypot(*ahead)), 1e-9)
        along, across = radius * ahead, half_width * np.array([-ahead[1], ahead[0]])
        corners = [centre + s * along + t * across for s, t in ((1, 1), (1, -1), (-1, -1), (-1, 1))]
        axes.plot(*np.stack([body, centre], axis=1), color=colour, lw=1.0, alpha=0.55 * alpha, zorder=5)
        axes.add_patch(Polygon(corners, facecolor=colour, edgecolor="white", lw=0.5, alpha=alpha, zorder=6))
    axes.plot(*body, marker="o", ms=3.5, color=colour, alpha=alpha, zorder=6)


def _draw_run(axes: Axes, run: Run, commanded: Run | None, box: Box) -> None:
    image = draw_ground(axes, run.ground, box)
    _draw_ruts(axes, run.ruts)
    for w, name in enumerate(run.vehicle.wheels):
        track = run.contact.point[:, w, :2].T
        axes.plot(*track, color=style.colour_of(w), lw=1.1, label=style.plain(name), zorder=3)
    if commanded is not None:
        path = commanded.position[:, :2].T
        axes.plot(*path, color=style.INK, ls=DASHES, lw=1.2, label="commanded, flat ground", zorder=4)
    if run.path is not None:
        axes.plot(*run.path.T, color=style.INK, ls=":", lw=1.4, label="path to follow", zorder=4)
    axes.plot(*run.position[:, :2].T, color=style.BLACK, lw=2.0, label="body", zorder=4.5)
    draw_vehicle(axes, run, 0, colour=style.FAINT)
    draw_vehicle(axes, run, -1)
    ended = "" if run.status is Status.OK else f" · {str(run.status).replace('_', ' ')}: {run.status.meaning}"
    words = f"{run.vehicle.name} · {run.steps * run.dt:g} s · {run.distance:.2f} m driven{ended}"
    style.label(axes, x="x [m]", y="y [m]", title=words)
    curves = axes.get_legend_handles_labels()[0]
    legend_below(axes, curves, run.ground, ncols=9, columnspacing=1.2, handlelength=1.6)
    height_bar(axes, image)


def _draw_curves(
    axes: Axes,
    run: Run,
    curves: FloatArray,
    least: float = 0.0,
    colours: Sequence[str] = style.PALETTE,
    lw: float = 1.1,
) -> None:
    """Curves (T, k) over time. The vertical axis spans at least `least`: rounding errors of a constant stay flat."""
    for i, curve in enumerate(curves.T):
        axes.plot(run.time, curve, color=colours[i % len(colours)], lw=lw)
    axes.set_xlim(0.0, max(float(run.time[-1]), 1e-9))
    axes.margins(y=0.08)
    low, high = axes.get_ylim()
    more = max(0.0, least - (high - low))
    axes.set_ylim(low - 0.5 * more, high + 0.5 * more)


def _draw_slipping(axes: Axes, run: Run, commanded: Run | None, deviation: Account | None, box: Box) -> None:
    image = draw_ground(axes, run.ground, box)
    slip = run.contact.slip_speed
    norm = Normalize(0.0, max(float(np.quantile(slip, 0.98)), 1e-3))
    points = run.contact.point[:, :, :2]
    for w in range(run.vehicle.n_wheels):
        pieces = list(np.stack([points[:-1, w], points[1:, w]], axis=1))
        track = LineCollection(pieces, cmap=style.SLIP, norm=norm, linewidths=2.0, zorder=3, capstyle="round")
        track.set_array(0.5 * (slip[1:, w] + slip[:-1, w]))
        axes.add_collection(track)
    if commanded is not None:
        axes.plot(*commanded.position[:, :2].T, color=style.INK, ls=DASHES, lw=1.3, zorder=4)
        draw_vehicle(axes, commanded, -1, colour=style.FAINT, alpha=0.6)
    axes.plot(*run.position[:, :2].T, color=style.BLACK, lw=2.0, zorder=4.5)
    draw_vehicle(axes, run, 0)
    draw_vehicle(axes, run, -1)
    style.label(axes, x="x [m]", y="y [m]")
    style.draw_bar(axes, ScalarMappable(norm, style.SLIP), "slip speed [m/s]")
    aside: Any = {"xycoords": "axes fraction", "textcoords": "offset points", "va": "bottom"}
    if deviation is None:
        axes.set_title(style.plain(run.vehicle.name))
    else:
        reasons = deviation.reasons()
        why = textwrap.fill("because " + "; ".join(reasons), 165) if reasons else ""
        lines = why.count("\n") + 1 if why else 0
        axes.set_title(style.plain(deviation.headline()), pad=6 + 13 * lines)
        note = axes.annotate(style.plain(why), (0.0, 1.0), (0, 5), fontsize=9, **aside)
        note.set_in_layout(False)  # or a long line would squeeze the view
    if image is not None and run.ground is not None:
        low, high = image.get_clim()
        words = f"{run.ground.description}; here {low:+.2f} to {high:+.2f} m".replace("-", "−")
        box_look = {"facecolor": "white", "alpha": 0.7, "lw": 0, "pad": 1.5}
        look: Any = {"fontsize": 8, "color": "#5C5243", "ha": "right", "zorder": 7, "bbox": box_look, **aside}
        axes.annotate(style.plain(words), (1.0, 0.0), (-5, 5), **look)


def height_bar(axes: Axes, image: Any) -> None:
    """A colour bar of ground heights, unless the ground is flat."""
    if image is not None and np.ptp(image.get_clim()) > 2e-3:
        style.draw_bar(axes, image, "ground height [m]")


def _drawn(run: Run, commanded: Run | None) -> list[FloatArray]:
    """Points within a view of a run."""
    return [p for r in (run, commanded) if r is not None for p in (r.contact.point, r.position)]


def _has_states(run: Run) -> None:
    if len(run.time) == 0 or not math.isfinite(float(run.state.sum())):
        name, why = run.vehicle.name, run.status.meaning
        raise GrouserError(f"the run of '{name}' has no states to draw: {why} in its first step")
