"""Contact angles and body velocity together: a filter whose update is solved by Gauss–Newton."""

import math

from grouser._compile.jit import entry, inlined, kernel
from grouser._kernels.arrays import copy, fill, inner
from grouser._kernels.least_squares import cholesky_solve, solve_again
from grouser._kernels.odometry.contact_rows import hub_jacobians, step_equations
from grouser._kernels.vehicles.frames import pose_frames

ITERATIONS = 8
LARGEST_STEP = 0.5  # rad, of an angle in one iteration
CONVERGED = 1e-6  # rad and m/s
SLOWEST = 0.01  # m/s of the rim, below which a wheel counts as standing
SURPRISE = 4.0  # mean square of the residuals in sigmas, beyond which the ground changed at once or some wheel slips
STEEPEST = 0.5 * math.pi  # rad


@kernel
def solve_contact_angles(f):
    """found_psi and found_v of least squares, from found_v and f.mean; M keeps the factor of the last step.

    Returns the sum of squares, and whether it was solved.
    """
    n = f.sample.unknown
    nw = f.psi.size
    squares = 0.0
    copy(f.mean, f.found_psi)
    for _ in range(ITERATIONS):
        squares = step_equations(f)
        if not cholesky_solve(f.M, n + nw, 0.0, 0.0, f.g):
            return squares, False
        largest = 0.0
        for i in range(n):
            f.found_v[f.unknown[i]] += f.g[i]
            largest = max(largest, abs(f.g[i]))
        for w in range(nw):
            largest = max(largest, abs(f.g[n + w]))
            f.found_psi[w] += min(max(f.g[n + w], -LARGEST_STEP), LARGEST_STEP)
        if not largest < math.inf:
            return squares, False
        if largest < CONVERGED:
            break
    return squares, True


@inlined
def rim_speeds(vehicle, rates, rim):
    """Rim speed of each wheel, without sign [m/s], into rim; that of the others' mean where it is not measured."""
    total = 0.0
    count = 0
    for w in range(rim.size):
        rim[w] = abs(rates[vehicle.wheel[w] - 1]) * vehicle.radius[w]
        if not math.isnan(rim[w]):
            total += rim[w]
            count += 1
    for w in range(rim.size):
        if math.isnan(rim[w]):
            rim[w] = total / max(count, 1)


@kernel
def fade(f):
    """The angles after dt: the ground keeps its slope, the carriers turn over it, the memory fades with the way."""
    dt = f.sample.dt
    for w in range(f.rim.size):
        keep = math.exp(-f.rim[w] * dt / f.length[w])
        f.psi[w] = keep * (f.psi[w] + f.carrier_rate[w] * dt)
        for k in range(f.rim.size):
            f.P[w, k] *= keep
            f.P[k, w] *= keep
        f.P[w, w] += f.noise.spread**2 * (1.0 - keep * keep)


@kernel
def contact_weights(f):
    """One over sigma of each contact row into f.weight (nw, 3)."""
    dt = f.sample.dt
    noise = f.noise
    for w in range(f.rim.size):
        # A slip that lasts over the length is one error, not one per sample.
        speed = f.rim[w] + SLOWEST
        slipped = 1e3 * speed
        if dt > 0.0:
            slipped = speed * math.sqrt(max(f.length[w] / (speed * dt), 1.0))
        f.weight[w, 0] = 1.0 / math.hypot(f.vehicle.radius[w] * noise.rate, noise.slip * slipped)
        f.weight[w, 1] = 1.0 / (noise.sideslip * slipped)
        f.weight[w, 2] = 1.0 / (noise.slip * slipped)


@kernel
def remember(f):
    """Prior from the memory: mean ψ and the inverse of P; False if P is not positive definite."""
    nw = f.psi.size
    copy(f.psi, f.mean)
    fill(f.prior, 0.0)
    for a in range(nw):
        f.prior[a, a] = 1.0
        copy(f.P[a], f.M[a, :nw])
    if not cholesky_solve(f.M, nw, 0.0, 0.0, f.prior[0]):
        return False
    for a in range(1, nw):
        solve_again(f.M, nw, f.prior[a])
    return True


@kernel
def forget(f):
    """Prior of a ground that is not known."""
    fill(f.mean, 0.0)
    fill(f.prior, 0.0)
    for a in range(f.psi.size):
        f.prior[a, a] = 1.0 / f.noise.spread**2


@kernel
def accept(f):
    """The solution becomes the memory."""
    n = f.sample.unknown
    nw = f.psi.size
    for a in range(nw):
        fill(f.g, 0.0)
        f.g[n + a] = 1.0
        solve_again(f.M, n + nw, f.g)
        copy(f.g[n:], f.prior[a])
    copy(f.found_v, f.v)
    copy(f.found_psi, f.psi)
    for w in range(nw):
        spin = 5 + f.vehicle.wheel[w]
        f.carrier_rate[w] = inner(f.hub[w, 4], f.v) - f.hub[w, 4, spin] * f.v[spin]
        for k in range(nw):
            f.P[w, k] = 0.5 * (f.prior[w, k] + f.prior[k, w])
        f.valid[w] = 1 if math.sqrt(f.P[w, w]) <= f.noise.valid and f.rim[w] >= SLOWEST else 0


@entry
def update_contact_angles(f):
    """One sample of the filter; sets valid. The surprise stays where nothing can be found: at standstill, ω unknown."""
    nw = f.psi.size
    rim_speeds(f.vehicle, f.rates, f.rim)
    fade(f)
    fill(f.valid, 0)
    fastest = 0.0
    for w in range(nw):
        fastest = max(fastest, f.rim[w])
    if fastest < SLOWEST or f.sample.turns == 0:
        return
    contact_weights(f)
    n = 6
    for j in range(f.rest.size):
        f.q[7 + j] = f.rest[j] if math.isnan(f.angles[j]) else f.angles[j]
        if math.isnan(f.rates[j]):
            f.unknown[n] = 6 + j
            n += 1
    f.sample.unknown = n
    pose_frames(f.vehicle, f.q, f.s)
    hub_jacobians(f)
    for memory in range(2):  # the ground may have changed at once, as at the foot of a ramp: try without the memory
        if memory == 1:
            forget(f)
        elif not remember(f):
            continue
        for i in range(f.v.size):
            f.found_v[i] = f.v[i] if i < 6 or math.isnan(f.rates[i - 6]) else f.rates[i - 6]
        squares, solved = solve_contact_angles(f)
        f.sample.surprise = squares / max(3 * nw + f.sample.turns - n, 1)
        solved = solved and f.sample.surprise <= SURPRISE
        for w in range(nw):
            solved = solved and abs(f.found_psi[w]) <= STEEPEST
        if solved:
            accept(f)
            return
