"""Memory of the fusion filter: records and arrays of fixed size, made once.

State χ = (R, v, p) of the IMU in the world, biases, slip that changes within metres, and the changes of k parameters of
the odometry that last: those of its slip model or, where none are given, three of lasting slip.
Its error is right-invariant: χ_true = Exp(ξ) χ with ξ = (θ, ξ_v, ξ_p) in world axes, on the group SE₂(3) (Barrau and
Bonnabel 2017); that of the rest is true − estimate. A turn of the whole world about gravity, which no sensor
here observes, is then ξ = (0, 0, 1, 0…) at every state: no measurement reduces its variance by a linearisation error,
and every point fixed to the body has the same ξ.
"""

from grouser._compile.struct import Struct, array, block, indices, integer, record, record_type

# First rows of the blocks of three of the error in `covariance`
ROTATION, VELOCITY, POSITION, GYRO_BIAS, ACCELERATION_BIAS, SLIP, PARAMETERS = 0, 3, 6, 9, 12, 15, 18
MOTION = 15  # Rows of the error of motion and biases; those of slip follow, of parameters, and those of the clones
CLONE = 6  # Rows of the error of a cloned pose: rotation, position
MOST_PARAMETERS = 64
HELD = 6  # GPS positions that are held, with clones, until the yaw is known
LENGTHS = 7  # of the time spans of the slide test, each twice as long as the one before …
SPANS = 2 * LENGTHS  # … and each twice, shifted by half of it
MOST_WAITING = 64  # Measurements ahead of the IMU that are kept, at most
SELDOM = 5.0  # Times `missing_after` after which GPS is missing: receivers report once a second
SAME_TIME = 1e-4  # Time stamps closer than this [s] are one

IMU, WHEELS, KEYFRAME, POSE, GPS, HEADING = range(6)  # kinds of events
WATCHED, LOOSE = 1, 2  # distrusted wheels: compared only, or used with a wide prior of slip

