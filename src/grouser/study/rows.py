"""Running rows of a study: those with the same vehicle, laws and ground share one call of the engine."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from grouser.checks import FloatArray
from grouser.errors import GrouserError
from grouser.simulation.engine import launch
from grouser.simulation.settle import start_state
from grouser.simulation.simulate import start_velocity
from grouser.simulation.status import Status
from grouser.study.measures import CLIMB, DETAILS, KINDS, OF_PLAN, STATES, Batch, call, climb_angle
from grouser.study.variants import Inputs, Variants
from grouser.threads import in_slices

REFUSED, FAILED, CRASHED, NOT_REACHED = "refused", "failed", "crashed", "not_reached"
"""Statuses of rows that are not those of runs: a combination that was refused, a function that raised, a process that
died, a plan that does not arrive."""
VALUES_AT_ONCE = 20_000_000
"""Numbers that a call of the engine may record (160 MB)."""
MANY = 64
"""Alike rows that share the threads; fewer run on one, next to others."""


class Outcome:
    """Status, reason and measures of rows, filled as they are run."""

    def __init__(self, study: Variants, rows: int) -> None:
        self.status = np.full(rows, str(Status.OK), dtype=object)
        self.reason = np.full(rows, "", dtype=object)
        self.measures: dict[str, FloatArray] = {name: np.full(rows, np.nan) for name in study.measures}

    def refuse(self, rows: np.ndarray, reason: str, status: str = REFUSED) -> None:
        """The same end of several rows."""
        self.status[rows], self.reason[rows] = status, reason


def run_rows(study: Variants, inputs: Inputs, threads: int) -> Outcome:
    """Run rows; what each gives does not depend on which others are run with it, nor on the threads."""
    out = Outcome(study, len(inputs.row))
    groups = _groups(study, inputs)
    small = [rows for rows in groups if len(rows) < MANY]
    lock = threading.Lock()  # models are built by one thread at a time; runs release the interpreter
    for rows in groups:
        if len(rows) >= MANY:
            _run_group(study, inputs, rows, out, threads, lock)

    def some(_: int, first: int, last: int) -> None:
        for rows in small[first:last]:
            _run_group(study, inputs, rows, out, 1, lock)

    in_slices(some, len(small), threads=threads, size=1)
    return out


def _groups(study: Variants, inputs: Inputs) -> list[np.ndarray]:
    """Numbers of rows that share vehicle, laws and ground, in the order of their first."""
    varied = [k for k in (*study.of_model, *study.of_ground) if len(inputs.values) and np.ptp(inputs.values[:, k])]
    key = np.column_stack([inputs.ground, inputs.soil, inputs.values[:, varied]])
    if study.spec.fields["plan"]:
        return [np.array([k]) for k in range(len(inputs.row))]
    if not np.ptp(key, axis=0).any():
        return [np.arange(len(key))]
    _, first, group = np.unique(key, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(group.ravel(), kind="stable")
    found = np.split(order, np.cumsum(np.bincount(group.ravel()))[:-1])
    return [found[k] for k in np.argsort(first)]


def _run_group(
    study: Variants, inputs: Inputs, rows: np.ndarray, out: Outcome, threads: int, lock: threading.Lock
) -> None:
    values = inputs.values[rows[0]]
    try:
        with lock:
            model = study.model(int(inputs.soil[rows[0]]), values)
            model.arrays(study.dt)
            _ = model.penetration
            ground = study.ground(int(inputs.ground[rows[0]]), values)
        if study.spec.fields["plan"]:
            _plan(study, inputs, model, ground, rows, out)
            return
        _climb(study, inputs, model, rows, out)
        for some in _blocks(study, model, rows):
            _run_block(study, inputs, model, ground, some, out, threads)
    except (GrouserError, ZeroDivisionError, FloatingPointError) as error:
        out.refuse(rows, str(error))


def _blocks(study: Variants, model: Any, rows: np.ndarray) -> Iterator[np.ndarray]:
    """Rows that fit in memory together; no rows where only the climb angle is measured."""
    kinds = [m for m in study.measures.values() if m.kind != CLIMB]
    if not kinds:
        return
    needs, v = max(m.needs for m in kinds), model.vehicle
    each = 7 + v.n_joints
    each += (30 * v.n_wheels + 2 * v.n_joints + 4 * len(v.actuated)) if needs == DETAILS else 0
    most = max(1, VALUES_AT_ONCE // (each * (study.steps + 1))) if needs else len(rows)
    for low in range(0, len(rows), most):
        yield rows[low : low + most]


def _changes(study: Variants, inputs: Inputs, rows: np.ndarray) -> dict[str, FloatArray]:
    """Values of parameters of drive and start, (rows,) each."""
    names = [(k, n) for k, n in enumerate(study.names) if n.startswith(("drive.", "start."))]
    return {name: inputs.values[rows, k] for k, name in names}


def _run_block(
    study: Variants, inputs: Inputs, model: Any, ground: Any, rows: np.ndarray, out: Outcome, threads: int
) -> None:
    changes = _changes(study, inputs, rows)
    pairs, kept = np.empty((len(rows), 2), dtype=np.int64), []
    for k, drive in enumerate(study.drives.values()):
        of_this = np.flatnonzero(inputs.drive[rows] == k)
        if len(of_this):
            mine = {name: v[of_this] for name, v in changes.items()}
            pairs[of_this], numbers = drive.bind(model.vehicle, len(of_this), mine)
            kept.append(numbers)
    starts, refused = _starts(study, model, ground, changes, len(rows))
    for i, reason in refused.items():
        out.refuse(rows[i : i + 1], reason)
    good = np.array([i for i in range(len(rows)) if i not in refused], dtype=np.int64) if refused else slice(None)
    rows, pairs, starts = rows[good], pairs[good], starts[good]
    if len(rows) == 0:
        return
    measures = {name: m for name, m in study.measures.items() if m.kind != CLIMB}
    needs = max(m.needs for m in measures.values())
    v = start_velocity(model, ground, pairs, starts, None, study.dt)
    records = launch(
        model, ground, pairs, starts, dt=study.dt, steps=study.steps, every=1 if needs >= STATES else 0,
        detailed=needs == DETAILS, velocities=v, threads=threads,
    )  # fmt: skip
    batch = Batch(model, ground, records, starts, study.dt)
    early = np.array([one is not Status.OK for one in records.status])
    for i in np.flatnonzero(early).tolist():
        out.refuse(rows[i : i + 1], records.status[i].meaning, str(records.status[i]))
    for name, measure in measures.items():
        if measure.function is not None:
            for i, row in enumerate(rows.tolist()):
                out.measures[name][row], reason = call(measure.function, batch.run(i), described(study, inputs, row))
                if reason:
                    out.refuse(rows[i : i + 1], reason, FAILED)
        else:
            out.measures[name][rows] = KINDS[measure.kind][2](batch)


def _starts(
    study: Variants, model: Any, ground: Any, changes: dict[str, FloatArray], n: int
) -> tuple[FloatArray, dict[int, str]]:
    """States to begin with (n, nq), and why some cannot."""
    places = _places(study, changes, n)
    if not any(name.startswith("start.") for name in changes):
        return np.tile(start_state(model.vehicle, ground, places[0], model.penetration), (n, 1)), {}
    starts, refused = np.zeros((n, 7 + model.vehicle.n_joints)), {}
    for i, place in enumerate(places):
        try:
            starts[i] = start_state(model.vehicle, ground, place, model.penetration)
        except GrouserError as error:
            refused[i] = str(error)
    return starts, refused


def _places(study: Variants, changes: Mapping[str, FloatArray], n: int) -> FloatArray:
    """x, y [m] and yaw [rad] to begin at, (n, 3)."""
    x, y, yaw = study.spec.fields["start"]
    given = {"start.x": x, "start.y": y, "start.yaw": np.radians(yaw)} | dict(changes)
    return np.column_stack([np.broadcast_to(given[f"start.{name}"], n) for name in ("x", "y", "yaw")])


def _climb(study: Variants, inputs: Inputs, model: Any, rows: np.ndarray, out: Outcome) -> None:
    drives = list(study.drives.values())
    for name, measure in study.measures.items():
        if measure.kind == CLIMB:
            for row in rows.tolist():
                changes = _changes(study, inputs, np.array([row]))
                drive = drives[int(inputs.drive[row])]
                try:
                    found = climb_angle(model, drive, changes, measure.options, steps=study.steps, dt=study.dt)
                    out.measures[name][row], out.reason[row] = found
                except GrouserError as error:  # of a slope that others of these rows may not try
                    out.refuse(np.array([row]), str(error))


def _plan(study: Variants, inputs: Inputs, model: Any, ground: Any, rows: np.ndarray, out: Outcome) -> None:
    from grouser import plan

    options = dict(study.spec.fields["plan"])
    goal = options.pop("goal")
    for row in rows.tolist():
        seed = int(study.seeds(inputs.row[row : row + 1])[0]) % 2**31
        place = tuple(column.item() for column in _places(study, _changes(study, inputs, np.array([row])), 1).T)
        found = plan.plan(model, ground, place, goal, seed=seed, threads=1, **options).summary()
        if not found["reached"]:
            out.refuse(np.array([row]), str(found["reason"]), NOT_REACHED)
        for name, measure in study.measures.items():
            key = OF_PLAN[measure.kind]
            out.measures[name][row] = float(found[key]) if key else float(not found["reached"])


def described(study: Variants, inputs: Inputs, row: int) -> dict[str, Any]:
    """The inputs of a row by name, as a measure of your own gets them."""
    return {
        "row": int(inputs.row[row]), "variant": int(inputs.variant[row]),
        "ground": study.grounds[inputs.ground[row]], "soil": study.soils[inputs.soil[row]],
        "drive": list(study.drives)[inputs.drive[row]], "seed": int(study.seeds(inputs.row[row : row + 1])[0]),
        **dict(zip(study.names, inputs.values[row].tolist(), strict=True)),
    }  # fmt: skip
