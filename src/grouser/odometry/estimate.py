"""An estimate of odometry: pose, velocity and slip after a sample, with their covariances."""

from __future__ import annotations

from typing import Any

import numpy as np

from grouser import rotation
from grouser._kernels.odometry.state import ESTIMATE
from grouser.checks import FloatArray

COMPONENTS = ("wx", "wy", "wz", "vx", "vy", "vz")
"""Entries of a twist, in order: turn rates about, speeds along the body's x, y, z."""
NOT_OBSERVED = 1e6  # Variance of a velocity that nothing measures [m²/s², rad²/s²], by which a message marks it

_LINEAR_FIRST = np.ix_([3, 4, 5, 0, 1, 2], [3, 4, 5, 0, 1, 2])


def pose_rows(covariance: FloatArray, quaternion: FloatArray) -> FloatArray:
    """Pose covariance in ROS order, (36,): position first, row by row, in the axes of the world.

    Given is that of the error (rotation, translation) in body axes, T_true = T_est · Exp(δ).
    """
    R = rotation.from_quaternion(quaternion)
    both = np.zeros((6, 6))
    both[:3, :3] = both[3:, 3:] = R
    return np.asarray((both @ covariance @ both.T)[_LINEAR_FIRST].ravel())


def twist_rows(covariance: FloatArray, observed: np.ndarray | None = None) -> FloatArray:
    """Twist covariance in ROS order, (36,): of (ω, v) in body axes; `NOT_OBSERVED` for entries that are not."""
    matrix = covariance
    if observed is not None and not observed.all():
        matrix = np.where(np.outer(observed, observed), covariance, np.diag(np.full(6, NOT_OBSERVED)))
    return np.asarray(matrix[_LINEAR_FIRST].ravel())


class Estimate:
    """Pose, velocity and their covariances after one sample; immutable, its arrays are copies."""

    __slots__ = ("_words",)

    time: float
    """Time of the sample [s]."""
    position: FloatArray
    """Position of the body in the world, (3,) [m]."""
    quaternion: FloatArray
    """Orientation of the body in the world, (4,), w x y z."""
    yaw: float
    """Heading [rad], not wrapped: full turns add up."""
    attitude: FloatArray
    """Roll and pitch that were used, (2,) [rad]."""
    twist: FloatArray
    """Velocity (ω, v) in body axes, (6,) [rad/s, m/s]: wheels, slip, and the gyro's turn rates where given."""
    odometry_twist: FloatArray
    """Velocity (ω, v) by the wheels alone, without slip, (6,) [rad/s, m/s]."""
    twist_covariance: FloatArray
    """Covariance of the twist (ω, v), (6, 6) [rad²/s², m²/s²].

    Encoder noise by propagation (4.47), scaled with slip (4.48); the process noise of a fit, as the variance of the
    mean velocity over the last step.
    """
    pose_covariance: FloatArray
    """Covariance (6, 6) of the error δ = (rotation [rad], translation [m]), body axes: T_true = T_est · Exp(δ)."""
    wheels: int
    """Number of wheels whose rates were measured and believed."""

    def __init__(self, words: FloatArray) -> None:
        """From the 64-bit words of one record `ESTIMATE`, which are kept: copying a record itself takes 4 µs."""
        self._words = words

    @classmethod
    def rows(cls, records: np.ndarray) -> list[Estimate]:
        """From records (n,), which they share."""
        return [cls(words) for words in records.view(np.float64).reshape(len(records), -1)]

    @property
    def _values(self) -> Any:
        return self._words.view(ESTIMATE)[0]

    def __getattr__(self, name: str) -> Any:
        if name not in (ESTIMATE.names or ()):
            raise AttributeError(f"an Estimate has no attribute {name!r}")
        value = self._values[name]
        return value.copy() if value.ndim else value.item()

    @property
    def slip(self) -> FloatArray:
        """twist − odometry_twist, (6,) [rad/s, m/s]: v_true = v_odometry + v_slip."""
        return self.twist - self.odometry_twist

    @property
    def observed(self) -> np.ndarray:
        """Which of the six velocities (ω, v) the wheels determine, (6,) of bool.

        With contact angles that are only assumed, the rise and the turn rates about x and y follow from the assumption:
        they are not observed.
        """
        return np.asarray(self._values["observed"] > 0.5)

    @property
    def excluded(self) -> np.ndarray:
        """Wheels that are left out because they disagree with the others, (nw,) of bool, as `vehicle.wheels`."""
        return self._wheels("excluded")

    @property
    def suspected(self) -> np.ndarray:
        """Wheels of which one disagrees with the others, and it is not decided which, (nw,) of bool.

        Pose and velocity are then the mean over these, with the spread in their covariances.
        """
        return self._wheels("suspected")

    def _wheels(self, name: str) -> np.ndarray:
        return np.asarray(self._values[name] >> np.arange(self._values["n_wheels"]) & 1 == 1)

    @property
    def degraded(self) -> bool:
        """Whether a fault of this sample's inputs enlarged the covariance."""
        return bool(self._values["faults"] != 0)

    def ros_twist_covariance(self) -> FloatArray:
        """Covariance of geometry_msgs/TwistWithCovariance, (36,) row by row: v, then ω, in body axes (child frame).

        Velocities that the wheels do not observe have a variance of 1e6.
        """
        return twist_rows(self.twist_covariance, self.observed)

    def ros_pose_covariance(self) -> FloatArray:
        """Covariance of geometry_msgs/PoseWithCovariance, (36,) row by row, order (x, y, z, rotation about X, Y, Z).

        Axes are those of the fixed frame of the message's header, the world (REP-103; the rotation is a rotation
        vector about fixed axes): R_true = Exp(ε) R_est, p_true = p_est + δp.
        """
        return pose_rows(self.pose_covariance, self.quaternion)

    def __repr__(self) -> str:
        x, y, z = self.position
        marked = ", degraded" if self.degraded else ""
        return f"<Estimate at {self.time:.12g} s: ({x:.4g}, {y:.4g}, {z:.4g}) m, yaw {self.yaw:.4g} rad{marked}>"
