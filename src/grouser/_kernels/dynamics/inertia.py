"""Joint-space inertia and bias force, T Algorithms 3 and 4, with everything expressed in body coordinates.

There the base's motion subspace is the identity, composite inertias are plain sums, and no transform appears.
Spatial vectors are (angular, linear) about the origin of the body frame; a rigid body is (m, h = m c, J about that
origin as xx yy zz xy xz yz).

In a run the momentum is carried by turning axes at the mean velocity of a step. T (2.85) carries it at the velocity of
the step's start: then a free vehicle that turns gains speed.
"""

import math

from grouser._compile.jit import inlined, kernel
from grouser._kernels.arrays import copy
from grouser._kernels.rotation import add, column, cross, dot, put, times, vector


@inlined
def set_subspaces(vehicle, s, d):
    """Motion subspace of every joint: S = (a, p × a) for a turn about a through p, (0, a) for a slide."""
    for f in range(1, vehicle.parent.size):
        axis = vehicle.joint[f]
        if axis < 3:
            a = column(s.R[f], axis)
            put(a, d.S[f], 0)
            put(cross(s.p[f], a), d.S[f], 3)
        else:
            for i in range(3):
                d.S[f, i] = 0.0
                d.S[f, 3 + i] = s.R[f, i, axis - 3]


@inlined
def set_rotation(q, f, spins, s, R):
    """R_body_frame, of a frame that `spins` with the turn that posed frames leave out of wheels."""
    for i in range(3):
        copy(s.R[f, i], R[i])
    if spins:
        cosine = math.cos(q[6 + f])
        sine = math.sin(q[6 + f])
        for i in range(3):
            x = R[i, 0]
            z = R[i, 2]
            R[i, 0] = cosine * x - sine * z
            R[i, 2] = cosine * z + sine * x


@inlined
def set_inertias(vehicle, q, s, d):
    """Rigid-body inertia of every frame about the body origin, body axes."""
    I = vehicle.inertia
    for f in range(vehicle.parent.size):
        m = vehicle.mass[f]
        if m <= 0.0:
            for k in range(10):
                d.I[f, k] = 0.0
            continue
        R = d.R
        c = vehicle.com
        balanced = I[f, 0, 0] == I[f, 2, 2] and I[f, 0, 1] == 0.0 and I[f, 0, 2] == 0.0 and I[f, 1, 2] == 0.0
        balanced &= c[f, 0] == 0.0 and c[f, 2] == 0.0  # then the spin of a wheel changes nothing
        set_rotation(q, f, vehicle.wheel_of_frame[f] >= 0 and not balanced, s, R)
        x, y, z = add(s.p[f], 1.0, times(R, c[f]))
        d.I[f, 0] = m
        put((m * x, m * y, m * z), d.I[f], 1)
        # Steiner's part, then R I Rᵀ.
        put((m * (y * y + z * z), m * (x * x + z * z), m * (x * x + y * y)), d.I[f], 4)
        put((-m * x * y, -m * x * z, -m * y * z), d.I[f], 7)
        for k in range(3):
            x, y, z = times(R, I[f, k])
            d.I[f, 4] += R[0, k] * x
            d.I[f, 5] += R[1, k] * y
            d.I[f, 6] += R[2, k] * z
            d.I[f, 7] += R[0, k] * y
            d.I[f, 8] += R[0, k] * z
            d.I[f, 9] += R[1, k] * z


@inlined
def apply_inertia(I, x, out):
    """out ← I x of a body (m, h, J): momentum (J ω + h × v, m v − h × ω) of a velocity, or force of an acceleration."""
    w = vector(x, 0)
    v = vector(x, 3)
    h = vector(I, 1)
    turned = (
        I[4] * w[0] + I[7] * w[1] + I[8] * w[2],
        I[7] * w[0] + I[5] * w[1] + I[9] * w[2],
        I[8] * w[0] + I[9] * w[1] + I[6] * w[2],
    )
    put(add(cross(h, v), 1.0, turned), out, 0)
    put(add(cross(w, h), I[0], v), out, 3)


