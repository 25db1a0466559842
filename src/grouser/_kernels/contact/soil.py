"""Contact law of a rigid wheel in loose soil: Ishigami's terramechanics, T (C.19)–(C.36).

x and out are those of `laws.py`.
Angles θ run from the bottom of the wheel towards its front; the soil touches it from θ_r < 0 to θ_f > 0 and
presses hardest at θ_m. Stresses are integrated by Gauss–Legendre over two panels that meet at θ_m. T (C.30)–(C.32) sum
them to a force; their moment about the axle is R² b ∫ τ_x(θ) dθ against the spin, as normal stress points at the axle.
"""

import math

from grouser._compile.jit import inlined, kernel
from grouser._kernels.contact.laws import no_force
from grouser._kernels.elementary import arctangent, sine_cosine
from grouser._kernels.law import law

RADIUS, WIDTH, PRESSURE, EXPONENT, COHESION, TAN_PHI, A_0, A_1, RATIO = range(9)
"""Wheel; pressure modulus R^n (k_c/b + k_φ) and n of (C.24); soil; a₀, a₁ of (C.23); λ of (C.22)."""
K_X, K_X_BETA, K_Y, K_Y_BETA, ISOTROPIC = range(9, 14)
"""Shear moduli k_x = K_X + K_X_BETA |β|, k_y likewise; ISOTROPIC is the single modulus K, 0 for anisotropic soil."""
PLOUGH_1, PLOUGH_2, DAMPING, EPSILON, DEEPEST, POINTS = range(14, 20)
"""D₁ c and D₁ D₂ ρ_d g/2 of (C.34); damping [s/m]; ε [m/s]; sinkage where growth becomes linear [m]; points a panel."""
NODES = 20
"""From here on the nodes in (0, 1), then their weights."""


@inlined
def shear(par, j_x, j_y, k_x, k_y):
    """Mobilised part of the shear strength along x and y, T (C.25), (C.26), and its derivatives.

    Returns g_x, g_y, then ∂g_x/∂j_x, ∂g_x/∂j_y, ∂g_y/∂j_x, ∂g_y/∂j_y, ∂g_x/∂k_x, ∂g_y/∂k_y.
    """
    if par[ISOTROPIC] > 0.0:
        rate = 1.0 / par[ISOTROPIC]
        jj = j_x * j_x + j_y * j_y
        z = math.sqrt(jj) * rate
        e = math.exp(-z)
        # (1 − e⁻ᶻ)/z and z times its derivative; below 1e-4 by the series.
        if z < 1e-4:
            part = 1.0 - 0.5 * z
            turn = 0.0
        else:
            part = (1.0 - e) / z
            turn = (e - part) / jj
        part *= rate
        turn *= rate
        return (
            j_x * part,
            j_y * part,
            part + turn * j_x * j_x,
            turn * j_x * j_y,
            turn * j_x * j_y,
            part + turn * j_y * j_y,
            0.0,
            0.0,
        )
    rate_x = 1.0 / k_x
    rate_y = 1.0 / k_y
    e_x = math.exp(-abs(j_x) * rate_x)
    e_y = math.exp(-abs(j_y) * rate_y)
    return (
        math.copysign(1.0 - e_x, j_x),
        math.copysign(1.0 - e_y, j_y),
        e_x * rate_x,
        0.0,
        0.0,
        e_y * rate_y,
        -j_x * e_x * rate_x * rate_x,
        -j_y * e_y * rate_y * rate_y,
    )


@inlined
def ploughed(par, theta_f, s_f, c_f, theta, s, c):
    """∫ R_b(h(θ)) (R − h(θ) cos θ) dθ of T (C.31) from θ to θ_f in closed form, and its derivatives by θ_f and θ.

    With C = cos θ and x = C − C_f it is R ∫ (p x + q x²)(1 − x C), p = D₁ c R, q = D₁ D₂ ρ_d g R²/2.
    """
    R = par[RADIUS]
    p = par[PLOUGH_1] * R
    q = par[PLOUGH_2] * R * R
    # Integrals of 1, C, C², C³, C⁴.
    i0 = theta_f - theta
    i1 = s_f - s
    i2 = 0.5 * (i0 + s_f * c_f - s * c)
    i3 = (2.0 * i1 + s_f * c_f * c_f - s * c * c) / 3.0
    i4 = 0.25 * (3.0 * i2 + s_f * c_f * c_f * c_f - s * c * c * c)
    x1 = i1 - c_f * i0
    x2 = i2 - 2.0 * c_f * i1 + c_f * c_f * i0
    x2c = i3 - 2.0 * c_f * i2 + c_f * c_f * i1
    x3c = i4 - 3.0 * c_f * i3 + 3.0 * c_f * c_f * i2 - c_f * c_f * c_f * i1
    value = p * x1 + q * x2 - p * x2c - q * x3c
    # x grows by sin θ_f with θ_f, and vanishes at the upper end.
    x1c = i2 - c_f * i1
    by_front = s_f * (p * i0 + 2.0 * q * x1 - 2.0 * p * x1c - 3.0 * q * x2c)
    x = c - c_f
    return R * value, R * by_front, -R * (p * x + q * x * x) * (1.0 - x * c)


