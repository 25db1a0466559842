"""Body velocities along a log, and the pose, its covariance and its sensitivities at the end of an interval of it.

A log gives roll and pitch, so the velocity of a log-driven model depends on neither position nor yaw: velocities of all
samples are found first, and every interval is then one sum over its samples. Errors of yaw turn what follows, and that
is all that couples them: the transition matrix of a step is closed (P (7)), whatever the model.

Between samples velocity and attitude are linear in time; a step uses their means and turns on an arc, which is exact
where they are constant. Poses are (x, y, z, roll, pitch, yaw) and errors (x, y, z, yaw), in the heading frame of the
start of the interval.
"""

import math

import numpy as np

from grouser._compile.jit import entry, inlined, kernel
from grouser._kernels.contact.geometry import contacts_at
from grouser._kernels.kinematics.jacobian import wheel_jacobians
from grouser._kernels.kinematics.velocity import constrained_velocity
from grouser._kernels.vehicles.frames import pose_frames


@kernel
def sample_twists(vehicle, model, angles, q, v, out, s):
    """Body velocity (ω, v) of each row into out, T (2.37); returns the smallest rank of the solutions."""
    least = model.counts[1]
    for k in range(q.shape[0]):
        pose_frames(vehicle, q[k], s)
        contacts_at(vehicle, angles[min(k, angles.shape[0] - 1)], s)
        wheel_jacobians(vehicle, s)
        for i in range(s.v.size):
            s.v[i] = v[k, i]
        least = min(least, constrained_velocity(vehicle, model, q[k], s))
        for i in range(6):
            out[k, i] = s.v[i]
    return least


@entry
def log_twists(vehicle, model, angles, q, v, out, s):
    """Body velocity (ω, v) into out (n, 6) for rows of states q and velocities v whose known entries are set.

    Contacts are at the angles (n, nw) of the wheels, or (1, nw) for all. Returns the smallest rank of the solutions.
    """
    return sample_twists(vehicle, model, angles, q, v, out, s)


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
def at_time(time, twist, attitude, k, low, high, t, row):
    """Velocity and attitude at time t, between samples k − 1 and k, into row (8,)."""
    a = max(k - 1, low)
    b = min(k, high - 1)
    share = 0.0
    if b > a:
        share = (t - time[a]) / (time[b] - time[a])
    for i in range(6):
        row[i] = twist[a, i] + share * (twist[b, i] - twist[a, i])
    for i in range(2):
        row[6 + i] = attitude[a, i] + share * (attitude[b, i] - attitude[a, i])


@inlined
def level_axes(roll, pitch, R):
    """R = R_y(pitch) R_x(roll): body axes in the heading frame."""
    sr = math.sin(roll)
    cr = math.cos(roll)
    sp = math.sin(pitch)
    cp = math.cos(pitch)
    R[0, 0] = cp
    R[0, 1] = sp * sr
    R[0, 2] = sp * cr
    R[1, 0] = 0.0
    R[1, 1] = cr
    R[1, 2] = -sr
    R[2, 0] = -sp
    R[2, 1] = cp * sr
    R[2, 2] = cp * cr


@inlined
def lever(R, yaw, sensor, out):
    """Sensor's place relative to the body's origin, in the heading frame of the start."""
    x = R[0, 0] * sensor[0] + R[0, 1] * sensor[1] + R[0, 2] * sensor[2]
    y = R[1, 0] * sensor[0] + R[1, 1] * sensor[1] + R[1, 2] * sensor[2]
    c = math.cos(yaw)
    s = math.sin(yaw)
    out[0] = c * x - s * y
    out[1] = s * x + c * y
    out[2] = R[2, 0] * sensor[0] + R[2, 1] * sensor[1] + R[2, 2] * sensor[2]


@inlined
def sensor_heading(row, mounted):
    """Yaw of a sensor mounted at a yaw on the body, relative to the body's: on a slope the two planes differ."""
    if mounted == 0.0:
        return 0.0
    ahead = math.cos(row[7]) * math.cos(mounted) + math.sin(row[7]) * math.sin(row[6]) * math.sin(mounted)
    return math.atan2(math.cos(row[6]) * math.sin(mounted), ahead)


@inlined
def pose_velocity(row, R, yaw, arm_x, arm_y, out):
    """(ẋ, ẏ, ż, yaw rate) of a sensor at an arm from the body's origin; its swing by roll and pitch is left out."""
    cp = math.cos(row[7])
    if abs(cp) < 1e-6:
        cp = 1e-6
    rate = (math.sin(row[6]) * row[1] + math.cos(row[6]) * row[2]) / cp
    x = R[0, 0] * row[3] + R[0, 1] * row[4] + R[0, 2] * row[5]
    y = R[1, 0] * row[3] + R[1, 1] * row[4] + R[1, 2] * row[5]
    c = math.cos(yaw)
    s = math.sin(yaw)
    out[0] = c * x - s * y - rate * arm_y
    out[1] = s * x + c * y + rate * arm_x
    out[2] = R[2, 0] * row[3] + R[2, 1] * row[4] + R[2, 2] * row[5]
    out[3] = rate


