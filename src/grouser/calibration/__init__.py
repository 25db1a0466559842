"""Calibration of a motion model from driving logs, with its uncertainty: T ch. 3, P, L §5.3."""

from typing import TYPE_CHECKING

from grouser.lazy import lazy

if TYPE_CHECKING:
    from grouser.calibration.adapt import Adapted, Learned, adapt, learned_along
    from grouser.calibration.calibrate import DEFAULTS, calibrate
    from grouser.calibration.change import Change
    from grouser.calibration.choose import Candidate, Choice, candidates, choose
    from grouser.calibration.evaluate import Errors, Evaluation, evaluate
    from grouser.calibration.hierarchy import Hierarchy, fit_hierarchy
    from grouser.calibration.map_ground import Mapping, errors_by_map, map_ground, soils_of_map
    from grouser.calibration.memory import Memory
    from grouser.calibration.online import OnlineFilter, Update
    from grouser.calibration.perturbative_filter import PerturbativeFilter
    from grouser.calibration.share import Ground, SharedFit, calibrate_together
    from grouser.calibration.simulated import log_of_motion, log_of_run
    from grouser.motion.intervals import cut_log

__all__ = [
    "DEFAULTS", "Adapted", "Candidate", "Change", "Choice", "Errors", "Evaluation", "Ground", "Hierarchy", "Learned",
    "Mapping", "Memory", "OnlineFilter", "PerturbativeFilter", "SharedFit", "Update", "adapt", "calibrate",
    "calibrate_together", "candidates", "choose", "cut_log", "errors_by_map", "evaluate", "fit_hierarchy",
    "learned_along", "log_of_motion", "log_of_run", "map_ground", "soils_of_map",
]  # fmt: skip

lazy(__name__)
