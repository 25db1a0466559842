"""Closure of the contact chains: every wheel touches the ground where its contact coordinates say (R §16.3.3).

A rolling state is q = [quaternion w x y z, position x y z, joints] and, for each wheel, its contact coordinates
(u, v, x, y): u around and v across the tyre, x and y on the ground. R closes the chains over a common platform frame
(16.11); as the platform's pose is part of the state here, each chain closes on its own:

    p_wheel + R_wheel w(u, v) − c(x, y) = 0      the two contact points coincide, three rows [m],
    ∂c/∂x · n_wheel = ∂c/∂y · n_wheel = 0        the two normals are opposite, two rows,

and the joint couplings add a row each. These are the same conditions: R's ψ follows from the pose.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from grouser.checks import FloatArray
from grouser.kinematics import frame_jacobian, frame_poses
from grouser.rolling.surfaces import GroundSurface, dot, forms_of, torus_derivatives
from grouser.terrain import Terrain
from grouser.vehicles import Vehicle

__all__ = ["Contacts", "closure", "closure_jacobian", "contacts_at", "wheel_jacobians"]


class Contacts(NamedTuple):
    """The contact of every wheel, world axes; nw wheels, "..." is (n,) for n states, or () for one."""

    centre: FloatArray
    """Wheel centres [m], shape (..., nw, 3)."""
    point_on_wheel: FloatArray
    """Contact point of the tyre in the axes of its wheel, which spin with it [m], shape (..., nw, 3)."""
    e_u: FloatArray
    """Unit vector around the tyre, shape (..., nw, 3)."""
    e_v: FloatArray
    """Unit vector across the tyre, shape (..., nw, 3)."""
    normal_wheel: FloatArray
    """Outward normal of the tyre, shape (..., nw, 3)."""
    point_wheel: FloatArray
    """Contact point of the tyre [m], shape (..., nw, 3)."""
    point_ground: FloatArray
    """Contact point of the ground [m], shape (..., nw, 3)."""
    c_x: FloatArray
    """∂(ground point)/∂x, shape (..., nw, 3)."""
    c_y: FloatArray
    """∂(ground point)/∂y, shape (..., nw, 3)."""
    normal: FloatArray
    """Normal of the ground, up, shape (..., nw, 3)."""
    hessian: FloatArray
    """Second derivatives of the height [1/m], shape (..., nw, 2, 2)."""
    around: FloatArray
    """Radius of the circle around the axle on which the contact point lies, R + r cos v [m], shape (..., nw)."""

    @property
    def psi(self) -> FloatArray:
        """R's ψ [rad]: the angle between the ground's first axis, along ∂c/∂x, and e_u, shape (..., nw)."""
        e_1 = self.c_x / np.linalg.norm(self.c_x, axis=-1, keepdims=True)
        e_2 = np.cross(self.normal, e_1)
        angle: FloatArray = np.arctan2(-dot(self.e_u, e_2), dot(self.e_u, e_1))
        return angle


def contacts_at(vehicle: Vehicle, ground: Terrain, state: FloatArray, contact: FloatArray) -> Contacts:
    """Both surfaces at the contact coordinates (..., nw, 4) of states (..., nq); they touch where C is zero."""
    a = vehicle.arrays
    R_world, p_world = frame_poses(vehicle, state)
    R, centre = R_world[..., a.wheel, :, :], p_world[..., a.wheel, :]
    u, v, x, y = np.moveaxis(contact, -1, 0)
    tyre = forms_of(torus_derivatives(a.radius - a.tyre, a.tyre, u, v))
    rows = GroundSurface(ground).derivatives(x, y)
    frame = R @ tyre.frame
    return Contacts(
        centre=centre,
        point_on_wheel=tyre.point,
        e_u=frame[..., 0],
        e_v=frame[..., 1],
        normal_wheel=frame[..., 2],
        point_wheel=centre + np.einsum("...ij,...j->...i", R, tyre.point),
        point_ground=rows[..., 0, :],
        c_x=rows[..., 1, :],
        c_y=rows[..., 2, :],
        normal=forms_of(rows).frame[..., 2],
        hessian=rows[..., [3, 4, 4, 5], 2].reshape(*x.shape, 2, 2),
        around=tyre.metric[..., 0, 0],
    )


def closure(vehicle: Vehicle, ground: Terrain, state: FloatArray, contact: FloatArray) -> FloatArray:
    """C(q) of one state, shape (5 nw + nc,): five rows for each wheel, then the couplings."""
    at = contacts_at(vehicle, ground, state, contact)
    gap = at.point_wheel - at.point_ground
    lean = np.column_stack((dot(at.c_x, at.normal_wheel), dot(at.c_y, at.normal_wheel)))
    a = vehicle.arrays
    return np.concatenate((np.column_stack((gap, lean)).ravel(), a.coupling @ state[7:] - a.coupling_value))


def closure_jacobian(vehicle: Vehicle, ground: Terrain, state: FloatArray, contact: FloatArray) -> FloatArray:
    """∂C/∂q of (16.13) of one state, shape (5 nw + nc, nv + 4 nw).

    Its columns are the joint-space velocity (ω, v of the body in body axes, joint rates), nv = 6 + nj, and then the
    rates of (u, v, x, y) of each wheel.
    """
    at = contacts_at(vehicle, ground, state, contact)
    a = vehicle.arrays
    nw, nv = vehicle.n_wheels, 6 + vehicle.n_joints
    moving, turning = wheel_jacobians(vehicle, state, at)
    J = np.zeros((5 * nw + len(a.coupling), nv + 4 * nw))
    for w in range(nw):
        k = nv + 4 * w
        gap = J[5 * w : 5 * w + 3]
        gap[:, :nv] = moving[w]
        gap[:, k] = at.around[w] * at.e_u[w]
        gap[:, k + 1] = a.tyre[w] * at.e_v[w]
        gap[:, k + 2] = -at.c_x[w]
        gap[:, k + 3] = -at.c_y[w]
        for i, c in enumerate((at.c_x[w], at.c_y[w])):
            lean = J[5 * w + 3 + i]
            # c · (ω × n) = ω · (n × c); the normal itself moves as its frame does, and c as the slope.
            lean[:nv] = np.cross(at.normal_wheel[w], c) @ turning[w]
            lean[k] = np.cos(contact[w, 1]) * (c @ at.e_u[w])
            lean[k + 1] = c @ at.e_v[w]
            lean[k + 2 : k + 4] = at.hessian[w, i] * at.normal_wheel[w, 2]
    J[5 * nw :, 6:nv] = a.coupling
    return J


def wheel_jacobians(vehicle: Vehicle, state: FloatArray, at: Contacts) -> tuple[FloatArray, FloatArray]:
    """Velocity of the tyre's material contact point and angular velocity of the wheel, world axes, (..., nw, 3, nv).

    Per joint-space velocity (ω, v of the body in body axes, joint rates).
    """
    rows, points = np.atleast_2d(state), at.point_on_wheel.reshape(-1, vehicle.n_wheels, 3)
    R_world_body = frame_poses(vehicle, rows)[0][:, 0]
    both = [
        R_world_body[:, None] @ frame_jacobian(vehicle, rows, name, points[:, w]).reshape(len(rows), 2, 3, -1)
        for w, name in enumerate(vehicle.wheels)
    ]
    turning, moving = np.moveaxis(np.stack(both, axis=1), 2, 0)
    shape = (*state.shape[:-1], vehicle.n_wheels, 3, 6 + vehicle.n_joints)
    return moving.reshape(shape), turning.reshape(shape)
