"""The command line. Importing this imports neither Numba nor Matplotlib; each command does so when it runs."""

from grouser.cli.app import main, run

__all__ = ["main", "run"]
