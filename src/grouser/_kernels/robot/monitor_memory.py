"""Records of the monitor: settings, state, samples and alarms. The state is one record: a copy of it is a snapshot.

Two tests of motion run side by side. `STUCK`: the robot moves with a share m of what its wheels say, v = m (1 − s) w.
`SLIDING`: it moves by x [m/s] more than its wheels can explain. Each knows m or x on a grid of `CELLS` values. A third
test, `GROUND`, watches the levels of current, vibration and slip.
"""

from grouser._compile.struct import Struct, record, record_type

STUCK, SLIDING, GROUND = range(3)  # tests, and kinds of alarms
KINDS = ("stuck", "sliding", "ground_changed")
TESTS = 2  # those of motion
CELLS = 31  # values of the hidden motion
RATES = 4  # ways in which it may change, fast or slowly
CURRENT, VIBRATION, SLIP = range(3)  # levels whose usual value is learned
LEVELS = 3
FEATURES = 6  # of a level: 1 and five that it may depend on
SHIFTS = 124  # combinations of shifts of the levels that the test of the ground knows
KEPT = 32  # alarms that are remembered
IMU, WHEELS, FIX = range(3)  # kinds of events

SETTINGS = record_type(
    block=(),  # duration of a block [s]
    gap=(),  # a longer step begins again [s]
    least_speed=(),  # of turning wheels [m/s]
    least_turn=(),  # [rad/s]
    lever=2,  # of the IMU, x and y in the body [m]
    level_time=(),  # time constant of the correction of gravity [s]
    learn_time=(),  # and of what is usual [s]
    gyro_noise=(),  # of the mean of a block [rad/s]
    velocity_noise=(),  # least noise of the change of speed of a block [m/s]
    drift=(),  # change of speed in a block that an error of gravity may feign [m/s]
    speed_noise=(),  # of the wheels' speed, share
    floor=(),  # least likelihood of a velocity, a fix or a yaw rate, by its best
    change_floor=(),  # and of a change of speed
    budget=(),  # largest logarithm of the ratio that one level may add to `stuck`
    fade=(),  # share of the ratio that a block leaves: evidence is forgotten
    start_weight=(),  # blocks of driving that a start counts as
    threshold=3,  # of the ratio of each test
    release=2,  # the same for the end of an alarm of motion
    hold=(),  # duration of an alarm of the ground [s]
    learned=int,  # blocks after which a level is known
    grid=(TESTS, CELLS),
    width=(TESTS, CELLS),  # of the cells
    stay=(2 * TESTS, CELLS, CELLS),  # chance to go from a cell to another: test, alarmed
    leave=(2 * TESTS, RATES, CELLS, CELLS),  # the same if there is a change
    stay_start=(2 * TESTS, CELLS),  # distribution when the wheels begin to turn
    leave_start=(2 * TESTS, CELLS),
    turn_share=CELLS,  # of the usual yaw rate in the cells of `stuck`
    turn_sigma=CELLS,
    stuckness=CELLS,  # 1 where the levels of a stuck robot are expected, 0 where the usual ones are
    shifts=(SHIFTS, LEVELS),  # of the levels, that of the current as a share of its size
    band=LEVELS,  # error of a usual level that is no evidence of a change, in the same units
    least_sigma=LEVELS,  # of a block
    ground_bound=(),  # largest logarithm of the ratio that a block may add to a change of ground
    straight=(),  # smoothed yaw rate of the wheels below which currents are, too [rad/s]
    steady=(),  # acceleration of the wheels below which levels are evidence of a change of ground [m/s²]
)

