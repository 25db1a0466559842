"""The pose of streaming odometry: one arc along the measured attitude, and its covariance.

Roll and pitch are measured, yaw and position integrate, as in the prediction of logs (`_kernels/motion/arc.py`).
"""

import math

from grouser._compile.jit import inlined, kernel
from grouser._kernels.arrays import add_congruence, add_outer, copy, copy_rows, fill, inner
from grouser._kernels.motion import arc as step
from grouser._kernels.rotation import add, column, put, set_attitude
from grouser._kernels.rotation import matrix as rotation_of_quaternion

LEAST_SPEED = 0.01  # Under which contact angles do not change [m/s]
SMOOTHING = 0.125  # Way over which the bend of the ground is smoothed, part of the vehicle's length
LEAST_LENGTH = 0.05  # Of it [m]
KEPT = 0.7  # Way after which the height over uneven ground has returned to zero, part of the vehicle's length
RISE = 1.2 * 4.0 / math.sqrt(120.0)
"""See `carry_lever`: Δ is 2 a times the bend, for wheels at ±a, and l is 2 a; a fifth more for slopes that overlap."""
RISE_ESTIMATED, SURE_ESTIMATED = 0.5 * RISE, 0.14  # With estimated contact angles, by simulation of ramps
LIKELY, SURE = 1.3, 0.18
"""Mean of ψ² over that by the smoothed bend, and its one sigma, a part of it.

1 on smooth hills; 4/3 by 8/7, which is lost by smoothing, where the slope changes at once.
"""


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
    if h > 0.0 and pitch_gives_turn(store):  # the first attitude is no change of attitude
        turned = step.turn_by_pitch(arc, h, work.attitude[1] - memory.attitude[1])
    else:
        turned = step.turn_by_rates(arc, h)
    if h > 0.0:
        turn_over_wheels(store, h, turned)
    step.move_along(arc, h, memory.yaw, turned)


@inlined
def turn_over_wheels(store, h, turned):
    """Change the mean velocity to that of a body whose attitude turns as measured, not as contacts were assumed.

    Body rates are those of roll, pitch and yaw, T (A.9), so the way adds up to the change of attitude; on ground that
    bends the way is shorter than the wheels' by the mean of ψ²/2.
    """
    arc, memory, work, response = store.arc, store.memory, store.work, store.response
    fill(work.turned, 0.0)
    if work.lever == 0:
        return
    roll, pitch = arc.attitude[0], arc.attitude[1]
    sr, cr = math.sin(roll), math.cos(roll)
    work.turned[0] = work.attitude[0] - memory.attitude[0] - turned * math.sin(pitch)
    work.turned[1] = (work.attitude[1] - memory.attitude[1]) * cr + turned * sr * math.cos(pitch)
    for j in range(3, 6):
        if store.settings.contacts_known == 0:
            arc.twist[j] *= 1.0 - memory.shortening
        for i in range(2):
            arc.twist[j] += response[i, j] * (work.turned[i] / h - arc.twist[i])


@kernel
def carry_covariance(store, intensity, h):
    """Covariance of (x, y, z, yaw) over the step in store.arc; intensity: of the process noise at its end."""
    arc, memory, settings, work = store.arc, store.memory, store.settings, store.work
    gain, P = work.gain, memory.pose
    step.carry_both(P, arc.step[0], arc.step[1])
    for i in range(6):
        step.velocity_gain(arc, i, gain[i])
    if work.lever == 1:
        for i in range(2):  # attitude gives the way by these turn rates: their errors make none
            for j in range(3, 6):
                for a in range(4):
                    gain[i, a] -= store.response[i, j] * gain[j, a]
    white = 0.5 * h * h * settings.white
    # Contact angles stay wrong over the vehicle's length.
    lasting = 0.5 * h * (h + 2.0 * settings.span / max(work.speed, LEAST_SPEED))
    noisy = 0.5 * h * (memory.intensity + intensity)
    for i in range(6):
        for j in range(6):
            q = white * (memory.covariance[i, j] + work.covariance[i, j]) + noisy * settings.noise[i, j]
            q += lasting * (memory.lasting[i, j] + work.lasting[i, j])
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
    if work.lever == 1 and h > 0.0:
        carry_lever(store, h)
    for k in range(2):
        for a in range(4):
            memory.cross[k, a] += sigma * sigma * memory.lever[k, a]


