"""Slip and friction by place, from the intervals of logs: a Gaussian process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_solve, solve_triangular

from grouser import checks, terrain
from grouser.calibration.evaluate import Errors
from grouser.calibration.loss import squared_distance
from grouser.checks import FloatArray
from grouser.errors import CalibrationError
from grouser.logs import Log
from grouser.motion.fit import Fit
from grouser.motion.intervals import cut_log
from grouser.motion.parameters import with_values
from grouser.motion.predict import LogProblem
from grouser.motion.sensitivity import jacobian
from grouser.motion.spread import default_spread, of_ground
from grouser.terrain.ground_map import GroundMap

POINTS = 4
"""Places along an interval at which the ground is sampled."""
MOST = 600
"""Most intervals of a map; of more, every second or third is used."""
MOST_LEARNED = 200
"""Most intervals from which correlation length and differences by place are learned."""
MOST_CELLS = 20_000
COARSEST = 2.0
"""Largest cell unless another is asked for [m]."""
OUTLIER = 35.0
"""Squared Mahalanobis distance, of three residuals, beyond which no ground explains an interval: 1 in 10⁷."""
LENGTHS = (2.0, 4.0, 8.0, 16.0)
"""Correlation lengths that are tried [m]."""
UNSURE = 1.0
"""Sigma of the logarithm of differences by place, about the spread between grounds."""
MARGIN = 3.0
"""Margin of a map around the path, in correlation lengths."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Mapping:
    """A map of the ground and how it was made."""

    map: GroundMap
    """Mean and covariance by place."""
    intervals: int
    """Intervals used."""
    rejected: int
    """Intervals that no ground explains."""
    thinned: int
    """Ratio of intervals to those used; 1: all."""
    scale: FloatArray
    """Differences by place of each parameter, one sigma, as a ratio to its spread between grounds, (n,)."""
    log_likelihood: float
    """Logarithm of the likelihood of the residuals, per interval."""
    without: float
    """The same likelihood with one ground everywhere, that of the fit."""


class Felt(NamedTuple):
    """I intervals, linear in the mapped parameters."""

    residual: FloatArray
    """Measured less predicted by the fit, (I, m)."""
    slopes: FloatArray
    """Of the prediction by the mapped parameters, (I, m, n)."""
    noise: FloatArray
    """Covariance of the residuals by all but the mapped parameters, (I, m, m)."""
    places: FloatArray
    """x, y along each interval [m], (I, POINTS, 2)."""
    times: FloatArray
    """(I, 2) [s]."""


