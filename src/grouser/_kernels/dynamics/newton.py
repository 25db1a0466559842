"""Constrained forward dynamics as one square Newton problem in the velocity at the end of the step.

M (u − v)/dt + c − τ − Aᵀ f(A u, Rω, Δz + u_z dt) = 0, solved for u = q̇′[i+1] (T (2.65), (2.71)–(2.83) with the
constraint forces eliminated). Its root is that of the thesis's force balance over an independent constraint subset.
"""

from grouser._compile.jit import inlined, kernel
from grouser._kernels.law import call_law

# Strong Wolfe conditions of the line search, T Appendix D.
_DECREASE = 1e-4
_CURVATURE = 0.9
_HALVINGS = 14


@inlined
def contact_forces(vehicle, model, dt, s, d):
    """Force of every contact at the end of the step, and its derivative by the contact's velocity. T (2.71)."""
    nv = d.u.size
    for w in range(vehicle.wheel.size):
        for r in range(3):
            total = 0.0
            for i in range(nv):
                total += s.A[3 * w + r, i] * d.u[i]
            d.law_in[r] = total
        radius = s.rolling_radius[w]
        d.law_in[3] = radius * d.u[5 + vehicle.wheel[w]]
        d.law_in[4] = s.height_error[w] + d.law_in[2] * dt
        call_law(model.contact[w, 0], model.contact[w, 1], d.law_in, d.law_out, d.law_jac)
        for r in range(3):
            d.f[w, r] = d.law_out[r]
            d.K[w, r, 0] = d.law_jac[5 * r]
            d.K[w, r, 1] = d.law_jac[5 * r + 1]
            d.K[w, r, 2] = d.law_jac[5 * r + 2] + dt * d.law_jac[5 * r + 4]
            d.k[w, r] = radius * d.law_jac[5 * r + 3]


@inlined
def coupling_forces(vehicle, model, q, dt, s, d):
    """Force of every compliant coupling at the end of the step; law as in `joints/laws.py`. T (2.74)."""
    for c in range(vehicle.coupling_value.size):
        if model.coupling[c, 0] == 0:
            continue
        error = -vehicle.coupling_value[c]
        rate = 0.0
        for j in range(vehicle.parent.size - 1):
            error += vehicle.coupling[c, j] * q[7 + j]
            rate += vehicle.coupling[c, j] * d.u[6 + j]
        d.joint_in[0] = error + rate * dt
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
        d.joint_slope[c] = d.law_jac[1] + dt * d.law_jac[0]


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
def rolling_moment(model, w, s):
    """Moment that resists a loaded wheel's spin, per rad/s.

    C_rr Rω in f_x of (C.5) alone would speed the wheel up by what it takes from the body and so resist nothing: the
    ground also turns the wheel back, by R C_rr Rω.
    """
    return model.rolling[w] * s.rolling_radius[w] * s.rolling_radius[w]


@kernel
def contact_power(vehicle, model, w, s, d):
    """Power of the ground on a wheel [W] at the end of the step: f · A u, less what rolling resistance takes."""
    power = 0.0
    for r in range(3):
        for i in range(d.u.size):
            power += d.f[w, r] * s.A[3 * w + r, i] * d.u[i]
    if d.f[w, 2] != 0.0:
        rate = d.u[5 + vehicle.wheel[w]]
        power -= rolling_moment(model, w, s) * rate * rate
    return power


