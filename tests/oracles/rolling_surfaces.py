"""Rolling in R's own form, for any two surfaces: frames, metric, curvature and torsion forms in charts (R §16.3.1),
Montana's contact equations (16.3) with the angle ψ, and their integration by SciPy.

The engine has neither charts nor ψ (`_kernels/rolling/contact.py`); nothing is shared with it.

A chart (a, b) ↦ p(a, b) gives a surface its tangent frame e₁ along ∂p/∂a, e₂ = n × e₁ with the outward normal n.
Charts need not be orthogonal (that of a ground is not), so the metric form M is upper triangular.
η = (u, v, x, y, ψ): the contact on the wheel, on the ground, and the angle between their frames about the normal.
The wheel's contact frame in the ground's is [[R_ψ, 0], [0, −1]] with R_ψ = [[cos ψ, −sin ψ], [−sin ψ, −cos ψ]]: the
outward normals are opposite. Velocities of the wheel relative to the ground are in the wheel's contact frame.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import solve_ivp

from grouser import rolling
from grouser.checks import FloatArray, array, positive
from grouser.errors import SimulationError
from grouser.rolling.wheel import Rolling, Velocity, sharp_sentence
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
class Torus(Surface, rolling.Torus):
    """The package's wheel as a surface.

    M = diag(R + r cos v, r), K = diag(cos v/(R + r cos v), 1/r), T M = (sin v, 0).
    """

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


SHARP = 1e-10
"""Smallest ratio of the two relative curvatures at which the surfaces still touch at one point."""


def contact_matrix(wheel: Surface, ground: Surface, eta: ArrayLike) -> FloatArray:
    """η̇ per unit of (ω_x, ω_y, ω_z, v_x, v_y), shape (5, 5); its first three columns are [CK] of (16.4).

    ω [rad/s] is the wheel's angular velocity relative to the ground, v [m/s] the velocity of its own point at the
    contact, zero when it rolls; both in the wheel's contact frame. SimulationError where the surfaces cannot touch
    at one point.
    """
    w, g, psi = _at(wheel, ground, eta)
    R_psi = _mirror_turn(psi)
    relative = R_psi @ g.curvature @ R_psi  # K*
    total = w.curvature + relative
    low, high = np.linalg.eigvalsh(total)
    if not low > SHARP * abs(high):
        raise SimulationError(sharp_sentence(*np.asarray(eta, dtype=np.float64)[2:4]))
    inverse = np.linalg.inv(total)
    turning = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0]])  # (−ω_y, ω_x)
    out = np.zeros((5, 5))
    # Murray, Li and Sastry's form with sliding; without it (16.3) as printed, M_g triangular.
    wheel_motion = np.hstack((inverse @ turning, -inverse @ relative))
    ground_motion = R_psi @ np.hstack((inverse @ turning, inverse @ w.curvature))
    out[0:2] = np.linalg.solve(w.metric, wheel_motion)
    out[2:4] = np.linalg.solve(g.metric, ground_motion)
    out[4] = w.torsion @ wheel_motion + g.torsion @ ground_motion
    out[4, 2] += 1.0
    return out


def contact_rates(
    wheel: Surface, ground: Surface, eta: ArrayLike, omega: ArrayLike, sliding: ArrayLike = (0.0, 0.0)
) -> FloatArray:
    """η̇ (5,) of a wheel that turns with ω (3,) [rad/s] and slides with (v_x, v_y) [m/s], in its contact frame."""
    twist = np.concatenate((array(omega, "omega", (3,)), array(sliding, "sliding", (2,))))
    rates: FloatArray = contact_matrix(wheel, ground, eta) @ twist
    return rates


def wheel_pose(wheel: Surface, ground: Surface, eta: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """R_world_wheel (3, 3) and the position (3,) [m] of the wheel's frame, of a wheel that touches the ground at η."""
    w, g, psi = _at(wheel, ground, eta)
    between = np.zeros((3, 3))
    between[:2, :2] = _mirror_turn(psi)
    between[2, 2] = -1.0
    R_world_wheel: FloatArray = g.frame @ between @ w.frame.T
    return R_world_wheel, g.point - R_world_wheel @ w.point


def contact_angle(wheel: Surface, ground: Surface, contact: ArrayLike, R_world_wheel: ArrayLike) -> float:
    """ψ [rad], −π to π, of a wheel with an orientation and contact (u, v, x, y)."""
    u, v, x, y = array(contact, "contact", (4,))
    e_u = array(R_world_wheel, "R_world_wheel", (3, 3)) @ wheel.forms(u, v).frame[:, 0]
    along = ground.forms(x, y).frame.T @ e_u
    return math.atan2(-along[1], along[0])


def roll_adaptive(
    wheel: Surface,
    ground: Terrain | Surface,
    omega: Velocity,
    *,
    start: ArrayLike,
    duration: float,
    dt: float = 0.01,
    sliding: Velocity = (0.0, 0.0, 0.0),
    axes: str = "world",
) -> Rolling:
    """As `grouser.rolling.roll_wheel`, for any two surfaces: (16.3) by SciPy's DOP853 to 1e-12."""
    surface = GroundSurface(ground) if isinstance(ground, Terrain) else ground

    def rates(t: float, eta: FloatArray) -> FloatArray:
        vectors = np.array([v(t) if callable(v) else v for v in (omega, sliding)])
        if axes != "contact":
            frame = wheel.forms(eta[0], eta[1]).frame
            if axes == "world":
                frame = wheel_pose(wheel, surface, eta)[0] @ frame
            vectors = vectors @ frame
        result: FloatArray = contact_matrix(wheel, surface, eta) @ np.concatenate((vectors[0], vectors[1, :2]))
        return result

    time = np.arange(round(duration / dt) + 1, dtype=np.float64) * dt
    eta = np.asarray(start, dtype=np.float64)
    found = solve_ivp(rates, (0.0, time[-1]), eta, method="DOP853", t_eval=time, rtol=1e-12, atol=1e-13)
    assert found.success, found.message
    rows = np.ascontiguousarray(found.y.T)
    poses = [wheel_pose(wheel, surface, row) for row in rows]
    return Rolling(
        time=time,
        eta=rows,
        rotation=np.array([R for R, _ in poses]),
        centre=np.array([p for _, p in poses]),
        contact=np.array([surface.derivatives(x, y)[0] for x, y in rows[:, 2:4]]),
    )


def _at(wheel: Surface, ground: Surface, eta: ArrayLike) -> tuple[Forms, Forms, float]:
    u, v, x, y, psi = array(eta, "eta", (5,)).tolist()
    return wheel.forms(u, v), ground.forms(x, y), psi


def _mirror_turn(psi: float) -> FloatArray:
    """R_ψ; it is its own inverse."""
    c, s = math.cos(psi), math.sin(psi)
    return np.array([[c, -s], [-s, -c]])
