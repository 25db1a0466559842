"""Montana's contact equations: how the contact of two smooth surfaces moves when they roll and slide, R (16.3).

η = (u, v, x, y, ψ): the contact on the wheel, on the ground, and the angle between their frames about the normal.
The wheel's contact frame in the ground's is [[R_ψ, 0], [0, −1]] with R_ψ = [[cos ψ, −sin ψ], [−sin ψ, −cos ψ]]: the
outward normals are opposite. Velocities of the wheel relative to the ground are in the wheel's contact frame.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from grouser.checks import FloatArray, array, instance
from grouser.errors import SimulationError
from grouser.rolling.surfaces import Surface

SHARP = 1e-10
"""Smallest ratio of the two relative curvatures at which the surfaces still touch at one point."""


def contact_matrix(wheel: Surface, ground: Surface, eta: ArrayLike) -> FloatArray:
    """η̇ per unit of (ω_x, ω_y, ω_z, v_x, v_y), shape (5, 5); its first three columns are [CK] of (16.4).

    ω [rad/s] is the wheel's angular velocity relative to the ground, v [m/s] the velocity of its own point at the
    contact, zero when it rolls; both in the wheel's contact frame. SimulationError where the surfaces cannot touch
    at one point.
    """
    _check(wheel, ground)
    u, v, x, y, psi = array(eta, "eta", (5,)).tolist()
    w, g = wheel.forms(u, v), ground.forms(x, y)
    R_psi = _mirror_turn(psi)
    relative = R_psi @ g.curvature @ R_psi  # K*
    total = w.curvature + relative
    low, high = np.linalg.eigvalsh(total)
    if not low > SHARP * abs(high):
        raise SimulationError(sharp_sentence(x, y))
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
    """R_world_wheel (3, 3) and the position (3,) [m] of the wheel's frame, of a wheel that touches the ground at η.

    Of rows (n, 5) of η they are (n, 3, 3) and (n, 3).
    """
    _check(wheel, ground)
    rows = array(eta, "eta", (5,) if np.ndim(eta) < 2 else (None, 5))
    u, v, x, y, psi = np.moveaxis(rows, -1, 0)
    w, g = wheel.forms(u, v), ground.forms(x, y)
    between = np.zeros((*psi.shape, 3, 3))
    between[..., :2, :2] = _mirror_turn(psi)
    between[..., 2, 2] = -1.0
    R_world_wheel: FloatArray = g.frame @ between @ np.swapaxes(w.frame, -1, -2)
    return R_world_wheel, g.point - np.einsum("...ij,...j->...i", R_world_wheel, w.point)


def contact_angle(wheel: Surface, ground: Surface, contact: ArrayLike, R_world_wheel: ArrayLike) -> FloatArray:
    """ψ [rad], −π to π, of a wheel with an orientation and contact (u, v, x, y), or of rows of them."""
    u, v, x, y = np.moveaxis(np.asarray(contact, dtype=np.float64), -1, 0)
    e_u = np.asarray(R_world_wheel, dtype=np.float64) @ wheel.forms(u, v).frame[..., :1]
    along = (np.swapaxes(ground.forms(x, y).frame, -1, -2) @ e_u)[..., 0]
    angle: FloatArray = np.arctan2(-along[..., 1], along[..., 0])
    return angle


def sharp_sentence(x: float, y: float) -> str:
    """What is said where the curvature condition fails."""
    return (
        f"at the ground's ({x:g}, {y:g}) the ground bends more sharply than the wheel, which cannot touch it at one "
        "point; smooth the ground or use a smaller wheel or tyre"
    )


def _check(wheel: Surface, ground: Surface) -> None:
    instance(wheel, Surface, "wheel", "use Torus, Sphere or Ellipsoid")
    instance(ground, Surface, "ground", "use GroundSurface(terrain), Sphere or Ellipsoid")


def _mirror_turn(psi: ArrayLike) -> FloatArray:
    """R_ψ (..., 2, 2); it is its own inverse."""
    c, s = np.cos(psi), np.sin(psi)
    return np.stack((c, -s, -s, -c), axis=-1).reshape(*np.shape(psi), 2, 2)
