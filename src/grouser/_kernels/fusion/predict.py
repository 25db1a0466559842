"""Strapdown step of the fusion filter: the estimate moves with the IMU, its covariance with the error's dynamics."""

import math

from grouser._compile.jit import kernel
from grouser._kernels.fusion.group import exponential, matrix, product, series
from grouser._kernels.fusion.memory import (
    ACCELERATION_BIAS,
    ACCELERATION_LOST,
    ACCELERATION_NOISE,
    ACCELERATION_WALK,
    CLONE,
    CLONES,
    CORE,
    DISTRUST_SIGMA,
    DISTRUSTED,
    E_ACCELERATION,
    E_GYRO,
    E_LASTING,
    E_SLIP,
    FIGURES_ROW,
    GRAVITY,
    GYRO_BIAS,
    GYRO_LOST,
    GYRO_NOISE,
    GYRO_WALK,
    LASTING,
    LASTING_LENGTH,
    LASTING_SIGMA,
    LOOSE,
    NOMINAL_ROW,
    NOW,
    PLAN_ROW,
    POSITION,
    QUATERNION,
    RATE,
    SLIP,
    SLIP_LENGTH,
    SLIP_SIGMA,
    SPEED,
    STEP,
    VELOCITY,
)


@kernel
def predict(memory, dt, sample, lost_gyro, lost_acceleration):
    """Move estimate and covariance by dt with the mean IMU sample (6,) [rad/s, m/s²] of the step.

    A lost gyro or accelerometer (saturated, not finite, after a gap) counts with the noise set for that.
    """
    x = memory.desk[NOMINAL_ROW]
    plan = memory.desk[PLAN_ROW]
    work = memory.desk[0]
    g = plan[GRAVITY]
    wx = (sample[0] - x[GYRO_BIAS]) * dt
    wy = (sample[1] - x[GYRO_BIAS + 1]) * dt
    wz = (sample[2] - x[GYRO_BIAS + 2]) * dt
    ax = sample[3] - x[ACCELERATION_BIAS]
    ay = sample[4] - x[ACCELERATION_BIAS + 1]
    az = sample[5] - x[ACCELERATION_BIAS + 2]
    R = memory.desk[1:4]
    # ∫exp and ∬exp of the rotation within the step, applied to the specific force
    a, b, c = series(wx * wx + wy * wy + wz * wz)
    cx = wy * az - wz * ay
    cy = wz * ax - wx * az
    cz = wx * ay - wy * ax
    dx = wy * cz - wz * cy
    dy = wz * cx - wx * cz
    dz = wx * cy - wy * cx
    matrix(x, QUATERNION, R)
    ux = ax + a * cx + b * dx
    uy = ay + a * cy + b * dy
    uz = az + a * cz + b * dz
    sx = 0.5 * ax + b * cx + c * dx
    sy = 0.5 * ay + b * cy + c * dy
    sz = 0.5 * az + b * cz + c * dz
    vx = x[VELOCITY]
    vy = x[VELOCITY + 1]
    vz = x[VELOCITY + 2]
    px = x[POSITION]
    py = x[POSITION + 1]
    pz = x[POSITION + 2]
    square = dt * dt
    x[POSITION] = px + vx * dt + (R[0, 0] * sx + R[0, 1] * sy + R[0, 2] * sz) * square
    x[POSITION + 1] = py + vy * dt + (R[1, 0] * sx + R[1, 1] * sy + R[1, 2] * sz) * square
    x[POSITION + 2] = pz + vz * dt + (R[2, 0] * sx + R[2, 1] * sy + R[2, 2] * sz - 0.5 * g) * square
    x[VELOCITY] = vx + (R[0, 0] * ux + R[0, 1] * uy + R[0, 2] * uz) * dt
    x[VELOCITY + 1] = vy + (R[1, 0] * ux + R[1, 1] * uy + R[1, 2] * uz) * dt
    x[VELOCITY + 2] = vz + (R[2, 0] * ux + R[2, 1] * uy + R[2, 2] * uz - g) * dt
    exponential(0.5 * wx, 0.5 * wy, 0.5 * wz, work, 0)
    product(x, QUATERNION, work, 0, x, QUATERNION)
    matrix(x, QUATERNION, R)  # at the middle of the step, where the linearisation stands
    product(x, QUATERNION, work, 0, x, QUATERNION)
    memory.desk[FIGURES_ROW][NOW] += dt
    vx = 0.5 * (vx + x[VELOCITY])
    vy = 0.5 * (vy + x[VELOCITY + 1])
    vz = 0.5 * (vz + x[VELOCITY + 2])
    px = 0.5 * (px + x[POSITION])
    py = 0.5 * (py + x[POSITION + 1])
    pz = 0.5 * (pz + x[POSITION + 2])
    travelled = memory.desk[FIGURES_ROW][SPEED] * dt
    keep = math.exp(-travelled / plan[SLIP_LENGTH])
    last = math.exp(-travelled / plan[LASTING_LENGTH])
    spread_step(memory, dt, R, vx, vy, vz, px, py, pz, keep, last)
    P = memory.spread
    qg = (plan[GYRO_LOST] if lost_gyro else plan[GYRO_NOISE]) * dt
    qa = (plan[ACCELERATION_LOST] if lost_acceleration else plan[ACCELERATION_NOISE]) * dt
    # Two samples stand for the whole step; where some between them are missing, noise averages less.
    longer = memory.desk[FIGURES_ROW][STEP] * plan[RATE]
    if longer > 1.5:
        qg *= longer * longer
        qa *= longer * longer
    add_noise(P, qg, qa, dt, vx, vy, vz, px, py, pz)
    sigma = DISTRUST_SIGMA if memory.tallies[DISTRUSTED] == LOOSE else SLIP_SIGMA
    for i in range(3):
        P[E_GYRO + i, E_GYRO + i] += plan[GYRO_WALK] * dt
        P[E_ACCELERATION + i, E_ACCELERATION + i] += plan[ACCELERATION_WALK] * dt
        x[SLIP + i] *= keep
        P[E_SLIP + i, E_SLIP + i] += plan[sigma + i] * plan[sigma + i] * (1.0 - keep * keep)
        x[LASTING + i] *= last
        sigma_lasting = plan[LASTING_SIGMA + i]
        P[E_LASTING + i, E_LASTING + i] += sigma_lasting * sigma_lasting * (1.0 - last * last)


