"""A map of ground parameters by place: mean and covariance of slip or friction on square cells."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from grouser.checks import FloatArray, set_checked
from grouser.errors import TerrainError, prefixed
from grouser.files import read_npz, write_npz
from grouser.pictures import draw
from grouser.terrain.ground import checked
from grouser.terrain.soil_raster import SoilRaster

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SCHEMA = "grouser/ground-map@1"
MOST_BYTES = 500_000_000
"""What the arrays of a map may take in memory."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class GroundMap:
    """Ground parameters by place, with their uncertainty; far from where it was driven they are those of any ground."""

    names: tuple[str, ...]
    """Of the n parameters, such as slip.a10 or contact.friction."""
    mean: FloatArray
    """Parameters at the middle of each cell, (nx, ny, n), in their units: mean[i, j] is i cells along x, j along y."""
    covariance: FloatArray
    """Their covariance, (nx, ny, n, n), products of their units."""
    origin: tuple[float, float]
    """x and y of the corner of the first cell with the smallest x and y [m], in the frame of the poses."""
    cell: float
    """Side of a cell [m], > 0."""
    outside_mean: FloatArray
    """Parameters of any ground, (n,), in their units."""
    outside_covariance: FloatArray
    """Covariance of the parameters of any ground, (n, n), products of their units."""
    length: float
    """Distance over which the correlation of the ground falls to 1/e [m]."""
    path: FloatArray
    """Where it was driven, (k, 2) [m]."""

    def __post_init__(self) -> None:
        n = len(self.names)
        shapes = {
            "mean": (*np.shape(self.mean)[:2], n),
            "covariance": (*np.shape(self.mean)[:2], n, n),
            "outside_mean": (n,),
            "outside_covariance": (n, n),
            "path": (len(self.path), 2),
        }
        for name, shape in shapes.items():
            value = np.array(getattr(self, name), dtype=np.float64, order="C")
            if value.shape != shape or (name == "mean" and not value.size) or not np.isfinite(value).all():
                raise TerrainError(f"ground map: {name} has shape {value.shape}; it needs finite numbers (nx, ny, {n})")
            object.__setattr__(self, name, value)
        object.__setattr__(self, "names", tuple(str(name) for name in self.names))
        set_checked(self, "ground map", checked.numbers, "origin", count=2)
        set_checked(self, "ground map", checked.number, "cell", "length", low=1e-6, high=1e6)

    def __repr__(self) -> str:
        nx, ny, _ = self.mean.shape
        return f"<GroundMap {nx} × {ny} cells of {self.cell:g} m: {', '.join(self.names)}>"

    @property
    def extent(self) -> tuple[float, float, float, float]:
        """Smallest and largest x, smallest and largest y [m]."""
        (x, y), (nx, ny, _) = self.origin, self.mean.shape
        return x, x + nx * self.cell, y, y + ny * self.cell

    @property
    def sigma(self) -> FloatArray:
        """One-sigma uncertainties of the parameters, (nx, ny, n), in their units."""
        return np.asarray(np.sqrt(np.diagonal(self.covariance, axis1=2, axis2=3)))

    def index(self, name: str) -> int:
        """Which of its parameters a name is."""
        if name not in self.names:
            raise TerrainError(f"the ground map has no {name!r:.40}; it has {', '.join(self.names)}")
        return self.names.index(name)

    def at(self, x: ArrayLike, y: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Parameters (…, n) and their covariance (…, n, n) at places x, y [m]; outside those of any ground.

        Bilinear between the middles of cells.
        """
        px, py = np.broadcast_arrays(np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64))
        place = np.stack([px, py], axis=-1)
        if not np.isfinite(place).all():
            raise TerrainError("ground map: a place is not a finite number; give x and y in metres")
        cells = np.array(self.mean.shape[:2])
        at = (place - self.origin) / self.cell
        known = np.asarray(((at >= 0.0) & (at <= cells)).all(axis=-1))
        at = np.clip(at - 0.5, 0.0, cells - 1.0)
        low = np.minimum(at.astype(np.int64), np.maximum(cells - 2, 0))
        high, share = np.minimum(low + 1, cells - 1), at - low
        mean = np.zeros((*px.shape, len(self.names)))
        covariance = np.zeros((*px.shape, len(self.names), len(self.names)))
        for i, wi in ((low, 1.0 - share[..., 0]), (high, share[..., 0])):
            for j, wj in ((low, 1.0 - share[..., 1]), (high, share[..., 1])):
                weight = (wi * wj)[..., None]
                mean += weight * self.mean[i[..., 0], j[..., 1]]
                covariance += weight[..., None] * self.covariance[i[..., 0], j[..., 1]]
        mean = np.where(known[..., None], mean, self.outside_mean)
        return mean, np.where(known[..., None, None], covariance, self.outside_covariance)

    def classes(self, name: str, count: int = 4) -> tuple[SoilRaster, FloatArray]:
        """Soil classes by one parameter, and the mean of all parameters in each class, (count, n).

        Classes are quantiles of the parameter over the cells where the map has less than 0.8 of the sigma of any
        ground; all others, and what lies outside the map, have no class: models use their own laws there.
        """
        k = self.index(name)
        count = checked.count(count, "classes of a ground map", least=1, most=50)
        known = self.sigma[..., k] < 0.8 * np.sqrt(self.outside_covariance[k, k])
        if not known.any():
            raise TerrainError(f"ground map: {name} is known nowhere; drive more, or map another parameter")
        values = self.mean[..., k]
        edges = np.quantile(values[known], np.linspace(0.0, 1.0, count + 1)[1:-1])
        found = np.searchsorted(edges, values, side="right")
        present = [c for c in range(count) if (known & (found == c)).any()]
        raster = np.full(values.shape, 255, dtype=np.uint8)
        means = np.empty((len(present), len(self.names)))
        for new, c in enumerate(present):
            chosen = known & (found == c)
            raster[chosen], means[new] = new, self.mean[chosen].mean(axis=0)
        return SoilRaster(classes=raster, origin=self.origin, cell=self.cell, outside=255), means

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a .npz file that `read_ground_map` reads; replaced whole or not at all."""
        # Sigmas need no more than seven digits; covariances are most of the file.
        arrays = {name: getattr(self, name).astype(np.float32 if "cov" in name else np.float64) for name in ARRAYS}
        arrays |= {"names": np.array(self.names), "place": np.array([*self.origin, self.cell, self.length])}
        write_npz(path, "ground map", SCHEMA, arrays, TerrainError)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Each parameter and its sigma over x, y, with the path that was driven; saved to a path."""
        figure: Figure = draw("ground map", self, path)
        return figure


ARRAYS = ("mean", "covariance", "outside_mean", "outside_covariance", "path")


def read_ground_map(path: str | os.PathLike[str]) -> GroundMap:
    """Read a map that `GroundMap.save` wrote (.npz)."""
    values = read_npz(path, TerrainError, schema=SCHEMA, most=MOST_BYTES)
    try:
        x, y, cell, length = values["place"].tolist()
        arrays = {name: values[name] for name in ARRAYS}
        with prefixed(f"{path}: ", TerrainError):
            return GroundMap(names=values["names"].tolist(), origin=(x, y), cell=cell, length=length, **arrays)
    except (KeyError, ValueError, TypeError) as error:
        raise TerrainError(f"{path}: is not a whole ground map ({error!s:.100}); make it again") from None
