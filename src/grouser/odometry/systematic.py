"""Constant uncertain parameters of odometry along a log, and how their errors move its poses.

They are those of the fit, the ground, and bias and scale of the gyro; they last until more is learned of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grouser.checks import FloatArray
from grouser.errors import OdometryError
from grouser.logs.log import IntArray
from grouser.motion.consistency import yaw_transition
from grouser.motion.fit import Fit
from grouser.motion.schedule import Schedule, carried
from grouser.motion.spread import SAME_GROUND, GroundSpread
from grouser.odometry.gyro import SCALE, GyroSignal
from grouser.odometry.log_source import stretches
from grouser.rotation import from_rpy


@dataclass(frozen=True, eq=False, kw_only=True)
class Knowledge:
    """Uncertain parameters in each of the K epochs of a log, in which they stay; without learning there is one."""

    parameters: tuple[str, ...]
    """Names of all np of them."""
    fitted: tuple[tuple[str, float], ...]
    """Name and scale of those that are the fit's, which come first, units as in `Fit`."""
    first: IntArray
    """First sample of each epoch, rising from 0, (K,)."""
    covariance: FloatArray
    """(K, np, np), products of their units."""
    carried: FloatArray
    """How much of the error before each epoch is left in it, (K, np, np): E[e | e before] = carried · e before."""

    def epoch(self, samples: IntArray) -> IntArray:
        """Number of the epoch of each sample."""
        return np.searchsorted(self.first, samples, side="right") - 1


def knowledge_of(
    model: object, signal: GyroSignal | None, ground: GroundSpread, schedule: Schedule | None = None
) -> Knowledge:
    """Parameters that are uncertain: of the fit, then the ground, bias and scale of the gyro, with their covariance.

    The ground differs from that of the fit by what the fit knows of it (`Fit.spread`), else by `ground`, until the
    schedule has learned its slip.
    """
    chosen: list[int] = []
    fitted: tuple[tuple[str, float], ...] = ()
    covariance = np.zeros((0, 0))
    if isinstance(model, Fit) and len(model.covariance):
        chosen = [k for k, p in enumerate(model.systematic) if not p.name.startswith("sensor.")]
        covariance = np.asarray(model.covariance)[np.ix_(chosen, chosen)]
        if model.spread is not None and ground != SAME_GROUND:  # it was learned, and takes the place of the default
            covariance, ground = covariance + model.spread[np.ix_(chosen, chosen)], SAME_GROUND
        fitted = tuple((model.systematic[k].name, model.systematic[k].scale) for k in chosen)
    sigmas = {"ground.speed": ground.speed, "ground.turn": ground.turn, "ground.drift": ground.drift}
    if signal is not None:
        sigmas |= {"gyro.bias": signal.bias_sigma, "gyro.scale": SCALE}
    n = len(fitted)
    C = np.diag(np.append(np.zeros(n), np.square(list(sigmas.values()))))
    C[:n, :n] = covariance
    first, covariances, left = [0], [C], [np.eye(len(C))]
    if schedule is not None and len(schedule):
        if not isinstance(model, Fit) or tuple(p.name for p in model.systematic) != schedule.parameters:
            raise OdometryError("schedule: is not of the parameters of this fit; make it with the same one")
        index = np.ix_(chosen, chosen)
        of_ground = np.append(schedule.of_ground[chosen], np.zeros(len(sigmas), bool))
        for k, (sample, P) in enumerate(zip(schedule.first.tolist(), schedule.covariance, strict=True)):
            after = C.copy()
            after[:n, :n], after[n : n + 3] = P[index], 0.0
            left.append(carried(covariances[-1], after, of_ground & bool(schedule.new_ground[k])))
            first.append(sample)
            covariances.append(after)
    return Knowledge(
        parameters=(*(name for name, _ in fitted), *sigmas), fitted=fitted, first=np.array(first, dtype=np.int64),
        covariance=np.array(covariances), carried=np.array(left),
    )  # fmt: skip


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


class Growth:
    """Covariance of (x, y, z, yaw) by errors e of the parameters that are constant within an epoch.

    Within one, δ(T) = Φ δ₀ + J e with the slopes J since it began, so that C = Φ C₀ Φᵀ + J X₀ᵀ Φᵀ + Φ X₀ Jᵀ + J P Jᵀ
    and X = cov(δ, e) = Φ X₀ + J P. The next epoch has the error e′ of which A e is expected: X₀′ = X Aᵀ.
    """

    def __init__(self, knowledge: Knowledge) -> None:
        """Errors as known along a log."""
        self._known = knowledge

    def begin(self, position: FloatArray, slopes: FloatArray, epoch: int) -> None:
        """Begin at a pose without error: its position (3,) and its slopes (4, np) since the drive began."""
        self._at = self._last = (position, slopes)
        self._C, self._X = np.zeros((4, 4)), np.zeros(slopes.shape)
        self._epoch = epoch

    def follow(self, position: FloatArray, slopes: FloatArray, epoch: IntArray) -> FloatArray:
        """C (k, 4, 4) at further poses: positions (k, 3), slopes (k, 4, np) since the drive began, epochs (k,)."""
        out = np.empty((len(epoch), 4, 4))
        for a, b in stretches(epoch) if len(epoch) else ():
            if epoch[a] != self._epoch:
                self._enter(int(epoch[a]))
            phi, J = self._since(position[a:b], slopes[a:b])
            cross = J @ (phi @ self._X).transpose(0, 2, 1)
            before = phi @ self._C @ phi.transpose(0, 2, 1)
            out[a:b] = before + cross + cross.transpose(0, 2, 1) + J @ self._P @ J.transpose(0, 2, 1)
            self._last, self._reached = (position[b - 1], slopes[b - 1]), out[b - 1]
        return out

    @property
    def _P(self) -> FloatArray:
        return np.asarray(self._known.covariance[self._epoch])

    def _since(self, position: FloatArray, slopes: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Φ and J since the last epoch began."""
        phi = yaw_transition(position - self._at[0])
        return phi, slopes - phi @ self._at[1]

    def _enter(self, epoch: int) -> None:
        """Begin another epoch at the last pose."""
        if self._last is not self._at:
            phi, J = self._since(self._last[0][None], self._last[1][None])
            self._C, self._X = self._reached, phi[0] @ self._X + J[0] @ self._P
            self._at = self._last
        for k in range(self._epoch + 1, epoch + 1):
            self._X = self._X @ self._known.carried[k].T
        self._epoch = epoch
