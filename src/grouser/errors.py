"""Errors. Each message is one sentence: what is wrong, where, and what would be right."""

import re
from collections.abc import Iterator
from contextlib import contextmanager


class GrouserError(Exception):
    """Root of every error Grouser raises on purpose."""

    def __str__(self) -> str:
        # Arrays and other values that a message shows are printed on several lines; a message is one.
        return re.sub(r"\s*\n\s*", " ", super().__str__())


class VehicleError(GrouserError):
    """A vehicle, or the file it came from, cannot be used."""


class TerrainError(GrouserError):
    """A terrain, or the file it came from, cannot be used, or does not cover a place."""


class LogError(GrouserError):
    """A log or its manifest cannot be used."""


class SimulationError(GrouserError):
    """A model, drive or run was set up in a way that cannot be simulated."""


class CalibrationError(GrouserError):
    """A calibration was set up in a way that cannot be solved."""


class OdometryError(GrouserError):
    """Odometry, or one of its signals, was given something it cannot use."""


class FusionError(GrouserError):
    """The fusion filter, its settings or one of its measurements cannot be used."""


class RobotError(GrouserError):
    """The chain on board, its settings or one of its signals cannot be used."""


class PlanError(GrouserError):
    """A planner, its cost or limits, or the place it is to reach cannot be used."""


class StudyError(GrouserError):
    """A study, its file, its folder or the machines it runs on cannot be used."""


@contextmanager
def prefixed(prefix: str, error: type[GrouserError]) -> Iterator[None]:
    """Put the place, such as "zoe.toml, ", before the message of an error of a class, unless it begins so."""
    try:
        yield
    except error as reason:
        message = str(reason)
        raise error(message if message.startswith(prefix) else f"{prefix}{message}") from None
