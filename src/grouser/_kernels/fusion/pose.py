"""Relative poses, from visual odometry or from standing still, as measurements of the fusion filter."""

import math

from grouser._compile.jit import kernel
from grouser._kernels.fusion.delay import clone, find_clone
from grouser._kernels.fusion.memory import CLONE, CORE, GYRO_BIAS, SAME_TIME, VELOCITY
from grouser._kernels.fusion.update import commit, count_used, drop_clone, innovate
from grouser._kernels.rotation import (
    add,
    column,
    conjugate,
    cross,
    inverse_left_jacobian,
    logarithm,
    matrix,
    product,
    put,
    rotate_back,
)


@kernel
def pose_rows(m, first, second, quaternion, position):
    """Residual Log(ẑ⁻¹ z) and H of the relative pose z = T_first⁻¹ T_second between two clones.

    r = Ad(T_second⁻¹)(ξ_second − ξ_first): the noise is in the axes of the second pose. z: quaternion, position.
    """
    a = m.clones[first]
    b = m.clones[second]
    r = m.residual
    q_first_second = product(conjugate(a.quaternion), b.quaternion)
    p_first_second = rotate_back(a.quaternion, add(b.position, -1.0, a.position))
    theta = logarithm(product(conjugate(q_first_second), quaternion))
    put(theta, r, 0)
    put(inverse_left_jacobian(theta, rotate_back(q_first_second, add(position, -1.0, p_first_second))), r, 3)
    R = m.R
    H = m.H
    matrix(b.quaternion, R)
    for i in range(3):
        swing = cross(b.position, column(R, i))  # row i of −Rᵀ [p]× is (p × R_i)ᵀ
        put(swing, H[3 + i], 0)
        for j in range(3):
            H[i, j] = R[j, i]
            H[i, 3 + j] = 0.0
            H[3 + i, 3 + j] = R[j, i]
    for j in range(6):
        m.columns[j] = CORE + CLONE * second + j
        m.columns[6 + j] = CORE + CLONE * first + j
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
    use_pose(m, event, first, second)
    # Frames are chained: no clone from before this pose's beginning is needed any more, nor the beginning itself.
    c = 0
    while c < m.counts.clones:
        if m.clones[c].time <= event.start + SAME_TIME and c != m.counts.anchor:
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
        if math.isnan(clock.poses_refused):
            clock.poses_refused = clock.now
        if square < 0.0 or clock.now - clock.poses_refused < m.settings.recover_after:
            return
        m.faults.pose_readmitted += 1
        if clock.now - clock.wheels > m.settings.recover_after:
            open_motion(m, event, first, second)
            return
        square = innovate_pose(m, event, first, second, max(square, 1.0))
        if not 0.0 <= square <= m.settings.gate[6]:
            return
    count_used(m.poses, square, 6)
    commit(m, 6)
    clock.poses_refused = math.nan
    clock.poses = clock.now


@kernel
def innovate_pose(m, event, first, second, scale):
    """Squared innovation of a relative pose whose covariance is scaled."""
    pose_rows(m, first, second, event.quaternion, event.position)
    for i in range(6):
        for j in range(i + 1):
            m.noise[i, j] = scale * 0.5 * (event.covariance[i, j] + event.covariance[j, i])
    return innovate(m, 6, 12)


@kernel
def open_motion(m, event, first, second):
    """Poses were refused for long and nothing supports the state: open velocity and gyro bias by the residual."""
    pose_rows(m, first, second, event.quaternion, event.position)
    seconds = event.time - event.start
    r = m.residual
    turn = (r[0] * r[0] + r[1] * r[1] + r[2] * r[2]) / (seconds * seconds)
    speed = (r[3] * r[3] + r[4] * r[4] + r[5] * r[5]) / (seconds * seconds)
    for i in range(3):
        m.covariance[VELOCITY + i, VELOCITY + i] += speed
        m.covariance[GYRO_BIAS + i, GYRO_BIAS + i] += turn
    m.clock.poses_refused = math.nan
