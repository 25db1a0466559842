"""One streaming update of wheel odometry: faults, body velocity with covariance, and the step to the new pose.

Everything lives in arrays made once, so that an update from Python costs one call and memory never grows: those of
`odometry_store.py`, and `out`, the estimate; `odometry_slots.py` says what stands where.
"""

import math

from grouser._compile.jit import entry, kernel
from grouser._kernels.odometry import slots
from grouser._kernels.odometry.inputs import check_inputs, check_time, choose_known, rim_speed
from grouser._kernels.odometry.pose import advance, write_estimate
from grouser._kernels.odometry.velocity import (
    SLOWEST,
    lean_slopes,
    missing_rates,
    outside_share,
    sample_covariance,
    sample_twist,
    slip_factor,
)
from grouser._kernels.rotation import set_attitude

LOWEST_SHARE = 1e-3
"""Share of a component that may lie outside of what the wheels determine, for it to count as observed."""
UNKNOWN_SPEED = 1.0
"""One sigma of a velocity that nothing determines [m/s, rad/s]."""
MISSING_LASTS = 1.0
"""How long the error lasts, one way, that a missing wheel makes [s]; chosen, not measured."""
LONGEST_STEADY = 10.0
"""Motion goes on through a gap for at most so long [s]."""
LONGEST_GAP = 3600.0
"""A longer gap enlarges the covariance no further [s]."""


@kernel
def observe(model, s, N, settings, inside, rank, share, out):
    """Which velocities the wheels determine; share (6,): how much of each even the assumed contacts leave open.

    N (nv, nv) is work space.
    """
    known = settings[slots.CONTACT_KNOWN] > 0.0 and inside
    if settings[slots.LINEAR] > 0.0:
        for i in range(6):
            share[i] = 0.0
            out[slots.O_OBSERVED + i] = 1.0 if 2 <= i <= 4 else 0.0
        return
    outside_share(model, s, N, known, not known, share)
    for i in range(6):
        seen = share[i] < LOWEST_SHARE and (known or i >= 2)
        if settings[slots.PLANAR] > 0.0 and i == 5:
            seen = False
        out[slots.O_OBSERVED + i] = 1.0 if seen else 0.0
    if out[slots.O_MEASURED] == 0.0 and not known:
        return  # no wheel is measured: contacts that were only assumed must not decide how fast it goes
    if rank < model.counts[1]:
        outside_share(model, s, N, True, False, share)
    else:
        for i in range(6):
            share[i] = 0.0


@kernel
def open_velocities(C, share):
    """Variance of what nothing determines; returns a fault bit if that is motion in the plane."""
    fault = 0
    for i in range(6):
        if share[i] > LOWEST_SHARE:
            C[7 * i] += share[i] * UNKNOWN_SPEED**2
            if 2 <= i <= 4:
                fault = slots.FAULT_UNOBSERVED
    return fault


@kernel
def take_gyro(settings, memory, gyro, twist, C, lean):
    """Turn rates of the gyro instead of the wheels', where given; returns a fault bit if they are not finite."""
    memory[slots.M_GYRO] = 0.0
    if gyro[0] == math.inf:  # none was given
        return 0
    for i in range(3):
        if not (abs(gyro[i]) < 1e9):
            return slots.FAULT_GYRO
    for i in range(3):
        twist[i] = gyro[i]
        lean[i] = 0.0
        lean[6 + i] = 0.0
        for k in range(6):
            C[6 * i + k] = 0.0
            C[6 * k + i] = 0.0
    for i in range(3):
        C[7 * i] = settings[slots.GYRO_VARIANCE]
    memory[slots.M_GYRO] = 1.0
    return 0


@kernel
def keep_sample(settings, memory, t, attitude, odometry, twist, C, lean, intensity, h, out):
    """What the next step starts from, and the velocity of the estimate.

    The process noise of a fit enters as the variance of the mean velocity over a step, noise of attitude by its slip.
    """
    period = h if h > 0.0 else settings[slots.PERIOD]
    variance = memory[slots.M_ATTITUDE_SIGMA] ** 2
    for i in range(6):
        for j in range(6):
            k = 6 * i + j
            by_slip = variance * (lean[i] * lean[j] + lean[6 + i] * lean[6 + j])
            out[slots.O_COVARIANCE + k] = C[k] + settings[slots.NOISE + k] * intensity / period + by_slip
            memory[slots.M_COVARIANCE + k] = C[k]
    for i in range(12):
        memory[slots.M_LEAN + i] = lean[i]
    for i in range(6):
        out[slots.O_ODOMETRY + i] = odometry[i]
        out[slots.O_TWIST + i] = twist[i]
        memory[slots.M_TWIST + i] = twist[i]
    memory[slots.M_ATTITUDE] = attitude[0]
    memory[slots.M_ATTITUDE + 1] = attitude[1]
    memory[slots.M_SPEED] = intensity
    memory[slots.M_TIME] = t
    memory[slots.M_STARTED] = 1.0
    memory[slots.M_LOST] = 0.0
    out[slots.O_TIME] = t


