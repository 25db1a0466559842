"""Body velocities along a log, and the pose, its covariance and its sensitivities at the end of an interval of it.

A log gives roll and pitch, so the velocity of a log-driven model depends on neither position nor yaw: velocities of all
samples are found first, and every interval is then one sum of arcs over its samples (`arc.py`). Poses are (x, y, z,
roll, pitch, yaw) and errors (x, y, z, yaw), in the heading frame of the start of the interval.
"""

import math

from grouser._compile.jit import entry, inlined, kernel
from grouser._compile.struct import Struct, array, indices, struct
from grouser._kernels.arrays import copy
from grouser._kernels.contact.geometry import contacts_at
from grouser._kernels.kinematics.jacobian import wheel_jacobians
from grouser._kernels.kinematics.velocity import constrained_velocity
from grouser._kernels.motion.arc import (
    Arc,
    add_outer,
    carry,
    carry_both,
    lean,
    level_axes,
    move_along,
    turn_by_rates,
    velocity_gain,
    yaw_slopes,
)
from grouser._kernels.vehicles.frames import pose_frames


class LogIntegral(Struct):
    """S candidates of a motion model, I intervals of a log of n samples; results of candidate s, interval i: sI + i."""

    time = array("n")  # [s]
    attitude = array("n", 2)  # roll, pitch [rad]
    twist = array("S", "n", 6)  # body velocities (ω, v)
    slope = array("n", 6, "np")  # of the velocity by parameters
    noise = indices("nd")  # noisy components of the velocity
    intensity = array("n")  # of the noise
    length = array(1)  # correlation length of the noise that wanders, in units of ∫ intensity dt; 0: none
    samples = indices("I", 2)  # [low, high) of the unbroken stretch of each interval
    times = array("I", 2)  # when it begins and ends, as the sensor stamps it [s]
    lag = array("S")  # of the sensor [s]
    sensor = array("S", 4)  # its x, y, z, yaw in the body
    pose = array("SI", 6)  # of the sensor at the end
    J = array("SI", 4, "np")  # ∂pose/∂parameters, the convolution integral P (11), L (5.28)
    W = array("SI", "nd", "nd", 4, 4)  # ∫ Γ_a Γ_bᵀ intensity dτ of the noise components, P (17)
    wander = array("SI", "nd", 4, 4)  # of noise that wanders: ∫∫ Γ_a(t) Γ_a(t')ᵀ e^(−|s − s'|/length) ds ds'
    reach = array("SI", "nd", 2, 4)  # covariance of the pose with that noise at the start and the end, per variance
    ends = array("SI", 2, 4)  # velocity of the sensor's pose at start and end, as seen from its heading at the start


class IntegralWork(Struct):
    """Work space of a thread."""

    arc = struct(Arc)
    twist = array(2, 6)  # at the start and the end of a step
    attitude = array(2, 2)
    gain = array(6, 4)
    kept = array(1)  # correlation of noise that wanders with its value at the start of the interval
    R = array(3, 3)
    arm = array(3)
    to_yaw = array(3)


@entry
def log_twists(vehicle, model, angles, q, v, out, s):
    """Body velocity (ω, v) into out (n, 6), T (2.37), for rows of states q and velocities v with their known entries.

    Contacts are at the angles (n, nw) of the wheels, or (1, nw) for all. Returns the smallest rank of the solutions.
    """
    least = model.counts[1]
    for k in range(q.shape[0]):
        pose_frames(vehicle, q[k], s)
        contacts_at(vehicle, angles[min(k, angles.shape[0] - 1)], s)
        wheel_jacobians(vehicle, s)
        copy(v[k], s.v)
        least = min(least, constrained_velocity(vehicle, model, q[k], s))
        copy(s.v, out[k])
    return least


