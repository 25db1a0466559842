"""Which joint rates a rolling vehicle admits, and how many freedoms it has (R §16.3.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grouser.checks import FloatArray
from grouser.rolling.closure import Contacts, wheel_jacobians
from grouser.vehicles import Vehicle

__all__ = ["RANK_TOLERANCE", "SURE_GAP", "Mobility", "column_units", "constraint_values", "mobility_of"]

RANK_TOLERANCE = 1e-6
"""A constraint counts if its singular value is above this part of the largest (scaled, see `mobility_of`)."""
SURE_GAP = 1e3
"""How many times the least counted singular value must exceed the largest not counted, for the count to be sure."""
ROUNDING = 1e-15


@dataclass(frozen=True)
class Mobility:
    """The freedoms of one state."""

    degrees_of_freedom: int
    """Independent joint rates with all wheels rolling: the columns of Q_C2 (16.8)."""
    loose: int
    """Motions of the platform that roll with all joints at rest: above 0 the joint rates do not fix the platform's."""
    admissible: FloatArray
    """J_in of (16.10), shape (nj, nj): desired joint rates [rad/s or m/s] to the nearest admissible ones."""
    singular_values: FloatArray
    """Of the rolling constraints and couplings on platform twist and joint rates, dimensionless; falling from 1."""
    gap: float
    """The least counted singular value over the largest not counted, or over rounding if all are counted."""

    @property
    def rank(self) -> int:
        """Independent constraints."""
        return int(np.sum(self.singular_values > RANK_TOLERANCE))

    @property
    def is_sure(self) -> bool:
        """Whether no singular value lies near the threshold: the count holds for any threshold in a wide range."""
        return self.gap > SURE_GAP


def mobility_of(vehicle: Vehicle, state: FloatArray, at: Contacts) -> Mobility:
    """Freedoms and admissible joint rates of a state.

    The rank is decided on one matrix: the three rolling rows of every wheel [m/s] and the couplings, as columns the
    platform's twist and the joint rates, angles multiplied by the size of the vehicle so that all are lengths. Its
    singular values, divided by the largest, count above RANK_TOLERANCE; `gap` says how clear that is. Its null space
    holds every motion that rolls; the joint rates of those motions are the columns of Q_C2 (16.8).
    """
    B = _constraints(vehicle, state, at)
    _, values, Vt = np.linalg.svd(B)
    values = values / values[0]
    rank = int(np.sum(values > RANK_TOLERANCE))
    beyond = float(values[rank]) if rank < len(values) else 0.0
    platform = np.linalg.svd(B[: 3 * vehicle.n_wheels, :6], compute_uv=False)
    loose = 6 - int(np.sum(platform > RANK_TOLERANCE * platform[0]))
    freedoms = 6 + vehicle.n_joints - rank - loose
    rolling = np.linalg.svd(_joint_units(vehicle)[:, None] * Vt[rank:, 6:].T)[0][:, :freedoms]
    return Mobility(
        degrees_of_freedom=freedoms,
        loose=loose,
        admissible=rolling @ rolling.T,
        singular_values=values,
        gap=float(values[rank - 1]) / max(beyond, ROUNDING),
    )


def constraint_values(vehicle: Vehicle, state: FloatArray, at: Contacts) -> FloatArray:
    """Singular values of the constraints of `mobility_of` for states (..., nq), falling, the largest made 1."""
    values = np.linalg.svd(_constraints(vehicle, state, at), compute_uv=False)
    scaled: FloatArray = values / values[..., :1]
    return scaled


def _constraints(vehicle: Vehicle, state: FloatArray, at: Contacts) -> FloatArray:
    moving, _ = wheel_jacobians(vehicle, state, at.point_on_wheel)
    rows = moving.reshape(*state.shape[:-1], 3 * vehicle.n_wheels, -1)
    coupled = np.pad(_coupling(vehicle), ((0, 0), (6, 0)))
    B = np.concatenate((rows, np.broadcast_to(coupled, (*state.shape[:-1], *coupled.shape))), axis=-2)
    scaled: FloatArray = B * column_units(vehicle)
    return scaled


def column_units(vehicle: Vehicle) -> FloatArray:
    """What makes a joint-space velocity of one of lengths, shape (nv,): 1/size for angles, 1 for the rest."""
    return np.concatenate((np.full(3, 1.0 / _length(vehicle)), np.ones(3), _joint_units(vehicle)))


def _coupling(vehicle: Vehicle) -> FloatArray:
    """Coupling rows, the largest coefficient of each made 1."""
    rows: FloatArray = vehicle.arrays.coupling
    return rows / np.max(np.abs(rows), axis=1, keepdims=True) if len(rows) else rows


def _joint_units(vehicle: Vehicle) -> FloatArray:
    """1/length for joints that turn, 1 for those that slide, shape (nj,)."""
    return np.where(vehicle.arrays.joint[1:] < 3, 1.0 / _length(vehicle), 1.0)


def _length(vehicle: Vehicle) -> float:
    """Size of a vehicle [m]: the root mean square distance of its wheels from their middle, at least a wheel radius."""
    wheels = vehicle.wheel_positions
    spread = float(np.sqrt(np.mean(np.sum((wheels - wheels.mean(axis=0)) ** 2, axis=1))))
    return max(spread, float(vehicle.arrays.radius.max()))
