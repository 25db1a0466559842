"""Velocity-driven models: the body's velocity is a function of what the log measures, and of nothing else."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from grouser._kernels.motion import log_integral as kernels
from grouser._kernels.scratch import make_scratch
from grouser.checks import FloatArray
from grouser.errors import CalibrationError
from grouser.kinematics import Kinematics
from grouser.logs.log import IntArray
from grouser.slip import BodySlip
from grouser.threads import in_slices, thread_count
from grouser.vehicles import Vehicle

if TYPE_CHECKING:
    from typing import Self


BLOCK = 512
"""Samples that a thread takes at a time."""
LONG = 64 * BLOCK
"""Samples whose velocities are found at once: whole blocks, so that they do not depend on it."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Inputs:
    """What drives a model along a log, n samples; made once for a log and a vehicle."""

    time: FloatArray
    """[s], (n,)."""
    attitude: FloatArray
    """Roll and pitch [rad], (n, 2); zero where the log has none."""
    rates: FloatArray
    """Joint rates, (n, nj) [rad/s or m/s]; NaN where not measured."""
    angles: FloatArray
    """Joint angles, (n, nj) [rad or m]; NaN where not measured."""

    def window(self, low: int, high: int) -> Inputs:
        """Samples low to high alone."""
        part = slice(low, high)
        return Inputs(
            time=self.time[part], attitude=self.attitude[part], rates=self.rates[part], angles=self.angles[part]
        )

    @cached_property
    def quaternion(self) -> FloatArray:
        """Of roll and pitch with no yaw, (n, 4)."""
        half = 0.5 * self.attitude
        (sr, sp), (cr, cp) = np.sin(half).T, np.cos(half).T
        return np.stack([cr * cp, sr * cp, cr * sp, -sr * sp], axis=1)

    @cached_property
    def kept(self) -> dict[Any, Any]:
        """What models found for these inputs and need again for the next candidate."""
        return {}

    @cached_property
    def measured(self) -> IntArray:
        """Joints whose rates are measured, indices."""
        return np.flatnonzero(np.isfinite(self.rates).all(axis=0)).astype(np.int64)


class VelocityModel(ABC):
    """A velocity-driven model that is not a `Kinematics`: baselines, and the perturbative model of P."""

    vehicle: Vehicle
    """The vehicle that moves."""

    @abstractmethod
    def twists(self, inputs: Inputs) -> FloatArray:
        """Body velocity (ω, v) at each sample, shape (n, 6)."""

    @property
    @abstractmethod
    def parameters(self) -> dict[str, float]:
        """Values that calibration may change, by name: model.… or slip.…"""

    @abstractmethod
    def with_parameter(self, name: str, value: float) -> Self:
        """The same model with one of them changed, in its unit."""

    def slopes(self, inputs: Inputs, names: list[str]) -> FloatArray | None:
        """∂(ω, v)/∂parameters, shape (n, 6, np), where known in closed form."""
        return None

    @property
    def spec(self) -> dict[str, Any]:
        """What a fit file says about the model beside its parameters and vehicle."""
        return {}


def twists(model: Kinematics | VelocityModel, inputs: Inputs) -> FloatArray:
    """Body velocity (ω, v) at each sample, shape (n, 6): wheels touch where they point straight down in the body."""
    if isinstance(model, VelocityModel):
        return np.ascontiguousarray(model.twists(inputs))
    vehicle = model.vehicle
    n, nj = inputs.rates.shape
    if n > LONG:  # states and velocities of all samples at once would take four times the room of the result
        whole = np.empty((n, 6))
        for low in range(0, n, LONG):
            whole[low : low + LONG] = twists(model, inputs.window(low, min(low + LONG, n)))
        return whole
    measured = inputs.measured
    q = np.zeros((n, 7 + nj))
    q[:, :4] = inputs.quaternion
    q[:, 7:] = np.where(np.isfinite(inputs.angles), inputs.angles, vehicle.rest)
    v = np.zeros((n, 6 + nj))
    v[:, 6 + measured] = inputs.rates[:, measured]
    out = np.empty((n, 6))
    known = model.arrays(known=(6 + measured).tolist())
    straight_down = np.zeros((1, vehicle.n_wheels))

    def some(_: int, low: int, high: int) -> None:
        rows = (q[low:high], v[low:high], out[low:high])
        kernels.log_twists(vehicle.arrays, known, straight_down, *rows, make_scratch(vehicle.arrays))

    in_slices(some, n, threads=thread_count(None), size=BLOCK)
    return out