@kernel
def spread_step(memory, dt, R, vx, vy, vz, px, py, pz, keep, last):
    """P ← Φ P Φᵀ: rows for all columns, then the same once more on the transposed core. Clones stand."""
    P = memory.spread
    g = memory.desk[PLAN_ROW][GRAVITY]
    n = CORE + CLONE * memory.tallies[CLONES]
    columns = n
    for once in range(2):
        error_step(P, columns, dt, g, R, vx, vy, vz, px, py, pz, keep, last)
        columns = CORE
        if once == 0:
            for i in range(CORE):
                for k in range(i):
                    swapped = P[i, k]
                    P[i, k] = P[k, i]
                    P[k, i] = swapped
    for k in range(CORE, n):
        for i in range(CORE):
            P[k, i] = P[i, k]


@kernel
def error_step(P, columns, dt, g, R, vx, vy, vz, px, py, pz, keep, last):
    """Rows of P ← Φ P of the right-invariant error.

    θ̇ = −R δb_g, ξ̇_v = g × θ − v × R δb_g − R δb_a, ξ̇_p = ξ_v − p × R δb_g; slip decays.
    """
    half = 0.5 * dt * dt
    for k in range(columns):
        t0 = P[0, k]
        t1 = P[1, k]
        b0 = P[E_GYRO, k]
        b1 = P[E_GYRO + 1, k]
        b2 = P[E_GYRO + 2, k]
        a0 = P[E_ACCELERATION, k]
        a1 = P[E_ACCELERATION + 1, k]
        a2 = P[E_ACCELERATION + 2, k]
        r0 = dt * (R[0, 0] * b0 + R[0, 1] * b1 + R[0, 2] * b2)
        r1 = dt * (R[1, 0] * b0 + R[1, 1] * b1 + R[1, 2] * b2)
        r2 = dt * (R[2, 0] * b0 + R[2, 1] * b1 + R[2, 2] * b2)
        f0 = dt * (R[0, 0] * a0 + R[0, 1] * a1 + R[0, 2] * a2)
        f1 = dt * (R[1, 0] * a0 + R[1, 1] * a1 + R[1, 2] * a2)
        f2 = dt * (R[2, 0] * a0 + R[2, 1] * a1 + R[2, 2] * a2)
        v0 = P[3, k]
        v1 = P[4, k]
        v2 = P[5, k]
        P[0, k] = t0 - r0
        P[1, k] = t1 - r1
        P[2, k] -= r2
        P[3, k] = v0 + dt * g * t1 - (vy * r2 - vz * r1) - f0
        P[4, k] = v1 - dt * g * t0 - (vz * r0 - vx * r2) - f1
        P[5, k] = v2 - (vx * r1 - vy * r0) - f2
        P[6, k] += dt * v0 + half * g * t1 - (py * r2 - pz * r1) - 0.5 * dt * f0
        P[7, k] += dt * v1 - half * g * t0 - (pz * r0 - px * r2) - 0.5 * dt * f1
        P[8, k] += dt * v2 - (px * r1 - py * r0) - 0.5 * dt * f2
    for i in range(3):
        for k in range(columns):
            P[E_SLIP + i, k] *= keep
            P[E_LASTING + i, k] *= last


