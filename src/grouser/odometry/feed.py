"""A log fed to streaming odometry piece by piece, as often as it is asked for.

An estimate has 105 numbers, of which 72 are covariances: those of a log of gigabytes would take more room than the log.
So nobody keeps them; who needs those of some samples runs the odometry again, which gives the same numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from grouser._kernels.odometry import slots
from grouser._kernels.odometry import update as kernels
from grouser._kernels.odometry.store import Samples
from grouser.checks import FloatArray
from grouser.logs import Log
from grouser.logs.log import IntArray
from grouser.motion.velocity import LONG, Inputs, inputs_of
from grouser.odometry.faults import FAULTS, FaultCounts
from grouser.odometry.linear import RateMap
from grouser.odometry.odometry import BY_GRAVITY, Odometry
from grouser.rotation import from_rpy, to_quaternion
from grouser.vehicles import Vehicle

WINDOW = LONG
"""Samples that are taken at once."""
NO_SLOTS, NO_VALUES = np.zeros(0, np.int64), np.zeros(0)


def check_inputs(log: Log, vehicle: Vehicle) -> None:
    """Raise what `inputs_of` raises, without making all inputs of a long log where there is nothing to say."""
    named = set(log.rates) | set(log.angles)
    if not named <= set(vehicle.joints) or not any(np.isfinite(rates).any() for rates in log.rates.values()):
        inputs_of(log, vehicle)


def windows(count: int) -> Iterator[tuple[int, int]]:
    """First and end of the pieces in which so many samples are taken; they do not depend on what is asked for."""
    for low in range(0, count, WINDOW):
        yield low, min(low + WINDOW, count)


def inputs_between(log: Log, vehicle: Vehicle, low: int, high: int) -> Inputs:
    """As `inputs_of`, of samples low to high alone."""
    part = slice(low, high)
    tables = []
    for table in (log.rates, log.angles):
        values = np.full((high - low, vehicle.n_joints), np.nan)
        for joint, column in table.items():
            values[:, vehicle.joint_index(joint)] = column[part]
        tables.append(values)
    attitude = np.zeros((high - low, 2)) if log.attitude is None else np.array(log.attitude[part], dtype=np.float64)
    return Inputs(time=np.array(log.time[part], dtype=np.float64), attitude=attitude, rates=tables[0], angles=tables[1])


@dataclass(frozen=True, eq=False)
class Feed:
    """What odometry along a log is run from."""

    log: Log
    model: Any
    """As `Odometry` takes it."""
    options: dict[str, Any]
    """Of `Odometry`."""
    drive: IntArray
    """Number of the drive of each sample, (n,); the odometry begins anew with each."""
    rest: np.ndarray
    """Whether the vehicle is at rest, (n,) bool."""
    turn_rates: FloatArray | None
    """Of the gyro, (n, 3) [rad/s]."""

    @cached_property
    def waits(self) -> np.ndarray:
        """Samples inside a rest, (n,) bool.

        Wheels that stand hold the vehicle, whatever a slip law says of gravity: the odometry's clock waits.
        """
        rest = self.rest
        result = np.zeros(len(rest), np.bool_)
        result[1:-1] = rest[:-2] & rest[1:-1] & rest[2:] & (np.diff(self.drive)[:-1] == 0)
        return result

    @cached_property
    def clock(self) -> FloatArray:
        """Time of the odometry [s], (n,): that of the log less all waits before."""
        time = self.log.elapsed
        result: FloatArray = time - np.cumsum(np.where(self.waits, np.diff(time, prepend=time[:1]), 0.0))
        return result

    def pieces(
        self, first: int = 0, end: int | None = None, faults: FaultCounts | None = None
    ) -> Iterator[tuple[int, Inputs, FloatArray]]:
        """Run along samples first, where a drive must begin, to end; yields piece after piece.

        That is the number of the first sample of the piece, the inputs of the whole window of `windows` it lies in
        (which joints count as measured must not depend on what part of it is asked for), and one row of values for
        each sample of the piece in the order of `odometry_slots`. faults: counts them; None: nobody does.
        """
        end = len(self.drive) if end is None else end
        counts = FaultCounts(set(FaultCounts.kinds())) if faults is None else faults
        odometry = Odometry(self.model, **self.options)
        begin = first if _quick(odometry) else 0  # others remember angles beyond the end of a drive
        for low, high in windows(len(self.drive)):
            if high <= begin or low >= end:
                continue
            inputs = inputs_between(self.log, odometry.vehicle, low, high)
            start, stop = max(low, begin), min(high, end)
            values = self._run(odometry, start, stop, inputs.window(start - low, stop - low), counts)
            if stop > first:
                cut = max(first - start, 0)
                yield start + cut, inputs, values[cut:]

    def _run(self, odometry: Odometry, low: int, high: int, inputs: Inputs, counts: FaultCounts) -> FloatArray:
        values = np.empty((high - low, slots.OUT))
        begins = np.flatnonzero(np.diff(self.drive[low:high])) + 1
        bounds = [0, *begins.tolist(), high - low]
        for a, b in pairwise(bounds):
            if low + a > 0 and self.drive[low + a] != self.drive[low + a - 1]:
                odometry.reset()
            moves = ~self.waits[low + a : low + b]
            # One row more in front: what a piece that begins with a wait goes on from.
            rows = np.empty((int(moves.sum()) + 1, slots.OUT))
            rows[0] = odometry._out
            taken = np.flatnonzero(moves) + a
            sense = self._sense(inputs, low, taken)
            (_feed_quickly if _quick(odometry) else _feed_singly)(
                odometry, inputs.rates[taken], inputs.angles[taken], sense, rows[1:], counts
            )
            np.take(rows, np.cumsum(moves), axis=0, out=values[a:b], mode="clip")
        rest, waits = self.rest[low:high], self.waits[low:high]
        values[:, slots.O_TIME] = self.log.elapsed[low:high]
        values[rest, slots.O_TWIST : slots.O_TWIST + 6] = 0.0
        values[rest, slots.O_ODOMETRY : slots.O_ODOMETRY + 6] = 0.0
        roll, pitch = inputs.attitude[waits].T
        values[waits, slots.O_ATTITUDE : slots.O_ATTITUDE + 2] = inputs.attitude[waits]
        values[waits, slots.O_QUATERNION : slots.O_QUATERNION + 4] = to_quaternion(
            from_rpy(roll, pitch, values[waits, slots.O_YAW])
        )
        return values

    def _sense(self, inputs: Inputs, low: int, rows: IntArray) -> FloatArray:
        """Time, roll and pitch, gyro (3) as the kernel takes them: infinity stands for what was not given."""
        out = np.zeros((len(rows), 6))
        out[:, 0] = self.clock[low + rows]
        for column, given in (
            (1, None if self.log.attitude is None else inputs.attitude[rows]),
            (3, None if self.turn_rates is None else self.turn_rates[low + rows]),
        ):
            if given is None:
                out[:, column] = math.inf
            else:
                out[:, column : column + given.shape[1]] = given
                out[given[:, 0] == math.inf, column] = math.nan
        return out


def _quick(odometry: Odometry) -> bool:
    """Whether nothing but the kernel remembers anything between samples."""
    return odometry._estimator is None and odometry._arms is None and type(odometry._map) in (type(None), RateMap)


def _feed_quickly(
    odometry: Odometry, rates: FloatArray, angles: FloatArray, sense: FloatArray, out: FloatArray, counts: FaultCounts
) -> None:
    """All samples in few calls: one for each stretch in which the same joints are measured."""
    bits = np.zeros(len(sense), np.int64)
    bounds = [0, len(sense)]
    if odometry._map is not None:
        changes = np.any(np.diff(np.isfinite(rates), axis=0), axis=1)
        bounds = [0, *(np.flatnonzero(changes) + 1).tolist(), len(sense)]
    by_speed, sliding, speed = NO_SLOTS, NO_VALUES, NO_VALUES
    if odometry._sliding is not None:
        by_speed, sliding, speed = np.array(BY_GRAVITY), odometry._sliding, _rim_speeds(odometry.vehicle, rates)
    for a, b in pairwise(bounds):
        if a == b:
            continue
        if odometry._map is not None:
            odometry._map.fill(rates[a], angles[a], odometry._linear)
        samples = Samples(
            rates[a:b], angles[a:b], sense[a:b], by_speed, sliding, speed[a:b], odometry._out, out[a:b], bits[a:b]
        )
        kernels.take_samples(odometry._store, samples)
    _count(odometry.vehicle, bits, sense[:, 0], out, counts)


def _feed_singly(
    odometry: Odometry, rates: FloatArray, angles: FloatArray, sense: FloatArray, out: FloatArray, counts: FaultCounts
) -> None:
    odometry._faults = counts
    for k, row in enumerate(sense):
        attitude = None if row[1] == math.inf else row[1:3]
        gyro = None if row[3] == math.inf else row[3:6]
        out[k] = odometry.update(row[0], rates[k], angles[k], attitude, gyro)._values


def _rim_speeds(vehicle: Vehicle, rates: FloatArray) -> FloatArray:
    """As `Odometry._rim_speed`, of many samples, (n,) [m/s]."""
    arrays = vehicle.arrays
    rims = np.abs(rates[:, arrays.wheel - 1] * arrays.radius)
    measured = np.isfinite(rims)
    result: FloatArray = np.where(measured, rims, 0.0).sum(axis=1) / np.maximum(measured.sum(axis=1), 1)
    return result


def _count(vehicle: Vehicle, bits: IntArray, time: FloatArray, out: FloatArray, counts: FaultCounts) -> None:
    """Count the faults of many samples; of each kind the first one is said, in the order in which they came."""
    met = [(int(where[0]), bit, len(where)) for bit in FAULTS if len(where := np.flatnonzero(bits & bit))]
    for k, bit, count in sorted(met, key=lambda one: one[0]):
        kind = FAULTS[bit][0]
        joint = int(out[k, slots.O_RATE_JOINT if kind == "rate" else slots.O_ANGLE_JOINT])
        told = kind in ("rate", "stop", "angle") and joint >= 0
        counts.add(bit, {kind: f"joint '{vehicle.joints[joint]}'"} if told else {}, float(time[k]))
        counts.counts[kind] += count - 1
