"""The pose of streaming odometry: one step on the group along the measured attitude, and its covariance.

Roll and pitch are measured, yaw and position integrate. Velocity and attitude are linear between samples; a step uses
their means and turns on an arc, as the prediction of logs does. The covariance of (x, y, z, yaw) is carried with the
closed transition of P (7): in body axes that is the adjoint of the step.
"""

import math

from grouser._compile.jit import kernel
from grouser._kernels.motion.log_integral import carry_both, level_axes
from grouser._kernels.odometry import slots
from grouser._kernels.rotation import matrix as rotation_of_quaternion
from grouser._kernels.rotation import set_attitude


@kernel
def advance(settings, memory, attitude, twist, h, place):
    """Position and yaw after a step of h to a sample with this twist and attitude, into place.

    place = (x, y, z, yaw, dx, dy, dz, turn, c, s, yaw rate per ω_y, per ω_z, R_heading_body (9)); c, s are of the mean
    yaw, times the chord of the arc.
    """
    roll = 0.5 * (memory[slots.M_ATTITUDE] + attitude[0])
    pitch = 0.5 * (memory[slots.M_ATTITUDE + 1] + attitude[1])
    R = place[12:21].reshape(3, 3)
    level_axes(roll, pitch, R)
    cp = math.cos(pitch)
    if abs(cp) < 1e-6:
        cp = 1e-6
    to_yaw_y = math.sin(roll) / cp
    to_yaw_z = math.cos(roll) / cp
    wy = 0.5 * (memory[slots.M_TWIST + 1] + twist[1])
    wz = 0.5 * (memory[slots.M_TWIST + 2] + twist[2])
    turned = h * (to_yaw_y * wy + to_yaw_z * wz)
    cr = math.cos(roll)
    if settings[slots.PITCHING] > 0.0 and memory[slots.M_GYRO] == 0.0 and abs(cr) > 0.1:
        # ω_y from pitch rate = cos roll ω_y − sin roll ω_z, put into yaw rate = (sin roll ω_y + cos roll ω_z)/cos pitch
        to_yaw_y = 0.0
        to_yaw_z = 1.0 / (cr * cp)
        turned = to_yaw_z * (h * wz + math.sin(roll) * (attitude[1] - memory[slots.M_ATTITUDE + 1]))
    half = 0.5 * turned
    chord = 1.0 - half * half / 6.0
    if abs(half) > 1e-4:
        chord = math.sin(half) / half
    yaw = memory[slots.M_POSITION + 3]
    c = chord * math.cos(yaw + half)
    s = chord * math.sin(yaw + half)
    for i in range(3):
        place[4 + i] = 0.0
    for i in range(3):
        v = h * 0.5 * (memory[slots.M_TWIST + 3 + i] + twist[3 + i])
        place[4] += (c * R[0, i] - s * R[1, i]) * v
        place[5] += (s * R[0, i] + c * R[1, i]) * v
        place[6] += R[2, i] * v
    place[7] = turned
    for i in range(4):
        place[i] = memory[slots.M_POSITION + i] + place[4 + i]
    place[8] = c
    place[9] = s
    place[10] = to_yaw_y
    place[11] = to_yaw_z


@kernel
def carry_covariance(settings, memory, attitude, twist, C, lean, intensity, h, gap, enlarge, place, g):
    """Covariance of (x, y, z, yaw) over the step that `place` holds; g (10, 4) is work space."""
    P = memory[slots.M_POSE : slots.M_POSE + 16].reshape(4, 4)
    R = place[12:21].reshape(3, 3)
    dx = place[4]
    dy = place[5]
    c = place[8]
    s = place[9]
    carry_both(P, dx, dy)
    # Γ of a unit error of each velocity held over the step: a yaw error acts on half of the displacement.
    for i in range(3):
        rate = 0.0
        if i == 1:
            rate = place[10]
        elif i == 2:
            rate = place[11]
        g[i, 0] = -0.5 * dy * rate
        g[i, 1] = 0.5 * dx * rate
        g[i, 2] = 0.0
        g[i, 3] = rate
        g[3 + i, 0] = c * R[0, i] - s * R[1, i]
        g[3 + i, 1] = s * R[0, i] + c * R[1, i]
        g[3 + i, 2] = R[2, i]
        g[3 + i, 3] = 0.0
    noisy = 0.5 * h * (memory[slots.M_SPEED] + intensity)
    for i in range(6):
        for j in range(6):
            k = 6 * i + j
            q = (
                0.5 * h * h * settings[slots.WHITE] * (memory[slots.M_COVARIANCE + k] + C[k])
                + noisy * settings[slots.NOISE + k]
            )
            if q != 0.0:
                for a in range(4):
                    for b in range(4):
                        P[a, b] += q * g[i, a] * g[j, b]
    for i in range(8):
        memory[slots.M_CROSS + i] = 0.0
    sigma = memory[slots.M_ATTITUDE_SIGMA]
    if sigma > 0.0 and h > 0.0:
        attitude_slopes(memory, attitude, twist, c, s, R, h, g)
        # Errors that last for a while add up as if fewer were independent.
        variance = sigma * sigma * (1.0 + 2.0 * settings[slots.ATTITUDE_TIME] / h)
        for k in range(2):
            for a in range(4):
                for i in range(6):
                    slope = 0.5 * (memory[slots.M_LEAN + 6 * k + i] + lean[6 * k + i])
                    g[6 + k, a] += h * slope * g[i, a]
            for a in range(4):
                # The error of the last sample is in half of the last step.
                memory[slots.M_CROSS + 4 * k + a] = 0.5 * variance * g[6 + k, a]
                for b in range(4):
                    P[a, b] += variance * g[6 + k, a] * g[6 + k, b]
    if enlarge > 0.0:
        # With both end velocities known and |acceleration| ≤ a the way in a gap is off by at most a h²/4: uniform.
        off = enlarge * gap * gap / (4.0 * math.sqrt(3.0))
        for a in range(4):
            P[a, a] += off * off


