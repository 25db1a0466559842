"""Choice of the motion model: each candidate is fitted, and judged on parts of the logs that its fit has not seen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from grouser import checks, kinematics
from grouser.calibration.calibrate import DEFAULTS, calibrate
from grouser.calibration.evaluate import Errors, errors_of
from grouser.calibration.evidence import learn_correction
from grouser.calibration.linear import left_out
from grouser.calibration.loss import huber, squared_distance
from grouser.errors import CalibrationError
from grouser.logs import Log
from grouser.logs.log import IntArray
from grouser.motion.fit import Fit
from grouser.motion.intervals import Intervals, cut_log
from grouser.motion.model import MotionModel
from grouser.motion.noise import Noise
from grouser.motion.parameters import Parameter, is_noise, resolve
from grouser.motion.plain import plain_odometry
from grouser.motion.planar import Bicycle
from grouser.motion.slip_surface import Perturbative
from grouser.vehicles import Vehicle
from grouser.vehicles.catalog import vehicle as find_vehicle

KINEMATIC, PERTURBATIVE, SLIDING = "kinematic", "perturbative", "sliding"
CORRECTED, BICYCLE = "corrected", "bicycle"
INTERVAL = 2.0
"""Length of predictions where none is asked for [s]."""
BLOCKS = 5
"""Parts of one log, by time, of which each is left out once."""
MOST_FOLDS = 8
"""Parts of several logs; more logs are taken together."""
RUNS, LONGEST_RUN = 4, 180.0
"""Fewest logs of a steered vehicle that count as runs, and the longest unbroken one [s]."""
OUTER = 7.81
"""Squared distance of three errors beyond which an interval counts less in the likelihood: the 95 % point of χ²."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Candidate:
    """A motion model before calibration, and what is calibrated in it."""

    name: str
    """Such as "kinematic"."""
    motion: MotionModel
    """With sensor and noise to start from."""
    parameters: Sequence[str | Parameter] = DEFAULTS
    """Names, groups or parameters with priors."""
    learns: bool = False
    """Whether a correction is learned on top of its slip surface."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Tried:
    """One candidate: its fit to all logs, and its errors on parts that were left out of it."""

    fit: Fit
    """Fit to all of the logs."""
    errors: Errors
    """Of every interval, predicted by a fit to the other parts."""

    @property
    def log_likelihood(self) -> float:
        """Mean logarithm of the probability density of a held-out error; outliers count less (Huber)."""
        error, R = self.errors.error, self.errors.covariance
        loss = huber(squared_distance(error, R), OUTER) + np.linalg.slogdet(R)[1]
        return float(-0.5 * (np.mean(loss) + error.shape[1] * np.log(2.0 * np.pi)))

    def summary(self) -> dict[str, Any]:
        """Plain numbers, as JSON takes them."""
        names = ("position_rms", "yaw_rms_deg", "nees", "inside_95")
        found = self.errors.summary()
        return {"log_likelihood": self.log_likelihood, **{name: found[name] for name in names}}


@dataclass(frozen=True, eq=False, kw_only=True)
class Choice:
    """The model with the highest likelihood of held-out parts of the logs, and all others."""

    name: str
    """Of the chosen candidate."""
    fit: Fit
    """Its fit to all of the logs."""
    tried: dict[str, Tried]
    """Every candidate, in the order tried."""
    baseline: Errors
    """Plain odometry on the same intervals."""
    folds: int
    """Number of parts, of which each was left out once."""
    by: str
    """What a part is: a "block" of time, a "log", or the "rest" after a share of the log."""
    refused: dict[str, str]
    """Candidates that could not be tried, and why."""


def candidates(vehicle: Vehicle, log: Log, *, noise: Noise | None = None) -> list[Candidate]:
    """The models that are tried for a vehicle where none is asked for.

    kinematic with body slip: always. perturbative, the slip surface, sliding, the same with downhill slip by time and
    not by distance, where attitude is logged, and corrected, with a correction learned on top of the first: unless all
    wheels steer or have rollers. bicycle, with gain, steering offset and wheelbase: where some wheels steer and their
    angles are logged. A dynamic model is tried only where asked for: it needs masses, a ground and minutes.
    """
    start: dict[str, Any] = {"sensor": log.sensor, "noise": Noise() if noise is None else noise}
    found = [Candidate(name=KINEMATIC, motion=MotionModel(model=kinematics.Kinematics(vehicle), **start))]
    if all(vehicle.steered) or vehicle.drives_any_way:
        return found
    # Logs hold stops, and slow and fast driving: gravity slides a vehicle only as its wheels roll.
    surface = MotionModel(model=Perturbative(vehicle=vehicle, gravity_grows="distance"), **start)
    names = [name for name in DEFAULTS if name != "sensor.x"]  # α₆ and the sensor's place ahead cannot be distinguished
    found.append(Candidate(name=PERTURBATIVE, motion=surface, parameters=names))
    if log.attitude is not None:  # as P (13) has it: loose ground slides downhill also where wheels hardly roll
        slides = MotionModel(model=Perturbative(vehicle=vehicle, gravity_grows="time"), **start)
        found.append(Candidate(name=SLIDING, motion=slides, parameters=names))
    found.append(Candidate(name=CORRECTED, motion=surface, parameters=names, learns=True))
    if any(vehicle.steered) and np.isfinite(log.angles_array(vehicle)).all(axis=0).any():
        bicycle = MotionModel(model=Bicycle(vehicle=vehicle), **start)
        names = ["model", *(name for name in DEFAULTS if name != "slip")]
        found.append(Candidate(name=BICYCLE, motion=bicycle, parameters=names))
    return found


def choose(
    log: Log,
    tried: Sequence[Candidate] | None = None,
    *,
    vehicle: Vehicle | str | None = None,
    interval: float | None = None,
    distance: float | None = None,
    stride: float | None = None,
    loss: str = "mixture",
    split: float | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    attempts: Callable[[Sequence[Candidate]], Sequence[Tried | str]] | None = None,
) -> Choice:
    """The model with the highest held-out likelihood, fitted to all of a log, or of several logs read as one.

    One log is cut into `BLOCKS` of time, several logs are left out one by one; each part is predicted by a fit to the
    others, `linear.left_out`. `split` judges only what comes after that share of the intervals. The length of
    predictions is `INTERVAL`, unless it is given in s or m. Several short runs of a steered vehicle are predicted
    whole: errors of geometry grow with the distance, those of noise with its root; noise is then fitted to intervals of
    `INTERVAL`. `progress` gets a name, the parts done and the parts in all. `attempts` gives what `attempt` gives for
    each candidate, where that is done elsewhere.
    """
    checks.instance(log, Log, "log", "use grouser.read_log(path, manifest=…)")
    given = vehicle if vehicle is not None else log.vehicle
    if tried is None and given is None:
        raise CalibrationError(f"{log.name}: names no vehicle; give vehicle=…")
    shape = find_vehicle(given) if isinstance(given, str) else given
    wanted = candidates(shape, log) if tried is None and shape is not None else list(tried or ())
    if not wanted:
        raise CalibrationError("there are no candidates to choose from; leave them out for the usual ones")
    compared = _Compared(
        log, wanted[0].motion, interval=interval, distance=distance, stride=stride, loss=loss, split=split
    )
    outcomes: dict[str, Tried | str] = {}
    if attempts is not None:
        outcomes = dict(zip((one.name for one in wanted), attempts(wanted), strict=True))
    for one in wanted if attempts is None else ():
        first = outcomes.get(PERTURBATIVE)
        report = None if progress is None else partial(progress, one.name)
        outcomes[one.name] = compared.attempt(one, first.fit if isinstance(first, Tried) else None, report)
    results = {name: one for name, one in outcomes.items() if isinstance(one, Tried)}
    refused = {name: one for name, one in outcomes.items() if isinstance(one, str)}
    if not results:
        raise CalibrationError(f"{log.name}: no model could be fitted: {'; '.join(refused.values())}")
    name = max(results, key=lambda key: results[key].log_likelihood)
    chosen = results[name].fit
    return Choice(
        name=name,
        fit=_with_short_noise(chosen, log) if compared.runs else chosen,
        tried=results,
        baseline=errors_of(plain_odometry(chosen.model, log), log, compared.cut.only(compared.judged)),
        folds=len(np.unique(compared.fold[compared.judged])),
        by=compared.by,
        refused=refused,
    )


def attempt(
    log: Log,
    tried: Sequence[Candidate],
    k: int,
    **options: Any,
) -> Tried | str:
    """One of the candidates as `choose` fits and judges it among all, or why it cannot; options as there [s, m]."""
    return _Compared(log, tried[0].motion, **options).attempt(tried[k])


class _Compared:
    """The intervals on which candidates are compared."""

    def __init__(
        self,
        log: Log,
        motion: MotionModel,
        *,
        interval: float | None = None,
        distance: float | None = None,
        stride: float | None = None,
        loss: str = "mixture",
        split: float | None = None,
    ) -> None:
        self.log = log
        self.runs = interval is None and distance is None and stride is None and are_runs(log, motion.vehicle)
        length = None if self.runs or distance is not None else INTERVAL if interval is None else interval
        self.options: dict[str, Any] = {"interval": length, "distance": distance, "loss": loss}
        self.cut = cut = cut_log(log, motion, interval=length, distance=distance, stride=stride)
        self.fold, self.by = folds(log, cut)
        self.judged = np.arange(len(cut))
        if split is not None:
            self.fold, self.by = (self.judged >= split * len(cut)).astype(np.int64), "rest"
            self.judged = np.flatnonzero(self.fold)
            if not 0 < len(self.judged) < len(cut):
                raise CalibrationError(f"split {split:g}: leaves nothing to fit or to judge of {len(cut)} intervals")

    def attempt(
        self, one: Candidate, surface: Fit | None = None, progress: Callable[[int, int], None] | None = None
    ) -> Tried | str:
        """A candidate fitted and judged, or why it cannot be; `surface` is the fit that a correction starts from."""
        fitted = partial(calibrate, log=self.log, intervals=self.cut, progress=progress, **self.options)
        try:
            if surface is None or not one.learns:
                surface = fitted(model=one.motion, parameters=one.parameters)
            fit = surface
            if one.learns:
                model = learn_correction(surface, self.log, self.cut)
                if model is None:
                    return "the log supports no correction"
                motion = surface.model.replace(model=model)
                # The search starts at the fitted surface; the priors are those of a first fit.
                centre = {p.name: p for p in surface.parameters}
                chosen = [centre.get(p.name, p) for p in resolve(motion, one.parameters)]
                fit = fitted(model=motion, parameters=chosen)
        except CalibrationError as error:
            return str(error)
        error_of, covariance = left_out(fit, self.log, self.cut, self.fold)
        errors = Errors(error=error_of, covariance=covariance, times=self.cut.times)
        return Tried(fit=fit, errors=errors.only(self.judged))


def _with_short_noise(fit: Fit, log: Log) -> Fit:
    """A fit to whole runs with the noise of intervals of `INTERVAL`: runs are too few to separate its components."""
    names = [p.name for p in fit.parameters if is_noise(p.name)]
    if not names:
        return fit
    short = calibrate(fit.model, log, names, interval=INTERVAL)
    kept = fit.vector[: len(fit.covariance)]
    return replace(
        fit,
        model=short.model,
        parameters=(*fit.systematic, *short.parameters),
        vector=np.concatenate([kept, short.vector]),
        noise_covariance=short.noise_covariance,
    )


def are_runs(log: Log, vehicle: Vehicle) -> bool:
    """Whether a log is several short runs of a vehicle that steers, one in each file."""
    files = log.report.file_segments
    if not any(vehicle.steered) or len(files) < RUNS or any(n != 1 for n in files) or len(files) != log.n_segments:
        return False
    low, high = log.segment_bounds[:-1], log.segment_bounds[1:] - 1
    return bool((log.time[high] - log.time[low] <= LONGEST_RUN).all())


def folds(log: Log, cut: Intervals) -> tuple[IntArray, str]:
    """The part that each interval belongs to, (I,), and what a part is: a log of several, or a block of time of one."""
    files = log.report.file_segments
    if len(files) > 1 and sum(files) == log.n_segments:
        file = np.repeat(np.arange(len(files)), files)[cut.segment]
        _, number = np.unique(file, return_inverse=True)
        if number.max() > 0:
            return (number % MOST_FOLDS).astype(np.int64), "log"
    return (np.arange(len(cut)) * min(BLOCKS, len(cut)) // len(cut)).astype(np.int64), "block"
