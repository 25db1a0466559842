"""Which joint rates a rolling vehicle admits, and how many freedoms it has (R §16.3.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grouser.checks import FloatArray
from grouser.rolling.closure import Contacts, wheel_jacobians
from grouser.vehicles import Vehicle

__all__ = [
    "RANK_TOLERANCE",
    "SURE_GAP",
    "Mobility",
    "admissible",
    "column_units",
    "constraint_values",
    "hand_jacobians",
    "mobility_of",
]

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


def hand_jacobians(vehicle: Vehicle, state: FloatArray, at: Contacts) -> tuple[FloatArray, FloatArray]:
    """J_GC (6 nw, 6 + 3 nw) and J_R (6 nw, nj) of (16.5), J_GC [V_PG; Ṽ_c] = J_R θ̇, for any tree of frames.

    Six rows a wheel, world axes: the velocity of its contact point, which rolling makes zero, and its angular velocity,
    which is the allowable contact velocity Ṽ_c of (16.2). V_PG is the platform's (ω, v) in body axes.
    """
    moving, turning = wheel_jacobians(vehicle, state, at)
    nw = vehicle.n_wheels
    J_GC = np.zeros((6 * nw, 6 + 3 * nw))
    J_R = np.zeros((6 * nw, vehicle.n_joints))
    for w in range(nw):
        both = np.concatenate((moving[w], turning[w]))
        rows = slice(6 * w, 6 * w + 6)
        J_GC[rows, :6] = both[:, :6]
        J_GC[6 * w + 3 : 6 * w + 6, 6 + 3 * w : 9 + 3 * w] = -np.eye(3)
        J_R[rows] = -both[:, 6:]
    return J_GC, J_R


def admissible(vehicle: Vehicle, J_GC: FloatArray, J_R: FloatArray) -> tuple[FloatArray, int]:
    """Q_C2 of (16.8), an orthonormal basis (nj, dof) of the joint rates that roll, and rank J_GC.

    Q₂ spans the left null space of J_GC (`errata.md`: it has as many rows as J_GC), so Q₂ᵀ J_R θ̇ = 0 (16.7). The joint
    couplings stand below. Angles are measured in lengths of `_length`, so that both ranks compare lengths with lengths.
    """
    scale = _length(vehicle)
    units = np.full(J_GC.shape[0], 1.0)
    units[np.arange(J_GC.shape[0]) % 6 >= 3] = scale
    columns = np.ones(J_GC.shape[1])
    columns[:3] = 1.0 / scale
    columns[6:] = 1.0 / scale
    Q2, rank = _left_null_space(units[:, None] * J_GC * columns)
    C_theta = np.concatenate((Q2.T @ (units[:, None] * J_R), _coupling(vehicle)))
    per_joint = _joint_units(vehicle)
    Q_C2, _ = _left_null_space((C_theta * per_joint).T)
    # Back from lengths to angles; a basis of the same space, made orthonormal again.
    basis, _ = np.linalg.qr(per_joint[:, None] * Q_C2)
    return basis, rank


def mobility_of(vehicle: Vehicle, state: FloatArray, at: Contacts) -> Mobility:
    """Freedoms and admissible joint rates of a state.

    The rank is decided on one matrix: the three rolling rows of every wheel [m/s] and the couplings, as columns the
    platform's twist and the joint rates, angles multiplied by the size of the vehicle so that all are lengths. Its
    singular values, divided by the largest, count above RANK_TOLERANCE; `gap` tells how clear that is.
    """
    values = constraint_values(vehicle, state, at)
    rank = int(np.sum(values > RANK_TOLERANCE))
    beyond = float(values[rank]) if rank < len(values) else 0.0
    gap = float(values[rank - 1]) / max(beyond, ROUNDING)
    J_GC, J_R = hand_jacobians(vehicle, state, at)
    basis, rank_GC = admissible(vehicle, J_GC, J_R)
    loose = J_GC.shape[1] - rank_GC
    return Mobility(
        degrees_of_freedom=6 + vehicle.n_joints - rank - loose,
        loose=loose,
        admissible=basis @ basis.T,
        singular_values=values,
        gap=gap,
    )


def constraint_values(vehicle: Vehicle, state: FloatArray, at: Contacts) -> FloatArray:
    """Singular values of the scaled constraints of `mobility_of` for states (..., nq), falling, the largest made 1."""
    moving, _ = wheel_jacobians(vehicle, state, at)
    rows = moving.reshape(*state.shape[:-1], 3 * vehicle.n_wheels, -1)
    coupled = np.pad(_coupling(vehicle), ((0, 0), (6, 0)))
    B = np.concatenate((rows, np.broadcast_to(coupled, (*state.shape[:-1], *coupled.shape))), axis=-2)
    values = np.linalg.svd(B * column_units(vehicle), compute_uv=False)
    scaled: FloatArray = values / values[..., :1]
    return scaled


def column_units(vehicle: Vehicle) -> FloatArray:
    """What makes a joint-space velocity of one of lengths, shape (nv,): 1/size for angles, 1 for the rest."""
    return np.concatenate((np.full(3, 1.0 / _length(vehicle)), np.ones(3), _joint_units(vehicle)))


def _left_null_space(A: FloatArray) -> tuple[FloatArray, int]:
    """An orthonormal basis of {z: zᵀA = 0}, and the rank; by the singular values, as in `mobility_of`."""
    U, s, _ = np.linalg.svd(A)
    rank = int(np.sum(s > RANK_TOLERANCE * s[0])) if s.size and s[0] > 0.0 else 0
    return U[:, rank:], rank


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
