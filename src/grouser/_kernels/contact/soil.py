"""Contact law of a rigid wheel in loose soil: Ishigami's terramechanics, T (C.19)–(C.36).

x and out are those of `laws.py`.
Angles θ run from the bottom of the wheel towards its front; the soil touches it from θ_r < 0 to θ_f > 0 and
presses hardest at θ_m. Stresses are integrated by Gauss–Legendre over two panels that meet at θ_m. T (C.30)–(C.32) sum
them to a force; their moment about the axle is R² b ∫ τ_x(θ) dθ against the spin, as normal stress points at the axle.
The bow wave that the rim pushes ahead presses on it too: it resists travel and turns no wheel.

(C.31) multiplies R_b by R − h(θ) cos θ, which is no width: at the bottom of a wheel in to its axle it is zero. Here the
side is cut in strips of width R cos θ dθ; where the wheel is shallow both are R dθ.

Beyond T, all off by default:
Slip sinkage. Soil that is sheared carries less, so the exponent of (C.24) grows with slip in either direction,
    N = n + (n_x v_x² + n_y v_y²)/(V_x² + v_y² + (Rω)² + ε²), σ = R^n k (cos θ − cos θ_f)^N.
Pavlov and Johnson (ICRA 2022) let it grow with slip ratio, after Ding; here depth counts in radii, so units stay.
Ploughing that grows with sideslip. T has it in full at any, which it notes as a jump of lateral force; with κ > 0 it is
multiplied by v_y/√(v_y² + κ² (V_x² + (Rω)²) + ε²): a side that moves mostly along itself ploughs little.
Friction on the side, μ times the ploughing force, at the contact point against v_x.

Soil that was pressed to a sinkage r before (`ruts.py`) and let go has its surface at z_p = (1 − ρ) r, ρ the share that
springs back, and carries as Bekker's plate under repeated load (Wong, Theory of Ground Vehicles, 2.4.2):
    p = k r^n (z − z_p)/(ρ r) up to z = r, the way back up;  p = k z^n beyond, as if it were pressed for the first time.
z is from the surface as it was before any wheel. A rim meets the soil at z_p: entry and exit angles, ploughing and bow
wave take the sinkage h − z_p below it, and (C.24) takes p(z_p + R (cos θ − cos θ_f)). So a second wheel compacts the
soil by what it sinks beyond r only, and its resistance is b (ρ k r^(n+1)/2 + k (h^(n+1) − r^(n+1))/(n+1)).
That is for a wheel that presses hardest at its bottom. One that does so at a_0 θ_f, (C.23), has pressed the soil as a
plate at the depth R (cos a_0 θ_f − cos θ_f) ≈ (1 − a_0²) h, so p takes (1 − a_0²) r and (1 − a_0²) z_p.
"""

import math

from grouser._compile.jit import inlined, kernel
from grouser._kernels.contact.entries import BY, DZ, F_Z, KEPT, R_OMEGA, V_X, V_Y, V_Z
from grouser._kernels.contact.laws import no_force
from grouser._kernels.elementary import arctangent, sine_cosine
from grouser._kernels.law import law, local_numbers

