"""Picture of a map: hillshade, contours, holes, a scale bar."""

import math

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LightSource, LinearSegmentedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from grouser.checks import FloatArray
from grouser.errors import TerrainError
from grouser.terrain.ground import Terrain
from grouser.view import style
from grouser.view.scene_ground import CONTOURS, pixel_centres, round_step

PIXELS = 900
"""Heights along the longer side."""
HEIGHTS = LinearSegmentedColormap.from_list(
    "heights", ["#46776A", "#93AE86", "#DDD8AE", "#D3AE7B", "#96694F", "#F1EDE8"]
)
"""From valleys to tops."""
HOLE = style.VERMILLION
"""Where there is no data."""
SIZE = 7.0
"""Longer side of the map in the picture [inch]."""


def plot_terrain(ground: Terrain, path: style.File = None, *, title: str = "") -> Figure:
    """A map from above, shaded as if lit from the north-west, with contours and the places that have no ground.

    Its heights are looked up at about 900 places along the longer side. Saved if a path is given (.png, .svg or .pdf).
    """
    xmin, xmax, ymin, ymax = ground.bounds
    if not all(map(math.isfinite, ground.bounds)):
        raise TerrainError(f"{ground.description or ground.kind}: has no edge, so it cannot be drawn whole")
    width, height = xmax - xmin, ymax - ymin
    longest = max(width, height)
    nx, ny = (max(int(PIXELS * side / longest), 16) for side in (width, height))
    x, y = pixel_centres(ground.bounds, (nx, ny))
    sample = ground.sample(x[None, :], y[:, None])
    z = np.ma.masked_where(~sample.inside, sample.height)
    scale = SIZE / longest
    with style.picture(path, max(width * scale, 2.5) + 1.9, max(height * scale, 1.5) + 1.0, title=title) as figure:
        axes = figure.subplots()
        axes.set(xlim=(xmin, xmax), ylim=(ymin, ymax), aspect="equal", facecolor=HOLE)
        axes.grid(False)
        if z.count():
            _draw(axes, x, y, z)
        if not sample.inside.all():
            hole = Patch(facecolor=HOLE, label=_holes(ground, sample.inside))
            figure.legend(handles=[hole], loc="outside lower right", frameon=False)
        _scale_bar(axes, ground.bounds)
        style.label(axes, x="x [m]", y="y [m]", title=_title(ground))
    return figure


def _draw(axes: Axes, x: FloatArray, y: FloatArray, z: np.ma.MaskedArray) -> None:
    low, high = float(z.min()), float(z.max())
    extent = (1.5 * x[0] - 0.5 * x[1], 1.5 * x[-1] - 0.5 * x[-2], 1.5 * y[0] - 0.5 * y[1], 1.5 * y[-1] - 0.5 * y[-2])
    norm = Normalize(low, max(high, low + 1e-3))
    filled = z.filled(float(z.mean()))
    colours = HEIGHTS(norm(filled))
    dx, dy = x[1] - x[0], y[1] - y[0]
    steep = float(np.percentile(np.hypot(*np.gradient(filled, dy, dx)), 95.0))
    if steep > 1e-6:
        # Exaggerated so that gentle hills are seen, too.
        light = LightSource(azdeg=315.0, altdeg=45.0)
        shade = light.hillshade(filled, vert_exag=min(0.7 / steep, 20.0), dx=dx, dy=-dy)
        colours[..., :3] *= (0.62 + 0.5 * shade)[..., None]
        colours = np.clip(colours, 0.0, 1.0)
    colours[..., 3] = ~np.ma.getmaskarray(z)
    axes.imshow(colours, origin="lower", extent=extent, interpolation="nearest", zorder=0)
    if high - low > 1e-4:
        step = round_step((high - low) / CONTOURS)
        levels = step * np.arange(math.ceil(low / step), math.floor(high / step) + 1)
        if len(levels):
            lines = axes.contour(x, y, z, levels=levels, colors="#2B2620", linewidths=0.5, alpha=0.55, zorder=1)
            axes.clabel(lines, levels[::2], fontsize=6, fmt=lambda value: f"{value:.10g}")
    style.draw_bar(axes, ScalarMappable(norm, HEIGHTS), "height [m]", left=1.02, width=0.02)


def _title(ground: Terrain) -> str:
    """What it is, and how large."""
    words = ground.description or ground.kind
    if "heights" in ground.settings:
        (nx, ny), axis = np.shape(ground.settings["heights"]), ground.settings["x"]
        words += f": {nx} × {ny} nodes of {(axis[-1] - axis[0]) / (nx - 1):.4g} m"
    return words


def _holes(ground: Terrain, inside: np.ndarray) -> str:
    """How much has no data."""
    relief = ground.relief
    share = 1.0 - inside.mean() if relief is None else relief.holes / np.size(ground.settings["heights"])
    return f"no data ({100.0 * share:.2g} %)"


def _scale_bar(axes: Axes, bounds: tuple[float, float, float, float]) -> None:
    """A bar of a round length in the lower left corner."""
    xmin, xmax, ymin, ymax = bounds
    length = round_step(0.2 * (xmax - xmin))
    side = max(xmax - xmin, ymax - ymin)
    x, y, thick = xmin + 0.03 * side, ymin + 0.03 * side, 0.008 * side
    corner = (x - 0.015 * side, y - 0.015 * side)
    axes.add_patch(Rectangle(corner, length + 0.03 * side, 0.065 * side, fc="white", alpha=0.8, zorder=3))
    axes.add_patch(Rectangle((x, y), length, thick, fc=style.INK, zorder=4))
    words = f"{length:g} m" if length < 1000.0 else f"{length / 1000.0:g} km"
    axes.text(x + 0.5 * length, y + 0.012 * side, words, ha="center", va="bottom", fontsize=8, zorder=4)
