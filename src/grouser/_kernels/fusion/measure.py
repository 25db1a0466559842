"""What wheels, relative poses and standing still say about the state of the fusion filter."""

import math

from grouser._compile.jit import kernel
from grouser._kernels.fusion.delay import SAME_TIME, clone_past, find_clone, recall, rotate
from grouser._kernels.fusion.group import logarithm, matrix, product, series
from grouser._kernels.fusion.memory import (
    ACCELERATION_NOISE,
    ANCHOR,
    BEGAN,
    CLONE,
    CLONES,
    COPIES_ROW,
    CORE,
    DISTRUSTED,
    E_GYRO,
    E_LASTING,
    E_SLIP,
    E_VELOCITY,
    FAULTS,
    FIGURES_ROW,
    GATE,
    GRAVITY,
    GYRO_BIAS,
    GYRO_IS_LOST,
    GYRO_NOISE,
    LAST_POSE,
    LAST_WHEELS,
    LASTING,
    LEVER_WHEELS,
    MOST_CLONES,
    NOMINAL_ROW,
    NOW,
    PICKS,
    PLAN_ROW,
    POSE_BACKWARDS,
    POSE_LATE,
    POSE_READMITTED,
    POSE_REFUSED,
    POSE_SOURCE,
    POSE_STREAK,
    QUATERNION,
    RECOVER_AFTER,
    REFUSED,
    ROWS,
    SAMPLE,
    SLIP,
    SLIP_ARM,
    SPEED,
    SPEED_TIME,
    SQUARES_ROW,
    STEP,
    USED,
    VELOCITY,
    WATCHED,
    WHEEL_SOURCE,
    WHEELS_LATE,
    WHEELS_REFUSED,
    WHEELS_STREAK,
)
from grouser._kernels.fusion.trust import refused_wheels, trust_again
from grouser._kernels.fusion.update import (
    NOISE,
    RESIDUAL,
    ROTATION,
    ROWS_H,
    SPARE,
    WORK,
    commit,
    drop_clone,
    innovate,
)


@kernel
def tally(memory, source, square, rows):
    """Count a measurement that was used."""
    memory.tallies[USED + source] += 1
    memory.tallies[ROWS + source] += rows
    memory.desk[SQUARES_ROW][source] += square