@entry
def superpose(base, slope, coefficients, out, first, last):
    """out (S, n, 6) ← base (n, 6) + slope (n, 6, k) · coefficients (S, k), of samples from first to last."""
    for s in range(out.shape[0]):
        for n in range(first, last):
            for i in range(6):
                total = base[n, i]
                for k in range(coefficients.shape[1]):
                    total += slope[n, i, k] * coefficients[s, k]
                out[s, n, i] = total


@inlined
def next_sample(time, low, high, t):
    """Smallest k of [low, high) with time[k] > t, or high."""
    while low < high:
        middle = (low + high) // 2
        if time[middle] > t:
            high = middle
        else:
            low = middle + 1
    return low


@inlined
def share_of(time, a, b, t):
    """How far t is from sample a to sample b; 0 where they are one."""
    return (t - time[a]) / (time[b] - time[a]) if b > a else 0.0


@inlined
def at_time(log, s, k, low, high, t, twist, attitude):
    """Velocity and attitude at time t, between samples k − 1 and k of the stretch."""
    a, b = max(k - 1, low), min(k, high - 1)
    share = share_of(log.time, a, b, t)
    for i in range(6):
        twist[i] = log.twist[s, a, i] + share * (log.twist[s, b, i] - log.twist[s, a, i])
    for i in range(2):
        attitude[i] = log.attitude[a, i] + share * (log.attitude[b, i] - log.attitude[a, i])


@inlined
def turn_plane(matrix, columns, c, s):
    """Rows x, y of a matrix seen from axes turned by an angle of cosine c, sine s."""
    for j in range(columns):
        x, y = matrix[0, j], matrix[1, j]
        matrix[0, j], matrix[1, j] = c * x + s * y, c * y - s * x


@inlined
def place_sensor(work, attitude, yaw, sensor):
    """Sensor's place relative to the body's origin, in the heading frame of the start, into work.arm; axes into R."""
    R, arm = work.R, work.arm
    level_axes(attitude[0], attitude[1], R)
    for i in range(3):
        arm[i] = R[i, 0] * sensor[0] + R[i, 1] * sensor[1] + R[i, 2] * sensor[2]
    c, s = math.cos(yaw), math.sin(yaw)
    arm[0], arm[1] = c * arm[0] - s * arm[1], s * arm[0] + c * arm[1]


@inlined
def sensor_heading(attitude, mounted):
    """Yaw of a sensor mounted at a yaw on the body, relative to the body's: on a slope the two planes differ."""
    if mounted == 0.0:
        return 0.0
    roll, pitch = attitude[0], attitude[1]
    ahead = math.cos(pitch) * math.cos(mounted) + math.sin(pitch) * math.sin(roll) * math.sin(mounted)
    return math.atan2(math.cos(roll) * math.sin(mounted), ahead)


@inlined
def pose_velocity(work, twist, attitude, yaw, out):
    """(ẋ, ẏ, ż, yaw rate) of the sensor at work.arm; its swing by roll and pitch is left out."""
    R = work.R
    yaw_slopes(attitude[0], attitude[1], work.to_yaw)
    rate = work.to_yaw[1] * twist[1] + work.to_yaw[2] * twist[2]
    for i in range(3):
        out[i] = R[i, 0] * twist[3] + R[i, 1] * twist[4] + R[i, 2] * twist[5]
    c, s = math.cos(yaw), math.sin(yaw)
    x, y = out[0], out[1]
    out[0] = c * x - s * y - rate * work.arm[1]
    out[1] = s * x + c * y + rate * work.arm[0]
    out[3] = rate


@inlined
def carry_all(log, m, dx, dy):
    """Covariance integrals and sensitivities of row m over a displacement."""
    nd = log.noise.size
    for a in range(nd):
        for b in range(nd):
            carry_both(log.W[m, a, b], dx, dy)
    if log.length[0] > 0.0:
        for a in range(nd):
            carry_both(log.wander[m, a], dx, dy)
            carry(log.reach[m, a].T, 2, dx, dy)
    carry(log.J[m], log.J.shape[2], dx, dy)


