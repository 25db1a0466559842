"""The two surfaces that touch: the torus of a tyre and the ground. Both at arrays of places of shape "..."."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from grouser.checks import FloatArray, positive
from grouser.errors import SimulationError
from grouser.terrain import Terrain


@dataclass(frozen=True)
class Torus:
    """A wheel with a round tyre; axle along y. u runs around the wheel, v across the tyre; u = π is its lowest point.

    w(u, v) = ((R + r cos v) sin u, r sin v, (R + r cos v) cos u).
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


class TyrePoint(NamedTuple):
    """A place of a torus, in the axes of its wheel."""

    point: FloatArray
    """w(u, v) [m], shape (..., 3)."""
    frame: FloatArray
    """Columns e_u around, e_v across and the outward normal, shape (..., 3, 3)."""
    around: FloatArray
    """R + r cos v [m], shape (...)."""


def on_tyre(rim: float | FloatArray, tyre: float | FloatArray, u: FloatArray, v: FloatArray) -> TyrePoint:
    """Tori of radii `rim` and `tyre` [m] at (u, v) [rad]."""
    su, cu, sv, cv, zero = np.sin(u), np.cos(u), np.sin(v), np.cos(v), np.zeros_like(u)
    columns = ((cu, zero, -su), (-sv * su, cv, -sv * cu), (cv * su, sv, cv * cu))
    frame = np.stack([np.stack(column, axis=-1) for column in columns], axis=-1)
    around = rim + tyre * cv
    point = np.stack((around * su, tyre * sv, around * cu), axis=-1)
    return TyrePoint(point, frame, around)


class GroundPoint(NamedTuple):
    """A place of the ground (x, y) ↦ c = (x, y, h), world axes."""

    point: FloatArray
    """c [m], shape (..., 3)."""
    c_x: FloatArray
    """∂c/∂x, shape (..., 3)."""
    c_y: FloatArray
    """∂c/∂y, shape (..., 3)."""
    normal: FloatArray
    """Up, of length 1, shape (..., 3)."""
    hessian: FloatArray
    """Second derivatives of the height [1/m], shape (..., 2, 2)."""


def on_ground(ground: Terrain, x: FloatArray, y: FloatArray) -> GroundPoint:
    """A twice-differentiable ground at (x, y) [m]; TerrainError outside the map."""
    h = ground.second_derivatives(np.column_stack((x.ravel(), y.ravel()))).reshape(*x.shape, 6)
    zero, one = np.zeros_like(x), np.ones_like(x)
    c_x, c_y = np.stack((one, zero, h[..., 1]), axis=-1), np.stack((zero, one, h[..., 2]), axis=-1)
    normal = np.cross(c_x, c_y)
    normal /= np.linalg.norm(normal, axis=-1, keepdims=True)
    hessian = h[..., [3, 4, 4, 5]].reshape(*x.shape, 2, 2)
    return GroundPoint(np.stack((x, y, h[..., 0]), axis=-1), c_x, c_y, normal, hessian)


def ground_frame(at: GroundPoint) -> FloatArray:
    """Columns e₁ along ∂c/∂x, e₂ and the normal, shape (..., 3, 3): the frame from which ψ is measured."""
    e_1 = at.c_x / np.linalg.norm(at.c_x, axis=-1, keepdims=True)
    return np.stack((e_1, np.cross(at.normal, e_1), at.normal), axis=-1)


def contact_angle(R_ground: FloatArray, e_u: FloatArray) -> FloatArray:
    """R's ψ [rad], −π to π: the angle about the normal from e₁ of the `ground_frame` to e_u, both world axes."""
    along = np.einsum("...ji,...j->...i", R_ground, e_u)
    angle: FloatArray = np.arctan2(-along[..., 1], along[..., 0])
    return angle
