"""Rollover margin: the force at the centre of gravity against the support polygon, T §2.3."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grouser import checks
from grouser._kernels.constants import GRAVITY
from grouser._kernels.kinematics.tipping import tipping_rows
from grouser.checks import FloatArray
from grouser.collision.frames import with_scratch
from grouser.vehicles import Vehicle


@dataclass(frozen=True)
class RolloverMargin:
    """Angles by which states are from tipping."""

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
    g, angle, wheel = checks.number(gravity, "gravity"), np.zeros(len(states)), np.zeros(len(states), dtype=np.int64)
    with_scratch(tipping_rows, vehicle.arrays, g, states, velocities, contact_points, angle, wheel)
    return RolloverMargin(angle, tuple(vehicle.wheels[k] for k in wheel.tolist()))
