"""Learning a motion model from driving logs, and saying how sure it is: T ch. 3, P, L §5.3."""

from grouser.calibration.baselines import Bicycle, DifferentialDrive, FourNumbers
from grouser.calibration.calibrate import DEFAULTS, calibrate, cut_log
from grouser.calibration.evaluate import Errors, Evaluation, evaluate
from grouser.calibration.fit import Fit, History, Training
from grouser.calibration.intervals import Intervals
from grouser.calibration.motion import MotionModel
from grouser.calibration.noise import Noise
from grouser.calibration.online import OnlineFilter, Update
from grouser.calibration.parameters import Parameter, available, resolve
from grouser.calibration.perturbative import Perturbative
from grouser.calibration.perturbative_filter import PerturbativeFilter
from grouser.calibration.powertrain import Powertrain
from grouser.calibration.predict import LogPrediction, LogProblem
from grouser.calibration.simulated import log_of_motion, log_of_run
from grouser.calibration.velocity import VelocityModel

__all__ = [
    "DEFAULTS",
    "Bicycle",
    "DifferentialDrive",
    "Errors",
    "Evaluation",
    "Fit",
    "FourNumbers",
    "History",
    "Intervals",
    "LogPrediction",
    "LogProblem",
    "MotionModel",
    "Noise",
    "OnlineFilter",
    "Parameter",
    "Perturbative",
    "PerturbativeFilter",
    "Powertrain",
    "Training",
    "Update",
    "VelocityModel",
    "available",
    "calibrate",
    "cut_log",
    "evaluate",
    "log_of_motion",
    "log_of_run",
    "resolve",
]