@kernel
def one_way(par, V, v_y, W, h):
    """Force and axle torque while travelling in +x: (X, Y, Z, T), and by rows their ∂/∂(V_x, v_y, Rω, h)."""
    R = par[RADIUS]
    eps = par[EPSILON]
    tan_phi = par[TAN_PHI]
    # Entry and exit angles, T (C.21), (C.22).
    x = h / R
    s_f = math.sqrt(x * (2.0 - x))
    c_f = 1.0 - x
    theta_f = 2.0 * arctangent(math.sqrt(x / (2.0 - x)))
    front_h = 1.0 / (R * s_f)
    x *= par[RATIO]
    s_r = -math.sqrt(x * (2.0 - x))
    c_r = 1.0 - x
    theta_r = -2.0 * arctangent(math.sqrt(x / (2.0 - x)))
    rear_h = par[RATIO] / (R * s_r) if s_r < 0.0 else 0.0
    # Angle of largest stress, T (C.23), with a bounded slip ratio.
    larger = max(abs(W), abs(V)) + eps
    slip = (W - V) / larger
    slip_V = 0.0
    slip_W = 0.0
    if slip > 1.0:
        slip = 1.0
    elif slip < -1.0:
        slip = -1.0
    else:
        slip_V = -1.0 / larger
        slip_W = 1.0 / larger
        if abs(W) > abs(V):
            slip_W -= slip / larger * math.copysign(1.0, W)
        else:
            slip_V -= slip / larger * math.copysign(1.0, V)
    share = par[A_0] + par[A_1] * slip
    theta_m = share * theta_f
    # Slip angle, and the shear moduli that grow with it.
    across = abs(v_y)
    along = math.sqrt(V * V + eps * eps)
    beta = arctangent(across / along)
    whole = along * along + v_y * v_y
    beta_V = -across * V / (along * whole)
    beta_y = along / whole if v_y > 0.0 else (-along / whole if v_y < 0.0 else 0.0)
    k_x = par[K_X] + par[K_X_BETA] * beta
    k_y = par[K_Y] + par[K_Y_BETA] * beta
    # Shear displacements are R (a (θ_f − θ) − b (sin θ_f − sin θ)) and R c (θ_f − θ).
    w_rate = 1.0 / math.sqrt(W * W + eps * eps)
    a = W * w_rate
    b = V * w_rate
    c = -v_y * w_rate
    # Sums of the integrals X, Y, Z, T and of their derivatives by θ_f, θ_m, θ_r, a, b, c, β.
    X = Y = Z = T = 0.0
    X_f = Y_f = Z_f = T_f = X_m = Y_m = Z_m = T_m = X_r = Y_r = Z_r = T_r = 0.0
    X_a = Y_a = Z_a = T_a = X_b = Y_b = Z_b = T_b = 0.0
    X_c = Y_c = Z_c = T_c = X_k = Y_k = Z_k = T_k = 0.0
    points = int(par[POINTS])
    for i in range(points):
        t = par[NODES + i]
        # The stress at θ = θ_r + (1−t)(θ_m − θ_r) behind equals that at θ_m + t (θ_f − θ_m) ahead, T (C.24).
        theta = theta_m + t * (theta_f - theta_m)
        s, c_theta = sine_cosine(theta)
        rise = max(c_theta - c_f, 1e-300)
        if par[EXPONENT] == 1.0:
            sigma_rise = par[PRESSURE]
            sigma = sigma_rise * rise
        else:
            sigma = par[PRESSURE] * rise ** par[EXPONENT]
            sigma_rise = par[EXPONENT] * sigma / rise
        sigma_m = -sigma_rise * s * (1.0 - t)
        sigma_f = sigma_rise * (s_f - s * t)
        strength = par[COHESION] + sigma * tan_phi
        for panel in range(2):
            # The panel's length, and how its θ moves with θ_f, θ_m, θ_r.
            length = theta_f - theta_m
            by_f = t
            by_m = 1.0 - t
            by_r = 0.0
            grow_f = 1.0
            grow_m = -1.0
            grow_r = 0.0
            if panel == 1:
                length = theta_m - theta_r
                theta = theta_r + (1.0 - t) * length
                s, c_theta = sine_cosine(theta)
                by_f = 0.0
                by_r = t
                grow_f = 0.0
                grow_m = 1.0
                grow_r = -1.0
            angle = R * (theta_f - theta)
            rest = R * (s_f - s)
            g_x, g_y, xx, xy, yx, yy, x_k, y_k = shear(par, a * angle - b * rest, c * angle, k_x, k_y)
            # By θ and by θ_f at fixed θ.
            jx_t = -R * (a - b * c_theta)
            jx_f = R * (a - b * c_f)
            jy_f = R * c
            gx_t = xx * jx_t - xy * jy_f
            gy_t = yx * jx_t - yy * jy_f
            gx_f = xx * jx_f + xy * jy_f
            gy_f = yx * jx_f + yy * jy_f
            tau = strength * g_x
            x_1 = tau * c_theta - sigma * s
            y_1 = strength * g_y
            z_1 = tau * s + sigma * c_theta
            t_s = tan_phi * g_x
            x_s = t_s * c_theta - s
            y_s = tan_phi * g_y
            z_s = t_s * s + c_theta
            t_t = strength * gx_t
            x_t = t_t * c_theta - z_1
            y_t = strength * gy_t
            z_t = t_t * s + x_1
            t_f = strength * gx_f
            weight = par[NODES + points + i]
            X += weight * length * x_1
            Y += weight * length * y_1
            Z += weight * length * z_1
            T += weight * length * tau
            X_f += weight * (length * (x_s * sigma_f + x_t * by_f + t_f * c_theta) + grow_f * x_1)
            Y_f += weight * (length * (y_s * sigma_f + y_t * by_f + strength * gy_f) + grow_f * y_1)
            Z_f += weight * (length * (z_s * sigma_f + z_t * by_f + t_f * s) + grow_f * z_1)
            T_f += weight * (length * (t_s * sigma_f + t_t * by_f + t_f) + grow_f * tau)
            X_m += weight * (length * (x_s * sigma_m + x_t * by_m) + grow_m * x_1)
            Y_m += weight * (length * (y_s * sigma_m + y_t * by_m) + grow_m * y_1)
            Z_m += weight * (length * (z_s * sigma_m + z_t * by_m) + grow_m * z_1)
            T_m += weight * (length * (t_s * sigma_m + t_t * by_m) + grow_m * tau)
            X_r += weight * (length * x_t * by_r + grow_r * x_1)
            Y_r += weight * (length * y_t * by_r + grow_r * y_1)
            Z_r += weight * (length * z_t * by_r + grow_r * z_1)
            T_r += weight * (length * t_t * by_r + grow_r * tau)
            weight *= length * strength
            ahead = weight * c_theta
            up = weight * s
            X_a += ahead * xx * angle
            Z_a += up * xx * angle
            Y_a += weight * yx * angle
            T_a += weight * xx * angle
            X_b -= ahead * xx * rest
            Z_b -= up * xx * rest
            Y_b -= weight * yx * rest
            T_b -= weight * xx * rest
            X_c += ahead * xy * angle
            Z_c += up * xy * angle
            Y_c += weight * yy * angle
            T_c += weight * xy * angle
            X_k += ahead * x_k
            Z_k += up * x_k
            Y_k += weight * y_k
            T_k += weight * x_k
    # From the angles and ratios to (V_x, v_y, Rω, h).
    m_slip = par[A_1] * theta_f
    k_V = par[K_X_BETA] * beta_V
    k_v = par[K_X_BETA] * beta_y
    l_V = par[K_Y_BETA] * beta_V
    l_v = par[K_Y_BETA] * beta_y
    a_W = w_rate * (1.0 - a * a)
    b_W = -b * a * w_rate
    c_W = -c * a * w_rate
    area = R * par[WIDTH]
    # Ploughing by the side of the wheel: only where the side is below the ground, so not behind −θ_f.
    if par[RATIO] > 1.0:
        plough, plough_f, plough_r = ploughed(par, theta_f, s_f, c_f, -theta_f, -s_f, c_f)
        plough_h = (plough_f - plough_r) * front_h
    else:
        plough, plough_f, plough_r = ploughed(par, theta_f, s_f, c_f, theta_r, s_r, c_r)
        plough_h = plough_f * front_h + plough_r * rear_h
    side = 1.0 / math.sqrt(v_y * v_y + eps * eps)
    turn = -R * area  # τ is about +y, shear that drives the wheel on turns it back
    return (
        area * X,
        area * Y - v_y * side * plough,
        area * Z,
        turn * T,
        area * (X_m * m_slip * slip_V + X_b * w_rate + X_k * k_V),
        area * (X_k * k_v - X_c * w_rate),
        area * (X_m * m_slip * slip_W + X_a * a_W + X_b * b_W + X_c * c_W),
        area * ((X_f + share * X_m) * front_h + X_r * rear_h),
        area * (Y_m * m_slip * slip_V + Y_b * w_rate + Y_k * l_V),
        area * (Y_k * l_v - Y_c * w_rate) - eps * eps * side * side * side * plough,
        area * (Y_m * m_slip * slip_W + Y_a * a_W + Y_b * b_W + Y_c * c_W),
        area * ((Y_f + share * Y_m) * front_h + Y_r * rear_h) - v_y * side * plough_h,
        area * (Z_m * m_slip * slip_V + Z_b * w_rate + Z_k * k_V),
        area * (Z_k * k_v - Z_c * w_rate),
        area * (Z_m * m_slip * slip_W + Z_a * a_W + Z_b * b_W + Z_c * c_W),
        area * ((Z_f + share * Z_m) * front_h + Z_r * rear_h),
        turn * (T_m * m_slip * slip_V + T_b * w_rate + T_k * k_V),
        turn * (T_k * k_v - T_c * w_rate),
        turn * (T_m * m_slip * slip_W + T_a * a_W + T_b * b_W + T_c * c_W),
        turn * ((T_f + share * T_m) * front_h + T_r * rear_h),
    )


