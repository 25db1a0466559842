"""Contact angles and body velocity together, by Gauss–Newton: wheels roll along the ground their contacts touch.

ψ is the climb of each wheel in its carrier, −δ of T (2.9); v the joint-space velocity. Rows are residuals over their
sigmas: velocities of the contact points, what is known of the body's turning, and rigid couplings.
"""

import math

import numpy as np

from grouser._compile.jit import allocating, entry, inlined
from grouser._kernels.kinematics.jacobian import point_jacobian
from grouser._kernels.vehicles.frames import pose_frames

ITERATIONS = 8
LARGEST_STEP = 0.5  # rad, of an angle in one iteration
CONVERGED = 1e-6  # rad and m/s
SLOWEST = 0.01  # m/s of the rim, below which a wheel counts as standing
SURPRISE = 4.0  # mean square of the residuals in sigmas, beyond which the ground changed at once or some wheel slips
STEEPEST = 0.5 * math.pi  # rad

RATE, SLIP, SIDESLIP, SPREAD, VALID = range(5)
"""Places in `noise`: of wheel rates [rad/s], slip along and across (parts of the speed), of angles to come [rad], and
of those that count as valid [rad]."""


@inlined
def carrier_jacobians(vehicle, s, linear, angular):
    """Velocity of each wheel's centre and turning of each wheel per joint-space velocity, (nw, 3, nv), carrier axes."""
    for w in range(vehicle.wheel.size):
        frame = vehicle.wheel[w]
        axes = s.axes[w]
        for r in range(3):
            for i in range(3):
                axes[r, i] = s.R[frame, i, r]
                angular[w, r, i] = axes[r, i]
        point_jacobian(vehicle, s, frame, s.p[frame], axes, linear[w])
        f = frame
        while f > 0:
            axis = vehicle.joint[f]
            if axis < 3:
                for r in range(3):
                    angular[w, r, 5 + f] = (
                        axes[r, 0] * s.R[f, 0, axis] + axes[r, 1] * s.R[f, 1, axis] + axes[r, 2] * s.R[f, 2, axis]
                    )
            f = vehicle.parent[f]


@inlined
def add_row(row, residual, M, g):
    """Add a row to the normal equations M x = g of the step x that removes its residual."""
    for i in range(g.size):
        if row[i] != 0.0:
            g[i] -= row[i] * residual
            for k in range(i + 1):
                M[i, k] += row[i] * row[k]


@inlined
def factorise(M):
    """Cholesky factor of M, in its lower half; False if M is not positive definite."""
    for i in range(M.shape[0]):
        for k in range(i + 1):
            total = M[i, k]
            for j in range(k):
                total -= M[i, j] * M[k, j]
            if i == k:
                if not total > 0.0:
                    return False
                M[i, i] = math.sqrt(total)
            else:
                M[i, k] = total / M[k, k]
    return True


