"""Many rollouts at once, on all cores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grouser import checks, rotation
from grouser.checks import FloatArray
from grouser.collision.frames import normalise
from grouser.errors import SimulationError
from grouser.kinematics import Kinematics
from grouser.simulation.drive import held_commands
from grouser.simulation.engine import Records, launch
from grouser.simulation.samples import Uncertain, covariance_of, refuse_samples
from grouser.simulation.settle import start_state
from grouser.simulation.simulate import MOST_VALUES, check_model, start_velocity
from grouser.simulation.status import OF_ROLLOUT, Status
from grouser.terrain import Terrain
from grouser.threads import thread_count

if TYPE_CHECKING:
    from pandas import DataFrame

    from grouser.dynamics import Dynamics
    from grouser.simulation.outcome import Outcome

STEPS_AT_ONCE = 500_000
"""Steps handed to the engine in one call: about a second, so that progress can be shown."""


@dataclass(frozen=True)
class Rollouts:
    """Results of N rollouts."""

    final_state: FloatArray
    """Last state of each, shape (N, nq); the last good one of those that ended early."""
    state: FloatArray
    """Recorded states, shape (N, rows, nq); rows is 0 unless `every` was given. Rows after an end repeat the last."""
    time: FloatArray
    """Times of the rows [s], shape (rows,)."""
    status: NDArray[np.str_]
    """How each ended: ok, off_terrain, rolled_over, diverged, unsolved, gained_energy, buried or interrupted (N,). A
    dynamic model with a hull, or a `tip_angle` of π, continues when it rolls over; then see `rolled_over`."""
    steps: NDArray[np.int64]
    """Steps each completed, shape (N,)."""
    deficient: NDArray[np.int64]
    """Steps of each whose constraints left a velocity open, shape (N,)."""
    final_velocity: FloatArray | None = None
    """Last velocity of each [ω rad/s, v m/s, joint rates], body coordinates, shape (N, nv); dynamics only. With
    `final_state` it is where another batch continues, except for the memory of
    actuators: a PI's integral starts from zero."""
    samples: int = 1
    """Rollouts of each row of commands, one after another: with drawn parameters and noise, of a fit."""
    outcome: Outcome | None = None
    """Distance, largest tilt and slip, least tip margin, slide and energy of each; None if it was not wanted."""

    @property
    def final_covariance(self) -> FloatArray:
        """Covariance of (x, y, z, yaw) [m, rad] at the end by the samples of each row of commands, (N/samples, 4, 4).

        Of those that reached their full duration; NaN where fewer than two did.
        """
        poses = np.column_stack([self.final_position, self.final_yaw]).reshape(-1, self.samples, 4)
        return np.array([covariance_of(p[ok]) for p, ok in zip(poses, self.ok.reshape(-1, self.samples), strict=True)])

    @property
    def ok(self) -> NDArray[np.bool_]:
        """Which reached their full duration, shape (N,)."""
        result: NDArray[np.bool_] = self.status == str(Status.OK)
        return result

    @property
    def final_position(self) -> FloatArray:
        """Last position of each [m], world, shape (N, 3)."""
        return self.final_state[:, 4:7]

    @property
    def final_yaw(self) -> FloatArray:
        """Last yaw of each [rad], shape (N,)."""
        return rotation.yaw_of(self.final_state[:, :4])

    @property
    def rolled_over(self) -> NDArray[np.bool_]:
        """Whether the body's z axis points below the horizon at the end or in a recorded state, shape (N,)."""
        seen = np.concatenate([self.state[:, :, :4], self.final_state[:, None, :4]], axis=1)
        below = (rotation.upright(seen) < 0.0).any(axis=1)
        over: NDArray[np.bool_] = below | (self.status == str(Status.ROLLED_OVER))
        return over

    def counts(self) -> dict[str, int]:
        """How many ended in each way."""
        return counts_of(self.status)

    def to_pandas(self) -> DataFrame:
        """One row a rollout: how it ended and where; `attrs["units"]` names the unit of each column."""
        from grouser.dataframe import Column, data_frame

        rpy = rotation.to_rpy(rotation.from_quaternion(self.final_state[:, :4])).reshape(-1, 3)
        units = dict.fromkeys(("least_tip_margin", "largest_tilt"), "rad")
        units |= {"largest_slip": "1", "sliding_time": "s", "energy": "J"}
        happened = {} if self.outcome is None else {k: v for k, v in vars(self.outcome).items() if v is not None}
        return data_frame(
            Column("rollout", "", np.arange(len(self.status))),
            [
                Column("status", "", self.status.astype(object)),
                Column("steps", "", self.steps),
                *(Column(name, "m", v) for name, v in zip("xyz", self.final_position.T, strict=True)),
                *(Column(name, "rad", v) for name, v in zip(("roll", "pitch", "yaw"), rpy.T, strict=True)),
                Column("deficient_steps", "", self.deficient),
                *(Column(name, units.get(name, "m"), values) for name, values in happened.items()),
            ],
        )

    def __repr__(self) -> str:
        ended = ", ".join(f"{n} {name}" for name, n in self.counts().items() if n)
        return f"<Rollouts: {len(self.status)} × {int(self.steps.max(initial=0))} steps, {ended}>"


