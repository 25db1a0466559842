"""Wheels under suspicion: a sequential test of each wheel against the others, and the pose without those that slip.

The evidence against a suspect is the Shiryaev–Roberts statistic R ← (R + h) Λ of slip of several sizes, with Λ the
likelihood of slip over that of the largest ordinary error. While wheels roll, the mean of R is at most the time that
has passed: the sum over m statistics reaches m · A on average no sooner than after the time A, whatever the ordinary
errors are. R/(m A) is then the odds of slip for one that begins every A on average, anywhere.
While there is such evidence the pose without each suspect is followed next to the estimate. The estimate is the mean of
all, with their spread in its covariance. Once one suspect is sure its pose is taken, and its wheels are left out until
they agree again.
"""

import math

from grouser._compile.jit import inlined, kernel
from grouser._kernels.arrays import add_congruence, add_outer, copy, fill
from grouser._kernels.odometry import inputs, velocity
from grouser._kernels.odometry.consistency import find_residuals, smooth_angles
from grouser._kernels.odometry.pose import advance
from grouser._kernels.odometry.state import FAULT_SLIP, LARGEST, SIZES
from grouser._kernels.rotation import add, put, set_attitude

ORDINARY = 3.0  # Sigmas of ordinary errors that are no evidence
FOLLOWED = 1e-5  # Odds of slip from which on the pose without a suspect is followed
SOONEST = 0.1  # How long the evidence must last before it moves the estimate [s]: a sample alone proves nothing
SURE = 0.99  # Probability of one suspect among all, from which on it is left out
LASTS = 1.0  # How long ordinary errors last, after which another look at them counts [s]
LEARNED = 2.0  # Time over which the noise of residuals is learned [s]
AGREES = 7.0  # Logarithm of the odds at which a wheel that was left out is believed again
MOST = 3.0  # Evidence is cut at this many alarms, so that it decays soon where wheels agree again
LONGEST = 0.05  # A sample counts for no longer [s]
MANY = 40.0  # Logarithm of a likelihood that counts in one sample


@kernel
def begin(store, raw):
    """Rates that are believed: NaN for wheels that are left out."""
    suspicion = store.suspicion
    copy(raw, suspicion.believed)
    if suspicion.rules.on == 1 and store.settings.linear == 0:
        for w in range(suspicion.trust.size):
            if suspicion.trust[w].excluded == 1:
                suspicion.believed[store.vehicle.wheel[w] - 1] = math.nan


@kernel
def leave_wheels_out(store, raw, k):
    """As `begin`, without suspect k (−1: none) too, and with this sample's residuals.

    A map of the rates that is linear takes what the others ask of a wheel.
    """
    suspicion, vehicle = store.suspicion, store.vehicle
    begin(store, raw)
    for w in range(suspicion.trust.size):
        out = suspicion.trust[w].excluded == 1
        slipped = suspicion.suspects[w]
        if k >= 0 and suspicion.member[k, w] == 1:
            out = True
            slipped = suspicion.suspects[k]
        if out:
            j = vehicle.wheel[w] - 1
            if store.settings.linear == 0:
                suspicion.believed[j] = math.nan
            elif slipped.known == 1:
                suspicion.believed[j] = raw[j] - slipped.residual / vehicle.radius[w]
    inputs.choose_known(store, suspicion.believed)


@kernel
def sample_twist(store, sense, raw, h):
    """As `velocity.sample_twist`, of the wheels that are believed after this sample."""
    suspicion = store.suspicion
    found = velocity.sample_twist(store, h)
    if suspicion.rules.on == 0:
        return found
    linear = store.settings.linear == 1
    if linear:
        velocity.find_contact_frames(store)
    period = min(store.work.period, LONGEST)
    smooth_angles(store, sense.time, h)
    find_residuals(store, raw, sense, period)
    changed = weigh(store, period)
    some = False
    for w in range(suspicion.trust.size):
        some = some or suspicion.trust[w].excluded == 1
    if suspicion.episode.active == 1:
        follow(store, raw, h)
        changed = True
    if changed or (linear and some):
        leave_wheels_out(store, raw, -1)
        found = velocity.sample_twist(store, h)
    return found


