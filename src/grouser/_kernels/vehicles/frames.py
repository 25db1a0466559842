"""Forward position kinematics, T Algorithm 1, in body coordinates."""

import math

from grouser._compile.jit import inlined
from grouser._kernels.rotation import matrix


@inlined
def pose_frames(vehicle, q, s):
    """R_body_frame and p_body_frame of every frame. Wheels are left unspun: no contact needs their spin."""
    matrix(q, s.R_world_body)
    for i in range(3):
        s.p_world_body[i] = q[4 + i]
    R = s.R
    p = s.p
    R0 = vehicle.rotation
    r0 = vehicle.offset
    for f in range(1, vehicle.parent.size):
        parent = vehicle.parent[f]
        for i in range(3):
            a = R[parent, i, 0]
            b = R[parent, i, 1]
            c = R[parent, i, 2]
            p[f, i] = p[parent, i] + a * r0[f, 0] + b * r0[f, 1] + c * r0[f, 2]
            R[f, i, 0] = a * R0[f, 0, 0] + b * R0[f, 1, 0] + c * R0[f, 2, 0]
            R[f, i, 1] = a * R0[f, 0, 1] + b * R0[f, 1, 1] + c * R0[f, 2, 1]
            R[f, i, 2] = a * R0[f, 0, 2] + b * R0[f, 1, 2] + c * R0[f, 2, 2]
        axis = vehicle.joint[f]
        if axis >= 3:
            for i in range(3):
                p[f, i] += R[f, i, axis - 3] * q[6 + f]
        elif vehicle.wheel_of_frame[f] < 0:
            turn(R, f, axis, q[6 + f])


@inlined
def turn(R, f, axis, angle):
    """R[f] ← R[f] Rot(axis, angle): only the two other columns change."""
    b = axis + 1 if axis < 2 else 0
    c = axis - 1 if axis > 0 else 2
    cosine = math.cos(angle)
    sine = math.sin(angle)
    for i in range(3):
        rb = R[f, i, b]
        rc = R[f, i, c]
        R[f, i, b] = cosine * rb + sine * rc
        R[f, i, c] = cosine * rc - sine * rb
