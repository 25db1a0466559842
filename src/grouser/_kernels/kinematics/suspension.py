"""Springs between joints: how much they count against the contacts, and how far the weight deflects them.

A sprung coupling c = C θ − d of stiffness k does not hold as a rigid one does: the wheels keep to the ground, and the
springs decide what the ground leaves open. With K, the force of a wheel's share of the weight per millimetre, the pose
at rest is where

    ½ Σ (Δz − Δz₀)² + ½ Σ_rigid c² + ½ Σ_sprung w² (c − c₀)²   is least,   1/w² = 1 + K/k.

A soft spring (k ≪ K) yields to the ground: it lifts a wheel by more than a millimetre only where it pushes harder than
the wheel's share of the weight. One of k ≫ K is a rigid coupling, to the order of K/k. c₀ is the deflection under the
weight: what the weight mg does along the motions that the contacts leave open, the springs undo,

    Zᵀ (∂V/∂x + Σ k C c₀) = 0   for all Z with J Z = 0,

J: contacts along their normals, rigid couplings, and friction, which holds the contacts on the average. So the spring
energy and the potential V of the weight together are least, as in statics. It is found as an elastic structure: with
the rows of J and w C in B, B Bᵀ x = −∂V/∂x / K and c₀ = C x · w² K/k. A load that no row carries is left out.

Velocities pull towards the same rest: C θ̇ = −σ (c − c₀), a row of weight w in T (2.34).
"""

from grouser._compile.jit import inlined, kernel
from grouser._compile.struct import Struct, array, indices, integer, number
from grouser._kernels.least_squares import cholesky_solve, minimum_norm, normal_equations
from grouser._kernels.rotation import add, column, cross, dot, times

_HELD = 1e-9  # a pivot of the normal matrix this much smaller than its column: a joint that nothing holds


class Suspension(Struct):
    """The springs of a vehicle, and which joints they and the ground may move."""

    springs = integer()  # how many couplings are sprung
    load = number()  # gravity over the contact stiffness K [m/kg]
    free = indices("n_free")  # joints that are passive, not a wheel, not steered
    weight = array("nc")  # w of each coupling [m/rad for turning joints]; 1 if it is rigid
    give = array("nc")  # w² K/k of each, a ratio; 0 if it is rigid


@kernel
def weight_row(vehicle, s, out):
    """∂V/∂v of the vehicle's weight per gravity [kg, kg m], body coordinates, shape (nv,): Σ m ∂z/∂v."""
    up = (s.R_world_body[2, 0], s.R_world_body[2, 1], s.R_world_body[2, 2])
    for i in range(out.size):
        out[i] = 0.0
    for f in range(vehicle.parent.size):
        m = vehicle.mass[f]
        if m > 0.0:
            r = add(times(s.R[f], vehicle.com[f]), 1.0, s.p[f])
            moment = cross(r, up)
            for i in range(3):
                out[i] += m * moment[i]
                out[3 + i] += m * up[i]
            at = f
            while at > 0:
                axis = vehicle.joint[at]
                if axis < 3:
                    out[5 + at] += m * dot(up, cross(column(s.R[at], axis), add(r, -1.0, s.p[at])))
                else:
                    out[5 + at] += m * dot(up, column(s.R[at], axis - 3))
                at = vehicle.parent[at]


@inlined
def support_column(vehicle, suspension, s, i, out):
    """What velocity i does to the rows that carry the weight, into out; returns how many rows there are.

    Contacts along their normals, couplings, and the mean of the contacts along the body's x and y, with its turning.
    """
    nw = vehicle.wheel.size
    ahead = 0.0
    left = 0.0
    for w in range(nw):
        out[w] = s.A[3 * w + 2, i]
        for k in range(3):
            ahead += s.axes[w, k, 0] * s.A[3 * w + k, i] / nw
            left += s.axes[w, k, 1] * s.A[3 * w + k, i] / nw
    m = nw
    for c in range(vehicle.coupling_value.size):
        out[m] = suspension.weight[c] * s.A[3 * nw + c, i]
        m += 1
    out[m] = ahead
    out[m + 1] = left
    if nw == 1:
        return m + 2
    out[m + 2] = 1.0 if i == 2 else 0.0
    return m + 3


@kernel
def deflection(s, load, m, n):
    """x of B Bᵀ x = −load into s.x, of smallest norm where the m rows of B, in s.B, do not hold all n velocities."""
    normal_equations(s.B, s.row, m, n, s.normal, s.x)
    for i in range(n):
        s.x[i] = -load[i]
    if cholesky_solve(s.normal, n, _HELD, 0.0, s.x):
        return
    normal_equations(s.B, s.row, m, n, s.normal, s.x)
    for i in range(n):
        load[i] = -load[i]
        for j in range(i):
            s.normal[i, j] = s.normal[j, i]
    minimum_norm(s.normal, load, n, n, s.B, s.x, s.work, s.pivot)


@kernel
def spring_sag(vehicle, suspension, s, sag):
    """c₀ of every coupling into `sag` (nc,), zero for rigid ones, for the frames, contacts and Jacobians in s."""
    slope = s.work[0]
    load = s.work[1]
    weight_row(vehicle, s, slope[: s.v.size])
    n = 6 + suspension.free.size
    m = 0
    for i in range(n):
        of = i if i < 6 else 6 + suspension.free[i - 6]
        m = support_column(vehicle, suspension, s, of, s.B[i])
        load[i] = suspension.load * slope[of]
    deflection(s, load, m, n)
    for c in range(sag.size):
        total = 0.0
        for j in range(suspension.free.size):
            total += vehicle.coupling[c, suspension.free[j]] * s.x[6 + j]
        sag[c] = suspension.give[c] * total
