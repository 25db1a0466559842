"""Unconstrained motion, then terrain fitting, T §2.5.1: the baseline of the constrained kinematics."""

import math

import numpy as np

from grouser._compile.jit import entry, kernel
from grouser._kernels.contact.geometry import find_contacts
from grouser._kernels.group import move
from grouser._kernels.kinematics.jacobian import wheel_jacobians
from grouser._kernels.rotation import euler_angles, matrix, set_attitude
from grouser._kernels.simulation.rollout import copy_row, record_contacts
from grouser._kernels.simulation.settle import contact_errors, settle_state
from grouser._kernels.simulation.step import DIVERGED, OFF_TERRAIN, OK, ROLLED_OVER
from grouser._kernels.vehicles.frames import pose_frames

NEWTON = 0
NELDER_MEAD = 1

NEWTON_TOLERANCE = 1e-10  # [rad or m], as `settle` has it
# The defaults of MATLAB's fminsearch.
SIMPLEX_TOLERANCE = 1e-4  # TolX and TolFun
MOST_EVALUATIONS = 200  # MaxFunEvals and MaxIter, for each unknown
FIRST_STEP = 0.05  # of a coordinate's own size
FIRST_STEP_AT_ZERO = 0.00025


@kernel
def twist_between(q0, q1, dt, v):
    """Joint-space velocity v that moves q0 to q1 in dt: the inverse of `move`, for turns of less than π."""
    w = q0[0] * q1[0] + q0[1] * q1[1] + q0[2] * q1[2] + q0[3] * q1[3]
    x = q0[0] * q1[1] - q0[1] * q1[0] - q0[2] * q1[3] + q0[3] * q1[2]
    y = q0[0] * q1[2] + q0[1] * q1[3] - q0[2] * q1[0] - q0[3] * q1[1]
    z = q0[0] * q1[3] - q0[1] * q1[2] + q0[2] * q1[1] - q0[3] * q1[0]
    if w < 0.0:
        w, x, y, z = -w, -x, -y, -z
    sine = math.sqrt(x * x + y * y + z * z)
    half = math.atan2(sine, w)
    square = 4.0 * half * half
    # scale = θ/sin(θ/2), c = (1 − θ/2 cot θ/2)/θ²
    if square < 1e-4:
        scale = 2.0 + square / 12.0
        c = 1.0 / 12.0 + square / 720.0
    else:
        scale = 2.0 * half / sine
        c = (1.0 - half * w / sine) / square
    wx = scale * x
    wy = scale * y
    wz = scale * z
    dx = q1[4] - q0[4]
    dy = q1[5] - q0[5]
    dz = q1[6] - q0[6]
    # R0ᵀ d = d − 2 r × (w d − r × d) with q0 = (w, r)
    tx = q0[0] * dx - (q0[2] * dz - q0[3] * dy)
    ty = q0[0] * dy - (q0[3] * dx - q0[1] * dz)
    tz = q0[0] * dz - (q0[1] * dy - q0[2] * dx)
    px = dx - 2.0 * (q0[2] * tz - q0[3] * ty)
    py = dy - 2.0 * (q0[3] * tx - q0[1] * tz)
    pz = dz - 2.0 * (q0[1] * ty - q0[2] * tx)
    cx = wy * pz - wz * py
    cy = wz * px - wx * pz
    cz = wx * py - wy * px
    v[0] = wx / dt
    v[1] = wy / dt
    v[2] = wz / dt
    v[3] = (px - 0.5 * cx + c * (wy * cz - wz * cy)) / dt
    v[4] = (py - 0.5 * cy + c * (wz * cx - wx * cz)) / dt
    v[5] = (pz - 0.5 * cz + c * (wx * cy - wy * cx)) / dt
    for j in range(6, v.size):
        v[j] = (q1[j + 1] - q0[j + 1]) / dt


@kernel
def set_fitted(q, yaw, x, free):
    """Roll, pitch, z and the free joints of q ← x."""
    set_attitude(q, x[0], x[1], yaw)
    q[6] = x[2]
    for j in range(free.size):
        q[7 + free[j]] = x[3 + j]


@kernel
def squared_errors(vehicle, ground, model, yaw, x, s):
    """Objective L of T (2.28) with the unknowns x in the state s.q_stage; infinite where the ground ends."""
    set_fitted(s.q_stage, yaw, x, model.suspension.free)
    cost = 2.0 * contact_errors(vehicle, ground, model.target, model.suspension, s.q_stage, s, s.row)
    return math.inf if math.isnan(cost) else cost


@kernel
def sort_vertices(t, n):
    """The n + 1 first rows of t by their value in column n, the smallest first; equal ones keep their order."""
    for i in range(1, n + 1):
        j = i
        while j > 0 and t[j, n] < t[j - 1, n]:
            for k in range(n + 1):
                t[j, k], t[j - 1, k] = t[j - 1, k], t[j, k]
            j -= 1


@kernel
def simplex_is_small(t, n):
    """Whether the sorted simplex is within the tolerance, in its values and in its coordinates."""
    widest = 0.0
    for i in range(1, n + 1):
        for k in range(n):
            widest = max(widest, abs(t[i, k] - t[0, k]))
    return t[n, n] - t[0, n] <= SIMPLEX_TOLERANCE and widest <= SIMPLEX_TOLERANCE


