"""State of the wheels' suspicion: rules, evidence against each suspect, and work space."""

from grouser._compile.struct import Struct, array, block, indices, record, record_type

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
    sigma = array("rows")  # of each row; infinite: not used
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
