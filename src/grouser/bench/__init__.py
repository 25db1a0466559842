"""How fast the engine is: microseconds per step, and batches of rollouts."""

from grouser.bench.engine import measure, prepare

__all__ = ["measure", "prepare"]
