"""The dynamic model as the engine sees it, and the work space of its steps."""

from grouser._compile.jit import kernel
from grouser._compile.struct import Struct, array, block, indices, integer, number
from grouser._kernels.arrays import copy, fill
from grouser._kernels.contact.face import COLUMNS as FACE_COLUMNS
from grouser._kernels.vehicles.arrays import VehicleArrays


class DynamicModel(Struct):
    """What forward dynamics needs in addition to vehicle and ground."""

    free = indices("n")  # entries of the joint-space velocity that are solved for
    ideal = integer()  # actuated joints follow their command exactly and are not solved for
    second = integer()  # whether a wheel may have two contacts: 0 no, 1 yes, 2 on folded ground
    link = indices("nk")  # frame of each contact, in the order of `Scratch`
    axle = indices("nk")  # frame whose joint turns the wheel of each contact: its own, or that of its leader
    row = indices("nk")  # first of its three rows of A
    support = indices("nk", "n")  # positions in `free` that move each contact
    support_size = indices("nk")
    spin = indices("nk")  # position in `free` of the joint of its wheel, −1 if it is not free
    contact = indices("nk", "ns", 2)  # law and parameters of each contact on each soil
    rolling = array("nk")  # share of the rim speed along the contact's x: 1, less with rollers, 0 of what slides
    couple = array("nk")  # wheel radius [m] where the law has a moment beyond that of its force, else 0
    grip_memory = integer()  # where in `memory` the bristles of contacts at rest begin, two a contact; −1: none
    actuator = indices(2)
    coupling = indices("nc", 2)  # law 0 is a rigid coupling
    actuator_memory = integer()  # numbers that the actuator law remembers, the first of `memory`
    elastic = indices("nc")  # whether a coupling law is given the displacement at which a spring keeps its energy
    coupling_memory = indices("nc", 2)  # where in `memory` those of each coupling law begin, and how many they are
    memory = array("nm")  # what laws remember at the start
    rigid = indices("nr")  # the rigid couplings
    rigid_gain = number()  # Baumgarte gain of those [1/s]
    armature = array("nj")  # rotor inertia reflected through gears [kg m² or kg]
    external = array("ne", 11)  # frame, world flag, point (3), force (3), torque (3)
    gravity = number()  # [m/s²]
    tolerance = number()  # [N], largest residual of a solved step
    iterations = integer()  # most Newton iterations a step
    lead = number()  # where in a step contacts, M and c are taken: 0 its beginning, 0.5 its middle
    single = integer()  # one Newton step a step, taken whole: the non-iterative method of T §2.4.4
    single_limit = number()  # [N], residual of such a step above which it is solved in full
    energy_check = integer()  # whether a rollout that gains energy ends
    fixed_inertia = integer()
    single_body = integer()
    tip_cosine = number()
    rut_side = integer()  # cells along a side of the patch of soil that remembers, a power of two; 0: none does
    rut_cell = number()  # side of its cells [m]
    rut_width = array("nw")  # of the track that each wheel presses [m]
    rebound = number()  # share of a kept sinkage that springs back


