"""Wheel-ground contact laws. x = (v_x, v_y, v_z, Rω, Δz), out = (f_x, f_y, f_z, τ), jac = ∂out/∂x, 4 × 5 by rows.

Velocities are those of the contact point in the contact frame [m/s], Δz < 0 is penetration [m], forces on the wheel are
in the contact frame [N]. τ is the moment of the ground on the wheel about its +y axle [N m]: −R f_x for a force at the
contact point. f_z ≥ 0, and there is no force for Δz ≥ 0. A NaN in x gives NaN. Here: piecewise linear, Pacejka and a
user's own; terramechanics is in `soil.py`, tables are in `table.py`.
"""

import math
from typing import Any

import numba

from grouser._compile.jit import FLAGS, entry, inlined
from grouser._kernels.contact.entries import (
    BY,
    DZ,
    F_X,
    F_Y,
    F_Z,
    R_OMEGA,
    ROW_TORQUE,
    ROW_X,
    ROW_Y,
    ROW_Z,
    TORQUE,
    V_X,
    V_Y,
    V_Z,
)
from grouser._kernels.elementary import arctangent, sine_cosine
from grouser._kernels.law import Law, call_law, law
from grouser._kernels.own_law import differenced, put

# Entries of par shared by the laws below: the spring and damper of (C.3), rolling resistance, wheel radius.
K_P, K_D, ONSET, C_RR, RADIUS = range(5)

C_X, C_Y, MU_X, MU_Y, CONE, DYNAMIC, STRIBECK = range(5, 12)
"""Entries of par of `piecewise_linear` after the shared ones; CONE is 1 for (C.9), 0 for the pyramid.

DYNAMIC is the share of μ left in fast slip, STRIBECK the slip speed over which the rest is lost [m/s].
"""

MU, EPSILON, PEAK = range(5, 8)
LONGITUDINAL = 8
LATERAL = 12
"""Entries of par of `pacejka` after the shared ones; each curve is (B K, C, D, E), the lateral one with 2 B K/π."""


@inlined
def no_force(out, jac):
    """Off the ground."""
    for i in range(4):
        out[i] = 0.0
    for i in range(20):
        jac[i] = 0.0


@inlined
def point_torque(par, x, out, jac):
    """τ = −R (f_x + C_rr Rω): the force acts at the contact point, and rolling resistance turns the wheel back.

    C_rr Rω in f_x of (C.5) alone would speed the wheel up by what it takes from the body and so resist nothing.
    """
    out[TORQUE] = -par[RADIUS] * (out[F_X] + par[C_RR] * x[R_OMEGA])
    for k in range(5):
        jac[ROW_TORQUE + k] = -par[RADIUS] * jac[k]
    jac[ROW_TORQUE + R_OMEGA] -= par[RADIUS] * par[C_RR]


@inlined
def normal_force(par, v_z, dz):
    """T (C.3), (C.4) for Δz < 0: f_z and its derivatives by v_z and Δz.

    Over the first ONSET metres of penetration the damper comes in linearly; 0 is (C.3) as printed, whose force
    jumps at touchdown.
    """
    ramp = 1.0
    ramp_dz = 0.0
    if -dz < par[ONSET]:
        ramp_dz = -1.0 / par[ONSET]
        ramp = dz * ramp_dz
    f = -par[K_P] * dz - par[K_D] * ramp * v_z
    if f <= 0.0:
        return 0.0, 0.0, 0.0
    return f, -par[K_D] * ramp, -par[K_P] - par[K_D] * ramp_dz * v_z


@inlined
def limit_to_cone(out, jac, mu_x, mu_y):
    """Shorten (f_x, f_y) to (f_x/μ_x)² + (f_y/μ_y)² ≤ f_z²: T (C.9) where μ_x = μ_y."""
    if mu_x * mu_y == 0.0:
        for k in range(10):
            jac[k] = 0.0
        out[F_X] = 0.0
        out[F_Y] = 0.0
        return
    size = math.sqrt((mu_y * out[F_X]) ** 2 + (mu_x * out[F_Y]) ** 2)
    limit = mu_x * mu_y * out[F_Z]
    if size <= limit:
        return
    scale = limit / size
    for k in range(5):
        grows = (mu_y * mu_y * out[F_X] * jac[k] + mu_x * mu_x * out[F_Y] * jac[ROW_Y + k]) / size
        scale_k = (mu_x * mu_y * jac[ROW_Z + k] - scale * grows) / size
        jac[k] = scale * jac[k] + scale_k * out[F_X]
        jac[ROW_Y + k] = scale * jac[ROW_Y + k] + scale_k * out[F_Y]
    out[F_X] *= scale
    out[F_Y] *= scale


