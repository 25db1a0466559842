"""A change of ground, noticed by the innovations: a Shiryaev–Roberts test with a bound on its false alarms.

At every interval a test begins: has the ground changed just before? It filters under each hypothesis, a ground that is
remembered or a new one, and carries the ratio of their evidence to that of the present estimate. While nothing changes
each ratio is on average one, so that the sum over all tests begun grows by at most one an interval, and the chance that
it exceeds A within N intervals is at most N/A. A ratio is bounded from above for every interval, which only lowers
its mean: one or two outliers never are a change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from grouser._kernels.calibration import intervals as kernels
from grouser.calibration.interval_filter import Limits, Linear, make_run, set_state, state_of
from grouser.checks import FloatArray
from grouser.logs.log import IntArray

BEGUN = 8
"""Tests that run at a time, and the intervals of each: a later change needs another test."""
UNKNOWN, KNOWN = 3.5, 6.0
"""Largest logarithm of the ratio of one interval, where a new or a remembered ground explains it best: it takes three
or two intervals to be sure."""
CURVED = 2.0
"""Distance of predictions [sigmas] beyond which an interval is linearised again."""

Lines = Callable[[FloatArray], tuple[FloatArray, FloatArray]]
"""From estimates (S, n) to the present interval linearised at each: y (S, m), H (S, m, n)."""


@dataclass(frozen=True, kw_only=True)
class Change:
    """A change of ground."""

    time: float
    """When it was noticed [s]."""
    since: float
    """When the ground changed, to an interval [s]."""
    from_: str
    """Name of the ground before."""
    to: str
    """Name of the ground after."""
    recalled: bool
    """Whether the new one was remembered."""

    def summary(self) -> dict[str, Any]:
        """As JSON takes it."""
        return {name.rstrip("_"): value for name, value in asdict(self).items()}


class Prior(NamedTuple):
    """A hypothesis about the ground before an interval of it was seen."""

    name: str
    """Of a remembered ground; empty for a new one."""
    p: FloatArray
    """Estimate, (n,)."""
    P: FloatArray
    """Covariance, (n, n)."""
    weight: float
    """Its probability."""


class Hypotheses:
    """Filters side by side: `slots` tests, begun one after another, of the same hypotheses each."""

    def __init__(self, slots: int, priors: Sequence[Prior], limits: Limits) -> None:
        m, n, _ = limits[0]
        count = len(priors)
        self.names = [prior.name for prior in priors]
        self._known = np.array([bool(name) for name in self.names])
        self.run = make_run(slots * count, limits)
        self.p = np.zeros((slots, count, n))
        self.P = np.zeros((slots, count, n, n))
        self.first_p, self.first_P = self.p.copy(), self.P.copy()
        """Estimates and covariances with which each began."""
        self.log_weight = np.zeros((slots, count))
        """Logarithm of the probability of each hypothesis, given a change when its test began."""
        self.log_ratio = np.full(slots, -np.inf)
        """Logarithm of the evidence for a change at the beginning of each test."""
        self.age = np.full(slots, -1)
        """Intervals of each test; −1: none is begun."""
        self.y = np.zeros((slots, BEGUN, count, m))
        self.H = np.zeros((slots, BEGUN, count, m, n))
        """Linearised intervals of each test."""

    def begin(self, slot: int, priors: Sequence[Prior]) -> None:
        """Begin a test before the next interval."""
        for h, prior in enumerate(priors):
            self.p[slot, h], self.P[slot, h] = prior.p, prior.P
            self.log_weight[slot, h] = np.log(prior.weight)
        self.first_p[slot], self.first_P[slot] = self.p[slot], self.P[slot]
        self.age[slot], self.log_ratio[slot] = 0, 0.0

    def update(self, one: Linear, at: FloatArray, phi: FloatArray, lines: Lines, present: float) -> None:
        """Learn from an interval, linearised at the present estimate `at` (n,), with its evidence by that."""
        run, n = self.run, len(at)
        active = np.flatnonzero(np.repeat(self.age >= 0, len(self.names)))
        p, P = self.p.reshape(-1, n), self.P.reshape(-1, n, n)
        sigma = np.sqrt(np.diagonal(one.covariance(phi)))
        for name, value in one._asdict().items():
            getattr(run, name)[:] = value
        run.phi[:] = phi
        base = np.tile(at, (len(p), 1))
        self._relinearise(active, p, base, sigma, lines)
        after = p.copy()
        kernels.filter_side_by_side(run, after, P.copy())
        evidence = run.evidence.copy()
        self._relinearise(active, after, base, sigma, lines)
        kernels.filter_side_by_side(run, p, P)
        begun = np.flatnonzero(self.age >= 0)
        self._weigh(begun, evidence.reshape(self.log_weight.shape)[begun] - present)
        early = begun[self.age[begun] < BEGUN]
        of_tests = (len(self.age), len(self.names))
        self.y[early, self.age[early]] = run.y.reshape(*of_tests, *run.y.shape[1:])[early]
        self.H[early, self.age[early]] = run.H.reshape(*of_tests, *run.H.shape[1:])[early]
        self.age[begun] += 1

    def _relinearise(self, active: IntArray, p: FloatArray, base: FloatArray, sigma: FloatArray, lines: Lines) -> None:
        """Linearise the interval again for estimates p far from where it was."""
        run = self.run
        shift = np.abs(np.einsum("kmn,kn->km", run.H[active], p[active] - base[active])) / sigma
        far = active[shift.max(axis=1) > CURVED]
        if len(far):
            run.y[far], run.H[far] = lines(p[far])
            base[far] = p[far]

    def _weigh(self, begun: IntArray, ratio: FloatArray) -> None:
        """Bayes' rule for the hypotheses of some tests, with the logarithms of their evidence by the present one's."""
        joint = self.log_weight[begun] + ratio
        largest = joint.max(axis=1, keepdims=True)
        gained = largest + np.log(np.exp(joint - largest).sum(axis=1, keepdims=True))
        self.log_weight[begun] = joint - gained
        most = np.where(self._known[joint.argmax(axis=1)], KNOWN, UNKNOWN)
        self.log_ratio[begun] += np.minimum(gained[:, 0], most)

    def best(self, slot: int) -> int:
        """The most probable hypothesis of a test."""
        return int(np.argmax(self.log_weight[slot]))

    @property
    def state(self) -> dict[str, Any]:
        """As plain numbers."""
        return state_of(self, ARRAYS)

    @state.setter
    def state(self, state: dict[str, Any]) -> None:
        set_state(self, ARRAYS, state)


ARRAYS = ("p", "P", "first_p", "first_P", "log_weight", "log_ratio", "age", "y", "H")
"""State of the hypotheses."""


class ChangeTest:
    """The tests that run, and when their sum is an alarm."""

    def __init__(self, alarm: float, priors: Sequence[Prior], limits: Limits) -> None:
        """`alarm`: mean number of intervals between false alarms, at least."""
        self.threshold = float(np.log(alarm))
        self.running = Hypotheses(BEGUN, priors, limits)
        self.next = 0

    def begin(self, priors: Sequence[Prior]) -> None:
        """Begin a test before the next interval, in place of the oldest."""
        self.running.begin(self.next, priors)
        self.next = (self.next + 1) % BEGUN

    def update(self, one: Linear, at: FloatArray, phi: FloatArray, lines: Lines, present: float) -> int | None:
        """Learn from an interval; the slot of the test that explains an alarm best, or None."""
        running = self.running
        old = running.age >= BEGUN
        running.age[old], running.log_ratio[old] = -1, -np.inf
        if not (running.age >= 0).any():
            return None
        running.update(one, at, phi, lines, present)
        largest = float(running.log_ratio.max())
        total = largest + float(np.log(np.exp(running.log_ratio - largest).sum()))
        return int(np.argmax(running.log_ratio)) if total > self.threshold else None
