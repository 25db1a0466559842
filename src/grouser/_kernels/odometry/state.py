"""State of streaming odometry: records with named fields, all behind one address, so that an update costs one call."""

from grouser._compile.struct import Struct, array, block, indices, record, record_type, struct
from grouser._kernels.kinematics.velocity import KinematicModel
from grouser._kernels.motion.arc import Arc
from grouser._kernels.scratch import Scratch
from grouser._kernels.terrain.ground import Ground
from grouser._kernels.vehicles.arrays import VehicleArrays

LATEST = 1e12  # Time stamps are below this [s]
LARGEST = 1e9
"""Rates and angles are smaller. NaN and infinity are not: isfinite(x) would be folded away by the compiler's flags."""

FAULT_TIME, FAULT_CLOCK, FAULT_GAP, FAULT_RATE, FAULT_STOP = 1, 2, 4, 8, 16
FAULT_ANGLE, FAULT_ATTITUDE, FAULT_GYRO, FAULT_GROUND, FAULT_UNOBSERVED = 32, 64, 128, 256, 512
FAULT_SLIP = 1024

ESTIMATED, ESTIMATED_WELL = 2, 3  # contacts_known of angles that are estimated, and of those that are valid
CONTACTS_GIVEN = 0  # at the angles in `contact`
CONTACTS_ON_GROUND = 1  # found on a known ground
CONTACTS_BELOW_ARMS = 2  # at the angles in `contact`, straight down in the body for wheels with an arm

SETTINGS = record_type(
    planar=int,  # 1: motion in the plane, L §4.3.2
    linear=int,  # 1: velocity is linear in the rates, with the slip surface of P
    contacts=int,  # CONTACTS_GIVEN, CONTACTS_ON_GROUND or CONTACTS_BELOW_ARMS
    contacts_known=int,  # 1: contact angles are known, 0: assumed, or ESTIMATED, ESTIMATED_WELL
    bogies_held=int,  # 1: joints whose rates are not measured stand, 0: they follow the wheels; steering always stands
    skids=int,  # 1: wheels must slide sideways for the vehicle to turn
    contact_height=(),  # of the contacts over the body's origin, mean [m], for simple odometries
    span=(),  # distance between the first and the last axle [m]
    pitch_measured=int,  # 1: ω_y, which adds to yaw where the vehicle leans, is that of the measured pitch
    noise_by_distance=int,  # 1: process noise grows with the distance, 0: with time
    gravity_by_distance=int,  # 1: slip by gravity grows with the distance, 0: with time
    wheels_wanted=int,  # number of wheels whose rates are measured
    gap=(),  # longest step that is no gap [s]
    acceleration=(),  # of motion in a gap [m/s² and rad/s²]
    white=(),  # share of the rate noise that is independent from sample to sample
    slip_scale=(),  # k of f(s) = (1 + k s)²
    gyro_variance=(),  # of a turn rate [rad²/s²]
    attitude_sigma=(),  # of roll and of pitch [rad]
    attitude_time=(),  # correlation time of their errors [s]
    attitude_drift=(),  # how fast they may change unseen, one sigma [rad/s]
    contact_sigma=(),  # of contact angles [rad]
    period=(),  # of samples, where a step is not known yet [s]
    surface=13,  # parameters of the slip surface, P (13)
    noise=(6, 6),  # density Q′ of the process noise
)

JOINT = record_type(
    rate_variance=(),  # [rad²/s²]
    below=(),  # stops [rad or m]
    above=(),
    rate_wanted=int,  # 1: a rate that is missing is a fault
    angle_wanted=int,  # 1: an angle that is missing is a fault
    last_angle=(),  # [rad or m]
    angle_seen=(),  # when [s]; NaN: never
    driven=int,  # 1: by an actuator
    held=int,  # 1: at rest in the plane
    rest=(),  # its displacement there [rad or m]
    angle_sigma=(),  # of the measurement [rad or m]
    fault_sigma=(),  # what a fault of the sample adds [rad or m]
)

