"""Forward dynamics in the thesis's own form, T (2.54)–(2.84): the reference that the engine's step is held to.

Slow (NumPy) and literal: constraint forces on an independent subset of the constraints, and the constraint velocities
at which those forces are what the contact, actuator and joint models give. Signs are those of the errata: λ acts on
the vehicle, M q̈′ + c = τ + Aᵀλ.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grouser import checks
from grouser._kernels.contact.laws import sample_contact
from grouser._kernels.dynamics.scratch import DynamicModel
from grouser.checks import FloatArray
from grouser.collision.contacts import contacts, rolling_radius
from grouser.collision.frames import frame_jacobian, frame_poses
from grouser.dynamics.model import Dynamics
from grouser.dynamics.step import Step
from grouser.terrain import Terrain
from grouser.vehicles import Vehicle

IntArray = NDArray[np.int64]

DECREASE = 1e-4
"""c₁ of the Wolfe conditions, T (D.2)."""
CURVATURE = 0.9
"""c₂ of the Wolfe conditions, T (D.4)."""
HALVINGS = 14
"""Bisections of the line search's zoom."""
INDEPENDENT = 1e-9
"""ε of T (2.68), relative to the largest |R(i, i)|. Small: a force along a dropped row that is not quite dependent
could not be balanced."""