AS_GIVEN = (
    *("rate", "gap", "gravity", "slip_length", "slip_arm", "still_speed", "align"),
    *("distrust_after", "recover_after", "missing_after", "start_velocity"),
)
"""Settings that are those of `FusionSettings`, unchanged."""
SETTINGS = record_type(
    gyro_noise=(),  # spectral density [rad²/s]
    acceleration_noise=(),  # [m²/s³]
    gyro_walk=(),  # [rad²/s³]
    acceleration_walk=(),  # [m²/s⁵]
    gyro_scale=(),  # sigma of its scale factor, as a share
    gyro_range=(),  # [rad/s]
    acceleration_range=(),  # [m/s²]
    gyro_lost=(),  # spectral density while the gyro is saturated or interrupted [rad²/s]
    acceleration_lost=(),  # [m²/s³]
    lever_wheels=3,  # from the IMU to the point whose velocity the wheels measure, body axes [m]
    lever_body=3,  # from the IMU to the body's origin [m]
    lever_antenna=3,  # from the IMU to the antenna of the GPS receiver [m]
    origin=3,  # position of the body at the first sample [m]: the state is relative to it
    slip=3,  # sigma of slip: forward, left [-], yaw [rad/m]
    parameter_length=(),  # correlation length of the parameters [m]
    given=int,  # parameters are those of the odometry, whose slopes come with each wheel measurement
    distrusted_slip=3,  # sigma of the slip of distrusted wheels
    slide_gate=7,  # thresholds of the slide test for 0…6 rows
    gate=7,  # thresholds of the squared innovation for 0…6 rows
    window=(),  # duration of the standstill test [s]
    quiet=6,  # variance of the IMU's axes below which it is quiet [rad²/s², m²/s⁴]
    still_velocity=(),  # sigma [m/s]
    still_position=(),  # sigma [m]
    still_rotation=(),  # sigma [rad]
    start=PARAMETERS,  # sigma of the first error, of a start at rest
    yaw=(),  # at the start [rad]
    **{name: 3 if name == "start_velocity" else () for name in AS_GIVEN},
)
STATE = record_type(quaternion=4, velocity=3, position=3, gyro_bias=3, acceleration_bias=3, slip=3)
NAVIGATION = record_type(quaternion=4, velocity=3, position=3)
PAST = record_type(time=(), quaternion=4, velocity=3, position=3, gyro=3)
CLONED = record_type(time=(), quaternion=4, position=3, held=int)  # held: for a GPS position
CLOCK = record_type(
    now=(),  # time of the state
    began=(),  # time of the first estimate
    newest=(),  # time of the newest IMU sample
    step=(),  # from the sample before to it
    wheels=(),  # time of the last wheel measurement that was used
    poses=(),  # time of the last relative pose that was used
    gps=(),  # time of the last GPS position that was used; −inf if none ever was
    headings=(),
    rested=(),  # when the vehicle came to rest by its wheels; inf while it moves
    calm=(),  # since when distrusted wheels agree again; NaN if they do not
    imu_lost=(),  # the estimate is degraded by the IMU until then
    rolling_speed=(),  # of the last wheel measurement [m/s]
    rolling_time=(),  # its time
    slide_speed=(),  # of the present slide [m/s]
    spacing=(),  # of GPS positions that wait for the yaw [m]
    stray=(),  # time of the last IMU sample whose stamp does not follow
    stray_start=(),  # of the first of them
)
READINGS = record_type(
    now=6,  # rates [rad/s] and specific force [m/s²] at clock.now
    newest=6,
    average=6,  # over the present step
    before=6,  # the sample before the newest
    vibration=6,  # variance from sample to sample
    rest=6,  # usual variance within a window in which wheels stand; 0: none yet
    gyro_lost=int,  # the newest sample is saturated or follows a gap
    acceleration_lost=int,
    step_without_gyro=int,  # one of the two samples of the present step is lost
    step_without_acceleration=int,
)
WINDOW = record_type(start=(), samples=int, wheels=int, rolling=int, total=6, squares=6)
SPAN = record_type(
    age=(), seconds=(), square=(), samples=int, total=6, spread=(6, 6)
)  # sums of residuals and of their covariances
COUNTS = record_type(
    started=int,  # the filter runs
    ready=int,  # the alignment is done
    clones=int,
    held=int,  # GPS positions that wait for the yaw
    anchor=int,
    distrusted=int,
    sliding=int,
    past=int,
    next_past=int,
    waiting=int,
    stray=int,  # IMU samples in a row whose stamps do not follow
)
FIX = record_type(time=(), position=3, observed=6, covariance=(3, 3))  # GPS position
SOURCE = record_type(
    used=int, refused=int, rows=int, squares=(),
    run=int,  # refusals in a row
    since=(),  # when the present run of refusals began; NaN if none runs
)  # fmt: skip
FAULTS = {
    "imu_not_finite": "an IMU sample is not finite and is left out",
    "imu_time": "the stamp of an IMU sample does not follow the one before; it is left out",
    "clock_jump": "the stamps of the IMU jumped; all times are moved with them",
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
    "gps_not_finite": "a GPS position is not finite and is left out",
    "gps_late": "a GPS position is older than the history and is left out",
    "gps_refused": "a GPS position contradicts the estimate and is left out",
    "gps_readmitted": "GPS was refused for long; it counts with the noise it shows, or the state is opened",
    "gps_missing": "no GPS position was used for some time; the covariance grows",
    "heading_not_finite": "a heading is not finite and is left out",
    "heading_late": "a heading is older than the history and is left out",
    "heading_refused": "a heading contradicts the estimate and is left out",
    "heading_readmitted": "headings were refused for long; they count with the noise they show, or the yaw is opened",
    "sliding": "wheels stand but poses or GPS show motion; standstill and wheels are left out",
    "standstill_refused": "wheels and IMU are quiet but the estimate moves; left out",
    "too_early": "a measurement is further ahead of the IMU than it can be, and is left out",
    "moving_start": "the vehicle moved during alignment; velocity, level and biases are those of the other sources",
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
    covariance=(6, 6),  # of the twist, of the pose: rotation, position; of a GPS position; of the yaw
    yaw=(),  # heading [rad]
)
ESTIMATE = record_type(
    time=(), quaternion=4, velocity=3, position=3, twist=6, gyro_bias=3, acceleration_bias=3, slip=3,
    distrusted=int, covariance=(MOTION, MOTION), slip_covariance=(3, 3), twist_covariance=(6, 6),
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
    gps = record(SOURCE)
    headings = record(SOURCE)
    pose_spans = record(SPAN, SPANS)  # of the slide test
    gps_spans = record(SPAN, SPANS)
    fixes = record(FIX, HELD)  # GPS positions that wait for the yaw
    parameters = array("k")  # change of each since the start
    prior = array("k", "k")  # their covariance before any measurement
    covariance = array("n", "n")  # of the error of state and clones
    clones = record(CLONED, "clones")  # poses of the body's origin, oldest first
    past = record(PAST, "past")  # ring of recent states, without the corrections
    waiting = record(EVENT, "waiting")  # measurements ahead of the IMU
    waiting_slopes = array("waiting", 6, "k")

    # Scratch
    slopes = array(6, "k")  # ∂(twist)/∂parameter of a wheel measurement: write it before `take`
    then = record(PAST)  # state at the time of a measurement
    predicted = array(6)  # measurement that the state predicts
    direction = array(3)  # ∂(rolling speed)/∂ξ_v: direction of travel in world axes
    R = array(3, 3)
    G = array(6, 3)  # how the gyro's noise enters
    J = array(MOTION, MOTION)
    product = array(MOTION, MOTION)
    H = array(6, "core")
    columns = indices("core")  # rows of the covariance that the columns of H belong to
    noise = array(6, 6)
    residual = array(6)
    S = array(6, 6)  # L of the innovation's covariance L Lᵀ = H P Hᵀ + noise
    gain = array(6, "n")  # L⁻¹ H P
    change = array("n")


class Drive(Struct):
    """Events for the filter, and its estimates after every `every`-th sample of the IMU; none for 0."""

    events = record(EVENT, "n")
    slopes = array("slopes", 6, "k")  # of the wheel measurements, in their order; none if there are no parameters
    every = integer()
    estimates = record(ESTIMATE, "rows")
