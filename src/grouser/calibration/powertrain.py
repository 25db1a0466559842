"""The powertrain: how commanded wheel rates become rates, P §5: a gain, a delay and a first-order lag."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from grouser.checks import FloatArray
from grouser.errors import CalibrationError


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
        for name in ("gain", "delay", "time_constant"):
            value = float(getattr(self, name))
            if not math.isfinite(value) or (value < 0.0 and name != "gain"):
                raise CalibrationError(f"powertrain {name}: {value:g} must be finite and not negative")

    def rates(self, time: FloatArray, command: FloatArray, initial: FloatArray | None = None) -> FloatArray:
        """Rates for commands (n, k) held from sample to sample of one unbroken stretch, starting at `initial` (k,)."""
        out = np.empty_like(command)
        out[0] = self.gain * command[0] if initial is None else initial
        if self.delay == 0.0 and self.time_constant == 0.0:
            out[:] = self.gain * command
            return out
        # A delayed command changes between samples: exact pieces between all instants at which anything changes.
        events = np.union1d(time, (time + self.delay)[time + self.delay < time[-1]])
        held = np.searchsorted(time, 0.5 * (events[1:] + events[:-1]) - self.delay, side="right") - 1
        keep = np.exp(-np.diff(events) / self.time_constant) if self.time_constant > 0.0 else np.zeros(len(held))
        rate, at = out[0], 1
        for piece, end in enumerate(events[1:]):
            target = self.gain * command[max(int(held[piece]), 0)]
            rate = target + (rate - target) * keep[piece]
            if end == time[at]:
                out[at] = rate
                at += 1
        return out