def counts_of(status: NDArray[np.str_]) -> dict[str, int]:
    """How many ended in each way; interrupted ones only where there are some."""
    counts = {str(s): int(np.count_nonzero(status == str(s))) for s in (*OF_ROLLOUT, Status.INTERRUPTED)}
    if not counts[str(Status.INTERRUPTED)]:
        del counts[str(Status.INTERRUPTED)]
    return counts


def rollout(
    model: Kinematics | Dynamics | Uncertain,
    ground: Terrain,
    commands: ArrayLike,
    *,
    start: ArrayLike | None = None,
    velocity: ArrayLike | None = None,
    dt: float = 0.04,
    every: int | None = None,
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    samples: int | None = None,
    seed: int = 0,
    outcome: bool = True,
) -> Rollouts:
    """Roll out commands (N, T, na) [rad/s or m/s], each row held for dt [s], from one start or N of them.

    `start` and `velocity` are as in `simulate`; they may also be one each, (N, nq) and (N, nv). Only last states are
    kept, or every `every`-th state. Results are the same bytes for any number of threads and any N.
    `progress(done, total)` is called about once a second. Ctrl-C ends it: rollouts that were left are `interrupted`.
    `outcome` adds what happened in each: distance, tilt, tip margin, slip, slide, energy. Without it kinematic rollouts
    take 0.6 times as long.

    `model` may be a fit or a `MotionModel`: commands then pass its powertrain, and `samples` draws (None: 20) of its
    parameters drive each row of commands with process noise. Sample k of row i is rollout i · samples + k.
    """
    options: dict[str, Any] = {"start": start, "velocity": velocity, "dt": dt, "every": every, "threads": threads}
    options["outcome"] = outcome
    if isinstance(model, Uncertain):
        return model.roll_out_on(ground, commands, **options, progress=progress, samples=samples, seed=seed)
    refuse_samples(samples)
    return roll_out(model, ground, commands, **options, progress=progress)


