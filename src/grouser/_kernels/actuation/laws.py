"""Actuator laws: torques of all actuated joints at the end of a step.

x = (commands, rates, angles, memories, dt), each but dt one per actuated joint, and out = (torques, next memories) with
as many memories a joint as the law has, none or more; jac = ∂torques/∂rates (na, na) by rows, the change of angles and
memories over the step included.
"""

from grouser._kernels.law import law

COUNT = 0
"""Entry of par of all laws here: how many joints. Then each joint has a row, whose first entries are below."""
K_P, K_I, PI_LIMIT, PI_ROW = 1, 2, 3, 3
"""Of `proportional_integral`, and the length of its rows; likewise below."""
DC_K_P, STALL, NO_LOAD, DC_ROW = 1, 2, 3, 3
GROUP, GROUP_K_P, COUPLING, GROUP_LIMIT, GROUP_ROW = 1, 2, 3, 4, 4


@law
def proportional_integral(par, x, out, jac):
    """τ = K_p e + K_i ∫e dt within ±limit, e = command − rate. par = (na, then per joint K_p, K_i, limit).

    The memory is ∫e dt; it stands still while the limit holds the torque back (no wind-up).
    """
    n = int(par[COUNT])
    dt = x[4 * n]
    for i in range(n * n):
        jac[i] = 0.0
    for a in range(n):
        gain = par[K_P + PI_ROW * a]
        integral = par[K_I + PI_ROW * a]
        limit = par[PI_LIMIT + PI_ROW * a]
        error = x[a] - x[n + a]
        memory = x[3 * n + a] + error * dt
        torque = gain * error + integral * memory
        if abs(torque) > limit:
            out[a] = limit if torque > 0.0 else -limit
            out[n + a] = x[3 * n + a]
        else:
            out[a] = torque
            out[n + a] = memory
            jac[a * n + a] = -gain - integral * dt


@law
def dc_motor(par, x, out, jac):
    """Speed-controlled direct-current motor behind a gear. par = (na, then per joint K_p, stall torque, no-load speed).

    The wanted torque K_p (command − rate) is held within the motor's line: from −stall to stall (1 − ω/ω₀) when
    driving forward at ω, and the mirror image in reverse; all at the gear's output.
    """
    n = int(par[COUNT])
    for i in range(n * n):
        jac[i] = 0.0
    for a in range(n):
        gain = par[DC_K_P + DC_ROW * a]
        stall = par[STALL + DC_ROW * a]
        free = par[NO_LOAD + DC_ROW * a]
        rate = x[n + a]
        torque = gain * (x[a] - rate)
        slope = -gain
        high = stall * (1.0 - rate / free)
        low = -stall * (1.0 + rate / free)
        if high > stall:
            high_slope = 0.0
            high = stall
        else:
            high_slope = -stall / free
        if low < -stall:
            low_slope = 0.0
            low = -stall
        else:
            low_slope = -stall / free
        if torque > high:
            torque = high
            slope = high_slope
        elif torque < low:
            torque = low
            slope = low_slope
        out[a] = torque
        jac[a * n + a] = slope


@law
def coupled(par, x, out, jac):
    """Joints of a group share one motor: each feels K_p (command − rate) of their means, shared equally, and a stiff
    coupling K_c (mean rate − rate) that makes them turn together. par = (na, then per joint group, K_p, K_c, limit).
    """
    n = int(par[COUNT])
    for a in range(n):
        group = par[GROUP + GROUP_ROW * a]
        gain = par[GROUP_K_P + GROUP_ROW * a]
        stiff = par[COUPLING + GROUP_ROW * a]
        limit = par[GROUP_LIMIT + GROUP_ROW * a]
        size = 0.0
        command = 0.0
        rate = 0.0
        for b in range(n):
            if par[GROUP + GROUP_ROW * b] == group:
                size += 1.0
                command += x[b]
                rate += x[n + b]
        command /= size
        rate /= size
        motor = gain * (command - rate)
        slope = -gain / size
        if abs(motor) > limit:
            motor = limit if motor > 0.0 else -limit
            slope = 0.0
        out[a] = motor + stiff * (rate - x[n + a])
        for b in range(n):
            same = par[GROUP + GROUP_ROW * b] == group
            jac[a * n + b] = (slope + stiff / size if same else 0.0) - (stiff if a == b else 0.0)
