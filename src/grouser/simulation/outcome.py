"""What happened in each of many rollouts: distance, tilt, tip margin, slip, sliding, energy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from grouser._kernels.simulation.happened import HAPPENED_COLUMNS, MARGIN, SLIDING, TILT, happened_rows
from grouser.checks import FloatArray
from grouser.collision.frames import with_scratch
from grouser.kinematics.rollover import rollover_margin
from grouser.simulation.engine import Records

if TYPE_CHECKING:
    from grouser.dynamics import Dynamics
    from grouser.kinematics import Kinematics
    from grouser.vehicles import Vehicle

SLOW = 0.05
"""Rim speed [m/s] below which slip is a share of this."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """Of N rollouts, until each ended; NaN of one that ended in its first step."""

    distance: FloatArray
    """Length of the path of the body frame [m], shape (N,)."""
    largest_tilt: FloatArray
    """Largest angle of the body's z axis from the vertical [rad], shape (N,)."""
    least_tip_margin: FloatArray
    """Angle that the force at the centre of mass may turn before a wheel lifts [rad], shape (N,)."""
    largest_slip: FloatArray
    """Speed of slip along the wheels over their rim speed, mean over the wheels, a ratio, shape (N,)."""
    slid: FloatArray
    """Way over the ground on which more than half of its motion was slip of the wheels that bear [m], shape (N,)."""
    sliding_time: FloatArray
    """Time in which it did so [s], shape (N,)."""
    energy: FloatArray | None
    """Work of the actuators where they drive [J], none is won back, shape (N,); None for kinematics."""


def nothing(n: int, *, forces: bool) -> Outcome:
    """The outcome of n rollouts that did not begin."""
    zero, unknown = np.zeros(n), np.full(n, np.nan)
    return Outcome(zero, unknown, unknown, zero, zero, zero, zero if forces else None)


def outcome_of(model: Kinematics | Dynamics, records: Records, dt: float) -> Outcome:
    """The outcome of rollouts recorded in every step of dt [s], with contacts."""
    reached, vehicle = until(records), model.vehicle
    f, whole = records.forces, bool(reached.all())

    def rows(values: FloatArray) -> FloatArray:
        """Rows that were reached, one after another; not copied where all were."""
        return values.reshape(-1, *values.shape[2:]) if whole else values[reached]

    seen = np.full((*reached.shape, HAPPENED_COLUMNS), np.nan)
    seen[reached] = happened_at(
        vehicle,
        float(model.gravity),
        rows(records.state),
        rows(records.velocity),
        rows(records.contact),
        loads=None if f is None else rows(f.force)[..., 2],
        touching=rows(f.hull)[..., 6] if f is not None and vehicle.hull else None,
    )
    slid, seconds = sliding_of(np.nan_to_num(seen[..., SLIDING]), dt)
    some = reached.any(axis=1)

    def most(values: FloatArray) -> FloatArray:
        return np.where(some, np.where(reached, values, -np.inf).max(axis=1, initial=-np.inf), np.nan)

    return Outcome(
        distance=distances(records),
        largest_tilt=most(seen[..., TILT]),
        least_tip_margin=-most(-seen[..., MARGIN]),
        largest_slip=slips(vehicle, records).max(axis=1, initial=0.0),
        slid=slid,
        sliding_time=seconds,
        energy=None if records.forces is None else energies(records, dt),
    )


def happened_at(
    vehicle: Vehicle,
    gravity: float,
    states: FloatArray,
    velocities: FloatArray,
    contacts: FloatArray,
    *,
    loads: FloatArray | None = None,
    touching: FloatArray | None = None,
) -> FloatArray:
    """Tilt [rad], tip margin [rad] and speed while sliding [m/s] of n states (n, nq), shape (n, 3).

    contacts: as the engine records them, (n, nw, CONTACT_COLUMNS). loads: normal forces [N], (n, nw); wheels without
    one do not count. touching: points of the hull that carry, (n,).
    """
    n = len(states)
    out = np.zeros((n, HAPPENED_COLUMNS))
    bearing = np.zeros((n, 0))
    if loads is not None:
        bearing = np.column_stack([loads, np.zeros(n) if touching is None else touching])
    rows = [np.ascontiguousarray(one) for one in (states, velocities, contacts, bearing)]
    with_scratch(happened_rows, vehicle.arrays, gravity, *rows, out)
    return out


def sliding_of(speeds: FloatArray, seconds: float) -> tuple[FloatArray, FloatArray]:
    """Way [m] and time [s] of speeds while sliding (…, rows) [m/s], each held for `seconds`; the last has no step."""
    each = speeds[..., :-1]
    return np.asarray(seconds * each.sum(axis=-1)), np.asarray(seconds * np.count_nonzero(each, axis=-1))


def until(records: Records) -> NDArray[np.bool_]:
    """Which of the recorded rows were reached, (N, rows)."""
    reached: NDArray[np.bool_] = np.arange(records.state.shape[1]) < records.rows[:, None]
    return reached


def distances(records: Records) -> FloatArray:
    """Lengths of the paths [m], (N,)."""
    steps = np.linalg.norm(np.diff(records.state[:, :, 4:7], axis=1), axis=2)
    length = np.where(until(records)[:, 1:], steps, 0.0).sum(axis=1)
    # One that ended early has a last state after the last recorded row.
    last = records.state[np.arange(len(length)), np.maximum(records.rows - 1, 0), 4:7]
    rest = np.linalg.norm(records.final[:, 4:7] - last, axis=1)
    return np.asarray(length + np.where(records.rows > 0, rest, 0.0))


def slips(vehicle: Vehicle, records: Records) -> FloatArray:
    """Mean over the wheels of the slip speed along them over the rim speed, (N, rows); 0 after an end."""
    return np.where(until(records), slip_ratio(vehicle, records.velocity, records.contact[..., 6]), 0.0)


def slip_ratio(vehicle: Vehicle, velocity: FloatArray, along: FloatArray) -> FloatArray:
    """The same of velocities (…, nv) [rad/s, m/s] and slip speeds along the wheels (…, nw) [m/s]."""
    rims = np.abs(velocity[..., 5 + vehicle.arrays.wheel] * vehicle.arrays.radius).mean(axis=-1)
    return np.asarray(np.abs(along).mean(axis=-1) / np.maximum(rims, SLOW))


def energies(records: Records, dt: float) -> FloatArray:
    """Work of the actuators where they drive [J], (N,); dynamics only."""
    assert records.forces is not None
    power = np.maximum(records.forces.torque[..., 1], 0.0).sum(axis=2)
    return np.asarray(np.where(until(records)[:, 1:], power[:, :-1], 0.0).sum(axis=1) * dt)


def tip_margins(model: Kinematics | Dynamics, records: Records, most: int | None = None) -> FloatArray:
    """Least tip margin of each [rad], (N,), at all recorded states or at `most` of them."""
    out = np.full(len(records.rows), np.nan)
    for i, rows in enumerate(records.rows.tolist()):
        if rows:
            count = rows if most is None else min(rows, most)
            k = np.unique(np.linspace(0, rows - 1, count).astype(int))
            parts = records.state[i, k], records.velocity[i, k], records.contact[i, k][..., :3]
            out[i] = rollover_margin(model.vehicle, *parts, gravity=float(model.gravity)).angle.min()
    return out
