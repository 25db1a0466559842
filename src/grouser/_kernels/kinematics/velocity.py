"""Constrained velocity, T (2.33)–(2.38): the stabilised least-squares solution, and the slip added to it, T §2.3."""

from grouser._compile.jit import inlined, kernel
from grouser._compile.struct import Struct, array, indices, integer, number, struct
from grouser._kernels.kinematics.suspension import Suspension, spring_sag
from grouser._kernels.law import call_law
from grouser._kernels.least_squares import least_squares
from grouser._kernels.rotation import add, cross, put, vector
from grouser._kernels.vehicles.kinds import turn_along

NO_SLIP = 0
SLIP_ON_BODY = 1
SLIP_AT_WHEELS = 2


class KinematicModel(Struct):
    """What the velocity solution needs in addition to vehicle and ground."""

    counts = indices(2)  # numbers of known and of unknown velocities
    known = indices("nv")  # entries of the joint-space velocity that are given, as many as there are
    unknown = indices("nv")  # the others
    weight = array("nr")  # weight of each constraint row in the least squares
    gain = array("nr")  # Baumgarte gain σ of each row [1/s]; zero for slip rows
    suspension = struct(Suspension)
    target = array("nw")  # height error the contacts settle to [m]
    slip_mode = integer()  # NO_SLIP, SLIP_ON_BODY or SLIP_AT_WHEELS
    slip_address = integer()
    slip_par = integer()
    soil_slip = indices(
        "ns", 2
    )  # slip law and parameters on each soil, 0 for none; no rows: the model's own everywhere
    tip_cosine = number()  # cosine of the tilt beyond which the vehicle counts as rolled over
    gravity = number()  # [m/s²]


@inlined
def wanted_velocities(vehicle, model, q, s):
    """Right side of (2.34): no slip, and height and joint errors that decay, T (2.35), (2.36).

    Sprung joints return to where they carry the weight: s.sag, see `suspension.py`.
    """
    nw = vehicle.wheel.size
    for w in range(nw):
        s.rhs[3 * w] = 0.0
        s.rhs[3 * w + 1] = 0.0
        s.rhs[3 * w + 2] = -model.gain[3 * w + 2] * (s.height_error[w] - model.target[w])
    for c in range(vehicle.coupling_value.size):
        error = -vehicle.coupling_value[c] - s.sag[c]
        for j in range(vehicle.parent.size - 1):
            error += vehicle.coupling[c, j] * q[7 + j]
        s.rhs[3 * nw + c] = -model.gain[3 * nw + c] * error


@inlined
def gather_rows(model, s):
    """Weighted rows of the least squares for the unknown entries of s.v into s.B and s.row, T (2.37)."""
    for r in range(s.rhs.size):
        total = s.rhs[r]
        for i in range(model.counts[0]):
            k = model.known[i]
            total -= s.A[r, k] * s.v[k]
        s.row[r] = total * model.weight[r]
        for i in range(model.counts[1]):
            s.B[i, r] = s.A[r, model.unknown[i]] * model.weight[r]


@inlined
def put_velocity(model, s):
    """Unknown entries of s.v ← the solution s.x."""
    for i in range(model.counts[1]):
        s.v[model.unknown[i]] = s.x[i]


@inlined
def solve_velocity(model, s):
    """Unknown entries of s.v from the known ones, T (2.37), (2.38), weighted; returns the rank."""
    gather_rows(model, s)
    rank = least_squares(s.B, s.row, s.rhs.size, model.counts[1], s.normal, s.x, s.work, s.pivot)
    put_velocity(model, s)
    return rank


@kernel
def centre_of_mass(vehicle, s, r):
    """Centre of mass of the whole vehicle in body coordinates."""
    total = 0.0
    for i in range(3):
        r[i] = 0.0
    for f in range(vehicle.parent.size):
        m = vehicle.mass[f]
        if m > 0.0:
            total += m
            for i in range(3):
                arm = s.p[f, i]
                for k in range(3):
                    arm += s.R[f, i, k] * vehicle.com[f, k]
                r[i] += m * arm
    for i in range(3):
        r[i] /= total


