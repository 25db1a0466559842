"""What a node needs of the chain on board; `grouser.Robot` has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from numpy.typing import ArrayLike

from grouser.checks import FloatArray

__all__ = ["Estimate", "Robot", "alarms_of"]

ALARMS = ("stuck", "sliding", "ground_changed")
"""Alarms of the monitor, each a field of the estimate that is true while it holds."""


class Estimate(Protocol):
    """The present estimate; see `grouser.robot.RobotEstimate`."""

    @property
    def time(self) -> float: ...
    @property
    def position(self) -> FloatArray: ...
    @property
    def quaternion(self) -> FloatArray: ...
    @property
    def twist(self) -> FloatArray: ...
    @property
    def excluded(self) -> tuple[str, ...]: ...
    @property
    def degraded(self) -> tuple[str, ...]: ...
    def ros_pose_covariance(self) -> FloatArray: ...
    def ros_twist_covariance(self) -> FloatArray: ...


class Robot(Protocol):
    """Signals by their stamps in, an estimate out; see `grouser.Robot`. It copes with late signals and clocks."""

    @property
    def estimate(self) -> Estimate | None: ...
    @property
    def faults(self) -> Mapping[str, int]: ...
    def imu(self, t: float, gyro: ArrayLike, acceleration: ArrayLike) -> None: ...
    def joints(self, t: float, rates: Any, angles: Any = None) -> None: ...
    def pose(
        self,
        t: float,
        position: ArrayLike,
        quaternion: ArrayLike,
        covariance: ArrayLike | None = None,
        source: str = "",
    ) -> None: ...


def alarms_of(estimate: Estimate) -> dict[str, bool]:
    """The alarms of the monitor; none is on where the estimate has no monitor."""
    return {name: bool(getattr(estimate, name, False)) for name in ALARMS}
