"""Rollouts of body-velocity commands, each judged: cost, tip margin, slip, energy, clearance, and why it ended."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grouser._compile.lanes import LANES
from grouser._kernels.plan.cost import CLEARANCE, COST, DISTANCE, ENERGY, LARGEST_SLIP, LEAST_TIP
from grouser._kernels.plan.drive import Driving
from grouser._kernels.plan.judge import KEPT_OUT, STUCK, TIPPED
from grouser._kernels.simulation.rollout import STATUS, TAKEN
from grouser.checks import Checker, FloatArray
from grouser.errors import PlanError
from grouser.kinematics import Kinematics
from grouser.kinematics.inverse import steering_plan
from grouser.motion.powertrain import Powertrain
from grouser.plan.cost import Cost
from grouser.plan.keep_out import KeepOut
from grouser.plan.limits import Limits
from grouser.plan.room import Room, half_width
from grouser.simulation.settle import start_state
from grouser.simulation.simulate import check_model
from grouser.simulation.status import OF_CODE, Status
from grouser.terrain import Terrain
from grouser.threads import thread_count

if TYPE_CHECKING:
    from grouser.dynamics import Dynamics
    from grouser.plan.fidelity import Auto

checked = Checker(PlanError)
FIRST_STEPS = 320
"""Steps that there is work space for at first where rollouts of many lengths follow."""
ROOMS = 4
"""Work spaces that are kept, for batches of different sizes."""
NAMES = {
    **{code: str(status) for code, status in OF_CODE.items()},
    TIPPED: "tipped",
    KEPT_OUT: "keep_out",
    STUCK: "stuck",
}
"""Status of each number the engine returns."""
STATUSES = np.array([NAMES.get(code, "") for code in range(max(NAMES) + 1)])
"""The same as an array."""
MEANING = {
    **{str(status): status.meaning for status in Status},
    "tipped": "a wheel would lift: the tip margin fell below its limit",
    "keep_out": "it came into a keep-out or over the edge of the map",
    "stuck": "the wheels turned without moving the vehicle",
}
"""Each status in words."""


@dataclass(frozen=True, kw_only=True)
class Effort:
    """What motion costs a kinematic model in energy; of a dynamic one only `idle` counts."""

    rolling: float = 0.05
    """Rolling resistance per load, a ratio."""
    scrub: float = 0.5
    """Friction of wheels that slip sideways, force per load, a ratio."""
    idle: float = 0.0
    """Power at rest [W]."""

    def __post_init__(self) -> None:
        for one in dataclasses.fields(self):
            checked.not_negative(getattr(self, one.name), f"effort {one.name}")


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """When a rollout ends early."""

    tip_margin: float = 0.0
    """Tip margin [rad] below which it ends."""
    stuck_slip: float = 0.9
    """Slip above which the wheels turn without moving the vehicle, a ratio."""
    stuck_time: float = 1.0
    """How long until it counts as stuck [s]."""
    reach: float | None = None
    """Distance from the body's origin to keep free of keep-outs and of the edge [m]; None: half the vehicle's width."""


@dataclass(frozen=True)
class Disturbance:
    """Drawn disturbances of the body velocity (ω rad/s, v m/s), a row a step, one for each group of rollouts."""

    white: FloatArray
    """Independent from step to step [rad/s, m/s], (G, T, 6)."""
    wander: FloatArray
    """Changes slowly [rad/s, m/s], (G, T, 6)."""
    by_distance: bool
    """Whether white is per √(m/s) of speed and wander per m/s."""


QUIET = Disturbance(np.zeros((0, 0, 6)), np.zeros((0, 0, 6)), by_distance=False)


@dataclass(frozen=True)
class Trials:
    """What N rollouts did."""

    cost: FloatArray
    """Of each, dimensionless, (N,)."""
    status: NDArray[np.str_]
    """Why each ended: ok, off_terrain, rolled_over, …, tipped, keep_out, stuck; (N,)."""
    steps: NDArray[np.int64]
    """Steps each completed, (N,)."""
    final_state: FloatArray
    """Last state, (N, nq)."""
    final_velocity: FloatArray
    """Last velocity of dynamics [ω rad/s, v m/s, joint rates], (N, nv)."""
    least_tip_margin: FloatArray
    """[rad], (N,)."""
    largest_slip: FloatArray
    """Along the wheels' headings, a share of the speed of their rims, mean over the wheels; (N,)."""
    energy: FloatArray
    """Of the motors [J], (N,)."""
    distance: FloatArray
    """Driven [m], (N,)."""
    clearance: FloatArray
    """Least free distance around the vehicle, from keep-outs and the edge [m], (N,)."""
    duration: FloatArray
    """Until each ended [s], (N,)."""
    state: FloatArray
    """Recorded states, (N, rows, nq); rows after an early end repeat the last good state."""

    @property
    def ok(self) -> NDArray[np.bool_]:
        """Which reached their end, (N,)."""
        result: NDArray[np.bool_] = self.status == "ok"
        return result

    @property
    def end_place(self) -> FloatArray:
        """Where each ended (x, y) [m], (N, 2)."""
        return self.final_state[:, 4:6]

    def why_failed(self, what: str) -> str:
        """A sentence on why rollouts fail: what most of them did, and where the first of those was."""
        status, n = Counter(self.status[~self.ok].tolist()).most_common(1)[0]
        x, y = self.end_place[int(np.argmax(self.status == status))]
        words = f"{n} ended because {MEANING[status]}, the first near ({x:.1f}, {y:.1f}) m"
        return f"{what}: of {len(self.status)}, {words}"

    def some(self, which: Any) -> Trials:
        """Some of the rollouts, by a slice or an array of rows."""
        return Trials(**{one.name: getattr(self, one.name)[which] for one in dataclasses.fields(self)})