MEMORY = record_type(
    time=(), started=int, position=3, yaw=(), twist=6, attitude=2, attitude_sigma=(),
    attitude_seen=(),  # when [s]; −inf: never
    intensity=(),  # of the process noise
    late=int,  # samples in a row that came too late
    lost=int,  # 1: samples were lost since the last one taken
    gyro=int,  # 1: ω_y of the last sample is the gyro's
    levelled=int,  # 1: roll and pitch were measured at the last sample
    levers=int,  # 1: attitude has moved the body over its wheels
    stood=int,  # 1: all wheels stood in the last sample
    bend=2,  # turning of the body about x, y per way, smoothed [rad/m]
    lever=(2, 4),  # ∂(x, y, z, yaw)/∂roll, ∂/∂pitch of the last sample, by turning over the wheels
    steady=4,  # one sigma of (x, y, z, yaw) by errors of one sign all along
    shortening=(),  # of the way by contact angles that are not known, part of it
    climb=(),  # rms of the contact angles that the bend asks for [rad]
    rise=(),  # one sigma of the height over the wheels, which returns to zero on even ground [m]
    covariance=(6, 6),  # of the twist, without process noise, what is independent from sample to sample
    lasting=(6, 6),  # what lasts over the vehicle's length
    pose=(4, 4),  # covariance of x, y, z, yaw
    lean=(2, 6),  # ∂twist/∂roll, ∂twist/∂pitch, by slip
    cross=(2, 4),  # covariance of the errors of roll, of pitch with x, y, z, yaw
)  # fmt: skip

WORK = record_type(
    odometry=6,  # velocity of the sample by its wheels (ω, v)
    twist=6,  # the same with slip
    moved_odometry=6,  # both with one input changed
    moved=6,
    asked=6,  # velocity with the rates that the others ask of missing wheels
    attitude=2,  # roll and pitch that are used
    quaternion=4,
    by_gyro=3,  # 1 for turn rates that the gyro gives
    gyro=3,  # these [rad/s]
    change=3,
    turned=2,  # turning about x and y over the step [rad]
    lever=int,  # 1: roll and pitch of this and the last sample are measured, contact angles are not known
    stands=int,  # 1: all measured wheels stand, and they determine the motion
    factor=(),  # f(s) of (4.48)
    uneven=2,  # see `uneven_ground` [m²]
    covariance=(6, 6),  # of the twist, what is independent from sample to sample
    turning=(6, 6),  # part by noise of the gyro
    lasting=(6, 6),  # what lasts over the vehicle's length
    whole=(6, 6),  # all of it
    pose=(4, 4),
    lean=(2, 6),  # ∂twist/∂roll, ∂twist/∂pitch
    share=6,  # how much of each velocity nothing determines
    left=6,  # the same by some of the rows
    gain=(8, 4),  # ∂(x, y, z, yaw)/∂(ω, v, roll, pitch)
    to_body=(6, 4),  # error of the pose in body axes per error of (x, y, z, yaw)
    axes=(2, 3),  # axes in the body about which errors of roll and of pitch turn
    speed=(),  # mean rim speed [m/s]
    period=(),  # the step, or the usual one where there is none [s]
)

ESTIMATE = record_type(
    time=(), position=3, quaternion=4, yaw=(), attitude=2, twist=6, odometry_twist=6,
    twist_covariance=(6, 6), pose_covariance=(6, 6),
    observed=6,  # 1 for velocities that the wheels determine
    faults=int, rate_joint=int, angle_joint=int,  # first joint with such a fault, −1: none
    wheels=int,  # number of measured wheels
    excluded=int, suspected=int,  # bit w for wheel w: left out as it slips, may be the one that does
    slip_joint=int,  # first of these, −1: none
    n_wheels=int,  # number of all wheels
)  # fmt: skip

SENSE = record_type(time=(), attitude=2, gyro=3, attitude_given=int, gyro_given=int)

SIZES = 3  # of slip that are tested, each four times the one before, ahead and behind

RULES = record_type(
    on=int,  # 1: wheels are tested
    skid=int,  # 1: no wheel steers
    alarm=(),  # sum of the evidence at which some wheel lies [s]
    smallest=(),  # slip that is looked for beyond what is ordinary, part of the speed
    slip=(),  # ordinary errors of a contact's velocity, one sigma, parts of the speed: along the wheel,
    sideslip=(),  # across it,
    lift=(),  # off the ground
    hold=(),  # how long the evidence must last [s]
)

