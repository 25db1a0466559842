"""Settings of the chain on board."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from grouser.checks import Checker
from grouser.errors import RobotError
from grouser.fusion.settings import FusionSettings
from grouser.motion.spread import GroundSpread
from grouser.odometry.inputs import EncoderNoise
from grouser.robot.monitor_settings import MonitorSettings

check = Checker(RobotError)


@dataclass(frozen=True, kw_only=True)
class RobotSettings:
    """Assumptions of the chain about the robot's sensors, beyond the vehicle and the fit."""

    fusion: FusionSettings = field(default_factory=FusionSettings)
    """Noise of the IMU, its place, slip, gates."""
    noise: EncoderNoise = field(default_factory=EncoderNoise)
    """Of wheel rates and joint angles."""
    odometry: dict[str, Any] = field(default_factory=dict)
    """Further options of `grouser.Odometry`, such as measured or stops."""
    learn: bool = True
    """Whether slip parameters of a fit are states of the filter, so that poses and GPS teach them."""
    ground: GroundSpread = field(default_factory=GroundSpread)
    """How much slip differs from that of the fit, where the fit does not know (`Fit.spread`)."""
    sync: float = 0.1
    """One sigma of the time between IMU and wheels [s], tyres that give way included: a relaxation length of some
    decimetres at 1 m/s. It is noise of the wheels while they speed up, brake or begin to turn."""
    turn_slip: float = 0.05
    """One sigma of the turn rate by the wheels that a slip model leaves, as a share; it lasts through a turn."""
    monitor: MonitorSettings = field(default_factory=MonitorSettings)
    """When the robot is stuck or slides, and when the ground has changed."""
    delay: float = 0.5
    """A signal that comes later than this after newer ones [s] is not replayed.

    IMU and joint samples are then left out; poses, fixes and headings are compared with the past of the filter.
    """
    events: int = 2048
    """Signals kept for a replay: at least those of `delay`."""
    rise: float = 0.1
    """One sigma of the vertical velocity in body axes, as a share of the speed: bumps and a soft suspension."""
    rise_length: float = 0.5
    """Length along which it lasts [m]."""
    visual: tuple[float, float, float, float] = (0.002, 0.03, 0.001, 0.02)
    """Noise of the steps of another odometry whose messages give none: translation [m] and its share of the way,
    rotation [rad] and its share of the turn."""

    def __post_init__(self) -> None:
        """Check the values."""
        check.instance(self.fusion, FusionSettings, "fusion", "use grouser.fusion.FusionSettings(…)")
        check.instance(self.noise, EncoderNoise, "noise", "use grouser.odometry.EncoderNoise(…)")
        check.instance(self.monitor, MonitorSettings, "monitor", "use grouser.robot.MonitorSettings(…)")
        check.instance(self.ground, GroundSpread, "ground", "use grouser.odometry.GroundSpread(…)")
        for name in ("delay", "rise", "rise_length", "sync", "turn_slip"):
            object.__setattr__(self, name, check.positive(getattr(self, name), f"robot {name}"))
        check.count(self.events, "robot events", least=64, most=1_000_000)
        numbers = check.array(self.visual, "robot visual", (4,))
        if not (numbers >= 0.0).all() or not numbers[:2].any() or not numbers[2:].any():
            raise RobotError(f"robot visual: {self.visual} must be sigmas that are not negative, and not all zero")