@entry
def take_samples(store, samples):
    """Take samples one after the other."""
    last = samples.last
    for k in range(samples.sense.shape[0]):
        for i in range(samples.by_speed.size):
            store.settings[samples.by_speed[i]] = samples.sliding[i] * samples.speed[k]
        samples.bits[k] = take_sample(store, samples.rates[k], samples.angles[k], samples.sense[k], last)
        if k < samples.out.shape[0]:
            for i in range(last.size):
                samples.out[k, i] = last[i]


@kernel
def take_sample(store, rates, angles, sense, out):
    """Take one sample; the estimate is in out. Returns the fault bits.

    sense = (time, roll, pitch, gyro (3)), with infinity for a roll or a first turn rate that is not given.
    """
    vehicle = store.vehicle
    model = store.model
    ground = store.ground
    s = store.s
    work = store.work
    shares = store.shares
    settings = store.settings
    joints = store.joints
    linear = store.linear
    contact = store.contact
    memory = store.memory
    t = sense[0]
    faults = check_time(settings, memory, t)
    if faults == slots.FAULT_TIME:
        return faults
    h = 0.0
    gap = settings[slots.GAP]
    if memory[slots.M_STARTED] > 0.0 and (faults & slots.FAULT_CLOCK) == 0:
        gap = min(t - memory[slots.M_TIME], LONGEST_GAP)
        h = min(gap, LONGEST_STEADY)
    odometry = work[0]
    twist = work[1]
    attitude = work[4]
    q = work[5]
    given = work[6, : 6 + rates.size]
    place = work[7]
    share = work[8]
    C = work[9]
    lean = work[8, 6:18]
    attitude[0] = sense[1]
    attitude[1] = sense[2]
    faults |= check_inputs(settings, memory, joints, rates, angles, attitude, t, q, out)
    choose_known(settings, joints, rates, model, given)
    speed = rim_speed(vehicle, model, given, out)
    for i in range(6):
        twist[i] = memory[slots.M_TWIST + i]
    # On a known ground the contacts depend on where the vehicle is: once for a guess of that, once more there.
    inside = True
    rank = 0
    factorised = False
    for _ in range(2 if settings[slots.ON_GROUND] > 0.0 else 1):
        set_attitude(q, attitude[0], attitude[1], 0.0)
        if settings[slots.ON_GROUND] > 0.0:
            advance(settings, memory, attitude, twist, h, place)
            set_attitude(q, attitude[0], attitude[1], place[3])
            for i in range(3):
                q[4 + i] = place[i]
        inside, rank, factorised = sample_twist(vehicle, model, ground, s, settings, linear, contact, q, given, work)
    if not inside:
        faults |= slots.FAULT_GROUND
    observe(model, s, shares, settings, inside, rank, share, out)
    if settings[slots.LINEAR] > 0.0 and math.isnan(linear[0, 0]):  # its wheels do not suffice
        for i in range(6):
            odometry[i] = 0.0
            twist[i] = 0.0
            share[i] = 1.0
            out[slots.O_OBSERVED + i] = 0.0
            lean[i] = 0.0
            lean[6 + i] = 0.0
        for i in range(36):
            C[i] = 0.0
    else:
        lean_slopes(vehicle, model, s, factorised, settings, linear, given, work, lean)
        sample_covariance(vehicle, model, ground, s, factorised, settings, joints, linear, contact, q, given, work, C)
        factor = slip_factor(settings, odometry, twist)
        for i in range(36):
            C[i] *= factor
        if settings[slots.LINEAR] == 0.0:
            # A missing wheel may turn as fast as the others, either way, and does so for a while.
            unsure = max(speed, SLOWEST) if out[slots.O_MEASURED] > 0.0 else UNKNOWN_SPEED
            step = h if h > 0.0 else settings[slots.PERIOD]
            unsure *= math.sqrt(1.0 + 2.0 * MISSING_LASTS / step)
            missing_rates(vehicle, model, s, joints, rates, unsure, given, work, C)
    faults |= open_velocities(C, share)
    faults |= take_gyro(settings, memory, sense[3:6], twist, C, lean)
    # Fewer wheels average less of what the process noise of a fit stands for.
    intensity = max(settings[slots.WHEELS_WANTED] / max(out[slots.O_MEASURED], 1.0), 1.0)
    if settings[slots.NOISE + 36] > 0.0:
        intensity *= speed
    enlarge = 0.0
    if (faults & (slots.FAULT_GAP | slots.FAULT_CLOCK)) != 0 or memory[slots.M_LOST] > 0.0:
        enlarge = settings[slots.ACCELERATION]
    write_estimate(settings, memory, attitude, twist, C, lean, intensity, h, gap, enlarge, place, s, out)
    keep_sample(settings, memory, t, attitude, odometry, twist, C, lean, intensity, h, out)
    out[slots.O_FAULTS] = faults
    return faults
