"""Relative poses, from visual odometry or from standing still, as measurements of the fusion filter."""

import math

from grouser._compile.jit import kernel
from grouser._kernels import rotation
from grouser._kernels.fusion.delay import clone, find_clone
from grouser._kernels.fusion.memory import CLONE, GYRO_BIAS, SAME_TIME, VELOCITY
from grouser._kernels.fusion.slide import watch_pose
from grouser._kernels.fusion.update import accept, commit, core, drop_clone, innovate, refuse_at_start, set_noise
from grouser._kernels.rotation import add, conjugate, dot, product, put, rotate_back, vector


@kernel
def pose_rows(m, first, second, quaternion, position):
    """Residual Log(ẑ⁻¹ z) and H of the relative pose z = T_first⁻¹ T_second between two clones.

    r = Ad(T_second⁻¹)(ξ_second − ξ_first): the noise is in the axes of the second pose. z: quaternion, position.
    """
    a, b, r = m.clones[first], m.clones[second], m.residual
    q_first_second = product(conjugate(a.quaternion), b.quaternion)
    p_first_second = rotate_back(a.quaternion, add(b.position, -1.0, a.position))
    theta = rotation.logarithm(product(conjugate(q_first_second), quaternion))
    put(theta, r, 0)
    moved = rotate_back(q_first_second, add(position, -1.0, p_first_second))
    put(rotation.inverse_left_jacobian(theta, moved), r, 3)
    H = m.H
    rotation.matrix(b.quaternion, m.R)
    for i in range(3):
        axis = rotation.column(m.R, i)
        put(axis, H[i], 0)
        put((0.0, 0.0, 0.0), H[i], 3)
        put(rotation.cross(b.position, axis), H[3 + i], 0)  # row i of −Rᵀ [p]× is (p × R_i)ᵀ
        put(axis, H[3 + i], 3)
    for j in range(6):
        m.columns[j] = core(m) + CLONE * second + j
        m.columns[6 + j] = core(m) + CLONE * first + j
        for i in range(6):
            H[i, 6 + j] = -H[i, j]


@kernel
def measure_pose(m, event):
    """Correct the state by the relative pose of the body from event.start to event.time."""
    clock = m.clock
    if event.start < clock.began:
        return
    if not event.time > event.start:
        m.faults.pose_time += 1
        return
    first = find_clone(m, event.start)
    if first < 0:
        first = clone(m, event.start)
    second = find_clone(m, event.time)
    if second < 0 and first >= 0:
        second = clone(m, event.time)
        first = find_clone(m, event.start)  # another may have been forgotten to make room
    if first < 0 or second < 0 or first == second:
        m.faults.pose_late += 1
        return
    if watch_pose(m, event):
        return
    use_pose(m, event, first, second)
    # Frames are chained: no clone from before this pose's beginning is needed any more, nor the beginning itself.
    c = 0
    while c < m.counts.clones:
        if m.clones[c].time <= event.start + SAME_TIME and c != m.counts.anchor and not m.clones[c].held:
            drop_clone(m, c)
        else:
            c += 1


@kernel
def use_pose(m, event, first, second):
    """Commit a relative pose that passes the gate.

    After refusals for `recover_after` it is admitted with as much noise as it shows while wheels support the state;
    otherwise the velocity is opened.
    """
    clock = m.clock
    square = innovate_pose(m, event, first, second, 1.0)
    if not 0.0 <= square <= m.settings.gate[6]:
        m.poses.refused += 1
        m.faults.pose_refused += 1
        refuse_at_start(m, m.poses)
        if math.isnan(m.poses.since):
            m.poses.since = clock.now
        if square < 0.0 or clock.now - m.poses.since < m.settings.recover_after:
            return
        m.faults.pose_readmitted += 1
        if clock.now - clock.wheels > m.settings.recover_after:
            open_motion(m, event, first, second)
            return
        square = innovate_pose(m, event, first, second, max(square, 1.0))
        if not 0.0 <= square <= m.settings.gate[6]:
            return
    accept(m.poses, square, 6)
    commit(m, 6)
    m.poses.since = math.nan
    clock.poses = clock.now


@kernel
def innovate_pose(m, event, first, second, scale):
    """Squared innovation of a relative pose whose covariance is scaled."""
    pose_rows(m, first, second, event.quaternion, event.position)
    set_noise(m, event.covariance, 6, scale)
    return innovate(m, 6, 12)


@kernel
def open_motion(m, event, first, second):
    """Poses were refused for long and nothing supports the state: open velocity and gyro bias by the residual."""
    pose_rows(m, first, second, event.quaternion, event.position)
    square = (event.time - event.start) ** 2
    turn = vector(m.residual, 0)
    way = vector(m.residual, 3)
    for i in range(3):
        m.covariance[VELOCITY + i, VELOCITY + i] += dot(way, way) / square
        m.covariance[GYRO_BIAS + i, GYRO_BIAS + i] += dot(turn, turn) / square
    m.poses.since = math.nan