class SlipTwists:
    """Body velocities along a log for any slip coefficients: they are affine in them, so one evaluation each gives all.

    The slip law takes the velocity without slip, and the solution of T (2.52) is linear in the slip it is given.
    """

    def __init__(self, model: Kinematics, inputs: Inputs) -> None:
        """For the coefficients of a model whose slip is None or a `BodySlip`."""
        base = BodySlip(np.zeros(6)) if model.slip is None else model.slip
        assert isinstance(base, BodySlip)
        self._model, self._slip = model, base
        count = len(base.coefficients)
        self.none = twists(model.replace(slip=base.with_parameters(np.zeros(count))), inputs)
        self.slopes = np.empty((*self.none.shape, count))
        for k, p in enumerate(np.eye(count)):  # in place: of a long log there is no room for them twice
            self.slopes[..., k] = twists(model.replace(slip=base.with_parameters(p)), inputs) - self.none

    def fits(self, model: object) -> bool:
        """Whether a model differs from the one given only in its slip coefficients."""
        if not isinstance(model, Kinematics) or model.vehicle is not self._model.vehicle:
            return False
        if model.weights is not self._model.weights or model.time_constant != self._model.time_constant:
            return False
        slip = model.slip
        return slip is None or (
            type(slip) is type(self._slip)
            and slip.apply == self._slip.apply
            and len(slip.coefficients) == len(self._slip.coefficients)
            and slip.axes.tobytes() == self._slip.axes.tobytes()
        )

    def twists(self, model: Kinematics, part: slice = slice(None)) -> FloatArray:
        """Body velocity at each sample, or at some, shape (n, 6)."""
        if not isinstance(model.slip, BodySlip):
            return self.none[part]
        result: FloatArray = self.none[part] + self.slopes[part] @ model.slip.coefficients
        return result


def inputs_of(log: Any, vehicle: Vehicle) -> Inputs:
    """The inputs a log has for a vehicle."""
    rates = log.rates_array(vehicle)
    angles = log.angles_array(vehicle)
    if not np.isfinite(rates).any():
        raise CalibrationError(
            f"{log.name}: measures the rate of no joint of '{vehicle.name}'; its manifest must map columns to"
            f" {', '.join(vehicle.wheels)} in [rates]"
        )
    attitude = np.zeros((len(log), 2)) if log.attitude is None else _contiguous(log.attitude)
    return Inputs(time=_contiguous(log.time), attitude=attitude, rates=rates, angles=angles)


def _contiguous(values: Any) -> FloatArray:
    """As kernels take them; the values themselves where they are so already."""
    return np.ascontiguousarray(values, dtype=np.float64)


def rolling_speed(inputs: Inputs, vehicle: Vehicle) -> FloatArray:
    """Mean rim speed of the measured wheels, without sign [m/s], (n,)."""
    wheel = {int(f) - 1: float(r) for f, r in zip(vehicle.arrays.wheel, vehicle.arrays.radius, strict=True)}
    columns = [j for j in inputs.measured if int(j) in wheel]
    if not columns:
        raise CalibrationError(f"the log measures no wheel of '{vehicle.name}', so its speed is not known")
    rims = np.abs(inputs.rates[:, columns]) * np.array([wheel[int(j)] for j in columns])
    result: FloatArray = rims.mean(axis=1)
    return result
