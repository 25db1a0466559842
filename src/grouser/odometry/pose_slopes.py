"""How far numbers that are wrong all along a drive move its poses."""

from __future__ import annotations

import numpy as np

from grouser._kernels.odometry import slots
from grouser.checks import FloatArray
from grouser.rotation import from_rpy

POSE = [*range(slots.O_POSITION, slots.O_POSITION + 3), slots.O_YAW, *range(slots.O_ATTITUDE, slots.O_ATTITUDE + 2)]


class PoseSlopes:
    """∂(x, y, z, yaw)/∂p along a drive, of np numbers p that change the velocity; it comes piece after piece.

    The convolution integral P (11): a yaw error made at one place turns all of the way from there, so
    δp(T) = ∫ R δv dt + e_z × (p(T) ∫ δψ̇ dt − ∫ p δψ̇ dt), running sums that go on from piece to piece.
    """

    def __init__(self, count: int) -> None:
        """Of so many numbers."""
        self._count = count
        self.begin()

    def begin(self) -> None:
        """Begin a drive: its first pose is known exactly."""
        self._time: float | None = None
        self._pose = np.zeros(6)
        self._slope = np.zeros((6, self._count))
        self._sums = np.zeros((6, self._count))  # ∫ R δv dt, ∫ δψ̇ dt, ∫ x δψ̇ dt, ∫ y δψ̇ dt

    def follow(self, values: FloatArray, S: FloatArray) -> FloatArray:
        """(k, 4, np) at samples with these values (k, `odometry_slots.OUT`) and slopes S (k, 6, np) of the velocity."""
        out = np.zeros((len(values), 4, self._count))
        time, pose = values[:, slots.O_TIME], values[:, POSE]
        begins = self._time is None
        if self._time is not None:
            time, pose = np.append(self._time, time), np.concatenate([self._pose[None], pose])
            S = np.concatenate([self._slope[None], S])
        if len(time) > 1:
            h = np.diff(time)
            middle = 0.5 * (S[1:] + S[:-1]) * h[:, None, None]
            between = 0.5 * (pose[1:] + pose[:-1])
            yaw, roll, pitch = between[:, 3:].T
            moved = from_rpy(roll, pitch, yaw) @ middle[:, 3:]
            turned = ((np.sin(roll) / np.cos(pitch))[:, None] * middle[:, 1]
                      + (np.cos(roll) / np.cos(pitch))[:, None] * middle[:, 2])  # fmt: skip
            steps = [moved, turned[:, None], between[:, :2, None] * turned[:, None]]
            sums = np.cumsum(np.concatenate([self._sums[None], np.concatenate(steps, axis=1)]), axis=0)[1:]
            x, y = pose[1:, 0, None], pose[1:, 1, None]
            inside = out[1:] if begins else out
            inside[:, 0] = sums[:, 0] - (y * sums[:, 3] - sums[:, 5])
            inside[:, 1] = sums[:, 1] + (x * sums[:, 3] - sums[:, 4])
            inside[:, 2] = sums[:, 2]
            inside[:, 3] = sums[:, 3]
            self._sums = sums[-1]
        self._time, self._pose, self._slope = float(time[-1]), pose[-1].copy(), S[-1].copy()
        return out
