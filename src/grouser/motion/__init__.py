"""A calibrated motion model: velocity from rates, slip, powertrain, noise, parameters by name, predictions of a log."""

from typing import TYPE_CHECKING

from grouser.lazy import lazy

if TYPE_CHECKING:
    from grouser.motion.correction import Corrected
    from grouser.motion.fit import Fit, History, Training
    from grouser.motion.intervals import Intervals
    from grouser.motion.log_prediction import LogPrediction
    from grouser.motion.model import MotionModel
    from grouser.motion.noise import Noise
    from grouser.motion.parameters import Parameter, ParameterVector, available, resolve
    from grouser.motion.planar import Bicycle, DifferentialDrive, FourNumbers, Holonomic
    from grouser.motion.powertrain import Powertrain
    from grouser.motion.predict import LogProblem
    from grouser.motion.slip_surface import Perturbative
    from grouser.motion.velocity import VelocityModel

__all__ = [
    "Bicycle", "Corrected", "DifferentialDrive", "Fit", "FourNumbers", "History", "Holonomic", "Intervals",
    "LogPrediction", "LogProblem", "MotionModel", "Noise", "Parameter", "ParameterVector", "Perturbative",
    "Powertrain", "Training", "VelocityModel", "available", "resolve",
]  # fmt: skip

lazy(__name__)