@inlined
def add_momentum_rate(V, momentum, out):
    """out += V ×_f momentum with ×_f = [[ω×, v×], [0, ω×]] (errata to T (B.15))."""
    linear = vector(momentum, 3)
    turn = add(cross(V, momentum), 1.0, cross(vector(V, 3), linear))
    push = cross(V, linear)
    put(add(out, 1.0, turn), out, 0)
    put(add(vector(out, 3), 1.0, push), out, 3)


@inlined
def work_rate(S, force):
    """S · force of two spatial vectors: the force along a joint."""
    return dot(S, force) + dot(vector(S, 3), vector(force, 3))


@kernel
def joint_space_inertia(vehicle, armature, s, d):
    """M (nv, nv) into d.M, T Algorithm 3; d.I becomes the composite inertia of each subtree.

    `armature` (nj,) is rotor inertia reflected through the gears, added on the diagonal.
    """
    nf = vehicle.parent.size
    for f in range(nf):
        for k in range(10):
            d.composite[f, k] = d.I[f, k]
    for f in range(nf - 1, 0, -1):
        parent = vehicle.parent[f]
        for k in range(10):
            d.composite[parent, k] += d.composite[f, k]
    M = d.M
    I = d.composite
    m = I[0, 0]
    for i in range(3):
        for j in range(3):
            M[i, 3 + j] = 0.0
            M[3 + i, j] = 0.0
            M[3 + i, 3 + j] = m if i == j else 0.0
        M[i, i] = I[0, 4 + i]
    M[0, 1] = I[0, 7]
    M[1, 0] = I[0, 7]
    M[0, 2] = I[0, 8]
    M[2, 0] = I[0, 8]
    M[1, 2] = I[0, 9]
    M[2, 1] = I[0, 9]
    for k in range(3):
        i = k + 1 if k < 2 else 0
        j = k - 1 if k > 0 else 2
        # [h]× in the upper right block
        M[i, 3 + j] = -I[0, 1 + k]
        M[j, 3 + i] = I[0, 1 + k]
        M[3 + j, i] = -I[0, 1 + k]
        M[3 + i, j] = I[0, 1 + k]
    for f in range(1, nf):
        col = 5 + f
        apply_inertia(I[f], d.S[f], d.force[0])
        for i in range(6):
            M[i, col] = d.force[0, i]
            M[col, i] = d.force[0, i]
        j = f
        while j > 0:
            total = work_rate(d.S[j], d.force[0])
            M[5 + j, col] = total
            M[col, 5 + j] = total
            j = vehicle.parent[j]
        M[col, col] += armature[f - 1]


@inlined
def start_body(gravity, v, s, d):
    """Velocity of the body, and its acceleration: that against gravity."""
    for i in range(6):
        d.V[0, i] = v[i]
        d.a[0, i] = 0.0
    for i in range(3):
        d.a[0, 3 + i] = gravity * s.R_world_body[2, i]


@kernel
def bias_force(vehicle, gravity, v, s, d):
    """c (nv,) into d.c, T Algorithm 4: gravity, Coriolis and centripetal forces at velocity v."""
    nf = vehicle.parent.size
    start_body(gravity, v, s, d)
    for f in range(1, nf):
        parent = vehicle.parent[f]
        rate = v[5 + f]
        for i in range(6):
            d.V[f, i] = d.V[parent, i] + d.S[f, i] * rate
        V = d.V[f]
        S = d.S[f]
        # V ×_m S with ×_m = [[ω×, 0], [v×, ω×]], T (B.14)
        put(add(d.a[parent], rate, cross(V, S)), d.a[f], 0)
        along = add(cross(V, vector(S, 3)), 1.0, cross(vector(V, 3), S))
        put(add(vector(d.a[parent], 3), rate, along), d.a[f], 3)
    for i in range(6):
        d.momentum_bias[i] = 0.0
    for f in range(nf):
        if d.I[f, 0] <= 0.0:
            for i in range(6):
                d.force[f, i] = 0.0
            continue
        apply_inertia(d.I[f], d.V[f], d.momentum[0])
        for i in range(6):
            d.momentum_bias[i] += d.momentum[0, i]
        apply_inertia(d.I[f], d.a[f], d.force[f])
        add_momentum_rate(d.V[f], d.momentum[0], d.force[f])
    for f in range(nf - 1, 0, -1):
        parent = vehicle.parent[f]
        for i in range(6):
            d.force[parent, i] += d.force[f, i]
        d.c[5 + f] = work_rate(d.S[f], d.force[f])
    for i in range(6):
        d.c[i] = d.force[0, i]


