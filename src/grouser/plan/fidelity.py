"""Two models of one vehicle: the cheap one for all rollouts, dynamics for those that need it (T §4.2, future work)."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from grouser.checks import Checker, FloatArray
from grouser.errors import PlanError
from grouser.kinematics import Kinematics
from grouser.model import Model
from grouser.motion import Fit, MotionModel
from grouser.plan.trials import Roller, Trials
from grouser.simulation.drive import twist
from grouser.simulation.simulate import start_velocity
from grouser.vehicles import Vehicle

if TYPE_CHECKING:
    from grouser.dynamics import Dynamics

checked = Checker(PlanError)
SIZES = 8
"""Sizes of batches of dynamics, as parts of all: room for a batch is made once for each."""


@dataclass(frozen=True, eq=False)
class Auto:
    """A kinematic model, and a dynamic one for motions near its limits; `MPPI`, `plan` and `roll_out` take it.

    >>> controller = gr.plan.MPPI(gr.plan.Auto.of(rover), ground, cost)

    Everything is rolled out by the cheap model. What comes below a tip margin, above a slip or above a speed is rolled
    out again by dynamics, which then counts. `python -m experiments planning-fidelity` measures what that costs and
    how often it differs from dynamics for all.
    """

    cheap: Kinematics | MotionModel | Fit
    """Rolls out everything; a fit keeps its uncertainty."""
    full: Dynamics
    """Rolls out again what the conditions below ask for."""
    tip_margin: float = math.radians(15.0)
    """Tip margin [rad] below which a motion is rolled out by dynamics."""
    slip: float = 0.3
    """Slip above which it is, a ratio."""
    speed: float = 1.5
    """Mean speed above which it is [m/s]: the kinematic model has no inertia."""

    def __post_init__(self) -> None:
        from grouser.dynamics import Dynamics

        checked.instance(self.full, Dynamics, "auto full", "use gr.Dynamics(vehicle, contact=…)")
        if self.model.vehicle.joints != self.full.vehicle.joints:
            raise PlanError(f"auto: '{self.model.vehicle.name}' and '{self.full.vehicle.name}' are not one vehicle")
        for name in ("tip_margin", "slip", "speed"):
            checked.not_negative(getattr(self, name), f"auto {name}")

    @classmethod
    def of(cls, value: Any, **options: float) -> Auto:
        """Of a vehicle, a kinematic or dynamic model, or a fit: the other model is made with its defaults.

        options: tip_margin [rad], slip (a ratio), speed [m/s].
        """
        from grouser.dynamics import Dynamics

        match value:
            case Auto():
                return replace(value, **options)  # type: ignore[arg-type]
            case Vehicle():
                return cls(Kinematics(value), Dynamics(value), **options)
            case Dynamics():
                return cls(Kinematics(value.vehicle), value, **options)
            case Model() | Fit() | MotionModel():
                vehicle = value.model.vehicle if isinstance(value, Fit) else value.vehicle  # type: ignore[union-attr]
                return cls(value, Dynamics(vehicle), **options)  # type: ignore[arg-type]
        raise PlanError(f"auto: {value!r:.60} is no vehicle, model or fit; use gr.plan.Auto.of(gr.vehicle('zoe'))")

    @property
    def model(self) -> Kinematics:
        """The cheap model as the engine rolls it out."""
        from grouser.motion.on_ground import engine_model

        cheap = self.cheap.model if isinstance(self.cheap, Fit) else self.cheap
        found = engine_model(cheap) if isinstance(cheap, MotionModel) else cheap
        return checked.instance(found, Kinematics, "auto cheap", "use gr.Kinematics(vehicle) or a fit of it")

    def asks(self, trials: Trials) -> NDArray[np.bool_]:
        """Which rollouts of the cheap model need the full one, (N,)."""
        mean = trials.distance / np.maximum(trials.duration, 1e-9)
        near = (trials.least_tip_margin < self.tip_margin) | (trials.largest_slip > self.slip)
        asked: NDArray[np.bool_] = near | (mean > self.speed)
        return asked


class AutoRoller(Roller):
    """Rolls out by both models."""

    def __init__(self, auto: Auto, ground: Any, cost: Any = None, **options: Any) -> None:
        """As `Roller`."""
        super().__init__(auto.model, ground, cost, **options)
        self.auto = auto
        self._options = {"ground": ground, "cost": cost, **options}
        self._full: dict[int, Roller] = {}
        self._penetration = auto.full.penetration - self.model.penetration
        self.share = 0.0
        """Share of the rollouts of the last call that dynamics did."""
        self.differ = 0
        """How many of those ended otherwise than by the cheap model."""

    def replace_cost(self, cost: Any) -> None:
        """Use another cost."""
        super().replace_cost(cost)
        self._options["cost"] = cost
        for one in self._full.values():
            one.replace_cost(cost)

    def run(self, wanted: FloatArray, starts: FloatArray, *, velocities: Any = None, **more: Any) -> Trials:
        """As `Roller.run`. velocities: of dynamics; None: as the first would roll under the last command."""
        cheap = super().run(wanted, starts, **more)
        asked = np.flatnonzero(self.auto.asks(cheap))
        n = len(wanted)
        self.share, self.differ = len(asked) / n, 0
        if len(asked) == 0:
            return cheap
        part = -(-n // SIZES)
        size = min(-(-len(asked) // part) * part, n)
        rows = np.concatenate([asked, np.repeat(asked[:1], size - len(asked))])  # the rest repeats one
        begin = np.broadcast_to(starts, (n, starts.shape[-1]))[rows]
        roller = self._roller(size)
        if velocities is None:
            begin[:, 6] -= self._penetration
            velocities = self._rolling(begin[0], more.get("moving"))
        elif np.ndim(velocities) == 2 and len(velocities) == n:
            velocities = velocities[rows]
        full = roller.run(np.ascontiguousarray(wanted[rows]), begin, velocities=velocities, **more)
        self.differ = int(np.count_nonzero(full.status[: len(asked)] != cheap.status[asked]))
        return merged(cheap, full, asked)

    def _roller(self, size: int) -> Roller:
        """Of dynamics, for a batch of a size."""
        if size not in self._full:
            self._full[size] = Roller(self.auto.full, **self._options)
        found = self._full[size]
        found.bounds, found.powertrain = self.bounds, self.powertrain
        return found

    def _rolling(self, state: FloatArray, moving: FloatArray | None) -> FloatArray | None:
        """Velocity of a vehicle that rolls along under a command (forward, left [m/s], turn [rad/s]), (1, nv)."""
        if moving is None or not moving.any():
            return None
        full, dt = self.auto.full, self.dt
        bound = twist(*moving).bind(full.vehicle, dt)
        return np.asarray(start_velocity(full, self.ground, [bound], state[None], None, dt))


def merged(some: Trials, others: Trials, rows: NDArray[np.int64]) -> Trials:
    """Rollouts of which those of some rows are replaced by the first of others."""
    changes = {}
    for field in fields(Trials):
        values = getattr(some, field.name)
        if field.name == "status":
            values = values.astype(others.status.dtype)
        if len(values):
            values = values.copy()
            values[rows] = getattr(others, field.name)[: len(rows)]
        changes[field.name] = values
    return replace(some, **changes)