@kernel
def carry_lever(store, h):
    """Slopes of the way over the wheels by attitude, and what uneven ground adds, after a step.

    The way over the wheels adds up to the change of attitude, so its error is that of the first and of the last one.
    On uneven ground the mean height of the wheels, at the ends of the vehicle, differs from that along it. Where the
    ground's slope changes at once, by Δ over the length l, the difference rises to Δ l/8 and falls back, rms Δ l/√120;
    on a smooth hill it is Δ l/12. Δ is the turning of the body along its length.
    """
    arc, memory, settings, work = store.arc, store.memory, store.settings, store.work
    gain, lever, bend = work.gain, memory.lever, memory.bend
    for k in range(2):
        share = math.cos(arc.attitude[0]) if k == 1 else 1.0
        for a in range(4):
            lever[k, a] = 0.0
            for j in range(3):
                lever[k, a] += share * store.response[k, 3 + j] * gain[3 + j, a]
        if memory.levers == 0:
            step.add_outer(memory.pose, memory.attitude_sigma**2, lever[k], lever[k])
    memory.levers = 1
    way = h * math.sqrt(inner(arc.twist[3:], arc.twist[3:]))
    assumed = settings.contacts_known == 0
    unsure = SURE if assumed else SURE_ESTIMATED
    for a in range(4):
        for j in range(3, 6):
            memory.steady[a] += unsure * memory.shortening * h * arc.twist[j] * gain[j, a]
    length = max(SMOOTHING * settings.span, LEAST_LENGTH)
    if way > 0.0:
        share = -math.expm1(-way / length)
        noise = (memory.attitude_sigma / length) ** 2
        memory.shortening = 0.0
        for i in range(2):
            bend[i] += share * (work.turned[i] / way - bend[i])
            square = max(bend[i] ** 2 - noise, 0.0)
            memory.shortening += 0.5 * LIKELY * work.uneven[i] * square
        kept = memory.rise * math.exp(-way * SMOOTHING / (KEPT * length))
        rise = RISE if assumed else RISE_ESTIMATED
        memory.rise = max(rise * work.uneven[1] * math.sqrt(square), kept)
        memory.climb = math.sqrt(work.uneven[1] * square)


@kernel
def whole_covariance(store):
    """Covariance of (x, y, z, yaw) with the parts that do not accumulate, into work.pose."""
    memory, work = store.memory, store.work
    copy_rows(memory.pose, work.pose)
    add_outer(1.0, memory.steady, memory.steady, work.pose)
    add_outer(memory.rise**2, work.gain[5], work.gain[5], work.pose)
    for k in range(2):
        add_outer(memory.attitude_sigma**2, memory.lever[k], memory.lever[k], work.pose)


@kernel
def write_pose(store, out):
    """Take the step in store.arc and write the pose and its covariance into out."""
    memory, work = store.memory, store.work
    put(add(memory.position, 1.0, store.arc.step), memory.position, 0)
    copy(memory.position, out.position)
    whole_covariance(store)
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
    fill(C, 0.0)
    add_congruence(M, work.pose, C)
    # Roll errors turn about the body's x, pitch errors about the y axis before roll.
    axes = work.axes
    axes[0, 0] = 1.0
    axes[1, 1] = math.cos(work.attitude[0])
    axes[1, 2] = -math.sin(work.attitude[0])
    variance = memory.attitude_sigma**2
    for k in range(2):
        add_outer(variance, axes[k], axes[k], C[:3, :3])
        for j in range(6):
            total = inner(M[j], memory.cross[k])
            for i in range(3):
                C[i, j] += axes[k, i] * total
                C[j, i] += axes[k, i] * total


@kernel
def keep_sample(store, intensity, time, out):
    """Memory for the next step, and the velocity of the estimate.

    The process noise of a fit enters as the variance of the mean velocity over a step, noise of attitude by its slip.
    """
    memory, work = store.memory, store.work
    variance = memory.attitude_sigma**2
    for i in range(6):
        for j in range(6):
            by_slip = variance * (work.lean[0, i] * work.lean[0, j] + work.lean[1, i] * work.lean[1, j])
            process = store.settings.noise[i, j] * intensity / work.period
            out.twist_covariance[i, j] = work.whole[i, j] + process + by_slip
    copy_rows(work.covariance, memory.covariance)
    copy_rows(work.lasting, memory.lasting)
    copy_rows(work.lean, memory.lean)
    copy(work.odometry, out.odometry_twist)
    copy(work.twist, out.twist)
    copy(work.twist, memory.twist)
    copy(work.attitude, memory.attitude)
    memory.intensity = intensity
    memory.time = out.time = time
    memory.started = 1
    memory.lost = 0
