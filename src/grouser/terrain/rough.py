"""Random rough ground."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from grouser.checks import FloatArray
from grouser.errors import TerrainError
from grouser.terrain.grid import INTERPOLATIONS, MOST_NODES, grid, spline
from grouser.terrain.ground import Terrain, checked

REACH = 2.5
"""Where the filter is cut off, in correlation lengths: exp(−2 · 2.5²) is 4e-6."""
MOST_DEFAULT_CELLS = 1000


def rough(
    rms: float,
    length: float,
    seed: int,
    *,
    size: float | tuple[float, float] | None = None,
    spacing: float | None = None,
    center: tuple[float, float] = (0.0, 0.0),
    interpolation: str = "bilinear",
) -> Terrain:
    """Gaussian random ground with autocorrelation rms² exp(−d²/ℓ²); not periodic.

    White noise is filtered by exp(−2d²/ℓ²) on a larger grid, of which the map is cut out; then its mean over
    the nodes is made zero and its RMS exactly `rms`. A seed gives the same ground everywhere, up to rounding.

    rms: root mean square height of the nodes [m], ≥ 0.
    length: correlation length ℓ, at which the autocorrelation has fallen to 1/e [m].
    seed: whole number ≥ 0.
    size: side of the square map, or its sides along x and y [m]; default max(20 m, 50 ℓ), at most 1000 cells.
    spacing: of the nodes [m], at most ℓ/2, by default ℓ/8; made smaller so that a whole number of cells fits.
    center: middle of the map (x, y) [m].
    interpolation: as in `grid`, or "spline" for a C² surface through the same nodes.
    """
    rms = checked.number(rms, "rms", low=0.0, high=1e4)
    length = checked.number(length, "length", low=1e-4, high=1e6)
    interpolation = checked.choice(interpolation, "interpolation", (*INTERPOLATIONS, "spline"))
    seed = checked.count(seed, "seed", least=0, most=2**63 - 1)
    spacing = length / 8.0 if spacing is None else checked.number(spacing, "spacing", low=1e-5, high=0.5 * length)
    if size is None:
        size = min(max(20.0, 50.0 * length), MOST_DEFAULT_CELLS * spacing)
    sides = _pair(size, "size", low=2.0 * spacing)
    middle = _pair(center, "center")
    cells = [int(np.ceil(side / spacing - 1e-9)) for side in sides]
    steps = [side / n for side, n in zip(sides, cells, strict=True)]
    margins = [int(np.ceil(REACH * length / step)) for step in steps]
    padded = [n + 1 + 2 * margin for n, margin in zip(cells, margins, strict=True)]
    if padded[0] * padded[1] > MOST_NODES:
        raise TerrainError(
            f"rough ground of {sides[0]:g} × {sides[1]:g} m, nodes {spacing:g} m apart, needs "
            f"{padded[0] * padded[1]} nodes; at most {MOST_NODES} fit: use a smaller size or larger spacing"
        )
    heights = _filtered_noise(seed, padded, steps, length)
    heights = heights[margins[0] : margins[0] + cells[0] + 1, margins[1] : margins[1] + cells[1] + 1]
    heights = heights - heights.mean()
    heights *= rms / np.sqrt(np.mean(heights * heights))
    x, y = (c + np.linspace(-0.5 * side, 0.5 * side, n + 1) for c, side, n in zip(middle, sides, cells, strict=True))
    description = f"rough ground, RMS {rms:g} m, correlation length {length:g} m, seed {seed}"
    if interpolation == "spline":
        return spline(heights, x, y, description=description)
    return grid(heights, x, y, interpolation=interpolation, description=description)


def _filtered_noise(seed: int, shape: list[int], steps: list[float], length: float) -> FloatArray:
    """White noise convolved, periodically over `shape`, with exp(−2d²/ℓ²)."""
    noise = np.random.Generator(np.random.PCG64(seed)).standard_normal(shape)
    spectrum = np.fft.rfft2(noise)
    for axis, (n, step) in enumerate(zip(shape, steps, strict=True)):
        d = step * np.minimum(np.arange(n), n - np.arange(n))
        kernel = np.exp(-2.0 * (d / length) ** 2)
        spectrum *= np.fft.fft(kernel)[:, None] if axis == 0 else np.fft.rfft(kernel)
    return np.fft.irfft2(spectrum, s=tuple(shape))


def _pair(value: Any, name: str, low: float = -math.inf) -> tuple[float, float]:
    """One size for both axes, or two numbers."""
    pair = (value, value) if name == "size" and np.ndim(value) == 0 else value
    x, y = checked.numbers(pair, 2, f"{name}, along x and y [m]")
    return checked.number(x, name, low=low), checked.number(y, name, low=low)