RADIUS, WIDTH, PRESSURE, EXPONENT, COHESION, TAN_PHI, A_0, A_1, RATIO = range(9)
"""Wheel; pressure modulus R^n (k_c/b + k_φ) and n of (C.24); soil; a₀, a₁ of (C.23); λ of (C.22)."""
K_X, K_X_BETA, K_Y, K_Y_BETA, ISOTROPIC = range(9, 14)
"""Shear moduli k_x = K_X + K_X_BETA |β|, k_y likewise; ISOTROPIC is the single modulus K, 0 for anisotropic soil."""
PLOUGH_1, PLOUGH_2, DAMPING, EPSILON, DEEPEST, POINTS = range(14, 20)
"""D₁ c and D₁ D₂ ρ_d g/2 of (C.34); damping [s/m]; ε [m/s]; sinkage where growth becomes linear [m]; points a panel."""
BOW_1, BOW_2 = range(20, 22)
"""Of the bow wave: share × b × D₁ c and share × b × D₁ D₂ ρ_d g/2."""
REBOUND = 22
"""ρ, share of a kept sinkage that springs back; 0: the soil remembers nothing, and x[KEPT] is not read."""
SINK_X, SINK_Y = range(23, 25)
"""n_x and n_y, growth of the exponent with slip."""
ASIDE, RUB = range(25, 27)
"""κ², of ploughing; μ of the side."""
NODES = 27
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
    """∫ R_b(h(θ)) R cos θ dθ, T (C.31), from θ to θ_f in closed form, and its derivatives by θ_f and θ.

    With C = cos θ and x = C − C_f it is R ∫ (p x + q x²) C, p = D₁ c R, q = D₁ D₂ ρ_d g R²/2.
    """
    R = par[RADIUS]
    p = par[PLOUGH_1] * R
    q = par[PLOUGH_2] * R * R
    # Integrals of C, C², C³.
    i1 = s_f - s
    i2 = 0.5 * (theta_f - theta + s_f * c_f - s * c)
    i3 = (2.0 * i1 + s_f * c_f * c_f - s * c * c) / 3.0
    value = p * (i2 - c_f * i1) + q * (i3 - 2.0 * c_f * i2 + c_f * c_f * i1)
    # x grows by sin θ_f with θ_f, and vanishes at the upper end.
    by_front = s_f * (p * i1 + 2.0 * q * (i2 - c_f * i1))
    x = c - c_f
    return R * value, R * by_front, -R * (p * x + q * x * x) * c


@inlined
def pressure(par, exponent, reload, floor, elastic, rise):
    """σ of T (C.24) and its derivative by the rise from the entry, in radii; without a rut floor = elastic = 0.

    floor, elastic: z_p and ρ r of p over R. reload: pressure per rise on the way back up.
    """
    if rise < elastic:
        return reload * rise, reload
    if exponent == 1.0:
        return par[PRESSURE] * (floor + rise), par[PRESSURE]
    sigma = par[PRESSURE] * (floor + rise) ** exponent
    return sigma, exponent * sigma / (floor + rise)


SUM, BY_F, BY_M, BY_R, BY_A, BY_B, BY_C, BY_K, BY_N = range(0, 36, 4)
"""Integrals of (X, Y, Z, T), then their derivatives by θ_f, θ_m, θ_r, a, b, c, by the shear moduli through β, by
the exponent N."""


