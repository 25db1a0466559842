"""The top view: shaded ground, paths, contact tracks and the vehicle's wheels where they stand."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.patches import Polygon

from grouser.kinematics import frame_poses
from grouser.terrain import Terrain
from grouser.view import style
from grouser.view.scene_ground import Box

if TYPE_CHECKING:
    from grouser.simulation import Run

NODES = 360
"""Ground samples along the longer side of a picture."""
LIGHT = np.array([-0.5, 0.5, 0.7]) / math.sqrt(0.99)
"""Where the light comes from: the upper left, as on maps."""


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
    return image


def draw_bar(axes: Axes, source: Any, words: str) -> None:
    """A colour bar exactly as tall as the view."""
    bar = axes.figure.colorbar(source, cax=axes.inset_axes((1.012, 0.0, 0.011, 1.0)))
    bar.ax.grid(False)
    bar.set_label(words)
    bar.outline.set_visible(False)


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
