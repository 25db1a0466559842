"""Newton's method on the end of rollouts: the numbers of a shape that end at a pose, Howard and Kelly 2007."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from grouser.checks import FloatArray
from grouser.collision.frames import planar_pose
from grouser.kinematics import Kinematics
from grouser.once import once_each
from grouser.plan.limits import Limits
from grouser.plan.shapes import ROOM, Shape, excess
from grouser.plan.trials import MEANING, Roller, Trials, start_states
from grouser.rotation import wrapped
from grouser.terrain import plane
from grouser.vehicles import Vehicle

if TYPE_CHECKING:
    from grouser.dynamics import Dynamics

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
SETTLE = 0.5
"""Time until the body of a dynamic model stands still [s]."""
SCALES = 0.3, 3.0
"""Range of the ratio of true to commanded way and turn."""
NEAR = 50.0
"""Error relative to the tolerance below which jumps of the end keep Newton's method from converging."""
ASIDE = 0.01 * np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
"""Changes of the numbers [m, rad] that do not move the end to first order: a path a little aside has other jumps."""
UNCONVERGED = "Newton's method does not converge there"


@dataclass(frozen=True)
class Solution:
    """The best that was found."""

    size: float
    """Error of its end relative to the tolerance."""
    shape: Shape
    """Its numbers give the commands."""
    twists: FloatArray
    """Commands with those until it stands, (T, 3)."""
    trials: Trials
    """The rollout."""


class Learned:
    """What rollouts show of a shape: end(values) ≈ end on level ground of scaled numbers + slopes · values + rest.

    The scales, of ways and of turns, are found from the first rollout: rough ground makes ways longer, and skidding
    makes turns smaller. The slopes are corrected by each further rollout (Broyden).
    """

    def __init__(self, shape: Shape, ratios: FloatArray) -> None:
        """ratios: of true to commanded way and turn, to begin with."""
        self.ratios = ratios
        self.scale: FloatArray = np.where(shape.is_way, ratios[0], ratios[1])
        self.more = np.zeros((3, len(shape.values)))

    def find_scales(self, shape: Shape, values: FloatArray, end: FloatArray) -> None:
        """Ratios of true to commanded way and turn that explain where a rollout ended, from the start, (3,)."""
        parts = np.stack([shape.is_way * values, ~shape.is_way * values])
        ratio = self.ratios
        for _ in range(4):
            level, slopes = shape.planar_end(ratio @ parts)
            off = end - level
            off[2] = math.remainder(off[2], math.tau)
            J = slopes @ parts.T
            # What a rollout does not show, as the turn of a straight drive, stays.
            step = np.linalg.solve(J.T @ J + 1e-2 * np.eye(2), J.T @ off + 1e-2 * (self.ratios - ratio))
            ratio = np.clip(ratio + step, *SCALES)
        self.ratios, self.scale = ratio, np.where(shape.is_way, ratio[0], ratio[1])

    def closed(self, shape: Shape, values: FloatArray, gap: FloatArray) -> FloatArray:
        """Numbers that close a gap (3,) of the end, on level ground of these scales."""
        target = shape.planar_end(self.scale * values)[0] + gap
        for _ in range(4):
            end, slopes = shape.planar_end(self.scale * values)
            values = values + shape.step(slopes * self.scale, target - end)
        return values

    def slopes(self, shape: Shape, values: FloatArray) -> FloatArray:
        """Of the end by the numbers, (3, n)."""
        return np.asarray(shape.planar_end(self.scale * values)[1] * self.scale + self.more)

    def correct(self, slopes: FloatArray, change: FloatArray, moved: FloatArray) -> None:
        """A change of the numbers moved the end by this, (3,)."""
        self.more = self.more + np.outer(moved - slopes @ change, change) / (change @ change)


