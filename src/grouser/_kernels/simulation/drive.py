"""Drive laws. x = (time, state q, velocity v of the last step), out = commanded rate of each actuated joint."""

import math

from grouser._compile.jit import inlined
from grouser._kernels.law import call_law, law


@inlined
def command(drive, t, q, s):
    """Commanded rates into s.command."""
    s.drive_in[0] = t
    for i in range(q.size):
        s.drive_in[1 + i] = q[i]
    for i in range(s.v.size):
        s.drive_in[1 + q.size + i] = s.v[i]
    call_law(drive.address, drive.par, s.drive_in, s.command, s.unused)


@law
def table(par, x, out, jac):
    """Rows of commands, each held for the same time. par = (rows, actuators, seconds a row, commands…)."""
    rows = int(par[0])
    n = int(par[1])
    row = math.floor(x[0] / par[2] + 1e-9)
    at = 3 + n * int(min(max(row, 0.0), rows - 1.0))
    for a in range(n):
        out[a] = par[at + a]


@law
def schedule(par, x, out, jac):
    """Piecewise constant wheel rates and steering angles, with feedback on the steering.

    par = (segments, actuators, then per segment its start time, then per segment and actuator
    (rate, gain, joint, target, limit)): command = rate + clip(gain (target − θ_joint), ±limit).
    """
    segments = int(par[0])
    n = int(par[1])
    segment = 0
    while segment + 1 < segments and x[0] + 1e-9 >= par[3 + segment]:
        segment += 1
    at = 2 + segments + 5 * n * segment
    for a in range(n):
        rate = par[at]
        if par[at + 1] != 0.0:
            feedback = par[at + 1] * (par[at + 3] - x[8 + int(par[at + 2])])
            rate += min(max(feedback, -par[at + 4]), par[at + 4])
        out[a] = rate
        at += 5
