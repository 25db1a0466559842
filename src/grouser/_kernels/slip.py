"""Slip laws. x = (ω, v_cg, force per mass), out = (ω_slip, v_slip), all at the centre of mass in body coordinates."""

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