class Solver:
    """Newton's method from one start to one pose."""

    def __init__(self, roller: Roller, limits: Limits, state: FloatArray, pose: FloatArray, close: FloatArray) -> None:
        self.roller, self.limits, self.state, self.pose, self.close = roller, limits, state, pose, close
        self.point = drive_point(roller.model.vehicle)
        self.origin = at_point(planar_pose(state), self.point)[0]
        self.aim = at_point(pose[None], self.point)[0]
        train = roller.powertrain
        still = 0.0 if train is None else train.delay + STILL * train.time_constant
        still += 0.0 if isinstance(roller.model, Kinematics) else SETTLE
        self.rest = math.ceil(still / roller.dt - 1e-9)
        self.ratios = plane_ratios(roller.model)
        self.iterations = self.rollouts = 0
        self.best: Solution | None = None
        self.reached = False
        self.reasons: list[str] = []
        self._ended = "ok"

    @property
    def reason(self) -> str:
        """In words, "reached" or what kept the quickest shape from the pose; what ends rollouts comes first."""
        if self.reached:
            return "reached"
        met = [one for one in self.reasons if one in MEANING.values()]
        return (met or self.reasons or ["no drive within the limits leads there, even on level ground"])[0]

    def relative(self, pose: FloatArray) -> tuple[float, float, float]:
        """The pose of the drive point from where it is at the start."""
        away = at_point(pose[None], self.point)[0] - self.origin
        c, s = math.cos(self.origin[2]), math.sin(self.origin[2])
        return c * away[0] + s * away[1], c * away[1] - s * away[0], math.remainder(away[2], math.tau)

    def solve(self, shape: Shape) -> bool:
        """Whether this shape comes to the pose within limits; slower, if its commands come out too large."""
        shape = level(shape, self.relative(self.pose))
        learned = Learned(shape, self.ratios)
        shape = self._in_time(shape.with_values(shape.values / learned.scale))
        reason = ""
        for repeat in range(REPEATS):
            found = self._newton(shape, learned, fresh=repeat == 0)
            if found is None:
                ended = self._ended
                self.reasons.append(reason or (UNCONVERGED if ended == "ok" else MEANING[ended]))
                return False
            shape = found
            over, curved = self._excess(shape)
            if max(over, curved) <= 1.0 + 1e-9:
                self.reached = True
                return True
            if curved > 1.0 + 1e-9:
                shape = shape.within(shape.values, ROOM * self.limits.curvature)
                reason = "on this ground it would have to turn more tightly than it can"
            else:
                shape = shape.slower(shape.values, self.limits)
                reason = "its commands stay above their limits"
        self.reasons.append(reason)
        return False

    def _excess(self, shape: Shape) -> tuple[float, float]:
        """Largest ratios of its commands to the limits: speeds and their changes; curvature."""
        speed, change, curvature = excess(shape.twists(shape.values[None])[0], self.limits, self.roller.dt)
        return max(speed, change), curvature

    def _roll(self, shape: Shape, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Gaps of the ends (N, 3), in axes of the start, and sizes of them relative to the tolerance (N,)."""
        twists = shape.twists(values)
        if self.rest:
            twists = np.concatenate([twists, np.zeros((len(values), self.rest, 3))], axis=1)
        trials = self.roller.run(twists, self.state)
        self.rollouts += len(values)
        ends = planar_pose(trials.final_state)
        off = self.pose - ends
        size = np.maximum(np.hypot(off[:, 0], off[:, 1]) / self.close[0], np.abs(wrapped(off[:, 2])) / self.close[1])
        size[~trials.ok] = math.inf
        gap = self.aim - at_point(ends, self.point)
        c, s = math.cos(self.origin[2]), math.sin(self.origin[2])
        gap = np.stack([c * gap[:, 0] + s * gap[:, 1], c * gap[:, 1] - s * gap[:, 0], wrapped(gap[:, 2])], axis=1)
        k = int(np.argmin(size))
        self._ended = str(trials.status[0])
        # One that is close enough gives way to a later one: that is within limits, or nearer to them.
        if self.best is None or size[k] < self.best.size or size[k] <= 1.0:
            self.best = Solution(float(size[k]), shape.with_values(values[k]), twists[k], one_of(trials, k))
        return gap, size

    def _newton(self, shape: Shape, learned: Learned, fresh: bool) -> Shape | None:
        """The shape with numbers that end at the pose; None if none are found. fresh: nothing was learned of it yet.

        Slopes are first those of level ground with scales, corrected by what each step does; if a step gains little,
        they are found by differences on the ground itself.
        """
        values = shape.values
        gaps, sizes = self._roll(shape, values[None])
        gap, size = gaps[0], float(sizes[0])
        if size == math.inf:
            return None
        if fresh and size > 1.0:
            learned.find_scales(shape, values, np.array(self.relative(self.pose)) - gap)
            shape = self._in_time(shape.with_values(learned.closed(shape, values, gap)))
            values = shape.values
            self.iterations += 1
            gaps, sizes = self._roll(shape, values[None])
            gap, size = gaps[0], float(sizes[0])
            if size == math.inf:
                return None
        exact, poor = False, 0
        for _ in range(ITERATIONS):
            if size <= 1.0:
                return shape.with_values(values)
            self.iterations += 1
            slopes = learned.slopes(shape, values)
            step = shape.step(slopes, gap)
            tried = values + (SHARES[:, None] * step if exact else step[None])
            if exact and size < NEAR:
                tried = np.concatenate([tried, values + step + shape.aside(slopes, ASIDE)])
            gaps, sizes = self._roll(shape, tried)
            k = int(np.argmin(sizes))
            gained = sizes[k] < GAIN * size
            if sizes[k] < size:
                learned.correct(slopes, tried[k] - values, gap - gaps[k])
                values, gap, size = tried[k], gaps[k], float(sizes[k])
            poor += not gained
            if poor > POOR:
                break
            if not gained and size > 1.0:
                found = self._slopes(shape, values, gap, 0.3 * DIFFERENCE if exact else DIFFERENCE)
                if found is None:
                    break
                learned.more = learned.more + found - learned.slopes(shape, values)
            exact = not gained
        return shape.with_values(values) if size <= 1.0 else None

    def _in_time(self, shape: Shape) -> Shape:
        """The shape, slower where its commands are above their limits, before more rollouts are spent on it."""
        over, curved = self._excess(shape)
        return shape.slower(shape.values, self.limits) if over > 1.0 and curved <= 1.0 else shape

    def _slopes(self, shape: Shape, values: FloatArray, gap: FloatArray, by: float) -> FloatArray | None:
        """Slopes of the end (3, n) by differences on the ground."""
        gaps, sizes = self._roll(shape, values + by * np.eye(len(values)))
        return np.asarray((gap - gaps).T / by) if np.isfinite(sizes).all() else None


@once_each
def plane_ratios(model: Kinematics | Dynamics) -> FloatArray:
    """Ratios of true to commanded way and turn of a gentle arc on a plane, once wheels have steered to it, (2,)."""
    arc = np.array([0.5, 0.0, 0.1])
    roller = Roller(model, plane(), dt=0.05, threads=1)
    trials = roller.run(np.tile(arc, (1, 120, 1)), start_states(model, roller.ground, None, 1), record=True)
    if not trials.ok[0]:
        return np.ones(2)
    before, after = at_point(planar_pose(trials.state[0, [60, 120]]), drive_point(model.vehicle))
    turned = float(after[2] - before[2])
    way = math.hypot(*(after - before)[:2]) / np.sinc(0.5 * turned / math.pi)  # the arc over a chord
    return np.asarray(np.clip([way / (3.0 * arc[0]), turned / (3.0 * arc[2])], *SCALES))


def level(shape: Shape, pose: tuple[float, float, float]) -> Shape:
    """The shape with numbers that end at a pose from the start on level ground, with its steps."""
    values = shape.values
    for _ in range(4):
        end, slopes = shape.planar_end(values)
        gap = np.array(pose) - end
        gap[2] = math.remainder(gap[2], math.tau)
        if np.abs(gap).max() < 1e-9:
            break
        values = values + shape.step(slopes, gap)
    return shape.with_values(values) if np.isfinite(values).all() else shape


@once_each
def drive_point(vehicle: Vehicle) -> FloatArray:
    """The point (x, y) of the body that commands are of [m], (2,)."""
    return np.array(vehicle.drive_point)


def at_point(poses: FloatArray, point: FloatArray) -> FloatArray:
    """Poses (N, 3) of the body as those of a point of it."""
    c, s = np.cos(poses[:, 2]), np.sin(poses[:, 2])
    x, y = point
    return np.asarray(poses + np.stack([c * x - s * y, s * x + c * y, np.zeros(len(poses))], axis=1))


def one_of(trials: Trials, k: int) -> Trials:
    """Rollout k alone."""
    return Trials(**{one.name: getattr(trials, one.name)[k : k + 1] for one in dataclasses.fields(trials)})
