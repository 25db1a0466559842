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
    angles = np.empty(len(states))
    wheels = []
    for k in range(len(states)):
        angles[k], wheel = _margin(contact_points[k], centre[k], force[k])
        wheels.append(vehicle.wheels[wheel])
    return RolloverMargin(angles, tuple(wheels))


def _margin(points: FloatArray, centre: FloatArray, force: FloatArray) -> tuple[float, int]:
    middle = points.mean(axis=0)
    _, _, axes = np.linalg.svd(points - middle, full_matrices=True)
    up = axes[2] if axes[2] @ (centre - middle) >= 0.0 else -axes[2]
    ahead = axes[0]
    left = np.cross(up, ahead)
    flat = np.column_stack([(points - middle) @ ahead, (points - middle) @ left])
    hull = _convex_hull(flat)
    smallest, lifting = np.inf, 0
    for i, a in enumerate(hull):
        b = hull[(i + 1) % len(hull)]
        edge = points[b] - points[a]
        length = float(np.linalg.norm(edge))
        if length < 1e-9:
            continue
        edge = edge / length
        # Seen along the edge: where the centre stands, and which way the force points.
        arm = centre - points[a]
        arm = arm - (arm @ edge) * edge
        pull = force - (force @ edge) * edge
        size = float(np.linalg.norm(arm) * np.linalg.norm(pull))
        if size < 1e-12:
            continue
        # The moment about the edge is negative while the force presses the vehicle onto the polygon.
        moment = float(np.cross(arm, pull) @ edge)
        angle = float(np.arctan2(-moment, -(arm @ pull)))
        if angle < smallest:
            smallest = angle
            inward = np.cross(up, edge)
            lifting = int(np.argmax((points - points[a]) @ inward))
    return smallest, lifting


def _convex_hull(points: FloatArray) -> list[int]:
    """Indices of the hull's corners, counter-clockwise (Andrew's monotone chain)."""
    order = sorted(range(len(points)), key=lambda i: (points[i, 0], points[i, 1]))

    def half(indices: list[int]) -> list[int]:
        chain: list[int] = []
        for i in indices:
            while len(chain) > 1:
                (ax, ay), (bx, by) = points[chain[-2]], points[chain[-1]]
                if (bx - ax) * (points[i, 1] - ay) - (by - ay) * (points[i, 0] - ax) > 1e-12:
                    break
                chain.pop()
            chain.append(i)
        return chain[:-1]

    return half(order) + half(order[::-1])
