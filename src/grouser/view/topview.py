"""The top view: shaded ground, paths, contact tracks and the vehicle's wheels where they stand."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import Normalize, to_rgba
from matplotlib.patches import Patch, Polygon

from grouser.checks import FloatArray
from grouser.kinematics import frame_poses
from grouser.terrain import Terrain
from grouser.view import style
from grouser.view.scene_ground import Box
from grouser.view.scene_ground import surroundings as surroundings

if TYPE_CHECKING:
    from grouser.simulation import Run

NODES = 360
"""Ground samples along the longer side of a picture."""
SOIL_TINT = 0.2
"""How strongly soils tint the ground, a share: paths on it stay readable."""
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
    _draw_soils(axes, ground, box, (nx, ny))
    axes.set_xlim(xmin, xmax)
    axes.set_ylim(ymin, ymax)
    return image


def _draw_soils(axes: Axes, ground: Terrain, box: Box, nodes: tuple[int, int]) -> None:
    """Tint the soils of a ground, at the middles of pixels of a box."""
    if ground.soils is None:
        return
    x, y = (
        low + (high - low) * (np.arange(n) + 0.5) / n for low, high, n in zip(box[::2], box[1::2], nodes, strict=True)
    )
    found = ground.soil(x[None, :], y[:, None])
    tint = np.zeros((*found.shape, 4))
    for soil, colour in zip(ground.soils.soils, soil_colours(), strict=False):
        tint[found == soil.kind] = to_rgba(colour, SOIL_TINT)
    axes.imshow(tint, origin="lower", extent=box, interpolation="nearest", zorder=0.05)


def soil_colours() -> Iterator[str]:
    """Colours of soils in their order."""
    return cycle(style.SOILS)


def soil_patches(ground: Terrain | None) -> list[Patch]:
    """Entries of a legend: the soils of a ground by name."""
    if ground is None or ground.soils is None:
        return []
    return [
        Patch(facecolor=to_rgba(colour, 2.0 * SOIL_TINT), label=style.plain(soil.name))
        for soil, colour in zip(ground.soils.soils, soil_colours(), strict=False)
    ]


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
