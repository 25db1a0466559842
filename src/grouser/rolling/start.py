"""A consistent start: the pose, passive joints and contacts with which all wheels stand on the ground."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from grouser import checks, rotation
from grouser.checks import FloatArray
from grouser.errors import SimulationError, TerrainError
from grouser.kinematics import frame_poses
from grouser.rolling.closure import Contacts, closure, closure_jacobian, contacts_at
from grouser.simulation.settle import check_place, settle
from grouser.terrain import Terrain
from grouser.vehicles import Vehicle

__all__ = ["Start", "find_start", "least_curvature"]

Place = tuple[float, float, float]
"""Where the body is put: x, y [m], yaw [rad]."""
CLOSED = 1e-12
"""‖C‖ at which a start is found."""
MOST_ITERATIONS = 60


@dataclass(frozen=True)
class Start:
    """A state whose wheels all touch the ground."""

    state: FloatArray
    """[quaternion w x y z, position x y z, joints], shape (nq,)."""
    contact: FloatArray
    """(u, v, x, y) of each wheel [rad, rad, m, m], shape (nw, 4)."""
    iterations: int
    """Gauss–Newton steps it took."""
    closure: float
    """‖C‖ that is left [m and rad]."""


def find_start(
    vehicle: Vehicle,
    ground: Terrain,
    *,
    x: float = 0.0,
    y: float = 0.0,
    yaw: float = 0.0,
    joints: Mapping[str, float] | None = None,
) -> Start:
    """Stand a vehicle on the ground at (x, y) [m], heading `yaw` [rad], with some joints given [rad or m].

    Gauss–Newton on C(q) = 0 over height, roll, pitch and the contacts. Joints keep the values given, or those of
    `vehicle.rest`; only where no such pose exists do the passive ones move, as little as they can: from there,
    or if there are springs, from where `grouser.settle` finds that they carry the weight. (`settle` itself finds the
    pose of smallest height errors, where some wheels may not touch.)
    """
    check_place(vehicle, ground)
    where = x, y, yaw = checks.number(x, "x"), checks.number(y, "y"), checks.number(yaw, "yaw")
    rest = vehicle.rest
    given: Mapping[str, float] = checks.instance(joints or {}, Mapping, "joints", "use {joint: rad or m}")
    for name, value in given.items():
        rest[vehicle.joint_index(name)] = checks.number(value, f"joints, joint '{name}'")
    level = rotation.to_quaternion(rotation.from_rpy(0.0, 0.0, yaw))
    state, contact = _guess(vehicle, ground, np.concatenate((level, (x, y, 0.0), rest)))
    moves = np.ones(6 + vehicle.n_joints + contact.size, dtype=bool)  # the body, all joints, the contacts
    moves[6 : 6 + vehicle.n_joints] = False
    found = _newton(vehicle, ground, state, contact, moves, where)
    if not found.closure < CLOSED:
        passive = np.array([not (f.is_wheel or f.actuated or f.name in given) for f in vehicle.frames[1:]])
        if passive.any():
            moves[6 : 6 + vehicle.n_joints] = passive
            if not all(one.is_rigid for one in vehicle.couplings):
                state = settle(vehicle, ground, x=x, y=y, yaw=yaw, joints=rest).state
                state[7:] = np.where(passive, state[7:], rest)
                state, contact = _guess(vehicle, ground, state)
            found = _newton(vehicle, ground, state, contact, moves, where)
    if not found.closure < CLOSED:
        raise _no_contact(vehicle, ground, found, where)
    at = contacts_at(vehicle, ground, found.state, found.contact)
    below = np.sum(at.ground.normal * at.normal_wheel, axis=1) > 0.0  # a tyre that touches from below closes C too
    if below.any():
        raise SimulationError(
            f"no initial contact: at x {x:g} m, y {y:g} m the pose found for '{vehicle.name}' has wheel"
            f" '{vehicle.wheels[int(np.argmax(below))]}' under the ground; start elsewhere, or with other joints"
        )
    least = least_curvature(vehicle, found.contact, at)
    if least.min() <= 0.0:
        w = int(np.argmin(least))
        raise SimulationError(
            f"the ground at wheel '{vehicle.wheels[w]}' is more sharply curved than its tyre can follow:"
            f" curvatures of tyre and ground add up to {least[w]:.3g} 1/m in one direction, and must be positive in"
            " all; use smoother ground or a thinner tyre"
        )
    return found


def least_curvature(vehicle: Vehicle, contact: FloatArray, at: Contacts) -> FloatArray:
    """The lesser principal value of S_w + S_g of each wheel [1/m], shape (nw,).

    Where it is not positive, tyre and ground cannot touch at one point.
    """
    steep = 1.0 / at.ground.normal[:, 2]
    e = np.stack((at.e_u[:, :2], at.e_v[:, :2]), axis=1)
    K = -np.einsum("wia,wab,wjb->wij", e, at.ground.hessian, e) / steep[:, None, None]
    K[:, 0, 0] += np.cos(contact[:, 1]) / at.around
    K[:, 1, 1] += 1.0 / vehicle.arrays.tyre
    values: FloatArray = np.linalg.eigvalsh(K)[:, 0]
    return values


def _guess(vehicle: Vehicle, ground: Terrain, state: FloatArray) -> tuple[FloatArray, FloatArray]:
    """A state with its wheels near the ground, contacts straight below their centres."""
    a = vehicle.arrays
    centre = frame_poses(vehicle, state)[1][a.wheel]
    heights = ground.second_derivatives(centre[:, :2])[:, 0]
    state[6] += float(np.mean(heights - centre[:, 2] + a.radius))
    lowest = np.pi - state[6 + a.wheel]
    return state, np.column_stack((lowest, np.zeros(len(lowest)), centre[:, :2]))


def _newton(
    vehicle: Vehicle, ground: Terrain, state: FloatArray, contact: FloatArray, moves: NDArray[np.bool_], where: Place
) -> Start:
    """Gauss–Newton steps of smallest norm, halved while they do not help; x, y and yaw are held by three more rows."""
    C, J = _held(vehicle, ground, state, contact, where)
    size = float(np.linalg.norm(C))
    iterations = 0
    while size >= CLOSED and iterations < MOST_ITERATIONS:
        iterations += 1
        full = np.zeros(J.shape[1])
        full[moves] = np.linalg.lstsq(J[:, moves], -C, rcond=1e-10)[0]
        # Not further at once than the surfaces stay what they are.
        length = min(1.0, 0.5 / max(float(np.abs(full).max()), 1e-12))
        for _ in range(12):
            tried = _moved(vehicle, state, contact, length * full)
            length *= 0.5
            try:
                C_new, J_new = _held(vehicle, ground, *tried, where)
            except TerrainError:
                continue
            if np.linalg.norm(C_new) < size:
                break
        else:
            break
        (state, contact), C, J = tried, C_new, J_new
        size = float(np.linalg.norm(C))
    left = float(np.linalg.norm(closure(vehicle, ground, state, contact)))
    return Start(state=state, contact=contact, iterations=iterations, closure=left)


def _held(
    vehicle: Vehicle, ground: Terrain, state: FloatArray, contact: FloatArray, where: Place
) -> tuple[FloatArray, FloatArray]:
    """C and ∂C/∂q, then rows that hold the place and heading of the body."""
    R = rotation.from_quaternion(state[:4])
    J = closure_jacobian(vehicle, ground, state, contact)
    held = np.zeros((3, J.shape[1]))
    held[:2, 3:6] = R[:2]
    # The x axis of the body has no part to the left of the heading.
    x, y, yaw = where
    left = np.array([-np.sin(yaw), np.cos(yaw), 0.0])
    held[2, :3] = left @ R @ np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
    off = np.array([state[4] - x, state[5] - y, left @ R[:, 0]])
    return np.concatenate((closure(vehicle, ground, state, contact), off)), np.concatenate((J, held))


def _moved(vehicle: Vehicle, state: FloatArray, contact: FloatArray, step: FloatArray) -> tuple[FloatArray, FloatArray]:
    R = rotation.from_quaternion(state[:4])
    nv = 6 + vehicle.n_joints
    angle = float(np.linalg.norm(step[:3]))
    turned = R @ rotation.about(step[:3] / max(angle, 1e-300), angle)
    parts = (rotation.to_quaternion(turned), state[4:7] + R @ step[3:6], state[7:] + step[6:nv])
    return np.concatenate(parts), contact + step[nv:].reshape(-1, 4)


def _no_contact(vehicle: Vehicle, ground: Terrain, found: Start, where: Place) -> SimulationError:
    x, y, yaw = where
    at = contacts_at(vehicle, ground, found.state, found.contact)
    miss = np.linalg.norm(at.point_wheel - at.ground.point, axis=1)
    w = int(np.argmax(miss))
    return SimulationError(
        f"no initial contact: at x {x:g} m, y {y:g} m, yaw {yaw:g} rad the {vehicle.n_wheels} wheels"
        f" of '{vehicle.name}' cannot all touch the ground at once; the nearest pose leaves wheel '{vehicle.wheels[w]}'"
        f" {miss[w]:.3g} m away: start elsewhere, or give the vehicle a joint that lets it adapt"
    )