@kernel
def measure_wheels(memory, time, payload):
    """Body velocity from the wheels: (ω, v) in payload[:6], covariance in [6:42], rows they observe in [42:48].

    v_odometry = v − u s at the point the wheels tell about, with the rolling speed u and the slip state s
    (forward, left, yaw): what they miss is a fraction of the speed that changes with the ground, not white noise.
    """
    desk = memory.desk
    f = memory.desk[FIGURES_ROW]
    t = memory.tallies
    plan = memory.desk[PLAN_ROW]
    x = memory.desk[NOMINAL_ROW]
    delay = f[NOW] - time
    then = desk[SPARE]
    if time < f[BEGAN]:
        return
    if delay > SAME_TIME:
        if not recall(memory, time, then):
            t[FAULTS + WHEELS_LATE] += 1
            return
    else:
        delay = 0.0
        for i in range(4):
            then[1 + i] = x[QUATERNION + i]
        for i in range(3):
            then[5 + i] = x[VELOCITY + i]
            then[11 + i] = f[SAMPLE + i]
    R = desk[ROTATION : ROTATION + 3]
    matrix(then, 1, R)
    lx = plan[LEVER_WHEELS]
    ly = plan[LEVER_WHEELS + 1]
    lz = plan[LEVER_WHEELS + 2]
    wx = then[11] - x[GYRO_BIAS]
    wy = then[12] - x[GYRO_BIAS + 1]
    wz = then[13] - x[GYRO_BIAS + 2]
    hat = desk[SPARE + 8]
    rotate(then, 1, then[5], then[6], then[7], -1.0, hat, 3)
    hat[0] = wx
    hat[1] = wy
    hat[2] = wz
    hat[3] += wy * lz - wz * ly
    hat[4] += wz * lx - wx * lz
    hat[5] += wx * ly - wy * lx
    # The rolling speed is the filter's own, not the wheels': their noise in H would drive the slip away.
    arm = plan[SLIP_ARM] * wz
    speed = math.sqrt(hat[3] * hat[3] + hat[4] * hat[4] + arm * arm)
    f[SPEED] = speed
    f[SPEED_TIME] = f[NOW]
    ahead = hat[3] / max(speed, 1e-6)
    left = hat[4] / max(speed, 1e-6)
    hat[2] -= speed * (x[SLIP + 2] + x[LASTING + 2])
    hat[3] -= speed * (x[SLIP] + x[LASTING])
    hat[4] -= speed * (x[SLIP + 1] + x[LASTING + 1])
    wheel_rows(memory, then, delay, speed)
    speed_rows(memory, ahead, left)
    # The gyro's own noise in ω̂ and in ω̂ × lever; a gyro that tells nothing leaves only the velocities, loosely.
    step = max(f[STEP], 1e-3)
    gyro = plan[GYRO_NOISE] / step
    lost = f[GYRO_IS_LOST] != 0.0
    if lost:
        gyro = 1.0
    drift = plan[ACCELERATION_NOISE] * delay
    m = 0
    full = desk[SPARE + 9 : SPARE + 12]
    full[0, 0] = 0.0
    full[0, 1] = -lz
    full[0, 2] = ly
    full[1, 0] = lz
    full[1, 1] = 0.0
    full[1, 2] = -lx
    full[2, 0] = -ly
    full[2, 1] = lx
    full[2, 2] = 0.0
    for i in range(6):
        if payload[42 + i] == 0.0 or (lost and i < 3):
            continue
        if m != i:
            for c in range(CORE):
                desk[ROWS_H + m, c] = desk[ROWS_H + i, c]
        desk[RESIDUAL, m] = payload[i] - hat[i]
        k = 0
        for j in range(i + 1):
            if payload[42 + j] == 0.0 or (lost and j < 3):
                continue
            extra = 0.0
            if i < 3:
                extra = 1.0 if i == j else 0.0
            elif j < 3:
                extra = -full[i - 3, j]
            else:
                for c in range(3):
                    extra += full[i - 3, c] * full[j - 3, c]
            desk[NOISE + m, k] = 0.5 * (payload[6 + 6 * i + j] + payload[6 + 6 * j + i]) + gyro * extra
            if i == j and i >= 3:
                desk[NOISE + m, k] += drift
            k += 1
        m += 1
    if m == 0:
        return
    square = innovate(memory, m, CORE)
    agrees = 0.0 <= square <= plan[GATE + m]
    if t[DISTRUSTED]:
        trust_again(memory, agrees)
        if t[DISTRUSTED] == WATCHED:
            t[REFUSED + WHEEL_SOURCE] += 1
            return
    if not agrees:
        t[REFUSED + WHEEL_SOURCE] += 1
        t[FAULTS + WHEELS_REFUSED] += 1
        refused_wheels(memory)
        return
    tally(memory, WHEEL_SOURCE, square, m)
    commit(memory, m)
    f[WHEELS_STREAK] = math.nan
    f[LAST_WHEELS] = f[NOW]


