"""How fast the engine is: microseconds per step, batches of rollouts, updates of calibration and odometry, planning."""

from typing import TYPE_CHECKING

from grouser.lazy import lazy

if TYPE_CHECKING:
    from grouser.bench.benchmark import measure
    from grouser.bench.engine import machine, prepare

__all__ = ["machine", "measure", "prepare"]

lazy(__name__)
