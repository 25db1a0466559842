"""Picture of a plan: the map with its ways, and tip margin, slip and speed along the drive."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Ellipse

from grouser.plan.planned import Plan
from grouser.view import style

ELLIPSES = 16
"""Places with an ellipse of two sigma."""
MOST = 400
"""Points of the map along a side."""


def plot_plan(plan: Plan, path: style.File = None, *, title: str = "") -> Figure:
    """The map above, with route, drive, ellipses of two sigma and refused ways; below, the drive over its distance."""
    with style.picture(path, 9.0, 10.5, title=title) as figure:
        rows = figure.add_gridspec(4, 1, height_ratios=(4.2, 1.0, 1.0, 1.0))
        _map(figure.add_subplot(rows[0]), plan)
        drive = plan.drive
        speed = np.linalg.norm(np.diff(drive.state[:, 4:7], axis=0), axis=1) / np.diff(drive.time)
        along = drive.distance[1:]
        lines = (
            ("tip margin [°]", np.degrees(drive.tip_margin)),
            ("slip [%]", 100.0 * drive.slip),
            ("speed [m/s]", speed),
        )
        for k, (name, values) in enumerate(lines):
            axes = figure.add_subplot(rows[1 + k])
            axes.plot(along, values, color=style.INK, linewidth=1.2)
            axes.set_ylim(bottom=min(0.0, float(values.min(initial=0.0))))
            style.label(axes, x="distance [m]" if k == 2 else "", y=name)
    return figure


def _map(axes: Axes, plan: Plan) -> None:
    """Heights, keep-outs and ways."""
    xmin, xmax, ymin, ymax = plan.ground.bounds
    x, y = np.linspace(xmin, xmax, MOST), np.linspace(ymin, ymax, MOST)
    sample = plan.ground.sample(*np.meshgrid(x, y, indexing="ij"))
    heights = np.where(sample.inside, sample.height, np.nan)
    image = axes.imshow(heights.T, origin="lower", extent=(xmin, xmax, ymin, ymax), cmap="gist_earth", alpha=0.75)
    shade = np.clip(0.5 - 0.7 * (sample.gradient[..., 0] + sample.gradient[..., 1]), 0.0, 1.0)
    axes.imshow(shade.T, origin="lower", extent=(xmin, xmax, ymin, ymax), cmap="Greys_r", alpha=0.25)
    axes.figure.colorbar(image, ax=axes, shrink=0.85).set_label("height [m]")
    if plan.keep_out is not None:
        k = plan.keep_out
        nx, ny = k.mask.shape
        px, py = k.x + k.cell * np.arange(nx), k.y + k.cell * np.arange(ny)
        axes.contourf(px, py, k.mask.T.astype(float), levels=(0.5, 1.5), colors=("#b2182b",), alpha=0.35)
    for one in plan.refused:
        if len(one.path) > 1:
            axes.plot(*one.path.T, color="#b2182b", linewidth=1.3, linestyle="--", label=f"refused: {one.reason}")
        axes.plot(*one.place, "x", color="#b2182b", markersize=8, markeredgewidth=2)
    for other in plan.route.alternatives:
        axes.plot(
            *other.driven[:, 4:6].T, linewidth=1.0, linestyle=":", color="#333333", label=f"least {other.minimise}"
        )
    axes.plot(*plan.route.path[:, :2].T, color="#7fb2e5", linewidth=2.5, alpha=0.8, label="route")
    axes.plot(*plan.drive.state[:, 4:6].T, color="#08306b", linewidth=1.8, label="predicted drive")
    if plan.spread is not None:
        for k in np.unique(np.linspace(0, len(plan.drive.time) - 1, ELLIPSES).astype(int)):
            values, vectors = np.linalg.eigh(plan.spread.covariance[k, :2, :2])
            wide, high = 4.0 * np.sqrt(np.maximum(values[::-1], 0.0))
            angle = np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1]))
            x, y = plan.spread.mean[k, :2].tolist()
            axes.add_patch(Ellipse((x, y), wide, high, angle=angle, fill=False, color="#e6550d"))
    axes.plot(*plan.start[:2], "o", color="#08306b", markersize=7)
    axes.plot(*plan.goal[:2], "*", color="#08306b", markersize=13)
    axes.grid(visible=False)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.1), ncols=2, fontsize=8)
    style.label(axes, x="x [m]", y="y [m]")
