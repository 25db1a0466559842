"""A log as odometry takes it: cut into drives and pieces, with a clock that waits while the vehicle stands."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from grouser._kernels.odometry.state import ESTIMATE
from grouser.checks import FloatArray
from grouser.logs import Log
from grouser.logs.log import IntArray
from grouser.motion.schedule import Schedule
from grouser.motion.velocity import LONG, Inputs, inputs_of
from grouser.odometry.inputs import FaultCounts
from grouser.odometry.odometry import Odometry
from grouser.rotation import from_rpy, to_quaternion
from grouser.vehicles import Vehicle

WINDOW = LONG  # Samples that are taken at once


@dataclass(frozen=True, eq=False)
class Source:
    """What odometry along a log is run from."""

    log: Log
    model: Any  # as `Odometry` takes it
    options: dict[str, Any]  # of `Odometry`
    drive: IntArray  # number of the drive of each sample, (n,); the odometry is reset at each
    rest: np.ndarray  # whether the vehicle is at rest, (n,) bool
    turn_rates: FloatArray | None  # of the gyro, (n, 3) [rad/s]
    schedule: Schedule | None = None  # models that take the place of the first from some samples on

    @cached_property
    def waits(self) -> np.ndarray:
        """Samples inside a rest, (n,) bool.

        Wheels that stand hold the vehicle, whatever slip by gravity a law has: the odometry's clock waits.
        """
        rest = self.rest
        result = np.zeros(len(rest), np.bool_)
        result[1:-1] = rest[:-2] & rest[1:-1] & rest[2:] & (np.diff(self.drive)[:-1] == 0)
        return result

    @cached_property
    def clock(self) -> FloatArray:
        """Time of the odometry [s], (n,): that of the log less all waits before."""
        time = self.log.elapsed
        return np.asarray(time - np.cumsum(np.where(self.waits, np.diff(time, prepend=time[:1]), 0.0)))

    def run(self, first: int, end: int, faults: FaultCounts) -> Iterator[tuple[int, np.ndarray]]:
        """Run along samples first, where a drive must begin, to end; yields first sample and estimates of pieces."""
        odometry, epoch = Odometry(self.model, **self.options), 0
        for low, high in windows(first, end):
            values = np.empty(high - low, ESTIMATE)
            for a, b, now in self._epochs(low, high):
                if now != epoch and self.schedule is not None:
                    odometry, epoch = odometry.continued(self.schedule.models[now - 1]), now
                values[a - low : b - low] = self._piece(odometry, a, b, faults)
            yield low, values

    def _epochs(self, low: int, high: int) -> Iterator[tuple[int, int, int]]:
        """First and end of the samples of each model in a piece, and its number: 0 for the first."""
        starts = np.zeros(0, np.int64) if self.schedule is None else self.schedule.first
        inside = starts[(starts > low) & (starts < high)]
        for a, b in pairwise([low, *np.unique(inside).tolist(), high]):
            yield a, b, int(np.searchsorted(starts, a, side="right"))

    def _piece(self, odometry: Odometry, low: int, high: int, faults: FaultCounts) -> np.ndarray:
        inputs = inputs_between(self.log, odometry.vehicle, low, high)
        values = np.empty(high - low, ESTIMATE)
        for a, b in stretches(self.drive[low:high]):
            if low + a > 0 and self.drive[low + a] != self.drive[low + a - 1]:
                odometry.reset()
            odometry.begin_faults(faults.logged)
            moves = ~self.waits[low + a : low + b]
            taken = np.flatnonzero(moves) + a
            before = odometry.estimate  # a piece that begins with a wait continues from it
            rows = odometry.run(
                self.clock[low + taken],
                inputs.rates[taken],
                inputs.angles[taken],
                None if self.log.attitude is None else inputs.attitude[taken],
                None if self.turn_rates is None else self.turn_rates[low + taken],
            )
            if before is not None:
                rows = np.concatenate([before._values.reshape(1), rows])
            values[a:b] = rows[np.maximum(np.cumsum(moves) - (before is None), 0)]
            for kind, count in odometry.faults.items():
                faults.counts[kind] = faults.counts.get(kind, 0) + count
        rest, waits = self.rest[low:high], self.waits[low:high]
        values["time"] = self.log.elapsed[low:high]
        values["twist"][rest] = values["odometry_twist"][rest] = 0.0
        values["attitude"][waits] = inputs.attitude[waits]
        roll, pitch = inputs.attitude[waits].T
        values["quaternion"][waits] = to_quaternion(from_rpy(roll, pitch, values["yaw"][waits]))
        return values


def check_inputs(log: Log, vehicle: Vehicle) -> None:
    """Raise what `inputs_of` raises, without making all inputs of a long log where nothing is wrong."""
    named = set(log.rates) | set(log.angles)
    if not named <= set(vehicle.joints) or not any(np.isfinite(rates).any() for rates in log.rates.values()):
        inputs_of(log, vehicle)


def windows(first: int, end: int) -> Iterator[tuple[int, int]]:
    """First and end of the pieces in which samples first to end are taken: ends do not depend on the request."""
    return pairwise([first, *range(first - first % WINDOW + WINDOW, end, WINDOW), end])


def stretches(drive: IntArray) -> Iterator[tuple[int, int]]:
    """First and end of the samples of each drive in a piece."""
    return pairwise([0, *(np.flatnonzero(np.diff(drive)) + 1).tolist(), len(drive)])


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


def drives(log: Log, longest: float) -> IntArray:
    """Number of the drive of each sample: segments whose gap is short, on a clock that rises, are one."""
    time, segment = log.time, log.segment
    step = np.diff(time)
    broken = (np.diff(segment) != 0) & ((step <= 0.0) | (step > longest))
    return np.append(0, np.cumsum(broken)).astype(np.int64)
