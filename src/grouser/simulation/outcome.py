"""What happened in a run, or in each of many rollouts: distance, tilt, tip margin, slip, sliding, energy, remarks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from grouser._kernels.simulation.happened import HAPPENED_COLUMNS, MARGIN, SLIDING, TILT, happened_rows
from grouser.checks import FloatArray
from grouser.collision.frames import with_scratch
from grouser.kinematics.rollover import rollover_margin
from grouser.simulation.engine import Records
from grouser.simulation.status import Status
from grouser.spacing import evenly

if TYPE_CHECKING:
    from grouser.dynamics import Dynamics
    from grouser.kinematics import Kinematics
    from grouser.simulation.run import Run
    from grouser.vehicles import Vehicle

SLOW = 0.05
"""Rim speed [m/s] below which slip is a share of this."""
NOTHING: dict[str, Any] = {
    "largest_tilt_deg": None, "least_tip_margin_deg": None, "tips_from": None, "largest_slip": None, "slid": 0.0,
    "slid_down": 0.0, "sliding_time": 0.0, "energy": None,
}  # fmt: skip
"""Of a run that ended before its first step."""
MENTIONED = 0.1
"""Length of a slide [m] from which it is remarked on."""
STEEP = math.radians(45.0)
"""Tilt above which wheels need a friction above 1 to hold."""


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
    """Distance over which more than half of the motion was slip of the wheels that bear load [m], shape (N,)."""
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
        loads=None if f is None else rows(f.contact)[..., 2],
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
    """Distance [m] and time [s] of sliding speeds (…, rows) [m/s], each held for `seconds`; the last has no step."""
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
            k = evenly(rows, most or rows)
            parts = records.state[i, k], records.velocity[i, k], records.contact[i, k][..., :3]
            out[i] = rollover_margin(model.vehicle, *parts, gravity=float(model.gravity)).angle.min()
    return out


def happened(run: Run) -> dict[str, Any]:
    """Numbers that show whether a real vehicle could make a run, as JSON takes them.

    largest_tilt_deg: of the body's z axis from the vertical. least_tip_margin_deg: angle that the force at the centre
    of mass may turn before a wheel lifts; tips_from: time at which it first is negative [s]. largest_slip: speed of
    slip along the wheels over their rim speed, mean over the wheels. slid: distance over which more than half of
    the motion was slip, sliding_time [s], and slid_down, the height lost there [m]. energy: work of the actuators where
    they drive, none is won back [J]; a kinematic model does not know it. ended: why. remarks: sentences.
    """
    if not len(run.time):
        return {**NOTHING, "ended": run.status.meaning, "remarks": []}
    every = float(run.time[1] - run.time[0]) if len(run.time) > 1 else run.dt
    c = run.contact
    touching = None if run.hull is None else run.hull.touching
    loads = None if c.force is None else c.force[..., 2]
    seen = happened_at(run.vehicle, run.gravity, run.state, run.velocity, c.columns(), loads=loads, touching=touching)
    slid, seconds = sliding_of(seen[:, SLIDING], every)
    sinking = -np.diff(run.position[:, 2])[seen[:-1, SLIDING] > 0.0]
    tips = np.flatnonzero(seen[:, MARGIN] < 0.0)
    power = None if run.power is None else np.maximum(run.power[: max(len(run.time) - 1, 1)], 0.0).sum()
    found: dict[str, Any] = {
        "largest_tilt_deg": _finite(np.degrees(seen[:, TILT].max())),
        "least_tip_margin_deg": _finite(np.degrees(seen[:, MARGIN].min())),
        "tips_from": float(run.time[tips[0]]) if len(tips) else None,
        "largest_slip": _finite(slip_ratio(run.vehicle, run.velocity, c.velocity[..., 0]).max()),
        "slid": float(slid),
        "slid_down": float(sinking.sum()),
        "sliding_time": float(seconds),
        "energy": None if power is None else float(power * every),
        "ended": run.status.meaning,
    }
    return found | {"remarks": remarks(run, found)}


def remarks(run: Run, found: dict[str, Any]) -> list[str]:
    """Remarks on slides, rollover and tipping, a sentence each."""
    said = []
    if found["slid"] >= MENTIONED:
        low, time = found["slid_down"], found["sliding_time"]
        lost = f" and lost {low:.1f} m of height" if low > 0.1 * found["slid"] else ""
        said.append(f"it slid {found['slid']:.1f} m in {time:.1f} s{lost}")
    if run.solver is not None:
        if run.rolled_over and run.status is not Status.ROLLED_OVER:
            said.append("it rolled over, and the run continued")
        return said
    if found["tips_from"] is not None:
        said.append(
            f"kinematic: no forces; the tip margin is negative from t = {found['tips_from']:.1f} s: "
            "a real vehicle would tip"
        )
    tilt = found["largest_tilt_deg"]
    if tilt is not None and STEEP < math.radians(tilt) < 0.5 * math.pi:
        needed = math.tan(math.radians(tilt))
        said.append(f"kinematic: no forces; at a tilt of {tilt:.0f}° it holds only with a friction above {needed:.1f}")
    return said


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
