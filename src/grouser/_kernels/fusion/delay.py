"""Past states of the fusion filter by the present estimate, and clones of their poses.

The ring keeps each state with all corrections taken out; the corrections are one element C = (R, v, p) of SE₂(3), so
recalling applies them all at once. A correction moves with the state, χ_true = C χ at every time: v̇ = (I − R) g, ṗ = v,
whatever the IMU reads, so that of a past time follows from the present one. Once per turn of the ring the corrections
are applied to all of it, which keeps C small. The error of a past state follows from the present one by the inverse of
its dynamics, to first order and without the noise in between: accurate enough over the length of the ring, one second.
"""

from grouser._compile.jit import inlined, kernel
from grouser._kernels import rotation
from grouser._kernels.arrays import fill, inner
from grouser._kernels.fusion import memory as at
from grouser._kernels.fusion.memory import CLONE, SAME_TIME
from grouser._kernels.fusion.update import age, core, drop_clone, sparse_product
from grouser._kernels.rotation import add, product, put, put_quaternion, rotate, rotate_back, scale


@kernel
def carry_correction(m, dt):
    """Move the corrections by dt: v += dt (I − R) g, p += dt v + ½ dt² (I − R) g."""
    c = m.correction
    up = pull(m)
    put(add(add(c.position, dt, c.velocity), 0.5 * dt * dt, up), c.position, 0)
    put(add(c.velocity, dt, up), c.velocity, 0)


@inlined
def pull(m):
    """(I − R) g of the corrections."""
    down = (0.0, 0.0, -m.settings.gravity)
    return add(down, -1.0, rotate(m.correction.quaternion, down))


@kernel
def correct_past(m, row, out):
    """out: attitude, velocity, position ← C χ of a row of the ring, with the corrections C of its time."""
    c = m.correction
    back = row.time - m.clock.now
    up = pull(m)
    shift = add(add(c.position, back, c.velocity), 0.5 * back * back, up)
    position = add(rotate(c.quaternion, row.position), 1.0, shift)
    velocity = add(rotate(c.quaternion, row.velocity), 1.0, add(c.velocity, back, up))
    put_quaternion(product(c.quaternion, row.quaternion), out.quaternion)
    put(velocity, out.velocity, 0)
    put(position, out.position, 0)


@kernel
def settle_past(m):
    """Apply the corrections to the whole ring, and begin them again."""
    for i in range(m.counts.past):
        correct_past(m, m.past[i], m.past[i])
    put_quaternion((1.0, 0.0, 0.0, 0.0), m.correction.quaternion)
    put((0.0, 0.0, 0.0), m.correction.velocity, 0)
    put((0.0, 0.0, 0.0), m.correction.position, 0)


@kernel
def remember(m):
    """Put the present state into the ring, without the corrections made so far: χ_ring = C⁻¹ χ."""
    if m.counts.next_past == 0:
        settle_past(m)
    x, c, row = m.state, m.correction, m.past[m.counts.next_past]
    row.time = m.clock.now
    put_quaternion(product(rotation.conjugate(c.quaternion), x.quaternion), row.quaternion)
    put(rotate_back(c.quaternion, add(x.velocity, -1.0, c.velocity)), row.velocity, 0)
    put(rotate_back(c.quaternion, add(x.position, -1.0, c.position)), row.position, 0)
    put(m.imu.now, row.gyro, 0)
    m.counts.next_past = (m.counts.next_past + 1) % m.past.size
    m.counts.past = min(m.counts.past + 1, m.past.size)


@kernel
def recall(m, time):
    """Write the state at a time to m.then, by the present estimate; False if the ring does not reach back to it.

    Between two rows it moves from the earlier by that row's velocity and rate: they are one IMU step apart.
    """
    then, x = m.then, m.state
    then.time = time
    if abs(time - m.clock.now) <= SAME_TIME:
        put_quaternion(x.quaternion, then.quaternion)
        put(x.velocity, then.velocity, 0)
        put(x.position, then.position, 0)
        put(m.imu.now, then.gyro, 0)
        return True
    for back in range(1, m.counts.past + 1):
        row = m.past[(m.counts.next_past - back + m.past.size) % m.past.size]
        if row.time <= time + SAME_TIME:
            ahead = max(time - row.time, 0.0)
            correct_past(m, row, then)
            turn = rotation.exponential(scale(ahead, add(row.gyro, -1.0, x.gyro_bias)))
            put_quaternion(product(then.quaternion, turn), then.quaternion)
            put(add(then.position, ahead, then.velocity), then.position, 0)
            put(row.gyro, then.gyro, 0)
            return True
    return False


@kernel
def find_clone(m, time):
    """Index of the clone at a time; −1 if there is none."""
    for c in range(m.counts.clones):
        if abs(m.clones[c].time - time) <= SAME_TIME:
            return c
    return -1


@kernel
def clone(m, time):
    """Clone the body's pose of a time; its index, or −1 if the ring does not reach back to it."""
    if not recall(m, time):
        return -1
    if m.counts.clones - m.counts.held >= m.clones.size - at.HELD:
        forget_clone(m)
    index = m.counts.clones
    new = m.clones[index]
    new.time = time
    new.held = 0
    put_quaternion(m.then.quaternion, new.quaternion)
    put(add(m.then.position, 1.0, rotate(m.then.quaternion, m.settings.lever_body)), new.position, 0)
    past_jacobian(m, age(m, time))
    clone_rows(m, core(m) + CLONE * index)
    m.counts.clones = index + 1
    return index


@kernel
def forget_clone(m):
    """Forget the oldest clone that is neither the anchor of a standstill nor held for a GPS position."""
    for c in range(m.counts.clones):
        if c != m.counts.anchor and not m.clones[c].held:
            drop_clone(m, c)
            return


@kernel
def clone_rows(m, n):
    """Rows and columns of P from n on for the error J ξ of a clone."""
    P, J = m.covariance, m.J
    for i in range(CLONE):
        sparse_product(J[i], P, n, P[n + i])
        for k in range(n):
            P[k, n + i] = P[n + i, k]
    for i in range(CLONE):
        for j in range(CLONE):
            P[n + i, n + j] = inner(J[j], P[n + i])


@kernel
def past_jacobian(m, delay):
    """m.J[:6] ← ∂(θ, ξ_p a delay ago)/∂(error now), with the state of then in m.then.

    The inverse of the dynamics in `predict.py`: θ_then = θ + Δ R δb_g, ξ_p,then = ξ_p − Δ ξ_v + ½ Δ² (g × θ − R δb_a)
    + Δ p × R δb_g.
    """
    J, R = m.J, m.R
    rotation.matrix(m.then.quaternion, R)
    fill(J[:CLONE], 0.0)
    half = 0.5 * delay * delay
    for i in range(3):
        J[i, at.ROTATION + i] = 1.0
        J[3 + i, at.POSITION + i] = 1.0
        J[3 + i, at.VELOCITY + i] = -delay
        swing = rotation.cross(m.then.position, rotation.column(R, i))
        for j in range(3):
            J[j, at.GYRO_BIAS + i] = delay * R[j, i]
            J[3 + j, at.GYRO_BIAS + i] = delay * swing[j]
            J[3 + j, at.ACCELERATION_BIAS + i] = -half * R[j, i]
    J[3, at.ROTATION + 1] = half * m.settings.gravity
    J[4, at.ROTATION] = -half * m.settings.gravity