def map_ground(
    fit: Fit,
    logs: Sequence[Log],
    *,
    parameters: Sequence[str] = (),
    cell: float | None = None,
    length: float | None = None,
    interval: float | None = 2.0,
    progress: Callable[[int, int], None] | None = None,
) -> Mapping:
    """A map of ground parameters from logs whose poses are in one frame.

    A parameter at a place is that of the fit plus a Gaussian process: its covariance between places a distance d apart
    is S exp(−d/length). S is the spread between grounds of the fit (`Fit.spread`, of several logs) and its uncertainty,
    each parameter scaled by what is most likely. Each interval measures its mean over the path. Far from the path the
    map is as uncertain as any ground.

    parameters: names out of the fit's ground parameters; default: all, since what is left out is taken for noise.
    cell: side of a cell [m]; default: a third of the length, at most 2. length: correlation length [m]; default: the
    most likely of a few.
    """
    if length is not None:
        checks.positive(length, "length")
    if cell is not None:
        checks.positive(cell, "cell")
    checks.instance(fit, Fit, "fit", "use grouser.Fit.load(path) or what calibrate returned")
    if isinstance(logs, Log) or not logs:
        raise CalibrationError("logs: give the logs of a map in a list")
    names = mapped_parameters(fit, parameters)
    parts = [felt_by(fit, log, names, interval) for log in logs]
    felt = Felt(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
    step = -(-len(felt.residual) // MOST)
    felt = Felt(*(column[::step] for column in felt))
    mean, S = prior_of(fit, names)
    total = felt.noise + felt.slopes @ S @ felt.slopes.transpose(0, 2, 1)
    kept = squared_distance(felt.residual, total) <= OUTLIER
    if np.count_nonzero(kept) < 2:
        raise CalibrationError(f"{logs[0].name}: no ground explains its intervals; check the fit with grouser evaluate")
    felt = Felt(*(column[kept] for column in felt))
    alone = -0.5 * np.sum(squared_distance(felt.residual, felt.noise) + np.linalg.slogdet(felt.noise)[1])
    some = Felt(*(column[:: -(-len(felt.residual) // MOST_LEARNED)] for column in felt))
    tried = []
    for k, one in enumerate(LENGTHS if length is None else (length,)):
        tried.append((*_learned(some, S, one), one))
        if progress is not None:
            progress(k + 1, 2 * len(LENGTHS))
    _, scale, far = max(tried, key=lambda found: found[0])
    field = _Field(felt, S * np.outer(scale, scale), far)
    larger = np.maximum(scale, 1.0)
    any_ground = S * np.outer(larger, larger)
    return Mapping(
        map=field.raster(names, mean, any_ground, min(far / 3.0, COARSEST) if cell is None else cell),
        intervals=len(felt.residual),
        rejected=int(np.count_nonzero(~kept)),
        thinned=step,
        scale=scale,
        log_likelihood=field.log_likelihood / len(felt.residual),
        without=float(alone) / len(felt.residual),
    )


def mapped_parameters(fit: Fit, asked: Sequence[str]) -> list[str]:
    """Names of the parameters of a map, out of the fit's."""
    known = [p.name for p in fit.systematic if of_ground(p.name)]
    names = list(asked) or known
    for name in names:
        if name not in known:
            raise CalibrationError(
                f"a map of {name!r:.40}: is no ground parameter of the fit; there are {', '.join(known) or 'none'}"
            )
    if not names:
        raise CalibrationError("the fit has no parameter of the ground to map; calibrate slip or contact.friction")
    return names


def _columns(fit: Fit, names: Sequence[str]) -> list[int]:
    """Positions of some parameters among those of a fit."""
    known = [p.name for p in fit.systematic]
    return [known.index(name) for name in names]


def prior_of(fit: Fit, names: Sequence[str]) -> tuple[FloatArray, FloatArray]:
    """Mean (n,) and covariance (n, n) of some parameters on any ground."""
    k = _columns(fit, names)
    spread = default_spread(fit.systematic) if fit.spread is None else fit.spread
    return fit.vector[k], (spread + fit.covariance)[np.ix_(k, k)]


def felt_by(fit: Fit, log: Log, names: Sequence[str], interval: float | None) -> Felt:
    """The intervals of a log, linear in some parameters about the fit."""
    checks.instance(log, Log, "logs", "use grouser.read_log(path, manifest=…)")
    cut = cut_log(log, fit.model, interval=interval)
    problem = LogProblem(log, fit.model, cut)
    predicted = problem.errors(fit.model)
    _, H = jacobian(problem, fit.model, fit.systematic, fit.vector[: len(fit.covariance)])
    own = _columns(fit, names)
    others = [k for k in range(len(fit.systematic)) if k not in own]
    P = fit.covariance if fit.spread is None else fit.covariance + fit.spread
    noise = problem.covariance(fit.model, predicted, other_log=True)
    noise = noise + H[:, :, others] @ P[np.ix_(others, others)] @ H[:, :, others].transpose(0, 2, 1)
    # Along the chord to where the fit predicts the end: the ground of a prediction is not known better.
    c, s = np.cos(cut.start[:, 5]), np.sin(cut.start[:, 5])
    x, y = predicted.poses[:, 0], predicted.poses[:, 1]
    share = (np.arange(POINTS) + 0.5)[:, None] / POINTS
    chord = np.stack([c * x - s * y, s * x + c * y], axis=1)
    return Felt(
        residual=problem.residuals(predicted.poses),
        slopes=np.ascontiguousarray(H[:, :, own]),
        noise=noise,
        places=cut.start[:, None, :2] + share * chord[:, None],
        times=cut.times,
    )


def errors_by_map(found: GroundMap, fit: Fit, log: Log, *, interval: float | None = 2.0) -> tuple[Errors, Errors]:
    """Errors of predictions over intervals [s] of a log, with the ground of a map, and on any ground by the fit."""
    felt = felt_by(fit, log, found.names, interval)
    mean, S = prior_of(fit, found.names)
    values, covariance = found.at(felt.places[..., 0], felt.places[..., 1])
    H, Ht = felt.slopes, felt.slopes.transpose(0, 2, 1)
    moved = (H @ (values.mean(axis=1) - mean)[..., None])[..., 0]
    with_map = Errors(
        error=felt.residual - moved, covariance=felt.noise + H @ covariance.mean(axis=1) @ Ht, times=felt.times
    )
    return with_map, Errors(error=felt.residual, covariance=felt.noise + H @ S @ Ht, times=felt.times)


def soils_of_map(
    found: GroundMap, fit: Fit, ground: terrain.Terrain, *, by: str | None = None, count: int = 4
) -> terrain.Terrain:
    """A ground with the soils of a map: classes by one parameter, each with the slip or contact model of its mean.

    by: the parameter; default: the last of the map. For simulations: the fit must be of a kinematic or dynamic model.
    """
    by = by or found.names[-1]
    laws: list[Any] = []
    raster, means = found.classes(by, count)
    for values in means:
        model: Any = with_values(fit.model, dict(zip(found.names, values.tolist(), strict=True))).model
        law = getattr(model, "contact", None) if found.names[0].startswith("contact") else getattr(model, "slip", None)
        if getattr(law, "soil_part", None) is None:
            raise CalibrationError(
                f"a map of {', '.join(found.names)} is for predictions of logs; simulations need a map by a fit of the"
                " kinematic or dynamic model"
            )
        laws.append(law)
    names = [f"{by} {values[found.index(by)]:.3g}" for values in means]
    return terrain.soils(ground, raster, laws, names=names)


def _learned(felt: Felt, S: FloatArray, length: float) -> tuple[float, FloatArray]:
    """The logarithm of likelihood and prior, and the most likely scales of the parameters (n,), for one length."""
    from scipy.optimize import minimize

    def objective(logs: FloatArray) -> tuple[float, FloatArray]:
        scale = np.exp(logs)
        value, slopes = _Field(felt, S * np.outer(scale, scale), length).slopes()
        return 0.5 * float(logs @ logs) / UNSURE**2 - value, logs / UNSURE**2 - slopes

    bounds = [(-3.0, 2.0)] * len(S)
    found = minimize(objective, np.zeros(len(S)), jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 12})
    return -float(found.fun), np.exp(found.x)


class _Field:
    """The Gaussian process given the intervals."""

    def __init__(self, felt: Felt, S: FloatArray, length: float) -> None:
        self.felt, self.S, self.length = felt, S, length
        self.path = felt.places.reshape(-1, 2)
        count, m, n = felt.slopes.shape
        self.H = felt.slopes.reshape(count * m, n)
        near = self._near(self.path).reshape(count, POINTS, count).mean(axis=1)
        self.near = np.kron(near, np.ones((m, m)))
        total = (self.H @ S @ self.H.T) * self.near
        for i, noise in enumerate(felt.noise):
            total[i * m : i * m + m, i * m : i * m + m] += noise
        self.factor = np.linalg.cholesky(total)
        r = felt.residual.ravel()
        self.weights = cho_solve((self.factor, True), r)
        self.log_likelihood = float(-0.5 * r @ self.weights - np.log(np.diag(self.factor)).sum())

    def _near(self, places: FloatArray) -> FloatArray:
        """Correlation of places (k, 2) with the mean of each interval, (k, I)."""
        near = np.exp(-_distances(places, self.path) / self.length)
        return np.asarray(near.reshape(len(places), -1, POINTS).mean(axis=2))

    def slopes(self) -> tuple[float, FloatArray]:
        """The logarithm of the likelihood and its slopes by the logarithms of the parameters' scales, (n,)."""
        inverse = cho_solve((self.factor, True), np.eye(len(self.H)))
        W = (np.outer(self.weights, self.weights) - inverse) * self.near
        return self.log_likelihood, (self.S * (self.H.T @ W @ self.H)).sum(axis=1)

    def at(self, places: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean (k, n) less the fit's values, and covariance (k, n, n), at places (k, 2)."""
        count, m, n = self.felt.slopes.shape
        near = self._near(places)
        # Covariance of the parameters at a place with the residuals, (k, n, count m).
        cross = np.einsum("na,ima,ki->knim", self.S, self.felt.slopes, near).reshape(len(places), n, count * m)
        white = solve_triangular(self.factor, cross.reshape(-1, count * m).T, lower=True).reshape(-1, len(places), n)
        mean = cross @ self.weights
        return mean, self.S - np.einsum("jka,jkb->kab", white, white)

    def raster(self, names: Sequence[str], mean: FloatArray, any_ground: FloatArray, cell: float) -> GroundMap:
        """The map of square cells, up to a few correlation lengths around the path; any ground outside."""
        path, margin = self.path, MARGIN * self.length
        low = np.floor((path.min(axis=0) - margin) / cell)
        cells = np.ceil((path.max(axis=0) + margin) / cell - low).astype(np.int64)
        if cells.prod() > MOST_CELLS:
            raise CalibrationError(
                f"a map of {cells[0]} × {cells[1]} cells of {cell:g} m: at most {MOST_CELLS} are made; use larger cells"
            )
        middles = np.meshgrid(*(np.arange(c) + 0.5 for c in cells), indexing="ij")
        places = (low + np.stack(middles, axis=-1).reshape(-1, 2)) * cell
        n = len(names)
        found, covariance = np.zeros((len(places), n)), np.empty((len(places), n, n))
        for k in range(0, len(places), 500):
            found[k : k + 500], covariance[k : k + 500] = self.at(places[k : k + 500])
        # Far from the path: the spread between grounds, however small the differences along it.
        farther = _distances(places, path).min(axis=1) / (0.5 * MARGIN * self.length)
        covariance += (1.0 - np.exp(-(farther**2)))[:, None, None] * (any_ground - self.S)
        return GroundMap(
            names=tuple(names),
            mean=(found + mean).reshape(*cells, n),
            covariance=covariance.reshape(*cells, n, n),
            origin=(float(low[0] * cell), float(low[1] * cell)),
            cell=float(cell),
            outside_mean=mean,
            outside_covariance=any_ground,
            length=float(self.length),
            path=path,
        )


def _distances(a: FloatArray, b: FloatArray) -> FloatArray:
    """Between places (k, 2) and (j, 2) [m], (k, j)."""
    return np.asarray(np.hypot(a[:, None, 0] - b[:, 0], a[:, None, 1] - b[:, 1]))
