"""What odometry knows after a sample: pose, velocity, slip, and how sure it is."""

from __future__ import annotations

import numpy as np

from grouser._kernels.odometry import slots
from grouser.checks import FloatArray
from grouser.odometry.ros_order import pose_rows, twist_rows

COMPONENTS = ("wx", "wy", "wz", "vx", "vy", "vz")
"""Entries of a twist, in order: turn rates about, speeds along the body's x, y, z."""


class Estimate:
    """Pose, velocity and their covariances after one sample; immutable, its arrays are copies."""

    __slots__ = ("_late", "_values")

    def __init__(self, values: FloatArray, late: bool = False) -> None:
        """From the flat array of the kernel, which is kept: do not write into it."""
        self._values = values
        self._late = late

    @property
    def time(self) -> float:
        """Of the sample [s]."""
        return float(self._values[slots.O_TIME])

    @property
    def position(self) -> FloatArray:
        """Of the body in the world, (3,) [m]."""
        return self._part(slots.O_POSITION, 3)

    @property
    def quaternion(self) -> FloatArray:
        """Orientation of the body in the world, (4,), w x y z."""
        return self._part(slots.O_QUATERNION, 4)

    @property
    def yaw(self) -> float:
        """Heading [rad], not wrapped: full turns add up."""
        return float(self._values[slots.O_YAW])

    @property
    def attitude(self) -> FloatArray:
        """Roll and pitch that were used, (2,) [rad]."""
        return self._part(slots.O_ATTITUDE, 2)

    @property
    def twist(self) -> FloatArray:
        """Velocity (ω, v) in body axes, (6,) [rad/s, m/s]: wheels, slip, and the gyro's turn rates where given."""
        return self._part(slots.O_TWIST, 6)

    @property
    def odometry_twist(self) -> FloatArray:
        """Velocity (ω, v) as the wheels alone tell it, without slip, (6,) [rad/s, m/s]."""
        return self._part(slots.O_ODOMETRY, 6)

    @property
    def slip(self) -> FloatArray:
        """twist − odometry_twist, (6,) [rad/s, m/s]: v_true = v_odometry + v_slip."""
        return self.twist - self.odometry_twist

    @property
    def twist_covariance(self) -> FloatArray:
        """Of the twist (ω, v), (6, 6) [rad²/s², m²/s²].

        Encoder noise by propagation (4.47), scaled with slip (4.48); the process noise of a fit, as the variance of the
        mean velocity over the last step.
        """
        return self._part(slots.O_COVARIANCE, 36).reshape(6, 6)

    @property
    def pose_covariance(self) -> FloatArray:
        """Of the pose's error δ = (rotation [rad], translation [m]) in body axes, (6, 6): T_true = T_est · Exp(δ)."""
        return self._part(slots.O_POSE, 36).reshape(6, 6)

    @property
    def observed(self) -> np.ndarray:
        """Which of the six velocities (ω, v) the wheels determine, (6,) of bool.

        With contact angles that are only assumed, the rise and the turn rates about x and y follow from the assumption:
        they are not observed.
        """
        return np.asarray(self._values[slots.O_OBSERVED : slots.O_OBSERVED + 6] > 0.5)

    @property
    def wheels(self) -> int:
        """Number of wheels whose rates were used."""
        return int(self._values[slots.O_MEASURED])

    @property
    def degraded(self) -> bool:
        """Whether a fault of this sample's inputs enlarged the covariance."""
        return self._late or self._values[slots.O_FAULTS] > 0.0

    def ros_twist_covariance(self) -> FloatArray:
        """Covariance of geometry_msgs/TwistWithCovariance, (36,) row by row: v, then ω, in body axes (child frame).

        Velocities that the wheels do not observe have a variance of 1e6 here: a message has no other way to say so.
        """
        return twist_rows(self.twist_covariance, self.observed)

    def ros_pose_covariance(self) -> FloatArray:
        """Covariance of geometry_msgs/PoseWithCovariance, (36,) row by row, order (x, y, z, rotation about X, Y, Z).

        Axes are those of the fixed frame of the message's header, the world (REP-103; the rotation is a rotation
        vector about fixed axes): R_true = Exp(ε) R_est, p_true = p_est + δp.
        """
        return pose_rows(self.pose_covariance, self.quaternion)

    def _part(self, first: int, count: int) -> FloatArray:
        part: FloatArray = self._values[first : first + count].copy()
        return part

    def __repr__(self) -> str:
        x, y, z = self.position
        marked = ", degraded" if self.degraded else ""
        return f"<Estimate at {self.time:.12g} s: ({x:.4g}, {y:.4g}, {z:.4g}) m, yaw {self.yaw:.4g} rad{marked}>"
