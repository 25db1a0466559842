"""The result of a calibration: parameters with covariance, the calibrated model, history, undetermined directions."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from grouser.checks import FloatArray
from grouser.errors import CalibrationError
from grouser.motion.model import MotionModel, Sampled
from grouser.motion.parameters import Parameter
from grouser.pictures import draw

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from grouser.logs import Log
    from grouser.motion.log_prediction import LogPrediction
    from grouser.terrain import Terrain

WEAK = 3.0
"""A direction counts as determined if the log shrinks its prior sigma at least by this factor."""


@dataclass(frozen=True, eq=False, kw_only=True)
class History:
    """Parameters during a calibration, one row per interval (online) or per step (batch)."""

    time: FloatArray
    """End of each interval [s]; of a batch, the number of the step. (k,)."""
    values: FloatArray
    """(k, n), in their units."""
    sigma: FloatArray
    """One-sigma uncertainties, (k, n), in their units; NaN where not computed."""
    residual: FloatArray
    """Residuals before each update [m, rad], (k, m); empty for a batch."""
    distance: FloatArray
    """Squared Mahalanobis distance of each, (k,)."""
    accepted: np.ndarray
    """Whether each moved the systematic parameters, (k,) bool."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Training:
    """The log and the method of a fit."""

    log: str
    """Name of the log."""
    samples: int
    """Samples in it."""
    intervals: int
    """Intervals used."""
    interval: float | None
    """Duration of one [s]; None if by distance."""
    distance: float | None
    """Length of one [m]; None if by time."""
    overlapping: bool
    """Whether intervals overlapped: then covariances are too small."""
    rejected: int
    """Intervals that moved no systematic parameter."""
    position_rms: float
    """RMS position error of the intervals after the fit [m]."""
    yaw_rms: float
    """[rad]."""
    method: str
    """"online" or "batch"."""


@dataclass(frozen=True, kw_only=True)
class Direction:
    """A combination of parameters that the log hardly determines."""

    parts: dict[str, float]
    """Share of each parameter, of those that matter, in units of its prior sigma; the largest is 1."""
    shrinkage: float
    """By what factor the log shrinks the prior sigma of this combination; 1 is not at all."""

    def __str__(self) -> str:
        terms = [f"{'+' if c >= 0 else '−'}{abs(c):.2g} {name}" for name, c in self.parts.items()]
        return f"{' '.join(terms).lstrip('+')} (sigma only {self.shrinkage:.2g} times smaller than before)"


@dataclass(frozen=True, eq=False, kw_only=True)
class Fit(Sampled):
    """A calibrated motion model with the covariance of its parameters."""

    model: MotionModel
    """The calibrated model: predicts logs, drives odometry."""
    parameters: tuple[Parameter, ...]
    """Calibrated parameters with their priors; those of the noise last."""
    vector: FloatArray
    """Their values, (n,), in their units (SI)."""
    covariance: FloatArray
    """Covariance of the systematic parameters among them, (np, np), products of their units."""
    noise_covariance: FloatArray
    """Covariance of the noise parameters, (ns, ns), products of their units."""
    training: Training
    """The log and the method."""
    spread: FloatArray | None = None
    """Covariance of the systematic parameters between grounds, (np, np), products of their units; None: not known."""
    undetermined: tuple[Direction, ...] = ()
    """Combinations of parameters that the log hardly determines."""
    warnings: tuple[str, ...] = ()
    """Reasons to doubt it, a sentence each: parameters at a bound or far from their prior, steps not finished."""
    changes: tuple[dict[str, Any], ...] = ()
    """Changes of ground that an online fit noticed: time, since [s], from, to, recalled; not kept in a file."""
    history: History | None = field(default=None, repr=False)
    """Parameters over the intervals; None in a fit read from a file."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters."""
        return tuple(p.name for p in self.parameters)

    @property
    def values(self) -> dict[str, float]:
        """Parameters by name, in their units (SI)."""
        return dict(zip(self.names, self.vector.tolist(), strict=True))

    @property
    def systematic(self) -> tuple[Parameter, ...]:
        """Those that are not noise."""
        return self.parameters[: len(self.covariance)]

    @property
    def sigma(self) -> dict[str, float]:
        """One-sigma uncertainties by name, in their units."""
        both = np.concatenate([np.diag(self.covariance), np.diag(self.noise_covariance)])
        return dict(zip(self.names, np.sqrt(np.maximum(both, 0.0)).tolist(), strict=True))

    def made_from(self, log: Log) -> bool:
        """Whether it was fitted to this log."""
        return self.training.log == log.name and self.training.samples == len(log)

    def predict(self, log: Log, *, interval: float | None = 2.0, distance: float | None = None) -> LogPrediction:
        """Predict every interval of a log, by time [s] or distance [m], with the uncertainty of the parameters."""
        from grouser.motion.log_prediction import predict_log

        return predict_log(self, log, interval=interval, distance=distance)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a .toml file that `load_fit` reads; it appears whole or not at all."""
        from grouser.motion.fit_file import write_fit

        write_fit(self, path)

    @staticmethod
    def load(path: str | os.PathLike[str], *, ground: Terrain | None = None) -> Fit:
        """Read a fit; one of a model that stands on a ground needs that ground again."""
        from grouser.motion.fit_file import read_fit

        return read_fit(path, ground=ground)

    @staticmethod
    def load_for(path: str | os.PathLike[str], ground: Terrain) -> Fit:
        """Read a fit to drive its model on a ground, whether the model stood on one when it was calibrated or not."""
        try:
            return Fit.load(path)
        except CalibrationError:  # its ground is not in the file, or the file is damaged
            return Fit.load(path, ground=ground)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Parameters over intervals with their sigmas (T Fig. 3.5), saved to a path."""
        figure: Figure = draw("fit", self, path)
        return figure

    def summary(self) -> dict[str, Any]:
        """Plain numbers, as JSON takes them."""
        sigma, columns = self.sigma, ("log", "method", "intervals", "rejected", "overlapping", "position_rms")
        shown = {name: getattr(self.training, name) for name in columns}
        return {
            "parameters": {n: {"value": v, "sigma": sigma[n]} for n, v in self.values.items()},
            "undetermined": [str(d) for d in self.undetermined],
            "changes": list(self.changes),
            "warnings": list(self.warnings),
            "training": {**shown, "yaw_rms_deg": float(np.degrees(self.training.yaw_rms))},
        }

    def __repr__(self) -> str:
        sigma = self.sigma
        lines = [f"{n:24s} {v: .6g} ± {sigma[n]:.2g}" for n, v in self.values.items()]
        return f"<Fit of {self.training.log}, {self.training.intervals} intervals\n  " + "\n  ".join(lines) + ">"


def undetermined(parameters: Sequence[Parameter], information: FloatArray) -> list[Direction]:
    """Directions whose prior the log does not shrink by a factor of `WEAK`: singular directions of its information.

    `information` (np, np) is of the log without the prior. Directions are in units of the prior, so that metres and
    radians compare.
    """
    sigma = np.array([p.sigma for p in parameters])
    scaled = information * np.outer(sigma, sigma)
    values, vectors = np.linalg.eigh(0.5 * (scaled + scaled.T))
    found = []
    for shrinkage, vector in zip(np.sqrt(1.0 + np.maximum(values, 0.0)).tolist(), vectors.T, strict=True):
        if shrinkage < WEAK:
            shares = zip(parameters, vector / vector[np.argmax(np.abs(vector))], strict=True)
            parts = {p.name: float(c) for p, c in shares if abs(c) > 0.2}
            found.append(Direction(parts=parts, shrinkage=shrinkage))
    return found
