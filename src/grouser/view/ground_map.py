"""Pictures of ground maps: each parameter and its sigma over the plane."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from grouser.motion.parameter_table import row_of
from grouser.terrain.ground_map import GroundMap
from grouser.view import style

MOST_ROWS = 3
"""Parameters drawn."""


def plot_ground_map(found: GroundMap, path: style.File = None, *, title: str = "") -> Figure:
    """A row each parameter: its mean and its sigma over x, y, and the path that was driven.

    The mean is paler the closer its sigma is to that of any ground. Of many parameters those that differ most by place,
    in sigmas, are drawn.
    """
    differ = np.ptp(found.mean, axis=(0, 1)) / found.sigma.min(axis=(0, 1))
    rows = np.sort(np.argsort(-differ, kind="stable")[:MOST_ROWS])
    (low_x, high_x), (low_y, high_y) = _shown(found)
    wide = min(max((high_x - low_x) / (high_y - low_y), 0.4), 4.0)
    height = min(3.6, 9.0 / wide)
    with style.picture(path, 2.0 * (height * wide + 1.3), len(rows) * (height + 0.9), title=title) as figure:
        panels = figure.subplots(len(rows), 2, squeeze=False)
        for pair, k in zip(panels, rows.tolist(), strict=True):
            name = found.names[k]
            unit = row_of(name).unit
            shown = "" if unit == "1" else f" [{unit}]"
            mean, sigma = found.mean[..., k], found.sigma[..., k]
            known = np.clip(1.0 - sigma / np.sqrt(found.outside_covariance[k, k]), 0.0, 1.0)
            near = known > 0.3
            limits = (mean[near].min(), mean[near].max()) if near.any() else (mean.min(), mean.max())
            _panel(pair[0], found, mean, limits, f"{name}{shown}", np.clip(2.0 * known, 0.0, 1.0))
            _panel(pair[1], found, sigma, (0.0, float(sigma.max())), f"sigma of {name}{shown}", None)
    return figure


def _panel(
    axes: Axes, found: GroundMap, values: np.ndarray, limits: tuple[float, float], text: str, opaque: np.ndarray | None
) -> None:
    """One raster with its scale and the path."""
    colours = "cividis" if opaque is not None else "Greys"
    image = axes.imshow(values.T, origin="lower", extent=found.extent, cmap=colours, vmin=limits[0], vmax=limits[1])
    scale = axes.figure.colorbar(image, ax=axes, shrink=0.9)
    scale.set_label(style.plain(text))
    if opaque is not None:  # after the scale, which would be as pale
        image.set_alpha(opaque.T)
    x, y = found.path.T
    axes.scatter(x, y, s=1.0, color=style.INK, alpha=0.35, linewidths=0)
    axes.grid(visible=False)
    (low_x, high_x), (low_y, high_y) = _shown(found)
    axes.set(xlim=(low_x, high_x), ylim=(low_y, high_y))
    style.label(axes, x="x [m]", y="y [m]")


def _shown(found: GroundMap) -> np.ndarray:
    """What is drawn, (2, 2) [m]: the path and a correlation length around it, not beyond the map."""
    extent = np.array(found.extent).reshape(2, 2)
    around = np.stack([found.path.min(axis=0) - found.length, found.path.max(axis=0) + found.length], axis=1)
    return np.stack([np.maximum(extent[:, 0], around[:, 0]), np.minimum(extent[:, 1], around[:, 1])], axis=1)