@kernel
def force_at_centre_of_mass(s, r, gravity, v_cg, f_cg):
    """Velocity of the centre of mass and the force per mass there, T (2.44)–(2.46): g − ω × v_cg, body coordinates."""
    put(add(cross(s.v, r), 1.0, vector(s.v, 3)), v_cg, 0)
    centripetal = cross(s.v, v_cg)
    for i in range(3):
        f_cg[i] = -gravity * s.R_world_body[2, i] - centripetal[i]


@inlined
def find_slip_inputs(vehicle, model, s):
    """What slip laws take into s.slip_in, and the centre of mass into s.work[3]."""
    r = s.work[3]
    centre_of_mass(vehicle, s, r)
    for i in range(3):
        s.slip_in[i] = s.v[i]
    force_at_centre_of_mass(s, r, model.gravity, s.slip_in[3:6], s.slip_in[6:9])


@inlined
def slip_twist(address, par, s):
    """Slip twist of the body frame by a law into s.slip_out, from what `find_slip_inputs` found."""
    call_law(address, par, s.slip_in, s.slip_out, s.unused)
    shift_slip(s)


@inlined
def shift_slip(s):
    """s.slip_out, a twist at the centre of mass, becomes that of the body's origin."""
    out = s.slip_out
    put(add(vector(out, 3), -1.0, cross(out, s.work[3])), out, 3)


@kernel
def body_slip(vehicle, model, s):
    """Slip twist of the body frame into s.slip_out, T (2.48)–(2.50).

    Slip law: x = (ω, v_cg, force per mass at the centre of mass), out = (ω_slip, v_slip) there, body coordinates.
    """
    find_slip_inputs(vehicle, model, s)
    slip_twist(model.slip_address, model.slip_par, s)


@inlined
def slip_at_wheel(w, s):
    """Slip of wheel w as if the body had the twist s.slip_out, into its rows of s.rhs, T (2.52)."""
    for r in range(3 * w, 3 * w + 2):
        s.rhs[r] = 0.0
        for i in range(6):
            s.rhs[r] += s.A[r, i] * s.slip_out[i]


@kernel
def slip_by_soil(vehicle, model, s):
    """As `body_slip`, of each wheel by the law of its soil: into s.rhs, or their mean over the wheels into s.slip_out.

    The mean is taken one by one, so that it is exact where all are equal.
    """
    find_slip_inputs(vehicle, model, s)
    mean = s.twists[0]
    for i in range(6):
        mean[i] = 0.0
    for w in range(vehicle.wheel.size):
        address = model.soil_slip[s.soil[w], 0]
        if address != 0:
            slip_twist(address, model.soil_slip[s.soil[w], 1], s)
        else:
            for i in range(6):
                s.slip_out[i] = 0.0
        if model.slip_mode == SLIP_ON_BODY:
            for i in range(6):
                mean[i] += (s.slip_out[i] - mean[i]) / (w + 1.0)
        else:
            slip_at_wheel(w, s)
    for i in range(6):
        s.slip_out[i] = mean[i]


@kernel
def constrained_velocity(vehicle, model, q, s):
    """Joint-space velocity into s.v, whose known entries are set; returns the rank of the solution."""
    if model.suspension.springs > 0:
        spring_sag(vehicle, model.suspension, s, s.sag)
    wanted_velocities(vehicle, model, q, s)
    rank = solve_velocity(model, s)
    if model.slip_mode != NO_SLIP:
        by_soil = model.soil_slip.shape[0] > 0
        if by_soil:
            slip_by_soil(vehicle, model, s)
        else:
            body_slip(vehicle, model, s)
        if model.slip_mode == SLIP_ON_BODY:  # (2.51)
            for i in range(6):
                s.v[i] += s.slip_out[i]
        else:  # (2.52)
            if not by_soil:
                for w in range(vehicle.wheel.size):
                    slip_at_wheel(w, s)
            solve_velocity(model, s)
    turn_along(vehicle, s.v)
    return rank
