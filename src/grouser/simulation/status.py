"""How a run ended."""

from __future__ import annotations

from enum import StrEnum

from grouser._kernels.simulation import step as kernels


class Status(StrEnum):
    """How a run or rollout ended; only `ok` reached its full duration."""

    OK = "ok"
    OFF_TERRAIN = "off_terrain"
    ROLLED_OVER = "rolled_over"
    DIVERGED = "diverged"
    UNSOLVED = "unsolved"
    TOO_SHARP = "too_sharp"
    GAINED_ENERGY = "gained_energy"
    BURIED = "buried"
    INTERRUPTED = "interrupted"
    STOPPED = "stopped"

    @property
    def meaning(self) -> str:
        """The status in words."""
        return _MEANING[self]


OF_CODE = {getattr(kernels, status.name): status for status in Status if hasattr(kernels, status.name)}
"""Status of each number the engine returns."""

_ELSEWHERE = {Status.TOO_SHARP, Status.INTERRUPTED, Status.STOPPED}
OF_ROLLOUT = tuple(status for status in Status if status not in _ELSEWHERE)
"""How a rollout can end; `too_sharp` is of rolling without slip, others are of runs that a person or program ends."""

_MEANING = {
    Status.OK: "reached its full duration",
    Status.OFF_TERRAIN: "the ground ended under a wheel",
    Status.ROLLED_OVER: "tilted beyond the tip angle",
    Status.DIVERGED: "a state, velocity or command became non-finite, or grew without bound",
    Status.UNSOLVED: "the forces of a step could not be balanced, even in parts",
    Status.TOO_SHARP: "the ground bends more sharply than a tyre, which cannot touch it at one point",
    Status.GAINED_ENERGY: "the vehicle had more energy than motors and gravity gave it: the step is too long for this "
    "ground, or the ground too steep for a height field",
    Status.BURIED: "a wheel was wholly in the ground for half a second: the ground is too steep, or the crash too hard",
    Status.INTERRUPTED: "it was interrupted, by Ctrl-C",
    Status.STOPPED: "its stop condition was met",
}
