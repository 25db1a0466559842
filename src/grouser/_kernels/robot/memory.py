"""Memory of the chain on board: its signals by time, its odometry and fusion, and snapshots of both."""

from grouser._compile.struct import Struct, array, indices, record, record_type, struct
from grouser._kernels.fusion.memory import ESTIMATE as FUSED
from grouser._kernels.fusion.memory import EVENT, FusionMemory
from grouser._kernels.motion.correction import CorrectionTable
from grouser._kernels.odometry.state import ESTIMATE, JOINT, MEMORY, OdometryStore, Samples

NOTHING = -1  # kind of an event that only asks for the estimate
FAULT_BITS = 32  # kinds of faults of odometry, at most

SETTINGS = record_type(
    delay=(),  # a signal that comes later than this after newer ones is not replayed [s]
    spacing=(),  # of the snapshots [s]
    rise=(),  # sigma of the vertical velocity in body axes, over the speed
    rise_length=(),  # way along which it lasts [m]
    sync=(),  # sigma of the time between IMU and wheels [s]
    turn_slip=(),  # sigma of the turn rate by the wheels, as a share
    wander=(6, 6),  # density of noise that wanders, which is a state of the filter and no white noise
)
PRESENT = record_type(
    kept=int,  # events in the ring
    sequence=int,  # number of events so far
    newest=(),  # largest stamp that was taken, in the clock of the chain [s]
    shift=(),  # clock of the chain less that of the signals [s]
    snapshots=int,
    late=int,  # signals too late to be replayed, in a row
    ahead=int,  # signals far ahead of all others, in a row
    last_ahead=(),  # stamp of the last of those [s]
    joints=(),  # time of the last joint sample [s]
    twist=6,  # velocity by the wheels with the slip of the model, (ω, v) [rad/s, m/s]
)
COUNTED = record_type(
    replays=int,  # signals that were replayed
    replayed=int,  # events that were processed again for them
    too_late=int,  # signals left out because they came too late
    too_early=int,  # signals left out because they were far ahead of all others
    clock=int,  # times the clock was set
)
SAVED = record_type(
    place=int,  # slot of the last event before it; −1: none
    sequence=int,  # its number
    time=(),  # its time [s]
    joints=(),
    twist=6,
    faults=FAULT_BITS,
)


class Chain(Struct):
    """Everything that the chain remembers."""

    odometry = struct(OdometryStore)
    sample = struct(Samples)  # the one sample that odometry takes
    memory = record(MEMORY, 1)  # of the odometry, as an array: one can be copied
    last = record(ESTIMATE, 1)
    fusion = struct(FusionMemory)
    settings = record(SETTINGS)
    present = record(PRESENT)
    counted = record(COUNTED)
    faults = array(FAULT_BITS)  # of odometry, by bit

    incoming = record(EVENT)
    estimate = record(FUSED)
    # Events: the last row of the joints' arrays belongs to the incoming one.
    events = record(EVENT, "kept")
    sequence = indices("kept")
    time = array("kept")  # by which they are ordered [s]
    order = indices("kept")  # their places by time
    rates = array("rows", "nj")
    angles = array("rows", "nj")
    linear = array("rows", 6, "nj")  # velocity per rate, for models that are linear in the rates
    rolled = array("kept", 2)  # speed and turn rate of the wheels, of such models [m/s, rad/s]

    correction = struct(CorrectionTable)  # that is learned on top of the slip surface; without terms if there is none
    coefficients = array("coefficients")  # of it
    slopes = array(6, "slopes")  # of the last sample by those of the surface and of the correction
    inputs = array(4)  # V, ω [m/s, rad/s] of the last sample and their changes in a second
    learned = indices("learned")  # which slip parameters the filter has as states
    law_numbers = array("numbers")  # of a slip law
    twist = array(6)
    gained = array(6)  # velocity since the joint sample before

    saved = record(SAVED, "snapshots")
    snapshot_rows = indices("snapshots")  # of the snapshots, oldest first
    saved_fusion = array("snapshots", "words")
    saved_memory = record(MEMORY, "snapshots")
    saved_estimate = record(ESTIMATE, "snapshots")
    saved_joints = record(JOINT, "snapshots", "nj")
    saved_suspicion = array("snapshots", "suspicion")