@kernel
def learn_noise(suspect, h):
    """Variance of the residual from sample to sample: as given, or as observed if that is more.

    Half the mean square of differences, in which slip that lasts has no part; a jump counts no more than four sigmas.
    """
    given = suspect.white + 1e-12
    if suspect.samples > 0:
        change = 0.5 * (suspect.residual - suspect.last) ** 2
        if suspect.samples > 10:
            change = min(change, 16.0 * max(suspect.noise, given))
        share = max(h / LEARNED, 1.0 / (1.0 + suspect.samples))
        suspect.noise += share * (change - suspect.noise)
    else:
        suspect.noise = given
    suspect.samples += 1
    suspect.last = suspect.residual
    return max(given, suspect.noise)


@kernel
def gather(suspicion, suspect, variance, h):
    """The evidence against a suspect, which takes part, after one more sample."""
    rules, episode = suspicion.rules, suspicion.episode
    ordinary = ORDINARY * suspect.persistent
    suspect.total = 0.0
    size = rules.smallest * episode.scale
    for i in range(2 * SIZES):
        sign = 1.0 if i % 2 == 0 else -1.0
        gain = size * (sign * suspect.residual - ordinary - 0.5 * size) / variance
        old = suspect.evidence[i] + (h if episode.moving == 1 else 0.0)
        suspect.evidence[i] = min(old * math.exp(min(gain, MANY)), MOST * rules.alarm)
        suspect.total += suspect.evidence[i]
        if i % 2 == 1:
            size *= 4.0


@kernel
def take_back(suspicion, w, variance, h):
    """Whether a wheel that was left out agrees again: slip is less than half of what would be found, either way."""
    rules, episode = suspicion.rules, suspicion.episode
    suspect, trust = suspicion.suspects[w], suspicion.trust[w]
    slip = 2.0 * ORDINARY * suspect.persistent + rules.smallest * episode.scale
    if episode.moving == 0:
        return False
    for i in range(2):
        sign = 1.0 if i == 0 else -1.0
        gain = slip * (0.5 * slip - sign * suspect.residual) / variance
        trust.agree[i] = max(trust.agree[i] + min(gain, AGREES * h / rules.hold), 0.0)
    if min(trust.agree[0], trust.agree[1]) < AGREES:
        return False
    trust.excluded = 0
    fill(suspect.evidence, 0.0)
    return True


@inlined
def is_out(suspicion, k):
    """Whether a wheel of a suspect is left out already."""
    out = False
    for w in range(suspicion.trust.size):
        out = out or (suspicion.member[k, w] == 1 and suspicion.trust[w].excluded == 1)
    return out


