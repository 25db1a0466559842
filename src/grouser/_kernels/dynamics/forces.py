"""Forces of contacts, couplings and actuators at the end of a step, with their derivatives.

A contact at rest holds: slip since it came to rest stretches a bristle, and the contact law gets v + x/T in place of
the slip velocity v, where x is the stretch. A parked vehicle then stops where the law carries its weight at x/T, in
place of creeping there at that velocity, and no force leaves the law's friction limit. Rolling wheels have no bristle.
"""

import math

from grouser._compile.jit import inlined, kernel
from grouser._kernels.contact.slide import slide
from grouser._kernels.law import call_law
from grouser._kernels.rotation import column, dot, put, scale
from grouser._kernels.vehicles.kinds import rolling_count

HOLD_TIME = 0.02
"""T [s]: a law that carries a load at the slip velocity v_c holds it after v_c T of slip."""
HOLD_RIM = 0.01
"""Rim speed above which a wheel rolls and has no bristle [m/s]."""
HOLD_SPEED = 0.25
"""Slip speed above which a contact slides and has no bristle, and the largest x/T [m/s]."""


@inlined
def hold_contacts(model, v, s, d):
    """1/T of each contact at rest into d.hold, 0 of the others; bristles of those are let go."""
    for k in range(s.live[0]):
        d.hold[k] = 0.0
        at = model.grip_memory + 2 * k
        d.memory_next[at] = 0.0
        d.memory_next[at + 1] = 0.0
        if not s.height_error[k] < 0.0 or model.rolling[k] == 0.0:
            continue
        spin = 5 + model.axle[k]
        if s.rolling_radius[k] * max(abs(v[spin]), abs(d.u[spin])) > HOLD_RIM:
            continue
        ahead = 0.0
        aside = 0.0
        row = model.row[k]
        for i in range(v.size):
            ahead += s.A[row, i] * v[i]
            aside += s.A[row + 1, i] * v[i]
        if ahead * ahead + aside * aside < HOLD_SPEED * HOLD_SPEED:
            d.hold[k] = 1.0 / HOLD_TIME


@inlined
def drop_idle_contacts(model, s, d):
    """Contacts that are none now have no force and no bristle."""
    for k in range(s.live[0], model.link.size):
        if d.f[k, 2] != 0.0:
            put((0.0, 0.0, 0.0), d.f[k], 0)
            if model.grip_memory >= 0:
                d.memory_next[model.grip_memory + 2 * k] = 0.0
                d.memory_next[model.grip_memory + 2 * k + 1] = 0.0


@inlined
def axle_rows(vehicle, model, s, d):
    """Turn rate of a wheel about its axle per unit joint-space velocity, of contacts whose law has a couple.

    A law sees the share `rolling` of that rate, so the same share of its couple acts: their power is one.
    """
    for k in range(s.live[0]):
        if model.couple[k] == 0.0 or s.height_error[k] == math.inf:
            continue
        f = model.link[k]
        axle = scale(model.rolling[k], column(s.R[f], 1))
        put(axle, d.axle[k], 0)
        while f > 0:
            if vehicle.joint[f] < 3:
                turned = model.axle[k] if f == model.link[k] else f
                d.axle[k, 5 + turned] = dot(axle, column(s.R[f], vehicle.joint[f]))
            f = vehicle.parent[f]


@inlined
def stretch(at, hold, dt, r, d):
    """The bristle `at` of a contact at rest stretches and adds to the slip velocity of the law; returns ∂input/∂v."""
    longest = HOLD_SPEED / hold
    length = d.memory[at] + dt * d.law_in[r]
    held = abs(length) < longest
    if not held:
        length = math.copysign(longest, length)
    d.memory_next[at] = length
    d.law_in[r] += hold * length
    return 1.0 + hold * dt if held else 1.0


@inlined
def contact_forces(vehicle, model, dt, s, d):
    """Force and couple of every contact at the end of the step, and their derivatives by its velocity. T (2.71).

    The couple is what the ground's moment about the axle exceeds that of the force at the contact point by: rolling
    resistance, and the resistance of soil.
    """
    nv = d.u.size
    rolling = rolling_count(vehicle)
    for k in range(s.live[0]):
        if s.height_error[k] == math.inf:
            put((0.0, 0.0, 0.0), d.f[k], 0)
            continue
        row = model.row[k]
        for r in range(3):
            total = 0.0
            for i in range(nv):
                total += s.A[row + r, i] * d.u[i]
            d.law_in[r] = total
        radius = s.rolling_radius[k] * model.rolling[k]
        d.law_in[3] = radius * d.u[5 + model.axle[k]]
        d.law_in[4] = s.height_error[k] + d.law_in[2] * dt
        d.law_in[5] = d.rut_felt[k]
        d.closing[k] = d.law_in[2]
        d.depth[k] = d.law_in[4]
        grow_x = 1.0
        grow_y = 1.0
        if d.hold[k] > 0.0:
            grow_x = stretch(model.grip_memory + 2 * k, d.hold[k], dt, 0, d)
            grow_y = stretch(model.grip_memory + 2 * k + 1, d.hold[k], dt, 1, d)
        soil = s.soil[k]
        w = vehicle.wheel_of_frame[model.link[k]]
        slip_x = d.law_in[0]
        slip_y = d.law_in[1]
        if w >= rolling:  # the law gives what carries it, where it does not slip
            d.law_in[0] = 0.0
            d.law_in[1] = 0.0
        call_law(model.contact[k, soil, 0], model.contact[k, soil, 1], d.law_in, d.law_out, d.law_jac)
        if w >= rolling:
            slide(vehicle.friction[w - rolling], slip_x, slip_y, d.law_out, d.law_jac)
        for r in range(3):
            d.f[k, r] = d.law_out[r]
            d.K[k, r, 0] = grow_x * d.law_jac[5 * r]
            d.K[k, r, 1] = grow_y * d.law_jac[5 * r + 1]
            d.K[k, r, 2] = d.law_jac[5 * r + 2] + dt * d.law_jac[5 * r + 4]
            d.k[k, r] = radius * d.law_jac[5 * r + 3]
        if w >= 0 and vehicle.rollers[w]:
            d.f[k, 1] = 0.0
        if model.couple[k] != 0.0:
            R = model.couple[k]
            d.couple[k] = d.law_out[3] + R * d.law_out[0]
            d.K_couple[k, 0] = grow_x * (d.law_jac[15] + R * d.law_jac[0])
            d.K_couple[k, 1] = grow_y * (d.law_jac[16] + R * d.law_jac[1])
            d.K_couple[k, 2] = d.law_jac[17] + R * d.law_jac[2] + dt * (d.law_jac[19] + R * d.law_jac[4])
            d.k_couple[k] = radius * (d.law_jac[18] + R * d.law_jac[3])


