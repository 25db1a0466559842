"""Calibration of a motion model from driving logs, with its uncertainty: T ch. 3, P, L §5.3."""

from typing import TYPE_CHECKING

from grouser.lazy import lazy

if TYPE_CHECKING:
    from grouser.calibration.calibrate import DEFAULTS, calibrate
    from grouser.calibration.choose import Candidate, Choice, candidates, choose
    from grouser.calibration.evaluate import Errors, Evaluation, evaluate
    from grouser.calibration.online import OnlineFilter, PerturbativeFilter, Update
    from grouser.calibration.simulated import log_of_motion, log_of_run
    from grouser.motion.intervals import cut_log

__all__ = [
    "DEFAULTS", "Candidate", "Choice", "Errors", "Evaluation", "OnlineFilter", "PerturbativeFilter", "Update",
    "calibrate", "candidates", "choose", "cut_log", "evaluate", "log_of_motion", "log_of_run",
]  # fmt: skip

lazy(__name__)
