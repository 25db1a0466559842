"""Memory of the fusion filter: records and arrays of fixed size, made once.

State χ = (R, v, p) of the IMU in the world, biases, and slip: one part that changes within metres, and one that lasts.
Its error is right-invariant: χ_true = Exp(ξ) χ with ξ = (θ, ξ_v, ξ_p) in world axes, on the group SE₂(3) (Barrau and
Bonnabel 2017); that of biases and slip is true − estimate. A turn of the whole world about gravity, which no sensor
here observes, is then ξ = (0, 0, 1, 0…) at every state: no measurement reduces its variance by a linearisation error,
and every point fixed to the body has the same ξ.
"""

from grouser._compile.struct import Struct, array, indices, integer, record, record_type

# First rows of the blocks of three of the error in `covariance`
ROTATION, VELOCITY, POSITION, GYRO_BIAS, ACCELERATION_BIAS, SLIP, LASTING = 0, 3, 6, 9, 12, 15, 18
MOTION = 15  # Rows of the error of motion and biases; those of slip follow, …
CORE = 21  # … and after all of the present state those of the clones
CLONE = 6  # Rows of the error of a cloned pose: rotation, position
MOST_WAITING = 64  # Measurements ahead of the IMU that are kept, at most
SAME_TIME = 1e-4  # Time stamps closer than this [s] are one

IMU, WHEELS, KEYFRAME, POSE = range(4)  # kinds of events
WATCHED, LOOSE = 1, 2  # distrusted wheels: compared only, or used with a wide prior of slip

SETTINGS = record_type(
    gyro_noise=(),  # spectral density [rad²/s]
    acceleration_noise=(),  # [m²/s³]
    gyro_walk=(),  # [rad²/s³]
    acceleration_walk=(),  # [m²/s⁵]
    gyro_range=(),  # [rad/s]
    acceleration_range=(),  # [m/s²]
    gyro_lost=(),  # spectral density while the gyro is saturated or interrupted [rad²/s]
    acceleration_lost=(),  # [m²/s³]
    rate=(),  # of the IMU [Hz]
    gap=(),  # a longer step of the IMU is a fault [s]
    gravity=(),  # [m/s²]
    lever_wheels=3,  # from the IMU to the point whose velocity the wheels measure, body axes [m]
    lever_body=3,  # from the IMU to the body's origin [m]
    slip=3,  # sigma of slip: forward, left [-], yaw [rad/m]
    slip_length=(),  # [m]
    lasting=3,  # sigma of lasting slip
    lasting_length=(),  # [m]
    distrusted_slip=3,  # sigma of the slip of distrusted wheels
    slip_arm=(),  # rolling speed of a turn on the spot per rad/s [m]
    distrust_after=(),  # [s] of refused wheels
    recover_after=(),  # [s] of refused poses
    missing_after=(),  # [s] without a source
    gate=7,  # thresholds of the squared innovation for 0…6 rows
    window=(),  # duration of the standstill test [s]
    quiet=6,  # variance of the IMU's axes below which it is quiet [rad²/s², m²/s⁴]
    still_speed=(),  # of the wheels [m/s]
    still_velocity=(),  # sigma [m/s]
    still_position=(),  # sigma [m]
    still_rotation=(),  # sigma [rad]
    align=(),  # time at rest before the first estimate [s]
    start=CORE,  # sigma of the first error
    yaw=(),  # at the start [rad]
)
STATE = record_type(quaternion=4, velocity=3, position=3, gyro_bias=3, acceleration_bias=3, slip=3, lasting=3)
NAVIGATION = record_type(quaternion=4, velocity=3, position=3)
PAST = record_type(time=(), quaternion=4, velocity=3, position=3, gyro=3)
CLONED = record_type(time=(), quaternion=4, position=3)
CLOCK = record_type(
    now=(),  # time of the state
    began=(),  # time of the first estimate
    newest=(),  # time of the newest IMU sample
    step=(),  # from the sample before to it
    wheels=(),  # time of the last wheel measurement that was used
    poses=(),  # time of the last relative pose that was used
    wheels_refused=(),  # when the present run of refusals began; NaN if none runs
    poses_refused=(),
    calm=(),  # since when distrusted wheels agree again; NaN if they do not
    imu_lost=(),  # the estimate is degraded by the IMU until then
    rolling_speed=(),  # of the last wheel measurement [m/s]
    rolling_time=(),  # its time
)
READINGS = record_type(
    now=6,  # rates [rad/s] and specific force [m/s²] at clock.now
    newest=6,
    average=6,  # over the present step
    gyro_lost=int,  # the newest sample is saturated or follows a gap
    acceleration_lost=int,
    step_without_gyro=int,  # one of the two samples of the present step is lost
    step_without_acceleration=int,
)
WINDOW = record_type(start=(), samples=int, wheels=int, rolling=int, total=6, squares=6)
COUNTS = record_type(ready=int, clones=int, anchor=int, distrusted=int, past=int, next_past=int, waiting=int)
SOURCE = record_type(used=int, refused=int, rows=int, squares=())
FAULTS = record_type(
    imu_not_finite=int,
    imu_time=int,
    imu_gap=int,
    gyro_saturated=int,
    accelerometer_saturated=int,
    wheels_not_finite=int,
    wheels_late=int,
    wheels_refused=int,
    wheels_distrusted=int,
    wheels_missing=int,
    pose_not_finite=int,
    pose_late=int,
    pose_time=int,
    pose_refused=int,
    pose_readmitted=int,
    poses_missing=int,
    standstill_refused=int,
    too_early=int,
    moving_start=int,
    keyframe_late=int,
)
EVENT = record_type(
    kind=int,
    time=(),
    imu=6,  # rates [rad/s], specific force [m/s²]
    twist=6,  # of the wheels: ω [rad/s], v [m/s]
    observed=6,  # 1 for the entries of the twist that they measure
    start=(),  # time at which a relative pose begins; it ends at `time`
    quaternion=4,
    position=3,
    covariance=(6, 6),  # of the twist, or of the pose: rotation, position
)
ESTIMATE = record_type(
    time=(),
    quaternion=4,
    velocity=3,
    position=3,
    twist=6,
    gyro_bias=3,
    acceleration_bias=3,
    slip=3,
    distrusted=int,
    covariance=(MOTION, MOTION),
    slip_covariance=(3, 3),
    twist_covariance=(6, 6),
)


