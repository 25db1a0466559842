"""Published experiments, run again with Grouser and set beside the papers' numbers."""

from grouser.reproduce.experiment import Experiment, Result
from grouser.reproduce.table_2_4 import TABLE_2_4

EXPERIMENTS: dict[str, Experiment] = {experiment.name: experiment for experiment in (TABLE_2_4,)}
"""By the name they have on the command line."""

__all__ = ["EXPERIMENTS", "Experiment", "Result"]