@inlined
def falling_friction(par, x):
    """Share of μ at a slip velocity, m = m_d + (1 − m_d) exp(−(v/v_s)²), and its derivatives by v_x and v_y."""
    if par[DYNAMIC] == 1.0:
        return 1.0, 0.0, 0.0
    rate = 1.0 / (par[STRIBECK] * par[STRIBECK])
    lost = (1.0 - par[DYNAMIC]) * math.exp(-rate * (x[V_X] * x[V_X] + x[V_Y] * x[V_Y]))
    return par[DYNAMIC] + lost, -2.0 * rate * lost * x[V_X], -2.0 * rate * lost * x[V_Y]


@law
def piecewise_linear(par, x, out, jac):
    """T (C.3)–(C.9), the friction of the Open Dynamics Engine: linear in slip velocity up to μ f_z.

    Where friction falls with slip the limit is μ m(v) f_z: (m f_z) stands in the place of f_z while it is applied.
    """
    no_force(out, jac)
    if x[DZ] >= 0.0:
        return
    f_z, f_z_vz, f_z_dz = normal_force(par, x[V_Z], x[DZ])
    if f_z <= 0.0:
        return
    out[F_X] = -par[C_X] * x[V_X] - par[C_RR] * x[R_OMEGA]
    out[F_Y] = -par[C_Y] * x[V_Y]
    jac[ROW_X + V_X] = -par[C_X]
    jac[ROW_X + R_OMEGA] = -par[C_RR]
    jac[ROW_Y + V_Y] = -par[C_Y]
    share, share_x, share_y = falling_friction(par, x)
    out[F_Z] = share * f_z
    jac[ROW_Z + V_X] = share_x * f_z
    jac[ROW_Z + V_Y] = share_y * f_z
    jac[ROW_Z + V_Z] = share * f_z_vz
    jac[ROW_Z + DZ] = share * f_z_dz
    if par[CONE] > 0.0:
        limit_to_cone(out, jac, par[MU_X], par[MU_Y])
    else:
        limit_axis(out, jac, 0, par[MU_X])
        limit_axis(out, jac, 1, par[MU_Y])
    out[F_Z] = f_z
    jac[ROW_Z + V_X] = 0.0
    jac[ROW_Z + V_Y] = 0.0
    jac[ROW_Z + V_Z] = f_z_vz
    jac[ROW_Z + DZ] = f_z_dz
    point_torque(par, x, out, jac)


@inlined
def limit_axis(out, jac, axis, mu):
    """Clamp one tangential force to ±μ f_z, T (C.7), (C.8)."""
    if abs(out[axis]) <= mu * out[F_Z]:
        return
    mu = math.copysign(mu, out[axis])
    out[axis] = mu * out[F_Z]
    for k in range(5):
        jac[BY * axis + k] = mu * jac[ROW_Z + k]


@inlined
def magic_formula(par, curve, z):
    """T (C.13): D sin(C atan((1−E) z + E atan z)), and its derivative by z."""
    c = par[curve + 1]
    d = par[curve + 2]
    e = par[curve + 3]
    inner = (1.0 - e) * z + e * arctangent(z)
    angle = c * arctangent(inner)
    sine, cosine = sine_cosine(angle)
    inner_z = (1.0 - e) + e / (1.0 + z * z)
    return d * sine, d * c * cosine * inner_z / (1.0 + inner * inner)


SMALL = 1e-4
"""Slip below which a secant slope's derivative is taken from its series: the quotient would lose digits."""


@inlined
def secant_slope(par, curve, s, z, z_s, bend):
    """F(z(s))/s of a magic formula and its derivative by s; z ≈ s (1 − bend s²) where s is small.

    There F ≈ D C B K s (1 − m s²): m is from the series of the formula, and from bend.
    """
    stretch = par[curve]
    value, slope = magic_formula(par, curve, stretch * z)
    slope *= stretch * z_s
    if abs(s) < SMALL:
        a = stretch * par[curve + 1] * par[curve + 2]
        m = stretch * stretch * ((par[curve + 3] + 1.0) / 3.0 + par[curve + 1] ** 2 / 6.0) + bend
        return a * (1.0 - m * s * s), -2.0 * a * m * s
    a = value / s
    return a, (slope - a) / s


