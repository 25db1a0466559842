"""The rolling vehicle the long way, as the reference for the compiled one: dense algebra, SciPy's adaptive integrator.

Every equation of (16.17) is a row here: rolling, the stabilised closure (16.14), and the nearest admissible joint
rates (16.10). Nothing is eliminated, and nothing is shared with `_kernels/rolling/vehicle.py`. `hand_jacobians` and
`admissible` are R's own form of the freedoms (16.5)–(16.8).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from grouser import rotation
from grouser.checks import FloatArray
from grouser.errors import SimulationError
from grouser.rolling.closure import Contacts, closure, closure_jacobian, contacts_at, wheel_jacobians
from grouser.rolling.model import RANK_TOLERANCE, column_units
from grouser.terrain import Terrain
from grouser.vehicles import Vehicle

__all__ = ["admissible", "hand_jacobians", "integrate", "rates"]


def rates(
    vehicle: Vehicle,
    ground: Terrain,
    state: FloatArray,
    contact: FloatArray,
    desired: FloatArray,
    *,
    sigma: float,
    weights: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Joint-space velocity (nv,) and contact rates (nw, 4): rolling, closing, nearest to the desired joint rates."""
    at = contacts_at(vehicle, ground, state, contact)
    nw, nj = vehicle.n_wheels, vehicle.n_joints
    nv = 6 + nj
    moving, _ = wheel_jacobians(vehicle, state, at.point_on_wheel)
    sliding = np.zeros((2 * nw, nv + 4 * nw))
    for w in range(nw):
        sliding[2 * w, :nv] = at.ground.c_x[w] @ moving[w]
        sliding[2 * w + 1, :nv] = at.ground.c_y[w] @ moving[w]
    hard = np.concatenate((sliding, closure_jacobian(vehicle, ground, state, contact)))
    wanted = np.concatenate((np.zeros(2 * nw), -sigma * closure(vehicle, ground, state, contact)))
    U, s, Vt = np.linalg.svd(hard)
    rank = int(np.sum(s > 1e-9 * s[0]))
    one = Vt[:rank].T @ ((U[:, :rank].T @ wanted) / s[:rank])
    free = Vt[rank:].T
    weight = np.ones(nj) if weights is None else weights
    soft = weight[:, None] * free[6:nv]
    z = np.linalg.lstsq(soft, weight * (desired - one[6:nv]), rcond=1e-9)[0]
    solution = one + free @ z
    return solution[:nv], solution[nv:].reshape(nw, 4)


def integrate(
    vehicle: Vehicle,
    ground: Terrain,
    state: FloatArray,
    contact: FloatArray,
    desired: Callable[[float], FloatArray],
    times: FloatArray,
    *,
    sigma: float,
    weights: FloatArray | None = None,
    tolerance: float = 1e-10,
) -> tuple[FloatArray, FloatArray]:
    """States (T, nq) and contacts (T, nw, 4) at `times` by SciPy's Dormand–Prince 8(5,3)."""
    from scipy.integrate import solve_ivp

    nq, nw = len(state), vehicle.n_wheels

    def slope(t: float, y: FloatArray) -> FloatArray:
        q, eta = y[:nq].copy(), y[nq:].reshape(nw, 4)
        size = np.linalg.norm(q[:4])
        q[:4] /= size
        v, eta_rate = rates(vehicle, ground, q, eta, desired(t), sigma=sigma, weights=weights)
        w, x, y_, z = q[:4]
        turn = 0.5 * np.array([[-x, -y_, -z], [w, -z, y_], [z, w, -x], [-y_, x, w]]) @ v[:3]
        moved = rotation.from_quaternion(q[:4]) @ v[3:6]
        return np.concatenate((turn, moved, v[6:], eta_rate.ravel()))

    done = solve_ivp(
        slope,
        (times[0], times[-1]),
        np.concatenate((state, contact.ravel())),
        method="DOP853",
        t_eval=times,
        rtol=tolerance,
        atol=tolerance,
    )
    if not done.success:
        raise SimulationError(f"the reference integrator ended at {done.t[-1]:g} s: {done.message}")
    out = done.y.T
    out[:, :4] /= np.linalg.norm(out[:, :4], axis=1, keepdims=True)
    return out[:, :nq], out[:, nq:].reshape(-1, nw, 4)


def hand_jacobians(vehicle: Vehicle, state: FloatArray, at: Contacts) -> tuple[FloatArray, FloatArray]:
    """J_GC (6 nw, 6 + 3 nw) and J_R (6 nw, nj) of (16.5), J_GC [V_PG; Ṽ_c] = J_R θ̇, for any tree of frames.

    Six rows a wheel, world axes: the velocity of its contact point, which rolling makes zero, and its angular velocity,
    which is the allowable contact velocity Ṽ_c of (16.2). V_PG is the platform's (ω, v) in body axes.
    """
    moving, turning = wheel_jacobians(vehicle, state, at.point_on_wheel)
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
    couplings stand below. Angles are measured in lengths, so that both ranks compare lengths with lengths.
    """
    scale = 1.0 / column_units(vehicle)[0]
    rows = np.tile(np.repeat([1.0, scale], 3), vehicle.n_wheels)
    columns = np.full(J_GC.shape[1], 1.0 / scale)
    columns[3:6] = 1.0
    Q2, rank = _left_null_space(rows[:, None] * J_GC * columns)
    rigid = vehicle.arrays.coupling[[c.is_rigid for c in vehicle.couplings]]
    C_theta = np.concatenate((Q2.T @ (rows[:, None] * J_R), rigid))
    per_joint = column_units(vehicle)[6:]
    Q_C2, _ = _left_null_space((C_theta * per_joint).T)
    # Back from lengths to angles; a basis of the same space, made orthonormal again.
    basis, _ = np.linalg.qr(per_joint[:, None] * Q_C2)
    return basis, rank


def _left_null_space(A: FloatArray) -> tuple[FloatArray, int]:
    """An orthonormal basis of {z: zᵀA = 0}, and the rank."""
    U, s, _ = np.linalg.svd(A)
    rank = int(np.sum(s > RANK_TOLERANCE * s[0]))
    return U[:, rank:], rank
