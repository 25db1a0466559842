"""The simple odometries sample by sample: velocity as a linear map of the joint rates, and its learned correction."""

from __future__ import annotations

import numpy as np

from grouser.checks import FloatArray
from grouser.errors import GrouserError, OdometryError
from grouser.motion.correction import HISTORY, Corrected, change_over
from grouser.motion.planar import Bicycle, DifferentialDrive, FourNumbers, nominal_model
from grouser.motion.slip_surface import Perturbative
from grouser.motion.velocity import Inputs, VelocityModel


def _on_rollers(model: VelocityModel) -> bool:
    from grouser.motion.planar import Holonomic

    return isinstance(model, Holonomic)


class RateMap:
    """Velocity (ω, v) per unit rate of each joint, (6, nj), for the joints that are measured in a sample.

    Models of this kind are linear in the rates. The map of a bicycle changes with its steering angles; one that is
    missing keeps its last value, straight ahead at first.
    """

    def __init__(self, model: VelocityModel) -> None:
        """For a baseline, or for the perturbative model, to which its slip surface is added."""
        if isinstance(model, Perturbative):
            model = nominal_model(model.vehicle)
        if not isinstance(model, (DifferentialDrive, FourNumbers, Bicycle)) and not _on_rollers(model):
            raise OdometryError(
                f"odometry cannot take {type(model).__name__} sample by sample; use Kinematics, Perturbative or a"
                " baseline"
            )
        self._model = model
        self._known: dict[bytes, FloatArray] = {}
        self._steered = isinstance(model, Bicycle)
        self.reset()

    def reset(self) -> None:
        """Forget the last steering angles."""
        self._last = np.zeros(self._model.vehicle.n_joints)

    def continue_from(self, other: RateMap) -> None:
        """Take over the last steering angles of another."""
        self._last = other._last.copy()

    def maps(self, rates: FloatArray, angles: FloatArray) -> FloatArray:
        """The map of each sample of rates and angles (n, nj), or one for all, (n or 1, 6, nj).

        NaN where the measured wheels do not suffice.
        """
        measured = np.isfinite(rates)
        if self._steered:
            angles = self._filled(angles)
            patterns, of = np.unique(measured, axis=0, return_inverse=True)
            out = np.empty((len(rates), 6, rates.shape[1]))
            for k, pattern in enumerate(patterns):
                chosen = np.flatnonzero(of.ravel() == k)
                out[chosen] = self._made(pattern, angles[chosen])
            return out
        if len(rates) == 1 or (measured == measured[0]).all():
            return self._of(measured[0])
        return np.concatenate([self._of(pattern) for pattern in measured])

    def _of(self, pattern: np.ndarray) -> FloatArray:
        key = pattern.tobytes()
        if key not in self._known:
            self._known[key] = self._made(pattern, self._last[None])
        return self._known[key]

    def _made(self, pattern: np.ndarray, angles: FloatArray) -> FloatArray:
        """The velocities that a unit rate of each measured joint alone would give, (n, 6, nj)."""
        joints = np.flatnonzero(pattern)
        n, k, nj = len(angles), len(joints), len(pattern)
        rates = np.full((n * k, nj), np.nan)
        rates[:, joints] = np.tile(np.eye(k), (n, 1))
        given = Inputs(
            time=np.arange(float(n * k)), attitude=np.zeros((n * k, 2)), rates=rates, angles=angles.repeat(k, axis=0)
        )
        out = np.zeros((n, 6, nj))
        try:
            out[:, :, joints] = self._model.twists(given).reshape(n, k, 6).transpose(0, 2, 1)
        except GrouserError:
            out[:] = np.nan
        return out

    def _filled(self, angles: FloatArray) -> FloatArray:
        """Angles with the last one where none was measured."""
        rows = np.concatenate([self._last[None], angles])
        known = np.where(np.isfinite(rows), np.arange(len(rows))[:, None], 0)
        filled: FloatArray = np.take_along_axis(rows, np.maximum.accumulate(known, axis=0), axis=0)[1:]
        self._last = filled[-1]
        return filled


class CorrectionStream:
    """Velocities that a learned correction adds to samples, from the wheel velocities of the last second."""

    def __init__(self, model: Corrected) -> None:
        """For the model of a fit."""
        self._model = model
        self.reset()

    def reset(self) -> None:
        """Forget the last second."""
        self._past = np.zeros((0, 3))

    def continue_from(self, other: CorrectionStream) -> None:
        """Take over the last second of another."""
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
