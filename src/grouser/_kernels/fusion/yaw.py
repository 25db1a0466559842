"""Headings (compass, two antennas) as measurements of the fusion filter, and a yaw that is not known at the start.

GPS positions are then held until they determine the yaw, and the whole world is turned. The error of a turn about
gravity is the same at every state (`memory.py`), so all else can be estimated before.
"""

import math

from grouser._compile.jit import inlined, kernel
from grouser._kernels.arrays import copy, copy_rows, fill
from grouser._kernels.fusion.delay import clone, past_jacobian, recall
from grouser._kernels.fusion.memory import CLONE, HELD, MOTION, POSITION, ROTATION, VELOCITY
from grouser._kernels.fusion.update import (
    LEAVE_OUT,
    OPEN,
    USE,
    WIDEN,
    age,
    commit,
    commit_state,
    core,
    drop_clone,
    innovate,
    judged,
)
from grouser._kernels.rotation import add, put, rotate

UNKNOWN = 0.3  # Sigma of the yaw [rad] above which positions are not linearised
FOUND = 0.15  # Sigma of the yaw [rad] that the way must reach
WIDE = 6.0  # Times that, the sigma with which the positions then determine it
ANY = math.pi  # Sigma of a yaw of which nothing is known [rad]


@kernel
def yaw_unknown(m):
    """Whether the yaw is too uncertain to linearise a position far from the start."""
    return m.covariance[ROTATION + 2, ROTATION + 2] > UNKNOWN**2


@kernel
def hold_fix(m, event):
    """Keep a GPS position and a clone of its pose, if it is far enough from the last one."""
    if event.observed[0] == 0.0 or event.observed[1] == 0.0:
        return
    held = m.counts.held
    if held > 0:
        last = m.fixes[held - 1]
        if math.hypot(event.position[0] - last.position[0], event.position[1] - last.position[1]) < m.clock.spacing:
            return
    else:
        m.clock.spacing = math.sqrt(0.5 * (event.covariance[0, 0] + event.covariance[1, 1]))
    if held == HELD:
        thin_fixes(m)
    index = clone(m, event.time)
    if index < 0:
        m.faults.gps_late += 1
        return
    m.clones[index].held = 1
    fix = m.fixes[m.counts.held]
    fix.time = event.time
    put(event.position, fix.position, 0)
    copy(event.observed, fix.observed)
    copy_rows(event.covariance, fix.covariance)
    m.counts.held += 1


@kernel
def thin_fixes(m):
    """Drop every second held position, and keep the next ones at twice the distance."""
    kept = 0
    for k in range(m.counts.held):
        if k % 2 == 1:
            drop_clone(m, held_clone(m, k))
            continue
        m.fixes[kept] = m.fixes[k]
        kept += 1
    m.counts.held = kept
    m.clock.spacing *= 2.0


@kernel
def held_clone(m, k):
    """Index of the clone of a held position."""
    for c in range(m.counts.clones):
        if m.clones[c].held and m.clones[c].time == m.fixes[k].time:
            return c
    return -1


@kernel
def drop_held(m):
    """Forget all held positions and their clones."""
    for k in range(m.counts.held):
        drop_clone(m, held_clone(m, k))
    m.counts.held = 0


@kernel
def find_yaw(m):
    """Turn the world so that the way fits the held positions, once they determine the yaw; whether they do.

    Weighted least squares of z = R(ψ) x + t with the antenna's positions x by the clones. The start is one of the
    points; t is free. The variance of ψ is 1 / Σ w |x − x̄|².
    """
    arm = add(m.settings.lever_antenna, -1.0, m.settings.lever_body)
    sigma = m.settings.start[POSITION]
    total = 1.0 / max(sigma * sigma, 1e-12)  # weight of the start: x = z = 0, up to the antenna's arm
    sum_x = sum_y = sum_zx = sum_zy = along = across = spread = 0.0
    for k in range(m.counts.held):
        index = held_clone(m, k)
        c, fix, P, row = m.clones[index], m.fixes[k], m.covariance, core(m) + CLONE * index + 3
        x, y, _ = add(c.position, 1.0, rotate(c.quaternion, arm))
        drift = 0.5 * (P[row, row] + P[row + 1, row + 1])
        weight = 1.0 / max(0.5 * (fix.covariance[0, 0] + fix.covariance[1, 1]) + drift, 1e-12)
        zx, zy = fix.position[0] - m.settings.origin[0], fix.position[1] - m.settings.origin[1]
        total += weight
        sum_x += weight * x
        sum_y += weight * y
        sum_zx += weight * zx
        sum_zy += weight * zy
        spread += weight * (x * x + y * y)
        along += weight * (x * zx + y * zy)
        across += weight * (x * zy - y * zx)
    spread -= (sum_x * sum_x + sum_y * sum_y) / total
    along -= (sum_x * sum_zx + sum_y * sum_zy) / total
    across -= (sum_x * sum_zy - sum_y * sum_zx) / total
    if not spread * FOUND * FOUND > 1.0:
        return False
    turn_world(m, math.atan2(across, along), WIDE * FOUND)
    return True