SHALLOWEST = 1e-12
"""Sinkage below which the force, of its order in newtons, is taken as none [m]: 1/sin θ_f has to stay finite."""


@law
def ishigami(par, x, out, jac):
    """T (C.30)–(C.32), true in both directions of travel and at rest.

    The force of travel in +x and its mirror image are blended over speeds of order ε. Below DEEPEST the force of
    that sinkage grows in proportion to sinkage. A rising wheel presses less: all is multiplied by 1 − DAMPING v_z.
    """
    no_force(out, jac)
    sinkage = -x[4]
    if sinkage <= SHALLOWEST:
        return
    factor = 1.0 - par[DAMPING] * x[2]
    if factor <= 0.0:
        return
    h = min(sinkage, par[DEEPEST])
    W = x[3]
    V = x[0] + W
    total = V + W
    size = math.sqrt(total * total + par[EPSILON] * par[EPSILON])
    d = total / size
    d_total = 0.5 * (1.0 - d * d) / size
    forth = 0.5 * (1.0 + d)
    back = 0.5 * (1.0 - d)
    f = one_way(par, V, x[1], W, h)
    g = one_way(par, -V, x[1], -W, h)
    deeper = sinkage / h
    for i in range(4):
        mirror = -1.0 if i == 0 or i == 3 else 1.0
        k = 4 + 4 * i
        force = forth * f[i] + mirror * back * g[i]
        turned = d_total * (f[i] - mirror * g[i])
        by_V = forth * f[k] - mirror * back * g[k] + turned
        by_y = forth * f[k + 1] + mirror * back * g[k + 1]
        by_W = forth * f[k + 2] - mirror * back * g[k + 2] + turned
        by_h = forth * f[k + 3] + mirror * back * g[k + 3]
        if sinkage > h:
            by_h = force / h
        scale = factor * deeper
        out[i] = scale * force
        jac[5 * i] = scale * by_V
        jac[5 * i + 1] = scale * by_y
        jac[5 * i + 2] = -par[DAMPING] * deeper * force
        jac[5 * i + 3] = scale * (by_V + by_W)
        jac[5 * i + 4] = -factor * by_h
    if out[2] <= 0.0:
        no_force(out, jac)
