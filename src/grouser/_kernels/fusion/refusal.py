"""GPS positions and headings that the gate refuses: left out at first, let in again if they persist."""

from grouser._compile.jit import kernel
from grouser._kernels.fusion.memory import VELOCITY
from grouser._kernels.fusion.update import count_used

FEWEST = 3  # Refusals in a row before a source is let in again
PATIENCE = 10.0  # Times `recover_after` for which wheels or poses support the state against a source
LEAVE_OUT, WIDEN, OPEN = range(3)


@kernel
def refuse(m, source, lasted):
    """What to do with a measurement that the gate refuses, after refusals that have lasted for a time [s].

    LEAVE_OUT at first. WIDEN: use it with the noise it shows, while wheels or poses support the state. OPEN: the state
    is wrong, add the residual to its covariance.
    """
    source.refused += 1
    source.run += 1
    limit = m.settings.recover_after
    if source.run < FEWEST or not lasted >= limit:
        return LEAVE_OUT
    supported = m.clock.now - max(m.clock.wheels, m.clock.poses) <= limit
    return WIDEN if supported and lasted < PATIENCE * limit else OPEN


@kernel
def refuse_at_start(m, source):
    """During alignment an outlier may have set the velocity: refusals in a row open it again."""
    source.run += 1
    if m.counts.ready or source.run < FEWEST:
        return
    source.run = 0
    for i in range(3):
        m.covariance[VELOCITY + i, VELOCITY + i] += m.settings.start_velocity[0] ** 2


@kernel
def accept(source, square, rows):
    """A measurement that passed the gate."""
    count_used(source, square, rows)
    source.run = 0
