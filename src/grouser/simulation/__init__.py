"""One run, a batch of rollouts, settling on the ground, and what drives them."""

from typing import TYPE_CHECKING

from grouser.lazy import lazy

if TYPE_CHECKING:
    from grouser.simulation import drive
    from grouser.simulation.recorder import Recorder
    from grouser.simulation.records import ContactRecord, RollingRecord, RutRecord, SolverRecord
    from grouser.simulation.rollout import Rollouts, rollout
    from grouser.simulation.run import Run
    from grouser.simulation.settle import Settled, settle
    from grouser.simulation.simulate import simulate
    from grouser.simulation.status import Status
    from grouser.simulation.stepping import Simulation, Step

__all__ = [
    "ContactRecord",
    "Recorder",
    "RollingRecord",
    "Rollouts",
    "Run",
    "RutRecord",
    "Settled",
    "Simulation",
    "SolverRecord",
    "Status",
    "Step",
    "drive",
    "rollout",
    "settle",
    "simulate",
]

lazy(__name__)