@kernel
def one_way(par, V, v_y, W, h, kept, found):
    """Force and axle torque (X, Y, Z, T) while travelling in +x into found, then their ∂/∂(V_x, v_y, Rω, h) by rows.

    h: sinkage below the soil's surface where the rim enters; kept: sinkage that the soil there has seen before.
    """
    R = par[RADIUS]
    eps = par[EPSILON]
    # Slip sinkage: N and its derivatives.
    slips = par[SINK_X] > 0.0 or par[SINK_Y] > 0.0
    exponent = par[EXPONENT]
    N_V = 0.0
    N_y = 0.0
    N_W = 0.0
    if slips:
        rate = 1.0 / (V * V + v_y * v_y + W * W + eps * eps)
        growth = (par[SINK_X] * (V - W) * (V - W) + par[SINK_Y] * v_y * v_y) * rate
        exponent += growth
        N_V = 2.0 * rate * (par[SINK_X] * (V - W) - growth * V)
        N_y = 2.0 * rate * (par[SINK_Y] - growth) * v_y
        N_W = 2.0 * rate * (par[SINK_X] * (W - V) - growth * W)
    pressed = 0.0
    floor = 0.0
    elastic = 0.0
    reload = 0.0
    if kept > 0.0:
        pressed = (1.0 - par[A_0] * par[A_0]) * kept / R
        elastic = par[REBOUND] * pressed
        floor = pressed - elastic
        reload = par[PRESSURE] * pressed**exponent / elastic
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
    sums = local_numbers(36)
    for i in range(36):
        sums[i] = 0.0
    # Of X, Y, Z, T at one angle: how normal stress and shear stress along x or y add to them.
    normal = local_numbers(4)
    shear_part = local_numbers(4)
    points = int(par[POINTS])
    for point in range(points):
        t = par[NODES + point]
        # The stress at θ = θ_r + (1−t)(θ_m − θ_r) behind equals that at θ_m + t (θ_f − θ_m) ahead, T (C.24).
        theta = theta_m + t * (theta_f - theta_m)
        s, c_theta = sine_cosine(theta)
        rise = max(c_theta - c_f, 1e-300)
        sigma, sigma_rise = pressure(par, exponent, reload, floor, elastic, rise)
        sigma_N = sigma * math.log(pressed if rise < elastic else floor + rise) if slips else 0.0
        sigma_m = -sigma_rise * s * (1.0 - t)
        sigma_f = sigma_rise * (s_f - s * t)
        strength = par[COHESION] + sigma * tan_phi
        weight = par[NODES + points + point]
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
            normal[0] = -s
            normal[1] = 0.0
            normal[2] = c_theta
            normal[3] = 0.0
            shear_part[0] = c_theta
            shear_part[1] = 1.0
            shear_part[2] = s
            shear_part[3] = 1.0
            for i in range(4):
                y = i == 1
                part = shear_part[i]
                g = part * (g_y if y else g_x)
                g_j = part * (yx if y else xx)
                g_l = part * (yy if y else xy)
                by_sigma = tan_phi * g + normal[i]
                value = strength * g + sigma * normal[i]
                # Turning θ also turns the stresses: X by −Z, Z by X.
                turned = 0.0
                if i == 0:
                    turned = -(strength * g_x * s + sigma * c_theta)
                elif i == 2:
                    turned = strength * g_x * c_theta - sigma * s
                by_theta = strength * (g_j * jx_t - g_l * jy_f) + turned
                at_front = strength * (g_j * jx_f + g_l * jy_f)
                sums[SUM + i] += weight * length * value
                sums[BY_F + i] += weight * (length * (by_sigma * sigma_f + by_theta * by_f + at_front) + grow_f * value)
                sums[BY_M + i] += weight * (length * (by_sigma * sigma_m + by_theta * by_m) + grow_m * value)
                sums[BY_R + i] += weight * (length * by_theta * by_r + grow_r * value)
                size = weight * length * strength
                sums[BY_A + i] += size * g_j * angle
                sums[BY_B + i] -= size * g_j * rest
                sums[BY_C + i] += size * g_l * angle
                sums[BY_K + i] += size * part * (y_k if y else x_k)
            if slips:
                share_N = weight * length * sigma_N
                for i in range(4):
                    g = shear_part[i] * (g_y if i == 1 else g_x)
                    sums[BY_N + i] += share_N * (tan_phi * g + normal[i])
    # Ploughing by the side of the wheel: only where the side is below the ground, so not behind −θ_f.
    if par[RATIO] > 1.0:
        plough, plough_f, plough_r = ploughed(par, theta_f, s_f, c_f, -theta_f, -s_f, c_f)
        plough_h = (plough_f - plough_r) * front_h
    else:
        plough, plough_f, plough_r = ploughed(par, theta_f, s_f, c_f, theta_r, s_r, c_r)
        plough_h = plough_f * front_h + plough_r * rear_h
    ahead = par[ASIDE] * (V * V + W * W) + eps * eps
    side = 1.0 / math.sqrt(v_y * v_y + ahead)
    # From the angles and ratios to (V_x, v_y, Rω, h).
    m_slip = par[A_1] * theta_f
    for i in range(4):
        k_beta = par[K_Y_BETA] if i == 1 else par[K_X_BETA]
        # τ is about +y: shear that drives the wheel on turns it back.
        area = R * par[WIDTH] * (-R if i == 3 else 1.0)
        by_m = sums[BY_M + i]
        by_b = sums[BY_B + i]
        by_c = sums[BY_C + i]
        by_k = sums[BY_K + i] * k_beta
        by_N = sums[BY_N + i]
        by_W = w_rate * ((1.0 - a * a) * sums[BY_A + i] - a * (b * by_b + c * by_c))
        found[i] = area * sums[SUM + i]
        found[4 + 4 * i] = area * (by_m * m_slip * slip_V + by_b * w_rate + by_k * beta_V + by_N * N_V)
        found[5 + 4 * i] = area * (by_k * beta_y - by_c * w_rate + by_N * N_y)
        found[6 + 4 * i] = area * (by_m * m_slip * slip_W + by_W + by_N * N_W)
        found[7 + 4 * i] = area * ((sums[BY_F + i] + share * by_m) * front_h + sums[BY_R + i] * rear_h)
    steep = side * side * side * plough
    pushed_V = -v_y * steep * par[ASIDE] * V
    pushed_y = ahead * steep
    pushed_W = -v_y * steep * par[ASIDE] * W
    found[1] -= v_y * side * plough
    found[8] -= pushed_V
    found[9] -= pushed_y
    found[10] -= pushed_W
    found[11] -= v_y * side * plough_h
    if par[RUB] > 0.0:
        # f_x = −μ |pushed| v_x/√(v_x² + v_y² + ε²), and its moment −R f_x.
        v_x = V - W
        rate = 1.0 / math.sqrt(v_x * v_x + v_y * v_y + eps * eps)
        rub = math.copysign(par[RUB] * rate, v_y)
        pushed = v_y * side * plough
        turn = rub * rate * rate * pushed
        by_slip = turn * (v_y * v_y + eps * eps)
        for i in range(0, 4, 3):
            lever = -1.0 if i == 0 else R
            found[i] += lever * rub * v_x * pushed
            found[4 + 4 * i] += lever * (rub * v_x * pushed_V + by_slip)
            found[5 + 4 * i] += lever * v_x * (rub * pushed_y - turn * v_y)
            found[6 + 4 * i] += lever * (rub * v_x * pushed_W - by_slip)
            found[7 + 4 * i] += lever * rub * v_x * v_y * side * plough_h


