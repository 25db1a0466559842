"""The ground a vehicle drives on: a height and a slope at every place of a map."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from grouser._kernels.law import Law
from grouser._kernels.terrain.ground import EDGED, NO_SOILS, SMOOTH, Ground, sample_ground
from grouser.checks import Checker, FloatArray
from grouser.errors import TerrainError
from grouser.law import BoundLaw
from grouser.pictures import draw

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from grouser.terrain.relief import Relief
    from grouser.terrain.soils import Soils
    from grouser.terrain.source import Source

checked = Checker(TerrainError)

Bounds = tuple[float, float, float, float]
EVERYWHERE: Bounds = (-math.inf, math.inf, -math.inf, math.inf)


class GroundSample(NamedTuple):
    """The ground at points of shape (...); where `inside` is False they are 0, level, and not valid."""

    height: FloatArray
    """World z of the ground [m], shape (...)."""
    gradient: FloatArray
    """∂height/∂x and ∂height/∂y [m/m], shape (..., 2)."""
    normal: FloatArray
    """Unit vector normal to the ground, up, in world axes, shape (..., 3)."""
    inside: npt.NDArray[np.bool_]
    """Whether the map covers the point, shape (...)."""


@dataclass(frozen=True, eq=False, repr=False)
class Terrain:
    """A ground made by one of the functions of `grouser.terrain`; immutable."""

    kind: str
    """Name of the function of `grouser.terrain` that makes it again from its settings and children."""
    law: Law
    """The compiled ground law."""
    par: FloatArray
    """Parameters of the law, in SI units; read-only."""
    bounds: Bounds = EVERYWHERE
    """(xmin, xmax, ymin, ymax) of a rectangle that holds the map [m]; infinite where it does not end."""
    description: str = ""
    """Description for people."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Keyword arguments that make it again: numbers, strings and arrays."""
    children: tuple[Terrain, ...] = ()
    """The terrains it is made of, kept alive because `par` holds their addresses."""
    second_law: Law | None = None
    """The same ground with its second derivatives (see `curvature`); None where it has edges."""
    soils: Soils | None = None
    """Its soils by place, see `grouser.terrain.soils`; None: models use their own laws everywhere."""
    source: Source | None = None
    """The file it was read from, and the larger map of which it is a part; None where there is neither."""

    def __post_init__(self) -> None:
        par = np.ascontiguousarray(self.par, dtype=np.float64)
        par.flags.writeable = False
        object.__setattr__(self, "par", par)
        object.__setattr__(self, "settings", MappingProxyType(dict(self.settings)))

    def __repr__(self) -> str:
        return f"<Terrain {self.kind}: {self.description or self.kind}>"

    def __reduce__(self) -> tuple[Any, ...]:
        # Addresses are not valid in another process, so a copy there is made again from its settings.
        from grouser.terrain.archive import rebuild, require_settings

        require_settings(self)
        return rebuild, (self.kind, dict(self.settings), self.children, self.description, self.source)

    @cached_property
    def bound(self) -> BoundLaw:
        """The ground law; valid while this terrain is alive."""
        return BoundLaw(self.law.address, self.par, (self.law, self.children))

    @property
    def has_edges(self) -> bool:
        """Whether its height or slope may jump: the contact search then looks more closely."""
        return self.kind in ("mesh", "ramp", "stack") or any(child.has_edges for child in self.children)

    @cached_property
    def is_folded(self) -> bool:
        """Whether a wheel may touch it at two places, as in a groove: it has edges, or is a formula, or a grid whose
        slope changes by more than 25° from one cell to the next. Not where it is steeper than 70° somewhere: there a
        wheel is held by the face it ran into."""
        if self.kind == "grid":
            assert self.relief is not None
            folded = self.relief.folded
        else:
            folded = self.has_edges or self.kind == "function" or any(child.is_folded for child in self.children)
        if not folded:
            return False
        from grouser.terrain.relief import steepest

        return steepest(self).degrees <= 70.0

    @property
    def notes(self) -> tuple[str, ...]:
        """What was assumed while its maps were read, such as a number taken for no data; a sentence each."""
        own = () if self.source is None else self.source.notes
        return own + tuple(note for child in self.children for note in child.notes)

    @cached_property
    def relief(self) -> Relief | None:
        """Lowest, highest and steepest nodes of a grid or spline, and its holes; None of other kinds of ground."""
        if "heights" not in self.settings:
            return None
        from grouser.terrain.relief import relief

        heights, x, y = (np.asarray(self.settings[name]) for name in ("heights", "x", "y"))
        return relief(heights, x, y)

    @cached_property
    def kernel(self) -> Ground:
        """The ground as the engine takes it; valid while this terrain is alive."""
        many = 0 if self.law.many is None else self.law.many.address
        fields = NO_SOILS if self.soils is None else self.soils.fields
        made = Ground(*self.bound.pair, many, EDGED if self.has_edges else SMOOTH, self.is_folded, *fields)
        made.keep = self.soils
        return made

    @cached_property
    def curvature(self) -> BoundLaw:
        """The ground with its second derivatives, as the engine of rolling takes it; TerrainError if it has edges.

        Planes, slopes, splines, bicubic grids and formulas have one, and these moved. That of a bicubic grid
        jumps from cell to cell; a formula is assumed to be smooth.
        """
        if self.kind == "soils" or (self.kind == "stack" and len(self.children) == 1):
            return self.children[0].curvature
        if self.second_law is None:
            raise TerrainError(
                f"{self.description or self.kind} has edges, rolling without slip needs a twice-differentiable "
                'ground; use gr.terrain.spline(...) or grid(..., interpolation="bicubic")'
            )
        if self.kind != "moved":
            return BoundLaw(self.second_law.address, self.par, self.second_law)
        child = self.children[0].curvature
        par = np.array([*child.pair, *self.par[2:]], dtype=np.float64)
        return BoundLaw(self.second_law.address, par, (self.second_law, child))

    def second_derivatives(self, xy: npt.ArrayLike) -> FloatArray:
        """(h, h_x, h_y, h_xx, h_xy, h_yy) at points xy (n, 2) [m], shape (n, 6); TerrainError outside the map."""
        points = checked.array(xy, "xy", (None, 2))
        curvature = self.curvature
        out = np.zeros((len(points), 6))
        sample_ground(*curvature.pair, points, out)
        inside = np.isfinite(out[:, 0])
        if not inside.all():
            raise self._no_ground(*points[int(np.argmin(inside))])
        return out

    def sample(self, x: npt.ArrayLike, y: npt.ArrayLike) -> GroundSample:
        """Height, gradient and normal at points (x, y) [m], arrays of any shapes that broadcast together."""
        xy, shape = _points(x, y)
        out = np.zeros((len(xy), 3))
        sample_ground(*self.bound.pair, xy, out)
        inside = np.isfinite(out[:, 0])
        out[~inside] = 0.0
        gradient = out[:, 1:]
        normal = np.column_stack((-gradient, np.ones(len(out))))
        normal /= np.sqrt(np.einsum("ij,ij->i", normal, normal))[:, None]
        return GroundSample(
            height=out[:, 0].reshape(shape),
            gradient=gradient.reshape(*shape, 2),
            normal=normal.reshape(*shape, 3),
            inside=inside.reshape(shape),
        )

    def height(self, x: npt.ArrayLike, y: npt.ArrayLike) -> FloatArray:
        """World z of the ground [m] at points (x, y) [m]; TerrainError outside the map."""
        return self._covered(x, y).height

    def gradient(self, x: npt.ArrayLike, y: npt.ArrayLike) -> FloatArray:
        """∂height/∂x, ∂height/∂y, shape (..., 2), at points (x, y) [m]; TerrainError outside the map."""
        return self._covered(x, y).gradient

    def normal(self, x: npt.ArrayLike, y: npt.ArrayLike) -> FloatArray:
        """Unit normal, up, shape (..., 3), at points (x, y) [m]; TerrainError outside the map."""
        return self._covered(x, y).normal

    def contains(self, x: npt.ArrayLike, y: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """Whether the map covers points (x, y) [m]."""
        return self.sample(x, y).inside

    def soil(self, x: npt.ArrayLike, y: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """Class of soil at points (x, y) [m], −1 where a model uses its own law; shapes broadcast together."""
        from grouser._kernels.terrain.soils import sample_soils

        xy, shape = _points(x, y)
        found = np.zeros(len(xy), dtype=np.int64)
        kinds = [-1]
        if self.soils is not None:
            sample_soils(self.kernel, xy, found)
            kinds += [soil.kind for soil in self.soils.soils]
        return np.array(kinds)[found].reshape(shape)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a .npz file that `grouser.terrain.read` reads; replaced whole or not at all."""
        from grouser.terrain.archive import save

        save(self, path)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """The map from above: hillshade, contours, holes, a scale bar; saved if a path is given."""
        figure: Figure = draw("terrain", self, path)
        return figure

    def _covered(self, x: npt.ArrayLike, y: npt.ArrayLike) -> GroundSample:
        sample = self.sample(x, y)
        if not sample.inside.all():
            xy, _ = _points(x, y)
            raise self._no_ground(*xy[int(np.argmin(sample.inside.ravel()))])
        return sample

    def _no_ground(self, x: float, y: float) -> TerrainError:
        from grouser.terrain.source import covers

        return TerrainError(f"no ground at (x, y) = ({x:.10g}, {y:.10g}) m; the map lies within {covers(self.bounds)}")


def rectangle(bounds: Any) -> Bounds:
    """A rectangle that a user gave, (xmin, xmax, ymin, ymax) [m]."""
    xmin, xmax, ymin, ymax = checked.numbers(bounds, 4, "bounds")
    if not (xmin < xmax and ymin < ymax):
        raise TerrainError(f"bounds: ({xmin:g}, {xmax:g}, {ymin:g}, {ymax:g}) are not (xmin, xmax, ymin, ymax) [m]")
    return xmin, xmax, ymin, ymax


def _points(x: npt.ArrayLike, y: npt.ArrayLike) -> tuple[FloatArray, tuple[int, ...]]:
    """Points as one (n, 2) array, and the shape they came in."""
    ax, ay = checked.real(x, "x"), checked.real(y, "y")
    try:
        bx, by = np.broadcast_arrays(ax, ay)
    except ValueError:
        raise TerrainError(
            f"x has shape {ax.shape} and y has shape {ay.shape}; they must be equal or broadcast together"
        ) from None
    checked.finite(ax, "x")
    checked.finite(ay, "y")
    return np.column_stack((bx.ravel(), by.ravel())), bx.shape
