"""Velocity and motion of eight kinematic rollouts at once: as `kinematics/velocity.py` and `group.py`."""

from grouser._compile.jit import inlined, kernel
from grouser._compile.lanes import LANES, bits, lane, only, with_lane
from grouser._kernels.kinematics.velocity import (
    NO_SLIP,
    SLIP_ON_BODY,
    find_slip_inputs,
    gather_rows,
    put_velocity,
    shift_slip,
    slip_at_wheel,
    wanted_velocities,
)
from grouser._kernels.law import call_law
from grouser._kernels.least_squares import _NOTHING, _PIVOT, cholesky_solve, least_squares, normal_equations
from grouser._kernels.rotation import add, cross, dot, product, put_quaternion, rotate

MOST_TURN = 1.0
"""Angle of a step [rad] up to which the series of its rotation are exact to 1e-12."""


@kernel
def solve_alone(s, one, m, n, k):
    """The least squares of lane k, which may lack rank, by the solution of a single rollout."""
    for r in range(m):
        one.row[r] = lane(s.row[r], k)
        for i in range(n):
            one.B[i, r] = lane(s.B[i, r], k)
    least_squares(one.B, one.row, m, n, one.normal, one.x, one.work, one.pivot)
    for i in range(n):
        s.x[i] = with_lane(s.x[i], k, one.x[i])


@kernel
def solve_lane_velocity(model, s, one, alive):
    """As `solve_velocity`."""
    n = model.counts[1]
    m = s.rhs.size
    gather_rows(model, s)
    largest = normal_equations(s.B, s.row, m, n, s.normal, s.x)
    weak = bits(only(alive, cholesky_solve(s.normal, n, _PIVOT, _NOTHING * largest, s.x)))
    if weak != 0:
        for k in range(LANES):
            if (weak >> k) & 1:
                solve_alone(s, one, m, n, k)
    put_velocity(model, s)


@kernel
def lane_body_slip(vehicle, model, s, one):
    """As `body_slip`: the law is called lane by lane."""
    find_slip_inputs(vehicle, model, s)
    for k in range(LANES):
        for i in range(9):
            one.slip_in[i] = lane(s.slip_in[i], k)
        call_law(model.slip_address, model.slip_par, one.slip_in, one.slip_out, one.unused)
        for i in range(6):
            s.slip_out[i] = with_lane(s.slip_out[i], k, one.slip_out[i])
    shift_slip(s)


@kernel
def lane_velocity(vehicle, model, s, one, alive):
    """As `constrained_velocity`, without springs and soils: s.v from its known entries."""
    wanted_velocities(vehicle, model, s.q, s)
    solve_lane_velocity(model, s, one, alive)
    if model.slip_mode != NO_SLIP:
        lane_body_slip(vehicle, model, s, one)
        if model.slip_mode == SLIP_ON_BODY:
            for i in range(6):
                s.v[i] += s.slip_out[i]
        else:
            for w in range(vehicle.wheel.size):
                slip_at_wheel(w, s)
            solve_lane_velocity(model, s, one, alive)


@inlined
def rotation_series(square):
    """sin(θ/2)/θ, cos(θ/2), (1 − cos θ)/θ² and (θ − sin θ)/θ³ of θ² up to `MOST_TURN`²."""
    h = square * 0.25
    half = 0.5 * (1.0 - h / 6.0 * (1.0 - h / 20.0 * (1.0 - h / 42.0 * (1.0 - h / 72.0 * (1.0 - h / 110.0)))))
    real = 1.0 - h / 2.0 * (1.0 - h / 12.0 * (1.0 - h / 30.0 * (1.0 - h / 56.0 * (1.0 - h / 90.0))))
    t = square
    a = 0.5 * (1.0 - t / 12.0 * (1.0 - t / 30.0 * (1.0 - t / 56.0 * (1.0 - t / 90.0 * (1.0 - t / 132.0)))))
    b = (1.0 - t / 20.0 * (1.0 - t / 42.0 * (1.0 - t / 72.0 * (1.0 - t / 110.0 * (1.0 - t / 156.0))))) / 6.0
    return half, real, a, b


@inlined
def move_lanes(q, v, dt):
    """As `move`: q moves with v for dt; returns where it turns little enough for the series."""
    turn = (v[0] * dt, v[1] * dt, v[2] * dt)
    way = (v[3] * dt, v[4] * dt, v[5] * dt)
    square = dot(turn, turn)
    half, real, a, b = rotation_series(square)
    once = cross(turn, way)
    step = rotate(q, add(add(way, a, once), b, cross(turn, once)))
    put_quaternion(product(q, (real, half * turn[0], half * turn[1], half * turn[2])), q)
    q[4] += step[0]
    q[5] += step[1]
    q[6] += step[2]
    for j in range(6, v.size):
        q[j + 1] += v[j] * dt
    return square <= MOST_TURN * MOST_TURN
