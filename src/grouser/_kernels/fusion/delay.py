"""Past of the fusion filter: where it was a moment ago, as it knows today, and clones of those poses.

The ring keeps each estimate with all corrections taken out; the corrections since then are one element of SE₂(3), so
recalling applies them all at once. An error of the past follows from today's by the inverse of its dynamics, to first
order, without the noise in between: exact enough for a second, which is as long as the ring is.
"""

import math

from grouser._compile.jit import kernel
from grouser._kernels.fusion.group import exponential, matrix, product
from grouser._kernels.fusion.memory import (
    CLONE,
    CLONES,
    COPIES_ROW,
    CORE,
    CORRECTION,
    E_ACCELERATION,
    E_GYRO,
    FIGURES_ROW,
    GRAVITY,
    LEVER_BODY,
    MOST_PAST,
    NOMINAL_ROW,
    NOW,
    PAST_NEXT,
    PAST_ROW,
    PAST_ROWS,
    PLAN_ROW,
    POSITION,
    QUATERNION,
    SAMPLE,
    VELOCITY,
)
from grouser._kernels.fusion.update import SPARE, WORK, copy_rows, make_room

SAME_TIME = 1e-4
"""Time stamps closer than this [s] are one."""
PAST = 17


@kernel
def rotate(q, at, x, y, z, sign, out, to):
    """out = R v, or Rᵀ v for sign −1."""
    w = q[at]
    ex = sign * q[at + 1]
    ey = sign * q[at + 2]
    ez = sign * q[at + 3]
    tx = ey * z - ez * y + w * x
    ty = ez * x - ex * z + w * y
    tz = ex * y - ey * x + w * z
    out[to] = x + 2.0 * (ey * tz - ez * ty)
    out[to + 1] = y + 2.0 * (ez * tx - ex * tz)
    out[to + 2] = z + 2.0 * (ex * ty - ey * tx)


@kernel
def remember(memory):
    """Put the present estimate into the ring, without the corrections made so far."""
    t = memory.tallies
    f = memory.desk[FIGURES_ROW]
    x = memory.desk[NOMINAL_ROW]
    row = memory.desk[PAST_ROW + t[PAST_NEXT]]
    row[0] = f[NOW]
    work = memory.desk[WORK]
    work[0] = f[CORRECTION]
    for i in range(1, 4):
        work[i] = -f[CORRECTION + i]
    product(work, 0, x, QUATERNION, row, 1)
    for k in range(2):  # velocity, position
        base = VELOCITY + 3 * k
        shift = CORRECTION + 4 + 3 * k
        rotate(
            f, CORRECTION, x[base] - f[shift], x[base + 1] - f[shift + 1], x[base + 2] - f[shift + 2],
            -1.0, row, 5 + 3 * k,
        )  # fmt: skip
    for i in range(6):
        row[11 + i] = f[SAMPLE + i]
    t[PAST_NEXT] = (t[PAST_NEXT] + 1) % memory.tallies[MOST_PAST]
    t[PAST_ROWS] = min(t[PAST_ROWS] + 1, memory.tallies[MOST_PAST])


@kernel
def recall(memory, time, out):
    """Write the estimate at a past time to out (17,), corrected as of today; False if the ring does not reach it.

    Between two rows it moves from the earlier by that row's velocity and rate: they are one IMU step apart.
    """
    t = memory.tallies
    f = memory.desk[FIGURES_ROW]
    rows = memory.tallies[MOST_PAST]
    count = t[PAST_ROWS]
    best = -1
    for back in range(1, count + 1):
        row = (t[PAST_NEXT] - back + rows) % rows
        if memory.desk[PAST_ROW + row, 0] <= time + SAME_TIME:
            best = row
            break
    if best < 0:
        return False
    past = memory.desk[PAST_ROW + best]
    for i in range(PAST):
        out[i] = past[i]
    product(f, CORRECTION, past, 1, out, 1)
    for k in range(2):
        shift = CORRECTION + 4 + 3 * k
        base = 5 + 3 * k
        rotate(f, CORRECTION, past[base], past[base + 1], past[base + 2], 1.0, out, base)
        for i in range(3):
            out[base + i] += f[shift + i]
    ahead = max(time - past[0], 0.0)
    x = memory.desk[NOMINAL_ROW]
    for i in range(3):
        out[8 + i] += ahead * out[5 + i]
    work = memory.desk[WORK]
    exponential(
        ahead * (out[11] - x[10]), ahead * (out[12] - x[11]), ahead * (out[13] - x[12]), work, 0
    )  # fmt: skip
    product(out, 1, work, 0, out, 1)
    out[0] = time
    return True


