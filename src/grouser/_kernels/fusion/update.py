"""Correction of the fusion filter by a few linearised rows, and what to do with measurements that the gate refuses."""

import math

from grouser._compile.jit import inlined, kernel
from grouser._kernels.arrays import copy, fill, inner
from grouser._kernels.fusion import memory as at
from grouser._kernels.fusion.memory import CLONE, SAME_TIME, VELOCITY
from grouser._kernels.rotation import add, exponential, left_jacobian, product, put, put_quaternion, rotate, vector

FEWEST = 3  # Refusals in a row before a source is let in again
PATIENCE = 10.0  # Times `recover_after` for which wheels or poses support the state against a source
USE, LEAVE_OUT, WIDEN, OPEN = range(4)


@inlined
def core(m):
    """Rows of the error of the present state; those of the clones follow."""
    return m.columns.size


@inlined
def add_row(factor, row, n, out):
    """out[:n] += factor row[:n]."""
    for k in range(n):
        out[k] += factor * row[k]


@inlined
def sparse_product(factors, P, n, out):
    """out[:n] ← factors P[:, :n] for a row of factors most of which are zero."""
    fill(out[:n], 0.0)
    for c in range(at.MOTION):
        if factors[c] != 0.0:
            add_row(factors[c], P[c], n, out)


@kernel
def innovate(m, rows, count):
    """Squared normalised innovation of m.residual with m.H (rows, count) and m.noise; −1 if not definite.

    Leaves L⁻¹ H P and L⁻¹ r, with L Lᵀ = H P Hᵀ + noise, for `commit`.
    """
    P, S, r = m.covariance, m.S, m.residual
    n = core(m) + CLONE * m.counts.clones
    for j in range(rows):
        fill(m.gain[j], 0.0)
        for c in range(count):
            if m.H[j, c] != 0.0:
                add_row(m.H[j, c], P[m.columns[c]], n, m.gain[j])
    for i in range(rows):
        for j in range(i + 1):
            total = m.noise[i, j]
            for c in range(count):
                total += m.gain[i, m.columns[c]] * m.H[j, c]
            S[i, j] = total
    square = 0.0
    for i in range(rows):
        for j in range(i):
            S[i, j] = (S[i, j] - inner(S[i, :j], S[j])) / S[j, j]
        pivot = S[i, i] - inner(S[i, :i], S[i])
        if not pivot > 1e-14 * S[i, i]:
            return -1.0
        S[i, i] = math.sqrt(pivot)
        row = m.gain[i]
        for j in range(i):
            r[i] -= S[i, j] * r[j]
            add_row(-S[i, j], m.gain[j], n, row)
        inverse = 1.0 / S[i, i]
        r[i] *= inverse
        for k in range(n):
            row[k] *= inverse
        square += r[i] * r[i]
    return square


@kernel
def commit(m, rows):
    """Apply the rows of the last `innovate`: P ← P − (L⁻¹HP)ᵀ(L⁻¹HP), state ← Exp(K r) state."""
    P = m.covariance
    n = core(m) + CLONE * m.counts.clones
    change = m.change
    fill(change, 0.0)
    for j in range(rows):
        row = m.gain[j]
        add_row(m.residual[j], row, n, change)
        for i in range(n):
            add_row(-row[i], row, n, P[i])
    commit_state(m)


@kernel
def commit_state(m):
    """State and clones ← Exp(ξ) of m.change, the rest plus its change."""
    x, change = m.state, m.change
    correct(x.quaternion, x.velocity, x.position, change)
    correct(m.correction.quaternion, m.correction.velocity, m.correction.position, change)
    for i in range(3):
        x.gyro_bias[i] += change[at.GYRO_BIAS + i]
        x.acceleration_bias[i] += change[at.ACCELERATION_BIAS + i]
        x.slip[i] += change[at.SLIP + i]
    for i in range(m.parameters.size):
        m.parameters[i] += change[at.PARAMETERS + i]
    move_clones(m)


@kernel
def move_clones(m):
    """Clones ← Exp(ξ) of their rows of m.change."""
    for c in range(m.counts.clones):
        theta = vector(m.change, core(m) + CLONE * c)
        shift(m.clones[c].position, theta, vector(m.change, core(m) + CLONE * c + 3))
        turn(m.clones[c].quaternion, theta)


@kernel
def correct(quaternion, velocity, position, change):
    """χ ← Exp(ξ) χ of χ = (R, v, p)."""
    theta = vector(change, at.ROTATION)
    shift(velocity, theta, vector(change, at.VELOCITY))
    shift(position, theta, vector(change, at.POSITION))
    turn(quaternion, theta)


@inlined
def shift(v, theta, xi):
    """v ← Exp(θ) v + J(θ) ξ."""
    put(add(rotate(exponential(theta), v), 1.0, left_jacobian(theta, xi)), v, 0)


@inlined
def turn(q, theta):
    """q ← Exp(θ) q."""
    put_quaternion(product(exponential(theta), q), q)


@kernel
def drop_clone(m, index):
    """Forget a cloned pose."""
    P, counts = m.covariance, m.counts
    n = core(m) + CLONE * counts.clones
    first = core(m) + CLONE * index
    for i in range(n):
        for k in range(first, n - CLONE):
            P[i, k] = P[i, k + CLONE]
    for i in range(first, n - CLONE):
        copy(P[i + CLONE], P[i])
    for c in range(index, counts.clones - 1):
        m.clones[c] = m.clones[c + 1]
    counts.clones -= 1
    if counts.anchor == index:
        counts.anchor = -1
    elif counts.anchor > index:
        counts.anchor -= 1


@inlined
def age(m, time):
    """Delay of a measurement [s]; zero for one of the present state."""
    delay = m.clock.now - time
    return delay if delay > SAME_TIME else 0.0


@inlined
def set_noise(m, covariance, n, scale):
    """m.noise ← the first n rows of a covariance, made symmetric, times a scale."""
    for i in range(n):
        for j in range(i + 1):
            m.noise[i, j] = scale * 0.5 * (covariance[i, j] + covariance[j, i])


@kernel
def judged(m, source, square, rows):
    """What to do with a measurement by its squared innovation; it is counted.

    USE it if it passes the gate, else LEAVE_OUT at first. If refusals last WIDEN: use it with the noise it shows, while
    wheels or poses support the state. OPEN: the state is wrong, add the residual to its covariance.
    """
    if 0.0 <= square <= m.settings.gate[rows]:
        accept(source, square, rows)
        source.since = math.nan
        return USE
    source.refused += 1
    source.run += 1
    if math.isnan(source.since):
        source.since = m.clock.now
    lasted = m.clock.now - source.since
    limit = m.settings.recover_after
    if source.run < FEWEST or not lasted >= limit or not square >= 0.0:
        return LEAVE_OUT
    supported = m.clock.now - max(m.clock.wheels, m.clock.poses) <= limit
    if supported and lasted < PATIENCE * limit:
        return WIDEN
    source.run = 0  # the covariance will be enlarged: refusals count from the beginning again
    source.since = math.nan
    return OPEN


@kernel
def refuse_at_start(m, source):
    """During alignment an outlier may have set the velocity: refusals in a row open it again."""
    source.run += 1
    if m.counts.ready or source.run < FEWEST:
        return
    source.run = 0
    for i in range(3):
        m.covariance[VELOCITY + i, VELOCITY + i] += m.settings.start_velocity[0] ** 2


@kernel
def accept(source, square, rows):
    """Count a measurement that passed the gate, with its squared innovation."""
    source.used += 1
    source.rows += rows
    source.squares += square
    source.run = 0
