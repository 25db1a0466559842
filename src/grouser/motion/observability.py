"""Which parameters a log determines, and which directions among them it leaves open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from grouser.checks import FloatArray
from grouser.motion.parameters import Parameter

WEAK = 3.0
"""A direction counts as determined if the log shrinks its prior sigma at least by this factor."""


@dataclass(frozen=True, kw_only=True)
class Direction:
    """A combination of parameters that the log hardly determines."""

    parts: dict[str, float]
    """Share of each parameter, of those that matter, in units of its prior sigma; the largest is 1."""
    shrinkage: float
    """By what factor the log shrinks the prior sigma of this combination; 1 is not at all."""

    def __str__(self) -> str:
        terms = [f"{'+' if c >= 0 else '−'}{abs(c):.2g} {name}" for name, c in self.parts.items()]
        what = terms[0].lstrip("+") if len(terms) == 1 else " ".join(terms).lstrip("+")
        return f"{what} (sigma only {self.shrinkage:.2g} times smaller than before)"


def undetermined(parameters: Sequence[Parameter], information: FloatArray, weak: float = WEAK) -> list[Direction]:
    """Directions whose prior the log does not shrink by a factor of `weak`: singular directions of its information.

    `information` (np, np) is what the log says without the prior. Judged in units of the prior, so that metres and
    radians compare.
    """
    sigma = np.array([p.sigma for p in parameters])
    scaled = information * np.outer(sigma, sigma)
    values, vectors = np.linalg.eigh(0.5 * (scaled + scaled.T))
    found = []
    for value, vector in zip(values, vectors.T, strict=True):
        shrinkage = float(np.sqrt(1.0 + max(value, 0.0)))
        if shrinkage >= weak:
            continue
        vector = vector / vector[np.argmax(np.abs(vector))]
        parts = {p.name: float(c) for p, c in zip(parameters, vector, strict=True) if abs(c) > 0.2}
        found.append(Direction(parts=parts, shrinkage=shrinkage))
    return found
