"""Inputs of wheel odometry: their noise, L §4.5, their faults, and samples as robots give them."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grouser._kernels.odometry import state
from grouser.checks import Checker, FloatArray
from grouser.errors import OdometryError
from grouser.vehicles import Vehicle

logger = logging.getLogger("grouser.odometry")
check = Checker(OdometryError)
BoolArray = NDArray[np.bool_]

LRU_RATES = {"FL": 0.0076, "FR": 0.0077, "BR": 0.0095, "BL": 0.0097}
"""Variance of the wheel rates of the LRU at 100 Hz [rad²/s²], (4.43): its wheels 1, 2, 3, 4."""

FAULTS = {
    state.FAULT_TIME: ("time", "a time stamp is not after the one before or not finite; the sample is ignored"),
    state.FAULT_CLOCK: ("clock", "the clock was set back; time continues from there, the motion between is unknown"),
    state.FAULT_GAP: ("gap", "no sample for longer than the longest gap; motion between is taken as steady"),
    state.FAULT_RATE: ("rate", "a rate is missing or not finite; the wheel is left out"),
    state.FAULT_STOP: ("stop", "an angle is beyond its stop; the stop is taken"),
    state.FAULT_ANGLE: ("angle", "an angle is missing or not finite; the last one is taken"),
    state.FAULT_ATTITUDE: ("attitude", "roll or pitch is missing, not finite or straight up; the last ones are taken"),
    state.FAULT_GYRO: ("gyro", "a turn rate of the gyro is not finite; that of the wheels is taken"),
    state.FAULT_GROUND: ("ground", "the ground ends under a wheel; contacts are taken straight below the wheels"),
    state.FAULT_UNOBSERVED: ("unobserved", "the wheels that are left do not determine the motion in the plane"),
    state.FAULT_SLIP: ("wheel_slips", "a wheel disagrees with the others; it is left out until it agrees again"),
}
"""Bit → (kind, what it is and what is done about it)."""
AT_FAULT = {"rate": "rate_joint", "wheel_slips": "slip_joint", "stop": "angle_joint", "angle": "angle_joint"}
"""Kind → field of an estimate that names the first joint at fault."""


class FaultCounts:
    """Counts faults by kind; the first of each kind is logged as a warning of `grouser.odometry`."""

    def __init__(self, logged: set[str] | None = None) -> None:
        """logged: kinds that are not to be logged any more; those that are logged join them."""
        self.counts: dict[str, int] = {}
        self.logged = set() if logged is None else logged

    @classmethod
    def silent(cls) -> FaultCounts:
        """Counts that log nothing."""
        return cls({kind for kind, _ in FAULTS.values()})

    def add(self, faults: Any, time: FloatArray, estimates: Any, vehicle: Vehicle) -> None:
        """Count the faults (n,) of samples at some times (n,) [s]; the estimates (n,) name the joints at fault."""
        met = [(int(where[0]), bit, len(where)) for bit in FAULTS if len(where := np.flatnonzero(faults & bit))]
        for k, bit, count in sorted(met):
            kind, text = FAULTS[bit]
            self.counts[kind] = self.counts.get(kind, 0) + count
            if kind in self.logged:
                continue
            self.logged.add(kind)
            joint = int(estimates[AT_FAULT[kind]][k]) if kind in AT_FAULT else -1
            named = f", joint '{vehicle.joints[joint]}'" if joint >= 0 else ""
            logger.warning(
                "odometry, t = %.12g s%s: %s (%s; further ones are only counted)", time[k], named, text, kind
            )


@dataclass(frozen=True, eq=False, kw_only=True)
class EncoderNoise:
    """Noise of the inputs of odometry; the covariance of the body's velocity is its propagation, (4.47).

    The defaults are those of the LRU: rates as (4.43), angles without noise as in L §4.5.1.
    """

    rate: float | Mapping[str, float] = 0.0086
    """Variance of a sampled wheel rate [rad²/s²], for all wheels or by joint; the mean of (4.43)."""
    angle: float | Mapping[str, float] = 0.0
    """One sigma of a measured steering or joint angle [rad or m], for all joints that are not wheels, or by joint."""
    contact_angle: float = 0.0
    """One sigma of the contact angles [rad]: how rough the ground is where they are assumed to be zero."""
    attitude: float = 0.005
    """One sigma of measured roll and of measured pitch [rad]."""
    attitude_time: float = 0.0
    """How long an error of roll or pitch lasts [s]; 0: every sample has its own."""
    gyro: float = 0.005
    """One sigma of a sampled turn rate of the gyro [rad/s], about each axis."""
    white: float = 1.0
    """Share of the variance of the rates that is independent from sample to sample, 0 to 1, and so moves the pose.

    Rates that are differences of encoder positions, (4.42), take back in the next sample what quantisation added in
    this one: their share is near zero. 1 is the careful choice.
    """
    period: float = 0.01
    """Period of the samples [s], used where a step is not known yet."""

    def __post_init__(self) -> None:
        own: dict[str, Any] = self.__dict__
        own["white"] = check.number(self.white, "noise white", low=0.0, high=1.0, unit="as a share")
        own["period"] = check.positive(self.period, "noise period")
        for name in ("contact_angle", "attitude", "attitude_time", "gyro", "rate", "angle"):
            if name in ("rate", "angle") and isinstance(own[name], Mapping):
                given = own[name].items()
                own[name] = {joint: check.not_negative(v, f"noise {name} of '{joint}'") for joint, v in given}
            else:
                own[name] = check.not_negative(own[name], f"noise {name}")

    @classmethod
    def lru(cls) -> EncoderNoise:
        """Noise of the LRU, wheel by wheel, (4.43)."""
        return cls(rate=LRU_RATES)

    def of_joints(self, vehicle: Vehicle) -> tuple[FloatArray, FloatArray]:
        """Variance of the rate and sigma of the angle of every joint, (nj,) each; joints without a wheel: rate 0."""
        out = np.zeros((2, vehicle.n_joints))
        for row, given, of_wheels in ((out[0], self.rate, True), (out[1], self.angle, False)):
            others = [joint for joint in vehicle.joints if joint not in vehicle.wheels]
            default = vehicle.rolling_wheels if of_wheels else others
            values = given if isinstance(given, Mapping) else dict.fromkeys(default, given)
            for joint, value in values.items():
                row[vehicle.joint_index(joint)] = value
        return out[0], out[1]


def time_stamp(value: Any, name: str = "t") -> float:
    """A finite time [s], seconds since any epoch; Unix time, 1.7e9 s, is one."""
    try:
        result = float(value)
    except (TypeError, ValueError, OverflowError):
        raise OdometryError(f"{name}: {value!r:.60} is not a number") from None
    if not (math.isfinite(result) and abs(result) < state.LATEST):
        raise OdometryError(f"{name}: {result:g} is not a finite time below {state.LATEST:g} s")
    return result


def row(value: ArrayLike, name: str, n: int, per: str = "") -> FloatArray:
    """A new array of n floats, NaN and infinity allowed; `per`: one per what."""
    try:
        values = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise OdometryError(f"{name}: is not an array of {n} numbers{per and ', one per ' + per}") from None
    if values.shape != (n,):
        raise OdometryError(f"{name}: has shape {values.shape}, needs ({n},){per and ', one per ' + per}")
    return values


def finite_row(value: ArrayLike | None, name: str, n: int) -> FloatArray | None:
    """An array of n numbers; None if it is missing or not finite."""
    if value is None:
        return None
    values = row(value, name, n)
    return values if np.isfinite(values).all() else None


def joint_values(vehicle: Vehicle, given: ArrayLike | Mapping[str, float] | None, name: str) -> FloatArray:
    """Values of all joints in the vehicle's order, NaN where not measured, from an array or a mapping."""
    result = np.full(vehicle.n_joints, np.nan)
    if given is not None:
        try:
            fill_joints(result, vehicle, given, name)
        except (TypeError, ValueError) as reason:
            raise OdometryError(f"{name}: {reason}; give one number per joint") from None
    result[~(np.abs(result) <= state.LARGEST)] = np.nan
    return result


def fill_joints(into: FloatArray, vehicle: Vehicle, values: Any, name: str) -> None:
    """Values of the joints into an array (nj,); TypeError and ValueError where they are no numbers.

    An array of the right shape is tested first: it is what robots send.
    """
    if getattr(values, "shape", None) != into.shape:
        if isinstance(values, Mapping):
            into[:] = np.nan
            for joint, value in values.items():
                into[vehicle.joint_index(joint)] = value
            return
        values = np.asarray(values, dtype=np.float64)
        if values.shape != into.shape:
            raise OdometryError(f"{name}: has shape {values.shape}, needs {into.shape}, one per joint")
    into[:] = values
