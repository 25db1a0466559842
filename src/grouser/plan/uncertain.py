"""A model that is not known exactly: its best values, draws of its parameters, and its process noise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from grouser.checks import Checker
from grouser.errors import PlanError
from grouser.kinematics import Kinematics
from grouser.model import Model
from grouser.motion import Fit, MotionModel, Noise
from grouser.motion.powertrain import Powertrain
from grouser.plan.trials import Disturbance

if TYPE_CHECKING:
    from grouser.dynamics import Dynamics
    from grouser.plan.fidelity import Auto

checked = Checker(PlanError)
Draw = Callable[[np.random.Generator], "Kinematics | Dynamics"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Uncertain:
    """A model with the spread of its parameters, as a planner takes it.

    >>> unsure = gr.plan.Uncertain(model=rover, draw=lambda rng: rover.replace(slip=gr.slip.BodySlip(rng.normal(p, s))))
    """

    model: Kinematics | Dynamics
    """With the best values of its parameters."""
    draw: Draw | None = None
    """Makes a model with parameters drawn by a random generator; None: parameters are known."""
    noise: Noise | None = None
    """Process noise; None: there is none. Dynamics has none."""
    powertrain: Powertrain | None = None
    """From commands to motion; None: it follows at once."""
    auto: Auto | None = None
    """Rolls out motions near the limits of the model by dynamics; None: the model rolls out all."""

    def __post_init__(self) -> None:
        checked.instance(self.model, Model, "model of Uncertain", "use gr.Kinematics(vehicle) or gr.Dynamics(…)")
        if self.draw is not None and not callable(self.draw):
            raise PlanError(f"draw: {self.draw!r:.60} is not a function of a random generator that returns a model")
        if self.noise is not None:
            checked.instance(self.noise, Noise, "noise", "use gr.motion.Noise(…)")
        if self.powertrain is not None:
            checked.instance(self.powertrain, Powertrain, "powertrain", "use gr.motion.Powertrain(…)")

    @classmethod
    def of(cls, value: Any) -> Uncertain:
        """What a planner makes of a model, a motion model, a fit, or one of these already."""
        from grouser.plan.fidelity import Auto

        match value:
            case Uncertain():
                return value
            case Auto():
                return replace(cls.of(value.cheap), auto=value)
            case Model():
                return cls(model=value)  # type: ignore[arg-type]
            case Fit() | MotionModel():
                return cls._of_motion(value)
        raise PlanError(f"model: {value!r:.60} is not a model; use gr.Kinematics(vehicle), gr.Dynamics(…) or a fit")

    @classmethod
    def _of_motion(cls, value: Fit | MotionModel) -> Uncertain:
        from grouser.motion.on_ground import draws, engine_model

        motion = value.model if isinstance(value, Fit) else value

        def one(rng: np.random.Generator) -> Kinematics | Dynamics:
            return engine_model(draws(value, 1, seed=int(rng.integers(10**9)))[0])

        known = isinstance(value, MotionModel) or len(value.covariance) == 0
        return cls(
            model=engine_model(motion),
            draw=None if known else one,
            noise=motion.noise,
            powertrain=motion.powertrain,
        )

    @property
    def driven(self) -> Kinematics | Dynamics:
        """What a predicted drive is driven by: the model, or the dynamics of an `Auto`."""
        return self.model if self.auto is None else self.auto.full

    @property
    def certain(self) -> bool:
        """Whether there is neither a spread of parameters nor noise."""
        return self.draw is None and self.noise is None

    def models(self, count: int, seed: Sequence[int]) -> list[Kinematics | Dynamics]:
        """Models with drawn parameters."""
        if self.draw is None:
            return [self.model] * count
        drawn = [self.draw(np.random.default_rng([*seed, i])) for i in range(count)]
        for one in drawn:
            if type(one) is not type(self.model) or one.vehicle.joints != self.model.vehicle.joints:
                raise PlanError(f"draw: gave {one!r:.60}; it must give a model like that with the best values")
        return drawn

    def disturbance(self, count: int, steps: int, dt: float, rng: np.random.Generator) -> Disturbance | None:
        """Process noise of that many drives, in steps of dt [s]; None where there is none.

        What grows with distance is given for 1 m/s; the engine scales it by the speed of each step. The length over
        which it wanders is then that of a drive at 1 m/s.
        """
        noise = self.noise
        if noise is None or not isinstance(self.model, Kinematics):
            return None
        from grouser.motion.on_ground import scaled_noise

        unit, speed = rng.standard_normal((count, steps, 2, len(noise.components))), np.ones((count, steps))
        white = scaled_noise(replace(noise, wander=None), speed, dt, unit)
        wander = np.zeros_like(white)
        if noise.wander is not None:
            wander = scaled_noise(replace(noise, density=np.zeros_like(noise.density)), speed, dt, unit)
        return Disturbance(white, wander, noise.grows == "distance")