@kernel
def wheel_rows(memory, then, delay, speed):
    """H (6, 21) of the wheels' velocity on the desk, and its columns."""
    desk = memory.desk
    plan = memory.desk[PLAN_ROW]
    R = desk[ROTATION : ROTATION + 3]
    H = desk[ROWS_H : ROWS_H + 6]
    g = plan[GRAVITY]
    lx = plan[LEVER_WHEELS]
    ly = plan[LEVER_WHEELS + 1]
    lz = plan[LEVER_WHEELS + 2]
    vx = then[5]
    vy = then[6]
    vz = then[7]
    for i in range(6):
        for c in range(CORE):
            H[i, c] = 0.0
    for c in range(CORE):
        memory.tallies[PICKS + c] = c
    for i in range(3):
        H[i, E_GYRO + i] = -1.0
        for j in range(3):
            H[3 + i, E_VELOCITY + j] = R[j, i]
        if delay > 0.0:  # ξ_v then = ξ_v − Δ (g × θ − v × R δb_g − R δb_a)
            H[3 + i, 0] = delay * g * R[1, i]
            H[3 + i, 1] = -delay * g * R[0, i]
            H[3 + i, 12 + i] = delay
            for j in range(3):
                cx = vy * R[2, j] - vz * R[1, j]
                cy = vz * R[0, j] - vx * R[2, j]
                cz = vx * R[1, j] - vy * R[0, j]
                H[3 + i, E_GYRO + j] = delay * (R[0, i] * cx + R[1, i] * cy + R[2, i] * cz)
    H[3, E_GYRO + 1] -= lz
    H[3, E_GYRO + 2] += ly
    H[4, E_GYRO] += lz
    H[4, E_GYRO + 2] -= lx
    H[5, E_GYRO] -= ly
    H[5, E_GYRO + 1] += lx
    H[2, E_SLIP + 2] = -speed
    H[2, E_LASTING + 2] = -speed
    H[3, E_SLIP] = -speed
    H[3, E_LASTING] = -speed
    H[4, E_SLIP + 1] = -speed
    H[4, E_LASTING + 1] = -speed


@kernel
def speed_rows(memory, ahead, left):
    """Add the share of the velocity's error in u s to H: ∂u/∂v is the direction of travel."""
    desk = memory.desk
    x = memory.desk[NOMINAL_ROW]
    R = desk[ROTATION : ROTATION + 3]
    for i in range(3):
        row = desk[ROWS_H + (2 if i == 2 else 3 + i)]
        slip = x[SLIP + i] + x[LASTING + i]
        for j in range(3):
            row[E_VELOCITY + j] -= slip * (ahead * R[j, 0] + left * R[j, 1])


@kernel
def pose_rows(memory, first, second, z, z_at):
    """Residual Log(ẑ⁻¹ z) and H of the relative pose z = T_first⁻¹ T_second between two clones.

    r = Ad(T_second⁻¹)(ξ_second − ξ_first): the noise is in the axes of the second pose. z: quaternion, position.
    """
    desk = memory.desk
    a = memory.desk[COPIES_ROW + first]
    b = memory.desk[COPIES_ROW + second]
    work = desk[WORK]
    r = desk[RESIDUAL]
    # ẑ = T_a⁻¹ T_b, then ẑ⁻¹ z
    work[0] = a[1]
    for i in range(1, 4):
        work[i] = -a[1 + i]
    product(work, 0, b, 1, work, 4)
    rotate(a, 1, b[5] - a[5], b[6] - a[6], b[7] - a[7], -1.0, work, 8)
    for i in range(3):
        work[11 + i] = z[z_at + 4 + i] - work[8 + i]
    rotate(work, 4, work[11], work[12], work[13], -1.0, work, 8)
    for i in range(1, 4):
        work[4 + i] = -work[4 + i]
    product(work, 4, z, z_at, work, 0)
    logarithm(work, 0, r, 0)
    # J⁻¹(θ) of the translation: I − ½[θ]× + k [θ]×²
    x = r[0]
    y = r[1]
    w = r[2]
    square = x * x + y * y + w * w
    p, q, _ = series(square)
    k = 1.0 / 12.0 if square < 1e-6 else (1.0 - 0.5 * (1.0 - square * q) / p) / square
    ux = work[8]
    uy = work[9]
    uz = work[10]
    cx = y * uz - w * uy
    cy = w * ux - x * uz
    cz = x * uy - y * ux
    r[3] = ux - 0.5 * cx + k * (y * cz - w * cy)
    r[4] = uy - 0.5 * cy + k * (w * cx - x * cz)
    r[5] = uz - 0.5 * cz + k * (x * cy - y * cx)
    R = desk[ROTATION : ROTATION + 3]
    matrix(b, 1, R)
    H = desk[ROWS_H : ROWS_H + 6]
    for j in range(6):
        memory.tallies[PICKS + j] = CORE + CLONE * second + j
        memory.tallies[PICKS + 6 + j] = CORE + CLONE * first + j
    for i in range(3):
        for j in range(3):
            H[i, j] = R[j, i]
            H[i, 3 + j] = 0.0
            H[3 + i, 3 + j] = R[j, i]
        # −Rᵀ [p]×, row i
        H[3 + i, 0] = -(R[1, i] * b[7] - R[2, i] * b[6])
        H[3 + i, 1] = -(R[2, i] * b[5] - R[0, i] * b[7])
        H[3 + i, 2] = -(R[0, i] * b[6] - R[1, i] * b[5])
    for i in range(6):
        for j in range(6):
            H[i, 6 + j] = -H[i, j]


