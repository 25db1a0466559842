"""The powertrain: how commanded wheel rates become rates, P §5: a gain, a delay and a first-order lag."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grouser.checks import FloatArray
from grouser.logs.log import IntArray
from grouser.motion.noise import checks


@dataclass(frozen=True, kw_only=True)
class Powertrain:
    """rate′ = (gain · command(t − delay) − rate)/time_constant, the same for all driven joints."""

    gain: float = 1.0
    """Ratio of rate to command."""
    delay: float = 0.0
    """[s], ≥ 0."""
    time_constant: float = 0.1
    """[s], ≥ 0; 0 follows at once."""

    def __post_init__(self) -> None:
        checks.number(self.gain, "powertrain gain")
        checks.not_negative(self.delay, "powertrain delay")
        checks.not_negative(self.time_constant, "powertrain time_constant")

    def rates(self, time: FloatArray, command: FloatArray, initial: FloatArray | None = None) -> FloatArray:
        """Rates for commands (n, k) held from sample to sample of one unbroken stretch, starting at `initial` (k,)."""
        return self.stretches(time, command, np.array([0, len(time)]), initial)

    def stretches(
        self, time: FloatArray, command: FloatArray, bounds: IntArray, initial: FloatArray | None = None
    ) -> FloatArray:
        """The same for several stretches, samples bounds[s] to bounds[s + 1] each, that begin at `initial` (k,)."""
        if self.delay == 0.0 and self.time_constant == 0.0:
            return np.asarray(self.gain * command)
        from grouser._kernels.motion.powertrain import follow_commands

        out = np.empty(command.shape)
        first = bounds[:-1][np.diff(bounds) > 0]
        out[first] = self.gain * command[first] if initial is None else initial
        follow_commands(
            np.ascontiguousarray(time, dtype=np.float64),
            np.ascontiguousarray(command, dtype=np.float64),
            np.ascontiguousarray(bounds, dtype=np.int64),
            float(self.gain),
            float(self.delay),
            float(self.time_constant),
            out,
        )
        return out
