"""Decisions: which command, which way, how likely it goes wrong.

`MPPI` drives, `reach` ends at a pose, `route` crosses a map, `drive` closes the loop; costs are terms of `Cost`.
"""

from typing import TYPE_CHECKING

from grouser.lazy import lazy as _lazy

if TYPE_CHECKING:
    from grouser.plan.cost import (
        Clearance,
        CommandRate,
        Cost,
        Energy,
        Field,
        Goal,
        Heading,
        Path,
        Roughness,
        Slip,
        Speed,
        Time,
        TipMargin,
        cost,
    )
    from grouser.plan.drive import Drive, drive, noisy_map
    from grouser.plan.fidelity import Auto
    from grouser.plan.keep_out import KeepOut
    from grouser.plan.limits import Limits
    from grouser.plan.mppi import MPPI, Command
    from grouser.plan.planned import Plan, plan
    from grouser.plan.reach import Reach, reach
    from grouser.plan.route import Refusal, Route, route
    from grouser.plan.trials import Bounds, Disturbance, Effort, Trials, roll_out
    from grouser.plan.uncertain import Uncertain
    from grouser.plan.world import Sensors

__all__ = [
    "MPPI",
    "Auto",
    "Bounds",
    "Clearance",
    "Command",
    "CommandRate",
    "Cost",
    "Disturbance",
    "Drive",
    "Effort",
    "Energy",
    "Field",
    "Goal",
    "Heading",
    "KeepOut",
    "Limits",
    "Path",
    "Plan",
    "Reach",
    "Refusal",
    "Roughness",
    "Route",
    "Sensors",
    "Slip",
    "Speed",
    "Time",
    "TipMargin",
    "Trials",
    "Uncertain",
    "cost",
    "drive",
    "noisy_map",
    "plan",
    "reach",
    "roll_out",
    "route",
]  # fmt: skip
_lazy(__name__)