class FusionMemory(Struct):
    """All that a filter remembers, and its scratch."""

    settings = record(SETTINGS)
    state = record(STATE)
    correction = record(NAVIGATION)  # all corrections so far as one element of SE₂(3)
    clock = record(CLOCK)
    imu = record(READINGS)
    window = record(WINDOW)  # sums of the standstill test
    counts = record(COUNTS)
    faults = record(FAULTS)
    wheels = record(SOURCE)
    poses = record(SOURCE)
    standstill = record(SOURCE)
    covariance = array("n", "n")  # of the error of state and clones
    clones = record(CLONED, "clones")  # poses of the body's origin, oldest first
    past = record(PAST, "past")  # ring of recent states, without the corrections
    waiting = record(EVENT, "waiting")  # measurements ahead of the IMU

    # Scratch
    then = record(PAST)  # state at the time of a measurement
    predicted = array(6)  # measurement that the state predicts
    direction = array(3)  # ∂(rolling speed)/∂ξ_v: direction of travel in world axes
    R = array(3, 3)
    G = array(6, 3)  # how the gyro's noise enters
    J = array(MOTION, MOTION)
    product = array(MOTION, MOTION)
    H = array(6, CORE)
    columns = indices(CORE)  # rows of the covariance that the columns of H belong to
    noise = array(6, 6)
    residual = array(6)
    S = array(6, 6)  # L of the innovation's covariance L Lᵀ = H P Hᵀ + noise
    gain = array(6, "n")  # L⁻¹ H P
    change = array("n")


class Drive(Struct):
    """Events for the filter, and its estimates after every `every`-th sample of the IMU; none for 0."""

    events = record(EVENT, "n")
    every = integer()
    estimates = record(ESTIMATE, "rows")
