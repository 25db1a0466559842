"""What makes a fit doubtful, in a sentence each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from grouser.checks import FloatArray
from grouser.motion.intervals import Intervals
from grouser.motion.parameters import Parameter

FAR = 5.0
"""Prior sigmas from its prior at which a parameter counts as run away."""


def doubts(
    parameters: Sequence[Parameter],
    values: FloatArray,
    intervals: Intervals | None = None,
    *,
    converged: bool = True,
) -> tuple[str, ...]:
    """Sentences about systematic parameters with these values, and about the intervals they were found from."""
    found = [intervals.note] if intervals is not None and intervals.note else []
    if not converged:
        found.append("the fit stopped at its limit of steps before it settled; its values may not be the best")
    for p, value in zip(parameters, values.tolist(), strict=True):
        near = 1e-6 * max(p.scale, abs(value), 1e-300)
        for bound, word in ((p.lower, "smallest"), (p.upper, "largest")):
            if np.isfinite(bound) and abs(value - bound) <= near and abs(p.value - bound) > near:
                found.append(
                    f"{p.name} ran to {value:.4g}, the {word} value it may have: the log does not fit this model, or"
                    " does not determine it"
                )
                break
        else:
            if abs(value - p.value) > FAR * p.sigma:
                found.append(
                    f"{p.name} = {value:.4g} is {abs(value - p.value) / p.sigma:.0f} sigmas from its prior"
                    f" {p.value:.4g} ± {p.sigma:.2g}: check the log and the vehicle, or give another prior"
                )
    return tuple(found)
