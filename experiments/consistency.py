"""Consistency of a filter: NEES over Monte Carlo runs, divided by its degrees of freedom, with chi-square bands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from experiments.sensors import SensedDrive
from grouser import rotation
from grouser.checks import FloatArray
from grouser.errors import SimulationError
from grouser.fusion.sensor_log import FusedPath
from grouser.motion import consistency as normalised

PARTS = {
    "pose": [0, 1, 2, 6, 7, 8],
    "navigation": list(range(9)),
    "all": list(range(15)),
}
"""Entries of the error by name: rotation and position; with velocity; with both biases."""


@dataclass(frozen=True, eq=False)
class Consistency:
    """Mean NEES over runs at each time, and where it should lie."""

    time: FloatArray
    """(n,) [s]."""
    mean: FloatArray
    """NEES averaged over the runs, (n,)."""
    runs: int
    """How many."""
    degrees: int
    """Degrees of freedom, by which NEES is divided: 1 is consistent."""
    band: tuple[float, float]
    """Where the mean over runs lies with 95 %, at any one time."""

    @property
    def average(self) -> float:
        """Over runs and time."""
        return float(self.mean.mean())

    @property
    def inside(self) -> float:
        """Share of the times at which the mean over runs lies in the band."""
        low, high = self.band
        return float(((self.mean >= low) & (self.mean <= high)).mean())

    @property
    def above(self) -> float:
        """Share of the times at which it lies above: too sure."""
        return float((self.mean > self.band[1]).mean())


def errors(fused: FusedPath, drive: SensedDrive) -> FloatArray:
    """δ of χ_true = χ Exp(δ), then true − estimated biases, (n, 15)."""
    t = fused.time
    R = rotation.from_quaternion(fused.quaternion)
    R_true = rotation.from_quaternion(drive.path.quaternion(t))
    theta = logarithm(R.swapaxes(1, 2) @ R_true)
    out = np.empty((len(t), 15))
    out[:, :3] = theta
    inverse = _inverse_left_jacobian(theta)
    for at, true, estimate in (
        (3, drive.path.velocity(t), fused.velocity),
        (6, drive.path.position(t), fused.position),
    ):
        out[:, at : at + 3] = np.einsum("nij,nkj,nk->ni", inverse, R, true - estimate)
    index = np.clip(np.searchsorted(drive.log.time, t - 1e-6), 0, len(drive.log.time) - 1)
    out[:, 9:12] = drive.gyro_bias[index] - fused.gyro_bias
    out[:, 12:15] = drive.acceleration_bias[index] - fused.acceleration_bias
    return out


def nees(fused: FusedPath, drive: SensedDrive, part: str = "all") -> FloatArray:
    """NEES δᵀ P⁻¹ δ / (entries of δ) at each estimate, (n,)."""
    if part not in PARTS:
        raise SimulationError(f"part: {part!r:.40} is not one of {', '.join(PARTS)}")
    pick = PARTS[part]
    return normalised.nees(errors(fused, drive)[:, pick], fused.covariance[:, pick][:, :, pick])


def consistency(time: FloatArray, runs: Sequence[FloatArray], part: str = "all") -> Consistency:
    """From the NEES of several runs at the same times."""
    values = np.stack(runs)
    n, degrees = len(values), len(PARTS[part])
    return Consistency(time, values.mean(axis=0), n, degrees, normalised.nees_band(n, degrees))


def logarithm(R: FloatArray) -> FloatArray:
    """Rotation vectors (n, 3) of matrices (n, 3, 3)."""
    q = rotation.to_quaternion(R)
    sine = np.linalg.norm(q[:, 1:], axis=1)
    angle = 2.0 * np.arctan2(sine, q[:, 0])
    factor = np.where(sine < 1e-9, 2.0, angle / np.maximum(sine, 1e-300))
    return factor[:, None] * q[:, 1:]


def _inverse_left_jacobian(theta: FloatArray) -> FloatArray:
    """J⁻¹ = I − ½[θ]× + k [θ]×², (n, 3, 3)."""
    angle = np.linalg.norm(theta, axis=1)
    small = angle < 1e-4
    safe = np.where(small, 1.0, angle)
    k = np.where(small, 1.0 / 12.0, 1.0 / safe**2 - (1.0 + np.cos(safe)) / (2.0 * safe * np.sin(safe)))
    cross = np.cross(np.eye(3), theta[:, None])  # [θ]×
    out: FloatArray = np.eye(3) - 0.5 * cross + k[:, None, None] * (cross @ cross)
    return out
