"""The dynamic model as the engine sees it, and the work space of its steps."""

from grouser._compile.jit import kernel
from grouser._compile.struct import Struct, array, block, indices, integer, number
from grouser._kernels.vehicles.arrays import VehicleArrays


class DynamicModel(Struct):
    """What forward dynamics needs in addition to vehicle and ground."""

    free = indices("n")  # entries of the joint-space velocity that are solved for
    ideal = integer()  # actuated joints follow their command exactly and are not solved for
    support = indices("nw", "n")  # positions in `free` that move each wheel's contact
    support_size = indices("nw")
    spin = indices("nw")  # position in `free` of each wheel's own joint, −1 if it is not free
    contact = indices("nw", 2)  # law and parameters of each wheel's contact
    rolling = array("nw")  # rolling resistance C_rr of each wheel [N s/m]
    actuator = indices(2)
    coupling = indices("nc", 2)  # law 0 is a rigid coupling
    actuator_memory = integer()  # numbers that the actuator law remembers, the first of `memory`
    coupling_memory = indices("nc", 2)  # where in `memory` those of each coupling law begin, and how many they are
    memory = array("nm")  # what laws remember at the start
    rigid = indices("nk")  # the rigid couplings
    rigid_gain = number()  # Baumgarte gain of those [1/s]
    armature = array("nj")  # rotor inertia reflected through gears [kg m² or kg]
    external = array("ne", 11)  # frame, world flag, point (3), force (3), torque (3)
    gravity = number()  # [m/s²]
    tolerance = number()  # [N], largest residual of a solved step
    iterations = integer()  # most Newton iterations a step
    lead = number()  # where in a step contacts, M and c are taken: 0 its beginning, 0.5 its middle
    single = integer()  # one Newton step a step, taken whole: the non-iterative method of T §2.4.4
    fixed_inertia = integer()
    single_body = integer()
    tip_cosine = number()


class DynamicScratch(Struct):
    """Work space of the dynamics of one rollout. n free velocities, nk rigid couplings."""

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
    c = array("nv")  # bias force, external forces subtracted
    law_in = array(5)
    law_out = array(4)
    law_jac = array(20)
    f = array("nw", 3)  # contact forces, contact frame [N]
    K = array("nw", 3, 3)  # ∂f/∂(contact velocity), the change of Δz over the step included
    k = array("nw", 3)  # ∂f/∂ω of the wheel
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
    lagrange = array("nk")  # forces of the rigid couplings
    H = array("n_solved", "n_solved")  # Newton matrix
    step = array("n_solved")
    residual = array("nv")  # force balance
    gap = array("nk")  # rate error of the rigid couplings, as a force
    u = array("nv")  # velocity at the end of the step
    u_base = array("nv")
    lagrange_base = array("nk")
    product = array("nv")  # work space
    q_before = array("nq")
    v_before = array("nv")
    memory_before = array("nm")
    acceleration = array("nv")  # of the last step, from which the next is started


def make_dynamic_scratch(vehicle: VehicleArrays, model: DynamicModel) -> DynamicScratch:
    """Work space for a vehicle and a model."""
    nf, na, nk, nm = len(vehicle.parent), len(vehicle.actuated), len(model.rigid), len(model.memory)
    return DynamicScratch.zeros(
        nf=nf, nw=len(vehicle.wheel), nc=len(vehicle.coupling_value), nv=5 + nf, nq=6 + nf, na=na, nk=nk, nm=nm,
        n_joint_in=3 + nm, n_joint_out=1 + nm, n_act_in=3 * na + nm + 1, n_act_out=na + nm, n_act_jac=na * na,
        n_solved=len(model.free) + nk,
    )  # fmt: skip


@kernel
def clear_dynamic_scratch(model, d):
    """As before any step: at rest, laws remembering what they start with."""
    for i in range(d.everything.size):
        d.everything[i] = 0.0
    for i in range(d.memory.size):
        d.memory[i] = model.memory[i]
