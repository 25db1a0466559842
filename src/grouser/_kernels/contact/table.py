"""Contact law read from a table of another one, x and out as in `laws.py`.

A law without a speed of its own but the smoothing speed ε depends on the direction of (S, v_x, v_y) only, S = V_x + Rω.
Coordinates of that direction, all within 0 to 1, and of the penetration h = −Δz:
    a = |v_x|/(|v_x| + ALONG S̄), b = |v_y|/(|v_y| + ACROSS (|v_x| + S̄)), u = √(h/h_max), S̄ = √(S² + 4ε²).
Mirrored left to right and front to back a wheel is the same wheel, which gives the signs and leaves only |v_x|, |v_y|.
Each node holds eight numbers [N/m, N]: (f_x, f_y, f_z, τ) per penetration, mean of travel ahead and back (E), and half
their difference (O); f = h (1 − δ(u) v_z)₊ (E + d O), d = S/√(S² + ε²), everything interpolated linearly. Forces per
penetration are smooth where forces are not: a force on soil starts as h^1.5, which is h u.
What turns over within ε at any speed stands apart: lateral force with the sign of v_y (soil ploughed aside),
h P(u) v_y/√(v_y² + ε²), and f_x and τ with the sign of V_x (soil pushed ahead), h Q(u) V_x/√(V_x² + ε²).
"""

import math

import numpy as np

from grouser._compile.jit import entry, inlined
from grouser._kernels.contact.entries import BY, DZ, F_Z, R_OMEGA, V_X, V_Y, V_Z
from grouser._kernels.contact.laws import no_force
from grouser._kernels.law import law, local_numbers

N_A, N_B, N_U, DEEPEST, EPSILON = range(5)
"""Entries of par: cells along a, b, u; h_max [m]; ε [m/s]."""
NODES = 8
"""From here on the nodes, u fastest, WIDE numbers each (E_x, E_y, E_z, E_τ, then O), then over u δ [s/m], P [N/m],
Q of f_x [N/m] and Q of τ [N]."""
WIDE = 8
ALONG = 0.15
ACROSS = 0.2
"""How much of a and b small slip takes up."""


@inlined
def lookup(par, c00, row, sheet, a, b, u, found):
    """Numbers of the nodes around a point, interpolated, then their derivatives by a, by b, by u, in cells.

    c00: first number of the lowest node; row, sheet: numbers from it to the next along b and along a.
    """
    c01 = c00 + row
    c10 = c00 + sheet
    c11 = c10 + row
    for k in range(WIDE):  # several at once, in the processor's vectors
        p = par[c00 + k]
        q = par[c01 + k]
        r = par[c10 + k]
        s = par[c11 + k]
        p_u = par[c00 + WIDE + k] - p
        q_u = par[c01 + WIDE + k] - q
        r_u = par[c10 + WIDE + k] - r
        s_u = par[c11 + WIDE + k] - s
        p += u * p_u
        r += u * r_u
        p_b = q + u * q_u - p
        r_b = s + u * s_u - r
        low = p + b * p_b
        low_u = p_u + b * (q_u - p_u)
        by_a = r + b * r_b - low
        found[k] = low + a * by_a
        found[WIDE + k] = by_a
        found[2 * WIDE + k] = p_b + a * (r_b - p_b)
        found[3 * WIDE + k] = low_u + a * (r_u + b * (s_u - r_u) - low_u)