@kernel
def add_noise(P, qg, qa, dt, vx, vy, vz, px, py, pz):
    """White noise of the gyro, qg, and the accelerometer, qa, over a step.

    The gyro's turns the whole error about the origin: G = (I, [v]×, [p]×) R, and R drops out of G Gᵀ.
    """
    for i in range(3):
        P[i, i] += qg
        P[3 + i, 3 + i] += qa
        P[6 + i, 6 + i] += qa * dt * dt / 3.0
        P[3 + i, 6 + i] += 0.5 * dt * qa
        P[6 + i, 3 + i] += 0.5 * dt * qa
    cross_noise(P, 0, 3, qg, vx, vy, vz)
    cross_noise(P, 0, 6, qg, px, py, pz)
    square_noise(P, 3, 3, qg, vx, vy, vz, vx, vy, vz)
    square_noise(P, 6, 6, qg, px, py, pz, px, py, pz)
    square_noise(P, 3, 6, qg, vx, vy, vz, px, py, pz)


@kernel
def cross_noise(P, i, j, q, x, y, z):
    """Block (i, j) += q [u]×ᵀ, and its mirror."""
    P[i, j + 1] += q * z
    P[i, j + 2] -= q * y
    P[i + 1, j] -= q * z
    P[i + 1, j + 2] += q * x
    P[i + 2, j] += q * y
    P[i + 2, j + 1] -= q * x
    P[j + 1, i] += q * z
    P[j + 2, i] -= q * y
    P[j, i + 1] -= q * z
    P[j + 2, i + 1] += q * x
    P[j, i + 2] += q * y
    P[j + 1, i + 2] -= q * x


@kernel
def square_noise(P, i, j, q, ux, uy, uz, wx, wy, wz):
    """Block (i, j) += q [u]× [w]×ᵀ = q ((u·w) I − w uᵀ), and its mirror where it is another block."""
    inner = ux * wx + uy * wy + uz * wz
    P[i, j] += q * (inner - wx * ux)
    P[i, j + 1] -= q * wx * uy
    P[i, j + 2] -= q * wx * uz
    P[i + 1, j] -= q * wy * ux
    P[i + 1, j + 1] += q * (inner - wy * uy)
    P[i + 1, j + 2] -= q * wy * uz
    P[i + 2, j] -= q * wz * ux
    P[i + 2, j + 1] -= q * wz * uy
    P[i + 2, j + 2] += q * (inner - wz * uz)
    if i != j:
        for a in range(3):
            for b in range(3):
                P[j + b, i + a] = P[i + a, j + b]
