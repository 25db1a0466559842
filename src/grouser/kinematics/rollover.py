"""Rollover margin: the force at the centre of gravity against the support polygon, T §2.3."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grouser import checks
from grouser._kernels.constants import GRAVITY
from grouser._kernels.kinematics.probe import centre_forces
from grouser.checks import FloatArray
from grouser.collision.frames import with_scratch
from grouser.vehicles import Vehicle

AT_ONCE = 4096
"""States whose margins are found together, so that memory does not grow with their number."""


@dataclass(frozen=True)
class RolloverMargin:
    """How far each state is from tipping."""

    angle: FloatArray
    """Angle [rad] the force at the centre of gravity may still turn before a wheel lifts; below zero it lifts, (T,)."""
    wheel: tuple[str, ...]
    """The wheel about to lift: of those off the tipping edge, the one farthest from it; one name per state."""


def rollover_margin(
    vehicle: Vehicle,
    states: FloatArray,
    velocities: FloatArray,
    contact_points: FloatArray,
    *,
    gravity: float = GRAVITY,
) -> RolloverMargin:
    """Margin for rows of states (T, nq), velocities (T, nv) and contact points (T, nw, 3) in the world [m].

    For each edge of the support polygon, the angle about that edge between the line to the centre of gravity's foot
    and the force g − ω × v there (gravity and centripetal, T (2.44)); the smallest is the margin.
    """
    checks.instance(vehicle, Vehicle, "vehicle", "use grouser.vehicle(name)")
    states = checks.array(states, "states", (None, 7 + vehicle.n_joints))
    velocities = checks.array(velocities, "velocities", (len(states), 6 + vehicle.n_joints))
    contact_points = checks.array(contact_points, "contact_points", (len(states), vehicle.n_wheels, 3))
    centre, force = np.zeros((len(states), 3)), np.zeros((len(states), 3))
    g = checks.number(gravity, "gravity")
    with_scratch(centre_forces, vehicle.arrays, g, states, velocities, centre, force)
    angles, wheels = np.empty(len(states)), []
    for low in range(0, len(states), AT_ONCE):
        some = slice(low, low + AT_ONCE)
        angles[some], lifting = _margins(contact_points[some], centre[some], force[some])
        wheels += [vehicle.wheels[k] for k in lifting]
    return RolloverMargin(angles, tuple(wheels))


def _margins(points: FloatArray, centre: FloatArray, force: FloatArray) -> tuple[FloatArray, list[int]]:
    """Least angle [rad] over the edges of the polygon of points (T, nw, 3), and the point that lifts, of each state.

    An edge is a pair of points with all others on its left, seen from above; several on one line are as good as one.
    """
    middle = points.mean(axis=1)
    _, _, axes = np.linalg.svd(points - middle[:, None], full_matrices=True)
    side = np.einsum("ti,ti->t", axes[:, 2], centre - middle)
    up = np.where(side[:, None] >= 0.0, axes[:, 2], -axes[:, 2])
    edge = points[:, None] - points[:, :, None]  # from a to b, (T, a, b, 3)
    length = np.linalg.norm(edge, axis=-1)
    inward = np.cross(up[:, None, None], edge)
    off = np.einsum("tabi,tabci->tabc", inward, points[:, None, None] - points[:, :, None, None])
    with np.errstate(divide="ignore", invalid="ignore"):
        along = edge / length[..., None]
        # Seen along the edge: where the centre stands, and which way the force points.
        arm = centre[:, None, None] - points[:, :, None]
        arm = arm - (arm * along).sum(axis=-1, keepdims=True) * along
        pull = force[:, None, None] - (force[:, None, None] * along).sum(axis=-1, keepdims=True) * along
        # The moment about the edge is negative while the force presses the vehicle onto the polygon.
        angle = np.arctan2(-(np.cross(arm, pull) * along).sum(axis=-1), -(arm * pull).sum(axis=-1))
        size = np.linalg.norm(arm, axis=-1) * np.linalg.norm(pull, axis=-1)
    is_edge = (length >= 1e-9) & (size >= 1e-12) & (off >= -1e-12).all(axis=-1)
    angle = np.where(is_edge, angle, np.inf).reshape(len(points), -1)
    best = angle.argmin(axis=1)
    every = np.arange(len(points))
    farthest = off.reshape(len(points), -1, points.shape[1])[every, best].argmax(axis=1)
    return angle[every, best], farthest.tolist()
