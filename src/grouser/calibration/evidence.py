"""Terms of a learned correction and the widths of their priors: those under which a log is most probable."""

from __future__ import annotations

from typing import Any

import numpy as np

from grouser.calibration.linear import Linearised
from grouser.checks import FloatArray
from grouser.errors import CalibrationError
from grouser.logs import Log
from grouser.motion.correction import HISTORY, TERMS, Corrected, change_over, features
from grouser.motion.fit import Fit
from grouser.motion.intervals import Intervals
from grouser.motion.parameters import ParameterVector, default
from grouser.motion.predict import LogProblem
from grouser.motion.slip_surface import Perturbative
from grouser.motion.velocity import inputs_of

FEWEST = 60
"""Fewest intervals from which a correction is learned."""
GAIN = 1.0
"""A group of terms is kept if it raises the logarithm of the evidence by at least this."""
ROUNDS = 40
"""Updates of the widths."""
LEAST = 1e-6
"""Smallest width of a prior, as a share of one sigma of the log's noise."""
MOVING = 0.02
"""Speed [m/s] or turn rate [rad/s] above which a sample counts as driving."""


def learn_correction(fit: Fit, log: Log, cut: Intervals) -> Corrected | None:
    """The slip surface of a fit with the correction that its log supports; None if it supports none.

    The terms of a group and axis have one prior width, in units of their rms over the log. Widths are those of highest
    evidence (MacKay 1992, type II maximum likelihood) in the model linearised about the fit; groups that do not raise
    the evidence are left out. The coefficients themselves are then calibrated with all other parameters.
    """
    base = fit.model.model
    if not isinstance(base, Perturbative):
        raise CalibrationError(f"a correction is learned on top of a fitted Perturbative, not of {type(base).__name__}")
    if len(cut) < FEWEST:
        return None
    size, reach = _sizes(base, log)
    if reach is None:
        return None
    same = ("vehicle", "slip", "gravity_grows")
    spec: dict[str, Any] = {name: getattr(base, name) for name in same} | {"reach": reach}
    whole = Corrected(**spec, widths=tuple((1.0 / size).tolist()))
    motion = fit.model.replace(model=whole)
    learned = tuple(default(motion, f"slip.c{k}") for k in whole.terms)
    values = np.concatenate([fit.vector[: len(fit.covariance)], np.zeros(len(learned))])
    chosen = (*fit.systematic, *learned)
    vector = ParameterVector(motion, [p.name for p in chosen])
    information, gradient = Linearised.of(LogProblem(log, motion, cut), vector, chosen, values).normal()
    known = np.array([p.sigma for p in fit.systematic]) ** -2.0
    gradient[: len(known)] -= known * (values[: len(known)] - [p.value for p in fit.systematic])
    kept = _Evidence(information, gradient, known).choose()
    if not kept:
        return None
    terms = sorted(k for group in kept for k in group)
    width = {k: sigma / size[k] for group, sigma in kept.items() for k in group}
    return Corrected(**spec, terms=tuple(k + 1 for k in terms), widths=tuple(float(width[k]) for k in terms))


def _sizes(base: Perturbative, log: Log) -> tuple[FloatArray, tuple[float, ...] | None]:
    """Rms of each term over the driving samples of a log, and the range of their inputs; None if there are few."""
    inputs = inputs_of(log, base.vehicle)
    nominal = base.nominal(inputs)[:, [3, 2]]
    given = np.concatenate([nominal, change_over(inputs.time, nominal, HISTORY)], axis=1)
    given = given[(np.abs(nominal) > MOVING).any(axis=1)]
    if len(given) < FEWEST:
        return np.ones(len(TERMS)), None
    # The largest values are of few samples, which determine nothing there.
    reach = np.maximum(np.percentile(np.abs(given), 99.0, axis=0), MOVING)
    phi = features(np.clip(given, -reach, reach))
    return np.maximum(np.sqrt(np.mean(phi**2, axis=0)), 1e-9), tuple(float(r) for r in reach)


class _Evidence:
    """Evidence of a linear model with parameters of known priors, and coefficients whose priors share widths."""

    def __init__(self, information: FloatArray, gradient: FloatArray, known: FloatArray) -> None:
        self.information, self.gradient, self.known = information, gradient, known
        keys = sorted({(term.axis, term.group) for term in TERMS})
        self.groups = [tuple(k for k, term in enumerate(TERMS) if (term.axis, term.group) == key) for key in keys]

    def choose(self) -> dict[tuple[int, ...], float]:
        """Groups of terms that raise the evidence, with the widths of their priors."""
        kept = list(self.groups)
        best, widths = self.maximum(kept)
        while kept:
            without = [self.maximum([g for g in kept if g is not group]) for group in kept]
            losses = [best - value for value, _ in without]
            least = int(np.argmin(losses))
            if losses[least] >= GAIN:
                break
            del kept[least]
            best, widths = without[least]
        return dict(zip(kept, widths, strict=True))

    def maximum(self, groups: list[tuple[int, ...]]) -> tuple[float, list[float]]:
        """Logarithm of the evidence at its largest, but for a constant, and the widths there."""
        n = len(self.known)
        columns = [np.array(group) + n for group in groups]
        used = np.sort(np.concatenate([np.arange(n), *columns]).astype(np.int64))
        at = [np.searchsorted(used, group) for group in columns]
        A, g = self.information[np.ix_(used, used)], self.gradient[used]
        precision = np.concatenate([self.known, np.ones(len(used) - n)])
        for group in at:  # start where the log's own information of the group stands
            precision[group] = np.maximum(np.diag(A)[group].mean() * 0.01, 1e-12)
        for _ in range(ROUNDS):
            S = np.linalg.inv(A + np.diag(precision))
            mean = S @ g
            for group in at:
                determined = len(group) - precision[group[0]] * np.trace(S[np.ix_(group, group)])
                limit = 1.0 / LEAST**2 * max(np.diag(A)[group].mean(), 1e-12)
                precision[group] = min(max(determined, 1e-9) / max(float(np.sum(mean[group] ** 2)), 1e-300), limit)
        normal = A + np.diag(precision)
        logdet = np.linalg.slogdet(normal)[1]
        value = 0.5 * (np.log(precision[n:]).sum() - logdet + g @ np.linalg.solve(normal, g))
        return float(value), [float(precision[group[0]] ** -0.5) for group in at]