@inlined
def carry(matrix, columns, dx, dy):
    """matrix (4, columns) ← Φ matrix with the closed transition of P (7): yaw errors turn a displacement."""
    for j in range(columns):
        matrix[0, j] -= dy * matrix[3, j]
        matrix[1, j] += dx * matrix[3, j]


@inlined
def carry_both(P, dx, dy):
    """P (4, 4) ← Φ P Φᵀ."""
    carry(P, 4, dx, dy)
    for i in range(4):
        P[i, 0] -= dy * P[i, 3]
        P[i, 1] += dx * P[i, 3]


@kernel
def integrate(time, twist, attitude, low, high, t0, t1, sensor, pose, slopes, J, noise, intensity, W, ends, rows, R, g):
    """Pose of the sensor at t1 relative to t0 into pose (6,); samples are [low, high) of one unbroken stretch.

    J (4, np): ∂pose/∂p for velocities with slopes (n, 6, np), the convolution integral P (11), L (5.28).
    W (nd, nd, 4, 4): ∫ Γ_i Γ_jᵀ a dτ of the noise components, P (17), with the intensity a (n,) of the noise.
    ends (2, 4): velocity of the sensor's pose at t0 and t1, as seen from its heading at t0.
    sensor = (x, y, z, yaw) in the body. rows (3, 8), R (3, 3), g (nd, 4) are work space.
    """
    parameters = slopes.shape[2]
    nd = noise.size
    for i in range(4):
        for j in range(parameters):
            J[i, j] = 0.0
        for j in range(4):
            for a in range(nd):
                for b in range(nd):
                    W[a, b, i, j] = 0.0
    x = 0.0
    y = 0.0
    z = 0.0
    yaw = 0.0
    before = rows[0]
    after = rows[1]
    mean = rows[2]
    k = next_sample(time, low, high, t0)
    at_time(time, twist, attitude, k, low, high, t0, before)
    level_axes(before[6], before[7], R)
    lever(R, 0.0, sensor, mean)
    x0 = mean[0]
    y0 = mean[1]
    z0 = mean[2]
    pose_velocity(before, R, 0.0, x0, y0, ends[0])
    heading = sensor_heading(before, sensor[3])
    t = t0
    while t < t1:
        end = t1
        if k < high and time[k] < t1:
            end = time[k]
        at_time(time, twist, attitude, k, low, high, end, after)
        h = end - t
        for i in range(8):
            mean[i] = 0.5 * (before[i] + after[i])
            before[i] = after[i]
        level_axes(mean[6], mean[7], R)
        # Yaw rate of the body's angular velocity, third row of Ω; at a pitch of ±90° yaw has no meaning.
        cp = math.cos(mean[7])
        if abs(cp) < 1e-6:
            cp = 1e-6
        to_yaw_y = math.sin(mean[6]) / cp
        to_yaw_z = math.cos(mean[6]) / cp
        turned = h * (to_yaw_y * mean[1] + to_yaw_z * mean[2])
        half = 0.5 * turned
        chord = 1.0 - half * half / 6.0
        if abs(half) > 1e-4:
            chord = math.sin(half) / half
        c = chord * math.cos(yaw + half)
        s = chord * math.sin(yaw + half)
        dx = 0.0
        dy = 0.0
        dz = 0.0
        for i in range(3):
            v = h * mean[3 + i]
            dx += (c * R[0, i] - s * R[1, i]) * v
            dy += (s * R[0, i] + c * R[1, i]) * v
            dz += R[2, i] * v
        for a in range(nd):
            for b in range(nd):
                carry_both(W[a, b], dx, dy)
        carry(J, parameters, dx, dy)
        # Γ of a unit error of each velocity, held over the step: its yaw error acts on half of the displacement.
        for a in range(nd):
            i = noise[a]
            if i >= 3:
                g[a, 0] = c * R[0, i - 3] - s * R[1, i - 3]
                g[a, 1] = s * R[0, i - 3] + c * R[1, i - 3]
                g[a, 2] = R[2, i - 3]
                g[a, 3] = 0.0
            else:
                rate = 0.0
                if i == 1:
                    rate = to_yaw_y
                elif i == 2:
                    rate = to_yaw_z
                g[a, 0] = -0.5 * dy * rate
                g[a, 1] = 0.5 * dx * rate
                g[a, 2] = 0.0
                g[a, 3] = rate
        if nd > 0:
            noisy = 0.5 * h * (intensity[max(k - 1, low)] + intensity[min(k, high - 1)])
            for a in range(nd):
                for b in range(nd):
                    for i in range(4):
                        for j in range(4):
                            W[a, b, i, j] += noisy * g[a, i] * g[b, j]
        if parameters > 0:
            add_slopes(slopes, time, k, low, high, t, end, c, s, R, to_yaw_y, to_yaw_z, dx, dy, J)
        x += dx
        y += dy
        z += dz
        yaw += turned
        t = end
        k += 1
    level_axes(before[6], before[7], R)
    lever(R, yaw, sensor, mean)
    pose_velocity(before, R, yaw, mean[0], mean[1], ends[1])
    # A yaw error at the end also swings the sensor about the body.
    for a in range(nd):
        for b in range(nd):
            carry_both(W[a, b], mean[0], mean[1])
    carry(J, parameters, mean[0], mean[1])
    x += mean[0] - x0
    y += mean[1] - y0
    c = math.cos(heading)
    s = math.sin(heading)
    pose[0] = c * x + s * y
    pose[1] = c * y - s * x
    pose[2] = z + mean[2] - z0
    pose[3] = before[6]
    pose[4] = before[7]
    pose[5] = yaw + sensor_heading(before, sensor[3]) - heading
    if s != 0.0:
        to_sensor_heading(J, parameters, c, s)
        for i in range(2):
            first = ends[i, 0]
            ends[i, 0] = c * first + s * ends[i, 1]
            ends[i, 1] = c * ends[i, 1] - s * first
        for a in range(nd):
            for b in range(nd):
                to_sensor_heading(W[a, b], 4, c, s)
                P = W[a, b]
                for i in range(4):
                    first = P[i, 0]
                    P[i, 0] = c * first + s * P[i, 1]
                    P[i, 1] = c * P[i, 1] - s * first


