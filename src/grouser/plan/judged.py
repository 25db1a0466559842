"""Plans that were driven by the best model and by drawn ones, and what share of those failed."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from grouser.checks import FloatArray
from grouser.plan.trials import MEANING, Trials


class Candidate(NamedTuple):
    """A plan with what its drives say of it."""

    plan: FloatArray
    """Forward, left [m/s], turn [rad/s], (T, 3)."""
    risk: float
    """Share of the drawn models that fails within the horizon, a ratio."""
    soon: float
    """Share that fails in the first step, a ratio."""
    states: FloatArray
    """Of the best model, (T + 1, nq)."""
    cost: float
    """Of that drive, dimensionless."""


class Judged(NamedTuple):
    """Plans (E, T, 3) and their drives."""

    plans: FloatArray
    """Forward, left [m/s], turn [rad/s], (E, T, 3)."""
    nominal: Trials
    """Of the best model."""
    tests: Trials | None
    """Of the drawn models, draws by plans."""
    risk: FloatArray
    """Share that fails within the horizon, a ratio, (E,)."""
    soon: FloatArray
    """Share that fails in the first step, a ratio, (E,)."""

    def passes(self, most: float) -> NDArray[np.bool_]:
        """Which plans the best model drives to their end with at most that risk, (E,)."""
        return np.asarray(self.nominal.ok & (self.risk <= most))

    def candidate(self, i: int) -> Candidate:
        """One of the plans."""
        states, cost = self.nominal.state[i], float(self.nominal.cost[i])
        return Candidate(self.plans[i], float(self.risk[i]), float(self.soon[i]), states, cost)


def why_failed(trials: Trials, what: str) -> str:
    """A sentence on why rollouts fail: what most of them did, and where the first of those was."""
    status, n = Counter(trials.status[~trials.ok].tolist()).most_common(1)[0]
    x, y = trials.end_place[int(np.argmax(trials.status == status))]
    return f"{what}: of {len(trials.status)}, {n} ended because {MEANING[status]}, the first near ({x:.1f}, {y:.1f}) m"
