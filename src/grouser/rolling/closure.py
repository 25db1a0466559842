"""Tyre and ground at their contact, and the closure of the contact chains (R §16.3.3).

A rolling state is q = [quaternion w x y z, position x y z, joints] and, for each wheel, its contact coordinates
(u, v, x, y): u around and v across the tyre, x and y on the ground. R closes the chains over a common platform frame
(16.11); as the platform's pose is part of the state here, each chain closes on its own:

    p_wheel + R_wheel w(u, v) − c(x, y) = 0      the two contact points coincide, three rows [m],
    ∂c/∂x · n_wheel = ∂c/∂y · n_wheel = 0        the two normals are opposite, two rows,

and rigid couplings add a row each; sprung joints are free. These are the same conditions: R's ψ follows from the pose.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from grouser.checks import FloatArray
from grouser.kinematics import frame_jacobian, frame_poses
from grouser.once import once_each
from grouser.terrain import Terrain
from grouser.vehicles import Vehicle


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


class Contacts(NamedTuple):
    """The contact of every wheel, world axes; nw wheels, "..." is (n,) for n states, or () for one."""

    centre: FloatArray
    """Wheel centres [m], shape (..., nw, 3)."""
    point_on_wheel: FloatArray
    """Contact point of the tyre in the axes of its wheel, which spin with it [m], shape (..., nw, 3)."""
    point_wheel: FloatArray
    """The same, world axes [m], shape (..., nw, 3)."""
    e_u: FloatArray
    """Unit vector around the tyre, shape (..., nw, 3)."""
    e_v: FloatArray
    """Unit vector across the tyre, shape (..., nw, 3)."""
    normal_wheel: FloatArray
    """Outward normal of the tyre, shape (..., nw, 3)."""
    around: FloatArray
    """Radius of the circle around the axle on which the contact point lies, R + r cos v [m], shape (..., nw)."""
    ground: GroundPoint
    """The ground at its contact points; "..." of its fields is (..., nw)."""

    @property
    def psi(self) -> FloatArray:
        """R's ψ [rad]: the angle between the ground's first axis, along ∂c/∂x, and e_u, shape (..., nw)."""
        return contact_angle(ground_frame(self.ground), self.e_u)


def contacts_at(vehicle: Vehicle, ground: Terrain, state: FloatArray, contact: FloatArray) -> Contacts:
    """Both surfaces at the contact coordinates (..., nw, 4) of states (..., nq); they touch where C is zero."""
    a = vehicle.arrays
    R_world, p_world = frame_poses(vehicle, state)
    R, centre = R_world[..., a.wheel, :, :], p_world[..., a.wheel, :]
    u, v, x, y = np.moveaxis(contact, -1, 0)
    tyre = on_tyre(a.radius - a.tyre, a.tyre, u, v)
    e_u, e_v, normal = np.moveaxis(R @ tyre.frame, -1, 0)
    point = centre + np.einsum("...ij,...j->...i", R, tyre.point)
    return Contacts(centre, tyre.point, point, e_u, e_v, normal, tyre.around, on_ground(ground, x, y))


@once_each
def rigid_couplings(vehicle: Vehicle) -> Any:
    """Indices of the couplings without a spring, shape (nk,)."""
    return np.flatnonzero([one.is_rigid for one in vehicle.couplings])


def closure(vehicle: Vehicle, ground: Terrain, state: FloatArray, contact: FloatArray) -> FloatArray:
    """C(q) of one state, shape (5 nw + nk,): five rows for each wheel, then the nk rigid couplings."""
    at = contacts_at(vehicle, ground, state, contact)
    gap = at.point_wheel - at.ground.point
    lean = [np.sum(c * at.normal_wheel, axis=-1) for c in (at.ground.c_x, at.ground.c_y)]
    a, rigid = vehicle.arrays, rigid_couplings(vehicle)
    coupled = a.coupling[rigid] @ state[7:] - a.coupling_value[rigid]
    return np.concatenate((np.column_stack((gap, *lean)).ravel(), coupled))


def closure_jacobian(vehicle: Vehicle, ground: Terrain, state: FloatArray, contact: FloatArray) -> FloatArray:
    """∂C/∂q of (16.13) of one state, shape (5 nw + nk, nv + 4 nw).

    Its columns are the joint-space velocity (ω, v of the body in body axes, joint rates), nv = 6 + nj, and then the
    rates of (u, v, x, y) of each wheel.
    """
    at = contacts_at(vehicle, ground, state, contact)
    a = vehicle.arrays
    nw, nv = vehicle.n_wheels, 6 + vehicle.n_joints
    coupling = a.coupling[rigid_couplings(vehicle)]
    moving, turning = wheel_jacobians(vehicle, state, at.point_on_wheel)
    J = np.zeros((5 * nw + len(coupling), nv + 4 * nw))
    for w in range(nw):
        k = nv + 4 * w
        gap = J[5 * w : 5 * w + 3]
        gap[:, :nv] = moving[w]
        gap[:, k] = at.around[w] * at.e_u[w]
        gap[:, k + 1] = a.tyre[w] * at.e_v[w]
        gap[:, k + 2] = -at.ground.c_x[w]
        gap[:, k + 3] = -at.ground.c_y[w]
        for i, c in enumerate((at.ground.c_x[w], at.ground.c_y[w])):
            lean = J[5 * w + 3 + i]
            # c · (ω × n) = ω · (n × c); the normal itself moves as its frame does, and c as the slope.
            lean[:nv] = np.cross(at.normal_wheel[w], c) @ turning[w]
            lean[k] = np.cos(contact[w, 1]) * (c @ at.e_u[w])
            lean[k + 1] = c @ at.e_v[w]
            lean[k + 2 : k + 4] = at.ground.hessian[w, i] * at.normal_wheel[w, 2]
    J[5 * nw :, 6:nv] = coupling
    return J


def wheel_jacobians(vehicle: Vehicle, state: FloatArray, point_on_wheel: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Velocity of the tyre's material contact point and angular velocity of the wheel, world axes, (..., nw, 3, nv).

    Per joint-space velocity (ω, v of the body in body axes, joint rates). point_on_wheel: as in `Contacts`.
    """
    rows, points = np.atleast_2d(state), point_on_wheel.reshape(-1, vehicle.n_wheels, 3)
    R_world_body = frame_poses(vehicle, rows)[0][:, 0]
    both = [
        R_world_body[:, None] @ frame_jacobian(vehicle, rows, name, points[:, w]).reshape(len(rows), 2, 3, -1)
        for w, name in enumerate(vehicle.wheels)
    ]
    turning, moving = np.moveaxis(np.stack(both, axis=1), 2, 0)
    shape = (*state.shape[:-1], vehicle.n_wheels, 3, 6 + vehicle.n_joints)
    return moving.reshape(shape), turning.reshape(shape)
