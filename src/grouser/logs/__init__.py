"""Driving logs: CSV files or bags, read as a manifest says.

>>> log = gr.read_log("drive.csv", manifest="log.toml")
"""

from typing import TYPE_CHECKING

from grouser.lazy import lazy

if TYPE_CHECKING:
    from grouser.logs.log import Log, Poses, Sensor
    from grouser.logs.read import read_log
    from grouser.logs.report import Gap, Rejection, Report

__all__ = ["Gap", "Log", "Poses", "Rejection", "Report", "Sensor", "read_log"]

lazy(__name__)
