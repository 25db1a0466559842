"""How much slip differs from one ground to another: the prior of a ground that has not been felt yet."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from grouser.checks import FloatArray
from grouser.motion.parameters import Parameter

SHARE = 0.2
"""Spread between grounds, one sigma, as a share of a ground parameter's prior sigma: 0.1 for most slip numbers."""
OF_GROUND = ("slip", "contact")
"""Parts of a motion model that belong to the ground; the others belong to the vehicle."""


def of_ground(name: str) -> bool:
    """Whether a parameter changes with the ground."""
    return name.partition(".")[0] in OF_GROUND


def default_spread(parameters: Sequence[Parameter]) -> FloatArray:
    """Covariance (n, n) between grounds before several were driven on: independent, zero for the vehicle's own."""
    return np.diag([(SHARE * p.sigma) ** 2 if of_ground(p.name) else 0.0 for p in parameters]).reshape(
        len(parameters), len(parameters)
    )
