"""The filters of P: 13 slip parameters and the 6 elements of Ξ, from one interval of a log after another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from grouser._kernels.motion import log_integral as kernels
from grouser.calibration.online import GATE, NOISE_GATE, OnlineFilter
from grouser.checks import FloatArray
from grouser.errors import CalibrationError
from grouser.motion.model import MotionModel
from grouser.motion.noise import Noise
from grouser.motion.parameters import Parameter, resolve
from grouser.motion.predict import ERRORS, MARGIN, LogProblem, Predicted, mounting
from grouser.motion.slip_surface import NAMES, Perturbative

COMPONENTS = ("vx", "vy", "wz")
"""Noisy velocities: δV_x, δV_y, δV_θ."""


class PerturbativeFilter(OnlineFilter):
    """The online filter for a `Perturbative` model and one log, lean enough for every control cycle.

    What the wheels say depends on no parameter, so it and the slopes of the slip surface are found once for the log. An
    update is then one integral over its interval, which gives the prediction P (12), its Jacobian P (11) and the noise
    integrals P (17) at once. State and measurement of the stochastic filter are elements of Ξ and of Π (errata).
    """

    def __init__(
        self,
        problem: LogProblem,
        motion: MotionModel,
        parameters: Sequence[Parameter] | None = None,
        *,
        gate: float = GATE,
        noise_gate: float = NOISE_GATE,
    ) -> None:
        """Parameters are of the slip surface and the noise; None: all 13 and all 6, Ξ in its full form."""
        model = motion.model
        if not isinstance(model, Perturbative):
            raise CalibrationError(f"the perturbative filter is for Perturbative, not {type(model).__name__}")
        if parameters is None:
            motion = motion.replace(noise=full_noise(motion.noise))
            parameters = resolve(motion, ["slip", "noise"])
        wrong = [q.name for q in parameters if q.name not in NAMES and q.name not in motion.noise.names]
        if wrong:
            raise CalibrationError(f"{wrong[0]} is not of the slip surface or the noise; use OnlineFilter for it")
        super().__init__(motion, parameters, gate=gate, noise_gate=noise_gate)
        self.problem = problem
        inputs, cut = problem.inputs, problem.intervals
        used = [NAMES.index(q.name) for q in self.systematic]
        nominal = model.nominal(inputs)
        slopes = model.regressors(inputs, nominal)
        fixed = model.slip.copy()
        fixed[used] = 0.0
        self._fixed = nominal + slopes @ fixed
        self._slopes = np.ascontiguousarray(slopes[:, :, used])
        self._windows = [
            (max(int(low), _before(inputs.time, low, high, t0 - 1.0)), _after(inputs.time, low, high, t1 + 1.0))
            for (low, high), (t0, t1) in zip(cut.ranges, cut.times, strict=True)
        ]
        self._intensity = problem.intensity(motion)
        self._density = [motion.noise.names.index(q.name) for q in self.stochastic]
        self._rows = [ERRORS.index(int(row)) for row in problem.rows]

    def integrate(self, k: int) -> Predicted:
        """Interval k with the present slip: pose, slopes for the systematic parameters, noise integrals."""
        low, high = self._windows[k]
        part, inputs, motion = slice(low, high), self.problem.inputs, self.motion
        nd = len(motion.noise.components)
        shapes = ((1, 6), (1, 4, len(self.p)), (1, nd, nd, 4, 4), (1, 2, 4))
        out = Predicted(*(np.zeros(shape) for shape in shapes))
        kernels.integrate_errors(
            inputs.time[part],
            self._fixed[part] + self._slopes[part] @ self.p,
            inputs.attitude[part],
            np.array([[0, high - low]]),
            self.problem.intervals.times[k : k + 1],
            float(motion.sensor.lag),
            mounting(motion.sensor),
            self._slopes[part],
            motion.noise.indices,
            self._intensity[part],
            *out,
            0,
            1,
        )
        return out

    def _predict(self, problem: LogProblem, k: int) -> tuple[MotionModel, Predicted, FloatArray]:
        """By one integral over the interval, of the problem the filter was made for."""
        if problem is not self.problem:
            raise CalibrationError("the perturbative filter is made for one log; make another for this problem")
        values = self.motion.noise.values
        values[self._density] = self.s
        now = self.motion.replace(noise=self.motion.noise.with_values(values))
        predicted = self.integrate(k)
        return now, predicted, predicted.slopes[0, self._rows]


def full_noise(noise: Noise) -> Noise:
    """Noise of δV_x, δV_y, δV_θ with all six elements of Ξ, P §4."""
    if noise.components == COMPONENTS:
        return replace(noise, form="full")
    return Noise(components=COMPONENTS, form="full", grows=noise.grows)


def _before(time: FloatArray, low: int, high: int, t: float) -> int:
    return int(low) + int(np.searchsorted(time[low:high], t)) - MARGIN


def _after(time: FloatArray, low: int, high: int, t: float) -> int:
    return min(int(high), int(low) + int(np.searchsorted(time[low:high], t)) + MARGIN)
