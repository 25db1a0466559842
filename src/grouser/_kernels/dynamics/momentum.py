"""Momentum of a vehicle in its own turning axes, carried at the mean velocity of a step.

T (2.85) carries it at the velocity of the step's start: then a free vehicle that turns gains speed.
"""

from grouser._compile.jit import inlined
from grouser._kernels.dynamics.inertia import add_momentum_rate
from grouser._kernels.rotation import add, column, cross, vector


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
