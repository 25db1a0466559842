"""Slip laws. x = (ω, v_cg, force per mass), out = (ω_slip, v_slip), all at the centre of mass in body coordinates."""

import math

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
