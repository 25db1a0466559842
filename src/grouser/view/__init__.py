"""Pictures of runs and rollouts. Importing this imports Matplotlib; nothing here opens a window."""

from grouser.view.plot import plot_rollouts, plot_run, plot_runs

__all__ = ["plot_rollouts", "plot_run", "plot_runs"]