EPISODE = record_type(
    active=int,  # 1: some suspect is followed
    scale=(),  # speed that ordinary errors are parts of [m/s]
    moving=int,  # 1: the vehicle drives
    probability=(),  # that some wheel lies now
    peak=(),  # the largest since the episode began
    lasted=(),  # since then [s]
    held=(),  # how long the evidence has been beyond the alarm, less how long it was not since [s]
    turn=(),  # the gyro's last turn rate about z [rad/s]
    swing=(),  # how fast it changes, smoothed [rad/s²]
)

SUSPECT = record_type(
    known=int,  # 1: the other wheels determine it
    residual=(),  # rim speed less what the others ask for [m/s]
    persistent=(),  # one sigma of that by ordinary errors, which last [m/s]
    white=(),  # variance of that by noise of the sample [m²/s²]
    samples=int,  # from which the noise was learned
    last=(),  # the residual before [m/s]
    noise=(),  # learned variance [m²/s²]
    evidence=2 * SIZES,  # Shiryaev–Roberts statistics, ahead and behind [s]
    total=(),  # their sum [s]
    followed=int,  # 1: the pose without it is followed
    average=(),  # of the residual [m/s]
    looks=(),  # logarithm of its likelihood by what was seen since the alarm
    weight=(),  # probability that it is the one, if one is
    twist=6,  # velocity without it, of this sample and of the last
    before=6,
    step=4,  # of x, y, z, yaw without it
    offset=4,  # pose without it since it is followed, less the estimated one
)

TRUST = record_type(
    excluded=int,  # 1: its rate is not believed
    agree=2,  # evidence that it rolls again, against slip ahead and behind
)


class Suspicion(Struct):
    """Who is suspected, and the linear system of a sample; n_suspects: each wheel, then groups.

    rows: three of each wheel, couplings, three turn rates, one of each joint, all over their sigmas.
    """

    everything = block()
    rules = record(RULES)
    episode = record(EPISODE)
    suspects = record(SUSPECT, "n_suspects")
    trust = record(TRUST, "nw")
    member = indices("n_suspects", "nw")  # 1 for wheels of a suspect
    doubt = array("nw")  # logarithm of the odds that each wheel slips, by other sources
    coupling_sigma = array("nc")  # [rad/s or m/s]
    angle_before = array("nj")  # of the last sample [rad or m]
    angle_rate = array("nj")  # its smoothed slope [rad/s or m/s]
    believed = array("nj")  # rates that are used
    columns = indices("nv")  # unknown velocities
    weight = array("rows")  # one over the sigma of each row; 0: not used
    tolerance = array("rows")  # the part of it that lasts
    white = array("rows")  # that of one sample
    B = array("nv", "rows")  # columns of the unknown velocities, over sigma
    b = array("rows")
    N = array("nv", "nv")
    x = array("nv")
    y = array("nv")
    c = array("rows")
    spread = array(6, 6)
    room = array(16)  # what following overwrites


class OdometryStore(Struct):
    """Vehicle, model, ground, settings, memory and work space."""

    vehicle = struct(VehicleArrays)
    model = struct(KinematicModel)  # each sample writes which velocities are known
    ground = struct(Ground)
    s = struct(Scratch)
    arc = struct(Arc)
    suspicion = struct(Suspicion)
    settings = record(SETTINGS)
    joints = record(JOINT, "nj")
    memory = record(MEMORY)
    work = record(WORK)
    contact = array("nw")  # contact angles [rad]
    arms = array("nw", "nj")  # 1 for joints about y of an arm that carries one wheel alone
    linear = array(6, "nj")  # velocity (ω, v) per rate of each joint
    extra = array(6)  # velocity (ω, v) that a learned correction adds
    q = array("nq")  # state with the measured attitude and angles
    given = array("nv")  # joint-space velocity, zero where not known
    response = array(3, "nv")  # the same per turn rate about x, y, z that is known
    free = indices("nv")  # velocities that follow it
    shares = array("nv", "nv")  # a second normal matrix


class Samples(Struct):
    """Samples to take one after the other, and what they give."""

    sense = record(SENSE, "n")
    rates = array("n", "nj")
    angles = array("n", "nj")
    linear = array("maps", 6, "nj")  # of each sample, or one for all
    extra = array("extras", 6)  # velocity that a learned correction adds to each sample; no rows: none
    last = record(ESTIMATE)  # the estimate before, and the last one after
    out = record(ESTIMATE, "kept")  # estimates; may have no rows
    faults = indices("n")