@inlined
def add_noise(log, m, k, low, high, h, work):
    """Noise of one step of h: W += ∫ Γ Γᵀ intensity dτ, between samples k − 1 and k."""
    nd, gain = log.noise.size, work.gain
    for a in range(nd):
        velocity_gain(work.arc, log.noise[a], gain[a])
    if nd > 0:
        noisy = 0.5 * h * (log.intensity[max(k - 1, low)] + log.intensity[min(k, high - 1)])
        for a in range(nd):
            for b in range(nd):
                add_outer(log.W[m, a, b], noisy, gain[a], gain[b])
        if log.length[0] > 0.0:
            add_wandering(log.wander[m], log.reach[m], noisy, noisy / log.length[0], work)


@inlined
def add_wandering(out, reach, way, u, work):
    """One step, ∫ intensity dt = `way` long, of first-order Gauss–Markov noise; its correlation falls to e⁻ᵘ over it.

    out_a += ∫∫ Γ_a Γ_aᵀ e^(−|s − s'|/length) over the step with itself and with all before it. Of these `reach` (nd, 2,
    4) holds ∫ Γ_a e^(−s'/length) ds' from the start and ∫ Γ_a e^(−(s − s')/length) ds' to the end of what was driven.
    It is exact where Γ is constant over the step.
    """
    gain, keep = work.gain, math.exp(-u)
    past = 1.0 - 0.5 * u + u * u / 6.0  # means over the step of e^(−s), and of e^(−|s − s'|)
    own = 1.0 - u / 3.0 + u * u / 12.0
    if u > 1e-3:
        past = (1.0 - keep) / u
        own = 2.0 * (u - 1.0 + keep) / (u * u)
    for a in range(out.shape[0]):
        add_outer(out[a], past * way, gain[a], reach[a, 1])
        add_outer(out[a], past * way, reach[a, 1], gain[a])
        add_outer(out[a], own * way * way, gain[a], gain[a])
        for i in range(4):
            reach[a, 0, i] += work.kept[0] * past * way * gain[a, i]
            reach[a, 1, i] = keep * reach[a, 1, i] + past * way * gain[a, i]
    work.kept[0] *= keep


@inlined
def add_slopes(log, J, k, low, high, t, end, arc):
    """One step of the convolution integral: J += ∫ Γ ∂u/∂p over [t, end], between samples k − 1 and k."""
    a, b = max(k - 1, low), min(k, high - 1)
    share = share_of(log.time, a, b, 0.5 * (t + end))
    h = end - t
    slope, way = log.slope, arc.way
    for j in range(J.shape[1]):
        yaw = h * (
            arc.to_yaw[1] * (slope[a, 1, j] + share * (slope[b, 1, j] - slope[a, 1, j]))
            + arc.to_yaw[2] * (slope[a, 2, j] + share * (slope[b, 2, j] - slope[a, 2, j]))
        )
        J[0, j] -= 0.5 * arc.step[1] * yaw
        J[1, j] += 0.5 * arc.step[0] * yaw
        J[3, j] += yaw
        for i in range(3):
            v = h * (slope[a, 3 + i, j] + share * (slope[b, 3 + i, j] - slope[a, 3 + i, j]))
            J[0, j] += way[0, i] * v
            J[1, j] += way[1, i] * v
            J[2, j] += way[2, i] * v


