"""Constrained forward dynamics as one square Newton problem in the velocity at the end of the step.

M (u − v)/dt + c(v̄) − τ − Aᵀ f(A u, Rω, Δz + u_z dt) = 0, solved for u = q̇′[i+1] (T (2.65), (2.71)–(2.83) with the
constraint forces eliminated). Its root is that of the thesis's force balance over an independent constraint subset.
The rate at which turning axes carry momentum, in c, is taken at the mean velocity v̄ = (v + u)/2 of the step: T (2.85)
takes it at v, and then a free vehicle that turns gains speed.
"""

from grouser._compile.jit import inlined, kernel
from grouser._kernels.arrays import copy, fill
from grouser._kernels.dynamics.forces import (
    actuator_torques,
    axle_rows,
    contact_forces,
    coupling_forces,
    drop_idle_contacts,
    hold_contacts,
)
from grouser._kernels.dynamics.inertia import add_carried_columns, carried, carry_momentum, split_bias
from grouser._kernels.rotation import dot

# Strong Wolfe conditions of the line search, T Appendix D.
_DECREASE = 1e-4
_CURVATURE = 0.9
_HALVINGS = 14
FREE_SHARE = 1e-8
"""Tolerance of a vehicle that nothing touches, as a share of the usual one: only rounding may change its momentum."""


@kernel
def force_balance(vehicle, model, q, v, dt, s, d):
    """Residual of the equations of motion at u; returns its squared norm over the free rows and rigid couplings."""
    nv = d.u.size
    contact_forces(vehicle, model, dt, s, d)
    coupling_forces(vehicle, model, q, v, dt, s, d)
    inverse = 1.0 / dt
    for i in range(nv):
        d.product[i] = (d.u[i] - v[i]) * inverse
    for i in range(nv):
        total = 0.0
        for j in range(nv):
            total += d.M[i, j] * d.product[j]
        d.rate[i] = total
        d.residual[i] = d.c[i] + total
    if d.in_run[0]:
        carry_momentum(v, dt, d)
    for k in range(s.live[0]):
        fx = d.f[k, 0]
        fy = d.f[k, 1]
        fz = d.f[k, 2]
        if fz != 0.0:
            row = model.row[k]
            for i in range(nv):
                d.residual[i] -= s.A[row, i] * fx + s.A[row + 1, i] * fy + s.A[row + 2, i] * fz
            if model.couple[k] != 0.0:
                for i in range(nv):
                    d.residual[i] -= d.axle[k, i] * d.couple[k]
    nw = vehicle.wheel.size
    for c in range(vehicle.coupling_value.size):
        if model.coupling[c, 0] != 0:
            for i in range(6, nv):
                d.residual[i] -= s.A[3 * nw + c, i] * d.joint_force[c]
    for k in range(model.rigid.size):
        c = model.rigid[k]
        error = -vehicle.coupling_value[c]
        rate = 0.0
        for j in range(nv - 6):
            error += vehicle.coupling[c, j] * q[7 + j]
            rate += vehicle.coupling[c, j] * d.u[6 + j]
            d.residual[6 + j] -= vehicle.coupling[c, j] * d.lagrange[k]
        d.gap[k] = (rate + model.rigid_gain * error) * d.M[3, 3] / dt
    if not model.ideal:
        actuator_torques(vehicle, model, q, dt, s, d)
        for a in range(vehicle.actuated.size):
            d.residual[6 + vehicle.actuated[a]] -= d.torque[a]
    total = 0.0
    for i in range(model.free.size):
        value = d.residual[model.free[i]]
        total += value * value
    for k in range(model.rigid.size):
        total += d.gap[k] * d.gap[k]
    return total


