"""An estimate of the fusion filter: pose, velocity, biases and slip with one covariance for all of them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from grouser import rotation
from grouser.checks import FloatArray
from grouser.odometry.estimate import PoseEstimate


@dataclass(frozen=True, eq=False)
class FusionEstimate(PoseEstimate):
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
    """Slip that the odometry does not model: forward, left [-], yaw [rad/m], per rolling speed, (3,).

    Without the part of `parameters`."""
    covariance: FloatArray
    """Covariance (15, 15): rotation [rad], velocity [m/s], position [m], bias: gyro [rad/s], accelerometer [m/s²]."""
    slip_covariance: FloatArray
    """Covariance of `slip`, (3, 3), in its units squared."""
    twist_covariance: FloatArray
    """Covariance of `twist` (ω, v), body axes, (6, 6) [rad²/s², m²/s²]: gyro noise and bias, velocity, attitude."""
    degraded: tuple[str, ...]
    """Sources that fail, for which the covariance is larger than usual: 'wheels', 'poses', 'imu', and 'gps' and
    'heading' if there were any; empty if none."""
    motion: str = "moving"
    """'moving'; 'standing', as wheels and IMU show: the covariance assumes it, and a slide at constant speed is not
    observable without poses or GPS; 'sliding': these show motion while the wheels stand."""
    parameters: FloatArray = field(default_factory=lambda: np.zeros(0))
    """Change of each slip parameter since the fit, in its unit, (k,); none if the filter was given none."""
    parameter_covariance: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    """Covariance of `parameters`, in their units, (k, k)."""

    @property
    def pose_covariance(self) -> FloatArray:
        """Covariance of (rotation [rad], translation [m]), T_true = T Exp(δ), body axes, (6, 6)."""
        pick = [0, 1, 2, 6, 7, 8]
        return self.covariance[np.ix_(pick, pick)].copy()

    @property
    def yaw(self) -> float:
        """Heading [rad]."""
        return float(rotation.yaw_of(self.quaternion))