@kernel
def fit_by_simplex(vehicle, ground, model, q, s, t):
    """Nelder–Mead on q as MATLAB's fminsearch does it; returns (evaluations, converged, inside).

    Lagarias et al., SIAM J. Optim. 9 (1998) 112. t has n + 1 rows of vertices with their value behind them, then
    the centroid and two trials.
    """
    free = model.suspension.free
    n = 3 + free.size
    matrix(q, s.R_world_body)
    roll, pitch, yaw = euler_angles(s.R_world_body)
    for i in range(q.size):
        s.q_stage[i] = q[i]
    for i in range(n + 1):
        t[i, 0] = roll
        t[i, 1] = pitch
        t[i, 2] = q[6]
        for j in range(free.size):
            t[i, 3 + j] = q[7 + free[j]]
        if i > 0:
            t[i, i - 1] += FIRST_STEP * t[i, i - 1] if t[i, i - 1] != 0.0 else FIRST_STEP_AT_ZERO
        t[i, n] = squared_errors(vehicle, ground, model, yaw, t[i], s)
    if math.isinf(t[0, n]):
        return 1, False, False
    sort_vertices(t, n)
    evaluations = n + 1
    iterations = 1
    centroid = t[n + 1]
    trial = t[n + 2]
    second = t[n + 3]
    worst = t[n]
    small = simplex_is_small(t, n)
    while not small and evaluations < MOST_EVALUATIONS * n and iterations < MOST_EVALUATIONS * n:
        for k in range(n):
            centroid[k] = 0.0
            for i in range(n):
                centroid[k] += t[i, k] / n
            trial[k] = 2.0 * centroid[k] - worst[k]
        trial[n] = squared_errors(vehicle, ground, model, yaw, trial, s)
        evaluations += 1
        shrink = False
        if trial[n] < t[0, n]:  # expand
            for k in range(n):
                second[k] = 3.0 * centroid[k] - 2.0 * worst[k]
            second[n] = squared_errors(vehicle, ground, model, yaw, second, s)
            evaluations += 1
            best = second if second[n] < trial[n] else trial
        elif trial[n] < t[n - 1, n]:  # reflect
            best = trial
        else:  # contract, outside or inside
            outside = trial[n] < worst[n]
            along = 0.5 if outside else -0.5
            for k in range(n):
                second[k] = centroid[k] + along * (centroid[k] - worst[k])
            second[n] = squared_errors(vehicle, ground, model, yaw, second, s)
            evaluations += 1
            best = second
            shrink = not (second[n] <= trial[n] if outside else second[n] < worst[n])
        if shrink:
            for i in range(1, n + 1):
                for k in range(n):
                    t[i, k] = t[0, k] + 0.5 * (t[i, k] - t[0, k])
                t[i, n] = squared_errors(vehicle, ground, model, yaw, t[i], s)
            evaluations += n
        else:
            for k in range(n + 1):
                worst[k] = best[k]
        sort_vertices(t, n)
        iterations += 1
        small = simplex_is_small(t, n)
    set_fitted(q, yaw, t[0], free)
    return evaluations, small, True


@kernel
def fitted_step(vehicle, model, ground, method, nominal, dt, q, after, s, t):
    """`after` ← q moved by the nominal velocity and fitted to the ground; returns status, work done, converged."""
    move(q, nominal, dt, after)
    if method == NEWTON:
        work, converged, inside = settle_state(
            vehicle, ground, model.target, model.suspension, NEWTON_TOLERANCE, after, s
        )
    else:
        work, converged, inside = fit_by_simplex(vehicle, ground, model, after, s, t)
    if not inside:
        return OFF_TERRAIN, work, converged
    total = 0.0
    for i in range(after.size):
        total += abs(after[i])
    if not total < np.inf:
        return DIVERGED, work, converged
    matrix(after, s.R_world_body)
    return ROLLED_OVER if s.R_world_body[2, 2] < model.tip_cosine else OK, work, converged


@entry
def fitted_states(vehicle, model, ground, method, nominal, dt, states, work, s):
    """States from states[0] on; returns status, steps done, steps whose fitting did not converge.

    Row k of nominal is the velocity of the step from state k; work[k] gets its iterations or evaluations.
    """
    n = model.suspension.free.size
    t = np.zeros((n + 7, n + 4))
    steps = states.shape[0] - 1
    unconverged = 0
    for k in range(steps):
        status, work[k], converged = fitted_step(
            vehicle, model, ground, method, nominal[k], dt, states[k], states[k + 1], s, t
        )
        if status != OK:
            return status, k, unconverged
        unconverged += not converged
    return OK, steps, unconverged


@entry
def step_velocities(vehicle, ground, dt, states, velocities, contacts, s):
    """Velocity of each step between rows of states, and the contacts at its beginning moving with it."""
    for k in range(states.shape[0] - 1):
        twist_between(states[k], states[k + 1], dt, s.v)
        copy_row(s.v, velocities, k)
        pose_frames(vehicle, states[k], s)
        find_contacts(vehicle, ground, s)
        wheel_jacobians(vehicle, s)
        record_contacts(vehicle, s, contacts[k])
