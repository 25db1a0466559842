"""How far the weight deflects the springs of a vehicle, as an elastic structure in NumPy: an oracle for settling."""

import numpy as np

import grouser as gr
from grouser.kinematics import frame_jacobian

GIVE = 1e-3  # [m] under a wheel's share of the weight


def contact_stiffness(vehicle):
    """[N/m]; what the stiffness of a spring is compared with."""
    return vehicle.mass * 9.81 / (vehicle.n_wheels * GIVE)


def coupling_weights(vehicle):
    """Weight of every coupling against a contact, 1 for rigid ones."""
    K = contact_stiffness(vehicle)
    return np.array([1.0 if c.is_rigid else np.sqrt(1.0 / (1.0 + K / c.stiffness)) for c in vehicle.couplings])


def spring_sag(vehicle, state, contacts, gravity=9.81):
    """Deflection of every coupling under the weight [rad or m], zero for rigid ones, shape (nc,)."""
    R_world_body = gr.rotation.from_quaternion(state[:4])
    nv, nw = 6 + vehicle.n_joints, vehicle.n_wheels
    slope = np.zeros(nv)  # of the height of the centre of mass, times the mass
    for f in vehicle.frames:
        slope += f.mass * (R_world_body @ frame_jacobian(vehicle, state, f.name, f.com)[3:])[2]
    coupling = np.hstack([np.zeros((len(vehicle.couplings), 6)), vehicle.arrays.coupling])
    moving = np.einsum("ji,wjk,wkv->wiv", R_world_body, contacts.rotation, contacts.jacobian).mean(axis=0)
    rows = [contacts.jacobian[:, 2], coupling_weights(vehicle)[:, None] * coupling, moving[:2], np.eye(nv)[2:3]]
    steered = {s.joint for s in vehicle.steering}
    passive = [not (f.actuated or f.is_wheel or f.name in steered) for f in vehicle.frames[1:]]
    free = np.flatnonzero([True] * 6 + passive)
    B = np.vstack(rows if nw > 1 else rows[:-1])[:, free]
    K = contact_stiffness(vehicle)
    x = np.zeros(nv)
    x[free] = -np.linalg.pinv(B.T @ B, rcond=1e-9) @ slope[free] * gravity / K
    give = np.array([0.0 if c.is_rigid else K / (K + c.stiffness) for c in vehicle.couplings])
    return give * (coupling @ x)
