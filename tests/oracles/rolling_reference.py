"""The rolling vehicle the long way, as the reference for the compiled one: dense algebra, SciPy's adaptive integrator.

Every equation of (16.17) is a row here: rolling, the stabilised closure (16.14), and the nearest admissible joint
rates (16.10). Nothing is eliminated, and nothing is shared with `_kernels/rolling/vehicle.py`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from grouser import rotation
from grouser.checks import FloatArray
from grouser.errors import SimulationError
from grouser.rolling.closure import closure, closure_jacobian, contacts_at, wheel_jacobians
from grouser.terrain import Terrain
from grouser.vehicles import Vehicle

__all__ = ["integrate", "rates"]


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
    moving, _ = wheel_jacobians(vehicle, state, at)
    sliding = np.zeros((2 * nw, nv + 4 * nw))
    for w in range(nw):
        sliding[2 * w, :nv] = at.c_x[w] @ moving[w]
        sliding[2 * w + 1, :nv] = at.c_y[w] @ moving[w]
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