@inlined
def to_sensor_heading(matrix, columns, c, s):
    """Rows x, y turned from the body's heading into the sensor's."""
    for j in range(columns):
        first = matrix[0, j]
        matrix[0, j] = c * first + s * matrix[1, j]
        matrix[1, j] = c * matrix[1, j] - s * first


@inlined
def add_slopes(slopes, time, k, low, high, t, end, c, s, R, to_yaw_y, to_yaw_z, dx, dy, J):
    """One step of the convolution integral: J += ∫ Γ ∂u/∂p over [t, end], between samples k − 1 and k."""
    a = max(k - 1, low)
    b = min(k, high - 1)
    share = 0.0
    if b > a:
        share = (0.5 * (t + end) - time[a]) / (time[b] - time[a])
    h = end - t
    for j in range(slopes.shape[2]):
        yaw = h * (
            to_yaw_y * (slopes[a, 1, j] + share * (slopes[b, 1, j] - slopes[a, 1, j]))
            + to_yaw_z * (slopes[a, 2, j] + share * (slopes[b, 2, j] - slopes[a, 2, j]))
        )
        J[0, j] -= 0.5 * dy * yaw
        J[1, j] += 0.5 * dx * yaw
        J[3, j] += yaw
        for i in range(3):
            v = h * (slopes[a, 3 + i, j] + share * (slopes[b, 3 + i, j] - slopes[a, 3 + i, j]))
            J[0, j] += (c * R[0, i] - s * R[1, i]) * v
            J[1, j] += (s * R[0, i] + c * R[1, i]) * v
            J[2, j] += R[2, i] * v


@entry
def integrate_poses(time, twists, attitude, ranges, times, lags, sensors, poses, first, last):
    """Poses (S, I, 6) of I intervals for S candidates: twists (S, n, 6), lags (S,), sensors (S, 4).

    ranges (I, 2): samples of the stretch of each; times (I, 2): when it begins and ends, as the sensor stamps it.
    Of the S × I poses those from first to last.
    """
    intervals = times.shape[0]
    for m in range(first, last):
        c = m // intervals
        i = m % intervals
        integrate(
            time,
            twists[c],
            attitude,
            ranges[i, 0],
            ranges[i, 1],
            times[i, 0] - lags[c],
            times[i, 1] - lags[c],
            sensors[c],
            poses[c, i],
            np.zeros((1, 6, 0)),
            np.zeros((4, 0)),
            np.zeros(0, np.int64),
            np.zeros(1),
            np.zeros((0, 0, 4, 4)),
            np.zeros((2, 4)),
            np.zeros((3, 8)),
            np.zeros((3, 3)),
            np.zeros((0, 4)),
        )


@entry
def integrate_errors(
    time, twist, attitude, ranges, times, lag, sensor, slopes, noise, intensity, poses, J, W, ends, first, last
):
    """Poses (I, 6), Jacobians J (I, 4, np), noise integrals W (I, nd, nd, 4, 4), velocities at the ends (I, 2, 4).

    Of the intervals from first to last.
    """
    for i in range(first, last):
        integrate(
            time,
            twist,
            attitude,
            ranges[i, 0],
            ranges[i, 1],
            times[i, 0] - lag,
            times[i, 1] - lag,
            sensor,
            poses[i],
            slopes,
            J[i],
            noise,
            intensity,
            W[i],
            ends[i],
            np.zeros((3, 8)),
            np.zeros((3, 3)),
            np.zeros((noise.size, 4)),
        )
