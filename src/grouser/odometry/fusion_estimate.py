"""What the fusion filter knows: pose, velocity, biases, slip and one covariance for all of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grouser import rotation
from grouser.checks import FloatArray

STATES = ("rotation", "velocity", "position", "gyro_bias", "acceleration_bias")
"""Blocks of three of the covariance, in order."""


@dataclass(frozen=True, eq=False)
class FusionEstimate:
    """The filter's estimate at one time, of the body's origin.

    Errors of rotation, velocity and position are in body axes, on the group SE₂(3): χ_true = χ Exp(δ), so that
    R_true = R Exp(θ) and, to first order, v_true = v + R ν, p_true = p + R ρ. Those of the biases are true − estimate.
    """

    time: float
    """[s]."""
    position: FloatArray
    """World, (3,) [m]."""
    quaternion: FloatArray
    """Orientation, w x y z, (4,)."""
    velocity: FloatArray
    """World, (3,) [m/s]."""
    twist: FloatArray
    """(ω, v) in body axes, (6,) [rad/s, m/s]."""
    gyro_bias: FloatArray
    """(3,) [rad/s]."""
    acceleration_bias: FloatArray
    """(3,) [m/s²]."""
    slip: FloatArray
    """Slip left by the odometry: forward, left [-], yaw [rad/m], per rolling speed, (3,)."""
    covariance: FloatArray
    """Of (rotation [rad], velocity [m/s], position [m], gyro bias [rad/s], accelerometer bias [m/s²]), (15, 15)."""
    slip_covariance: FloatArray
    """Of `slip`, (3, 3), in its units squared."""
    degraded: tuple[str, ...]
    """Why the covariance is larger than usual: 'wheels', 'poses' or 'imu'; empty if all is well."""

    @property
    def pose_covariance(self) -> FloatArray:
        """Of (rotation [rad], translation [m]), T_true = T Exp(δ), body axes, (6, 6)."""
        pick = [0, 1, 2, 6, 7, 8]
        return self.covariance[np.ix_(pick, pick)].copy()

    @property
    def yaw(self) -> float:
        """Heading [rad]."""
        return float(rotation.to_rpy(rotation.from_quaternion(self.quaternion))[2])


def skew(v: FloatArray) -> FloatArray:
    """[v]×, (..., 3, 3)."""
    out = np.zeros((*v.shape, 3))
    out[..., 0, 1], out[..., 0, 2] = -v[..., 2], v[..., 1]
    out[..., 1, 0], out[..., 1, 2] = v[..., 2], -v[..., 0]
    out[..., 2, 0], out[..., 2, 1] = -v[..., 1], v[..., 0]
    return out


def at_body(
    nominal: FloatArray, gyro: FloatArray, spread: FloatArray, imu_position: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Position, velocity, twist of the body's origin and the covariance (n, 21, 21) in body axes.

    nominal (n, 22), gyro (n, 3), spread (n, 21, 21) of the right-invariant error at the IMU. δ = Ad(χ⁻¹) ξ, then
    from the IMU to the origin, with the rate that the gyro tells without its bias.
    """
    R = rotation.from_quaternion(nominal[:, :4])
    v, p = nominal[:, 4:7], nominal[:, 7:10]
    rate = gyro - nominal[:, 10:13]
    r = np.broadcast_to(imu_position, v.shape)
    swing = np.cross(rate, r)
    RT = R.swapaxes(1, 2)
    J = np.zeros(spread.shape)
    J[:, 0:3, 0:3] = RT
    J[:, 3:6, 3:6] = RT
    J[:, 6:9, 6:9] = RT
    J[:, 3:6, 0:3] = -RT @ skew(v) + skew(swing) @ RT
    J[:, 6:9, 0:3] = -RT @ skew(p) + skew(np.ascontiguousarray(r)) @ RT
    J[:, 3:6, 9:12] = -skew(np.ascontiguousarray(r))
    J[:, 9:, 9:] = np.eye(12)
    covariance = J @ spread @ J.swapaxes(1, 2)
    velocity = v - np.einsum("nij,nj->ni", R, swing)
    twist = np.concatenate([rate, np.einsum("nji,nj->ni", R, velocity)], axis=1)
    return p - np.einsum("nij,nj->ni", R, r), velocity, twist, 0.5 * (covariance + covariance.swapaxes(1, 2))