def roll_out(
    model: Kinematics | Dynamics,
    ground: Terrain,
    commands: ArrayLike,
    *,
    start: ArrayLike | None,
    velocity: ArrayLike | None,
    dt: float,
    every: int | None,
    threads: int | None,
    outcome: bool = False,
    progress: Callable[[int, int], None] | None = None,
    halted: bool = False,
    disturb: Callable[[int, FloatArray], FloatArray | None] = lambda first, commands: None,
) -> Rollouts:
    """`rollout` of a model, with disturbances of the body velocity.

    `disturb(first, commands)` gives them for some rows of commands (n, T, na), of which the first has that number:
    twists (ω, v) [rad/s, m/s], (n, T, 6), or None. halted: all are interrupted before their first step.
    """
    check_model(model, ground)
    vehicle = model.vehicle
    step = checks.positive(dt, "dt")
    na = len(vehicle.arrays.actuated)
    if not isinstance(commands, np.ndarray):
        commands = checks.array(commands, "commands", (None, None, na))
    if commands.ndim != 3 or commands.shape[2] != na:
        raise SimulationError(
            f"commands: has shape {commands.shape}, needs (rollouts, steps, {na}); "
            f"the {na} actuated joints of '{vehicle.name}' are {', '.join(vehicle.actuated)}"
        )
    n, steps, _ = commands.shape
    if n == 0 or steps == 0:
        raise SimulationError(f"commands: has shape {commands.shape}, needs at least one rollout and one step")
    k = 0 if every is None else checks.count(every, "every", most=steps)
    if k and n * (steps // k + 1) * (7 + vehicle.n_joints) > MOST_VALUES:
        raise SimulationError(
            f"{n} rollouts of {steps} steps do not fit in memory with every={k}; record fewer, or the last states only"
        )
    starts = _starts(model, ground, start, n)
    velocities = None
    if velocity is not None and not isinstance(model, Kinematics) and _dimensions(velocity) == 2:
        velocities = checks.array(velocity, "velocity", (n, 6 + vehicle.n_joints))
    thread_count(threads)
    model.arrays(step)  # refuses a step that is too long for it
    chunk = max(1, (STEPS_AT_ONCE // 10 if outcome else STEPS_AT_ONCE) // steps)

    def rolled(low: int, halted: bool) -> tuple[Records, Outcome | None]:
        if outcome:
            from grouser.simulation.outcome import nothing, outcome_of
        some, detailed = slice(low, low + chunk), outcome and not halted
        block = checks.array(commands[some], "commands", (None, steps, na))
        drives, _kept = held_commands(block, step)
        here = starts[some] if len(starts) > 1 else np.repeat(starts, len(block), axis=0)
        v = start_velocity(model, ground, drives, here, velocity, step) if velocities is None else velocities[some]
        records = launch(
            model, ground, drives, here, dt=step, steps=steps, every=1 if detailed else k, detailed=detailed,
            velocities=v, disturbances=disturb(low, block), threads=threads, halted=halted,
        )  # fmt: skip
        if not detailed:
            return records, nothing(len(block), forces=records.forces is not None) if outcome else None
        kept = records.state[:, ::k].copy() if k else records.state[:, :0].copy()
        happened = outcome_of(model, records, step)
        return records._replace(state=kept, rows=-(-records.rows // k) if k else 0 * records.rows), happened

    parts, outcomes = [], []
    for low in range(0, n, chunk):
        (records, happened), halted = kept_going(rolled, low, halted, partial(_report, progress, low + chunk, n))
        if happened is not None:
            outcomes.append(happened)
        for i in np.flatnonzero(records.steps < steps) if k else ():
            records.state[i, records.rows[i] :] = records.final[i]
        parts.append(records)
    raise_late(halted, [s for part in parts for s in part.status])
    forces = [p.forces for p in parts if p.forces is not None]
    return Rollouts(
        final_state=_joined([p.final for p in parts]),
        state=_joined([p.state for p in parts]),
        time=step * k * np.arange(parts[0].state.shape[1], dtype=np.float64),
        status=np.array([str(s) for p in parts for s in p.status]),
        steps=_joined([p.steps for p in parts]),
        deficient=_joined([p.deficient for p in parts]),
        final_velocity=_joined([f.final_velocity for f in forces]) if forces else None,
        outcome=joined_outcomes(outcomes) if outcomes else None,
    )


def kept_going(
    rolled: Callable[[int, bool], tuple[Records, Outcome | None]], low: int, halted: bool,
    report: Callable[[], object],
) -> tuple[tuple[Records, Outcome | None], bool]:  # fmt: skip
    """A block of rollouts, and whether Ctrl-C came: then only what was computed so far, or nothing, is in it.

    report: called after the block, to show progress.
    """
    try:
        done = rolled(low, halted)
    except KeyboardInterrupt:  # while its records were prepared or read
        return rolled(low, True), True
    try:
        report()
    except KeyboardInterrupt:
        halted = True
    return done, halted or done[0].halted


def _report(progress: Callable[[int, int], None] | None, done: int, total: int) -> None:
    if progress is not None:
        progress(min(done, total), total)


def raise_late(halted: bool, status: Sequence[Status]) -> None:
    """Ctrl-C that came when all rollouts had ended is not lost."""
    if halted and Status.INTERRUPTED not in status:
        raise KeyboardInterrupt


def joined_outcomes(parts: list[Outcome], axis: int = 0) -> Outcome:
    """Those of several batches as one: one after another, or (axis 1) in turn."""
    found: dict[str, Any] = {}
    for name, first in vars(parts[0]).items():
        each = [getattr(part, name) for part in parts]
        found[name] = None if first is None else np.concatenate(each) if axis == 0 else np.stack(each, 1).ravel()
    return type(parts[0])(**found)


def _joined(parts: list[Any]) -> Any:
    """Arrays one after another; not a view, which would keep a batch's other arrays alive."""
    if len(parts) > 1:
        return np.concatenate(parts)
    return parts[0] if parts[0].base is None else parts[0].copy()


def _starts(model: Kinematics | Dynamics, ground: Terrain, start: ArrayLike | None, n: int) -> FloatArray:
    """One start for all, shape (1, nq), or one each, (n, nq)."""
    nq = 7 + model.vehicle.n_joints
    if start is None or _dimensions(start) < 2:
        return start_state(model.vehicle, ground, start, model.penetration)[None]
    starts = checks.array(start, "start", (n, nq))
    for q in starts:
        normalise(q)
    return starts


def _dimensions(value: ArrayLike) -> int:
    """Number of dimensions of an array or of nested lists; 0 if it is no array, which is refused later by name."""
    try:
        return np.ndim(value)
    except ValueError:
        return 0
