"""Picture of a plan: the map with its paths, and tip margin, slip and speed along the drive."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from grouser.checks import FloatArray
from grouser.plan.planned import Plan
from grouser.spacing import evenly
from grouser.view import style
from grouser.view.plan_page import borders, costs, refused, routes
from grouser.view.plot import draw_ground, draw_vehicle, height_bar, legend_below
from grouser.view.scene_ground import Box, surroundings

ELLIPSES = 16
"""Positions with an ellipse."""
LEAST_SLIP = 1.0
"""Smallest range of slip [%] in a picture: rounding errors stay flat."""


def plot_plan(plan: Plan, path: style.File = None, *, title: str = "") -> Figure:
    """The map above, with route, drive, ellipses and refused paths; below, the drive over its distance."""
    box = _box(plan)
    high = min(max(8.6 * (box[3] - box[2]) / (box[1] - box[0]), 3.0), 8.6)
    labels = 2 + len(routes(plan)) + len(refused(plan))
    driven = len(plan.drive.twist) > 0
    with style.picture(path, 10.0, high + 0.9 + 0.2 * labels + (4.4 if driven else 0.0), title=title) as figure:
        rows = figure.add_gridspec(4, 1, height_ratios=(high + 0.6, 1.1, 1.1, 1.1)) if driven else None
        _map(figure.add_subplot() if rows is None else figure.add_subplot(rows[0]), plan, box)
        if rows is None:
            return figure
        drive = plan.drive
        speed = np.linalg.norm(np.diff(drive.state[:, 4:7], axis=0), axis=1) / np.diff(drive.time)
        lines = (
            ("tip margin [°]", np.degrees(drive.tip_margin), 1.0),
            ("slip [%]", 100.0 * drive.slip, LEAST_SLIP),
            ("speed [m/s]", speed, 0.1),
        )
        below = None
        for k, (name, values, least) in enumerate(lines):
            below = figure.add_subplot(rows[1 + k], sharex=below)
            below.plot(drive.distance[1:], values, color=style.BLUE, linewidth=1.2)
            below.set_xlim(0.0, max(float(drive.distance[-1]), 1e-9))
            below.set_ylim(min(0.0, float(values.min())), max(1.08 * float(values.max()), least))
            below.tick_params(labelbottom=k == 2)
            style.label(below, x="distance driven [m]" if k == 2 else "", y=name)
        figure.align_ylabels()
    return figure


def _box(plan: Plan) -> Box:
    """Bounds of the picture: all paths with a margin, cut to the map."""
    ways = [plan.drive.state[:, 4:6], plan.route.path[:, :2], plan.start[None, :2], plan.goal[None, :2]]
    ways += [way.path for way in (*routes(plan), *refused(plan))]
    xmin, xmax, ymin, ymax = surroundings([way for way in ways if len(way)], margin=0.1)
    left, right, bottom, top = plan.ground.bounds
    return max(xmin, left), min(xmax, right), max(ymin, bottom), min(ymax, top)


def _map(axes: Axes, plan: Plan, box: Box) -> None:
    """Heights, keep-outs and paths."""
    image = draw_ground(axes, plan.ground, box)
    handles: list[Line2D] = []

    def line(points: FloatArray, label: str, **look: Any) -> None:
        handles.extend(axes.plot(*np.atleast_2d(points).T, label=style.plain(label), **look))

    for way in refused(plan):
        look: Any = {"color": way.colour, "linestyle": (0, (4, 3)), "linewidth": 1.4, "zorder": 3}
        line(way.path, f"refused: {way.name}, {way.detail}", **look)
    for one in plan.refused:
        axes.plot(*one.place, "x", color=style.VERMILLION, markersize=8, markeredgewidth=2.2, zorder=7)
    for way in routes(plan):
        look = {"linewidth": 3.5} if way.name.startswith("route") else {"linewidth": 1.6, "linestyle": ":"}
        line(way.path, f"{way.name}: {way.detail}", color=way.colour, zorder=3, **look)
    if len(plan.drive.twist):
        energy, duration = float(plan.drive.energy.sum()), float(plan.drive.time[-1])
        words = f"predicted drive: {costs(plan.distance, duration, energy)}"
        line(plan.drive.state[:, 4:6], words, color=style.BLUE, linewidth=1.6, zorder=4)
    for spread, words, colour in (
        (plan.blind, "95 % ellipses without feedback", style.FAINT),
        (plan.spread, "95 % ellipses, steered along the plan", style.INK),
    ):
        if spread is None:
            continue
        for k in evenly(len(plan.drive.time), ELLIPSES):
            patch = style.ellipse(spread.covariance[k, :2, :2], spread.mean[k, :2], color=colour, lw=1.0, zorder=5)
            axes.add_patch(patch)
        handles.append(Line2D([], [], color=colour, lw=1.0, marker="o", mfc="none", ls="none", label=words))
    for k, ring in enumerate(borders(plan, box)):
        axes.fill(*ring.T, color=style.VERMILLION, alpha=0.18, lw=0, zorder=2)
        (edge,) = axes.plot(*ring.T, label="keep-out", color=style.VERMILLION, linewidth=1.0, zorder=2.5)
        handles += [edge] if k == 0 else []
    draw_vehicle(axes, plan.run, 0)
    line(plan.start[:2], "start", color=style.INK, marker="o", markersize=6, ls="none", zorder=8)
    line(plan.goal[:2], "goal", color=style.INK, marker="*", markersize=13, mec="white", ls="none", zorder=8)
    axes.set_xlim(box[0], box[1])
    axes.set_ylim(box[2], box[3])
    axes.set_aspect("equal")
    axes.grid(visible=False)
    axes.ticklabel_format(useOffset=False, style="plain")
    style.label(axes, x="x [m]", y="y [m]")
    wide = max(len(str(one.get_label())) for one in handles) > 48
    legend_below(axes, handles, plan.ground, ncols=1 if wide else 2, handlelength=2.2)
    height_bar(axes, image)
