"""GPS positions as measurements of the fusion filter.

While the yaw is unknown they cannot be linearised: they are held, with clones of the pose at their times, until the
displacement between them determines the yaw (`yaw.py`).
"""

import math

from grouser._compile.jit import inlined, kernel
from grouser._kernels import rotation
from grouser._kernels.arrays import fill, inner
from grouser._kernels.fusion.delay import past_jacobian, recall
from grouser._kernels.fusion.memory import CLONE, MOTION, POSITION, ROTATION
from grouser._kernels.fusion.slide import add_to_spans, at_rest, forget_past, open_slide
from grouser._kernels.fusion.update import LEAVE_OUT, OPEN, USE, WIDEN, accept, age, commit, core, innovate, judged
from grouser._kernels.fusion.yaw import add_common, drop_held, find_yaw, held_clone, hold_fix, yaw_unknown
from grouser._kernels.rotation import add, cross, rotate

LONGEST = 10.0  # Duration of a slide [s] that its velocity is derived from, at most
MOST_YAW = 0.2  # Sigma that a contradiction of GPS adds to the yaw [rad], at most


@kernel
def measure_gps(m, event):
    """Correct the state by a position of the antenna in the world."""
    if event.time < m.clock.began:
        return
    if yaw_unknown(m):
        hold_fix(m, event)
        if not find_yaw(m):
            return
    if m.counts.held > 0:
        use_held(m)
    elif not recall(m, event.time):
        m.faults.gps_late += 1
    elif not at_rest(m, event.time) or not slides(m, event):
        use_position(m, event)


@kernel
def position_rows(m, delay):
    """m.predicted ← position of the antenna at m.then; m.H (3, 15) ← its derivative by the error now.

    A point x fixed to the body has the error ξ_p − x × θ of its time.
    """
    point = add(m.then.position, 1.0, rotate(m.then.quaternion, m.settings.lever_antenna))
    past_jacobian(m, delay)
    fill(m.H, 0.0)
    for c in range(MOTION):
        m.columns[c] = c
        turned = cross(point, (m.J[0, c], m.J[1, c], m.J[2, c]))
        for i in range(3):
            m.H[i, c] = m.J[3 + i, c] - turned[i]
    for i in range(3):
        m.predicted[i] = point[i]


@kernel
def clone_position_rows(m, index):
    """As `position_rows`, for the antenna at the time of a clone: m.H (3, 6)."""
    c = m.clones[index]
    arm = add(m.settings.lever_antenna, -1.0, m.settings.lever_body)
    point = add(c.position, 1.0, rotate(c.quaternion, arm))
    fill(m.H, 0.0)
    rotation.skew((-point[0], -point[1], -point[2]), m.H[0:3, 0:3])
    for i in range(3):
        m.H[i, 3 + i] = 1.0
        m.predicted[i] = point[i]
    for j in range(CLONE):
        m.columns[j] = core(m) + CLONE * index + j


@inlined
def position_residual(m, fix):
    """Residuals of the observed axes of a position into m.residual; their number and the sum of their squares."""
    rows = 0
    for i in range(3):
        if fix.observed[i] != 0.0:
            m.residual[rows] = fix.position[i] - m.settings.origin[i] - m.predicted[i]
            rows += 1
    return rows, inner(m.residual[:rows], m.residual)


@kernel
def innovate_position(m, fix, count, scale):
    """Squared innovation of the observed axes of a position, with m.H (3, count), and their number.

    Rows of H move to the front: fill it again before another call.
    """
    position_residual(m, fix)
    rows = 0
    for i in range(3):
        if fix.observed[i] == 0.0:
            continue
        if i != rows:
            for c in range(count):
                m.H[rows, c] = m.H[i, c]
        k = 0
        for j in range(i + 1):
            if fix.observed[j] != 0.0:
                m.noise[rows, k] = scale * 0.5 * (fix.covariance[i, j] + fix.covariance[j, i])
                k += 1
        rows += 1
    return innovate(m, rows, count), rows


@kernel
def innovate_late(m, event, scale):
    """Squared innovation of a position whose covariance is scaled, and its rows; m.then has the state of its time."""
    position_rows(m, age(m, event.time))
    return innovate_position(m, event, MOTION, scale)


@kernel
def use_position(m, event):
    """Commit a position that passes the gate."""
    square, rows = innovate_late(m, event, 1.0)
    step = judged(m, m.gps, square, rows)
    m.faults.gps_refused += step != USE
    m.faults.gps_readmitted += step > LEAVE_OUT
    if step == OPEN:
        open_position(m, event)
    if step == WIDEN:
        innovate_late(m, event, max(square, 1.0))
    if step in (USE, WIDEN):
        commit(m, rows)
        m.clock.gps = m.clock.now


@kernel
def open_position(m, event):
    """The state contradicts GPS for long: enlarge the covariance of position and yaw by the residual."""
    _, square = position_residual(m, event)
    row = 0
    for i in range(3):
        if event.observed[i] != 0.0:
            add_common(m, POSITION + i, m.residual[row] ** 2)
            row += 1
    distance = m.predicted[0] ** 2 + m.predicted[1] ** 2
    add_common(m, ROTATION + 2, min(square / max(distance, 1e-6), MOST_YAW**2))


@kernel
def slides(m, event):
    """Whether the innovations since the vehicle came to rest show a slide, which then begins.

    Position and velocity are opened by the innovation, so that the next positions determine them.
    """
    clock = m.clock
    _, rows = innovate_late(m, event, 1.0)
    for i in range(rows):
        for j in range(i + 1):
            m.noise[i, j] = inner(m.S[i, : j + 1], m.S[j])  # m.S holds L of S = L Lᵀ
    _, square = position_residual(m, event)
    rested = clock.rested
    seconds = max(event.time - max(clock.gps, rested), 0.0)
    if add_to_spans(m, m.gps_spans, rows, seconds, m.settings.slide_gate[rows]) < 0:
        return False
    lasted = min(max(clock.now - rested, 1.0), LONGEST)
    open_slide(m, square / lasted**2, 0.0)
    for i in range(3):
        m.covariance[POSITION + i, POSITION + i] += square
    clock.slide_speed = math.sqrt(square) / lasted
    forget_past(m)
    return True


@kernel
def use_held(m):
    """Use the held positions, now that the yaw is known well enough to linearise them, and drop their clones."""
    for k in range(m.counts.held - 1, -1, -1):  # the last is the farthest and leaves the yaw least to linearise
        clone_position_rows(m, held_clone(m, k))
        square, rows = innovate_position(m, m.fixes[k], CLONE, 1.0)
        if 0.0 <= square <= m.settings.gate[rows]:
            accept(m.gps, square, rows)
            commit(m, rows)
            m.clock.gps = m.clock.now
        else:
            m.gps.refused += 1
            m.faults.gps_refused += 1
    drop_held(m)
