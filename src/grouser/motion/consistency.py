"""Covariance of measured relative poses, and whether errors are consistent with their covariance."""

from __future__ import annotations

import numpy as np

from grouser.checks import FloatArray
from grouser.logs.log import Sensor

INSIDE_2 = 5.991464547107979
"""95 % point of χ² of two degrees of freedom: the 95 % ellipse of a position."""


def nees(error: FloatArray, covariance: FloatArray, *, least: float = 0.0) -> FloatArray:
    """Normalised squared errors eᵀ C⁻¹ e / n, (k,), of errors (k, n) with covariances (k, n, n).

    Divided by the degrees of freedom n: 1 on average if consistent, more if errors are larger than stated. `least` is
    the smallest sigma that counts, in any direction.
    """
    values, vectors = np.linalg.eigh(covariance)
    along = (vectors.transpose(0, 2, 1) @ error[..., None])[..., 0]
    return np.asarray(np.mean(along**2 / np.maximum(values, least**2), axis=1))


def nees_band(samples: int, dof: int = 3) -> tuple[float, float]:
    """Where 95 % of the means of k independent NEES of n degrees of freedom lie if they are consistent: χ²/(k n)."""
    from scipy.special import gammaincinv

    half = 0.5 * dof * samples
    return float(gammaincinv(half, 0.025)) / half, float(gammaincinv(half, 0.975)) / half


def yaw_transition(moved: FloatArray) -> FloatArray:
    """Φ of P (7), (k, 4, 4): errors of (x, y, z, yaw) after displacements (k, ≥ 2) by those before."""
    result = np.tile(np.eye(4), (len(moved), 1, 1))
    result[:, 0, 3], result[:, 1, 3] = -moved[:, 1], moved[:, 0]
    return result


def given_poses(sigma: FloatArray, yaw: FloatArray) -> FloatArray:
    """Covariance (k, 2, 4, 4) of two poses each, of x, y, z, yaw, in the frame of a yaw (k,) [rad].

    sigma (k, 2, 3): of x, y [m] and yaw [rad] in the world; z as x and y on average. NaN where one is not finite.
    """
    c, s = np.cos(yaw)[:, None], np.sin(yaw)[:, None]
    xx, yy, turn = np.moveaxis(np.where(np.isfinite(sigma).all(axis=2, keepdims=True), sigma, np.nan) ** 2, 2, 0)
    out: FloatArray = np.zeros((*sigma.shape[:2], 4, 4)) * xx[..., None, None]
    out[..., 0, 0], out[..., 1, 1] = c**2 * xx + s**2 * yy, s**2 * xx + c**2 * yy
    out[..., 0, 1] = out[..., 1, 0] = c * s * (yy - xx)
    out[..., 2, 2], out[..., 3, 3] = 0.5 * (xx + yy), turn
    return out


def pose_noise(
    sensor: Sensor,
    moved: FloatArray,
    start: FloatArray,
    end: FloatArray,
    *,
    given: FloatArray | None = None,
    other_log: bool = False,
) -> FloatArray:
    """Covariance (k, 4, 4) of measured relative poses, of x, y, z, yaw: noise of both poses, T (3.21).

    A yaw error of the first pose turns the displacement `moved` (k, ≥ 2). An error of a time stamp moves its pose with
    the velocity `start` or `end` (k, 4) of the pose; at the start it also turns the frame. Where the covariance of both
    poses is `given` (k, 2, 4, 4), not NaN, it takes the place of the sensor's. Of another log than the one that the
    sensor was calibrated with, its lag is uncertain by `lag_spread`.
    """
    single = np.diag([sensor.position_noise**2] * 3 + [sensor.yaw_noise**2])
    poses = (
        np.broadcast_to(single, (len(moved), 2, 4, 4)) if given is None else np.where(np.isnan(given), single, given)
    )
    turn = yaw_transition(moved)
    result: FloatArray = poses[:, 1] + turn @ poses[:, 0] @ turn.transpose(0, 2, 1)
    spread = sensor.lag_spread if other_log else 0.0
    begun = (turn @ start[..., None])[..., 0]
    for v, sigma in ((end, sensor.time_noise), (begun, sensor.time_noise), (end - begun, spread)):
        if sigma > 0.0:
            result = result + sigma**2 * v[:, :, None] * v[:, None, :]
    return result
