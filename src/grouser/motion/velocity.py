"""Velocity-driven models: the body's velocity is a function of the measured signals alone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from grouser import slip as slips
from grouser._kernels.motion import log_integral as kernels
from grouser._kernels.scratch import make_scratch
from grouser.checks import FloatArray
from grouser.errors import CalibrationError
from grouser.logs.log import IntArray
from grouser.model import Model
from grouser.threads import in_slices, thread_count
from grouser.vehicles import Vehicle

if TYPE_CHECKING:
    from typing_extensions import TypeIs

    from grouser.dynamics import Dynamics
    from grouser.kinematics import Kinematics

BLOCK = 512
"""Samples that a thread takes at a time."""
LONG = 64 * BLOCK
"""Samples whose velocities are found at once: whole blocks, so that they do not depend on it."""
LEAD = 4 * BLOCK
"""Samples before a part of a long log that a model with a memory takes."""


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
        return Inputs(**{field.name: getattr(self, field.name)[low:high] for field in fields(self)})

    @cached_property
    def quaternion(self) -> FloatArray:
        """Quaternion of roll and pitch with no yaw, (n, 4)."""
        half = 0.5 * self.attitude
        (sr, sp), (cr, cp) = np.sin(half).T, np.cos(half).T
        return np.stack([cr * cp, sr * cp, cr * sp, -sr * sp], axis=1)

    @cached_property
    def measured(self) -> IntArray:
        """Joints whose rates are measured, indices."""
        return np.flatnonzero(np.isfinite(self.rates).all(axis=0)).astype(np.int64)


class VelocityModel(ABC):
    """A velocity-driven model that is not a `Kinematics`: planar baselines, and the perturbative model of P."""

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
    def with_parameters(self, values: Mapping[str, float]) -> Self:
        """The same model with some of them changed, each in its unit."""

    @property
    def affine_slip(self) -> FloatArray | None:
        """Slip parameters in which the velocity is affine, (k,), each in its unit; then there is `slip_terms`."""
        return None

    def slip_terms(self, inputs: Inputs) -> tuple[FloatArray, FloatArray]:
        """Velocity without slip (n, 6) and its slopes by slip parameters (n, 6, k)."""
        raise NotImplementedError

    @property
    def memory(self) -> float:
        """Time before a sample over which inputs affect its velocity [s]."""
        return 0.0

    @property
    def spec(self) -> dict[str, Any]:
        """Fields that a fit file holds besides parameters and vehicle."""
        return {}


def is_kinematic(model: object) -> TypeIs[Kinematics]:
    """Whether a model is a `Kinematics`; it need not be loaded to know."""
    return isinstance(model, Model) and not model.dynamic


def is_dynamic(model: object) -> TypeIs[Dynamics]:
    """Whether a model is a `Dynamics`; it need not be loaded to know."""
    return isinstance(model, Model) and model.dynamic


def twists(model: Kinematics | VelocityModel, inputs: Inputs) -> FloatArray:
    """Body velocity (ω, v) at each sample, shape (n, 6): wheels touch where they point straight down in the body."""
    vehicle = model.vehicle
    n, nj = inputs.rates.shape
    if n > LONG + LEAD:  # states and velocities of all samples at once would take four times the room of the result
        whole = np.empty((n, 6))
        for low in range(0, n, LONG):
            lead = min(low, LEAD) if memory_of(model) > 0.0 else 0
            whole[low : low + LONG] = twists(model, inputs.window(low - lead, min(low + LONG, n)))[lead:]
        return whole
    if isinstance(model, VelocityModel):
        return np.ascontiguousarray(model.twists(inputs))
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


def memory_of(model: object) -> float:
    """Time over which inputs affect the velocity of a model [s]."""
    return model.memory if isinstance(model, VelocityModel) else 0.0


def slip_of(model: object) -> FloatArray | None:
    """Slip parameters in which the velocity of a model is affine, (k,); None if it has no such slip."""
    if is_kinematic(model) and isinstance(model.slip, slips.BodySlip):
        return model.slip.coefficients
    return model.affine_slip if isinstance(model, VelocityModel) else None


class SlipTwists:
    """Body velocities along a log for any slip parameters: they are affine in them, so one evaluation each gives all.

    The slip law takes the velocity without slip, and the solution of T (2.52) is linear in the slip it is given.
    """

    def __init__(self, model: Kinematics | VelocityModel, inputs: Inputs) -> None:
        """For models that differ from this one in their slip parameters alone; see `slip_of`."""
        self._model = model
        if isinstance(model, VelocityModel):
            self.none, self.slopes = model.slip_terms(inputs)
            return
        slip = cast(slips.BodySlip, model.slip)
        count = len(slip.coefficients)
        self.none = twists(model.replace(slip=slip.with_parameters(np.zeros(count))), inputs)
        self.slopes = np.empty((*self.none.shape, count))
        for k, p in enumerate(np.eye(count)):  # in place: of a long log there is no room for them twice
            self.slopes[..., k] = twists(model.replace(slip=slip.with_parameters(p)), inputs) - self.none

    def fits(self, model: Kinematics | VelocityModel) -> bool:
        """Whether a model differs from the one given only in its slip parameters."""
        mine = self._model
        if type(model) is not type(mine) or model.vehicle is not mine.vehicle:
            return False
        if not is_kinematic(model) or not is_kinematic(mine):
            return model.spec == mine.spec  # type: ignore[union-attr]  # of one type with mine
        if model.weights is not mine.weights or model.time_constant != mine.time_constant:
            return False
        both = (cast(slips.BodySlip, one.slip) for one in (model, mine))
        keys = [(type(slip), slip.apply, len(slip.coefficients), slip.axes.tobytes()) for slip in both]
        return keys[0] == keys[1]

    def twists(self, slip: FloatArray, part: slice = slice(None)) -> FloatArray:
        """Body velocity at each sample, or at some, for S rows of slip parameters (S, k), shape (S, n, 6)."""
        none, slopes = self.none[part], self.slopes[part]
        out = np.empty((len(slip), *none.shape))
        slip = np.ascontiguousarray(slip, dtype=np.float64)

        def some(_: int, low: int, high: int) -> None:
            kernels.superpose(none, slopes, slip, out, low, high)

        if len(none) <= BLOCK:
            some(0, 0, len(none))
        else:
            in_slices(some, len(none), threads=thread_count(None), size=BLOCK)
        return out


def inputs_of(log: Any, vehicle: Vehicle) -> Inputs:
    """The inputs a log has for a vehicle."""
    rates, angles = log.rates_array(vehicle), log.angles_array(vehicle)
    if not np.isfinite(rates).any():
        raise CalibrationError(
            f"{log.name}: measures the rate of no joint of '{vehicle.name}'; its manifest must map columns to"
            f" {', '.join(vehicle.rolling_wheels)} in [rates]"
        )
    attitude = np.zeros((len(log), 2)) if log.attitude is None else np.ascontiguousarray(log.attitude, np.float64)
    return Inputs(time=np.ascontiguousarray(log.time, np.float64), attitude=attitude, rates=rates, angles=angles)


def rolling_speed(inputs: Inputs, vehicle: Vehicle) -> FloatArray:
    """Mean rim speed of the measured wheels, without sign [m/s], (n,)."""
    if not np.isin(vehicle.arrays.wheel - 1, inputs.measured).any():
        raise CalibrationError(f"the log measures no wheel of '{vehicle.name}', so its speed is not known")
    return rim_speed(vehicle, inputs.rates)


def rim_speed(vehicle: Vehicle, rates: FloatArray) -> FloatArray:
    """Mean |rate| · radius of the measured wheels [m/s], (…,), for joint rates (…, nj) with NaN where not measured.

    0 where no wheel is measured. `_kernels/motion/rim_speed.py` is the same for kernels.
    """
    rims = np.abs(rates[..., vehicle.arrays.wheel - 1]) * vehicle.arrays.radius
    measured = np.isfinite(rims)
    return np.asarray(np.where(measured, rims, 0.0).sum(axis=-1) / np.maximum(measured.sum(axis=-1), 1))
