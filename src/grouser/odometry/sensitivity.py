"""Sensitivity of the poses of a drive to constant errors of parameters."""

from __future__ import annotations

import numpy as np

from grouser.checks import FloatArray
from grouser.rotation import from_rpy


class PoseSlopes:
    """∂(x, y, z, yaw)/∂p along a drive, of np parameters p that change the velocity; samples come piece after piece.

    The convolution integral P (11): a yaw error made at one place turns all of the way from there, so
    δp(T) = ∫ R δv dt + e_z × (p(T) ∫ δψ̇ dt − ∫ p δψ̇ dt), running sums over all pieces.
    """

    def __init__(self, count: int) -> None:
        """For a number of parameters."""
        self._count = count
        self.begin()

    def begin(self) -> None:
        """Begin a drive: its first pose is known exactly."""
        self._last: tuple[FloatArray, ...] | None = None
        self._sums = np.zeros((6, self._count))  # ∫ R δv dt, ∫ δψ̇ dt, ∫ x δψ̇ dt, ∫ y δψ̇ dt

    def follow(self, states: np.ndarray, S: FloatArray) -> FloatArray:
        """(k, 4, np) at samples with these states (time, position, yaw, attitude) and velocity slopes S (k, 6, np)."""
        now: tuple[FloatArray, ...] = (states["time"], states["position"][:, :2], states["attitude"], states["yaw"], S)
        begins = self._last is None
        if self._last is not None:
            now = tuple(np.concatenate(pair) for pair in zip(self._last, now, strict=True))
        self._last = tuple(values[-1:].copy() for values in now)
        out = np.zeros((len(states), 4, self._count))
        if len(now[0]) == 1:
            return out
        place, lean, heading = (0.5 * (values[1:] + values[:-1]) for values in now[1:4])
        middle = 0.5 * (now[4][1:] + now[4][:-1]) * np.diff(now[0])[:, None, None]
        roll, pitch = lean.T
        moved = from_rpy(roll, pitch, heading) @ middle[:, 3:]
        to_yaw = np.stack([np.sin(roll), np.cos(roll)], axis=1) / np.cos(pitch)[:, None]
        turned = np.sum(to_yaw[:, :, None] * middle[:, 1:3], axis=1, keepdims=True)
        steps = np.concatenate([self._sums[None], np.concatenate([moved, turned, place[:, :, None] * turned], axis=1)])
        sums = np.cumsum(steps, axis=0)[1:]
        x, y = now[1][1:, 0, None], now[1][1:, 1, None]
        inside = out[1:] if begins else out
        inside[:, 0] = sums[:, 0] - (y * sums[:, 3] - sums[:, 5])
        inside[:, 1] = sums[:, 1] + (x * sums[:, 3] - sums[:, 4])
        inside[:, 2:] = sums[:, 2:4]
        self._sums = sums[-1]
        return out
