"""The top view: shaded ground, paths, contact tracks and the vehicle's wheels where they stand."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize
from matplotlib.patches import Polygon

from grouser.checks import FloatArray
from grouser.kinematics import frame_poses
from grouser.terrain import Terrain
from grouser.view import style
from grouser.view.scene_ground import Box
from grouser.view.scene_ground import surroundings as surroundings

if TYPE_CHECKING:
    from grouser.simulation import Run
    from grouser.simulation.run import RutRecord

NODES = 360
"""Ground samples along the longer side of a picture."""
LIGHT = np.array([-0.5, 0.5, 0.7]) / math.sqrt(0.99)
"""Where the light comes from: the upper left, as on maps."""


def draw_ground(axes: Axes, ground: Terrain | None, box: Box) -> Any:
    """Shade the ground in a box, with contours; returns the image, or None where there is nothing to show."""
    xmin, xmax, ymin, ymax = box
    axes.set_xlim(xmin, xmax)
    axes.set_ylim(ymin, ymax)
    axes.set_aspect("equal")
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
    image = axes.imshow(
        height,
        origin="lower",
        extent=box,
        cmap=style.GROUND,
        norm=Normalize(low, max(high, low + 1e-3)),
        interpolation="bilinear",
        zorder=0,
    )
    if high - low > 1e-6:
        shadow = np.where(sample.inside, (LIGHT[2] - sample.normal @ LIGHT) / LIGHT[2], 0.0)
        cover = np.where((shadow > 0.0)[..., None], (0.25, 0.21, 0.15, 0.0), (1.0, 1.0, 1.0, 0.0))
        cover[..., 3] = np.clip(0.4 * np.abs(shadow), 0.0, 0.3)
        axes.imshow(cover, origin="lower", extent=box, interpolation="bilinear", zorder=0.1)
        axes.contour(x, y, height, levels=6, colors="#9C8F7C", linewidths=0.45, alpha=0.6, zorder=0.2)
    axes.set_xlim(xmin, xmax)
    axes.set_ylim(ymin, ymax)
    return image


def draw_ruts(axes: Axes, ruts: RutRecord | None) -> None:
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


def draw_bar(axes: Axes, source: Any, words: str) -> None:
    """A colour bar exactly as tall as the view."""
    bar = axes.figure.colorbar(source, cax=axes.inset_axes((1.012, 0.0, 0.011, 1.0)))
    bar.ax.grid(False)
    bar.set_label(words)
    bar.outline.set_visible(False)


def draw_path(axes: Axes, xy: FloatArray, **options: Any) -> None:
    """A line through points (T, 2 or 3)."""
    axes.plot(xy[:, 0], xy[:, 1], **options)


def draw_slip_track(axes: Axes, points: FloatArray, slip: FloatArray, norm: Normalize) -> LineCollection:
    """A contact track (T, 3) coloured by its slip speed (T,) [m/s]."""
    segments = np.stack([points[:-1, :2], points[1:, :2]], axis=1)
    track = LineCollection(list(segments), cmap=style.SLIP, norm=norm, linewidths=2.0, zorder=3, capstyle="round")
    track.set_array(0.5 * (slip[1:] + slip[:-1]))
    axes.add_collection(track)
    return track


def draw_vehicle(axes: Axes, run: Run, row: int, *, colour: str = style.INK, alpha: float = 1.0) -> None:
    """The wheels of a vehicle as it stands, each turned as it is steered, and the lines that join them."""
    vehicle = run.vehicle
    R_world_frame, p_world_frame = frame_poses(vehicle, run.state[row])
    centres = p_world_frame[vehicle.arrays.wheel]
    body = p_world_frame[0]
    for w, frame in enumerate(vehicle.arrays.wheel):
        shape = vehicle.frames[int(frame)]
        radius = shape.radius or 0.0
        half_width = 0.5 * (shape.width or 0.4 * radius)
        ahead = np.cross(R_world_frame[frame][:, 1], (0.0, 0.0, 1.0))[:2]
        ahead = ahead / max(float(np.hypot(*ahead)), 1e-9)
        across = np.array([-ahead[1], ahead[0]])
        corners = [
            centres[w, :2] + s * radius * ahead + t * half_width * across
            for s, t in ((1, 1), (1, -1), (-1, -1), (-1, 1))
        ]
        axes.plot(
            [body[0], centres[w, 0]], [body[1], centres[w, 1]], color=colour, lw=1.0, alpha=0.55 * alpha, zorder=5
        )
        axes.add_patch(
            Polygon(corners, closed=True, facecolor=colour, edgecolor="white", lw=0.5, alpha=alpha, zorder=6)
        )
    axes.plot(*body[:2], marker="o", ms=3.5, color=colour, alpha=alpha, zorder=6)