STATE = record_type(
    # Clocks
    time=(),  # of the newest event [s]
    imu_time=(),
    wheel_time=(),
    begun=(),  # beginning of the block [s]
    started=int,
    imu_started=int,
    blocks=int,
    # IMU
    gravity=3,  # in body axes, with the bias of the accelerometer [m/s²]
    gyro_bias=3,  # [rad/s]
    levelled=int,  # blocks of which gravity was learned
    gyro=3,  # last sample [rad/s]
    gyro_last=(),  # mean yaw rate of the block before [rad/s]
    gained=(),  # speed gained since the block began [m/s]
    gained_time=(),  # its integral [m], and …
    tail=(),  # … what was gained after the mean of the block before [m/s]
    imu_span=(),  # duration of the IMU's samples in the block [s]
    imu_count=int,
    gyro_sum=3,  # rad
    force_sum=3,  # specific force, integrated [m/s]
    shake=5,  # sums of squared differences of f_x, f_y, f_z, ω_x, ω_y from sample to sample
    force=3,  # last sample [m/s²]
    # Wheels, sums over the block
    count=int,
    speed_sum=(),
    turn_sum=(),
    slip_sum=(),
    current_sum=(),
    current_count=int,
    seen_sum=(),  # of measured velocities, weighted
    seen_weight=(),  # [s²/m²]
    speed=(),  # mean of the block before [m/s]
    step=(),  # its change [m/s]
    turn=(),  # [rad/s]
    curve=(),  # smoothed yaw rate [rad/s]
    slip=(),
    moving=int,
    # Position fixes
    fix=3,  # last: x, y, sigma [m]
    fix_time=(),  # its time
    has_fix=int,
    rolled=(),  # way by the wheels since [m]
    moved=(),  # distance between the last two [m]; NaN: no new one
    moved_sigma=(),  # per axis [m]
    moved_rolled=(),
    moved_time=(),
    # What is usual
    noise=2,  # variance of the change of speed of a block: standing, moving [m²/s²]
    noise_count=2,  # blocks it was learned from
    turn_ratio=(),  # measured yaw rate by that of the wheels
    turn_ratio_variance=(),
    usual=(LEVELS, FEATURES),  # coefficients
    spread=(LEVELS, FEATURES, FEATURES),
    prior=(LEVELS, FEATURES),
    variance=LEVELS,
    echo=LEVELS,  # correlation of a block with the one before
    last=LEVELS,  # normalised residual of the last block
    known=LEVELS,  # blocks learned from
    weight=LEVELS,  # log-ratio that a level adds to `stuck`
    # Tests
    held=(TESTS, CELLS),  # distribution of the motion if nothing changed
    left=(TESTS, RATES, CELLS),  # that of the motion if it did, times the ratio, for each rate
    alarmed=3,  # 1 while there is an alarm
    ratio=3,  # Shiryaev–Roberts statistics
    quiet=3,  # when each last had no evidence [s]
    since=3,  # of the alarms [s]
    raised=3,
    ground=SHIFTS,
    amount=(),  # of the current: mean magnitude while driving straight
    amount_count=(),  # blocks it was learned from
    share=(),  # mean of m, `stuck`
    slide=(),  # mean of x, `sliding` [m/s]
    alarms=int,  # raised so far
    late=int,  # events that came after a newer one and were left out
)

TRACE = record_type(time=(), ratio=3, alarmed=3, share=(), slide=())
ALARM = record_type(kind=int, since=(), time=(), ended=(), evidence=())
SAMPLE = record_type(
    kind=int,
    time=(),
    speed=(),  # of the body by the wheels, forward [m/s]
    turn=(),  # yaw rate by the wheels [rad/s]
    current=(),  # sum over the motors, positive when they drive; NaN: none
    velocity=(),  # forward speed by another sensor [m/s]; NaN: none
    velocity_sigma=(),
    slip=(),  # expected, share; NaN: none
    gyro=3,
    acceleration=3,  # specific force [m/s²]
    position=2,  # of a fix [m]
    position_sigma=(),  # per axis
)
NOW = record_type(
    change=(),  # of the forward speed in the block by the accelerometer [m/s]
    change_sigma=(),  # 0: not measured
    speed=(),  # of the wheels, mean of the block [m/s]
    speed_before=(),
    step_before=(),  # change of the wheels' speed in the block before [m/s]
    slip=(),  # expected, share
    slip_before=(),
    turn=(),  # of the wheels [rad/s]
    turn_known=int,  # 1: they turn the robot, and the gyro measures
    gyro=(),  # yaw rate [rad/s]
    gyro_sigma=(),
    velocity=(),  # by another sensor [m/s]
    velocity_sigma=(),  # 0: none
    moved=(),  # between two fixes [m]; −1: none
    moved_sigma=(),
    moved_rolled=(),
    moved_time=(),
    scale=(),  # speed of the robot by a cell: scale · cell, plus what lies between low and high [m/s]
    scale_before=(),
    low=(),
    high=(),
    step_low=(),  # the same for the change of speed
    step_high=(),
    blur=(),  # noise of that change that slip makes [m/s]
    way=(),  # between the fixes: way + way_scale · cell [m]
    way_scale=(),
    way_blur=(),
    turns=int,  # 1: the yaw rate counts
    levels=(),  # what current and vibration add to the log-ratio of `stuck`
    value=LEVELS,  # levels of the block, NaN: not measured
    features=2 * FEATURES,
    off=LEVELS,  # levels less their usual values, as the test of the ground takes them
    band=LEVELS,
    evidence=LEVELS,  # share of an independent sample by variance; 0: not measured
    held=CELLS,
    left=(RATES, CELLS),
)


class MonitorMemory(Struct):
    """All that a monitor remembers."""

    settings = record(SETTINGS)
    state = record(STATE)
    now = record(NOW)  # of the present block
    history = record(ALARM, "kept")  # ring, the newest at (state.alarms − 1) % kept


class MonitorDrive(Struct):
    """Events for the monitor, and its state after every sample of the wheels, where there is room."""

    events = record(SAMPLE, "n")
    trace = record(TRACE, "rows")