class DynamicScratch(Struct):
    """Work space of the dynamics of one rollout. n free velocities, nk contacts, nr rigid couplings."""

    everything = block()
    S = array("nf", 6)  # motion subspaces
    R = array(3, 3)
    I = array("nf", 10)  # rigid-body inertias
    composite = array("nf", 10)
    M = array("nv", "nv")  # joint-space inertia
    V = array("nf", 6)  # spatial velocities
    a = array("nf", 6)  # spatial accelerations
    force = array("nf", 6)
    momentum = array(1, 6)
    momentum_bias = array(6)  # of the velocity at which c was taken
    c = array("nv")  # bias force, external forces subtracted
    law_in = array(6)  # of a contact law its five numbers, then the sinkage kept in the soil
    law_out = array(4)
    law_jac = array(20)
    f = array("nk", 3)  # contact forces, contact frame [N]
    K = array("nk", 3, 3)  # ∂f/∂(contact velocity), the change of Δz over the step included
    k = array("nk", 3)  # ∂f/∂ω of the wheel
    couple = array("nk")  # moment of the ground on the wheel about its axle, less that of f [N m]
    K_couple = array("nk", 3)  # ∂couple/∂(contact velocity)
    k_couple = array("nk")  # ∂couple/∂ω of the wheel
    axle = array("nk", "nv")  # turn rate of the wheel about its axle per unit velocity
    hold = array("nk")  # 1/T of the bristle of a contact at rest [1/s], else 0
    joint_force = array("nc")  # force of each coupling
    joint_slope = array("nc")  # its derivative by the coupling's rate
    joint_in = array("n_joint_in")  # displacement, rate, memory, dt of a coupling
    joint_out = array("n_joint_out")  # force, next memory
    act_in = array("n_act_in")  # command, rate, angle, memory, dt
    act_out = array("n_act_out")  # torque, next memory
    act_jac = array("n_act_jac")  # ∂torque/∂rate, row by row
    torque = array("na")  # torque of each actuator
    memory = array("nm")  # what actuator and joint laws remember between steps
    memory_next = array("nm")  # the same at the end of the step
    lagrange = array("nr")  # forces of the rigid couplings
    H = array("n_solved", "n_solved")  # Newton matrix
    step = array("n_solved")
    residual = array("nv")  # force balance
    gap = array("nr")  # rate error of the rigid couplings, as a force
    u = array("nv")  # velocity at the end of the step
    u_base = array("nv")
    lagrange_base = array("nr")
    product = array("nv")  # work space
    v_bias = array("nv")  # velocity at which c was taken: the mean of the step as the last one foretells it
    rate = array("nv")  # M (u − v)/dt
    in_run = array(1)  # whether the step is one of a run (`solve_step`)
    lead = array(1)  # share of the old velocity that moves the state (`free_lead`)
    mean = array(6)  # mean twist of the body over the step
    mean_momentum = array(6)  # momentum of the vehicle at the mean velocity, body coordinates
    depth = array("nk")  # Δz that the motion of the step leads to [m]
    closing = array("nk")  # velocity along the normal there [m/s]
    face = array("nk", FACE_COLUMNS)  # what each wheel ran into (`contact/face.py`)
    face_before = array("nk", FACE_COLUMNS)
    floor = array(4)  # normal and offset of the ground before a face
    centre = array("nk", 3)  # of each wheel at the beginning of a step, world [m]
    begun = array(1)  # whether a step was taken, so that the next can be compared with it
    pushed = array("nv")  # external forces along the joint-space velocity
    account = array(4)  # energy: lowest and largest kinetic one so far, work done, stored in springs (`energy.py`) [J]
    account_before = array(4)
    q_before = array("nq")
    v_before = array("nv")
    memory_before = array("nm")
    acceleration = array("nv")  # of the last step: where the next one starts from, and the mean velocity of its c
    acceleration_before = array("nv")
    rut_felt = array("nk")  # sinkage kept in the soil where each contact enters it [m]
    rut_depth = array("side", "side")  # deepest sinkage that each cell of the patch has seen [m]
    rut_key = indices("side", "side")  # which cell of the plane it is


def make_dynamic_scratch(vehicle: VehicleArrays, model: DynamicModel) -> DynamicScratch:
    """Work space for a vehicle and a model."""
    nf, na, nr, nm = len(vehicle.parent), len(vehicle.actuated), len(model.rigid), len(model.memory)
    return DynamicScratch.zeros(
        nf=nf, nk=len(model.link), nc=len(vehicle.coupling_value), nv=5 + nf, nq=6 + nf, na=na, nr=nr, nm=nm,
        n_joint_in=3 + nm, n_joint_out=1 + nm, n_act_in=3 * na + nm + 1, n_act_out=na + nm, n_act_jac=na * na,
        n_solved=len(model.free) + nr, side=model.rut_side,
    )  # fmt: skip


@kernel
def clear_dynamic_scratch(model, d):
    """As before any step: at rest, laws remembering what they start with."""
    fill(d.everything, 0.0)
    copy(model.memory, d.memory)
