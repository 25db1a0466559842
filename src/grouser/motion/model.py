"""A motion model: how a vehicle moves, where its pose sensor sits, and the noise of both."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from grouser import checks, terrain
from grouser.errors import CalibrationError
from grouser.logs.log import Sensor
from grouser.model import Model
from grouser.motion.noise import Noise
from grouser.motion.powertrain import Powertrain
from grouser.motion.velocity import VelocityModel, is_dynamic
from grouser.vehicles import Vehicle

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from grouser.dynamics import Dynamics
    from grouser.kinematics import Kinematics
    from grouser.logs import Log
    from grouser.motion.log_prediction import LogPrediction
    from grouser.simulation.rollout import Rollouts
    from grouser.simulation.run import Run
    from grouser.terrain import Terrain

STARTS = ("poses", "wheels")


class Sampled:
    """What can be simulated with samples of its uncertainty: a motion model or a fit (`simulation.samples`)."""

    def simulate_on(self, ground: Terrain, drive: Any, **options: Any) -> Run:
        """A run on any ground with samples of it: what `grouser.simulate` calls, with its options."""
        from grouser.motion.uncertain_runs import simulate_uncertain

        return simulate_uncertain(self, ground, drive, **options)  # type: ignore[arg-type]

    def roll_out_on(self, ground: Terrain, commands: ArrayLike, **options: Any) -> Rollouts:
        """Samples of rollouts on any ground: what `grouser.rollout` calls, with its options."""
        from grouser.motion.uncertain_runs import roll_out_uncertain

        return roll_out_uncertain(self, ground, commands, **options)  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False, kw_only=True)
class MotionModel(Sampled):
    """A model that predicts a log: all that calibration may change, in one immutable value."""

    model: Kinematics | Dynamics | VelocityModel
    """How the vehicle moves."""
    sensor: Sensor = field(default_factory=Sensor)
    """Mounting, lag and noise of the pose sensor."""
    noise: Noise = field(default_factory=Noise)
    """Process noise."""
    powertrain: Powertrain | None = None
    """From commands to rates, where a prediction starts from commands; None: rates are measured."""
    ground: Terrain | None = None
    """The ground, where attitude is predicted: always with dynamics. None: attitude is an input."""
    dt: float = 0.04
    """Step of rollouts over the ground [s]; a velocity-driven model integrates from sample to sample."""
    start: str = "poses"
    """The velocity with which dynamics starts an interval: "poses" (with gyro and wheels, all before the start) or
    "wheels", as if they did not slip."""

    def __post_init__(self) -> None:
        checks.positive(self.dt, "dt")
        if not isinstance(self.model, (Model, VelocityModel)):
            raise CalibrationError(f"model: {self.model!r:.60} is not a motion model; use grouser.Kinematics(vehicle)")
        if self.ground is not None and not isinstance(self.ground, terrain.Terrain):
            raise CalibrationError(f"ground: {self.ground!r:.60} is not a terrain; use grouser.terrain.plane()")
        if self.ground is not None and not isinstance(self.model, Model):
            raise CalibrationError(
                f"a {type(self.model).__name__} takes its attitude from the log and cannot stand on a ground; leave "
                "ground out, or use grouser.Kinematics or Dynamics"
            )
        if self.start not in STARTS:
            raise CalibrationError(f"start {self.start!r:.40} is not one of {', '.join(STARTS)}")
        if self.ground is None and is_dynamic(self.model):
            raise CalibrationError("dynamics needs a ground to stand on; give ground=grouser.terrain.plane()")

    @property
    def vehicle(self) -> Vehicle:
        """The vehicle that moves."""
        return self.model.vehicle

    @property
    def velocity_driven(self) -> bool:
        """Whether attitude is an input, so that velocity depends on neither position nor yaw."""
        return self.ground is None

    def replace(self, **changes: Any) -> MotionModel:
        """A copy with some fields changed."""
        return dataclasses.replace(self, **changes)

    def predict(self, log: Log, *, interval: float | None = 2.0) -> LogPrediction:
        """Poses at the end of every interval [s] of a log, with covariance; None predicts whole stretches at once."""
        from grouser.motion.log_prediction import predict_log

        return predict_log(self, log, interval=interval)
