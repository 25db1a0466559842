"""The learned correction of a motion model sample by sample: it needs the last second of wheel velocities."""

from __future__ import annotations

import numpy as np

from grouser.checks import FloatArray
from grouser.motion.correction import HISTORY, Corrected, change_over


class CorrectionStream:
    """Velocities that a learned correction adds to samples as they come."""

    def __init__(self, model: Corrected) -> None:
        """For the model of a fit."""
        self._model = model
        self.reset()

    def reset(self) -> None:
        """Forget what was driven."""
        self._past = np.zeros((0, 3))

    def continue_from(self, other: CorrectionStream) -> None:
        """Take over what another was driven."""
        self._past = other._past.copy()

    def extra(self, time: FloatArray, rates: FloatArray, maps: FloatArray) -> FloatArray:
        """Velocities (n, 6) to add at times (n,), for rates (n, nj) and maps (n or 1, 6, nj) to the wheels' velocity.

        Zero for samples that do not determine the wheels' velocity; they are no part of the history.
        """
        moved = np.where(np.isfinite(rates), rates, 0.0)
        rows = np.stack([time, *(np.einsum("nj,nj->n", *np.broadcast_arrays(maps[:, i], moved)) for i in (3, 2))], 1)
        good = np.isfinite(rows).all(axis=1)
        rows = np.concatenate([self._past, rows[good]])
        out = np.zeros((len(time), 6))
        if good.any():
            changes = change_over(rows[:, 0], rows[:, 1:], HISTORY)
            new = slice(len(self._past), None)
            out[good] = self._model.extra(rows[new, 1], rows[new, 2], *changes[new].T)
            # One sample before the last second is needed to interpolate at its start.
            older = np.flatnonzero(rows[:, 0] <= rows[-1, 0] - HISTORY)
            self._past = rows[older[-1] if len(older) else 0 :]
        return out