@inlined
def coupling_forces(vehicle, model, q, v, dt, s, d):
    """Force of every compliant coupling; law as in `joints/laws.py`. T (2.74).

    With x⁺ = x + dt u a spring's force is taken at x + dt (u − v)/4: then u − v = −ω² dt x/(1 + ω² dt²/4), symplectic
    Euler with a lower frequency. With x⁺ = x + dt (v + u)/2 it is taken in the middle. Both maps have determinant 1: an
    undamped spring keeps its energy at any dt, where a force at the step's end damps it by ω² dt/2 per second.
    """
    for c in range(vehicle.coupling_value.size):
        if model.coupling[c, 0] == 0:
            continue
        error = -vehicle.coupling_value[c]
        before = 0.0
        rate = 0.0
        for j in range(vehicle.parent.size - 1):
            error += vehicle.coupling[c, j] * q[7 + j]
            before += vehicle.coupling[c, j] * v[6 + j]
            rate += vehicle.coupling[c, j] * d.u[6 + j]
        old = 0.0
        new = 1.0
        if d.in_run[0] and model.elastic[c]:
            old = d.lead[0] - 0.25
            new = 0.25
        d.joint_in[0] = error + (old * before + new * rate) * dt
        d.joint_in[1] = rate
        at = model.coupling_memory[c, 0]
        remembered = model.coupling_memory[c, 1]
        for i in range(remembered):
            d.joint_in[2 + i] = d.memory[at + i]
        d.joint_in[2 + remembered] = dt
        call_law(model.coupling[c, 0], model.coupling[c, 1], d.joint_in, d.joint_out, d.law_jac)
        for i in range(remembered):
            d.memory_next[at + i] = d.joint_out[1 + i]
        d.joint_force[c] = d.joint_out[0]
        d.joint_slope[c] = d.law_jac[1] + new * dt * d.law_jac[0]


@inlined
def actuator_torques(vehicle, model, q, dt, s, d):
    """Torque of every actuator at the end of the step; law as in `actuation/laws.py`. T (2.73)."""
    na = vehicle.actuated.size
    for a in range(na):
        j = vehicle.actuated[a]
        d.act_in[a] = s.command[a]
        d.act_in[na + a] = d.u[6 + j]
        d.act_in[2 * na + a] = q[7 + j] + d.u[6 + j] * dt
    remembered = model.actuator_memory
    for i in range(remembered):
        d.act_in[3 * na + i] = d.memory[i]
    d.act_in[3 * na + remembered] = dt
    call_law(model.actuator[0], model.actuator[1], d.act_in, d.act_out, d.act_jac)
    for a in range(na):
        d.torque[a] = d.act_out[a]
    for i in range(remembered):
        d.memory_next[i] = d.act_out[na + i]


@inlined
def motor_torque(vehicle, model, a, d):
    """Torque of actuator a [N m]; an ideal one supplies what its row of the force balance lacks."""
    return d.residual[6 + vehicle.actuated[a]] if model.ideal else d.torque[a]


@kernel
def contact_power(model, k, s, d):
    """Power of the ground on a contact [W]: f · A v̄ and that of its couple, at the mean velocity of the step.

    The kinetic energy of a vehicle whose inertia is constant changes by just that of all forces, times dt.
    """
    power = 0.0
    row = model.row[k]
    for i in range(d.u.size):
        along = d.f[k, 0] * s.A[row, i] + d.f[k, 1] * s.A[row + 1, i] + d.f[k, 2] * s.A[row + 2, i]
        power += 0.5 * (s.v[i] + d.u[i]) * (along + d.couple[k] * d.axle[k, i])
    return power


@kernel
def contact_torque(model, k, s, d):
    """Moment of the ground on the wheel of a contact about its axle [N m]."""
    torque = 0.0
    for r in range(3):
        torque += d.f[k, r] * s.A[model.row[k] + r, 5 + model.axle[k]]
    return torque + d.couple[k] * model.rolling[k]
