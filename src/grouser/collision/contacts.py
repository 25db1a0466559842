"""Contacts of one state, found on the ground or given by their angles, and where on their wheels they lie."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from grouser import checks
from grouser._kernels.kinematics.probe import FOUND, probe
from grouser._kernels.kinematics.suspension import Suspension
from grouser._kernels.kinematics.velocity import NO_SLIP, KinematicModel
from grouser._kernels.terrain.ground import NO_SOILS, SMOOTH, Ground
from grouser.checks import FloatArray
from grouser.collision.frames import checked_state, frame_poses, with_scratch
from grouser.errors import SimulationError
from grouser.once import once_each
from grouser.terrain import Terrain
from grouser.vehicles import Vehicle

_NOWHERE = Ground(0, 0, 0, SMOOTH, 0, *NO_SOILS)


@dataclass(frozen=True)
class Contacts:
    """Where the wheels of one state meet the ground, in the order of `vehicle.wheels`."""

    point: FloatArray
    """Contact points on the wheels, world coordinates [m], shape (nw, 3)."""
    rotation: FloatArray
    """R_world_contact: columns are the contact's x (forward), y (left), z (ground normal), shape (nw, 3, 3).

    Of a wheel with rollers x is the direction that they hold, y the one that they free.
    """
    height_error: FloatArray
    """Δz of T (2.8) [m], negative is penetration, shape (nw,)."""
    angle: FloatArray
    """Contact angle [rad] of T (2.9) about the axle from straight down in the carrier, ahead is negative, (nw,)."""
    jacobian: FloatArray
    """Wheel Jacobians of T Algorithm 2: contact velocity per joint-space velocity, shape (nw, 3, nv).

    The row along y is zero for a wheel with rollers: they turn with that motion.
    """


def contacts(
    vehicle: Vehicle, state: ArrayLike, ground: Terrain | None = None, *, angles: ArrayLike | None = None
) -> Contacts:
    """Contacts of a state: found on the ground, or at given angles [rad] with or without a ground below.

    Without a ground the normal is taken to point to the wheel's centre, as T §2.2.1 does for estimated angles.
    """
    checks.instance(vehicle, Vehicle, "vehicle", "use grouser.vehicle(name)")
    result, _, _, _ = evaluate(vehicle, _plain_model(vehicle), state, ground, angles, np.zeros(6 + vehicle.n_joints))
    return result


def evaluate(
    vehicle: Vehicle,
    model: KinematicModel,
    state: ArrayLike,
    ground: Terrain | None,
    angles: ArrayLike | None,
    velocity: FloatArray,
) -> tuple[Contacts, FloatArray, FloatArray, int]:
    """Contacts, constraint matrix A (nr, nv) of T (2.34), velocity with its unknown entries solved, and the rank."""
    q = checked_state(vehicle, state)
    if ground is not None:
        checks.instance(ground, Terrain, "ground", "use grouser.terrain.plane() or another")
    nw, nv = vehicle.n_wheels, 6 + vehicle.n_joints
    if ground is None and angles is None:
        raise SimulationError("contacts need a ground or contact angles; give one of them")
    law = _NOWHERE if ground is None else ground.kernel
    A = np.zeros((3 * nw + len(vehicle.couplings), nv))
    found = np.zeros(nw, FOUND)
    found["angle"] = math.nan if angles is None else checks.array(angles, "angles", (nw,))
    v = np.array(velocity, dtype=np.float64)
    inside, rank = with_scratch(probe, vehicle.arrays, model, law, q, v, found, A)
    if not inside:
        raise SimulationError(
            f"the ground ends under a wheel of '{vehicle.name}' at x = {q[4]:g}, y = {q[5]:g} m; move it onto the map"
        )
    jacobian = A[: 3 * nw].reshape(nw, 3, nv).copy()
    return Contacts(found["point"], found["rotation"], found["height_error"], found["angle"], jacobian), A, v, int(rank)


def contact_on_wheel(vehicle: Vehicle, state: FloatArray, point: FloatArray) -> FloatArray:
    """Contact points `point` (…, nw, 3), world [m], in the axes of their wheels, of one state or of rows of states [m].

    y runs along the axle to the left: it is how far a round tyre has moved its contact sideways.
    """
    R, p = frame_poses(vehicle, state)
    wheels = vehicle.arrays.wheel
    return np.asarray(np.einsum("...ji,...j->...i", R[..., wheels, :, :], point - p[..., wheels, :]))


def rolling_radius(vehicle: Vehicle, state: FloatArray, point: FloatArray) -> FloatArray:
    """Distance of each contact point (…, nw, 3), world, from its axle [m], shape (…, nw)."""
    local = contact_on_wheel(vehicle, state, point)
    return np.asarray(np.hypot(local[..., 0], local[..., 2]))


def camber(vehicle: Vehicle, state: FloatArray, normal: FloatArray) -> FloatArray:
    """Angle of each wheel's plane from the ground normal (…, nw, 3), world [rad], (…, nw); top to the right positive.

    It is the wheel's roll against the ground: positive as roll is, about the axis ahead.
    """
    left = frame_poses(vehicle, state)[0][..., vehicle.arrays.wheel, :, :][..., 1]
    return np.asarray(np.arcsin(np.clip(np.einsum("...j,...j->...", left, normal), -1.0, 1.0)))


@once_each
def _plain_model(vehicle: Vehicle) -> KinematicModel:
    rows = 3 * vehicle.n_wheels + len(vehicle.couplings)
    everything = np.arange(6 + vehicle.n_joints)
    return KinematicModel(
        known=everything,
        unknown=everything,
        counts=np.array([len(everything), 0]),
        weight=np.ones(rows),
        gain=np.zeros(rows),
        suspension=Suspension.zeros(n_free=0, nc=len(vehicle.couplings), springs=0, load=0.0),
        target=np.zeros(vehicle.n_wheels),
        slip_mode=NO_SLIP,
        slip_address=0,
        slip_par=0,
        soil_slip=np.zeros((0, 2)),
        tip_cosine=-2.0,
        gravity=0.0,
    )
