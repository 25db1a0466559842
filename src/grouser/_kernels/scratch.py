"""Work space of one rollout, made once: nothing is allocated inside a step."""

from typing import NamedTuple

import numpy as np

from grouser._kernels.jit import allocating


class Scratch(NamedTuple):
    """Sizes as in VehicleArrays; nr = 3 nw + nc constraint rows, nv = 6 + nj. Body coordinates unless it says else."""

    R_world_body: np.ndarray  # (3, 3)
    p_world_body: np.ndarray  # (3,)
    R: np.ndarray  # (nf, 3, 3) R_body_frame; wheel frames without their spin
    p: np.ndarray  # (nf, 3) p_body_frame
    p_contact: np.ndarray  # (nw, 3) p_body_contact
    axes: np.ndarray  # (nw, 3, 3) rows: the contact frame's x (forward), y (left), z (ground normal)
    height_error: np.ndarray  # (nw,) Δz, T (2.8), negative is penetration [m]
    rolling_radius: np.ndarray  # (nw,) distance of the contact from the axle [m]
    rim: np.ndarray  # (3, 3) rows: a wheel's centre, its radius down, its radius ahead, world coordinates
    hub: np.ndarray  # (4, 3) rows: a wheel's centre, unit vectors down, ahead and along the axle, world coordinates
    A: np.ndarray  # (nr, nv) wheel Jacobians and coupling rows, T (2.34)
    rhs: np.ndarray  # (nr,) wanted constraint velocities, T (2.35), (2.36)
    row: np.ndarray  # (nr,) right side with the known velocities moved over, T (2.37)
    B: np.ndarray  # (nv, nr) weighted columns of A for the unknown velocities, one a row
    normal: np.ndarray  # (nv, nv) normal matrix, then its Cholesky factor
    x: np.ndarray  # (nv,) solution of the least squares
    work: np.ndarray  # (4, max(nr, nv)) work space of the pivoted QR
    pivot: np.ndarray  # (nv,) int64
    v: np.ndarray  # (nv,) joint-space velocity [ω, v, joint rates]
    command: np.ndarray  # (na,)
    drive_in: np.ndarray  # (1 + nq + nv,) time, state, velocity
    ground_in: np.ndarray  # (2,)
    ground_out: np.ndarray  # (3,)
    slip_in: np.ndarray  # (9,)
    slip_out: np.ndarray  # (6,)
    unused: np.ndarray  # (1,) the Jacobian of laws that have none
    stage: np.ndarray  # (5, nv) Runge–Kutta slopes and their sum
    q_stage: np.ndarray  # (nq,)
    twists: np.ndarray  # (2, 6) work space of the group operations


@allocating
def make_scratch(vehicle):
    nf = vehicle.parent.size
    nw = vehicle.wheel.size
    nv = 5 + nf
    nr = 3 * nw + vehicle.coupling_value.size
    scratch = Scratch(
        np.zeros((3, 3)),
        np.zeros(3),
        np.zeros((nf, 3, 3)),
        np.zeros((nf, 3)),
        np.zeros((nw, 3)),
        np.zeros((nw, 3, 3)),
        np.zeros(nw),
        np.zeros(nw),
        np.zeros((3, 3)),
        np.zeros((4, 3)),
        np.zeros((nr, nv)),
        np.zeros(nr),
        np.zeros(nr),
        np.zeros((nv, nr)),
        np.zeros((nv, nv)),
        np.zeros(nv),
        np.zeros((4, max(nr, nv))),
        np.zeros(nv, np.int64),
        np.zeros(nv),
        np.zeros(vehicle.actuated.size),
        np.zeros(2 + 2 * nv),
        np.zeros(2),
        np.zeros(3),
        np.zeros(9),
        np.zeros(6),
        np.zeros(1),
        np.zeros((5, nv)),
        np.zeros(nv + 1),
        np.zeros((2, 6)),
    )
    for i in range(3):
        scratch.R[0, i, i] = 1.0
    for c in range(vehicle.coupling_value.size):
        for j in range(nf - 1):
            scratch.A[3 * nw + c, 6 + j] = vehicle.coupling[c, j]
    return scratch
