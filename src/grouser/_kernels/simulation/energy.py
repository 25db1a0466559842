"""The energy balance of a rollout: its energy against the work of motors and outer forces.

E − W, the energy less the work put in, falls or stays; only springs, of contacts and joints, give back what they took.
A spring that pushes with f at a displacement x holds at most f x. So with S, the sum of those,
E(t) − W(t) ≤ E(s) − W(s) + S(s) for every earlier time s. A rollout that has more, beyond a margin, got it from its
numbers: from a penetration that no motion made, or a step that is too long.
"""

from grouser._compile.jit import inlined, kernel
from grouser._kernels.dynamics.forces import motor_torque

LOWEST, LARGEST, WORK, STORED = range(4)
"""Entries of the account: lowest E − W + S so far, largest kinetic energy, W, S [J]."""
SHARE = 0.05
"""Margin, as a share of the largest kinetic energy so far, and"""
HEIGHT = 0.25
"""as a height the vehicle may be lifted by, in wheel radii."""
EVERY = 4
"""Steps from one check of the energy to the next; a gain persists, so it is found then."""


@kernel
def energies(vehicle, model, s, d):
    """Kinetic energy of s.v and potential energy of the posed frames [J]."""
    kinetic = 0.0
    for i in range(s.v.size):
        row = 0.5 * d.M[i, i] * s.v[i]
        for j in range(i):
            row += d.M[i, j] * s.v[j]
        kinetic += row * s.v[i]
    m = d.composite[0, 0]
    height = m * s.p_world_body[2]
    for i in range(3):
        height += s.R_world_body[2, i] * d.composite[0, 1 + i]
    return kinetic, model.gravity * height


@kernel
def falling_power(model, s, d):
    """Rate of the potential energy at s.v [W]."""
    v = s.v
    h = d.composite[0]
    rate = 0.0
    up = s.R_world_body[2]
    for i in range(3):
        j = i + 1 if i < 2 else 0
        k = i - 1 if i > 0 else 2
        rate += up[i] * (h[0] * v[3 + i] + v[j] * h[1 + k] - v[k] * h[1 + j])
    return model.gravity * rate


@inlined
def gains_energy(vehicle, model, lead, s, d):
    """Whether the state a step begins at has more energy than it was given; the account is taken on.

    M and frames are those of `lead` [s] after it.
    """
    kinetic, potential = energies(vehicle, model, s, d)
    if lead > 0.0:
        potential -= lead * falling_power(model, s, d)
    account = d.account
    account[LARGEST] = max(account[LARGEST], kinetic)
    held = kinetic + potential - account[WORK]
    if d.begun[0] == 0.0:
        account[LOWEST] = held
        return False
    margin = SHARE * account[LARGEST] + HEIGHT * vehicle.radius[0] * abs(model.gravity) * d.composite[0, 0]
    if held > account[LOWEST] + margin:
        return True
    account[LOWEST] = min(account[LOWEST], held + account[STORED])
    return False


@inlined
def add_work(vehicle, model, q, dt, s, d):
    """Work of motors and outer forces over a step from q, and what springs can hold after it."""
    power = 0.0
    for a in range(vehicle.actuated.size):
        i = 6 + vehicle.actuated[a]
        power += motor_torque(vehicle, model, a, d) * (s.v[i] + d.u[i])
    if model.external.shape[0] > 0:
        for i in range(s.v.size):
            power += d.pushed[i] * (s.v[i] + d.u[i])
    stored = 0.0
    for k in range(model.link.size):
        stored -= d.f[k, 2] * min(d.depth[k] - dt * d.closing[k], d.depth[k], 0.0)
    for c in range(vehicle.coupling_value.size):
        if model.coupling[c, 0] != 0:
            error = -vehicle.coupling_value[c]
            for j in range(vehicle.parent.size - 1):
                error += vehicle.coupling[c, j] * q[7 + j]
            stored += abs(error * d.joint_force[c])
    account = d.account
    account[WORK] += 0.5 * dt * power
    if d.begun[0] == 0.0:
        account[LOWEST] += stored
        d.begun[0] = 1.0
    account[STORED] = stored
