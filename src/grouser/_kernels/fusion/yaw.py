"""A yaw that is not known: GPS positions that are held until they determine it, and the turn of the whole world.

The error of a turn about gravity is the same at every state (`memory.py`), so all else can be estimated before.
"""

import math

from grouser._compile.jit import kernel
from grouser._kernels.arrays import fill
from grouser._kernels.fusion.delay import clone
from grouser._kernels.fusion.memory import CLONE, HELD, POSITION, ROTATION, VELOCITY
from grouser._kernels.fusion.update import commit_state, core, drop_clone
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
    for i in range(3):
        fix.observed[i] = event.observed[i]
        for j in range(3):
            fix.covariance[i, j] = event.covariance[i, j]
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
    w = 1.0 / max(sigma * sigma, 1e-12)  # the start: x = z = 0, up to the antenna's arm
    mean_x = mean_y = seen_x = seen_y = along = across = spread = 0.0
    total = w
    for turn in range(2):
        if turn == 1:
            mean_x, mean_y, seen_x, seen_y = mean_x / total, mean_y / total, seen_x / total, seen_y / total
            spread = w * (mean_x * mean_x + mean_y * mean_y)
            along = w * (mean_x * seen_x + mean_y * seen_y)
            across = w * (mean_x * seen_y - mean_y * seen_x)
        for k in range(m.counts.held):
            index = held_clone(m, k)
            c, fix, row = m.clones[index], m.fixes[k], core(m) + CLONE * index + 3
            point = add(c.position, 1.0, rotate(c.quaternion, arm))
            P = m.covariance
            drift = 0.5 * (P[row, row] + P[row + 1, row + 1])
            noise = 0.5 * (fix.covariance[0, 0] + fix.covariance[1, 1]) + drift
            weight = 1.0 / max(noise, 1e-12)
            zx, zy = fix.position[0] - m.settings.origin[0], fix.position[1] - m.settings.origin[1]
            if turn == 0:
                total += weight
                mean_x += weight * point[0]
                mean_y += weight * point[1]
                seen_x += weight * zx
                seen_y += weight * zy
            else:
                x, y, zx, zy = point[0] - mean_x, point[1] - mean_y, zx - seen_x, zy - seen_y
                spread += weight * (x * x + y * y)
                along += weight * (x * zx + y * zy)
                across += weight * (x * zy - y * zx)
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
