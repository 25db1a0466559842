"""Joint-space inertia and bias force, T Algorithms 3 and 4, with everything expressed in body coordinates.

There the base's motion subspace is the identity, composite inertias are plain sums, and no transform appears.
Spatial vectors are (angular, linear) about the origin of the body frame; a rigid body is (m, h = m c, J about that
origin as xx yy zz xy xz yz).
"""

import math

from grouser._compile.jit import inlined, kernel


@inlined
def set_subspaces(vehicle, s, d):
    """Motion subspace of every joint: S = (a, p × a) for a turn about a through p, (0, a) for a slide."""
    for f in range(1, vehicle.parent.size):
        axis = vehicle.joint[f]
        if axis < 3:
            ax = s.R[f, 0, axis]
            ay = s.R[f, 1, axis]
            az = s.R[f, 2, axis]
            d.S[f, 0] = ax
            d.S[f, 1] = ay
            d.S[f, 2] = az
            d.S[f, 3] = s.p[f, 1] * az - s.p[f, 2] * ay
            d.S[f, 4] = s.p[f, 2] * ax - s.p[f, 0] * az
            d.S[f, 5] = s.p[f, 0] * ay - s.p[f, 1] * ax
        else:
            for i in range(3):
                d.S[f, i] = 0.0
                d.S[f, 3 + i] = s.R[f, i, axis - 3]


@inlined
def set_rotation(vehicle, q, f, s, R):
    """R_body_frame with the spin that posed frames leave out of wheels."""
    for i in range(3):
        for j in range(3):
            R[i, j] = s.R[f, i, j]
    if vehicle.wheel_of_frame[f] >= 0:
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
        if vehicle.wheel_of_frame[f] >= 0 and (
            I[f, 0, 0] != I[f, 2, 2] or I[f, 0, 1] != 0.0 or I[f, 0, 2] != 0.0 or I[f, 1, 2] != 0.0
            or c[f, 0] != 0.0 or c[f, 2] != 0.0
        ):  # fmt: skip
            set_rotation(vehicle, q, f, s, R)
        else:  # the spin of a balanced wheel changes nothing
            for i in range(3):
                for j in range(3):
                    R[i, j] = s.R[f, i, j]
        cx = s.p[f, 0] + R[0, 0] * c[f, 0] + R[0, 1] * c[f, 1] + R[0, 2] * c[f, 2]
        cy = s.p[f, 1] + R[1, 0] * c[f, 0] + R[1, 1] * c[f, 1] + R[1, 2] * c[f, 2]
        cz = s.p[f, 2] + R[2, 0] * c[f, 0] + R[2, 1] * c[f, 1] + R[2, 2] * c[f, 2]
        d.I[f, 0] = m
        d.I[f, 1] = m * cx
        d.I[f, 2] = m * cy
        d.I[f, 3] = m * cz
        d.I[f, 4] = m * (cy * cy + cz * cz)
        d.I[f, 5] = m * (cx * cx + cz * cz)
        d.I[f, 6] = m * (cx * cx + cy * cy)
        d.I[f, 7] = -m * cx * cy
        d.I[f, 8] = -m * cx * cz
        d.I[f, 9] = -m * cy * cz
        for k in range(3):
            x = I[f, k, 0] * R[0, 0] + I[f, k, 1] * R[0, 1] + I[f, k, 2] * R[0, 2]
            y = I[f, k, 0] * R[1, 0] + I[f, k, 1] * R[1, 1] + I[f, k, 2] * R[1, 2]
            z = I[f, k, 0] * R[2, 0] + I[f, k, 1] * R[2, 1] + I[f, k, 2] * R[2, 2]
            d.I[f, 4] += R[0, k] * x
            d.I[f, 5] += R[1, k] * y
            d.I[f, 6] += R[2, k] * z
            d.I[f, 7] += R[0, k] * y
            d.I[f, 8] += R[0, k] * z
            d.I[f, 9] += R[1, k] * z


@inlined
def apply_inertia(I, f, x, k, out, j):
    """out[j] = I_f x[k]: spatial momentum (or force) of a spatial velocity (or acceleration)."""
    wx = x[k, 0]
    wy = x[k, 1]
    wz = x[k, 2]
    vx = x[k, 3]
    vy = x[k, 4]
    vz = x[k, 5]
    m = I[f, 0]
    hx = I[f, 1]
    hy = I[f, 2]
    hz = I[f, 3]
    out[j, 0] = I[f, 4] * wx + I[f, 7] * wy + I[f, 8] * wz + hy * vz - hz * vy
    out[j, 1] = I[f, 7] * wx + I[f, 5] * wy + I[f, 9] * wz + hz * vx - hx * vz
    out[j, 2] = I[f, 8] * wx + I[f, 9] * wy + I[f, 6] * wz + hx * vy - hy * vx
    out[j, 3] = m * vx + wy * hz - wz * hy
    out[j, 4] = m * vy + wz * hx - wx * hz
    out[j, 5] = m * vz + wx * hy - wy * hx


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
        apply_inertia(I, f, d.S, f, d.force, 0)
        for i in range(6):
            M[i, col] = d.force[0, i]
            M[col, i] = d.force[0, i]
        j = f
        while j > 0:
            total = 0.0
            for i in range(6):
                total += d.S[j, i] * d.force[0, i]
            M[5 + j, col] = total
            M[col, 5 + j] = total
            j = vehicle.parent[j]
        M[col, col] += armature[f - 1]