SHALLOWEST = 1e-12
"""Sinkage below which the force, of its order in newtons, is taken as none [m]: 1/sin θ_f has to stay finite."""

LEAST_KEPT = 1e-6
"""Kept sinkage below which soil counts as never pressed [m]."""


@law
def ishigami(par, x, out, jac):
    """T (C.30)–(C.32), true in both directions of travel and at rest.

    The force of travel in +x and its mirror image are blended over speeds of order ε. Below DEEPEST the force of
    that sinkage grows in proportion to sinkage. A rising wheel presses less: all is multiplied by 1 − DAMPING v_z.
    The bow wave's force is its share of b R_b(h), (C.34), against V_x.
    """
    no_force(out, jac)
    kept = x[KEPT] if par[REBOUND] > 0.0 else 0.0
    if kept < LEAST_KEPT:
        kept = 0.0
    sinkage = -x[DZ] - (1.0 - par[REBOUND]) * kept
    if sinkage <= SHALLOWEST:
        return
    factor = 1.0 - par[DAMPING] * x[V_Z]
    if factor <= 0.0:
        return
    h = min(sinkage, par[DEEPEST])
    W = x[R_OMEGA]
    V = x[V_X] + W
    total = V + W
    size = math.sqrt(total * total + par[EPSILON] * par[EPSILON])
    d = total / size
    d_total = 0.5 * (1.0 - d * d) / size
    forth = 0.5 * (1.0 + d)
    back = 0.5 * (1.0 - d)
    f = local_numbers(20)
    g = local_numbers(20)
    one_way(par, V, x[V_Y], W, h, kept, f)
    one_way(par, -V, x[V_Y], -W, h, kept, g)
    deeper = sinkage / h
    bow = (par[BOW_1] + par[BOW_2] * h) * h
    bow_h = par[BOW_1] + 2.0 * par[BOW_2] * h
    travel = 1.0 / math.sqrt(V * V + par[EPSILON] * par[EPSILON])
    way = V * travel
    for i in range(4):
        mirror = -1.0 if i == 0 or i == 3 else 1.0
        k = 4 + 4 * i
        force = forth * f[i] + mirror * back * g[i]
        turned = d_total * (f[i] - mirror * g[i])
        by_V = forth * f[k] - mirror * back * g[k] + turned
        by_y = forth * f[k + 1] + mirror * back * g[k + 1]
        by_W = forth * f[k + 2] - mirror * back * g[k + 2] + turned
        by_h = forth * f[k + 3] + mirror * back * g[k + 3]
        if i == 0:
            force -= bow * way
            by_V -= bow * (1.0 - way * way) * travel
            by_h -= bow_h * way
        if sinkage > h:
            by_h = force / h
        scale = factor * deeper
        out[i] = scale * force
        jac[BY * i + V_X] = scale * by_V
        jac[BY * i + V_Y] = scale * by_y
        jac[BY * i + V_Z] = -par[DAMPING] * deeper * force
        jac[BY * i + R_OMEGA] = scale * (by_V + by_W)
        jac[BY * i + DZ] = -factor * by_h
    if out[F_Z] <= 0.0:
        no_force(out, jac)