@law
def table(par, x, out, jac):
    """Trilinear, with the derivatives of the interpolant; past the last node of u force grows in proportion to h."""
    no_force(out, jac)
    h = -x[DZ]
    if h <= 0.0:
        return
    v_x = abs(x[V_X])
    v_y = abs(x[V_Y])
    total = x[V_X] + 2.0 * x[R_OMEGA]
    size = math.sqrt(total * total + 4.0 * par[EPSILON] * par[EPSILON])
    lean = total / size
    rate = 1.0 / math.sqrt(total * total + par[EPSILON] * par[EPSILON])
    d = total * rate
    to_a = 1.0 / (v_x + ALONG * size)
    to_b = 1.0 / (v_y + ACROSS * (v_x + size))
    a = v_x * to_a
    b = v_y * to_b
    u = math.sqrt(min(h / par[DEEPEST], 1.0))
    n_a = int(par[N_A])
    n_b = int(par[N_B])
    n_u = int(par[N_U])
    # False also for a NaN, which must not become an index.
    if not (a <= 1.0 and b <= 1.0 and u <= 1.0):
        for i in range(4):
            out[i] = math.nan
        return
    a_cell = a * n_a
    b_cell = b * n_b
    u_cell = u * n_u
    i = min(int(a_cell), n_a - 1)
    j = min(int(b_cell), n_b - 1)
    k = min(int(u_cell), n_u - 1)
    row = WIDE * (n_u + 1)
    sheet = row * (n_b + 1)
    c00 = NODES + i * sheet + j * row + k * WIDE
    delta = NODES + (n_a + 1) * sheet + k
    a_cell -= i
    b_cell -= j
    u_cell -= k
    damping_u = par[delta + 1] - par[delta]
    factor = 1.0 - (par[delta] + u_cell * damping_u) * x[V_Z]
    if factor <= 0.0:
        return
    # Derivatives of a, b and d by v_x and Rω; a and b see S through S̄, and |v_x|.
    sign_x = math.copysign(1.0, x[V_X])
    sign_y = math.copysign(1.0, x[V_Y])
    a_x = n_a * sign_x * to_a * (1.0 - a)
    a_size = -n_a * a * to_a * ALONG * lean
    b_x = -n_b * b * to_b * ACROSS * sign_x
    b_size = -n_b * b * to_b * ACROSS * lean
    b_y = n_b * sign_y * to_b * (1.0 - b)
    d_total = (1.0 - d * d) * rate
    scale = factor * h
    # h ∂u/∂h, in cells; none past the last node.
    spread = 0.5 * n_u * u if h < par[DEEPEST] else 0.0
    lost = damping_u * x[V_Z] * spread
    side_rate = 1.0 / math.sqrt(v_y * v_y + par[EPSILON] * par[EPSILON])
    side = x[V_Y] * side_rate
    travel = x[V_X] + x[R_OMEGA]
    travel_rate = 1.0 / math.sqrt(travel * travel + par[EPSILON] * par[EPSILON])
    way = travel * travel_rate
    damping = -(par[delta] + u_cell * damping_u) * h
    found = local_numbers(32)  # 4 WIDE
    lookup(par, c00, row, sheet, a_cell, b_cell, u_cell, found)
    for m in range(4):
        # Mirrored front to back E_x and E_τ change sign, and O_y, O_z; mirrored left to right E_y and O_y.
        if m == 0 or m == 3:
            even = -sign_x
            odd = d
            odd_d = 1.0
        elif m == 1:
            even = sign_y
            odd_d = -sign_x * sign_y
            odd = odd_d * d
        else:
            even = 1.0
            odd_d = -sign_x
            odd = odd_d * d
        o = found[4 + m]
        f = even * found[m] + odd * o
        f_a = even * found[WIDE + m] + odd * found[WIDE + 4 + m]
        f_b = even * found[2 * WIDE + m] + odd * found[2 * WIDE + 4 + m]
        f_total = f_a * a_size + f_b * b_size + odd_d * o * d_total
        f_y = f_b * b_y
        f_u = even * found[3 * WIDE + m] + odd * found[3 * WIDE + 4 + m]
        f_travel = 0.0
        if m != 2:
            at = delta + (n_u + 1) * (1 if m == 1 else 2 + m // 3)
            apart_u = par[at + 1] - par[at]
            apart = par[at] + u_cell * apart_u
            if m == 1:
                f += apart * side
                f_y += apart * (1.0 - side * side) * side_rate
                f_u += apart_u * side
            else:
                f += apart * way
                f_travel = apart * (1.0 - way * way) * travel_rate
                f_u += apart_u * way
        out[m] = scale * f
        jac[BY * m + V_X] = scale * (f_a * a_x + f_b * b_x + f_total + f_travel)
        jac[BY * m + V_Y] = scale * f_y
        jac[BY * m + V_Z] = damping * f
        jac[BY * m + R_OMEGA] = scale * (2.0 * f_total + f_travel)
        jac[BY * m + DZ] = -(factor * (f + f_u * spread) - lost * f)
    if out[F_Z] <= 0.0:
        no_force(out, jac)


@entry
def node_states(n_a, n_b, n_u, deepest, epsilon, speed, x):
    """States x (nodes, 2, 5) at the nodes, u fastest, for travel ahead with slip −v_x > 0, and with its opposite.

    All have |v_y| + (|v_x| + S̄)/2 = speed, but where S̄ would be about 2ε or less: there S = ε/10, so that O is known.
    """
    row = 0
    for i in range(n_a + 1):
        for j in range(n_b + 1):
            # reach = (|v_x| + S̄)/2 = speed − v_y.
            b = j / n_b
            reach = speed * (1.0 - b) / (1.0 - b + 2.0 * ACROSS * b)
            v_y = speed - reach
            a = i / n_a
            v_x = 2.0 * ALONG * a * reach / (1.0 - a + ALONG * a)
            size = 2.0 * reach - v_x
            total = math.sqrt(max(size * size - 4.0 * epsilon * epsilon, 0.01 * epsilon * epsilon))
            for k in range(n_u + 1):
                u = max(k / n_u, 1e-3)
                for way in range(2):
                    slip = -v_x if way == 0 else v_x
                    x[row, way, 0] = slip
                    x[row, way, 1] = v_y
                    x[row, way, 2] = 0.0
                    x[row, way, 3] = 0.5 * (total - slip)
                    x[row, way, 4] = -deepest * u * u
                row += 1


@entry
def fill_table(x, out, epsilon, apart, nodes):
    """Nodes (n, WIDE) from the law's out (n, 2, 4) at the states of `node_states`, less what stands apart.

    apart: P, Q of f_x and Q of τ, shape (3, n_u + 1).
    """
    for i in range(x.shape[0]):
        h = -x[i, 0, 4]
        total = x[i, 0, 0] + 2.0 * x[i, 0, 3]
        d = total / np.sqrt(total * total + epsilon * epsilon)
        k = i % apart.shape[1]
        for m in range(4):
            mirror = -1.0 if m == 0 or m == 3 else 1.0
            forth = out[i, 0, m]
            back = mirror * out[i, 1, m]
            if m != 2:
                row = 0 if m == 1 else 1 + m // 3
                for way in range(2):
                    v = x[i, way, 1] if m == 1 else x[i, way, 0] + x[i, way, 3]
                    aside = apart[row, k] * h * v / np.sqrt(v * v + epsilon * epsilon)
                    if way == 0:
                        forth -= aside
                    else:
                        back -= mirror * aside
            nodes[i, m] = 0.5 * (forth + back) / h
            nodes[i, 4 + m] = 0.5 * (forth - back) / (h * d)
