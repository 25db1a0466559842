"""Torque of loose soil on a rigid wheel about its axle: that of the shear stresses of `contact_soil.py`.

T (C.30)–(C.32) sum the stresses to a force and stop there. Their moment about the axle is M = R² b ∫ τ_x(θ) dθ: normal
stress points at the axle and has none. x is that of `contact_laws.py`.
"""

import math

from grouser._compile.jit import entry, kernel
from grouser._kernels.contact.soil import (
    A_0,
    A_1,
    COHESION,
    DAMPING,
    DEEPEST,
    EPSILON,
    EXPONENT,
    K_X,
    K_X_BETA,
    K_Y,
    K_Y_BETA,
    NODES,
    POINTS,
    PRESSURE,
    RADIUS,
    RATIO,
    SHALLOWEST,
    TAN_PHI,
    WIDTH,
    shear,
)
from grouser._kernels.elementary import arctangent, sine_cosine


@kernel
def one_way_torque(par, V, v_y, W, h):
    """Torque against the spin while travelling in +x; angles, slip and shear as in `contact_soil.one_way`."""
    R = par[RADIUS]
    eps = par[EPSILON]
    x = h / R
    s_f = math.sqrt(x * (2.0 - x))
    c_f = 1.0 - x
    theta_f = 2.0 * arctangent(math.sqrt(x / (2.0 - x)))
    x *= par[RATIO]
    theta_r = -2.0 * arctangent(math.sqrt(x / (2.0 - x)))
    slip = (W - V) / (max(abs(W), abs(V)) + eps)
    theta_m = (par[A_0] + par[A_1] * min(max(slip, -1.0), 1.0)) * theta_f
    beta = arctangent(abs(v_y) / math.sqrt(V * V + eps * eps))
    k_x = par[K_X] + par[K_X_BETA] * beta
    k_y = par[K_Y] + par[K_Y_BETA] * beta
    w_rate = 1.0 / math.sqrt(W * W + eps * eps)
    points = int(par[POINTS])
    total = 0.0
    for i in range(points):
        t = par[NODES + i]
        ahead = theta_m + t * (theta_f - theta_m)
        _, c = sine_cosine(ahead)
        sigma = par[PRESSURE] * max(c - c_f, 1e-300) ** par[EXPONENT]
        strength = par[COHESION] + sigma * par[TAN_PHI]
        for panel in range(2):
            # The stress behind θ_m equals that ahead of it at the same share t, T (C.24).
            theta = ahead
            length = theta_f - theta_m
            if panel == 1:
                length = theta_m - theta_r
                theta = theta_r + (1.0 - t) * length
            s, c = sine_cosine(theta)
            j_x = R * w_rate * (W * (theta_f - theta) - V * (s_f - s))
            j_y = -R * w_rate * v_y * (theta_f - theta)
            g = shear(par, j_x, j_y, k_x, k_y)
            total += par[NODES + points + i] * length * strength * g[0]
    return R * R * par[WIDTH] * total


@entry
def sample_soil_torque(par, x, out):
    """Torque of the soil against each wheel's spin [N m] at states x (n, 5) into out (n,); blended as the force is."""
    for i in range(x.shape[0]):
        out[i] = 0.0
        sinkage = -x[i, 4]
        factor = 1.0 - par[DAMPING] * x[i, 2]
        if sinkage <= SHALLOWEST or factor <= 0.0:
            continue
        h = min(sinkage, par[DEEPEST])
        W = x[i, 3]
        V = x[i, 0] + W
        d = (V + W) / math.sqrt((V + W) * (V + W) + par[EPSILON] * par[EPSILON])
        forth = one_way_torque(par, V, x[i, 1], W, h)
        back = one_way_torque(par, -V, x[i, 1], -W, h)
        out[i] = factor * sinkage / h * 0.5 * ((1.0 + d) * forth - (1.0 - d) * back)
