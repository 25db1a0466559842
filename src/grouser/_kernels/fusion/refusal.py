"""GPS positions and headings that the gate refuses: left out at first, let in again if they persist."""

import math

from grouser._compile.jit import kernel
from grouser._kernels.fusion.memory import VELOCITY
from grouser._kernels.fusion.update import count_used

FEWEST = 3  # Refusals in a row before a source is let in again
PATIENCE = 10.0  # Times `recover_after` for which wheels or poses support the state against a source
USE, LEAVE_OUT, WIDEN, OPEN = range(4)


@kernel
def judged(m, source, square, rows):
    """What to do with a measurement by its squared innovation; it is counted.

    USE it if it passes the gate, else LEAVE_OUT at first. If refusals last WIDEN: use it with the noise it shows, while
    wheels or poses support the state. OPEN: the state is wrong, add the residual to its covariance.
    """
    if 0.0 <= square <= m.settings.gate[rows]:
        accept(source, square, rows)
        source.since = math.nan
        return USE
    source.refused += 1
    source.run += 1
    if math.isnan(source.since):
        source.since = m.clock.now
    lasted = m.clock.now - source.since
    limit = m.settings.recover_after
    if source.run < FEWEST or not lasted >= limit or not square >= 0.0:
        return LEAVE_OUT
    supported = m.clock.now - max(m.clock.wheels, m.clock.poses) <= limit
    return WIDEN if supported and lasted < PATIENCE * limit else OPEN


@kernel
def opened(source):
    """The state was opened to a source: its refusals count from the beginning again."""
    source.run = 0
    source.since = math.nan


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