@kernel
def newton_matrix(vehicle, model, dt, s, d):
    """H = ∂residual/∂(u_free, λ), bordered by the rigid couplings."""
    n = model.free.size
    nw = vehicle.wheel.size
    H = d.H
    A = s.A
    inverse = 1.0 / dt
    for i in range(n):
        row = model.free[i]
        for j in range(n):
            H[i, j] = d.M[row, model.free[j]] * inverse
    if d.in_run[0]:
        add_carried_columns(model, d)
    for w in range(s.live[0]):
        if d.f[w, 2] == 0.0:
            continue  # a law without force has no slope
        at = model.row[w]
        size = model.support_size[w]
        coupled = model.couple[w] != 0.0
        for a in range(size):
            i = model.support[w, a]
            row = model.free[i]
            x = A[at, row]
            y = A[at + 1, row]
            z = A[at + 2, row]
            # this row of Aᵀ K: how its force changes with the contact's velocity
            kx = x * d.K[w, 0, 0] + y * d.K[w, 1, 0] + z * d.K[w, 2, 0]
            ky = x * d.K[w, 0, 1] + y * d.K[w, 1, 1] + z * d.K[w, 2, 1]
            kz = x * d.K[w, 0, 2] + y * d.K[w, 1, 2] + z * d.K[w, 2, 2]
            spin = x * d.k[w, 0] + y * d.k[w, 1] + z * d.k[w, 2]
            if coupled:
                turn = d.axle[w, row]
                kx += turn * d.K_couple[w, 0]
                ky += turn * d.K_couple[w, 1]
                kz += turn * d.K_couple[w, 2]
                spin += turn * d.k_couple[w]
            # the body's six velocities are always free and come first
            for j in range(6):
                H[i, j] -= kx * A[at, j] + ky * A[at + 1, j] + kz * A[at + 2, j]
            for b in range(6, size):
                j = model.support[w, b]
                column = model.free[j]
                H[i, j] -= kx * A[at, column] + ky * A[at + 1, column] + kz * A[at + 2, column]
            if model.spin[w] >= 0:
                H[i, model.spin[w]] -= spin
    for c in range(vehicle.coupling_value.size):
        if model.coupling[c, 0] != 0:
            for i in range(n):
                a = s.A[3 * nw + c, model.free[i]]
                if a != 0.0:
                    for j in range(n):
                        H[i, j] -= a * d.joint_slope[c] * s.A[3 * nw + c, model.free[j]]
    if not model.ideal:
        na = vehicle.actuated.size
        for a in range(na):
            for b in range(na):
                # every joint is free here, so entry k of the velocity is row k
                H[6 + vehicle.actuated[a], 6 + vehicle.actuated[b]] -= d.act_jac[a * na + b]
    for k in range(model.rigid.size):
        c = model.rigid[k]
        for i in range(n):
            a = s.A[3 * nw + c, model.free[i]]
            H[i, n + k] = -a
            H[n + k, i] = a * d.M[3, 3] / dt
        for j in range(model.rigid.size):
            H[n + k, n + j] = 0.0


@kernel
def solve(H, n, b):
    """b ← H⁻¹ b by LU with partial pivoting, H overwritten; False if H is singular."""
    for k in range(n):
        best = k
        largest = abs(H[k, k])
        for i in range(k + 1, n):
            if abs(H[i, k]) > largest:
                largest = abs(H[i, k])
                best = i
        if not largest > 0.0:
            return False
        if best != k:
            for j in range(k, n):
                H[k, j], H[best, j] = H[best, j], H[k, j]
            b[k], b[best] = b[best], b[k]
        inverse = 1.0 / H[k, k]
        H[k, k] = inverse
        for i in range(k + 1, n):
            factor = H[i, k] * inverse
            if factor != 0.0:
                for j in range(k + 1, n):
                    H[i, j] -= factor * H[k, j]
                b[i] -= factor * b[k]
    for i in range(n - 1, -1, -1):
        total = b[i]
        for j in range(i + 1, n):
            total -= H[i, j] * b[j]
        b[i] = total * H[i, i]
    return True


@inlined
def try_step(vehicle, model, q, v, dt, alpha, s, d):
    """u ← base + α step; returns the squared residual there."""
    n = model.free.size
    for i in range(n):
        k = model.free[i]
        d.u[k] = d.u_base[k] + alpha * d.step[i]
    for k in range(model.rigid.size):
        d.lagrange[k] = d.lagrange_base[k] + alpha * d.step[n + k]
    return force_balance(vehicle, model, q, v, dt, s, d)


@inlined
def along_coupling(model, row, p, d):
    """Rate of a coupling with the row `row` of A along p, and its weight in the residual; free velocities only."""
    rate = 0.0
    weight = 0.0
    for i in range(model.free.size):
        k = model.free[i]
        rate += row[k] * p[k]
        weight += row[k] * d.residual[k]
    return rate, weight


@kernel
def slope_along(vehicle, model, dt, s, d):
    """d‖residual‖²/dα along the step, from the derivatives of the laws at u."""
    n = model.free.size
    nw = vehicle.wheel.size
    p = d.product
    fill(p, 0.0)
    for i in range(n):
        p[model.free[i]] = d.step[i]
    for i in range(p.size):
        value = 0.0
        for j in range(p.size):
            value += d.M[i, j] * p[j]
        d.rate[i] = value
    total = 0.0
    for i in range(n):
        total += d.residual[model.free[i]] * d.rate[model.free[i]] / dt
    if d.in_run[0]:
        carried(d, p, d.rate, d.force[0])
        for i in range(6):
            total += d.residual[i] * d.force[0, i]
    for w in range(s.live[0]):
        if d.f[w, 2] == 0.0:
            continue
        at = model.row[w]
        x = 0.0
        y = 0.0
        z = 0.0
        for i in range(p.size):
            x += s.A[at, i] * p[i]
            y += s.A[at + 1, i] * p[i]
            z += s.A[at + 2, i] * p[i]
        spin = p[5 + model.axle[w]]
        for r in range(3):
            change = d.K[w, r, 0] * x + d.K[w, r, 1] * y + d.K[w, r, 2] * z + d.k[w, r] * spin
            if change != 0.0:
                for i in range(n):
                    row = model.free[i]
                    total -= d.residual[row] * s.A[at + r, row] * change
        if model.couple[w] != 0.0:
            change = dot(d.K_couple[w], (x, y, z)) + d.k_couple[w] * spin
            for i in range(n):
                row = model.free[i]
                total -= d.residual[row] * d.axle[w, row] * change
    for c in range(vehicle.coupling_value.size):
        if model.coupling[c, 0] != 0:
            rate, weight = along_coupling(model, s.A[3 * nw + c], p, d)
            total -= weight * d.joint_slope[c] * rate
    if not model.ideal:
        na = vehicle.actuated.size
        for a in range(na):
            weight = d.residual[6 + vehicle.actuated[a]]
            for b in range(na):
                total -= weight * d.act_jac[a * na + b] * p[6 + vehicle.actuated[b]]
    for k in range(model.rigid.size):
        c = model.rigid[k]
        rate, weight = along_coupling(model, s.A[3 * nw + c], p, d)
        total += d.gap[k] * rate * d.M[3, 3] / dt - weight * d.step[n + k]
    return 2.0 * total