@kernel
def attitude_slopes(memory, attitude, twist, c, s, R, h, g):
    """∂(x, y, z, yaw of the step)/∂roll into g[6], ∂/∂pitch into g[7]."""
    roll = 0.5 * (memory[slots.M_ATTITUDE] + attitude[0])
    pitch = 0.5 * (memory[slots.M_ATTITUDE + 1] + attitude[1])
    vx = 0.5 * h * (memory[slots.M_TWIST + 3] + twist[3])
    vy = 0.5 * h * (memory[slots.M_TWIST + 4] + twist[4])
    vz = 0.5 * h * (memory[slots.M_TWIST + 5] + twist[5])
    wy = 0.5 * h * (memory[slots.M_TWIST + 1] + twist[1])
    wz = 0.5 * h * (memory[slots.M_TWIST + 2] + twist[2])
    sr = math.sin(roll)
    cr = math.cos(roll)
    cp = math.cos(pitch)
    if abs(cp) < 1e-6:
        cp = 1e-6
    tp = math.sin(pitch) / cp
    # An error of roll turns about the body's x, one of pitch about the y axis before roll, (0, cr, −sr) in the body.
    for k in range(2):
        if k == 0:
            ux = 0.0
            uy = -vz
            uz = vy
            turn = (cr * wy - sr * wz) / cp
        else:
            ux = cr * vz + sr * vy
            uy = -sr * vx
            uz = -cr * vx
            turn = (sr * wy + cr * wz) / cp * tp
        x = R[0, 0] * ux + R[0, 1] * uy + R[0, 2] * uz
        y = R[1, 0] * ux + R[1, 1] * uy + R[1, 2] * uz
        g[6 + k, 0] = c * x - s * y
        g[6 + k, 1] = s * x + c * y
        g[6 + k, 2] = R[2, 0] * ux + R[2, 1] * uy + R[2, 2] * uz
        g[6 + k, 3] = turn


@kernel
def write_estimate(settings, memory, attitude, twist, C, lean, intensity, h, gap, enlarge, place, s, out):
    """Take the step and write pose and pose covariance into out."""
    advance(settings, memory, attitude, twist, h, place)
    carry_covariance(
        settings, memory, attitude, twist, C, lean, intensity, h, gap, enlarge, place, place[21:61].reshape(10, 4)
    )
    for i in range(4):
        memory[slots.M_POSITION + i] = place[i]
    q = out[slots.O_QUATERNION : slots.O_QUATERNION + 4]
    yaw = memory[slots.M_POSITION + 3]
    set_attitude(q, attitude[0], attitude[1], yaw)
    for i in range(3):
        out[slots.O_POSITION + i] = memory[slots.M_POSITION + i]
    out[slots.O_YAW] = yaw
    out[slots.O_ATTITUDE] = attitude[0]
    out[slots.O_ATTITUDE + 1] = attitude[1]
    R = s.R_world_body
    rotation_of_quaternion(q, R)
    # δ = M (x, y, z, yaw): rotation Rᵀ e_z δyaw, translation Rᵀ δp; then roll and pitch as they are measured.
    P = memory[slots.M_POSE : slots.M_POSE + 16].reshape(4, 4)
    M = place[21:45].reshape(6, 4)
    for i in range(3):
        for k in range(3):
            M[i, k] = 0.0
            M[3 + i, k] = R[k, i]
        M[i, 3] = R[2, i]
        M[3 + i, 3] = 0.0
    variance = memory[slots.M_ATTITUDE_SIGMA] ** 2
    cr = math.cos(attitude[0])
    sr = math.sin(attitude[0])
    for i in range(6):
        for j in range(6):
            total = 0.0
            for a in range(4):
                for b in range(4):
                    total += M[i, a] * P[a, b] * M[j, b]
            out[slots.O_POSE + 6 * i + j] = total
    # Axes in the body about which errors of roll and pitch turn.
    axes = place[45:51].reshape(2, 3)
    axes[0, 0] = 1.0
    axes[0, 1] = 0.0
    axes[0, 2] = 0.0
    axes[1, 0] = 0.0
    axes[1, 1] = cr
    axes[1, 2] = -sr
    for k in range(2):
        for i in range(3):
            for j in range(3):
                out[slots.O_POSE + 6 * i + j] += variance * axes[k, i] * axes[k, j]
        for j in range(6):
            total = 0.0
            for a in range(4):
                total += M[j, a] * memory[slots.M_CROSS + 4 * k + a]
            for i in range(3):
                out[slots.O_POSE + 6 * i + j] += axes[k, i] * total
                out[slots.O_POSE + 6 * j + i] += axes[k, i] * total