@kernel
def find_clone(memory, time):
    """Index of the clone at a time; −1 if there is none."""
    for c in range(memory.tallies[CLONES]):
        if abs(memory.desk[COPIES_ROW + c, 0] - time) <= SAME_TIME:
            return c
    return -1


@kernel
def clone_now(memory):
    """Clone the present pose of the body's origin; its index."""
    make_room(memory)
    index = copy_rows(memory)
    copy = memory.desk[COPIES_ROW + index]
    x = memory.desk[NOMINAL_ROW]
    lever = memory.desk[PLAN_ROW]
    copy[0] = memory.desk[FIGURES_ROW][NOW]
    for i in range(4):
        copy[1 + i] = x[QUATERNION + i]
    rotate(x, QUATERNION, lever[LEVER_BODY], lever[LEVER_BODY + 1], lever[LEVER_BODY + 2], 1.0, copy, 5)
    for i in range(3):
        copy[5 + i] += x[POSITION + i]
    return index


@kernel
def clone_past(memory, time):
    """Clone a pose of the recent past; its index, or −1 if the ring does not reach back so far."""
    then = memory.desk[SPARE]
    if not recall(memory, time, then):
        return -1
    make_room(memory)
    count = memory.tallies[CLONES]
    n = CORE + CLONE * count
    past_rows(memory, then, memory.desk[FIGURES_ROW][NOW] - time, n, n)
    P = memory.spread
    J = memory.desk[SPARE + 1 : SPARE + 7]
    for i in range(CLONE):
        for k in range(n):
            P[k, n + i] = P[n + i, k]
    for i in range(CLONE):
        for j in range(CLONE):
            total = 0.0
            for k in range(CORE):
                total += P[n + i, k] * J[j, k]
            P[n + i, n + j] = total
    copy = memory.desk[COPIES_ROW + count]
    copy[0] = time
    for i in range(4):
        copy[1 + i] = then[1 + i]
    lever = memory.desk[PLAN_ROW]
    rotate(then, 1, lever[LEVER_BODY], lever[LEVER_BODY + 1], lever[LEVER_BODY + 2], 1.0, copy, 5)
    for i in range(3):
        copy[5 + i] += then[8 + i]
    memory.tallies[CLONES] = count + 1
    return count


@kernel
def past_rows(memory, then, delay, to, n):
    """Rows of P for the error (θ, ξ_p) a delay ago, and their Jacobian on the desk.

    θ − = −R δb_g Δ backwards, and so on: the inverse of the dynamics in `fusion_predict`, to first order in Δ for the
    biases and second in gravity.
    """
    P = memory.spread
    J = memory.desk[SPARE + 1 : SPARE + 7]
    for i in range(CLONE):
        for k in range(CORE):
            J[i, k] = 0.0
    past_jacobian(memory, then, delay, J)
    for i in range(CLONE):
        for k in range(n):
            total = 0.0
            for c in range(CORE):
                factor = J[i, c]
                if factor != 0.0:
                    total += factor * P[c, k]
            P[to + i, k] = total


@kernel
def past_jacobian(memory, then, delay, J):
    """∂(θ, ξ_p a delay ago)/∂(error now)."""
    g = memory.desk[PLAN_ROW][GRAVITY]
    R = memory.desk[1:4]
    matrix(then, 1, R)
    px = then[8]
    py = then[9]
    pz = then[10]
    for i in range(3):
        J[i, i] = 1.0
        J[3 + i, 6 + i] = 1.0
        J[3 + i, 3 + i] = -delay
        for j in range(3):
            J[i, E_GYRO + j] = delay * R[i, j]
            J[3 + i, E_ACCELERATION + j] = -0.5 * delay * delay * R[i, j]
    J[3, 1] = 0.5 * delay * delay * g
    J[4, 0] = -0.5 * delay * delay * g
    for j in range(3):
        J[3, E_GYRO + j] = delay * (py * R[2, j] - pz * R[1, j])
        J[4, E_GYRO + j] = delay * (pz * R[0, j] - px * R[2, j])
        J[5, E_GYRO + j] = delay * (px * R[1, j] - py * R[0, j])


@kernel
def too_old(memory, time):
    """Whether the ring does not reach back to a time."""
    rows = memory.tallies[MOST_PAST]
    count = memory.tallies[PAST_ROWS]
    if count == 0:
        return True
    oldest = (memory.tallies[PAST_NEXT] - count + rows) % rows
    return memory.desk[PAST_ROW + oldest, 0] > time + SAME_TIME or math.isnan(time)
