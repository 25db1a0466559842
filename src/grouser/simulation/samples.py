"""Samples of a run: the same drive with drawn parameters and noise, and their spread."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grouser import rotation
from grouser.checks import FloatArray
from grouser.errors import SimulationError
from grouser.terrain import Terrain

if TYPE_CHECKING:
    from grouser.simulation.rollout import Rollouts
    from grouser.simulation.run import Run


@runtime_checkable
class Uncertain(Protocol):
    """A model with its uncertainty, such as a fit, which `simulate` and `rollout` take in place of a model."""

    def simulate_on(self, ground: Terrain, drive: Any, **options: Any) -> Run:
        """A run with samples; options are those of `simulate`."""

    def roll_out_on(self, ground: Terrain, commands: ArrayLike, **options: Any) -> Rollouts:
        """Samples of each row of commands; options are those of `rollout`."""


def refuse_samples(samples: int | None) -> None:
    """Refuse samples of a model without uncertainty."""
    if samples is not None:
        raise SimulationError("samples: a model alone is certain; give a fit, or a grouser.MotionModel with noise")


@dataclass(frozen=True, eq=False)
class Samples:
    """N runs of one drive with parameters drawn from a fit and with process noise; rows are those of the run."""

    state: FloatArray
    """States, shape (N, rows, nq); rows after an early end repeat the last state."""
    status: NDArray[np.str_]
    """How each ended, as `Status`, shape (N,)."""
    steps: NDArray[np.int64]
    """Steps each completed, shape (N,)."""
    every: int
    """Steps from one row to the next."""

    def __len__(self) -> int:
        return len(self.status)

    @property
    def position(self) -> FloatArray:
        """Positions of the body frame, world [m], shape (N, rows, 3)."""
        return self.state[:, :, 4:7]

    @cached_property
    def yaw(self) -> FloatArray:
        """[rad], left positive, unwrapped along each, shape (N, rows)."""
        return np.unwrap(rotation.yaw_of(self.state[:, :, :4]), axis=1)

    @cached_property
    def reached(self) -> NDArray[np.bool_]:
        """Which of them reached each row, shape (N, rows)."""
        there: NDArray[np.bool_] = self.steps[:, None] >= self.every * np.arange(self.state.shape[1])
        return there

    @cached_property
    def covariance(self) -> FloatArray:
        """Covariance of (x, y, z, yaw) [m, rad] about the samples' mean, shape (rows, 4, 4).

        Of those that reached the row; NaN where fewer than two did. Each variance has itself a relative standard error
        of √(2/(n − 1)): 10 % for 200 samples.
        """
        poses = np.concatenate([self.position, self.yaw[..., None]], axis=2)
        return np.array([covariance_of(poses[self.reached[:, k], k]) for k in range(poses.shape[1])]).reshape(-1, 4, 4)

    @cached_property
    def distance(self) -> FloatArray:
        """Length of the path of each [m], shape (N,)."""
        length: FloatArray = np.linalg.norm(np.diff(self.position, axis=1), axis=2).sum(axis=1)
        return length

    def counts(self) -> dict[str, int]:
        """How many ended in each way."""
        found, numbers = np.unique(self.status, return_counts=True)
        return dict(zip(found.tolist(), numbers.tolist(), strict=True))


def covariance_of(poses: FloatArray) -> FloatArray:
    """Sample covariance (4, 4) of rows (x, y, z, yaw); yaw may be wrapped. NaN of fewer than two."""
    if len(poses) < 2:
        return np.full((4, 4), np.nan)
    off = poses - poses[0]
    off[:, 3] = rotation.wrapped(off[:, 3])
    return np.asarray(np.cov(off.T), dtype=np.float64)


def spread_at_end(run: Run) -> dict[str, Any]:
    """How the samples of a run ended, and their spread at its end; empty without samples."""
    if run.samples is None or run.covariance is None or len(run.samples) < 2 or not len(run.time):
        return {}
    last = run.covariance[-1]
    known = bool(np.isfinite(last).all())
    sigma = np.sqrt(np.diag(last)).tolist()
    return {
        "samples": len(run.samples),
        "samples_ended": run.samples.counts(),
        "final_covariance": last.tolist() if known else None,
        "final_sigma": sigma[:3] if known else None,
        "final_yaw_sigma_deg": float(np.degrees(sigma[3])) if known else None,
    }
