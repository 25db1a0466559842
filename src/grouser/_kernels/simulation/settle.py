"""Placing a vehicle on the ground, T §2.2.4: height, attitude and passive joints for which the wheels just touch.

Joints that the wheels leave open, or that have a spring against them, rest where the springs carry the weight; the
equations are in `kinematics/suspension.py`.
"""

import math

from grouser._compile.jit import entry, kernel
from grouser._kernels.arrays import copy, fill
from grouser._kernels.contact.geometry import find_contacts
from grouser._kernels.kinematics.jacobian import wheel_jacobians
from grouser._kernels.kinematics.suspension import spring_sag
from grouser._kernels.least_squares import cholesky_solve
from grouser._kernels.rotation import euler_angles, set_attitude
from grouser._kernels.scratch import clear_scratch
from grouser._kernels.vehicles.frames import pose_frames

MOST_ITERATIONS = 60
LONGEST_STEP = 0.5  # [rad or m]: a linear model is not to be trusted further
MOST_LOADINGS = 60
STEADY = 1e-11  # change of the springs' deflection that ends the search [rad or m]


@kernel
def contact_errors(vehicle, ground, target, suspension, q, s, e):
    """Height and joint errors, weighed, into e; returns half their squared sum, NaN where the ground ends. T (2.28)."""
    pose_frames(vehicle, q, s)
    if not find_contacts(vehicle, ground, s):
        return math.nan
    nw = vehicle.wheel.size
    total = 0.0
    for w in range(nw):
        e[w] = s.height_error[w] - target[w]
        total += 0.5 * e[w] * e[w]
    for c in range(vehicle.coupling_value.size):
        error = -vehicle.coupling_value[c] - s.sag[c]
        for j in range(vehicle.parent.size - 1):
            error += vehicle.coupling[c, j] * q[7 + j]
        error *= suspension.weight[c]
        e[nw + c] = error
        total += 0.5 * error * error
    return total


@kernel
def error_jacobian(vehicle, suspension, s, J):
    """∂errors/∂(roll, pitch, z, free joints), T (2.29)–(2.32), with V⁻¹ of the Euler angles in place of Vᵀ.

    One row of J an unknown.
    """
    wheel_jacobians(vehicle, s)
    roll, _, _ = euler_angles(s.R_world_body)
    cosine = math.cos(roll)
    sine = math.sin(roll)
    R = s.R_world_body
    nw = vehicle.wheel.size
    free = suspension.free
    for r in range(nw + vehicle.coupling_value.size):
        weight = 1.0 if r < nw else suspension.weight[r - nw]
        a = s.A[3 * r + 2 if r < nw else 2 * nw + r]
        J[0, r] = a[0]
        J[1, r] = cosine * a[1] - sine * a[2]
        J[2, r] = a[3] * R[2, 0] + a[4] * R[2, 1] + a[5] * R[2, 2]
        for j in range(free.size):
            J[3 + j, r] = weight * a[6 + free[j]]


@kernel
def damped_step(J, e, m, n, damping, N, x):
    """x of (J Jᵀ + damping) x = −J e; returns its largest entry."""
    for i in range(n):
        x[i] = 0.0
        for r in range(m):
            x[i] -= J[i, r] * e[r]
        for j in range(i, n):
            N[i, j] = damping if i == j else 0.0
            for r in range(m):
                N[i, j] += J[i, r] * J[j, r]
    cholesky_solve(N, n, 0.0, 0.0, x)
    largest = 0.0
    for i in range(n):
        largest = max(largest, abs(x[i]))
    return largest


@kernel
def changed_state(q, x, free, scale, s, out):
    """`out` is q with roll, pitch, z and the free joints changed by x; yaw, x, y and the other joints stay."""
    roll, pitch, yaw = euler_angles(s.R_world_body)
    copy(q, out)
    set_attitude(out, roll + scale * x[0], pitch + scale * x[1], yaw)
    out[6] += scale * x[2]
    for j in range(free.size):
        out[7 + free[j]] += scale * x[3 + j]


@kernel
def touch_ground(vehicle, ground, target, suspension, tolerance, q, s):
    """Levenberg–Marquardt on q; returns (iterations, converged, inside). Height errors stay in s.height_error."""
    m = vehicle.wheel.size + vehicle.coupling_value.size
    free = suspension.free
    n = 3 + free.size
    damping = 1e-9
    cost = contact_errors(vehicle, ground, target, suspension, q, s, s.rhs)
    if math.isnan(cost):
        return 0, False, False
    for iteration in range(MOST_ITERATIONS):
        error_jacobian(vehicle, suspension, s, s.B)
        while True:
            largest = damped_step(s.B, s.rhs, m, n, damping, s.normal, s.x)
            changed_state(q, s.x, free, min(1.0, LONGEST_STEP / max(largest, LONGEST_STEP)), s, s.q_stage)
            trial = contact_errors(vehicle, ground, target, suspension, s.q_stage, s, s.row)
            if trial <= cost or largest < tolerance:
                break
            damping *= 10.0
            pose_frames(vehicle, q, s)
        if not trial <= cost:  # a step too small to matter made nothing better: this is the bottom
            contact_errors(vehicle, ground, target, suspension, q, s, s.rhs)
            return iteration, True, True
        damping = max(0.1 * damping, 1e-12)
        cost = trial
        copy(s.q_stage, q)
        copy(s.row, s.rhs[:m])
        if largest < tolerance:
            return iteration + 1, True, True
    return MOST_ITERATIONS, False, True


@kernel
def load_springs(vehicle, suspension, s):
    """s.sag ← deflection of the springs under the weight in the pose of s; returns by how much that changes it."""
    wheel_jacobians(vehicle, s)
    sag = s.row[: s.sag.size]
    spring_sag(vehicle, suspension, s, sag)
    change = 0.0
    for c in range(sag.size):
        change = max(change, abs(sag[c] - s.sag[c]))
        s.sag[c] = sag[c]
    return change


@kernel
def settle_state(vehicle, ground, target, suspension, tolerance, q, s):
    """`touch_ground`, and with springs again under the load of each pose, until that does not change any more.

    The loads come closer by the ratio of the weight's own stiffness to that of the springs. Where it is above one, the
    springs cannot hold the vehicle up, and no pose is found.
    """
    fill(s.sag, 0.0)
    iterations, converged, inside = touch_ground(vehicle, ground, target, suspension, tolerance, q, s)
    last = math.inf
    for _ in range(MOST_LOADINGS if suspension.springs > 0 else 0):
        if not (converged and inside):
            break
        change = load_springs(vehicle, suspension, s)
        more, converged, inside = touch_ground(vehicle, ground, target, suspension, tolerance, q, s)
        iterations += more
        if change < STEADY:
            return iterations, converged, inside
        if not change <= last:
            return iterations, False, inside
        last = change
    return iterations, converged and suspension.springs == 0, inside


@entry
def settle(vehicle, ground, target, suspension, tolerance, q, height_error, s):
    """Settle one state in place; returns (iterations, converged, inside)."""
    clear_scratch(vehicle, s)
    iterations, converged, inside = settle_state(vehicle, ground, target, suspension, tolerance, q, s)
    copy(s.height_error, height_error)
    return iterations, converged, inside