@law
def pacejka(par, x, out, jac):
    """T (C.10)–(C.18) in the form that is regular at zero slip and zero speed, and true in reverse.

    (f_x, f_y) = −μ f_z F (v_x, v_y)/V̄, V̄ = √(V_x² + ε²), F = a b/√(a² + b²), with the secant slopes
    a = f′_x/s and b = f′_y/tan α. Rolling resistance cannot take the force beyond its peak.
    """
    no_force(out, jac)
    if x[DZ] >= 0.0:
        return
    f_z, f_z_vz, f_z_dz = normal_force(par, x[V_Z], x[DZ])
    if f_z <= 0.0:
        return
    speed = x[V_X] + x[R_OMEGA]
    v_bar = math.sqrt(speed * speed + par[EPSILON] * par[EPSILON])
    rate = 1.0 / v_bar
    s = -x[V_X] * rate
    t = x[V_Y] * rate
    a, a_s = secant_slope(par, LONGITUDINAL, s, s, 1.0, 0.0)
    b, b_t = secant_slope(par, LATERAL, t, arctangent(t), 1.0 / (1.0 + t * t), 1.0 / 3.0)
    # The larger one is divided by, so that neither square underflows at a huge slip.
    if a > b:
        ratio = b / a
        to_a = 1.0 / math.sqrt(1.0 + ratio * ratio)
        by_a = ratio * to_a
        by_b = to_a
        F = b * to_a
    else:
        ratio = a / max(b, 1e-300)
        to_b = 1.0 / math.sqrt(1.0 + ratio * ratio)
        by_a = to_b
        by_b = ratio * to_b
        F = a * to_b
    F_s = by_a * by_a * by_a * a_s
    F_t = by_b * by_b * by_b * b_t
    # s and t by v_x and Rω: both through V̄, s also through v_x.
    v_rate = speed * rate * rate
    F_w = -(s * F_s + t * F_t) * v_rate
    F_x = F_w - F_s * rate
    F_y = F_t * rate
    pull = par[MU] * f_z
    ahead = s * F
    aside = -t * F
    out[F_X] = pull * ahead - par[C_RR] * x[R_OMEGA]
    out[F_Y] = pull * aside
    out[F_Z] = f_z
    jac[ROW_X + V_X] = pull * (s * F_x - ahead * v_rate - F * rate)
    jac[ROW_X + V_Y] = pull * s * F_y
    jac[ROW_X + V_Z] = par[MU] * ahead * f_z_vz
    jac[ROW_X + R_OMEGA] = pull * (s * F_w - ahead * v_rate) - par[C_RR]
    jac[ROW_X + DZ] = par[MU] * ahead * f_z_dz
    jac[ROW_Y + V_X] = pull * (-t * F_x - aside * v_rate)
    jac[ROW_Y + V_Y] = pull * (-t * F_y - F * rate)
    jac[ROW_Y + V_Z] = par[MU] * aside * f_z_vz
    jac[ROW_Y + R_OMEGA] = pull * (-t * F_w - aside * v_rate)
    jac[ROW_Y + DZ] = par[MU] * aside * f_z_dz
    jac[ROW_Z + V_Z] = f_z_vz
    jac[ROW_Z + DZ] = f_z_dz
    if par[C_RR] > 0.0:
        limit = par[MU] * par[PEAK]
        limit_to_cone(out, jac, limit, limit)
    point_torque(par, x, out, jac)


@numba.njit(**FLAGS)
def step_in_contact(x, k):
    """Step of a difference: a millionth of the speeds [m/s]; of the depth [m] 1e-7, and not out of the ground."""
    return 1e-6 * max(1.0, abs(x[k])) if k < DZ else min(1e-7, -0.5 * x[DZ])


def own_contact(evaluate: Any, count: int, jacobian: Any) -> Law:
    """The law of a user's function that returns 3 numbers, or 4 with τ. par = (R, then its parameters).

    jacobian: of the same arguments, 3 × 5 or 4 × 5, or None: then the law is differenced.
    """
    at_point = count == 3

    @numba.njit(**FLAGS)
    def value(x, par, out):
        put(out, 0, evaluate(x, par))
        if at_point:
            out[TORQUE] = -par[0] * out[F_X]

    if jacobian is None:
        slopes = differenced(value, first=0, columns=5, rows=4, step=step_in_contact)
    else:

        @numba.njit(**FLAGS)
        def slopes(x, par, out, jac):
            if put(jac, 0, jacobian(x, par)) == 15:
                for k in range(5):
                    jac[ROW_TORQUE + k] = -par[0] * jac[k]

    def law(par, x, out, jac):
        no_force(out, jac)
        if x[DZ] >= 0.0:
            return
        for i in range(4):
            out[i] = math.nan  # stays where the function raises
        state = numba.carray(x, (5,))
        value(state, par, out)
        if out[F_Z] <= 0.0:
            no_force(out, jac)
        else:
            slopes(state, par, out, jac)

    return Law(law, cached=False)


@entry
def sample_contact(address, par, x, out, jac):
    """The contact law at `address` with parameters at address `par`, at states x (n, 5): out (n, 4), jac (n, 20)."""
    for i in range(x.shape[0]):
        call_law(address, par, x[i], out[i], jac[i])
