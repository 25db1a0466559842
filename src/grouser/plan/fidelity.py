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
from grouser.plan.trials import Roller, Trials
from grouser.simulation.drive import twist
from grouser.simulation.simulate import start_velocity

if TYPE_CHECKING:
    from grouser.dynamics import Dynamics

checked = Checker(PlanError)


@dataclass(frozen=True, eq=False)
class Auto:
    """A kinematic model, and a dynamic one for motions near its limits."""

    cheap: Kinematics
    """Rolls out everything."""
    full: Dynamics
    """Rolls out again what the conditions below ask for."""
    tip_margin: float = math.radians(15.0)
    """Tip margin [rad] below which a motion is rolled out by dynamics."""
    slip: float = 0.3
    """Slip above which it is, a ratio."""
    speed: float = 1.5
    """Mean speed above which it is [m/s]: the kinematic model has no inertia."""

    def __post_init__(self) -> None:
        if self.cheap.vehicle.joints != self.full.vehicle.joints:
            raise PlanError(f"auto: '{self.cheap.vehicle.name}' and '{self.full.vehicle.name}' are not one vehicle")
        for name in ("tip_margin", "slip", "speed"):
            checked.not_negative(getattr(self, name), f"auto {name}")

    def asks(self, trials: Trials) -> NDArray[np.bool_]:
        """Which rollouts of the cheap model need the full one, (N,)."""
        mean = trials.distance / np.maximum(trials.duration, 1e-9)
        near = (trials.least_tip_margin < self.tip_margin) | (trials.largest_slip > self.slip)
        asked: NDArray[np.bool_] = near | (mean > self.speed)
        return asked


class AutoRoller:
    """Rolls out by both models; in use as a `Roller`."""

    def __init__(self, auto: Auto, ground: Any, cost: Any = None, **options: Any) -> None:
        """As `Roller`."""
        self.auto = auto
        self._cheap, self._full = (Roller(one, ground, cost, **options) for one in (auto.cheap, auto.full))
        self.share = 0.0
        """Share of the rollouts of the last call that dynamics did."""
        self.differ = 0
        """How many of those ended otherwise than by the cheap model."""

    def run(self, wanted: FloatArray, starts: FloatArray, *, velocities: Any = None, **more: Any) -> Trials:
        """As `Roller.run`. velocities: of dynamics; None: as the cheap model rolls along under the last command."""
        cheap = self._cheap.run(wanted, starts, **more)
        asked = np.flatnonzero(self.auto.asks(cheap))
        self.share, self.differ = len(asked) / len(wanted), 0
        if len(asked) == 0:
            return cheap
        n, nq = len(wanted), starts.shape[-1]
        rows = np.broadcast_to(starts, (n, nq))[asked]
        if velocities is None:
            moving = more.get("moving")
            command = twist(*(np.zeros(3) if moving is None else moving))
            bound = command.bind(self.auto.full.vehicle, self._full.dt)
            velocities = start_velocity(self.auto.full, self._full.ground, [bound], rows[:1], None, self._full.dt)
        full = self._full.run(np.ascontiguousarray(wanted[asked]), rows, velocities=velocities, **more)
        self.differ = int(np.count_nonzero(full.status != cheap.status[asked]))
        return merged(cheap, full, asked)


def merged(some: Trials, others: Trials, rows: NDArray[np.int64]) -> Trials:
    """Rollouts of which those of some rows are replaced by others."""
    changes = {}
    for field in fields(Trials):
        values = getattr(some, field.name)
        if field.name == "status":
            values = values.astype(others.status.dtype)
        if len(values):
            values = values.copy()
            values[rows] = getattr(others, field.name)
        changes[field.name] = values
    return replace(some, **changes)
