"""Headings, of a compass or of two antennas, as measurements of the fusion filter."""

import math

from grouser._compile.jit import inlined, kernel
from grouser._kernels.arrays import fill
from grouser._kernels.fusion.delay import past_jacobian, recall
from grouser._kernels.fusion.memory import MOTION, ROTATION, SAME_TIME
from grouser._kernels.fusion.refusal import LEAVE_OUT, OPEN, USE, WIDEN, judged, opened
from grouser._kernels.fusion.update import commit, innovate
from grouser._kernels.fusion.yaw import ANY, add_common, turn_world, yaw_unknown


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
    delay = m.clock.now - event.time
    yaw = heading_rows(m, delay if delay > SAME_TIME else 0.0)
    m.residual[0] = wrap(event.yaw - yaw)
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
        opened(m.headings)
    if step == WIDEN:
        innovate_heading(m, event, max(square, 1.0))
    if step in (USE, WIDEN):
        commit(m, 1)
        m.clock.headings = m.clock.now
