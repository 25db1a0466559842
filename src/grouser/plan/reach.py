"""The command that ends at a pose on rough ground, by Newton's method on rollouts, Howard and Kelly 2007."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from grouser.checks import Checker, FloatArray
from grouser.errors import PlanError
from grouser.plan.guesses import guesses
from grouser.plan.limits import Limits
from grouser.plan.shapes import ROOM, Shape, excess
from grouser.plan.trials import MEANING, Roller, Trials, start_states
from grouser.vehicles import Vehicle

if TYPE_CHECKING:
    from grouser.dynamics import Dynamics
    from grouser.kinematics import Kinematics
    from grouser.simulation.drive import Drive
    from grouser.terrain import Terrain

checked = Checker(PlanError)
DIFFERENCE = 0.01
"""Change of a number [m, rad] by which slopes on rough ground are found: their kinks are smaller than its effect."""
SHARES = np.array([1.0, 0.6, 0.3, 0.1])
"""Shares of a step that are tried at once."""
GAIN = 0.7
"""A step that leaves more than this share of the error has poor slopes."""
POOR = 3
"""Such steps before the next shape is tried: the end jumps with small changes there."""
ITERATIONS = 12
"""Newton steps before the next shape is tried."""
REPEATS = 4
"""Times that a shape is solved, each time slower or less curved if its commands came out above their limits."""
STILL = 5.0
"""Time constants of the powertrain until the vehicle stands."""


@dataclass(frozen=True, eq=False)
class Reach:
    """A drive to a pose."""

    reached: bool
    """Whether it ends there, within tolerance and limits."""
    reason: str
    """In words, why not; or "reached"."""
    pose: FloatArray
    """Where it was to end (x, y [m], yaw [rad]), (3,)."""
    twists: FloatArray
    """Commands forward, left [m/s] and turn [rad/s], each held for dt, (T, 3); from rest to rest."""
    dt: float
    """[s]."""
    distance: float
    """Driven [m]."""
    error: tuple[float, float]
    """Of the end: position [m] and yaw [rad], without sign."""
    iterations: int
    """Newton steps of all shapes that were tried."""
    rollouts: int
    """Rollouts taken."""
    final_state: FloatArray
    """State at the end, (nq,)."""
    least_tip_margin: float
    """[rad]."""
    energy: float
    """Of the motors [J]."""
    vehicle: Vehicle = field(repr=False)
    """That drives."""

    @property
    def duration(self) -> float:
        """[s]."""
        return len(self.twists) * self.dt

    def drive(self) -> Drive:
        """For `gr.simulate` with steps of dt, without a powertrain."""
        from grouser.simulation import drive

        # Rows begin half a step early, so that rounding of the time does not matter.
        begin = np.maximum(np.arange(len(self.twists)) - 0.5, 0.0) * self.dt
        rows = zip(begin.tolist(), self.twists.tolist(), strict=True)
        return drive.schedule([(t, drive.twist(*row)) for t, row in rows])


def reach(
    model: Kinematics | Dynamics,
    ground: Terrain,
    start: ArrayLike | None,
    pose: ArrayLike,
    *,
    dt: float = 0.08,
    limits: Limits | None = None,
    tolerance: tuple[float, float] = (1e-3, 1e-2),
    **options: Any,
) -> Reach:
    """Find commands that bring a vehicle from rest at `start` to rest at a pose (x, y [m], yaw [rad]).

    start: (x, y, yaw), a whole state, or None for the origin. limits: None are those of the vehicle. tolerance: of the
    end's position [m] and yaw [rad]. options: powertrain, keep_out, effort and bounds, as in `Roller`. Curves with a
    cubic turn are tried, then arcs with cusps, or turns on the spot, the quickest first, each corrected by rollouts.
    """
    vehicle = model.vehicle
    limits = (
        Limits.of(vehicle) if limits is None else checked.instance(limits, Limits, "limits", "use gr.plan.Limits(…)")
    )
    wanted = np.array(checked.numbers(pose, 3, "pose"))
    close = np.array([checked.positive(one, "tolerance") for one in checked.numbers(tolerance, 2, "tolerance")])
    state = start_states(model, ground, start, 1)
    xmin, xmax, ymin, ymax = ground.bounds
    if not (xmin <= wanted[0] <= xmax and ymin <= wanted[1] <= ymax):
        where = f"x {xmin:g} to {xmax:g} m, y {ymin:g} to {ymax:g} m"
        raise PlanError(f"pose: x = {wanted[0]:g}, y = {wanted[1]:g} m is outside the map, {where}")
    roller = Roller(model, ground, dt=dt, threads=1, **options)
    solver = _Solver(roller, limits, state, wanted, close)
    for shape in guesses(*solver.relative(wanted), limits, roller.dt):
        if solver.solve(shape):
            break
    return solver.result()


class _Solver:
    """Newton's method on the end of rollouts from one start to one pose."""

    def __init__(self, roller: Roller, limits: Limits, state: FloatArray, pose: FloatArray, close: FloatArray) -> None:
        self.roller, self.limits, self.state, self.pose, self.close = roller, limits, state, pose, close
        self.point = np.array(roller.model.vehicle.drive_point)
        self.origin = at_point(planar_pose(state), self.point)[0]
        self.aim = at_point(pose[None], self.point)[0]
        train = roller.powertrain
        self.rest = 0 if train is None else math.ceil((train.delay + STILL * train.time_constant) / roller.dt)
        self.iterations = self.rollouts = 0
        self.best: tuple[float, FloatArray, Trials] | None = None
        self.reason = "no drive within the limits leads there, even on level ground"

    def relative(self, pose: FloatArray) -> tuple[float, float, float]:
        """The pose of the drive point from where it is at the start."""
        away = at_point(pose[None], self.point)[0] - self.origin
        c, s = math.cos(self.origin[2]), math.sin(self.origin[2])
        return c * away[0] + s * away[1], c * away[1] - s * away[0], math.remainder(away[2], math.tau)

    def solve(self, shape: Shape) -> bool:
        """Whether this shape comes to the pose within limits; slower, if its commands come out too large."""
        shape = level(shape, self.relative(self.pose))
        for _ in range(REPEATS):
            values = self._newton(shape)
            if values is None:
                return False
            speed, change, curvature = excess(shape.twists(values[None])[0], self.limits, self.roller.dt)
            if max(speed, change, curvature) <= 1.0 + 1e-9:
                self.reason = "reached"
                return True
            if curvature > 1.0 + 1e-9:
                shape = shape.within(values, ROOM * self.limits.curvature)
                self.reason = "on this ground it would have to turn more tightly than it can"
            else:
                shape = shape.slower(values, self.limits)
                self.reason = "its commands stay above their limits"
        return False

    def _roll(self, shape: Shape, values: FloatArray) -> tuple[FloatArray, FloatArray, Trials]:
        """Gaps of the ends (N, 3), in axes of the start, sizes of them relative to the tolerance (N,), rollouts."""
        twists = shape.twists(values)
        if self.rest:
            twists = np.concatenate([twists, np.zeros((len(values), self.rest, 3))], axis=1)
        trials = self.roller.run(twists, np.repeat(self.state, len(values), axis=0))
        self.rollouts += len(values)
        ends = planar_pose(trials.final_state)
        off = self.pose - ends
        size = np.maximum(np.hypot(off[:, 0], off[:, 1]) / self.close[0], np.abs(wrapped(off[:, 2])) / self.close[1])
        size[~trials.ok] = math.inf
        gap = self.aim - at_point(ends, self.point)
        c, s = math.cos(self.origin[2]), math.sin(self.origin[2])
        gap = np.stack([c * gap[:, 0] + s * gap[:, 1], c * gap[:, 1] - s * gap[:, 0], wrapped(gap[:, 2])], axis=1)
        k = int(np.argmin(size))
        if self.best is None or size[k] < self.best[0] or (size[k] <= 1.0 and self.reason != "reached"):
            self.best = float(size[k]), twists[k], one_of(trials, k)
        return gap, size, trials

    def _newton(self, shape: Shape) -> FloatArray | None:
        """The numbers of the shape that end at the pose; None if none are found.

        Slopes are first those of level ground, corrected by what each step does (Broyden); if a step gains little,
        they are found by differences on the ground itself.
        """
        values = shape.values
        slopes = shape.planar_end(values)[1]
        gaps, sizes, trials = self._roll(shape, values[None])
        gap, size = gaps[0], float(sizes[0])
        if not trials.ok[0]:
            self.reason = MEANING[str(trials.status[0])]
            return None
        exact, poor = False, 0
        for _ in range(ITERATIONS):
            if size <= 1.0:
                return values
            self.iterations += 1
            shares = SHARES if exact else SHARES[:1]
            tried = values + shares[:, None] * shape.step(slopes, gap)
            gaps, sizes, _ = self._roll(shape, tried)
            k = int(np.argmin(sizes))
            gained = sizes[k] < GAIN * size
            if sizes[k] < size:
                change = tried[k] - values
                slopes = slopes + np.outer(gap - gaps[k] - slopes @ change, change) / (change @ change)
                values, gap, size = tried[k], gaps[k], float(sizes[k])
            poor += not gained
            if poor > POOR:
                break
            if not gained and size > 1.0:
                found = self._slopes(shape, values, gap, 0.3 * DIFFERENCE if exact else DIFFERENCE)
                if found is None:
                    break
                slopes = found
            exact = not gained
        self.reason = "Newton's method does not converge there"
        return values if size <= 1.0 else None

    def _slopes(self, shape: Shape, values: FloatArray, gap: FloatArray, by: float) -> FloatArray | None:
        """Slopes of the end (3, n) by differences on the ground."""
        gaps, sizes, _ = self._roll(shape, values + by * np.eye(len(values)))
        return np.asarray((gap - gaps).T / by) if np.isfinite(sizes).all() else None

    def result(self) -> Reach:
        """What was found, or the nearest to it."""
        if self.best is None:
            model = self.roller.model
            return Reach(
                reached=False, reason=self.reason, pose=self.pose, twists=np.zeros((0, 3)), dt=self.roller.dt,
                distance=0.0, error=_error(self.pose, self.state), iterations=0, rollouts=0, final_state=self.state[0],
                least_tip_margin=math.nan, energy=0.0, vehicle=model.vehicle,
            )  # fmt: skip
        size, twists, trials = self.best
        return Reach(
            reached=self.reason == "reached" and size <= 1.0,
            reason=self.reason,
            pose=self.pose,
            twists=twists,
            dt=self.roller.dt,
            distance=float(trials.distance[0]),
            error=_error(self.pose, trials.final_state),
            iterations=self.iterations,
            rollouts=self.rollouts,
            final_state=trials.final_state[0],
            least_tip_margin=float(trials.least_tip_margin[0]),
            energy=float(trials.energy[0]),
            vehicle=self.roller.model.vehicle,
        )


