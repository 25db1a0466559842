"""The dynamic model as the engine sees it, and the work space of its steps."""

from typing import NamedTuple

import numpy as np

from grouser._kernels.jit import allocating


class DynamicModel(NamedTuple):
    """What forward dynamics needs beside vehicle and ground."""

    free: np.ndarray  # (n,) int64, entries of the joint-space velocity that are solved for
    ideal: bool  # actuated joints follow their command exactly and are not solved for
    support: np.ndarray  # (nw, n) int64, positions in `free` that move each wheel's contact
    support_size: np.ndarray  # (nw,) int64
    spin: np.ndarray  # (nw,) int64, position in `free` of each wheel's own joint, −1 if it is not free
    contact: np.ndarray  # (nw, 2) int64, law and parameters of each wheel's contact
    rolling: np.ndarray  # (nw,) rolling resistance C_rr of each wheel [N s/m]
    actuator: np.ndarray  # (2,) int64
    coupling: np.ndarray  # (nc, 2) int64; law 0 is a rigid coupling
    rigid: np.ndarray  # (nk,) int64, the rigid couplings
    rigid_gain: float  # Baumgarte gain of those [1/s]
    armature: np.ndarray  # (nj,) rotor inertia reflected through gears [kg m² or kg]
    external: np.ndarray  # (ne, 11) frame, world flag, point (3), force (3), torque (3)
    gravity: float  # [m/s²]
    tolerance: float  # [N], largest residual of a solved step
    iterations: int  # most Newton iterations a step
    lead: float  # where in a step contacts, M and c are taken: 0 its beginning, 0.5 its middle
    single: bool  # one Newton step a step, taken whole: the non-iterative method of T §2.4.4
    fixed_inertia: bool
    single_body: bool
    tip_cosine: float


class DynamicScratch(NamedTuple):
    """Work space of the dynamics of one rollout. n free velocities, nk rigid couplings."""

    S: np.ndarray  # (nf, 6) motion subspaces
    R: np.ndarray  # (3, 3)
    I: np.ndarray  # (nf, 10) rigid-body inertias
    composite: np.ndarray  # (nf, 10)
    M: np.ndarray  # (nv, nv) joint-space inertia
    V: np.ndarray  # (nf, 6) spatial velocities
    a: np.ndarray  # (nf, 6) spatial accelerations
    force: np.ndarray  # (nf, 6)
    momentum: np.ndarray  # (1, 6)
    c: np.ndarray  # (nv,) bias force, external forces subtracted
    law_in: np.ndarray  # (5,)
    law_out: np.ndarray  # (3,)
    law_jac: np.ndarray  # (15,)
    f: np.ndarray  # (nw, 3) contact forces, contact frame [N]
    K: np.ndarray  # (nw, 3, 3) ∂f/∂(contact velocity), the change of Δz over the step included
    k: np.ndarray  # (nw, 3) ∂f/∂ω of the wheel
    joint_force: np.ndarray  # (nc,) force of each coupling
    joint_slope: np.ndarray  # (nc,) its derivative by the coupling's rate
    act_in: np.ndarray  # (4 na + 1,) command, rate, angle, memory, dt
    act_out: np.ndarray  # (2 na,) torque, next memory
    act_jac: np.ndarray  # (na²,) ∂torque/∂rate, row by row
    torque: np.ndarray  # (na,) torque of each actuator
    memory: np.ndarray  # (na,) what an actuator remembers between steps
    lagrange: np.ndarray  # (nk,) forces of the rigid couplings
    H: np.ndarray  # (n + nk, n + nk) Newton matrix
    step: np.ndarray  # (n + nk,)
    residual: np.ndarray  # (nv,) force balance
    gap: np.ndarray  # (nk,) rate error of the rigid couplings, as a force
    u: np.ndarray  # (nv,) velocity at the end of the step
    u_base: np.ndarray  # (nv,)
    lagrange_base: np.ndarray  # (nk,)
    product: np.ndarray  # (nv,) work space
    q_before: np.ndarray  # (nq,)
    v_before: np.ndarray  # (nv,)
    memory_before: np.ndarray  # (na,)
    acceleration: np.ndarray  # (nv,) of the last step, from which the next is started


@allocating
def make_dynamic_scratch(vehicle, model):
    nf = vehicle.parent.size
    nw = vehicle.wheel.size
    nc = vehicle.coupling_value.size
    na = vehicle.actuated.size
    nv = 5 + nf
    nk = model.rigid.size
    n = model.free.size + nk
    return DynamicScratch(
        np.zeros((nf, 6)),
        np.zeros((3, 3)),
        np.zeros((nf, 10)),
        np.zeros((nf, 10)),
        np.zeros((nv, nv)),
        np.zeros((nf, 6)),
        np.zeros((nf, 6)),
        np.zeros((nf, 6)),
        np.zeros((1, 6)),
        np.zeros(nv),
        np.zeros(5),
        np.zeros(3),
        np.zeros(15),
        np.zeros((nw, 3)),
        np.zeros((nw, 3, 3)),
        np.zeros((nw, 3)),
        np.zeros(nc),
        np.zeros(nc),
        np.zeros(4 * na + 1),
        np.zeros(2 * na),
        np.zeros(na * na),
        np.zeros(na),
        np.zeros(na),
        np.zeros(nk),
        np.zeros((n, n)),
        np.zeros(n),
        np.zeros(nv),
        np.zeros(nk),
        np.zeros(nv),
        np.zeros(nv),
        np.zeros(nk),
        np.zeros(nv),
        np.zeros(nv + 1),
        np.zeros(nv),
        np.zeros(na),
        np.zeros(nv),
    )
