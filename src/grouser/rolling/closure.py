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

from grouser import rotation
from grouser.checks import FloatArray
from grouser.terrain import Terrain
from grouser.vehicles import Vehicle

__all__ = ["Contacts", "closure", "closure_jacobian", "contacts_at", "frame_poses", "wheel_jacobians"]


class Contacts(NamedTuple):
    """The contact of every wheel, world axes; nw wheels, "..." as many states as were given, or none."""

    centre: FloatArray
    """Wheel centres [m], shape (..., nw, 3)."""
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
        angle: FloatArray = np.arctan2(-_dot(self.e_u, e_2), _dot(self.e_u, e_1))
        return angle


def frame_poses(vehicle: Vehicle, state: FloatArray) -> tuple[FloatArray, FloatArray]:
    """R_world_frame (..., nf, 3, 3) and p_world_frame (..., nf, 3) [m] of states (..., nq), T Algorithm 1."""
    a = vehicle.arrays
    nf = len(a.parent)
    R = np.empty((*state.shape[:-1], nf, 3, 3))
    p = np.empty((*state.shape[:-1], nf, 3))
    R[..., 0, :, :] = rotation.from_quaternion(state[..., :4])
    p[..., 0, :] = state[..., 4:7]
    for f in range(1, nf):
        up, axis = a.parent[f], a.joint[f]
        fixed = R[..., up, :, :] @ a.rotation[f]
        p[..., f, :] = p[..., up, :] + R[..., up, :, :] @ a.offset[f]
        moved = state[..., 6 + f]
        if axis >= 3:
            p[..., f, :] += fixed[..., axis - 3] * moved[..., None]
            R[..., f, :, :] = fixed
            continue
        j, k = (axis + 1) % 3, (axis + 2) % 3
        c, s = np.cos(moved)[..., None], np.sin(moved)[..., None]
        R[..., f, :, axis] = fixed[..., axis]
        R[..., f, :, j] = c * fixed[..., j] + s * fixed[..., k]
        R[..., f, :, k] = c * fixed[..., k] - s * fixed[..., j]
    return R, p


def contacts_at(vehicle: Vehicle, ground: Terrain, state: FloatArray, contact: FloatArray) -> Contacts:
    """Both surfaces at the contact coordinates (..., nw, 4) of states (..., nq); they touch where C is zero."""
    a = vehicle.arrays
    R_world, p_world = frame_poses(vehicle, state)
    R, centre = R_world[..., a.wheel, :, :], p_world[..., a.wheel, :]
    u, v, x, y = np.moveaxis(contact, -1, 0)
    su, cu, sv, cv = np.sin(u), np.cos(u), np.sin(v), np.cos(v)
    zero = np.zeros_like(u)
    around = a.radius - a.tyre + a.tyre * cv
    h = ground.second_derivatives(np.column_stack((x.ravel(), y.ravel()))).reshape(*u.shape, 6)
    c_x = np.stack((zero + 1.0, zero, h[..., 1]), axis=-1)
    c_y = np.stack((zero, zero + 1.0, h[..., 2]), axis=-1)
    normal = np.cross(c_x, c_y)
    normal /= np.linalg.norm(normal, axis=-1, keepdims=True)

    def turned(*components: FloatArray) -> FloatArray:
        out: FloatArray = np.einsum("...ij,...j->...i", R, np.stack(components, axis=-1))
        return out

    return Contacts(
        centre=centre,
        e_u=turned(cu, zero, -su),
        e_v=turned(-sv * su, cv, -sv * cu),
        normal_wheel=turned(cv * su, sv, cv * cu),
        point_wheel=centre + turned(around * su, a.tyre * sv, around * cu),
        point_ground=np.stack((x, y, h[..., 0]), axis=-1),
        c_x=c_x,
        c_y=c_y,
        normal=normal,
        hessian=h[..., [3, 4, 4, 5]].reshape(*u.shape, 2, 2),
        around=around,
    )


def closure(vehicle: Vehicle, ground: Terrain, state: FloatArray, contact: FloatArray) -> FloatArray:
    """C(q) of one state, shape (5 nw + nc,): five rows for each wheel, then the couplings."""
    at = contacts_at(vehicle, ground, state, contact)
    gap = at.point_wheel - at.point_ground
    lean = np.column_stack((_dot(at.c_x, at.normal_wheel), _dot(at.c_y, at.normal_wheel)))
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

    Per joint-space velocity (ω, v of the body in body axes, joint rates), from the tree of frames.
    """
    a = vehicle.arrays
    R, p = frame_poses(vehicle, state)
    moving = np.zeros((*state.shape[:-1], vehicle.n_wheels, 3, 6 + vehicle.n_joints))
    turning = np.zeros_like(moving)
    R_body = R[..., 0, :, :]
    for w, frame in enumerate(a.wheel):
        point = at.point_wheel[..., w, :]
        for i in range(3):
            moving[..., w, :, i] = np.cross(R_body[..., i], point - p[..., 0, :])
        moving[..., w, :, 3:6] = R_body
        turning[..., w, :, :3] = R_body
        while frame > 0:
            axis = a.joint[frame]
            if axis < 3:
                direction = R[..., frame, :, axis]
                moving[..., w, :, 5 + frame] = np.cross(direction, point - p[..., frame, :])
                turning[..., w, :, 5 + frame] = direction
            else:
                moving[..., w, :, 5 + frame] = R[..., frame, :, axis - 3]
            frame = a.parent[frame]
    return moving, turning


def _dot(a: FloatArray, b: FloatArray) -> FloatArray:
    total: FloatArray = np.sum(a * b, axis=-1)
    return total