@kernel
def bias_force(vehicle, gravity, v, s, d):
    """c (nv,) into d.c, T Algorithm 4: gravity, Coriolis and centripetal forces at velocity v."""
    nf = vehicle.parent.size
    for i in range(6):
        d.V[0, i] = v[i]
        d.a[0, i] = 0.0
    for i in range(3):
        d.a[0, 3 + i] = gravity * s.R_world_body[2, i]
    for f in range(1, nf):
        parent = vehicle.parent[f]
        rate = v[5 + f]
        for i in range(6):
            d.V[f, i] = d.V[parent, i] + d.S[f, i] * rate
        V = d.V
        S = d.S
        d.a[f, 0] = d.a[parent, 0] + rate * (V[f, 1] * S[f, 2] - V[f, 2] * S[f, 1])
        d.a[f, 1] = d.a[parent, 1] + rate * (V[f, 2] * S[f, 0] - V[f, 0] * S[f, 2])
        d.a[f, 2] = d.a[parent, 2] + rate * (V[f, 0] * S[f, 1] - V[f, 1] * S[f, 0])
        d.a[f, 3] = d.a[parent, 3] + rate * (
            V[f, 1] * S[f, 5] - V[f, 2] * S[f, 4] + V[f, 4] * S[f, 2] - V[f, 5] * S[f, 1]
        )
        d.a[f, 4] = d.a[parent, 4] + rate * (
            V[f, 2] * S[f, 3] - V[f, 0] * S[f, 5] + V[f, 5] * S[f, 0] - V[f, 3] * S[f, 2]
        )
        d.a[f, 5] = d.a[parent, 5] + rate * (
            V[f, 0] * S[f, 4] - V[f, 1] * S[f, 3] + V[f, 3] * S[f, 1] - V[f, 4] * S[f, 0]
        )
    for f in range(nf):
        if d.I[f, 0] <= 0.0:
            for i in range(6):
                d.force[f, i] = 0.0
            continue
        apply_inertia(d.I, f, d.V, f, d.momentum, 0)
        apply_inertia(d.I, f, d.a, f, d.force, f)
        V = d.V
        p = d.momentum
        # v ×_f I v with ×_f = [[ω×, v×], [0, ω×]] (errata to T (B.15))
        d.force[f, 0] += V[f, 1] * p[0, 2] - V[f, 2] * p[0, 1] + V[f, 4] * p[0, 5] - V[f, 5] * p[0, 4]
        d.force[f, 1] += V[f, 2] * p[0, 0] - V[f, 0] * p[0, 2] + V[f, 5] * p[0, 3] - V[f, 3] * p[0, 5]
        d.force[f, 2] += V[f, 0] * p[0, 1] - V[f, 1] * p[0, 0] + V[f, 3] * p[0, 4] - V[f, 4] * p[0, 3]
        d.force[f, 3] += V[f, 1] * p[0, 5] - V[f, 2] * p[0, 4]
        d.force[f, 4] += V[f, 2] * p[0, 3] - V[f, 0] * p[0, 5]
        d.force[f, 5] += V[f, 0] * p[0, 4] - V[f, 1] * p[0, 3]
    for f in range(nf - 1, 0, -1):
        parent = vehicle.parent[f]
        total = 0.0
        for i in range(6):
            total += d.S[f, i] * d.force[f, i]
            d.force[parent, i] += d.force[f, i]
        d.c[5 + f] = total
    for i in range(6):
        d.c[i] = d.force[0, i]


@kernel
def single_body_bias(gravity, v, s, d):
    """c of T (2.89): the whole vehicle as one rigid body; needs the composite inertia of `joint_space_inertia`."""
    for i in range(6):
        d.V[0, i] = v[i]
        d.a[0, i] = 0.0
    for i in range(3):
        d.a[0, 3 + i] = gravity * s.R_world_body[2, i]
    apply_inertia(d.composite, 0, d.V, 0, d.momentum, 0)
    apply_inertia(d.composite, 0, d.a, 0, d.force, 0)
    V = d.V
    p = d.momentum
    for i in range(d.c.size):
        d.c[i] = 0.0
    d.c[0] = d.force[0, 0] + V[0, 1] * p[0, 2] - V[0, 2] * p[0, 1] + V[0, 4] * p[0, 5] - V[0, 5] * p[0, 4]
    d.c[1] = d.force[0, 1] + V[0, 2] * p[0, 0] - V[0, 0] * p[0, 2] + V[0, 5] * p[0, 3] - V[0, 3] * p[0, 5]
    d.c[2] = d.force[0, 2] + V[0, 0] * p[0, 1] - V[0, 1] * p[0, 0] + V[0, 3] * p[0, 4] - V[0, 4] * p[0, 3]
    d.c[3] = d.force[0, 3] + V[0, 1] * p[0, 5] - V[0, 2] * p[0, 4]
    d.c[4] = d.force[0, 4] + V[0, 2] * p[0, 3] - V[0, 0] * p[0, 5]
    d.c[5] = d.force[0, 5] + V[0, 0] * p[0, 4] - V[0, 1] * p[0, 3]
