"""Smooth surfaces that roll on each other: their frames and their metric, curvature and torsion forms, R §16.3.1.

A chart (a, b) ↦ p(a, b) gives a surface its tangent frame e₁ along ∂p/∂a, e₂ = n × e₁ with the outward normal n.
Charts need not be orthogonal (that of a ground is not), so the metric form M is upper triangular. All functions take
arrays of places too; "..." is their shape, () for one place.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from grouser.checks import FloatArray, instance, positive
from grouser.errors import SimulationError
from grouser.terrain.ground import Terrain


class Forms(NamedTuple):
    """A surface at places of its chart; convex is positive."""

    point: FloatArray
    """p [m], (..., 3)."""
    frame: FloatArray
    """Columns e₁, e₂ and the outward normal n, (..., 3, 3), a right-handed orthonormal frame."""
    metric: FloatArray
    """M (..., 2, 2) [m per unit of the chart]: the point moves by M (ȧ, ḃ) along (e₁, e₂)."""
    curvature: FloatArray
    """K (..., 2, 2) [1/m], symmetric: the normal turns by K ξ along (e₁, e₂) where the point moves by ξ."""
    torsion: FloatArray
    """T (..., 2) [1/m]: e₁ turns towards e₂ by T ξ."""


class Surface(ABC):
    """A smooth surface with outward normal ∂p/∂a × ∂p/∂b."""

    @abstractmethod
    def derivatives(self, a: ArrayLike, b: ArrayLike) -> FloatArray:
        """Rows p [m], p_a, p_b, p_aa, p_ab, p_bb at places of the chart, (..., 6, 3)."""

    def forms(self, a: ArrayLike, b: ArrayLike) -> Forms:
        """Point [m], frame and forms at places of the chart."""
        rows = self.derivatives(a, b)
        first, second = np.linalg.norm(rows[..., 1, :], axis=-1), np.linalg.norm(rows[..., 2, :], axis=-1)
        area = np.linalg.norm(np.cross(rows[..., 1, :], rows[..., 2, :]), axis=-1)
        pole = ~(area > 1e-9 * np.maximum(first, second) ** 2)
        if pole.any():
            at = [float(np.broadcast_to(c, pole.shape)[pole][0]) for c in (a, b)]
            raise SimulationError(f"{self}: ({at[0]:g}, {at[1]:g}) is a pole of the chart; start elsewhere")
        return forms_of(rows)


def forms_of(derivatives: FloatArray) -> Forms:
    """Forms of a surface from its `derivatives` (..., 6, 3)."""
    p, p_a, p_b, p_aa, p_ab, p_bb = np.moveaxis(derivatives, -2, 0)
    across = np.cross(p_a, p_b)
    length = np.linalg.norm(p_a, axis=-1)
    e1, n = p_a / length[..., None], across / np.linalg.norm(across, axis=-1, keepdims=True)
    e2 = np.cross(n, e1)
    metric = _matrix(length, dot(e1, p_b), np.zeros_like(length), dot(e2, p_b))
    inverse = np.linalg.inv(metric)
    # n · p_i = 0 everywhere on the surface, so ∂n/∂i · p_j = −n · p_ij.
    second = -_matrix(dot(n, p_aa), dot(n, p_ab), dot(n, p_ab), dot(n, p_bb))
    turning = np.stack((dot(e2, p_aa), dot(e2, p_ab)), axis=-1) / length[..., None]
    return Forms(
        point=p,
        frame=np.stack((e1, e2, n), axis=-1),
        metric=metric,
        curvature=np.swapaxes(inverse, -1, -2) @ second @ inverse,
        torsion=np.einsum("...i,...ij->...j", turning, inverse),
    )


def dot(a: FloatArray, b: FloatArray) -> FloatArray:
    """a · b of vectors along the last axis."""
    total: FloatArray = np.sum(a * b, axis=-1)
    return total


def _matrix(a: FloatArray, b: FloatArray, c: FloatArray, d: FloatArray) -> FloatArray:
    return np.stack((a, b, c, d), axis=-1).reshape(*np.shape(a), 2, 2)


def _round(u: ArrayLike, v: ArrayLike) -> FloatArray:
    """Unit sphere (cos v sin u, sin v, cos v cos u): rows of `Surface.derivatives`."""
    u, v = np.broadcast_arrays(np.asarray(u, dtype=np.float64), np.asarray(v, dtype=np.float64))
    su, cu, sv, cv, zero = np.sin(u), np.cos(u), np.sin(v), np.cos(v), np.zeros(u.shape)
    rows = (
        (cv * su, sv, cv * cu),
        (cv * cu, zero, -cv * su),
        (-sv * su, cv, -sv * cu),
        (-cv * su, zero, -cv * cu),
        (-sv * cu, zero, sv * su),
        (-cv * su, -sv, -cv * cu),
    )
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def torus_derivatives(rim: ArrayLike, tyre: ArrayLike, u: ArrayLike, v: ArrayLike) -> FloatArray:
    """Rows of `Surface.derivatives` of tori: a tube of radius `tyre` around a circle of radius `rim` [m]."""
    # The circle of the rim is that of the sphere at v = 0, where nothing depends on v.
    circle = _round(u, np.zeros(np.shape(v))) * np.array([1.0, 1.0, 0.0, 1.0, 0.0, 0.0])[:, None]
    rows: FloatArray = np.asarray(rim)[..., None, None] * circle + np.asarray(tyre)[..., None, None] * _round(u, v)
    return rows


@dataclass(frozen=True)
class Torus(Surface):
    """A wheel with a round tyre; axle along y. u runs around the wheel, v across the tyre; u = π is its lowest point.

    M = diag(R + r cos v, r), K = diag(cos v/(R + r cos v), 1/r), T M = (sin v, 0).
    """

    rim_radius: float
    """R [m] > 0: of the circle in the middle of the tyre."""
    tyre_radius: float
    """r [m] > 0: of the tyre's cross-section, at most R. The wheel's outer radius is R + r."""

    def __post_init__(self) -> None:
        rim = positive(self.rim_radius, "torus rim_radius")
        tyre = positive(self.tyre_radius, "torus tyre_radius")
        if tyre > rim:
            raise SimulationError(
                f"torus tyre_radius: {tyre:g} m is larger than the rim radius {rim:g} m, and the tyre would pass "
                "through itself; it must be at most the rim radius"
            )
        object.__setattr__(self, "rim_radius", rim)
        object.__setattr__(self, "tyre_radius", tyre)

    def derivatives(self, a: ArrayLike, b: ArrayLike) -> FloatArray:
        return torus_derivatives(self.rim_radius, self.tyre_radius, a, b)


@dataclass(frozen=True)
class Ellipsoid(Surface):
    """p = (a cos v sin u, b sin v, c cos v cos u), so that v = 0 is its middle and u = π its lowest point.

    Its chart has poles at v = ±π/2, on the y axis.
    """

    a: float
    """Half axis along x [m] > 0."""
    b: float
    """Half axis along y [m] > 0."""
    c: float
    """Half axis along z [m] > 0."""

    def __post_init__(self) -> None:
        for name in ("a", "b", "c"):
            object.__setattr__(self, name, positive(getattr(self, name), f"ellipsoid {name}"))

    def derivatives(self, a: ArrayLike, b: ArrayLike) -> FloatArray:
        rows: FloatArray = _round(a, b) * np.array([self.a, self.b, self.c])
        return rows


@dataclass(frozen=True)
class Sphere(Surface):
    """A ball; its chart is that of an ellipsoid with equal axes. M = a diag(cos v, 1), K = 1/a, T M = (sin v, 0)."""

    radius: float
    """[m] > 0."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", positive(self.radius, "sphere radius"))

    def derivatives(self, a: ArrayLike, b: ArrayLike) -> FloatArray:
        return _round(a, b) * self.radius


@dataclass(frozen=True)
class GroundSurface(Surface):
    """A twice-differentiable terrain with chart (x, y) ↦ (x, y, h(x, y)); outward is up."""

    terrain: Terrain
    """The ground."""

    def __post_init__(self) -> None:
        instance(self.terrain, Terrain, "ground", "make one with gr.terrain")
        _ = self.terrain.curvature  # refuses ground with edges

    def derivatives(self, a: ArrayLike, b: ArrayLike) -> FloatArray:
        x, y = np.broadcast_arrays(np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64))
        rows = np.zeros((*x.shape, 6, 3))
        rows[..., 0, 0], rows[..., 0, 1] = x, y
        rows[..., 1, 0] = rows[..., 2, 1] = 1.0
        rows[..., 2] = self.terrain.second_derivatives(np.column_stack((x.ravel(), y.ravel()))).reshape(*x.shape, 6)
        return rows
