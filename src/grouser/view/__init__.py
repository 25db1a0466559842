"""Pictures and pages of runs and rollouts. Importing this imports Matplotlib; nothing here opens a window."""

from typing import TYPE_CHECKING

from grouser.lazy import lazy

if TYPE_CHECKING:
    from grouser.view.page import view_runs
    from grouser.view.plot import plot_rollouts, plot_run, plot_runs
    from grouser.view.scene import Lines, UncertainPoses

__all__ = ["Lines", "UncertainPoses", "plot_rollouts", "plot_run", "plot_runs", "view_runs"]

lazy(__name__)