@kernel
def single_body_bias(gravity, v, s, d):
    """c of T (2.89): the whole vehicle as one rigid body; needs the composite inertia of `joint_space_inertia`."""
    start_body(gravity, v, s, d)
    apply_inertia(d.composite[0], d.V[0], d.momentum[0])
    for i in range(6):
        d.momentum_bias[i] = d.momentum[0, i]
    apply_inertia(d.composite[0], d.a[0], d.force[0])
    add_momentum_rate(d.V[0], d.momentum[0], d.force[0])
    for i in range(d.c.size):
        d.c[i] = d.force[0, i] if i < 6 else 0.0


@inlined
def split_bias(v, d):
    """Momentum M v of the body's rows into d.momentum[0]; c loses the rate at which turning axes carry it."""
    for i in range(6):
        total = 0.0
        for j in range(v.size):
            total += d.M[i, j] * v[j]
        d.momentum[0, i] = total
        d.V[0, i] = -d.v_bias[i]
    add_momentum_rate(d.V[0], d.momentum_bias, d.c)


@inlined
def carry_momentum(v, dt, d):
    """residual += κ V̄ ×_f h̄: the momentum of the mean velocity in turning axes; M (u − v)/dt is in d.rate.

    Where M is constant this changes neither kinetic energy nor the size of linear and angular momentum, at any dt: it
    turns them about ω̄. κ = tan x/x, x = |ω̄| dt/2, makes the angle |ω̄| dt, that of the body: both stay in world axes.
    """
    x = 0.0
    for i in range(3):
        x += (v[i] + d.u[i]) * (v[i] + d.u[i])
    x *= dt * dt / 16.0
    half = 0.5 * (1.0 + x * (1.0 / 3.0 + x * (2.0 / 15.0 + x * (17.0 / 315.0 + x * (62.0 / 2835.0)))))
    for i in range(6):
        d.mean[i] = half * (v[i] + d.u[i])
        d.mean_momentum[i] = d.momentum[0, i] + 0.5 * dt * d.rate[i]
    add_momentum_rate(d.mean, d.mean_momentum, d.residual)


@inlined
def carried(d, twist, momentum, out):
    """out[:6] ← change of κ V̄ ×_f h̄ as V̄ and h̄ change by half of a twist and of a momentum."""
    for i in range(6):
        out[i] = 0.0
    add_momentum_rate(d.mean, momentum, out)
    add_momentum_rate(twist, d.mean_momentum, out)
    for i in range(6):
        out[i] *= 0.5


@inlined
def add_crossed(H, row, at, h):
    """H[row : row + 3, at : at + 3] += ½ [e × h], a column for each unit vector e."""
    x, y, z = 0.5 * h[0], 0.5 * h[1], 0.5 * h[2]
    H[row, at + 1] += z
    H[row, at + 2] -= y
    H[row + 1, at] -= z
    H[row + 1, at + 2] += x
    H[row + 2, at] += y
    H[row + 2, at + 1] -= x


@inlined
def add_carried_columns(model, d):
    """H += ∂(κ V̄ ×_f h̄)/∂u, where that of κ is left out. The body's six velocities come first."""
    w = vector(d.mean, 0)
    v = vector(d.mean, 3)
    for j in range(model.free.size):
        k = model.free[j]
        moved = (d.M[3, k], d.M[4, k], d.M[5, k])
        turn = add(cross(w, column(d.M, k)), 1.0, cross(v, moved))
        push = cross(w, moved)
        for i in range(3):
            d.H[i, j] += 0.5 * turn[i]
            d.H[3 + i, j] += 0.5 * push[i]
    linear = vector(d.mean_momentum, 3)
    add_crossed(d.H, 0, 0, d.mean_momentum)
    add_crossed(d.H, 0, 3, linear)
    add_crossed(d.H, 3, 0, linear)
