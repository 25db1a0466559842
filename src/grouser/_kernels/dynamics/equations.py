"""Equations of motion of a state, M v̇ + c = forces, T Algorithms 3 and 4; the state at the end of a step, T (2.86)."""

from grouser._compile.jit import inlined, kernel
from grouser._kernels.arrays import copy
from grouser._kernels.dynamics.inertia import (
    bias_force,
    joint_space_inertia,
    set_inertias,
    set_rotation,
    set_subspaces,
    single_body_bias,
    work_rate,
)
from grouser._kernels.rotation import add, cross, dot, exponential, product, put, put_quaternion, rotate, scale, vector


@kernel
def external_forces(vehicle, external, q, s, d):
    """Subtract external forces from the bias force: c ← c − Jᵀ f for each row of `external`."""
    for e in range(external.shape[0]):
        frame = int(external[e, 0])
        R = d.R
        set_rotation(q, frame, vehicle.wheel_of_frame[frame] >= 0, s, R)
        for i in range(3):
            d.law_in[i] = s.p[frame, i]
            for k in range(3):
                d.law_in[i] += R[i, k] * external[e, 2 + k]
        for i in range(3):
            force = 0.0
            torque = 0.0
            for k in range(3):
                turned = s.R_world_body[k, i] if external[e, 1] != 0.0 else R[i, k]
                force += turned * external[e, 5 + k]
                torque += turned * external[e, 8 + k]
            d.momentum[0, i] = torque
            d.momentum[0, 3 + i] = force
        f = d.momentum[0]
        put(add(f, 1.0, cross(d.law_in, vector(f, 3))), f, 0)
        for i in range(6):
            d.c[i] -= f[i]
        while frame > 0:
            d.c[5 + frame] -= work_rate(d.S[frame], f)
            frame = vehicle.parent[frame]


@kernel
def join_inertia(vehicle, d):
    """M of wheels that turn with another is added to its joint: one velocity turns both."""
    for k in range(vehicle.follower.size):
        own = 5 + vehicle.wheel[vehicle.follower[k]]
        leader = 5 + vehicle.leader[vehicle.follower[k]]
        for i in range(d.c.size):
            d.M[leader, i] += d.M[own, i]
        for i in range(d.c.size):
            d.M[i, leader] += d.M[i, own]
        for i in range(d.c.size):
            d.M[own, i] = 0.0
            d.M[i, own] = 0.0


@inlined
def join_bias(vehicle, d):
    """As `join_inertia` for c."""
    for k in range(vehicle.follower.size):
        w = vehicle.follower[k]
        d.c[5 + vehicle.leader[w]] += d.c[5 + vehicle.wheel[w]]
        d.c[5 + vehicle.wheel[w]] = 0.0


@inlined
def equations_of_motion(vehicle, model, q, v, first, s, d):
    """M and c of the state into d; M only the first time if the inertia is held fixed, T §2.4.4."""
    set_subspaces(vehicle, s, d)
    if first or not model.fixed_inertia:
        set_inertias(vehicle, q, s, d)
        joint_space_inertia(vehicle, model.armature, s, d)
        if vehicle.follower.size > 0:
            join_inertia(vehicle, d)
    if model.single_body:
        single_body_bias(model.gravity, v, s, d)
    else:
        if model.fixed_inertia and not first:
            set_inertias(vehicle, q, s, d)
        bias_force(vehicle, model.gravity, v, s, d)
    if model.external.shape[0] > 0:
        copy(d.c, d.pushed)
        external_forces(vehicle, model.external, q, s, d)
        for i in range(d.c.size):
            d.pushed[i] -= d.c[i]
    join_bias(vehicle, d)


@kernel
def integrate(q, v, u, dt, lead, flies, out):
    """State `out` reached from q within dt, as the velocity goes from v to u; out may be q itself.

    Joints, orientation and origin move with u, or with the mean of v and u if `lead` is ½; so does the orientation of
    a vehicle that flies, which keeps its momentum in world axes. The origin moves in a straight line, as that of a
    vehicle which slides or flies while it turns: along the new velocity, in the axes of the step's start. What of the
    change of velocity is just the turning of u with the body, as where wheels hold the vehicle on a circle, counts
    half: the chord of an arc.
    """
    new = 1.0 - lead
    old = 0.5 if flies else lead
    turn = add(scale(dt * (1.0 - old), u), dt * old, v)
    rotation = exponential(turn)
    end = rotate(rotation, vector(u, 3))
    change = add(end, -1.0, vector(v, 3))
    mean = add(end, -lead, change)
    if lead == 0.0:
        turning = cross(turn, vector(u, 3))
        size = dot(turning, turning)
        if size > 0.0:
            share = min(max(dot(change, turning) / size, 0.0), 1.0)
            mean = add(end, -0.5 * share, turning)
    step = rotate(q, mean)
    put_quaternion(product(q, rotation), out)
    for i in range(3):
        out[4 + i] = q[4 + i] + dt * step[i]
    for j in range(6, v.size):
        out[j + 1] = q[j + 1] + dt * (lead * v[j] + new * u[j])
