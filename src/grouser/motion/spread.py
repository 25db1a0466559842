"""How much slip differs from one ground to another: the prior of a ground that has not been felt yet."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from grouser.checks import FloatArray
from grouser.motion.parameters import Parameter

SHARE = 0.2
"""Spread between grounds, one sigma, as a share of a ground parameter's prior sigma: 0.1 for most slip numbers."""
SLOPES = {"a4": 0.04, "a8": 0.04, "a12": 0.02, "a13": 0.02, "a9": 0.03, "a3": 0.05, "a7": 0.05, "a11": 0.05}
"""Of slip numbers that are multiplied by more than about 1: by g of a slope (2.5 m/s² at 15°), by speed (2 m/s)."""
OF_GROUND = ("slip", "contact")
"""Parts of a motion model that belong to the ground; the others belong to the vehicle."""


def of_ground(name: str) -> bool:
    """Whether a parameter changes with the ground."""
    return name.partition(".")[0] in OF_GROUND


def default_spread(parameters: Sequence[Parameter]) -> FloatArray:
    """Covariance (n, n) between grounds before several were driven on: independent, zero for the vehicle's own."""
    sigma = [_sigma(p) if of_ground(p.name) else 0.0 for p in parameters]
    return np.diag(np.square(sigma)).reshape(len(parameters), len(parameters))


def _sigma(parameter: Parameter) -> float:
    """Never more than a share of what is known before any driving."""
    part, _, field = parameter.name.partition(".")
    most = SHARE * parameter.sigma
    return min(SLOPES[field], most) if part == "slip" and field in SLOPES else most
