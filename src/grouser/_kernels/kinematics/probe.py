"""Single evaluations for the public layer: frames, contacts, Jacobians and velocity of one state."""

from grouser._compile.jit import entry, kernel
from grouser._kernels.contact.geometry import contact_angle, contacts_at, contacts_on_ground_at, find_contacts
from grouser._kernels.kinematics.jacobian import point_jacobian, wheel_jacobians
from grouser._kernels.kinematics.velocity import centre_of_mass, constrained_velocity, force_at_centre_of_mass
from grouser._kernels.scratch import clear_scratch
from grouser._kernels.vehicles.frames import pose_frames, turn

FROM_GROUND = 0
AT_ANGLES_ON_GROUND = 1
AT_ANGLES = 2


@kernel
def world_frames(vehicle, q, R, p, s):
    """R_world_frame (nf, 3, 3) and p_world_frame (nf, 3), wheels with their spin."""
    pose_frames(vehicle, q, s)
    for w in range(vehicle.wheel.size):
        frame = vehicle.wheel[w]
        turn(s.R, frame, 1, q[6 + frame])
    for f in range(vehicle.parent.size):
        for i in range(3):
            p[f, i] = s.p_world_body[i]
            for k in range(3):
                p[f, i] += s.R_world_body[i, k] * s.p[f, k]
                R[f, i, k] = 0.0
                for j in range(3):
                    R[f, i, k] += s.R_world_body[i, j] * s.R[f, j, k]


@entry
def pose(vehicle, q, R, p, s):
    """`world_frames` of one state."""
    clear_scratch(vehicle, s)
    world_frames(vehicle, q, R, p, s)


@entry
def pose_rows(vehicle, q, R, p, s):
    """`world_frames` of rows of states (n, nq), into R (n, nf, 3, 3) and p (n, nf, 3)."""
    clear_scratch(vehicle, s)
    for k in range(q.shape[0]):
        world_frames(vehicle, q[k], R[k], p[k], s)


@kernel
def point_twist(vehicle, q, frame, offset, J, s):
    """J (6, nv): angular, then linear velocity of the point `offset` of a frame, body coordinates."""
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
def frame_jacobian(vehicle, q, frame, offset, J, s):
    """`point_twist` of one state; J is zero before."""
    clear_scratch(vehicle, s)
    point_twist(vehicle, q, frame, offset, J, s)


@entry
def frame_jacobian_rows(vehicle, q, frame, offset, J, s):
    """`point_twist` of rows of states (n, nq) and points (n, 3), into J (n, 6, nv)."""
    clear_scratch(vehicle, s)
    for k in range(q.shape[0]):
        point_twist(vehicle, q[k], frame, offset[k], J[k], s)


@entry
def probe(vehicle, model, ground, mode, angles, q, v, p, R, dz, angle, A, s):
    """Contacts of state q (p, R of the contact frames in the world, Δz, angle), Jacobian A and velocity v.

    The known entries of v are given. Returns whether there is ground under every wheel, and the rank.
    """
    clear_scratch(vehicle, s)
    pose_frames(vehicle, q, s)
    inside = True
    if mode == FROM_GROUND:
        inside = find_contacts(vehicle, ground, s)
    elif mode == AT_ANGLES_ON_GROUND:
        inside = contacts_on_ground_at(vehicle, ground, angles, s)
    else:
        contacts_at(vehicle, angles, s)
    if not inside:
        return False, 0
    wheel_jacobians(vehicle, s)
    for i in range(v.size):
        s.v[i] = v[i]
    rank = constrained_velocity(vehicle, model, q, s)
    for i in range(v.size):
        v[i] = s.v[i]
    for w in range(vehicle.wheel.size):
        dz[w] = s.height_error[w]
        angle[w] = contact_angle(vehicle, s, w)
        for i in range(3):
            p[w, i] = s.p_world_body[i]
            for k in range(3):
                p[w, i] += s.R_world_body[i, k] * s.p_contact[w, k]
                R[w, i, k] = 0.0
                for j in range(3):
                    R[w, i, k] += s.R_world_body[i, j] * s.axes[w, k, j]
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
        for i in range(3):
            p[k, i] = s.p_world_body[i]
            f[k, i] = 0.0
            for j in range(3):
                p[k, i] += s.R_world_body[i, j] * s.work[0, j]
                f[k, i] += s.R_world_body[i, j] * s.work[2, j]
