"""One streaming update of wheel odometry: faults, body velocity with covariance, and the step to the new pose."""

import math

from grouser._compile.jit import entry, kernel
from grouser._kernels.arrays import copy, copy_rows
from grouser._kernels.motion.rim_speed import rim_speed
from grouser._kernels.odometry import covariance, inputs, pose, suspicion
from grouser._kernels.odometry.state import FAULT_CLOCK, FAULT_GAP, FAULT_GROUND, FAULT_TIME
from grouser._kernels.odometry.velocity import check_gyro

LONGEST_STEADY = 10.0  # Longest gap through which motion continues [s]
LONGEST_GAP = 3600.0  # A longer gap enlarges the covariance no further [s]


@entry
def take_samples(store, samples):
    """Take samples one after the other; fault bits of each into samples.faults."""
    maps = samples.linear.shape[0]
    for k in range(samples.sense.shape[0]):
        if maps > 0:
            copy_rows(samples.linear[min(k, maps - 1)], store.linear)
        if k < samples.extra.shape[0]:
            copy(samples.extra[k], store.extra)
        samples.faults[k] = take_sample(store, samples, k)
        if k < samples.out.shape[0]:
            samples.out[k] = samples.last
            samples.out[k].faults = samples.faults[k]  # of a late sample, too, which changes nothing else


@kernel
def take_sample(store, samples, k):
    """Take sample k; the estimate is in samples.last. Returns the fault bits."""
    sense, rates, out, settings = samples.sense[k], samples.rates[k], samples.last, store.settings
    memory, work = store.memory, store.work
    faults = inputs.check_time(settings, memory, sense.time)
    if faults == FAULT_TIME:
        return faults
    h = 0.0
    gap = settings.gap
    if memory.started == 1 and (faults & FAULT_CLOCK) == 0:
        gap = min(sense.time - memory.time, LONGEST_GAP)
        h = min(gap, LONGEST_STEADY)
    work.period = h if h > 0.0 else settings.period
    faults |= inputs.check_joints(store, rates, samples.angles[k], sense.time, out)
    faults |= inputs.check_attitude(settings, memory, sense, work.attitude)
    faults |= check_gyro(sense, work)
    inputs.check_lever(settings, memory, work, sense.time)
    suspicion.begin(store, rates)
    raw, rates = rates, store.suspicion.believed
    inputs.choose_known(store, rates)
    work.speed, out.wheels = rim_speed(store.vehicle, rates)
    work.stands = 1 if out.wheels > 0 and work.speed == 0.0 else 0
    inside, rank, factorised = suspicion.sample_twist(store, sense, raw, h)
    if not inside:
        faults |= FAULT_GROUND
    covariance.observe(store, inside, rank, out)
    if settings.linear == 1 and math.isnan(store.linear[0, 0]):
        covariance.determine_nothing(work, out)
    else:
        covariance.lean_slopes(store, factorised)
        covariance.sample_covariance(store, factorised)
        if settings.linear == 0:
            covariance.missing_rates(store, rates, out)
    faults |= covariance.open_velocities(work)
    covariance.complete(store)
    memory.gyro = 1 if work.by_gyro[1] == 1.0 else 0
    # Fewer wheels average less of what the process noise of a fit stands for.
    intensity = max(settings.wheels_wanted / max(out.wheels, 1), 1.0)
    if work.stands == 1:
        intensity = 0.0  # slip needs motion
    elif settings.noise_by_distance == 1:
        intensity *= work.speed
    pose.advance(store, h)
    pose.carry_covariance(store, intensity, h)
    if (faults & (FAULT_GAP | FAULT_CLOCK)) != 0 or memory.lost == 1:
        # With both end velocities known the way is off by at most a h²/4, uniformly.
        for i in range(4):
            memory.pose[i, i] += (settings.acceleration * gap * gap / 4.0) ** 2 / 3.0
    pose.write_pose(store, out)
    pose.keep_sample(store, intensity, sense.time, out)
    faults |= suspicion.finish(store, out)
    out.faults = faults
    return faults
