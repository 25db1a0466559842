"""Smooth surfaces that roll on each other: their frames and their metric, curvature and torsion forms, R §16.3.1.

A chart (a, b) ↦ p(a, b) gives a surface its tangent frame e₁ along ∂p/∂a, e₂ = n × e₁ with the outward normal n.
Charts need not be orthogonal (that of a ground is not), so the metric form M is upper triangular.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from grouser.checks import FloatArray, instance, positive
from grouser.errors import SimulationError
from grouser.terrain.ground import Terrain


class Forms(NamedTuple):
    """A surface at one point of its chart; convex is positive."""

    point: FloatArray
    """p [m], (3,)."""
    frame: FloatArray
    """Columns e₁, e₂ and the outward normal n, (3, 3), a right-handed orthonormal frame."""
    metric: FloatArray
    """M (2, 2) [m per unit of the chart]: the point moves by M (ȧ, ḃ) along (e₁, e₂)."""
    curvature: FloatArray
    """K (2, 2) [1/m], symmetric: the normal turns by K ξ along (e₁, e₂) where the point moves by ξ."""
    torsion: FloatArray
    """T (2,) [1/m]: e₁ turns towards e₂ by T ξ."""


class Surface(ABC):
    """A smooth surface with outward normal ∂p/∂a × ∂p/∂b."""

    @abstractmethod
    def derivatives(self, a: float, b: float) -> FloatArray:
        """Rows p [m], p_a, p_b, p_aa, p_ab, p_bb at a place of the chart, (6, 3)."""

    def forms(self, a: float, b: float) -> Forms:
        """Point [m], frame and forms at a place of the chart."""
        p, p_a, p_b, p_aa, p_ab, p_bb = self.derivatives(a, b)
        across = np.cross(p_a, p_b)
        area = float(np.linalg.norm(across))
        length = float(np.linalg.norm(p_a))
        if not area > 1e-9 * max(length, float(np.linalg.norm(p_b))) ** 2:
            raise SimulationError(
                f"{self}: its coordinates mean nothing at ({a:g}, {b:g}), a pole of the chart; start elsewhere"
            )
        e1, n = p_a / length, across / area
        e2 = np.cross(n, e1)
        metric = np.array([[length, e1 @ p_b], [0.0, e2 @ p_b]])
        inverse = np.linalg.inv(metric)
        # n · p_i = 0 everywhere on the surface, so ∂n/∂i · p_j = −n · p_ij.
        second = -np.array([[n @ p_aa, n @ p_ab], [n @ p_ab, n @ p_bb]])
        return Forms(
            point=p,
            frame=np.column_stack((e1, e2, n)),
            metric=metric,
            curvature=inverse.T @ second @ inverse,
            torsion=np.array([e2 @ p_aa, e2 @ p_ab]) / length @ inverse,
        )


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

    def derivatives(self, a: float, b: float) -> FloatArray:
        r = self.tyre_radius
        su, cu, sv, cv = math.sin(a), math.cos(a), math.sin(b), math.cos(b)
        reach = self.rim_radius + r * cv
        return np.array(
            [
                [reach * su, r * sv, reach * cu],
                [reach * cu, 0.0, -reach * su],
                [-r * sv * su, r * cv, -r * sv * cu],
                [-reach * su, 0.0, -reach * cu],
                [-r * sv * cu, 0.0, r * sv * su],
                [-r * cv * su, -r * sv, -r * cv * cu],
            ]
        )


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

    def derivatives(self, a: float, b: float) -> FloatArray:
        su, cu, sv, cv = math.sin(a), math.cos(a), math.sin(b), math.cos(b)
        unit = np.array(
            [
                [cv * su, sv, cv * cu],
                [cv * cu, 0.0, -cv * su],
                [-sv * su, cv, -sv * cu],
                [-cv * su, 0.0, -cv * cu],
                [-sv * cu, 0.0, sv * su],
                [-cv * su, -sv, -cv * cu],
            ]
        )
        rows: FloatArray = unit * np.array([self.a, self.b, self.c])
        return rows


@dataclass(frozen=True)
class Sphere(Surface):
    """A ball; its chart is that of an ellipsoid with equal axes. M = a diag(cos v, 1), K = 1/a, T M = (sin v, 0)."""

    radius: float
    """[m] > 0."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "radius", positive(self.radius, "sphere radius"))

    def derivatives(self, a: float, b: float) -> FloatArray:
        return Ellipsoid(self.radius, self.radius, self.radius).derivatives(a, b)


@dataclass(frozen=True)
class GroundSurface(Surface):
    """A twice-differentiable terrain with chart (x, y) ↦ (x, y, h(x, y)); outward is up."""

    terrain: Terrain
    """The ground."""

    def __post_init__(self) -> None:
        instance(self.terrain, Terrain, "ground", "make one with gr.terrain")
        _ = self.terrain.curvature  # refuses ground with edges

    def derivatives(self, a: float, b: float) -> FloatArray:
        h, h_x, h_y, h_xx, h_xy, h_yy = self.terrain.second_derivatives([[a, b]])[0]
        return np.array(
            [
                [a, b, h],
                [1.0, 0.0, h_x],
                [0.0, 1.0, h_y],
                [0.0, 0.0, h_xx],
                [0.0, 0.0, h_xy],
                [0.0, 0.0, h_yy],
            ]
        )
