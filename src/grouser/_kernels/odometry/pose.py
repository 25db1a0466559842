"""The pose of streaming odometry: one arc along the measured attitude, and its covariance.

Roll and pitch are measured, yaw and position integrate, as in the prediction of logs (`_kernels/motion/arc.py`).
"""

import math

from grouser._compile.jit import inlined, kernel
from grouser._kernels.arrays import copy, fill, inner
from grouser._kernels.motion import arc as step
from grouser._kernels.rotation import add, column, put, set_attitude
from grouser._kernels.rotation import matrix as rotation_of_quaternion


@inlined
def pitch_gives_turn(store):
    """Whether ω_y of the step is that of the measured pitch."""
    steep = abs(math.cos(store.arc.attitude[0])) <= step.STEEPEST
    return store.settings.pitch_measured == 1 and store.memory.gyro == 0 and not steep


@kernel
def advance(store, h):
    """The arc of a step of h [s] to a sample with work.twist and work.attitude."""
    arc, memory, work = store.arc, store.memory, store.work
    for i in range(6):
        arc.twist[i] = 0.5 * (memory.twist[i] + work.twist[i])
    for i in range(2):
        arc.attitude[i] = 0.5 * (memory.attitude[i] + work.attitude[i])
    step.lean(arc)
    if pitch_gives_turn(store):
        turned = step.turn_by_pitch(arc, h, work.attitude[1] - memory.attitude[1])
    else:
        turned = step.turn_by_rates(arc, h)
    step.move_along(arc, h, memory.yaw, turned)


@kernel
def carry_covariance(store, intensity, h):
    """Covariance of (x, y, z, yaw) over the step in store.arc; intensity: of the process noise at its end."""
    arc, memory, settings, work = store.arc, store.memory, store.settings, store.work
    gain, P = work.gain, memory.pose
    step.carry_both(P, arc.step[0], arc.step[1])
    for i in range(6):
        step.velocity_gain(arc, i, gain[i])
    white = 0.5 * h * h * settings.white
    noisy = 0.5 * h * (memory.intensity + intensity)
    for i in range(6):
        for j in range(6):
            q = white * (memory.covariance[i, j] + work.covariance[i, j]) + noisy * settings.noise[i, j]
            if q != 0.0:
                step.add_outer(P, q, gain[i], gain[j])
    fill(memory.cross, 0.0)
    sigma = memory.attitude_sigma
    if sigma > 0.0 and h > 0.0:
        step.attitude_gain(arc, h, gain[6], gain[7])
        if pitch_gives_turn(store):  # slopes of the turn of `turn_by_pitch`
            roll = arc.attitude[0]
            pitched = work.attitude[1] - memory.attitude[1]
            gain[6, 3] = arc.step[3] * math.tan(roll) + arc.to_yaw[2] * math.cos(roll) * pitched
            gain[7, 3] = arc.step[3] * math.tan(arc.attitude[1])
        # Errors that last for a while add up as if fewer were independent.
        variance = sigma * sigma * (1.0 + 2.0 * settings.attitude_time / h)
        for k in range(2):
            for i in range(6):
                slope = 0.5 * h * (memory.lean[k, i] + work.lean[k, i])
                for a in range(4):
                    gain[6 + k, a] += slope * gain[i, a]
            step.add_outer(P, variance, gain[6 + k], gain[6 + k])
            for a in range(4):
                # The error of the last sample is in half of the last step.
                memory.cross[k, a] = 0.5 * variance * gain[6 + k, a]


@kernel
def write_pose(store, out):
    """Take the step in store.arc and write the pose and its covariance into out."""
    memory, work = store.memory, store.work
    put(add(memory.position, 1.0, store.arc.step), memory.position, 0)
    copy(memory.position, out.position)
    memory.yaw += store.arc.step[3]
    out.yaw = memory.yaw
    copy(work.attitude, out.attitude)
    set_attitude(out.quaternion, work.attitude[0], work.attitude[1], memory.yaw)
    R = store.s.R_world_body
    rotation_of_quaternion(out.quaternion, R)
    # δ = M (x, y, z, yaw): rotation Rᵀ e_z δyaw, translation Rᵀ δp.
    M = work.to_body
    for i in range(3):  # the other entries stay zero
        put(column(R, i), M[3 + i], 0)
        M[i, 3] = R[2, i]
    C = out.pose_covariance
    for i in range(6):
        for j in range(6):
            total = 0.0
            for a in range(4):
                for b in range(4):
                    total += M[i, a] * memory.pose[a, b] * M[j, b]
            C[i, j] = total
    # Roll errors turn about the body's x, pitch errors about the y axis before roll.
    axes = work.axes
    axes[0, 0] = 1.0
    axes[1, 1] = math.cos(work.attitude[0])
    axes[1, 2] = -math.sin(work.attitude[0])
    variance = memory.attitude_sigma**2
    for k in range(2):
        for i in range(3):
            for j in range(3):
                C[i, j] += variance * axes[k, i] * axes[k, j]
        for j in range(6):
            total = inner(M[j], memory.cross[k])
            for i in range(3):
                C[i, j] += axes[k, i] * total
                C[j, i] += axes[k, i] * total


@kernel
def keep_sample(store, intensity, time, out):
    """What the next step starts from, and the velocity of the estimate.

    The process noise of a fit enters as the variance of the mean velocity over a step, noise of attitude by its slip.
    """
    memory, work = store.memory, store.work
    variance = memory.attitude_sigma**2
    for i in range(6):
        for j in range(6):
            by_slip = variance * (work.lean[0, i] * work.lean[0, j] + work.lean[1, i] * work.lean[1, j])
            process = store.settings.noise[i, j] * intensity / work.period
            out.twist_covariance[i, j] = work.covariance[i, j] + process + by_slip
            memory.covariance[i, j] = work.covariance[i, j]
        for k in range(2):
            memory.lean[k, i] = work.lean[k, i]
    copy(work.odometry, out.odometry_twist)
    copy(work.twist, out.twist)
    copy(work.twist, memory.twist)
    copy(work.attitude, memory.attitude)
    memory.intensity = intensity
    memory.time = out.time = time
    memory.started = 1
    memory.lost = 0