@kernel
def open_motion(memory, first, second, payload):
    """Poses were refused for long, and nothing supports the state: velocity and gyro bias may be as wrong as shown."""
    pose_rows(memory, first, second, payload, 2)
    r = memory.desk[RESIDUAL]
    seconds = payload[1] - payload[0]
    turn = (r[0] * r[0] + r[1] * r[1] + r[2] * r[2]) / (seconds * seconds)
    speed = (r[3] * r[3] + r[4] * r[4] + r[5] * r[5]) / (seconds * seconds)
    for i in range(3):
        memory.spread[E_VELOCITY + i, E_VELOCITY + i] += speed
        memory.spread[E_GYRO + i, E_GYRO + i] += turn
    memory.desk[FIGURES_ROW, POSE_STREAK] = math.nan


@kernel
def measure_pose(memory, payload):
    """Relative pose of the body: times from, to, quaternion, position, covariance (36, rotation first)."""
    f = memory.desk[FIGURES_ROW]
    t = memory.tallies
    plan = memory.desk[PLAN_ROW]
    desk = memory.desk
    start = payload[0]
    end = payload[1]
    if start < f[BEGAN]:  # began before the filter
        return
    if not end > start:
        t[FAULTS + POSE_BACKWARDS] += 1
        return
    first = find_clone(memory, start)
    if first < 0:
        first = clone_past(memory, start)
    second = find_clone(memory, end)
    if second < 0 and first >= 0:
        before = t[CLONES]
        second = clone_past(memory, end)
        if before == memory.tallies[MOST_CLONES]:  # room was made by forgetting one
            first = find_clone(memory, start)
    if first < 0 or second < 0 or first == second:
        t[FAULTS + POSE_LATE] += 1
        return
    scale = 1.0
    for attempt in range(2):
        pose_rows(memory, first, second, payload, 2)
        for i in range(6):
            for j in range(i + 1):
                desk[NOISE + i, j] = scale * 0.5 * (payload[9 + 6 * i + j] + payload[9 + 6 * j + i])
        square = innovate(memory, 6, 12)
        if 0.0 <= square <= plan[GATE + 6]:
            tally(memory, POSE_SOURCE, square, 6)
            commit(memory, 6)
            f[POSE_STREAK] = math.nan
            f[LAST_POSE] = f[NOW]
            break
        if attempt == 0:
            t[REFUSED + POSE_SOURCE] += 1
            t[FAULTS + POSE_REFUSED] += 1
            if math.isnan(f[POSE_STREAK]):
                f[POSE_STREAK] = f[NOW]
            if square < 0.0 or f[NOW] - f[POSE_STREAK] < plan[RECOVER_AFTER]:
                break
            t[FAULTS + POSE_READMITTED] += 1
            if f[NOW] - f[LAST_WHEELS] > plan[RECOVER_AFTER]:
                open_motion(memory, first, second, payload)
                break
            scale = max(square, 1.0)  # the wheels support the state: let it in with as much noise as it shows
    # Frames are chained, so no clone from before this one's beginning is needed any more, nor the beginning itself.
    c = 0
    while c < t[CLONES]:
        if memory.desk[COPIES_ROW + c, 0] <= start + SAME_TIME and c != t[ANCHOR]:
            drop_clone(memory, c)
        else:
            c += 1
