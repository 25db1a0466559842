"""How fast the engine is: microseconds per step, and batches of rollouts."""

from grouser.bench.engine import machine, measure, prepare

__all__ = ["machine", "measure", "prepare"]
