"""Memory of the fusion filter: records and arrays of fixed size, made once.

State χ = (R, v, p) of the IMU in the world, biases, and slip: one part that changes within metres, and one that lasts.
Its error is right-invariant: χ_true = Exp(ξ) χ with ξ = (θ, ξ_v, ξ_p) in world axes, on the group SE₂(3) (Barrau and
Bonnabel 2017); that of biases and slip is true − estimate. A turn of the whole world about gravity, which no sensor
here observes, is then ξ = (0, 0, 1, 0…) at every state: no measurement reduces its variance by a linearisation error,
and every point fixed to the body has the same ξ.
"""

from grouser._compile.struct import Struct, array, block, indices, integer, record, record_type

# First rows of the blocks of three of the error in `covariance`
ROTATION, VELOCITY, POSITION, GYRO_BIAS, ACCELERATION_BIAS, SLIP, LASTING = 0, 3, 6, 9, 12, 15, 18
MOTION = 15  # Rows of the error of motion and biases; those of slip follow, …
CORE = 21  # … and after all of the present state those of the clones
CLONE = 6  # Rows of the error of a cloned pose: rotation, position
MOST_WAITING = 64  # Measurements ahead of the IMU that are kept, at most
SAME_TIME = 1e-4  # Time stamps closer than this [s] are one

IMU, WHEELS, KEYFRAME, POSE = range(4)  # kinds of events
WATCHED, LOOSE = 1, 2  # distrusted wheels: compared only, or used with a wide prior of slip

AS_GIVEN = (
    *("rate", "gap", "gravity", "slip_length", "lasting_length", "slip_arm", "still_speed", "align"),
    *("distrust_after", "recover_after", "missing_after"),
)
"""Settings that are those of `FusionSettings`, unchanged."""
SETTINGS = record_type(
    gyro_noise=(),  # spectral density [rad²/s]
    acceleration_noise=(),  # [m²/s³]
    gyro_walk=(),  # [rad²/s³]
    acceleration_walk=(),  # [m²/s⁵]
    gyro_range=(),  # [rad/s]
    acceleration_range=(),  # [m/s²]
    gyro_lost=(),  # spectral density while the gyro is saturated or interrupted [rad²/s]
    acceleration_lost=(),  # [m²/s³]
    lever_wheels=3,  # from the IMU to the point whose velocity the wheels measure, body axes [m]
    lever_body=3,  # from the IMU to the body's origin [m]
    slip=3,  # sigma of slip: forward, left [-], yaw [rad/m]
    lasting=3,  # sigma of lasting slip
    distrusted_slip=3,  # sigma of the slip of distrusted wheels
    gate=7,  # thresholds of the squared innovation for 0…6 rows
    window=(),  # duration of the standstill test [s]
    quiet=6,  # variance of the IMU's axes below which it is quiet [rad²/s², m²/s⁴]
    still_velocity=(),  # sigma [m/s]
    still_position=(),  # sigma [m]
    still_rotation=(),  # sigma [rad]
    start=CORE,  # sigma of the first error
    yaw=(),  # at the start [rad]
    **dict.fromkeys(AS_GIVEN, ()),
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
FAULTS = {
    "imu_not_finite": "an IMU sample is not finite and is left out",
    "imu_time": "an IMU sample is not later than the one before and is left out",
    "imu_gap": "the IMU was silent; the motion between is extrapolated with large noise",
    "gyro_saturated": "the gyro is at the end of its range and counts with large noise",
    "accelerometer_saturated": "the accelerometer is at the end of its range and counts with large noise",
    "wheels_not_finite": "a wheel measurement is not finite and is left out",
    "wheels_late": "a wheel measurement is older than the history and is left out",
    "wheels_refused": "a wheel measurement contradicts the estimate and is left out",
    "wheels_distrusted": "the wheels contradict the other sensors for long and are distrusted",
    "wheels_missing": "no wheel measurement was used for some time; the covariance grows",
    "pose_not_finite": "a relative pose is not finite and is left out",
    "pose_late": "a relative pose begins or ends before the clones and the history; left out",
    "pose_time": "a relative pose does not end after its beginning and is left out",
    "pose_refused": "a relative pose contradicts the estimate and is left out",
    "pose_readmitted": "poses were refused for long; the state is opened, or they count with the noise they show",
    "poses_missing": "no relative pose was used for some time; the covariance grows",
    "standstill_refused": "wheels and IMU are quiet but the estimate moves; left out",
    "too_early": "a measurement is further ahead of the IMU than it can be, and is left out",
    "moving_start": "the vehicle moved during alignment; it begins with large covariance",
    "keyframe_late": "a key frame is older than the history and is left out",
}
"""Kind → what is wrong and what is done about it; each is counted."""
FAULT_COUNTS = record_type(**dict.fromkeys(FAULTS, int))
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
    time=(), quaternion=4, velocity=3, position=3, twist=6, gyro_bias=3, acceleration_bias=3, slip=3, distrusted=int,
    covariance=(MOTION, MOTION), slip_covariance=(3, 3), twist_covariance=(6, 6),
)  # fmt: skip


class FusionMemory(Struct):
    """All that a filter remembers, and its scratch."""

    everything = block()
    settings = record(SETTINGS)
    state = record(STATE)
    correction = record(NAVIGATION)  # all corrections so far as one element of SE₂(3)
    clock = record(CLOCK)
    imu = record(READINGS)
    window = record(WINDOW)  # sums of the standstill test
    counts = record(COUNTS)
    faults = record(FAULT_COUNTS)
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
