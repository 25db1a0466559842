"""The online filter of P: the slip surface and its noise, of one log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from grouser.calibration.online import OnlineFilter, Update
from grouser.errors import CalibrationError
from grouser.motion.model import MotionModel
from grouser.motion.noise import Noise
from grouser.motion.parameters import Parameter, resolve
from grouser.motion.predict import LogProblem
from grouser.motion.slip_surface import NAMES, Perturbative

COMPONENTS = ("vx", "vy", "wz")
"""Noisy velocities of the perturbative filter: δV_x, δV_y, δV_θ."""


class PerturbativeFilter(OnlineFilter):
    """The online filter for a `Perturbative` model and one log, with the slip surface and the noise of P."""

    def __init__(
        self, problem: LogProblem, motion: MotionModel, parameters: Sequence[Parameter] | None = None, **options: Any
    ) -> None:
        """Parameters are of the slip surface and the noise; None: all 13 and all 6, Ξ in its full form."""
        if not isinstance(motion.model, Perturbative):
            raise CalibrationError(f"the perturbative filter is for Perturbative, not {type(motion.model).__name__}")
        if parameters is None:
            noise = motion.noise if motion.noise.components == COMPONENTS else Noise(grows=motion.noise.grows)
            motion = motion.replace(noise=replace(noise, form="full"))
            parameters = resolve(motion, ["slip", "noise"])
        wrong = [q.name for q in parameters if q.name not in NAMES and q.name not in motion.noise.names]
        if wrong:
            raise CalibrationError(f"{wrong[0]} is not of the slip surface or the noise; use OnlineFilter for it")
        super().__init__(motion, parameters, **options)
        self.problem = problem

    def update(self, problem: LogProblem, k: int) -> Update:
        """Learn from interval k of the problem the filter was made for."""
        if problem is not self.problem:
            raise CalibrationError("the perturbative filter is made for one log; make another for this problem")
        return super().update(problem, k)
