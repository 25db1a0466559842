"""Single evaluations for the public layer: frames, contacts, Jacobians and velocity of one state."""

import math

from grouser._compile.jit import entry, inlined, kernel
from grouser._compile.struct import record_type
from grouser._kernels.contact.geometry import contact_angle, contacts_at, contacts_on_ground_at, find_contacts
from grouser._kernels.kinematics.jacobian import point_jacobian, wheel_jacobians
from grouser._kernels.kinematics.velocity import centre_of_mass, constrained_velocity, force_at_centre_of_mass
from grouser._kernels.rotation import dot
from grouser._kernels.scratch import clear_scratch
from grouser._kernels.terrain.soils import find_soils
from grouser._kernels.vehicles.frames import pose_frames, turn

FOUND = record_type(
    point=3,  # p_world_contact [m]
    rotation=(3, 3),  # R_world_contact
    height_error=(),  # Δz [m]
    angle=(),  # contact angle [rad]
)
"""The contact of one wheel."""


@inlined
def point_in_world(s, point, out):
    """out ← p_world_point of a point given in body coordinates."""
    for i in range(3):
        out[i] = s.p_world_body[i]
        for k in range(3):
            out[i] += s.R_world_body[i, k] * point[k]


@entry
def pose_rows(vehicle, q, R, p, s):
    """R_world_frame (n, nf, 3, 3) and p_world_frame (n, nf, 3) of rows of states (n, nq), wheels with their spin."""
    clear_scratch(vehicle, s)
    for n in range(q.shape[0]):
        pose_frames(vehicle, q[n], s)
        for w in range(vehicle.wheel.size):
            frame = vehicle.wheel[w]
            turn(s.R, frame, 1, q[n, 6 + frame])
        for f in range(vehicle.parent.size):
            point_in_world(s, s.p[f], p[n, f])
            for i in range(3):
                for k in range(3):
                    R[n, f, i, k] = 0.0
                    for j in range(3):
                        R[n, f, i, k] += s.R_world_body[i, j] * s.R[f, j, k]


@kernel
def point_twist(vehicle, q, frame, offset, J, s):
    """J (6, nv), zero before: angular, then linear velocity of the point `offset` of a frame, body coordinates."""
    pose_frames(vehicle, q, s)
    if vehicle.wheel_of_frame[frame] >= 0:
        turn(s.R, frame, 1, q[6 + frame])
    for i in range(3):
        s.work[0, i] = s.p[frame, i]
        for k in range(3):
            s.work[0, i] += s.R[frame, i, k] * offset[k]
    point_jacobian(vehicle, s, frame, s.work[0], s.R[0], J[3:6])
    for i in range(3):
        J[i, i] = 1.0
    f = frame
    while f > 0:
        if vehicle.joint[f] < 3:
            for i in range(3):
                J[i, 5 + f] = s.R[f, i, vehicle.joint[f]]
        f = vehicle.parent[f]


@entry
def frame_jacobian_rows(vehicle, q, frame, offset, J, s):
    """`point_twist` of rows of states (n, nq) and points (n, 3), into J (n, 6, nv)."""
    clear_scratch(vehicle, s)
    for k in range(q.shape[0]):
        point_twist(vehicle, q[k], frame, offset[k], J[k], s)


@entry
def probe(vehicle, model, ground, q, v, found, A, s):
    """Contacts of state q into `found`, one record a wheel, their constraint matrix A, T (2.34), and velocity v.

    The known entries of v are given. Contacts are found on the ground, or at the angles in `found` where these are not
    NaN; with a ground law of address 0 there is no ground below. Returns whether there is ground under every wheel, and
    the rank.
    """
    clear_scratch(vehicle, s)
    pose_frames(vehicle, q, s)
    inside = True
    angles = s.x
    for w in range(vehicle.wheel.size):
        angles[w] = found[w].angle
    if math.isnan(angles[0]):
        inside = find_contacts(vehicle, ground, s)
    elif ground.address != 0:
        inside = contacts_on_ground_at(vehicle, ground, angles, s)
    else:
        contacts_at(vehicle, angles, s)
    if not inside:
        return False, 0
    find_soils(ground, model.soil_slip.shape[0], s, vehicle.wheel.size)
    wheel_jacobians(vehicle, s)
    for i in range(v.size):
        s.v[i] = v[i]
    rank = constrained_velocity(vehicle, model, q, s)
    for i in range(v.size):
        v[i] = s.v[i]
    for w in range(vehicle.wheel.size):
        contact = found[w]
        contact.height_error = s.height_error[w]
        contact.angle = contact_angle(vehicle, s, w)
        point_in_world(s, s.p_contact[w], contact.point)
        for i in range(3):
            for k in range(3):
                contact.rotation[i, k] = dot(s.R_world_body[i], s.axes[w, k])
    for r in range(A.shape[0]):
        for k in range(A.shape[1]):
            A[r, k] = s.A[r, k]
    return True, rank


@entry
def centre_forces(vehicle, gravity, q, v, p, f, s):
    """World position of the centre of mass and force per mass there, T (2.44), for rows of states and velocities."""
    clear_scratch(vehicle, s)
    for k in range(q.shape[0]):
        pose_frames(vehicle, q[k], s)
        for i in range(s.v.size):
            s.v[i] = v[k, i]
        centre_of_mass(vehicle, s, s.work[0])
        force_at_centre_of_mass(s, s.work[0], gravity, s.work[1], s.work[2])
        point_in_world(s, s.work[0], p[k])
        for i in range(3):
            f[k, i] = 0.0
            for j in range(3):
                f[k, i] += s.R_world_body[i, j] * s.work[2, j]
