"""What the fusion filter knows: pose, velocity, biases, slip and one covariance for all of them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from grouser import rotation
from grouser.checks import FloatArray
from grouser.odometry.estimate import pose_rows, twist_rows

STATES = ("rotation", "velocity", "position", "gyro_bias", "acceleration_bias")
"""Blocks of three of the covariance, in order."""
EYE = np.eye(3)
TWIST_OF_STATE = np.block([[np.zeros((3, 9)), -EYE, np.zeros((3, 3))], [np.zeros((3, 3)), EYE, np.zeros((3, 9))]])
"""∂(ω, v)/∂state, (6, 15), of a body that stands."""


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
    twist_covariance: FloatArray
    """Of `twist` (ω, v), body axes, (6, 6) [rad/s, m/s, squared]: noise and bias of the gyro, velocity, attitude."""
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

    def ros_pose_covariance(self) -> FloatArray:
        """Covariance of geometry_msgs/PoseWithCovariance, (36,) row by row, in world axes; as `Estimate` has it."""
        return pose_rows(self.pose_covariance, self.quaternion)

    def ros_twist_covariance(self) -> FloatArray:
        """Covariance of geometry_msgs/TwistWithCovariance, (36,) row by row: v, then ω, in body axes (child frame)."""
        return twist_rows(self.twist_covariance)


def twist_covariance(covariance: FloatArray, v_body: FloatArray, gyro_variance: float) -> FloatArray:
    """Of (ω, v) in body axes, (6, 6), from that of the state (15, 15); gyro_variance: of one sample [rad²/s²].

    ω = gyro − bias, so its error is minus that of the bias; v = Rᵀ v_world, so δv = ν + v × θ.
    """
    J = TWIST_OF_STATE.copy()
    J[3:, :3] = _skew(v_body)
    found: FloatArray = J @ covariance @ J.T
    found[:3, :3] += gyro_variance * EYE
    return found


def _skew(v: FloatArray) -> FloatArray:
    """[v]× of one vector, (3, 3)."""
    x, y, z = v.tolist()
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


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
    from the IMU to the origin, with the rate that the gyro tells without its bias. `at_body_once` is for one row.
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


def at_body_once(
    nominal: FloatArray, gyro: FloatArray, spread: FloatArray, imu_position: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """A row of `at_body`, the same numbers in a quarter of the time: nominal (22,), gyro (3,), spread (21, 21)."""
    R = _matrix(*nominal[:4].tolist())
    v, p = nominal[4:7], nominal[7:10]
    rate = gyro - nominal[10:13]
    (a, b, c), (x, y, z) = rate.tolist(), imu_position.tolist()
    swing = np.array([b * z - c * y, c * x - a * z, a * y - b * x])
    RT, lever = R.T, _skew(imu_position)
    J = np.eye(len(spread))
    J[0:3, 0:3] = RT
    J[3:6, 3:6] = RT
    J[6:9, 6:9] = RT
    J[3:6, 0:3] = -RT @ _skew(v) + _skew(swing) @ RT
    J[6:9, 0:3] = -RT @ _skew(p) + lever @ RT
    J[3:6, 9:12] = -lever
    covariance = J @ spread @ J.T
    velocity = v - np.einsum("ij,j->i", R, swing)
    twist = np.concatenate([rate, np.einsum("ji,j->i", R, velocity)])
    return p - np.einsum("ij,j->i", R, imu_position), velocity, twist, 0.5 * (covariance + covariance.T)


def _matrix(w: float, x: float, y: float, z: float) -> FloatArray:
    """As `rotation.from_quaternion`, of one quaternion that is finite and not zero."""
    largest = max(abs(w), abs(x), abs(y), abs(z))
    w, x, y, z = w / largest, x / largest, y / largest, z / largest
    size = math.sqrt(w * w + x * x + y * y + z * z)
    w, x, y, z = w / size, x / size, y / size, z / size
    return np.array(
        [
            [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
            [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
            [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
        ]
    )