@kernel
def integrate(log, s, n, work):
    """Pose of the sensor at the end of interval n for candidate s, with ends, J, W and wander, into row s I + n."""
    m = s * log.times.shape[0] + n
    low, high = log.samples[n, 0], log.samples[n, 1]
    t, t1 = log.times[n, 0] - log.lag[s], log.times[n, 1] - log.lag[s]
    sensor, pose = log.sensor[s], log.pose[m]
    arc, twist, attitude = work.arc, work.twist, work.attitude
    x = y = z = yaw = 0.0
    k = next_sample(log.time, low, high, t)
    at_time(log, s, k, low, high, t, twist[0], attitude[0])
    place_sensor(work, attitude[0], 0.0, sensor)
    x0, y0, z0 = work.arm[0], work.arm[1], work.arm[2]
    pose_velocity(work, twist[0], attitude[0], 0.0, log.ends[m, 0])
    heading = sensor_heading(attitude[0], sensor[3])
    work.kept[0] = 1.0
    while t < t1:
        end = t1
        if k < high and log.time[k] < t1:
            end = log.time[k]
        at_time(log, s, k, low, high, end, twist[1], attitude[1])
        h = end - t
        for i in range(6):
            arc.twist[i] = 0.5 * (twist[0, i] + twist[1, i])
            twist[0, i] = twist[1, i]
        for i in range(2):
            arc.attitude[i] = 0.5 * (attitude[0, i] + attitude[1, i])
            attitude[0, i] = attitude[1, i]
        lean(arc)
        move_along(arc, h, yaw, turn_by_rates(arc, h))
        carry_all(log, m, arc.step[0], arc.step[1])
        add_noise(log, m, k, low, high, h, work)
        if log.J.shape[2] > 0:
            add_slopes(log, log.J[m], k, low, high, t, end, arc)
        x += arc.step[0]
        y += arc.step[1]
        z += arc.step[2]
        yaw += arc.step[3]
        t = end
        k += 1
    place_sensor(work, attitude[0], yaw, sensor)
    pose_velocity(work, twist[0], attitude[0], yaw, log.ends[m, 1])
    # A yaw error at the end also swings the sensor about the body.
    carry_all(log, m, work.arm[0], work.arm[1])
    pose[0] = x + work.arm[0] - x0
    pose[1] = y + work.arm[1] - y0
    pose[2] = z + work.arm[2] - z0
    pose[3], pose[4] = attitude[0, 0], attitude[0, 1]
    pose[5] = yaw + sensor_heading(attitude[0], sensor[3]) - heading
    if heading != 0.0:
        see_from_heading(log, m, math.cos(heading), math.sin(heading))


@inlined
def see_from_heading(log, m, c, s):
    """Row m turned from the body's heading at the start into the sensor's."""
    turn_plane(log.pose[m].reshape(6, 1), 1, c, s)
    turn_plane(log.J[m], log.J.shape[2], c, s)
    turn_plane(log.ends[m].T, 2, c, s)
    for a in range(log.noise.size):
        for b in range(log.noise.size):
            turn_plane(log.W[m, a, b], 4, c, s)
            turn_plane(log.W[m, a, b].T, 4, c, s)
        turn_plane(log.wander[m, a], 4, c, s)
        turn_plane(log.wander[m, a].T, 4, c, s)
        turn_plane(log.reach[m, a].T, 2, c, s)


@entry
def integrate_log(log, work, first, last):
    """Of the S × I rows those from first to last."""
    intervals = log.times.shape[0]
    for m in range(first, last):
        integrate(log, m // intervals, m % intervals, work)


@entry
def dead_reckon(time, attitude, twist, extra, arc, out):
    """Position and yaw (n, 4) from the origin; extra (n − 1, 6) is added to the mean velocity of each step."""
    out[0] = 0.0
    for n in range(1, time.size):
        for i in range(6):
            arc.twist[i] = 0.5 * (twist[n - 1, i] + twist[n, i]) + extra[n - 1, i]
        for i in range(2):
            arc.attitude[i] = 0.5 * (attitude[n - 1, i] + attitude[n, i])
        h = time[n] - time[n - 1]
        lean(arc)
        move_along(arc, h, out[n - 1, 3], turn_by_rates(arc, h))
        for k in range(4):
            out[n, k] = out[n - 1, k] + arc.step[k]