@kernel
def force_balance(vehicle, model, q, v, dt, s, d):
    """Residual of the equations of motion at u; returns its squared norm over the free rows and rigid couplings."""
    nv = d.u.size
    contact_forces(vehicle, model, dt, s, d)
    coupling_forces(vehicle, model, q, dt, s, d)
    inverse = 1.0 / dt
    for i in range(nv):
        d.product[i] = (d.u[i] - v[i]) * inverse
    for i in range(nv):
        total = d.c[i]
        for j in range(nv):
            total += d.M[i, j] * d.product[j]
        d.residual[i] = total
    for w in range(vehicle.wheel.size):
        fx = d.f[w, 0]
        fy = d.f[w, 1]
        fz = d.f[w, 2]
        if fz != 0.0:
            for i in range(nv):
                d.residual[i] -= s.A[3 * w, i] * fx + s.A[3 * w + 1, i] * fy + s.A[3 * w + 2, i] * fz
            spin = 5 + vehicle.wheel[w]
            d.residual[spin] += rolling_moment(model, w, s) * d.u[spin]
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
    for w in range(nw):
        size = model.support_size[w]
        for a in range(size):
            i = model.support[w, a]
            row = model.free[i]
            x = A[3 * w, row]
            y = A[3 * w + 1, row]
            z = A[3 * w + 2, row]
            # this row of Aᵀ K: how its force changes with the contact's velocity
            kx = x * d.K[w, 0, 0] + y * d.K[w, 1, 0] + z * d.K[w, 2, 0]
            ky = x * d.K[w, 0, 1] + y * d.K[w, 1, 1] + z * d.K[w, 2, 1]
            kz = x * d.K[w, 0, 2] + y * d.K[w, 1, 2] + z * d.K[w, 2, 2]
            # the body's six velocities are always free and come first
            for j in range(6):
                H[i, j] -= kx * A[3 * w, j] + ky * A[3 * w + 1, j] + kz * A[3 * w + 2, j]
            for b in range(6, size):
                j = model.support[w, b]
                column = model.free[j]
                H[i, j] -= kx * A[3 * w, column] + ky * A[3 * w + 1, column] + kz * A[3 * w + 2, column]
            if model.spin[w] >= 0:
                H[i, model.spin[w]] -= x * d.k[w, 0] + y * d.k[w, 1] + z * d.k[w, 2]
        if model.spin[w] >= 0 and d.f[w, 2] != 0.0:
            H[model.spin[w], model.spin[w]] += rolling_moment(model, w, s)
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
    for i in range(p.size):
        p[i] = 0.0
    for i in range(n):
        p[model.free[i]] = d.step[i]
    total = 0.0
    for i in range(n):
        row = model.free[i]
        value = 0.0
        for j in range(p.size):
            value += d.M[row, j] * p[j]
        total += d.residual[row] * value / dt
    for w in range(nw):
        x = 0.0
        y = 0.0
        z = 0.0
        for i in range(p.size):
            x += s.A[3 * w, i] * p[i]
            y += s.A[3 * w + 1, i] * p[i]
            z += s.A[3 * w + 2, i] * p[i]
        spin = p[5 + vehicle.wheel[w]]
        if model.spin[w] >= 0 and d.f[w, 2] != 0.0:
            total += d.residual[5 + vehicle.wheel[w]] * rolling_moment(model, w, s) * spin
        for r in range(3):
            change = d.K[w, r, 0] * x + d.K[w, r, 1] * y + d.K[w, r, 2] * z + d.k[w, r] * spin
            if change != 0.0:
                for i in range(n):
                    row = model.free[i]
                    total -= d.residual[row] * s.A[3 * w + r, row] * change
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


@kernel
def solve_step(vehicle, model, q, v, dt, s, d):
    """Newton from where the last acceleration leads; returns (converged, iterations).

    u, forces and residual are left at the last point.
    """
    n = model.free.size
    nk = model.rigid.size
    for i in range(v.size):
        d.u[i] = v[i] + dt * d.acceleration[i]
    if model.ideal:
        for a in range(vehicle.actuated.size):
            d.u[6 + vehicle.actuated[a]] = s.command[a]
    cost = force_balance(vehicle, model, q, v, dt, s, d)
    limit = model.tolerance * model.tolerance
    for iteration in range(model.iterations):
        if cost <= limit:
            return True, iteration
        newton_matrix(vehicle, model, dt, s, d)
        for i in range(n):
            d.step[i] = -d.residual[model.free[i]]
        for k in range(nk):
            d.step[n + k] = -d.gap[k]
        if not solve(d.H, n + nk, d.step):
            return False, iteration
        for i in range(v.size):
            d.u_base[i] = d.u[i]
        for k in range(nk):
            d.lagrange_base[k] = d.lagrange[k]
        if model.single:
            try_step(vehicle, model, q, v, dt, 1.0, s, d)
            return True, 1
        before = cost
        cost = line_search(vehicle, model, q, v, dt, cost, s, d)
        if not cost < before:
            return False, iteration + 1
    return cost <= limit, model.iterations
