"""What the fusion filter learns from standing still: velocity, biases, level."""

from grouser._compile.jit import kernel
from grouser._kernels.fusion.delay import SAME_TIME, clone_now
from grouser._kernels.fusion.group import matrix
from grouser._kernels.fusion.measure import pose_rows, tally
from grouser._kernels.fusion.memory import (
    ACCELERATION_NOISE,
    ANCHOR,
    COPIES_ROW,
    CORE,
    E_GYRO,
    E_VELOCITY,
    FAULTS,
    FIGURES_ROW,
    GATE,
    GRAVITY,
    GYRO_BIAS,
    GYRO_NOISE,
    NOMINAL_ROW,
    NOW,
    PICKS,
    PLAN_ROW,
    QUATERNION,
    REFUSED,
    STANDSTILL_REFUSED,
    STILL_POSITION_SIGMA,
    STILL_ROTATION_SIGMA,
    STILL_SOURCE,
    STILL_VELOCITY_SIGMA,
    VELOCITY,
)
from grouser._kernels.fusion.update import NOISE, RESIDUAL, ROTATION, ROWS_H, SPARE, commit, drop_clone, innovate


@kernel
def stand_still(memory):
    """Zero velocity, and the pose of when the vehicle came to rest: both hold while it stands.

    The anchored pose does what a zero-rate update does for the gyro's bias, without using the same noise twice.
    """
    t = memory.tallies
    plan = memory.desk[PLAN_ROW]
    desk = memory.desk
    f = memory.desk[FIGURES_ROW]
    if t[ANCHOR] < 0:
        t[ANCHOR] = clone_now(memory)
    sigma = plan[STILL_VELOCITY_SIGMA]
    for i in range(3):
        memory.tallies[PICKS + i] = E_VELOCITY + i
        for j in range(3):
            desk[ROWS_H + i, j] = 1.0 if i == j else 0.0
            desk[NOISE + i, j] = sigma * sigma if i == j else 0.0
        desk[RESIDUAL, i] = -memory.desk[NOMINAL_ROW][VELOCITY + i]
    # ξ_v = δv + v × θ: with v near zero the row is ξ_v alone.
    square = innovate(memory, 3, 3)
    if square < 0.0 or not square <= plan[GATE + 3]:
        refuse_still(memory)
        return
    tally(memory, STILL_SOURCE, square, 3)
    commit(memory, 3)
    if f[NOW] - memory.desk[COPIES_ROW + t[ANCHOR], 0] < SAME_TIME:
        return
    now = clone_now(memory)
    z = desk[SPARE]
    for i in range(7):
        z[i] = 0.0
    z[0] = 1.0
    pose_rows(memory, t[ANCHOR], now, z, 0)
    rotation = plan[STILL_ROTATION_SIGMA]
    position = plan[STILL_POSITION_SIGMA]
    for i in range(6):
        for j in range(6):
            desk[NOISE + i, j] = 0.0
        desk[NOISE + i, i] = rotation * rotation if i < 3 else position * position
    square = innovate(memory, 6, 12)
    if 0.0 <= square <= plan[GATE + 6]:
        tally(memory, STILL_SOURCE, square, 6)
        commit(memory, 6)
        drop_clone(memory, now)
    else:
        drop_clone(memory, now)
        refuse_still(memory)


@kernel
def refuse_still(memory):
    """The state contradicts that it stands: forget the anchor."""
    memory.tallies[REFUSED + STILL_SOURCE] += 1
    memory.tallies[FAULTS + STANDSTILL_REFUSED] += 1
    drop_clone(memory, memory.tallies[ANCHOR])


@kernel
def end_still(memory):
    """The vehicle moves again."""
    if memory.tallies[ANCHOR] >= 0:
        drop_clone(memory, memory.tallies[ANCHOR])


@kernel
def measure_rest(memory, mean, seconds):
    """Alignment at rest: what the accelerometer shows is gravity and its bias, what the gyro shows is its bias.

    mean: (6,) of the samples. f = −Rᵀ g + b_a, so ∂f/∂θ = Rᵀ [−g]×… with f̂ = Rᵀ (0, 0, g).
    """
    desk = memory.desk
    plan = memory.desk[PLAN_ROW]
    x = memory.desk[NOMINAL_ROW]
    g = plan[GRAVITY]
    R = desk[ROTATION : ROTATION + 3]
    matrix(x, QUATERNION, R)
    H = desk[ROWS_H : ROWS_H + 6]
    for c in range(CORE):
        memory.tallies[PICKS + c] = c
        for i in range(6):
            H[i, c] = 0.0
    for i in range(6):
        for j in range(6):
            desk[NOISE + i, j] = 0.0
    for i in range(3):
        H[i, E_GYRO + i] = 1.0
        desk[RESIDUAL, i] = mean[i] - x[GYRO_BIAS + i]
        desk[NOISE + i, i] = plan[GYRO_NOISE] / seconds
        # R_trueᵀ k g = Rᵀ (k − θ × k) g
        H[3 + i, 0] = R[1, i] * g
        H[3 + i, 1] = -R[0, i] * g
        H[3 + i, 12 + i] = 1.0
        desk[RESIDUAL, 3 + i] = mean[3 + i] - R[2, i] * g - x[13 + i]
        desk[NOISE + 3 + i, 3 + i] = plan[ACCELERATION_NOISE] / seconds
    if innovate(memory, 6, CORE) >= 0.0:
        commit(memory, 6)