@dataclass(frozen=True)
class Constraints:
    """Constraints of one state and the models of their forces. T (2.55).

    Rows: wheels (3 each), actuators, joints, and turns of the wheels about their axles, which carry the couple that a
    law's moment has beyond that of its force.
    """

    model: Dynamics
    arrays: DynamicModel
    state: FloatArray
    A: FloatArray
    """Velocity of each constraint per joint-space velocity, shape (m, nv)."""
    height_error: FloatArray
    """Δz of each wheel [m], shape (nw,)."""
    radius: FloatArray
    """Distance of each contact from its axle [m], shape (nw,)."""
    forced: IntArray
    """Rows whose velocity is given and whose force is whatever that takes: ideal actuators, rigid couplings."""

    @classmethod
    def of(
        cls, model: Dynamics, arrays: DynamicModel, state: FloatArray, ground: Terrain, angles: ArrayLike | None = None
    ) -> Constraints:
        """The constraints of a state. Wheels in the air stay in: they may touch down within the step."""
        vehicle, touch = model.vehicle, contacts(model.vehicle, state, ground, angles=angles)
        nw, na, nv = vehicle.n_wheels, len(vehicle.actuated), 6 + vehicle.n_joints
        coupling = model.vehicle_arrays.coupling
        A = np.zeros((3 * nw + na + len(coupling) + nw, nv))
        A[: 3 * nw] = touch.jacobian.reshape(-1, nv)
        A[3 * nw + np.arange(na), 6 + vehicle.arrays.actuated] = 1.0
        A[3 * nw + na : -nw, 6:] = coupling
        A[-nw:] = [axle_turn(vehicle, state, wheel) for wheel in vehicle.wheels]
        forced = np.concatenate([np.arange(na if arrays.ideal else 0) + 3 * nw, arrays.rigid + 3 * nw + na])
        radius = rolling_radius(vehicle, state, touch.point)
        return cls(model, arrays, state, A, touch.height_error, radius, forced)

    def forces(
        self, velocity: FloatArray, command: FloatArray, memory: FloatArray, dt: float
    ) -> tuple[FloatArray, FloatArray]:
        """f_model (m,) of T (2.78) at a joint-space velocity, dt [s] later, and ∂f_model/∂velocity (m, nv).

        T (2.71), (2.73), (2.74) with Δz + v_z dt and θ + θ̇ dt; zero in forced rows.
        """
        vehicle, rigid_body, q, A = self.model.vehicle, self.model.vehicle_arrays, self.state, self.A
        nw, na, nv = vehicle.n_wheels, len(vehicle.actuated), len(velocity)
        f, slope = np.zeros(len(A)), np.zeros((len(A), nv))
        A_wheel, spin = A[: 3 * nw].reshape(nw, 3, nv), 5 + rigid_body.wheel
        v_contact = A_wheel @ velocity
        x = np.column_stack([v_contact, self.radius * velocity[spin], self.height_error + v_contact[:, 2] * dt])
        for w in range(nw):
            out, K = call(self.arrays.contact[w, 0], x[w], 4, 20)
            K = K.reshape(4, 5)
            R = self.arrays.couple[w]
            couple, K[3] = (out[3] + R * out[0], K[3] + R * K[0]) if R else (0.0, 0.0)
            K[:, 2] += dt * K[:, 4]
            rows = [3 * w, 3 * w + 1, 3 * w + 2, len(A) - nw + w]
            f[rows] = [*out[:3], couple]
            slope[rows] = K[:, :3] @ A_wheel[w]
            slope[rows, spin[w]] += self.radius[w] * K[:, 3]
        if not self.arrays.ideal:
            driven, joint = slice(3 * nw, 3 * nw + na), rigid_body.actuated
            f[driven], K = self.torques(velocity, command, memory, dt)[::2]
            slope[driven, 6 + joint] = K
        for c, law in enumerate(self.arrays.coupling):
            if law[0] != 0:
                row = 3 * nw + na + c
                rate = A[row] @ velocity
                error = A[row, 6:] @ q[7:] - rigid_body.coupling_value[c]
                (f[row],), K = call(law, np.array([error + rate * dt, rate, dt]), 1, 2)
                slope[row] = (K[1] + dt * K[0]) * A[row]
        return f, slope

    def torques(
        self, velocity: FloatArray, command: FloatArray, memory: FloatArray, dt: float
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Torques (na,), next memories (nm,) and ∂torques/∂rates (na, na) of actuators that are not ideal."""
        joint = self.model.vehicle_arrays.actuated
        na, rates = len(joint), velocity[6 + joint]
        x = np.concatenate([command, rates, self.state[7 + joint] + rates * dt, memory, [dt]])
        out, jac = call(self.arrays.actuator, x, na + len(memory), na * na)
        return out[:na], out[na:], jac.reshape(na, na)

    def coupling_errors(self) -> FloatArray:
        """c of each rigid coupling [rad or m], shape (nk,)."""
        rigid, arrays = self.arrays.rigid, self.model.vehicle_arrays
        errors: FloatArray = arrays.coupling[rigid] @ self.state[7:] - arrays.coupling_value[rigid]
        return errors


def axle_turn(vehicle: Vehicle, state: FloatArray, wheel: str) -> FloatArray:
    """Turn rate of a wheel about its axle per joint-space velocity, shape (nv,)."""
    R, _ = frame_poses(vehicle, state)
    f = int(vehicle.arrays.wheel[vehicle.wheels.index(wheel)])
    row: FloatArray = R[f][:, 1] @ frame_jacobian(vehicle, state, wheel)[:3]
    return row


def call(law: Any, x: FloatArray, outputs: int, slopes: int) -> tuple[FloatArray, FloatArray]:
    """Output and derivative of a law (address, address of its parameters) at x."""
    out, jac = np.zeros((1, outputs)), np.zeros((1, slopes))
    sample_contact(law[0], law[1], x[None], out, jac)  # that kernel calls any law
    return out[0], jac[0]


def solve(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """matrix⁻¹ right."""
    return np.asarray(np.linalg.solve(matrix, right), dtype=np.float64)


def least_squares(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """x of smallest norm that minimises ‖matrix x − right‖."""
    return np.asarray(np.linalg.lstsq(matrix, right, rcond=None)[0], dtype=np.float64)


def independent_rows(A: FloatArray, forced: IntArray) -> IntArray:
    """Indices of a well-conditioned independent subset, the forced rows first. T (2.66)–(2.68)."""
    from scipy.linalg import qr

    Q, _ = np.linalg.qr(A[forced].T)
    others = np.setdiff1d(np.arange(len(A)), forced)
    rest = A[others] - (A[others] @ Q) @ Q.T
    _, R, order = qr(rest.T, mode="economic", pivoting=True)
    size = np.abs(np.diag(R))
    chosen: IntArray = np.concatenate([forced, others[order[: len(size)][size > INDEPENDENT * np.max(size)]]])
    return chosen


def thesis_step(
    model: Dynamics,
    state: ArrayLike,
    velocity: ArrayLike,
    command: ArrayLike,
    ground: Terrain,
    *,
    dt: float,
    angles: ArrayLike | None = None,
) -> Step:
    """As `Dynamics.step`, over dt [s], by the force-balance optimization of T §2.4.3.

    Ideal actuators and rigid couplings are rows of the independent subset with a given velocity; their force is not
    compared with a model: the error is taken orthogonal to their rows, T §2.4.4.
    """
    checks.instance(model, Dynamics, "model", "use grouser.Dynamics(vehicle)")
    checks.instance(ground, Terrain, "ground", "use grouser.terrain.plane() or another")
    h = checks.positive(dt, "dt")
    v = checks.array(velocity, "velocity", (6 + model.vehicle.n_joints,))
    M, c = model.inertia_and_bias(state, velocity)
    q = checks.array(state, "state", (7 + model.vehicle.n_joints,))
    u = checks.array(command, "command", (len(model.vehicle.actuated),))
    arrays = model.arrays(h)
    rows = Constraints.of(model, arrays, q, ground, angles)
    A, forced, memory = rows.A, rows.forced, arrays.memory[: arrays.actuator_memory]

    indep = independent_rows(A, forced)
    inputs = np.arange(len(forced), len(indep))
    # (2.79)–(2.81) as A(indep)ᵀ λ = force_per_b d, by QR of L⁻¹A(indep)ᵀ, M = L Lᵀ: C itself squares its condition.
    L = np.asarray(np.linalg.cholesky(M), dtype=np.float64)
    Q, R = np.linalg.qr(solve(L, A[indep].T))
    force_per_b = L @ solve(R, Q.T).T
    free_acceleration = solve(M, -c)  # τ = 0: all forces are constraint forces, external ones are in c
    velocity_per_v = solve(M, force_per_b)
    off_forced = np.eye(len(v))
    if len(forced):
        Qf, _ = np.linalg.qr(A[forced].T)
        off_forced -= Qf @ Qf.T

    v_next = A[indep] @ v  # warm start: the constraint velocities of now
    v_next[: len(forced)] = np.concatenate([u if arrays.ideal else u[:0], -arrays.rigid_gain * rows.coupling_errors()])

    def evaluate(x: FloatArray) -> _Balance:
        v_next[inputs] = x
        b = (v_next - A[indep] @ v) / h  # (2.61)
        d = b - A[indep] @ free_acceleration  # (2.81)
        constraint_force = force_per_b @ d
        acceleration = free_acceleration + solve(M, constraint_force)  # (2.82), sign of the errata
        f, slope = rows.forces(v + acceleration * h, u, memory, h)  # (2.83)
        lacking = constraint_force - A.T @ f  # (2.78); in forced rows what they must carry
        gradient = force_per_b[:, inputs] / h - A.T @ (slope @ velocity_per_v[:, inputs])
        return _Balance(x.copy(), acceleration, f, lacking, off_forced @ lacking, off_forced @ gradient)

    at = evaluate(v_next[inputs].copy())
    converged, iterations = at.cost <= arrays.tolerance**2, 0
    while not converged and iterations < arrays.iterations:
        # Newton on L = eᵀe, (2.84), with the Gauss–Newton Hessian 2 JᵀJ, exact where e = 0; the author's engine too.
        step = least_squares(at.J, -at.e)
        iterations += 1
        if arrays.single and iterations == 1:
            single = evaluate(at.x + step)
            if single.cost <= arrays.single_limit**2:
                at, converged = single, True
                break
        before, at = at, line_search(evaluate, at, step)
        converged = at.cost <= arrays.tolerance**2
        if not at.cost < before.cost:
            break

    nw, na = model.vehicle.n_wheels, len(u)
    carried = least_squares(A[forced].T, at.lacking)
    n_ideal = na if arrays.ideal else 0
    torque = carried[:n_ideal] if arrays.ideal else at.f[3 * nw : 3 * nw + na]
    residual = at.lacking - A[forced[n_ideal:]].T @ carried[n_ideal:]
    forces = at.f[: 3 * nw].reshape(nw, 3)
    return Step(at.acceleration, v + at.acceleration * h, forces, torque, residual, bool(converged), iterations)


@dataclass(frozen=True)
class _Balance:
    """The force balance at inputs x."""

    x: FloatArray
    acceleration: FloatArray
    f: FloatArray
    lacking: FloatArray
    e: FloatArray
    J: FloatArray

    @property
    def cost(self) -> float:
        cost = float(self.e @ self.e)
        return cost if math.isfinite(cost) else math.inf

    def slope(self, step: FloatArray) -> float:
        return 2.0 * float(self.e @ (self.J @ step))


def line_search(evaluate: Callable[[FloatArray], _Balance], at: _Balance, step: FloatArray) -> _Balance:
    """A point along the step that meets the strong Wolfe conditions. T Appendix D: Nocedal and Wright 3.2, 3.3.

    At most the whole step is taken; the zoom bisects.
    """
    slope = at.slope(step)
    trial = evaluate(at.x + step)
    if trial.cost > at.cost + DECREASE * slope:
        low, high, best = 0.0, 1.0, at
    else:
        slope_there = trial.slope(step)
        if abs(slope_there) <= CURVATURE * abs(slope) or slope_there < 0.0:
            return trial
        low, high, best = 1.0, 0.0, trial
    for _ in range(HALVINGS):
        alpha = 0.5 * (low + high)
        trial = evaluate(at.x + alpha * step)
        if trial.cost > at.cost + DECREASE * alpha * slope or trial.cost >= best.cost:
            high = alpha
            continue
        slope_there = trial.slope(step)
        if abs(slope_there) <= CURVATURE * abs(slope):
            return trial
        if slope_there * (high - low) >= 0.0:
            high = low
        low, best = alpha, trial
    return best
