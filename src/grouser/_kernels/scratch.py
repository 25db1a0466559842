"""Work space of one rollout, made once: nothing is allocated inside a step."""

import numpy as np

from grouser._compile.jit import kernel
from grouser._compile.struct import Struct, array, block, indices, record
from grouser._kernels.contact.search import SAMPLES, SEARCH
from grouser._kernels.vehicles.arrays import VehicleArrays


class Scratch(Struct):
    """Sizes as in VehicleArrays; nr = 3 nw + nc constraint rows, nv = 6 + nj. Body coordinates unless it says else.

    nk = 2 nw + nh contacts: the first of each wheel, the second of each wheel, the points of the hull. Kinematics has
    the first nw of them. `rows` of A: three a wheel, the couplings, then three for each of the other contacts.
    """

    everything = block()
    R_world_body = array(3, 3)
    p_world_body = array(3)
    R = array("nf", 3, 3)  # R_body_frame; wheel frames without their spin
    p = array("nf", 3)  # p_body_frame
    p_contact = array("nk", 3)  # p_body_contact
    axes = array("nk", 3, 3)  # rows: the contact frame's x (forward), y (left), z (ground normal)
    height_error = array("nk")  # Δz, T (2.8), negative is penetration [m]; infinite: there is no such contact now
    live = indices(1)  # contacts from here on are none now; of dynamics only
    rolling_radius = array("nk")  # distance of the contact from the axle [m]; 0 of the hull
    soil = indices("nk")  # which of the model's soils the contact is on
    rims = array("nw", 3, 3)  # of each wheel its centre, its radius down, its radius ahead, world coordinates
    search = record(SEARCH, "n_search")  # search of the first contact of each wheel, then of the second
    points = array("n_points2")  # x of all points looked up at once, then y
    heights = array("n_points")  # of the rim there
    grounds = array("n_points3")  # heights of the ground there, slopes along x, slopes along y
    hub = array(4, 3)  # rows: a wheel's centre, unit vectors down, ahead and along the axle, world coordinates
    A = array("rows", "nv")  # wheel Jacobians and coupling rows, T (2.34)
    sag = array("nc")  # deflection of each coupling under the weight; zero without springs [rad or m]
    rhs = array("nr")  # wanted constraint velocities, T (2.35), (2.36)
    row = array("nr")  # right side with the known velocities moved over, T (2.37)
    B = array("nv", "nr")  # weighted columns of A for the unknown velocities, one a row
    normal = array("nv", "nv")  # normal matrix, then its Cholesky factor
    x = array("nv")  # solution of the least squares
    work = array(4, "widest")  # work space of the pivoted QR
    pivot = indices("nv")
    v = array("nv")  # joint-space velocity [ω, v, joint rates]
    command = array("na")
    drive_in = array("n_drive")  # time, state, velocity
    ground_in = array(2)
    ground_out = array(3)
    slip_in = array(9)
    slip_out = array(6)
    unused = array(1)  # the Jacobian of laws that have none
    stage = array(5, "nv")  # Runge–Kutta slopes and their sum
    q_stage = array("nq")
    twists = array(2, 6)  # work space of the group operations


def make_scratch(vehicle: VehicleArrays) -> Scratch:
    """Work space for a vehicle."""
    nf, nw, nc = len(vehicle.parent), len(vehicle.wheel), len(vehicle.coupling_value)
    nh = len(vehicle.hull_frame)
    nv, nr, points = 5 + nf, 3 * nw + nc, max(SAMPLES * nw, nh)
    s = Scratch.zeros(
        nf=nf, nw=nw, nc=nc, nr=nr, nv=nv, nq=nv + 1, na=len(vehicle.actuated), widest=max(nr, nv), n_drive=2 + 2 * nv,
        nk=2 * nw + nh, n_search=2 * nw, rows=nr + 3 * (nw + nh),
        n_points=points, n_points2=2 * points, n_points3=3 * points,
    )  # fmt: skip
    s.R[0] = np.eye(3)
    s.A[3 * nw : nr, 6:] = vehicle.coupling
    return s


@kernel
def clear_scratch(vehicle, s):
    """As `make_scratch` leaves it: zero but for what never changes, the body's own frame and the coupling rows."""
    for i in range(s.everything.size):
        s.everything[i] = 0.0
    for i in range(3):
        s.R[0, i, i] = 1.0
    nw = vehicle.wheel.size
    for c in range(vehicle.coupling_value.size):
        for j in range(vehicle.parent.size - 1):
            s.A[3 * nw + c, 6 + j] = vehicle.coupling[c, j]
