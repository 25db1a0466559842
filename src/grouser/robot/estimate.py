"""The estimate of the chain on board."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grouser import rotation
from grouser.checks import FloatArray
from grouser.fusion.estimate import FusionEstimate
from grouser.odometry.estimate import Estimate, PoseEstimate

ALARMS = ("stuck", "sliding", "ground_changed")
"""Alarms of the monitor, each a field of the estimate that is true while it holds."""


@dataclass(frozen=True, eq=False)
class RobotEstimate(PoseEstimate):
    """Pose and velocity of the body's origin with their covariances, and what they are based on."""

    time: float
    """[s], in the clock of the signals."""
    position: FloatArray
    """World, (3,) [m]."""
    quaternion: FloatArray
    """Orientation, w x y z, (4,)."""
    twist: FloatArray
    """(ω, v) in body axes, (6,) [rad/s, m/s]."""
    pose_covariance: FloatArray
    """Covariance of the error (rotation [rad], translation [m]), body axes, T_true = T Exp(δ), (6, 6)."""
    twist_covariance: FloatArray
    """Covariance of `twist`, (6, 6) [rad²/s², m²/s²]."""
    fused: FusionEstimate | None
    """Estimate of the filter, with biases and slip; None until the IMU is aligned: then all is the odometry's."""
    wheels: Estimate | None
    """Estimate of the wheel odometry alone; None before the first joint sample."""
    excluded: tuple[str, ...]
    """Wheels whose rates contradict the others and are not used."""
    degraded: tuple[str, ...]
    """Sources that fail, for which the covariance is larger than usual: 'wheels', 'poses', 'imu'; empty if none."""

    stuck: bool
    """Wheels turn, the robot does not."""
    sliding: bool
    """The robot moves in a way that the wheels do not explain."""
    ground_changed: bool
    """Current, vibration or slip are no longer as they were."""

    @property
    def alarms(self) -> dict[str, bool]:
        """The alarms of the monitor, by name."""
        return {name: getattr(self, name) for name in ALARMS}

    @property
    def yaw(self) -> float:
        """Heading [rad]."""
        return float(rotation.yaw_of(self.quaternion))

    @property
    def observed(self) -> np.ndarray:
        """Which of the six velocities (ω, v) are observed, (6,) of bool: all by the filter, else as the wheels do."""
        return np.ones(6, np.bool_) if self.fused is not None or self.wheels is None else self.wheels.observed
