"""Turn rates that gyro and attitude give, and the velocity they imply.

The wheels roll: a body that pitches about them at ω_y moves at −z ω_y, z its contacts' height. With some turn rates
known, least squares gives the other velocities. It is quadratic, so the solution moves linearly with the known rates.
"""

import math

from grouser._compile.jit import inlined, kernel
from grouser._kernels.arrays import fill, inner
from grouser._kernels.least_squares import cholesky_solve, least_squares, normal_equations, solve_again
from grouser._kernels.odometry.state import FAULT_GYRO, LARGEST

SAFE_PIVOT = 1e-8
"""Part of a column that is its own, squared, above which a Cholesky factor is good for many right sides."""
SAFE_SHARE = 1e-16  # The same part of the largest column. Both are stricter than those of `least_squares`


@kernel
def check_gyro(sense, work):
    """Turn rates of the gyro and which of them are known into work; NaN is not measured. Returns a fault bit."""
    fill(work.by_gyro, 0.0)
    if sense.gyro_given == 0:
        return 0
    fault = 0
    silent = 0
    for i in range(3):
        work.gyro[i] = sense.gyro[i]
        if math.isnan(sense.gyro[i]):
            silent += 1
        elif abs(sense.gyro[i]) < LARGEST:
            work.by_gyro[i] = 1.0
        else:
            fault = FAULT_GYRO
    return FAULT_GYRO if silent == 3 else fault


@inlined
def fill_columns(store, n):
    """Weighted columns of the velocities in store.free into s.B."""
    model, s = store.model, store.s
    for i in range(n):
        column = store.free[i]
        for r in range(s.rhs.size):
            s.B[i, r] = s.A[r, column] * model.weight[r]


@kernel
def turn_responses(store):
    """Joint-space velocity per turn rate about x, y, z that is known, into store.response (3, nv).

    Others that are known stay as they are; those of the wheels and v follow, T (2.37). Attitude gives those about x and
    y where contact angles are not known. Overwrites s.normal, s.B, s.row and s.x.
    """
    model, s, settings, response = store.model, store.s, store.settings, store.response
    by_gyro = store.work.by_gyro
    fill(response, 0.0)
    for i in range(3):
        response[i, i] = 1.0
    lever = store.work.lever == 1
    if not lever and by_gyro[0] + by_gyro[1] + by_gyro[2] == 0.0:
        return
    if settings.linear == 1:
        response[0, 4] = settings.contact_height
        response[1, 3] = -settings.contact_height
        return
    n = 0
    body = 0
    for k in range(model.counts[1]):
        i = model.unknown[k]
        if i < 3 and (by_gyro[i] == 1.0 or (lever and i < 2)):
            body += 1 << i
        else:
            store.free[n] = i
            n += 1
    m = s.rhs.size
    factorised = False
    solved = False
    for i in range(3):
        if (body >> i) & 1 == 0:
            continue
        for r in range(m):
            s.row[r] = -s.A[r, i] * model.weight[r]
        if factorised:
            for k in range(n):
                s.x[k] = inner(s.B[k, :m], s.row)
            solve_again(s.normal, n, s.x)
        else:
            fill_columns(store, n)
            if not solved:
                largest = normal_equations(s.B, s.row, m, n, s.normal, s.x)
                factorised = cholesky_solve(s.normal, n, SAFE_PIVOT, SAFE_SHARE * largest, s.x)
            if not factorised:
                for r in range(m):
                    s.row[r] = -s.A[r, i] * model.weight[r]
                least_squares(s.B, s.row, m, n, s.normal, s.x, s.work, s.pivot)
        solved = True
        for k in range(n):
            response[i, store.free[k]] = s.x[k]


@inlined
def impose(store, twist):
    """Turn rates of the gyro into a twist, with the velocity they imply."""
    work = store.work
    for i in range(3):
        work.change[i] = work.gyro[i] - twist[i] if work.by_gyro[i] == 1.0 else 0.0
    for i in range(3):
        if work.change[i] != 0.0:
            for k in range(6):
                twist[k] += store.response[i, k] * work.change[i]
            twist[i] = work.gyro[i]


@kernel
def gyro_noise(store):
    """Noise of the gyro, and of the velocity that its turn rates imply, into work.turning (6, 6)."""
    work = store.work
    fill(work.turning, 0.0)
    for i in range(3):
        if work.by_gyro[i] == 1.0:
            for a in range(6):
                q = store.settings.gyro_variance * store.response[i, a]
                for b in range(6):
                    work.turning[a, b] += q * store.response[i, b]


@kernel
def uneven_ground(store):
    """How far wheels stand from an axis about which the body turns, squared, mean over the wheels, into work.uneven.

    Entries (2,) [m²] are of turning about x and y. With contact angles that are assumed, turning at ω asks wheel w to
    climb at ψ = n·ω/v, n the velocity along its normal per turn rate: v is off by ψ²/2 of itself.
    """
    s, work = store.s, store.work
    nw = s.height_error.size
    fill(work.uneven, 0.0)
    if work.lever == 0:
        return
    for w in range(nw):
        for i in range(2):
            work.uneven[i] += inner(s.A[3 * w + 2], store.response[i]) ** 2 / nw