@kernel
def turn_world(m, angle, sigma):
    """Turn state, clones and covariance about the vertical through the start; the yaw then has a sigma [rad]."""
    n = core(m) + CLONE * m.counts.clones
    c, s = math.cos(angle), math.sin(angle)
    turn_rows(m, ROTATION, n, c, s)
    turn_rows(m, VELOCITY, n, c, s)
    turn_rows(m, POSITION, n, c, s)
    fill(m.change, 0.0)
    m.change[ROTATION + 2] = angle
    for k in range(m.counts.clones):
        first = core(m) + CLONE * k
        turn_rows(m, first, n, c, s)
        turn_rows(m, first + 3, n, c, s)
        m.change[first + 2] = angle
    commit_state(m)
    variance = m.covariance[ROTATION + 2, ROTATION + 2]
    add_common(m, ROTATION + 2, sigma * sigma - variance)


@kernel
def add_common(m, row, variance):
    """Add a variance of a turn (rows of θ) or shift (rows of ξ_p) of the whole world: state and clones share it."""
    P, first = m.covariance, core(m)
    offset = row - ROTATION if row < VELOCITY else row - POSITION + 3
    for a in range(-1, m.counts.clones):
        i = row if a < 0 else first + CLONE * a + offset
        for b in range(-1, m.counts.clones):
            j = row if b < 0 else first + CLONE * b + offset
            P[i, j] += variance


@kernel
def turn_rows(m, at_row, n, c, s):
    """P ← R P Rᵀ for a turn R of the x and y of one block about the vertical."""
    P, x, y = m.covariance, at_row, at_row + 1
    for k in range(n):
        P[x, k], P[y, k] = c * P[x, k] - s * P[y, k], s * P[x, k] + c * P[y, k]
    for k in range(n):
        P[k, x], P[k, y] = c * P[k, x] - s * P[k, y], s * P[k, x] + c * P[k, y]


@inlined
def wrap(angle):
    """Within ±π."""
    return math.atan2(math.sin(angle), math.cos(angle))


@kernel
def heading_rows(m, delay):
    """Yaw at m.then; m.H (1, 15) ← its derivative by the error now.

    Yaw is the direction of f = R e_x in the plane: dψ = θ_z − f_z (f_x θ_x + f_y θ_y) / (f_x² + f_y²).
    """
    w, x, y, z = m.then.quaternion[0], m.then.quaternion[1], m.then.quaternion[2], m.then.quaternion[3]
    fx, fy, fz = 1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z), 2.0 * (x * z - w * y)
    level = max(fx * fx + fy * fy, 1e-9)
    past_jacobian(m, delay)
    fill(m.H, 0.0)
    for c in range(MOTION):
        m.columns[c] = c
        m.H[0, c] = m.J[2, c] - fz * (fx * m.J[0, c] + fy * m.J[1, c]) / level
    return math.atan2(fy, fx)


@kernel
def innovate_heading(m, event, scale):
    """Squared innovation of a heading whose variance is scaled; m.then holds the state of its time."""
    m.residual[0] = wrap(event.yaw - heading_rows(m, age(m, event.time)))
    m.noise[0, 0] = scale * event.covariance[0, 0]
    return innovate(m, 1, MOTION)


@kernel
def measure_heading(m, event):
    """Correct the state by a heading. Where the yaw is unknown the world is turned to it first."""
    if event.time < m.clock.began:
        return
    if not recall(m, event.time):
        m.faults.heading_late += 1
        return
    if yaw_unknown(m):
        turn_world(m, wrap(event.yaw - heading_rows(m, 0.0)), ANY)
        recall(m, event.time)
    square = innovate_heading(m, event, 1.0)
    step = judged(m, m.headings, square, 1)
    m.faults.heading_refused += step != USE
    m.faults.heading_readmitted += step > LEAVE_OUT
    if step == OPEN:
        add_common(m, ROTATION + 2, wrap(event.yaw - heading_rows(m, 0.0)) ** 2)
    if step == WIDEN:
        innovate_heading(m, event, max(square, 1.0))
    if step in (USE, WIDEN):
        commit(m, 1)
        m.clock.headings = m.clock.now
