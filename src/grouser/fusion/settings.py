"""Settings of the fusion filter: noise of the IMU, slip of the wheels, and when a measurement is refused."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtri

from grouser._kernels.constants import GRAVITY
from grouser._kernels.fusion import memory as kernels
from grouser._kernels.fusion.memory import FusionMemory
from grouser.checks import Checker, FloatArray
from grouser.errors import FusionError

check = Checker(FusionError)

LOST_GYRO, LOST_ACCELERATION = 1.0, 0.1
"""Error of a saturated or interrupted sensor as a share of its range: all of it for a gyro in a long turn, a tenth for
an accelerometer, whose last good reading is kept, because a shock changes the speed of a rover by no more."""
LOST_TIME = 0.1  # Correlation time of that error [s]
SLIDE = 1e-6  # Probability that one sum of measurements contradicts a standstill that is one
STILL_FACTOR = 4.0  # Variance of the IMU's samples, over that of its noise, up to which the vehicle may stand
SQUARED = ("gyro_noise", "acceleration_noise", "gyro_walk", "acceleration_walk")  # densities, here of variances
IN_RANGE = 0.995  # Share of its range above which a reading counts as saturated


@dataclass(frozen=True, kw_only=True)
class FusionSettings:
    """Assumptions of the filter. The defaults are for a small MEMS IMU at 100 Hz on an LRU."""

    gyro_noise: float = 3e-4
    """Density of the gyro's white noise [rad/s/√Hz]."""
    acceleration_noise: float = 1e-3
    """Density of the accelerometer's [m/s²/√Hz]."""
    gyro_walk: float = 1e-5
    """Random walk of the gyro's bias [rad/s²/√Hz]."""
    acceleration_walk: float = 1e-4
    """Random walk of the accelerometer's bias [m/s³/√Hz]."""
    gyro_bias: float = 0.01
    """One sigma of the gyro's bias when switched on [rad/s]."""
    acceleration_bias: float = 0.05
    """One sigma of the accelerometer's [m/s²]."""
    gyro_scale: float = 0.0
    """One sigma of the gyro's scale factor, as a share: it is noise of a turn rate that lasts through a turn. Settings
    from a manifest have 0.005, as small MEMS gyros do."""
    gyro_range: float = 5.2
    """Largest rate the gyro can measure [rad/s]."""
    acceleration_range: float = 40.0
    """Largest specific force the accelerometer can measure [m/s²]."""
    rate: float = 100.0
    """Approximate sampling rate of the IMU [Hz]; sets the noise level of the standstill test."""
    gap: float = 0.05
    """A longer step between two IMU samples is a fault [s]."""
    imu_position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Where the IMU sits in the body [m]. Its axes are the body's."""
    wheel_point: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """The point of the body whose velocity the wheels measure [m].

    The origin, if the odometry uses the gyro's roll and pitch rates; otherwise the point at ground level, whose
    velocity does not depend on them: the body rolls and pitches about its contacts.
    """
    gps_position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Where the antenna of the GPS receiver sits in the body [m]."""
    slip: tuple[float, float, float] = (0.03, 0.03, 0.05)
    """One sigma of the slip that the odometry does not model: forward and left [-], yaw [rad/m], per rolling speed."""
    slip_length: float = 2.0
    """Correlation length of that slip along the way [m]."""
    lasting_slip: tuple[float, float, float] = (0.03, 0.01, 0.02)
    """One sigma of lasting slip: forward, left [-], yaw [rad/m]; from errors of the slip parameters on a long slope.

    Used where the filter is not given the parameters themselves."""
    lasting_length: float = 20.0
    """Correlation length of lasting slip [m]."""
    parameter_length: float = 1e9
    """Correlation length of the slip parameters, if given [m]: along it they return to their prior; large: constant."""
    slip_arm: float = 0.5
    """Distance of the wheels from the centre [m]: rolling speed of a turn on the spot per rad/s."""
    distrust_slip: tuple[float, float, float] = (0.5, 0.5, 1.0)
    """One sigma of the slip of distrusted wheels [-, -, rad/m] (blocked, frozen, spinning), used without poses only.

    With poses such wheels are not used until they agree again."""
    distrust_after: float = 0.3
    """Duration of refusals after which wheels are distrusted [s]."""
    recover_after: float = 1.0
    """Duration of refusals after which poses, GPS positions and headings are admitted again [s].

    With the noise they show while wheels support the state; otherwise the covariance of what they contradict is
    enlarged."""
    missing_after: float = 1.0
    """Duration without wheels or poses after which they are missing [s]; five times as long for GPS and headings."""
    gate: float = 0.999
    """Probability that a good measurement passes the chi-square gate."""
    still_window: float = 0.25
    """Duration of the standstill test [s]."""
    still_speed: float = 0.005
    """Mean speed of wheels that stand [m/s], at most."""
    still_noise: tuple[float, float, float] = (1e-3, 1e-3, 2e-4)
    """One sigma of standing still: velocity [m/s], position [m], rotation [rad]."""
    align: float = 1.0
    """Duration of the alignment [s] before the first estimate; a vehicle at rest gives level and biases."""
    tilt: float = 0.2
    """One sigma of roll and pitch before that [rad]: of the specific force of a vehicle that moves."""
    start_noise: tuple[float, float] = (1e-3, 1e-3)
    """One sigma of the start: position [m] and yaw [rad], both of the first IMU sample; π if the yaw is not known."""
    start_velocity: tuple[float, float, float] = (3.0, 3.0, 0.1)
    """One sigma of the velocity of a start on the move: forward, left, up [m/s], body axes."""
    clones: int = 8
    """Past poses kept for relative measurements, at most."""
    history: float = 1.0
    """Largest delay of a measurement [s]."""
    gravity: float = GRAVITY
    """[m/s²]."""

    def __post_init__(self) -> None:
        """Check the values."""
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if isinstance(field.default, tuple):
                length = len(field.default)
                numbers = check.array(value, f"fusion {field.name}", (length,))
                if field.name not in ("imu_position", "wheel_point", "gps_position") and not (numbers > 0.0).all():
                    raise FusionError(f"fusion {field.name}: {value} must be positive")
                object.__setattr__(self, field.name, tuple(float(v) for v in numbers))
            elif field.name == "gyro_scale":
                object.__setattr__(self, field.name, check.not_negative(value, "fusion gyro_scale"))
            elif field.name != "clones":
                object.__setattr__(self, field.name, check.positive(value, f"fusion {field.name}"))
        if not 0.5 <= self.gate < 1.0:
            raise FusionError(f"fusion gate: {self.gate:g} is not a probability from 0.5 to below 1")
        if self.gap * self.rate <= 1.0:
            raise FusionError(
                f"fusion gap: {self.gap:g} s is not longer than the {1.0 / self.rate:g} s between IMU samples at rate ="
                f" {self.rate:g} Hz, so every sample would be a fault; use at least {2.0 / self.rate:g} s"
            )
        check.count(self.clones, "fusion clones", least=4, most=64)
        if self.history * self.rate > 1e5:
            raise FusionError(f"fusion history: {self.history:g} s at {self.rate:g} Hz does not fit in memory")

    def replace(self, **changes: object) -> FusionSettings:
        """A copy with some fields changed."""
        return dataclasses.replace(self, **changes)  # type: ignore[arg-type]

    def memory(
        self, yaw: float, position: ArrayLike = (0.0, 0.0, 0.0), parameters: FloatArray | None = None
    ) -> FusionMemory:
        """Empty memory for a filter that starts with a yaw [rad] at a position [m].

        parameters: covariance (k, k) of the slip parameters whose slopes come with the wheels; None for lasting slip.
        """
        clones = int(self.clones) + 1 + kernels.HELD  # one for the anchor of a standstill or the newest frame
        prior = np.diag(np.square(self.lasting_slip)) if parameters is None else parameters
        core = kernels.PARAMETERS + len(prior)
        memory: FusionMemory = FusionMemory.zeros(
            n=core + kernels.CLONE * clones,
            core=core,
            k=len(prior),
            clones=clones,
            past=max(2, math.ceil(self.history * self.rate)),
            waiting=kernels.MOST_WAITING,
        )
        for name, value in self._packed(yaw).items():
            memory.settings[name] = value
        memory.settings.origin = position
        memory.settings.given = parameters is not None
        memory.settings.parameter_length = self.lasting_length if parameters is None else self.parameter_length
        memory.prior[:] = prior
        memory.counts.anchor = -1
        return memory

    def _packed(self, yaw: float) -> dict[str, ArrayLike]:
        """Fields of the kernels' record: variances and densities in place of sigmas where they are added to one."""
        imu = np.array(self.imu_position)
        velocity, position, rotation = self.still_noise
        start, yaw_sigma = self.start_noise
        return {
            **{name: getattr(self, name) ** 2 for name in SQUARED},
            "gyro_scale": self.gyro_scale,
            "gyro_range": IN_RANGE * self.gyro_range,
            "acceleration_range": IN_RANGE * self.acceleration_range,
            "gyro_lost": (LOST_GYRO * self.gyro_range) ** 2 * LOST_TIME,
            "acceleration_lost": (LOST_ACCELERATION * self.acceleration_range) ** 2 * LOST_TIME,
            "lever_wheels": np.array(self.wheel_point) - imu,
            "lever_body": -imu,
            "lever_antenna": np.array(self.gps_position) - imu,
            "distrusted_slip": self.distrust_slip,
            "gate": np.append(0.0, chdtri(np.arange(1, 7), 1.0 - self.gate)),
            "slide_gate": np.append(0.0, chdtri(np.arange(1, 7), SLIDE)),
            "window": self.still_window,
            "quiet": STILL_FACTOR * self.rate * np.repeat([self.gyro_noise**2, self.acceleration_noise**2], 3),
            "still_velocity": velocity,
            "still_position": position,
            "still_rotation": rotation,
            "start": [
                *(self.tilt, self.tilt, yaw_sigma),
                *np.repeat([velocity, start, self.gyro_bias, self.acceleration_bias], 3),
                *self.slip,
            ],
            "yaw": yaw,
        } | {name: getattr(self, name) for name in ("slip", *kernels.AS_GIVEN)}
