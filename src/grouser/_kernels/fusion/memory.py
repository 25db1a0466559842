"""Where the fusion filter keeps its numbers: one set of flat arrays, made once.

State χ = (R, v, p) of the IMU in the world, biases, and slip: what changes within metres, and what lasts. Its error is
right-invariant: χ_true = Exp(ξ) χ with ξ = (θ, ξ_v, ξ_p) in world axes, on the group SE₂(3) (Barrau and Bonnabel
2017); that of biases and slip is true − estimate. A turn of the whole world about gravity, which no sensor here
observes, is then ξ = (0, 0, 1, 0…) at every state: the filter cannot learn it by accident, and every point fixed to
the body shares one and the same ξ.
"""

from grouser._compile.struct import Struct, array, indices

# The estimate, `nominal`
QUATERNION, VELOCITY, POSITION, GYRO_BIAS, ACCELERATION_BIAS, SLIP, LASTING = 0, 4, 7, 10, 13, 16, 19
NOMINAL = 22
# Its error, rows of `spread`
E_ROTATION, E_VELOCITY, E_POSITION, E_GYRO, E_ACCELERATION, E_SLIP, E_LASTING = 0, 3, 6, 9, 12, 15, 18
CORE = 21
CLONE = 6  # error of a cloned pose: rotation, position

# Settings, `plan`
(
    GYRO_NOISE,  # spectral density [rad²/s]
    ACCELERATION_NOISE,  # [m²/s³]
    GYRO_WALK,  # [rad²/s³]
    ACCELERATION_WALK,  # [m²/s⁵]
    GYRO_RANGE,  # [rad/s]
    ACCELERATION_RANGE,  # [m/s²]
    GYRO_LOST,  # spectral density while the gyro tells nothing reliable
    ACCELERATION_LOST,
    SLIP_LENGTH,  # [m]
    SLIP_ARM,  # [m]: rolling speed of a turn on the spot per rad/s
    GRAVITY,  # [m/s²]
    ALIGN,  # [s] at rest before the first estimate
    GAP,  # [s]: a longer step of the IMU is a fault
    WINDOW,  # [s] of the standstill test
    STILL_GYRO,  # variance per axis below which the gyro is quiet
    STILL_ACCELERATION,
    STILL_SPEED,  # [m/s] of the wheels
    STILL_VELOCITY_SIGMA,  # [m/s]
    STILL_POSITION_SIGMA,  # [m]
    STILL_ROTATION_SIGMA,  # [rad]
    DISTRUST_AFTER,  # [s] of refused wheels
    RECOVER_AFTER,  # [s] of refused poses
    MISSING_AFTER,  # [s] without a source
    TILT_SIGMA,  # prior of the alignment
    YAW_SIGMA,
    START_SIGMA,  # [m]
    GYRO_BIAS_SIGMA,
    ACCELERATION_BIAS_SIGMA,
    START_YAW,
    RATE,  # of the IMU [Hz]
    LASTING_LENGTH,  # [m]
) = range(31)
SLIP_SIGMA = 31  # three: [-], [-], [rad/m]
DISTRUST_SIGMA = 34
LEVER_WHEELS = 37  # from the IMU to the point whose velocity the wheels tell, body axes
LEVER_BODY = 40  # from the IMU to the body's origin
GATE = 43  # thresholds for 0…6 rows
LASTING_SIGMA = 50
PLAN = 53

# What changes besides the estimate, `figures`
(
    NOW,
    LAST_SAMPLE,  # time of the newest IMU sample
    SPEED,  # rolling speed the wheels told last
    SPEED_TIME,
    LAST_WHEELS,  # time of the last one used
    LAST_POSE,
    WHEELS_STREAK,  # when the present run of refusals began; NaN if none runs
    POSE_STREAK,
    CALM_SINCE,  # since when distrusted wheels look sound again; NaN if they do not
    LOST_UNTIL,  # the estimate counts as degraded by the IMU until then
    WINDOW_START,
    WINDOW_COUNT,
    WINDOW_WHEELS,
    STEP,  # newest IMU step
    GYRO_IS_LOST,  # 1 while the newest sample of the gyro is saturated or comes after a gap
    ACCELERATION_IS_LOST,
    STEP_GYRO_LOST,  # 1 while the step to the newest sample is without a gyro
    STEP_ACCELERATION_LOST,
    BEGAN,  # time of the first estimate
    WINDOW_ROLLING,  # wheel measurements of the window that say it rolls
) = range(20)
SAMPLE = 20  # IMU sample (6) that stands at NOW
NEWEST = 26  # the newest one
SUM = 32  # sums of the window: 6, then squares: 6
SQUARES = 38
CORRECTION = 44  # all corrections so far as one element of SE₂(3): quaternion, velocity, position
FIGURES = 54

# Whole numbers, `tallies`
READY, CLONES, ANCHOR, DISTRUSTED, PAST_ROWS, PAST_NEXT, WAITING = range(7)
USED, REFUSED, ROWS = 7, 10, 13  # each for wheels, poses, standstill
FAULTS = 16
(
    IMU_NOT_FINITE,
    IMU_BACKWARDS,
    IMU_GAP,
    GYRO_SATURATED,
    ACCELERATION_SATURATED,
    WHEELS_NOT_FINITE,
    WHEELS_LATE,
    WHEELS_REFUSED,
    WHEELS_DISTRUSTED,
    WHEELS_MISSING,
    POSE_NOT_FINITE,
    POSE_LATE,
    POSE_BACKWARDS,
    POSE_REFUSED,
    POSE_READMITTED,
    POSE_MISSING,
    STANDSTILL_REFUSED,
    TOO_EARLY,
    MOVING_START,
    KEYFRAME_LATE,
) = range(20)
N_FAULTS = 20
MOST_CLONES, MOST_PAST = FAULTS + N_FAULTS, FAULTS + N_FAULTS + 1  # sizes
PICKS = FAULTS + N_FAULTS + 2  # columns of H
TALLIES = PICKS + 32

WATCHED, LOOSE = 1, 2  # distrusted wheels: compared only, or used with slip opened wide

# Events
IMU, WHEELS, KEYFRAME, POSE = range(4)
PAYLOAD = 48
WHEEL_SOURCE, POSE_SOURCE, STILL_SOURCE = range(3)


# Rows of the desk that hold what is remembered; those before are scratch (see `fusion_update`).
NOMINAL_ROW, PLAN_ROW, FIGURES_ROW, SQUARES_ROW, WAITING_ROW = 44, 45, 46, 47, 48
MOST_WAITING = 64
COPIES_ROW = WAITING_ROW + MOST_WAITING
MOST_COPIES = 65
PAST_ROW = COPIES_ROW + MOST_COPIES


class FusionMemory(Struct):
    """All that a filter remembers."""

    desk = array("rows", "n")
    """Rows of numbers, (rows, n): scratch; the estimate (22); settings (53); times, sums and newest samples (54); sums
    of squared normalised innovations of wheels, poses, standstill (3); measurements ahead of the IMU, 64 rows of kind,
    time, payload; cloned poses of the body's origin, oldest first: time, quaternion, position (8); and a ring of
    recent estimates before later corrections: time, quaternion, velocity, position, IMU sample (17)."""
    spread = array("n", "n")
    """Covariance of the error of state and clones, (n, n)."""
    tallies = indices("tallies")
    """Whole numbers: counts, sizes, and columns of the rows at hand, (70,)."""