@inlined
def solve_factorised(L, x):
    """x ← (L Lᵀ)⁻¹ x."""
    n = x.size
    for i in range(n):
        for k in range(i):
            x[i] -= L[i, k] * x[k]
        x[i] /= L[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            x[i] -= L[k, i] * x[k]
        x[i] /= L[i, i]


@inlined
def add_contact(w, radius, weight, linear, angular, v, psi, unknown, row, M, g):
    """Add the three rows of wheel w's contact velocity; returns the sum of their squares.

    Along t = (cψ, 0, sψ) in the carrier, across, and along the normal (−sψ, 0, cψ).
    """
    c = math.cos(psi)
    s = math.sin(psi)
    cx = 0.0
    cy = 0.0
    cz = 0.0
    wx = 0.0
    wy = 0.0
    wz = 0.0
    for k in range(v.size):
        cx += linear[0, k] * v[k]
        cy += linear[1, k] * v[k]
        cz += linear[2, k] * v[k]
        wx += angular[0, k] * v[k]
        wy += angular[1, k] * v[k]
        wz += angular[2, k] * v[k]
    ahead = c * cx + s * cz
    up = c * cz - s * cx
    squares = 0.0
    for i in range(row.size):
        row[i] = 0.0
    for r in range(3):
        if r == 0:
            residual = ahead - radius * wy
            slope = up
        elif r == 1:
            residual = cy + radius * (c * wx + s * wz)
            slope = radius * (c * wz - s * wx)
        else:
            residual = up
            slope = -ahead
        for i in range(unknown.size):
            k = unknown[i]
            if r == 0:
                value = c * linear[0, k] + s * linear[2, k] - radius * angular[1, k]
            elif r == 1:
                value = linear[1, k] + radius * (c * angular[0, k] + s * angular[2, k])
            else:
                value = c * linear[2, k] - s * linear[0, k]
            row[i] = weight[r] * value
        row[unknown.size + w] = weight[r] * slope
        residual *= weight[r]
        squares += residual * residual
        add_row(row, residual, M, g)
    return squares


@allocating
def solve_contact_angles(
    vehicle, q, unknown, looseness, weight, turn_rows, turn, coupling, mean, prior, v, psi, P, carrier_rate, s
):
    """Angles ψ (nw,), their covariance P (nw, nw), velocity v (nv,) and turning of the carriers (nw,).

    Given are the state q, which entries of v are unknown, one over the square of how large each of v may be (nv,),
    weights of the contact rows (nw, 3), rows on ω and on the joints in sigmas, and the mean of ψ with its inverse
    covariance. v holds the known rates and where to start. Returns the sum of squares, and whether it was solved.
    """
    pose_frames(vehicle, q, s)
    nw = vehicle.wheel.size
    nv = v.size
    n = unknown.size
    linear = np.zeros((nw, 3, nv))
    angular = np.zeros((nw, 3, nv))
    carrier_jacobians(vehicle, s, linear, angular)
    M = np.zeros((n + nw, n + nw))
    g = np.zeros(n + nw)
    row = np.zeros(n + nw)
    squares = 0.0
    for w in range(nw):
        psi[w] = mean[w]
    for _ in range(ITERATIONS):
        M[:] = 0.0
        g[:] = 0.0
        squares = 0.0
        for w in range(nw):
            squares += add_contact(
                w, vehicle.radius[w], weight[w], linear[w], angular[w], v, psi[w], unknown, row, M, g
            )
        row[:] = 0.0
        for t in range(turn.size):
            residual = -turn[t]
            for i in range(3):
                row[i] = turn_rows[t, i]
                residual += turn_rows[t, i] * v[i]
            squares += residual * residual
            add_row(row, residual, M, g)
        for k in range(coupling.shape[0]):
            row[:] = 0.0
            residual = 0.0
            for j in range(nv - 6):
                residual += coupling[k, j] * v[6 + j]
            for i in range(6, n):
                row[i] = coupling[k, unknown[i] - 6]
            squares += residual * residual
            add_row(row, residual, M, g)
        for i in range(n):
            M[i, i] += looseness[unknown[i]]
            g[i] -= looseness[unknown[i]] * v[unknown[i]]
        for a in range(nw):
            for b in range(nw):
                pull = prior[a, b] * (psi[b] - mean[b])
                g[n + a] -= pull
                squares += pull * (psi[a] - mean[a])
                if b <= a:
                    M[n + a, n + b] += prior[a, b]
        if not factorise(M):
            return squares, False
        solve_factorised(M, g)
        largest = 0.0
        for i in range(n):
            v[unknown[i]] += g[i]
            largest = max(largest, abs(g[i]))
        for w in range(nw):
            largest = max(largest, abs(g[n + w]))
            psi[w] += min(max(g[n + w], -LARGEST_STEP), LARGEST_STEP)
        if not largest < math.inf:
            return squares, False
        if largest < CONVERGED:
            break
    for a in range(nw):
        g[:] = 0.0
        g[n + a] = 1.0
        solve_factorised(M, g)
        for b in range(nw):
            P[a, b] = g[n + b]
    for w in range(nw):
        carrier_rate[w] = 0.0
        for k in range(nv):
            if k != 5 + vehicle.wheel[w]:
                carrier_rate[w] += angular[w, 1, k] * v[k]
    return squares, True


@inlined
def rim_speeds(vehicle, rates, rim):
    """Rim speed of each wheel, without sign [m/s], into rim; that of the others' mean where it is not measured."""
    total = 0.0
    count = 0
    for w in range(rim.size):
        rim[w] = abs(rates[vehicle.wheel[w] - 1]) * vehicle.radius[w]
        if not math.isnan(rim[w]):
            total += rim[w]
            count += 1
    for w in range(rim.size):
        if math.isnan(rim[w]):
            rim[w] = total / max(count, 1)


@inlined
def fade(rim, dt, length, spread, carrier_rate, psi, P):
    """The angles after so long [s]: the ground keeps its slope, the carriers turn over it, the memory fades."""
    for w in range(rim.size):
        keep = math.exp(-rim[w] * dt / length[w])
        psi[w] = keep * (psi[w] + carrier_rate[w] * dt)
        for k in range(rim.size):
            P[w, k] *= keep
            P[k, w] *= keep
        P[w, w] += spread * spread * (1.0 - keep * keep)


@inlined
def contact_weights(rim, dt, length, radius, noise, weight):
    """One over sigma of each contact row into weight (nw, 3)."""
    for w in range(rim.size):
        # A slip that lasts over the length is one error, not one per sample.
        speed = rim[w] + SLOWEST
        slipped = 1e3 * speed
        if dt > 0.0:
            slipped = speed * math.sqrt(max(length[w] / (speed * dt), 1.0))
        weight[w, 0] = 1.0 / math.hypot(radius[w] * noise[RATE], noise[SLIP] * slipped)
        weight[w, 1] = 1.0 / (noise[SIDESLIP] * slipped)
        weight[w, 2] = 1.0 / (noise[SLIP] * slipped)


@inlined
def invert(P, L, inverse):
    """Inverse of a covariance, L being work space; False if it is not positive definite."""
    n = P.shape[0]
    for i in range(n):
        for k in range(n):
            L[i, k] = P[i, k]
            inverse[i, k] = 1.0 if i == k else 0.0
    if not factorise(L):
        return False
    for i in range(n):
        solve_factorised(L, inverse[i])
    return True


@entry
def update_contact_angles(
    vehicle,
    coupling,
    looseness,
    length,
    rest,
    noise,
    rates,
    angles,
    turn_rows,
    turn,
    dt,
    surprise,
    psi,
    P,
    v,
    carrier_rate,
    valid,
    s,
):
    """One sample of the filter: psi (nw,), P (nw, nw), v (nv,), carrier_rate (nw,) are its memory, valid (nw,) is set.

    rates, angles (nj,): NaN where not measured; turn_rows (k, 3), turn (k,): what is known of ω, in sigmas. Returns the
    mean square of the residuals, or `surprise` where nothing is to be learnt: at standstill, or with ω unknown.
    """
    nw = vehicle.wheel.size
    rim = np.empty(nw)
    rim_speeds(vehicle, rates, rim)
    fade(rim, dt, length, noise[SPREAD], carrier_rate, psi, P)
    fastest = 0.0
    for w in range(nw):
        valid[w] = False
        fastest = max(fastest, rim[w])
    if fastest < SLOWEST or turn.size == 0:
        return surprise
    weight = np.empty((nw, 3))
    contact_weights(rim, dt, length, vehicle.radius, noise, weight)
    q = np.zeros(7 + rest.size)
    q[0] = 1.0
    choice = np.arange(v.size)
    n = 6
    for j in range(rest.size):
        q[7 + j] = rest[j] if math.isnan(angles[j]) else angles[j]
        if math.isnan(rates[j]):
            choice[n] = 6 + j
            n += 1
    unknown = choice[:n]
    mean = psi.copy()
    prior = np.empty((nw, nw))
    known = invert(P, np.empty((nw, nw)), prior)
    found = np.empty(nw)
    found_P = np.empty((nw, nw))
    found_rate = np.empty(nw)
    found_v = np.empty(v.size)
    for memory in range(2):
        if memory == 1:  # the ground may have changed at once, as at the foot of a ramp: try without the memory
            known = True
            for a in range(nw):
                mean[a] = 0.0
                for b in range(nw):
                    prior[a, b] = 1.0 / noise[SPREAD] ** 2 if a == b else 0.0
        if not known:
            continue
        for i in range(v.size):
            found_v[i] = v[i] if i < 6 or math.isnan(rates[i - 6]) else rates[i - 6]
        squares, solved = solve_contact_angles(
            vehicle,
            q,
            unknown,
            looseness,
            weight,
            turn_rows,
            turn,
            coupling,
            mean,
            prior,
            found_v,
            found,
            found_P,
            found_rate,
            s,
        )
        surprise = squares / max(3 * nw + turn.size - n, 1)
        solved = solved and surprise <= SURPRISE
        for w in range(nw):
            solved = solved and abs(found[w]) <= STEEPEST
        if solved:
            for w in range(nw):
                psi[w] = found[w]
                carrier_rate[w] = found_rate[w]
                for k in range(nw):
                    P[w, k] = 0.5 * (found_P[w, k] + found_P[k, w])
                valid[w] = math.sqrt(P[w, w]) <= noise[VALID] and rim[w] >= SLOWEST
            for i in range(v.size):
                v[i] = found_v[i]
            return surprise
    return surprise