class Roller:
    """Models on a ground with a cost, for batch after batch: with M models, N/M of N rollouts are of each."""

    def __init__(
        self,
        models: Kinematics | Dynamics | Sequence[Kinematics | Dynamics],
        ground: Terrain,
        cost: Cost | None = None,
        *,
        dt: float,
        limits: Limits | None = None,
        powertrain: Powertrain | None = None,
        keep_out: KeepOut | None = None,
        effort: Effort | None = None,
        bounds: Bounds | None = None,
        threads: int | None = None,
    ) -> None:
        """For steps of dt [s]. limits: None applies none. powertrain: from commands to motion; None follows at once."""
        self.models = list(models) if isinstance(models, Sequence) else [models]
        for model in self.models:
            check_model(model, ground)
        self.model, self.ground, self.dt = self.models[0], ground, checked.positive(dt, "dt")
        self.cost = Cost() if cost is None else checked.instance(cost, Cost, "cost", "use gr.plan.Cost(…)")
        self.limits, self.powertrain, self.keep_out = limits, powertrain, keep_out
        self.effort, self.bounds = effort or Effort(), bounds or Bounds()
        self.threads = thread_count(threads)
        self._rooms: dict[tuple[int, int], Room] = {}

    def run(
        self,
        wanted: FloatArray,
        starts: FloatArray,
        *,
        velocities: FloatArray | None = None,
        past: FloatArray | None = None,
        moving: FloatArray | None = None,
        disturbance: Disturbance | None = None,
        reference: FloatArray | None = None,
        segment: int = 0,
        record: bool = False,
    ) -> Trials:
        """Roll out commands (N, T, 3) from states (nq,) or (N, nq), those of dynamics with velocities (N, nv).

        past: commands issued before, the last one last, (m, 3); moving: what the powertrain makes of them now, (3,).
        reference: x, y [m], yaw [rad] at each step, (M, T, 3), to which rollout n % M is steered by feedback.
        segment: of the path of the cost, near which they start.
        """
        n, steps = wanted.shape[:2]
        driving = self.driving(past, moving)
        key = n, len(driving.past)
        room = self._rooms.get(key)
        if room is None or steps > room.most_steps:
            if len(self._rooms) >= ROOMS:
                self._rooms.clear()
            # A quarter more: a planner often asks for a few steps more next.
            room = self._rooms[key] = Room(self, n, steps + steps // 4, len(driving.past))
        room.batch.repoint(steps=steps)
        room.prepare(driving, starts, velocities, record, segment)
        noise = disturbance or QUIET
        room.trial.repoint(
            wanted=wanted,
            white=noise.white,
            wander=noise.wander,
            by_distance=noise.by_distance,
            reference=np.zeros((0, 0, 3)) if reference is None else reference,
            tip_limit=self.bounds.tip_margin,
            reach=self.reach,
        )
        room.run()
        return self._trials(room.batch, room.trial.sums, steps)

    def replace_models(self, models: Sequence[Kinematics | Dynamics]) -> None:
        """Use other models of the same vehicle, as many as before."""
        if len(models) != len(self.models):
            raise PlanError(f"models: are {len(models)}, were {len(self.models)}; give as many")
        self.models, self.model = list(models), models[0]
        self._rooms.clear()

    def replace_cost(self, cost: Cost) -> None:
        """Use another cost."""
        self.cost = cost
        self._rooms.clear()

    @cached_property
    def in_lanes(self) -> bool:
        """Whether eight rollouts take as long as one."""
        past = len(self.driving(None, None).past)
        room = self._rooms[LANES, past] = Room(self, LANES, FIRST_STEPS, past)
        return room.in_lanes

    @property
    def reach(self) -> float:
        """Distance from the body's origin that is kept free [m]."""
        return half_width(self.model.vehicle) if self.bounds.reach is None else self.bounds.reach

    def driving(self, past: FloatArray | None, moving: FloatArray | None) -> Driving:
        """What turns commands into joint rates, after these commands; see `run`."""
        limits, train = self.limits, self.powertrain or Powertrain(time_constant=0.0)
        endless = np.full(3, math.inf)
        if past is None:
            past = np.zeros((1, 3)) if moving is None else np.reshape(moving, (1, 3))
        lag, delay = train.time_constant / self.dt, train.delay / self.dt
        part = delay - math.floor(delay)
        missing = max(math.ceil(delay) + 1 - len(past), 0)
        past = np.concatenate([np.repeat(past[:1], missing, axis=0), past])
        return Driving(
            steering=steering_plan(self.model.vehicle),
            least=-endless if limits is None else limits.least,
            most=endless if limits is None else limits.most,
            change=endless if limits is None else limits.change,
            curvature=math.inf if limits is None else limits.curvature,
            gain=train.gain,
            delay=delay,
            left_early=math.exp(-part / lag) if lag > 0.0 else float(part == 0.0),
            left_late=math.exp((part - 1.0) / lag) if lag > 0.0 else 0.0,
            lag=lag,
            past=past,
            moving=past[-1] if moving is None else moving,
        )

    def _trials(self, batch: Any, sums: FloatArray, steps: int) -> Trials:
        ends = batch.ends
        done = ends[:, TAKEN]
        failed = ends[:, STATUS] != 0
        cost = sums[:, COST] + np.where(failed, self.cost.failure * (2.0 - done / steps), 0.0)
        states = batch.states
        if states.shape[1]:
            for i in np.flatnonzero(failed):
                states[i, done[i] + 1 :] = batch.q[i]
        return Trials(
            cost=cost,
            status=STATUSES[ends[:, STATUS]],
            steps=done.copy(),
            final_state=batch.q.copy(),
            final_velocity=batch.v.copy(),
            least_tip_margin=sums[:, LEAST_TIP].copy(),
            largest_slip=sums[:, LARGEST_SLIP].copy(),
            energy=sums[:, ENERGY].copy(),
            distance=sums[:, DISTANCE].copy(),
            clearance=sums[:, CLEARANCE].copy(),
            duration=done * self.dt,
            state=states,
        )


def roller_for(model: Any, ground: Terrain, cost: Cost | None, **options: Any) -> Roller:
    """What rolls out a model, or both of an `Auto`."""
    from grouser.plan.fidelity import Auto, AutoRoller

    return (AutoRoller if isinstance(model, Auto) else Roller)(model, ground, cost, **options)


def roll_out(
    model: Kinematics | Dynamics | Auto,
    ground: Terrain,
    twists: ArrayLike,
    *,
    start: ArrayLike | None = None,
    dt: float = 0.08,
    cost: Cost | None = None,
    velocity: ArrayLike | None = None,
    record: bool = False,
    disturbance: Disturbance | None = None,
    **options: Any,
) -> Trials:
    """Roll out commands (N, T, 3): forward, left [m/s] and turn [rad/s] of the drive point, each held for dt [s].

    start: (x, y, yaw), a whole state, or one of these for each, (N, 3) or (N, nq). velocity: of dynamics, (nv,) or
    (N, nv); None is at rest. record: every state is kept. options: limits, powertrain, keep_out, effort, bounds and
    threads, as in `Roller`. Results are the same bytes for any number of threads.
    """
    roller = roller_for(model, ground, cost, dt=dt, **options)
    wanted = checked.array(twists, "twists", (None, None, 3))
    if wanted.shape[0] == 0 or wanted.shape[1] == 0:
        raise PlanError(f"twists: have shape {wanted.shape}; at least one rollout of one step is needed")
    starts = start_states(roller.model, ground, start, len(wanted))
    velocities = None
    if velocity is not None:
        given = checked.real(velocity, "velocity")
        velocities = np.broadcast_to(given, (len(wanted), 6 + roller.model.vehicle.n_joints))
    return roller.run(wanted, starts, velocities=velocities, record=record, disturbance=disturbance)


def start_states(model: Any, ground: Terrain, start: ArrayLike | None, n: int) -> FloatArray:
    """States that n rollouts begin with, (n, nq)."""
    if start is not None and np.ndim(start) == 2:
        rows = checked.real(start, "start")
        if len(rows) != n:
            raise PlanError(f"start: has {len(rows)} rows for {n} rollouts; give one each, or one for all")
        if rows.shape[1] == 7 + model.vehicle.n_joints:
            return rows
        return np.array([start_state(model.vehicle, ground, row, model.penetration) for row in rows])
    return np.repeat(start_state(model.vehicle, ground, start, model.penetration)[None], n, axis=0)
