"""Slip laws. x = (ω, v_cg, force per mass), out = (ω_slip, v_slip), all at the centre of mass in body coordinates."""

import math

from grouser._compile.jit import inlined
from grouser._kernels.law import law


@law
def six_parameters(par, x, out, jac):
    """T (2.48), (2.49). par = (p₁…p₆, lon (3), lat (3), ang (3), up (3)).

    The p₁ and p₃ terms go with |V_lon|, not V_lon: backing uphill must slip downhill too.
    """
    v_lon = x[3] * par[6] + x[4] * par[7] + x[5] * par[8]
    v_ang = x[0] * par[12] + x[1] * par[13] + x[2] * par[14]
    f_lon = x[6] * par[6] + x[7] * par[7] + x[8] * par[8]
    f_lat = x[6] * par[9] + x[7] * par[10] + x[8] * par[11]
    f_up = x[6] * par[15] + x[7] * par[16] + x[8] * par[17]
    f_up = min(f_up, -1e-3)  # [m/s²] upside down or in free fall the normalised force has no meaning
    lon = par[0] * f_lon / f_up * abs(v_lon) + par[1] * v_lon
    lat = par[2] * f_lat / f_up * abs(v_lon)
    ang = par[3] * f_lat / f_up * v_lon + par[4] * v_lon + par[5] * v_ang
    for i in range(3):
        out[i] = ang * par[12 + i]
        out[3 + i] = lon * par[6 + i] + lat * par[9 + i]


@law
def drive_frame(par, x, out, jac):
    """L (5.7)–(5.10) about the direction of travel. par = (p₁…p₇, lon (3), lat (3), ang (3), up (3)).

    With û = V/|V| the slip velocity is [p₁ (f·û) û + p₃ (f − (f·û) û)] |V|/f_z + p₂ V + p₇ |V| V: L's terms in the
    drive frame, rotated back, without its angle σ. p₅ goes with the velocity along the body: sides that differ
    turn the vehicle the other way when it backs, where L's own v_x̂ > 0 would not.
    """
    v_lon = x[3] * par[7] + x[4] * par[8] + x[5] * par[9]
    v_lat = x[3] * par[10] + x[4] * par[11] + x[5] * par[12]
    v_ang = x[0] * par[13] + x[1] * par[14] + x[2] * par[15]
    f_lon = x[6] * par[7] + x[7] * par[8] + x[8] * par[9]
    f_lat = x[6] * par[10] + x[7] * par[11] + x[8] * par[12]
    f_up = x[6] * par[16] + x[7] * par[17] + x[8] * par[18]
    f_up = min(f_up, -1e-3)  # [m/s²] as above
    f_lon /= f_up
    f_lat /= f_up
    speed = math.sqrt(v_lon * v_lon + v_lat * v_lat)
    lon = par[1] * v_lon + par[6] * speed * v_lon
    lat = par[1] * v_lat + par[6] * speed * v_lat
    if speed > 0.0:
        ahead = (f_lon * v_lon + f_lat * v_lat) / speed
        lon += par[2] * f_lon * speed + (par[0] - par[2]) * ahead * v_lon
        lat += par[2] * f_lat * speed + (par[0] - par[2]) * ahead * v_lat
    ang = par[3] * (f_lat * v_lon - f_lon * v_lat) + par[4] * v_lon + par[5] * v_ang
    for i in range(3):
        out[i] = ang * par[13 + i]
        out[3 + i] = lon * par[7 + i] + lat * par[10 + i]


@inlined
def within(x, most):
    """x within ± most."""
    return min(max(x, -most), most)


@law
def surface(par, x, out, jac):
    """The slip surface of P (13) about the body's origin, and the steady terms of a learned correction.

    par = (α₁…α₁₃, 1 if gravity acts by distance, centre of mass (3), match (3, 2), reach of V and ω, coefficients of
    the 8 steady terms, what is added beyond the reach to x, y, yaw, number of wheels, then x, y, steered of each).
    match gives what the odometry of the surface has more than the solution of the wheels, per v_x and ω_z of that.
    """
    rx, ry, rz = par[14], par[15], par[16]
    v_x = x[3] - (x[1] * rz - x[2] * ry)
    v_y = x[4] - (x[2] * rx - x[0] * rz)
    w_z = x[2]
    more_x = par[17] * v_x + par[18] * w_z
    more_y = par[19] * v_x + par[20] * w_z
    more_w = par[21] * v_x + par[22] * w_z
    v, u, w = v_x + more_x, v_y + more_y, w_z + more_w
    # Gravity is the force per mass without its centripetal part.
    g_x = x[6] + x[1] * x[5] - x[2] * x[4]
    g_y = x[7] + x[2] * x[3] - x[0] * x[5]
    if par[13] != 0.0:
        n = int(par[36])
        speed = 0.0
        for k in range(n):
            at = 37 + 3 * k
            along = v - w * par[at + 1]
            across = par[at + 2] * (u + w * par[at])
            speed += math.sqrt(along * along + across * across) / n
        g_x *= speed
        g_y *= speed
    turning = abs(w)
    d_x = par[0] * v + par[1] * turning + par[2] * v * turning + par[3] * g_x
    d_y = par[4] * v + par[5] * w + par[6] * v * w + par[7] * g_y
    d_w = par[8] * v + par[9] * w + par[10] * v * w + par[11] * g_x + par[12] * g_y
    beyond = max(abs(v) / par[23] - 1.0, 0.0) + max(turning / par[24] - 1.0, 0.0)
    v, w = within(v, par[23]), within(w, par[24])
    V, W = abs(v), abs(w)
    d_x += par[25] * v * V + par[26] * v * w * w + beyond * par[33]
    d_y += par[27] * w * W + par[28] * v * V * w + par[29] * v * w * W + beyond * par[34]
    d_w += par[30] * w * W + par[31] * V * w + par[32] * V * w * W + beyond * par[35]
    d_x, d_y, d_w = d_x + more_x, d_y + more_y, d_w + more_w
    out[0] = 0.0
    out[1] = 0.0
    out[2] = d_w
    out[3] = d_x - d_w * ry
    out[4] = d_y + d_w * rx
    out[5] = 0.0