@kernel
def line_search(vehicle, model, q, v, dt, cost, s, d):
    """Step length by the strong Wolfe conditions, T Appendix D (Nocedal and Wright 3.2, 3.3 with bisection).

    Leaves u, forces and residual at the accepted point; returns the squared residual there. A Newton step of a
    square system has the slope −2 cost at α = 0.
    """
    trial = try_step(vehicle, model, q, v, dt, 1.0, s, d)
    if trial <= 0.1 * cost:  # a step this good needs no more looking at
        return trial
    low = 0.0
    high = 1.0
    if trial <= cost * (1.0 - 2.0 * _DECREASE):
        slope = slope_along(vehicle, model, dt, s, d)
        if abs(slope) <= 2.0 * _CURVATURE * cost or slope < 0.0:
            return trial
        low = 1.0
        high = 0.0
    cost_low = cost if low == 0.0 else trial
    alpha = 1.0
    for _ in range(_HALVINGS):
        alpha = 0.5 * (low + high)
        trial = try_step(vehicle, model, q, v, dt, alpha, s, d)
        if not (trial <= cost * (1.0 - 2.0 * _DECREASE * alpha) and trial < cost_low):
            high = alpha
        else:
            slope = slope_along(vehicle, model, dt, s, d)
            if abs(slope) <= 2.0 * _CURVATURE * cost:
                return trial
            if slope * (high - low) >= 0.0:
                high = low
            low = alpha
            cost_low = trial
    if alpha != low:
        trial = try_step(vehicle, model, q, v, dt, low, s, d)
    return trial


@inlined
def free_lead(model, s):
    """Share of the old velocity that moves orientation, height and joints: ½ in the midpoint variant, off the ground.

    On the ground contacts are stiff: there the new velocity, at which their forces were found, moves the vehicle.
    """
    for k in range(model.link.size):
        if s.height_error[k] < 0.0:
            return 0.0
    return model.lead


@inlined
def touches(d):
    """Whether any contact carries a force."""
    found = False
    for k in range(d.f.shape[0]):
        found |= d.f[k, 2] != 0.0
    return found


@kernel
def solve_step(vehicle, model, q, v, dt, in_run, s, d):
    """Newton from where the last acceleration leads; returns (converged, iterations).

    u, forces and residual are left at the last point. in_run: momentum is carried at the mean velocity, contacts at
    rest hold, springs keep their energy; else the step is by itself and as T prints it. One iteration at least: without
    it a residual within the tolerance would push the vehicle in the same direction at every step.
    """
    n = model.free.size
    nk = model.rigid.size
    for i in range(v.size):
        d.u[i] = v[i] + dt * d.acceleration[i]
    if model.ideal:
        for a in range(vehicle.actuated.size):
            d.u[6 + vehicle.actuated[a]] = s.command[a]
    d.in_run[0] = in_run
    drop_idle_contacts(model, s, d)
    axle_rows(vehicle, model, s, d)
    if in_run:
        d.lead[0] = free_lead(model, s)
        split_bias(v, d)
        if model.grip_memory >= 0:
            hold_contacts(model, v, s, d)
    cost = force_balance(vehicle, model, q, v, dt, s, d)
    limit = model.tolerance * model.tolerance
    for iteration in range(model.iterations):
        if cost <= limit and iteration > 0 and (cost <= limit * FREE_SHARE * FREE_SHARE or touches(d)):
            return True, iteration
        newton_matrix(vehicle, model, dt, s, d)
        for i in range(n):
            d.step[i] = -d.residual[model.free[i]]
        for k in range(nk):
            d.step[n + k] = -d.gap[k]
        if not solve(d.H, n + nk, d.step):
            return False, iteration
        copy(d.u, d.u_base)
        copy(d.lagrange, d.lagrange_base)
        before = cost
        if model.single and iteration == 0:
            cost = try_step(vehicle, model, q, v, dt, 1.0, s, d)
            if cost <= model.single_limit * model.single_limit:
                return True, 1
            if cost < before:
                continue
            cost = try_step(vehicle, model, q, v, dt, 0.0, s, d)
        cost = line_search(vehicle, model, q, v, dt, cost, s, d)
        if not cost < before:
            return before <= limit, iteration + 1
    return cost <= limit, model.iterations