@kernel
def weigh(store, h):
    """Take the residuals of a sample as evidence; returns whether other wheels are believed than before."""
    suspicion = store.suspicion
    suspects, rules, episode = suspicion.suspects, suspicion.rules, suspicion.episode
    total = 0.0
    changed = False
    some = False
    nw = suspicion.trust.size
    for k in range(suspects.size):
        suspect = suspects[k]
        if suspect.known == 0:
            fill(suspect.evidence, 0.0)
            suspect.total = 0.0
            suspect.samples = 0
        else:
            variance = learn_noise(suspect, h)
            if is_out(suspicion, k):
                suspect.total = 0.0
                if k < nw and take_back(suspicion, k, variance, h):
                    changed = True
            else:
                gather(suspicion, suspect, variance, h)
        total += suspect.total
        if suspect.total > FOLLOWED * rules.alarm:
            some = True
            if suspect.followed == 0:
                suspect.followed = 1
                suspect.looks = 0.0
                copy(store.memory.twist, suspect.before)
                fill(suspect.offset, 0.0)
    if not some:
        if episode.active == 1:
            take_mean(store)
        return changed
    episode.active = 1
    episode.lasted += h
    episode.held = max(episode.held + (h if total >= rules.alarm else -h), 0.0)
    lasts = episode.lasted >= SOONEST and (total < rules.alarm or episode.held >= SOONEST)
    episode.probability = total / (rules.alarm + total) if lasts else 0.0
    if episode.held >= rules.hold:  # evidence is not counted beyond a few alarms, but it has lasted
        episode.probability = 1.0
    episode.peak = max(episode.peak, episode.probability)
    best = compare(suspicion, h)
    if episode.held >= rules.hold and suspects[best].weight > SURE and spared(store, best) > 0:
        take_mean(store)
        copy(suspects[best].before, store.memory.twist)
        for w in range(nw):
            if suspicion.member[best, w] == 1:
                suspicion.trust[w].excluded = 1
                fill(suspicion.trust[w].agree, 0.0)
        for k in range(suspects.size):
            fill(suspects[k].evidence, 0.0)
        changed = True
    return changed


@inlined
def spared(store, k):
    """How many measured wheels are left without suspect k."""
    count = 0
    for w in range(store.suspicion.trust.size):
        if store.suspicion.member[k, w] == 0 and abs(store.suspicion.believed[store.vehicle.wheel[w] - 1]) < LARGEST:
            count += 1
    return count


@kernel
def compare(suspicion, h):
    """Probabilities of the suspects that are followed, by their mean residuals; returns the most likely.

    Leaving one out lowers the sum of squares by the square of its residual over its variance.
    """
    suspects, episode = suspicion.suspects, suspicion.episode
    best = 0
    highest = -math.inf
    share = h / min(episode.lasted, LASTS)
    for k in range(suspects.size):
        suspect = suspects[k]
        suspect.weight = -math.inf
        if suspect.known == 0 or suspect.total == 0.0:
            suspect.average = 0.0
            continue
        suspect.average += share * (suspect.residual - suspect.average)
        if suspect.followed == 0:
            continue
        variance = suspect.persistent**2 + share * max(suspect.white, suspect.noise) + 1e-12
        score = 0.5 * suspect.average**2 / variance
        suspect.looks += score * h / LASTS if episode.held > 0.0 else 0.0
        suspect.weight = score + suspect.looks
        for w in range(suspicion.trust.size):
            suspect.weight += suspicion.doubt[w] if suspicion.member[k, w] == 1 else 0.0
        if suspect.weight > highest:
            highest = suspect.weight
            best = k
    total = 0.0
    for k in range(suspects.size):
        suspects[k].weight = math.exp(max(suspects[k].weight - highest, -700.0))
        total += suspects[k].weight
    for k in range(suspects.size):
        suspects[k].weight *= 1.0 / total if suspects[k].followed == 1 else 0.0
    return best


@kernel
def follow(store, raw, h):
    """Velocity and step without each suspect that is followed."""
    suspicion, memory, work, keep = store.suspicion, store.memory, store.work, store.suspicion.room
    copy(memory.twist, keep[:6])
    yaw = memory.yaw
    for k in range(suspicion.suspects.size):
        suspect = suspicion.suspects[k]
        if suspect.followed == 0:
            continue
        leave_wheels_out(store, raw, k)
        copy(suspect.before, memory.twist)
        memory.yaw = yaw + suspect.offset[3]
        velocity.sample_twist(store, h)
        copy(work.twist, suspect.twist)
        advance(store, h)
        copy(store.arc.step, suspect.step)
    copy(keep[:6], memory.twist)
    memory.yaw = yaw


