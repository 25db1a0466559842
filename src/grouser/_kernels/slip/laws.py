"""Slip laws. x = (ω, v_cg, force per mass), out = (ω_slip, v_slip), all at the centre of mass in body coordinates."""

import math

from grouser._compile.jit import inlined
from grouser._kernels.law import law
from grouser._kernels.rotation import add, cross, dot, put, scale, vector

OMEGA, VELOCITY, FORCE = 0, 3, 6
"""Where the vectors begin in x."""
ANGULAR, LINEAR = 0, 3
"""Where they begin in out."""

P1, P2, P3, P4, P5, P6, P7 = range(7)
LON, LAT, ANG, UP = 7, 10, 13, 16
"""Entries of par of `six_parameters`, which has no use for P7, and of `drive_frame`: then the four directions."""


@inlined
def force_share(par, force):
    """Force along LON and LAT over that along UP."""
    f_up = min(dot(force, vector(par, UP)), -1e-3)  # [m/s²] upside down or in free fall the ratio has no meaning
    return dot(force, vector(par, LON)) / f_up, dot(force, vector(par, LAT)) / f_up


@inlined
def put_slip(par, lon, lat, ang, out):
    """Slip along the body's directions."""
    put(scale(ang, vector(par, ANG)), out, ANGULAR)
    put(add(scale(lon, vector(par, LON)), lat, vector(par, LAT)), out, LINEAR)


@law
def six_parameters(par, x, out, jac):
    """T (2.48), (2.49).

    The p₁ and p₃ terms go with |V_lon|, not V_lon: backing uphill must slip downhill too.
    """
    v_lon = dot(vector(x, VELOCITY), vector(par, LON))
    v_ang = dot(vector(x, OMEGA), vector(par, ANG))
    f_lon, f_lat = force_share(par, vector(x, FORCE))
    lon = par[P1] * f_lon * abs(v_lon) + par[P2] * v_lon
    lat = par[P3] * f_lat * abs(v_lon)
    ang = par[P4] * f_lat * v_lon + par[P5] * v_lon + par[P6] * v_ang
    put_slip(par, lon, lat, ang, out)


@law
def drive_frame(par, x, out, jac):
    """L (5.7)–(5.10) about the direction of travel.

    With û = V/|V| the slip velocity is [p₁ (f·û) û + p₃ (f − (f·û) û)] |V|/f_z + p₂ V + p₇ |V| V: L's terms in the
    drive frame, rotated back, without its angle σ. p₅ goes with the velocity along the body: sides that differ
    turn the vehicle the other way when it backs, where L's own v_x̂ > 0 would not.
    """
    v_lon = dot(vector(x, VELOCITY), vector(par, LON))
    v_lat = dot(vector(x, VELOCITY), vector(par, LAT))
    v_ang = dot(vector(x, OMEGA), vector(par, ANG))
    f_lon, f_lat = force_share(par, vector(x, FORCE))
    speed = math.sqrt(v_lon * v_lon + v_lat * v_lat)
    lon = par[P2] * v_lon + par[P7] * speed * v_lon
    lat = par[P2] * v_lat + par[P7] * speed * v_lat
    if speed > 0.0:
        ahead = (f_lon * v_lon + f_lat * v_lat) / speed
        lon += par[P3] * f_lon * speed + (par[P1] - par[P3]) * ahead * v_lon
        lat += par[P3] * f_lat * speed + (par[P1] - par[P3]) * ahead * v_lat
    ang = par[P4] * (f_lat * v_lon - f_lon * v_lat) + par[P5] * v_lon + par[P6] * v_ang
    put_slip(par, lon, lat, ang, out)


A1, A2, A3, A4, A5, A6, A7, A8, A9, A10, A11, A12, A13 = range(13)
BY_DISTANCE = 13  # 1 if gravity acts by distance
CENTRE = 14  # centre of mass (3)
MORE_X, MORE_Y, MORE_YAW = 17, 19, 21  # per v_x, per ω_z: excess of the surface's odometry over the wheels' solution
REACH_V, REACH_W = 23, 24  # largest speed and turn rate of the training data
X_VV, X_VWW, Y_WW, Y_VVW, Y_VWW, YAW_WW, YAW_VW, YAW_VWW = range(25, 33)  # coefficients of the learned steady terms
BEYOND_X, BEYOND_Y, BEYOND_YAW = 33, 34, 35  # what is added beyond the reach
WHEELS = 36  # how many, then of each the next
WHEEL_X, WHEEL_Y, WHEEL_STEERED, WHEEL_SIZE = 1, 2, 3, 3
"""Entries of par of `surface`."""


@inlined
def within(x, most):
    """x within ± most."""
    return min(max(x, -most), most)


@inlined
def mean_rim_speed(par, v, u, w):
    """Of the wheels where the odometry of the surface has the velocity v, u ahead and left, and turns with w."""
    n = int(par[WHEELS])
    speed = 0.0
    for k in range(n):
        at = WHEELS + WHEEL_SIZE * k
        along = v - w * par[at + WHEEL_Y]
        across = par[at + WHEEL_STEERED] * (u + w * par[at + WHEEL_X])
        speed += math.sqrt(along * along + across * across) / n
    return speed


@law
def surface(par, x, out, jac):
    """The slip surface of P (13) about the body's origin, and the steady terms of a learned correction."""
    omega, centre = vector(x, OMEGA), vector(par, CENTRE)
    velocity = vector(x, VELOCITY)
    at_origin = add(velocity, -1.0, cross(omega, centre))
    v_x, v_y, w_z = at_origin[0], at_origin[1], omega[2]
    more_x = par[MORE_X] * v_x + par[MORE_X + 1] * w_z
    more_y = par[MORE_Y] * v_x + par[MORE_Y + 1] * w_z
    more_w = par[MORE_YAW] * v_x + par[MORE_YAW + 1] * w_z
    v, u, w = v_x + more_x, v_y + more_y, w_z + more_w
    gravity = add(vector(x, FORCE), 1.0, cross(omega, velocity))  # the force per mass without its centripetal part
    grows = mean_rim_speed(par, v, u, w) if par[BY_DISTANCE] != 0.0 else 1.0
    g_x, g_y = grows * gravity[0], grows * gravity[1]
    turning = abs(w)
    d_x = par[A1] * v + par[A2] * turning + par[A3] * v * turning + par[A4] * g_x
    d_y = par[A5] * v + par[A6] * w + par[A7] * v * w + par[A8] * g_y
    d_w = par[A9] * v + par[A10] * w + par[A11] * v * w + par[A12] * g_x + par[A13] * g_y
    beyond = max(abs(v) / par[REACH_V] - 1.0, 0.0) + max(turning / par[REACH_W] - 1.0, 0.0)
    v, w = within(v, par[REACH_V]), within(w, par[REACH_W])
    V, W = abs(v), abs(w)
    d_x += par[X_VV] * v * V + par[X_VWW] * v * w * w + beyond * par[BEYOND_X]
    d_y += par[Y_WW] * w * W + par[Y_VVW] * v * V * w + par[Y_VWW] * v * w * W + beyond * par[BEYOND_Y]
    d_w += par[YAW_WW] * w * W + par[YAW_VW] * V * w + par[YAW_VWW] * V * w * W + beyond * par[BEYOND_YAW]
    turn = (0.0, 0.0, d_w + more_w)
    put(turn, out, ANGULAR)
    put(add(cross(turn, centre), 1.0, (d_x + more_x, d_y + more_y, 0.0)), out, LINEAR)
