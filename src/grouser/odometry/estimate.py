"""Estimates of odometry: pose, velocity and slip after a sample, with covariances; as TUM, CSV and ROS messages."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import IO, Any

import numpy as np

from grouser import rotation
from grouser._kernels.odometry.state import ESTIMATE
from grouser.checks import FloatArray
from grouser.errors import OdometryError
from grouser.files import write_whole

COMPONENTS = ("wx", "wy", "wz", "vx", "vy", "vz")
"""Entries of a twist, in order: turn rates about, speeds along the body's x, y, z."""
NOT_OBSERVED = 1e6  # Variance of a velocity that is not observed, in messages [m²/s², rad²/s²]
POSE = ("x", "y", "z", "roll", "pitch", "yaw")  # REP-103 order of the rows of a ROS covariance, position first
COLUMNS = (
    "time",
    *("x", "y", "z", "qw", "qx", "qy", "qz", "yaw"),
    *COMPONENTS,
    *(f"slip_{name}" for name in COMPONENTS),
    *(f"observed_{name}" for name in COMPONENTS),
    "degraded",
)
"""Columns of a CSV file, SI units. Twist and slip are in body axes, turn rates first."""
COVARIANCE_COLUMNS = tuple(f"{kind}_covariance_{i}_{j}" for kind in ("pose", "twist") for i in POSE for j in POSE)
"""Further columns: pose covariance in world axes and twist covariance in body axes, as `Estimate.ros_…` gives them."""

_LINEAR_FIRST = np.ix_([3, 4, 5, 0, 1, 2], [3, 4, 5, 0, 1, 2])


class PoseEstimate:
    """What all estimates share that have a quaternion, a pose_covariance and a twist_covariance."""

    __slots__ = ()

    def ros_pose_covariance(self: Any) -> FloatArray:
        """Covariance of geometry_msgs/PoseWithCovariance, (36,) row by row, order (x, y, z, rotation about X, Y, Z).

        Axes are those of the fixed frame of the message's header, the world (REP-103; the rotation is a rotation
        vector about fixed axes): R_true = Exp(ε) R_est, p_true = p_est + δp.
        """
        both = np.kron(np.eye(2), rotation.from_quaternion(self.quaternion))
        return np.asarray((both @ self.pose_covariance @ both.T)[_LINEAR_FIRST].ravel())

    def ros_twist_covariance(self: Any) -> FloatArray:
        """Covariance of geometry_msgs/TwistWithCovariance, (36,) row by row: v, then ω, in body axes (child frame).

        Velocities that the wheels do not observe have a variance of 1e6.
        """
        matrix, observed = self.twist_covariance, getattr(self, "observed", np.ones(6, np.bool_))
        if not observed.all():
            matrix = np.where(np.outer(observed, observed), matrix, np.diag(np.full(6, NOT_OBSERVED)))
        return np.asarray(matrix[_LINEAR_FIRST].ravel())


class Estimate(PoseEstimate):
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

    def __repr__(self) -> str:
        x, y, z = self.position
        marked = ", degraded" if self.degraded else ""
        return f"<Estimate at {self.time:.12g} s: ({x:.4g}, {y:.4g}, {z:.4g}) m, yaw {self.yaw:.4g} rad{marked}>"


def write_tum(path: str | os.PathLike[str], estimates: Iterable[Any]) -> None:
    """Poses of odometry or fusion as a TUM trajectory, one line each: time x y z qx qy qz qw."""

    def lines() -> Iterator[str]:
        for one in estimates:
            w, x, y, z = _checked(one).quaternion
            yield " ".join(repr(float(v)) for v in (one.time, *one.position, x, y, z, w)) + "\n"

    _write(path, lines())


def write_csv(path: str | os.PathLike[str], estimates: Iterable[Estimate], *, covariance: bool = True) -> None:
    """All fields of the estimates, one row each; with `covariance`, both 6 × 6 matrices in ROS order."""

    def lines() -> Iterator[str]:
        yield ",".join(COLUMNS + (COVARIANCE_COLUMNS if covariance else ())) + "\n"
        for one in estimates:
            if not isinstance(one, Estimate):
                raise OdometryError(f"{one!r:.60} is not an Estimate; give what the odometry returned")
            numbers = [one.time, *one.position, *one.quaternion, one.yaw, *one.twist, *one.slip]
            row = [repr(float(v)) for v in numbers] + [str(int(v)) for v in (*one.observed, one.degraded)]
            if covariance:
                row += [repr(float(v)) for v in (*one.ros_pose_covariance(), *one.ros_twist_covariance())]
            yield ",".join(row) + "\n"

    _write(path, lines())


def ros_odometry(estimate: Any, *, frame: str = "odom", child_frame: str = "base_link") -> dict[str, Any]:
    """Fields of a nav_msgs/Odometry message, as plain numbers and lists.

    The pose and its covariance are in the axes of `frame`, the twist and its covariance in those of `child_frame`. Rows
    and columns of both covariances are x, y, z, then rotations about X, Y, Z. Velocities that wheels do not observe
    have a variance of 1e6 there.
    """
    time, twist = _checked(estimate).time, estimate.twist.tolist()
    w, *turned = estimate.quaternion.tolist()
    seconds = int(time // 1.0)
    nanoseconds = min(round((time - seconds) * 1e9), 999_999_999)

    def xyz(values: list[float]) -> dict[str, float]:
        return dict(zip("xyz", values, strict=True))

    return {
        "header": {"stamp": {"sec": seconds, "nanosec": nanoseconds}, "frame_id": frame},
        "child_frame_id": child_frame,
        "pose": {
            "pose": {"position": xyz(estimate.position.tolist()), "orientation": xyz(turned) | {"w": w}},
            "covariance": estimate.ros_pose_covariance().tolist(),
        },
        "twist": {
            "twist": {"linear": xyz(twist[3:]), "angular": xyz(twist[:3])},
            "covariance": estimate.ros_twist_covariance().tolist(),
        },
    }


def _checked(value: Any) -> Any:
    if not hasattr(value, "ros_pose_covariance"):
        raise OdometryError(f"{value!r:.60} is not an estimate; give what the odometry or the filter returned")
    return value


def _write(path: str | os.PathLike[str], lines: Iterator[str]) -> None:
    def write(stream: IO[bytes]) -> None:
        for line in lines:
            stream.write(line.encode())

    write_whole(path, write, OdometryError)