def level(shape: Shape, pose: tuple[float, float, float]) -> Shape:
    """The shape with numbers that end at a pose from the start on level ground, with its steps."""
    values = shape.values
    for _ in range(4):
        end, slopes = shape.planar_end(values)
        gap = np.array(pose) - end
        gap[2] = math.remainder(gap[2], math.tau)
        values = values + shape.step(slopes, gap)
    return Shape(values, shape.basis, shape.dt, shape.pieces) if np.isfinite(values).all() else shape


def planar_pose(states: FloatArray) -> FloatArray:
    """x, y [m] and yaw [rad] of states (N, nq), (N, 3)."""
    w, x, y, z = states[:, :4].T
    yaw = np.arctan2(2.0 * (x * y + w * z), 1.0 - 2.0 * (y * y + z * z))
    return np.column_stack([states[:, 4:6], yaw])


def at_point(poses: FloatArray, point: FloatArray) -> FloatArray:
    """Poses (N, 3) of the body as those of a point of it."""
    c, s = np.cos(poses[:, 2]), np.sin(poses[:, 2])
    x, y = point
    return np.asarray(poses + np.stack([c * x - s * y, s * x + c * y, np.zeros(len(poses))], axis=1))


def wrapped(angles: FloatArray) -> FloatArray:
    """Angles within ±π."""
    return np.asarray(angles - math.tau * np.round(angles / math.tau))


def one_of(trials: Trials, k: int) -> Trials:
    """Rollout k alone."""
    return Trials(**{one.name: getattr(trials, one.name)[k : k + 1] for one in dataclasses.fields(trials)})


def _error(pose: FloatArray, states: FloatArray) -> tuple[float, float]:
    off = pose - planar_pose(states[:1])[0]
    return math.hypot(off[0], off[1]), abs(math.remainder(off[2], math.tau))