@kernel
def mean_offset(suspicion, probability, mean, spread):
    """Mean of the poses that are followed less the estimated one, and their covariance, (4,) and (4, 4)."""
    fill(mean, 0.0)
    fill(spread, 0.0)
    for k in range(suspicion.suspects.size):
        suspect = suspicion.suspects[k]
        if suspect.followed == 1:
            p = probability * suspect.weight
            for a in range(4):
                mean[a] += p * suspect.offset[a]
            add_outer(p, suspect.offset, suspect.offset, spread)
    add_outer(-1.0, mean, mean, spread)


@kernel
def take_mean(store):
    """End of the episode: the mean of the poses that were followed becomes the estimate."""
    suspicion, memory = store.suspicion, store.memory
    episode, mean = suspicion.episode, suspicion.room[8:12]
    mean_offset(suspicion, episode.peak, mean, suspicion.spread[:4, :4])
    put(add(memory.position, 1.0, mean), memory.position, 0)
    memory.yaw += mean[3]
    for a in range(4):
        for b in range(4):
            memory.pose[a, b] += suspicion.spread[a, b]
    for k in range(suspicion.suspects.size):
        suspicion.suspects[k].followed = 0
        suspicion.suspects[k].average = 0.0
        suspicion.suspects[k].weight = 0.0
    episode.active = 0
    episode.peak = episode.probability = episode.held = episode.lasted = 0.0


@kernel
def finish(store, out):
    """Advance the poses that are followed, and write their mean and spread into the estimate; returns a fault bit."""
    suspicion, work = store.suspicion, store.work
    out.excluded = out.suspected = 0
    out.slip_joint = -1
    out.n_wheels = suspicion.trust.size
    if suspicion.rules.on == 0:
        return 0
    episode = suspicion.episode
    alarm = episode.held >= suspicion.rules.hold
    for w in range(suspicion.trust.size):
        weight = 0.0
        for k in range(suspicion.suspects.size):
            weight += suspicion.suspects[k].weight * suspicion.member[k, w]
        out.suspected += 2**w if alarm and weight > 1.0 - SURE else 0
        out.excluded += 2**w if suspicion.trust[w].excluded == 1 else 0
        if out.slip_joint < 0 and out.suspected + out.excluded > 0:
            out.slip_joint = store.vehicle.wheel[w] - 1
    if episode.active == 1:
        for k in range(suspicion.suspects.size):
            suspect = suspicion.suspects[k]
            if suspect.followed == 1:
                for a in range(4):
                    suspect.offset[a] += suspect.step[a] - store.arc.step[a]
                copy(suspect.twist, suspect.before)
        spread_pose(store, out)
        spread_twist(suspicion, work.twist, out)
    return FAULT_SLIP if out.suspected + out.excluded > 0 else 0


@kernel
def spread_pose(store, out):
    """The pose of the estimate as the mean of all that are followed, their spread in its covariance."""
    suspicion, M = store.suspicion, store.work.to_body
    mean, spread = suspicion.room[8:12], suspicion.spread[:4, :4]
    mean_offset(suspicion, suspicion.episode.peak, mean, spread)
    put(add(out.position, 1.0, mean), out.position, 0)
    out.yaw += mean[3]
    set_attitude(out.quaternion, out.attitude[0], out.attitude[1], out.yaw)
    add_congruence(M, spread, out.pose_covariance)


@kernel
def spread_twist(suspicion, twist, out):
    """The velocity of the estimate, likewise."""
    mean, change = suspicion.room[:6], suspicion.room[6:12]
    fill(mean, 0.0)
    for k in range(suspicion.suspects.size):
        suspect = suspicion.suspects[k]
        if suspect.followed == 1:
            p = suspicion.episode.probability * suspect.weight
            for a in range(6):
                change[a] = suspect.twist[a] - twist[a]
                mean[a] += p * change[a]
            add_outer(p, change, change, out.twist_covariance)
    add_outer(-1.0, mean, mean, out.twist_covariance)
    for a in range(6):
        out.twist[a] += mean[a]
