"""Which values the variants of a study have: grid, random, Latin hypercube, Sobol, and Saltelli's for Sobol indices.

Levels of a variant depend on the seed and its number alone, so any part of a study can be drawn alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from grouser.checks import FloatArray
from grouser.errors import StudyError

METHODS = ("grid", "random", "latin", "sobol", "saltelli")
MOST_SOBOL = 2**30
MOST_LATIN = 10_000_000
"""Variants of a Latin hypercube: the order of all of them is kept in memory."""
EDGE = 2.0**-53
"""Distance of a level from 0 and 1, at least."""


@dataclass(frozen=True)
class Design:
    """The variants of a study as levels of its varied parameters."""

    method: str
    """One of `METHODS`."""
    runs: int
    """Variants; of saltelli those of each of its two matrices."""
    dims: int
    """Parameters that vary."""
    seed: int
    sizes: tuple[int, ...] = ()
    """Levels of each parameter in a grid."""

    def __post_init__(self) -> None:
        most = {"latin": MOST_LATIN, "sobol": MOST_SOBOL, "saltelli": MOST_SOBOL}.get(self.method, 10**12)
        if self.runs > most:
            raise StudyError(f"runs: {self.runs} are too many for {self.method}; at most {most} are drawn")

    @property
    def variants(self) -> int:
        """How many there are."""
        if self.method == "grid":
            return math.prod(self.sizes)
        if self.dims == 0 and self.method != "random":
            return 1
        return self.runs * (self.dims + 2) if self.method == "saltelli" else self.runs

    def levels(self, variants: Sequence[int] | np.ndarray) -> FloatArray:
        """Levels of some variants, ascending, shape (n, dims): 0 < u < 1; of a grid the middle of each level."""
        which = np.asarray(variants, dtype=np.int64)
        if self.dims == 0 or len(which) == 0:
            return np.empty((len(which), self.dims))
        if self.method == "grid":
            picked = np.stack(np.unravel_index(which, self.sizes), axis=1)
            return np.asarray((picked + 0.5) / np.array(self.sizes))
        first, last = int(which[0]), int(which[-1]) + 1
        if self.method == "saltelli":
            return _saltelli(which, self.dims, self.seed)
        if self.method == "random":
            found = _random(first, last, self.dims, self.seed)
        elif self.method == "latin":
            order = _orders(self.runs, self.dims, self.seed)[first:last]
            found = (order + _random(first, last, self.dims, self.seed)) / self.runs
        else:
            found = _sobol(first, last, self.dims, self.seed)
        return np.clip(found, EDGE, 1.0 - EDGE)[which - first]


def _random(first: int, last: int, dims: int, seed: int) -> FloatArray:
    """Rows of a table of random numbers that need not be drawn from its start: Philox counts, four numbers a block."""
    blocks = -(-dims // 4)
    bits = np.random.Philox(key=seed)
    bits.advance(first * blocks)
    found: FloatArray = np.random.Generator(bits).random((last - first, 4 * blocks))[:, :dims]
    return found


@lru_cache(maxsize=2)
def _orders(runs: int, dims: int, seed: int) -> np.ndarray:
    """The stratum of each run in each dimension, (runs, dims)."""
    return np.stack([np.random.default_rng([seed, 1, k]).permutation(runs) for k in range(dims)], axis=1)


def _sobol(first: int, last: int, dims: int, seed: int) -> FloatArray:
    import warnings

    from scipy.stats import qmc

    sequence = qmc.Sobol(dims, scramble=True, seed=seed)
    if first:
        sequence.fast_forward(first)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that a number of points is no power of two
        return np.asarray(sequence.random(last - first), dtype=np.float64)


def _saltelli(which: np.ndarray, dims: int, seed: int) -> FloatArray:
    """Base sample b has dims + 2 variants: A, B, and A with each column in turn from B."""
    base, part = np.divmod(which, dims + 2)
    low = int(base[0])
    both = np.clip(_sobol(low, int(base[-1]) + 1, 2 * dims, seed), EDGE, 1.0 - EDGE)[base - low]
    a, b = both[:, :dims], both[:, dims:]
    from_b = (part[:, None] == 1) | (part[:, None] - 2 == np.arange(dims))
    return np.asarray(np.where(from_b, b, a), dtype=np.float64)
