"""Newton's method on the end of rollouts: the numbers of a shape that end at a pose, Howard and Kelly 2007."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from grouser._compile.lanes import LANES
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

SHARES = np.array([1.0, 0.5])
"""Shares of a step that are tried at once."""
ASIDE = np.array([[0.02, 0.0], [-0.02, 0.0], [0.0, 0.02], [0.0, -0.02], [0.1, 0.0], [-0.1, 0.0]])
"""Changes of the numbers [m, rad] that do not move the end to first order: some pass or end where others do not."""
DIFFERENCE = 0.06
"""Change of each number [m, rad] by which slopes are found, at first and after a step that gained little."""
NOISE = 1e-5
"""Square of the jumps of the end on rough ground [m, rad] over the errors of slopes that they are weighed against."""
GAIN = 0.7
"""A step that leaves more than this share of the error has poor slopes."""
POOR = 3
"""Such steps before something else is tried."""
ITERATIONS = 12
"""Newton steps before something else is tried."""
EASE = 0.85
"""Share of the speeds and of their changes that a guess uses, as corrections take more."""
REPEATS = 3
"""Times that a shape is solved, each time slower or less curved if its commands came out above their limits."""
STILL = 5.0
"""Time constants of the powertrain until the vehicle stands."""
SETTLE = 0.5
"""Time until the body of a dynamic model stands still [s]."""
SCALES = 0.3, 3.0
"""Range of the ratio of true to commanded way and turn."""
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
    """A model of a shape, learned from rollouts: end(values) ≈ level end(scaled values) + slopes · values + rest.

    The scales, of distances and of turns, are found from the first rollout: rough ground makes paths longer, and
    skidding makes turns smaller. The slopes are corrected by each further rollout (Broyden).
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

    def correct(self, slopes: FloatArray, changes: FloatArray, moved: FloatArray) -> None:
        """Changes of the numbers (N, n) moved the end by these, (N, 3): the least correction, as Broyden's."""
        square = changes.T @ changes + NOISE * np.eye(changes.shape[1])
        self.more = self.more + np.linalg.solve(square, changes.T @ (moved - changes @ slopes.T)).T


class Solver:
    """Newton's method from one start to one pose."""

    def __init__(
        self,
        roller: Roller,
        limits: Limits,
        state: FloatArray,
        pose: FloatArray,
        close: FloatArray,
        velocity: FloatArray | None = None,
    ) -> None:
        """From a state (1, nq), and for dynamics a velocity (1, nv), to x, y, yaw within `close` [m, rad]."""
        self.roller, self.limits, self.state, self.pose, self.close = roller, limits, state, pose, close
        self.velocity = velocity
        self.easy = eased(limits)
        self.point = drive_point(roller.model.vehicle)
        self.origin = at_point(planar_pose(state), self.point)[0]
        self.aim = self.relative(pose[None])[0]
        """The pose of the drive point from where it is at the start, x, y [m], yaw [rad]."""
        self.in_lanes = roller.in_lanes
        train = roller.powertrain
        still = 0.0 if train is None else train.delay + STILL * train.time_constant
        still += 0.0 if isinstance(roller.model, Kinematics) else SETTLE
        self.rest = math.ceil(still / roller.dt - 1e-9)
        self.ratios = plane_ratios(roller.model)
        self.iterations = self.rollouts = 0
        self.best: Solution | None = None
        self.nearest: Solution | None = None
        self.reasons: list[str] = []
        self._ended = "ok"

    @property
    def reason(self) -> str:
        """In words, what kept the quickest shape from the pose; what ends rollouts comes first."""
        met = [one for one in self.reasons if one in MEANING.values()]
        return (met or self.reasons or ["no drive within the limits leads there, even on level ground"])[0]

    def relative(self, poses: FloatArray) -> FloatArray:
        """Poses (N, 3) of the body as those of the drive point from where it is at the start."""
        x, y, yaw = (at_point(poses, self.point) - self.origin).T
        c, s = math.cos(self.origin[2]), math.sin(self.origin[2])
        return np.stack([c * x + s * y, c * y - s * x, wrapped(yaw)], axis=1)

    def solve(self, shape: Shape) -> bool:
        """Whether this shape comes to the pose within limits; slower, if its commands come out too large.

        `nearest` is the best of its rollouts then.
        """
        self.nearest = None
        learned = Learned(shape, self.ratios)
        shape = self._in_time(self.ready(shape))
        reason = ""
        for repeat in range(REPEATS):
            found = self._newton(shape, learned, fresh=repeat == 0)
            if found is None:
                ended = self._ended
                self.reasons.append(reason or (UNCONVERGED if ended == "ok" else MEANING[ended]))
                return False
            shape = found
            over, curved = self.excess(shape)
            if max(over, curved) <= 1.0 + 1e-9:
                return True
            reason = "its commands stay above their limits"
            if over > 1.0:
                shape = shape.slower(self.easy)
            if curved > 1.0:
                shape = shape.within(ROOM ** (1 + repeat) * self.limits.curvature)
                reason = "on this ground it would have to turn more tightly than it can"
        self.reasons.append(reason)
        return False

    def ready(self, shape: Shape) -> Shape:
        """The shape with numbers that end at the pose on a plane, where wheels slip as on any ground."""
        shape = level(shape, self.aim)
        return shape.with_values(shape.values / Learned(shape, self.ratios).scale)

    def screen(self, shapes: Sequence[Shape]) -> Trials:
        """Rollouts of some shapes as they are, all with rests until the longest ends."""
        steps = max(one.basis.shape[1] for one in shapes) + self.rest
        twists = np.zeros((len(shapes), steps, 3))
        for row, one in zip(twists, shapes, strict=True):
            row[: one.basis.shape[1]] = one.twists(one.values[None])[0]
        return self.run(twists)

    def run(self, twists: FloatArray) -> Trials:
        """Rollouts of commands (N, T, 3) from the start; fewer than eight take as long as eight."""
        n = len(twists)
        if self.in_lanes and n < LANES:
            twists = np.concatenate([twists, np.repeat(twists[-1:], LANES - n, axis=0)])
        velocities = None if self.velocity is None else np.repeat(self.velocity, len(twists), axis=0)
        trials = self.roller.run(twists, self.state, velocities=velocities)
        self.rollouts += n
        return trials if len(twists) == n else trials.some(slice(n))

    def sizes(self, trials: Trials) -> FloatArray:
        """Errors of the ends of rollouts relative to the tolerance, (N,); infinite for those that ended early."""
        off = self.pose - planar_pose(trials.final_state)
        size = np.maximum(np.hypot(off[:, 0], off[:, 1]) / self.close[0], np.abs(wrapped(off[:, 2])) / self.close[1])
        return np.where(trials.ok, size, math.inf)

    def excess(self, shape: Shape) -> tuple[float, float]:
        """Largest ratios of its commands to the limits: speeds and their changes; curvature."""
        speed, change, curvature = excess(shape.twists(shape.values[None])[0], self.limits, self.roller.dt)
        return max(speed, change), curvature

    def _roll(self, shape: Shape, values: FloatArray) -> tuple[FloatArray, FloatArray, int]:
        """Gaps of the ends (N, 3), in axes of the start, their sizes relative to the tolerance (N,), and the best."""
        twists = shape.twists(values)
        if self.rest:
            twists = np.concatenate([twists, np.zeros((len(values), self.rest, 3))], axis=1)
        trials = self.run(twists)
        size = self.sizes(trials)
        gap = self.aim - self.relative(planar_pose(trials.final_state))
        gap[:, 2] = wrapped(gap[:, 2])
        k = 0 if size[0] <= 1.0 else int(np.argmin(size))
        self._ended = str(trials.status[k])
        # One that is close enough gives way to a later one: that is within limits, or nearer to them.
        found = Solution(float(size[k]), shape.with_values(values[k]), twists[k], trials.some(slice(k, k + 1)))
        self.best, self.nearest = (
            found if one is None or found.size < one.size or found.size <= 1.0 else one
            for one in (self.best, self.nearest)
        )
        return gap, size, k

    def _newton(self, shape: Shape, learned: Learned, fresh: bool) -> Shape | None:
        """The shape with numbers that end at the pose; None if none are found. fresh: nothing was learned of it yet.

        Slopes are first those of level ground with scales, corrected by all rollouts: with each step some are made
        aside of it, which take no longer in lanes.
        """
        values, gap, size = shape.values, np.zeros(3), math.inf
        share, poor, lost = 1.0, 0, False
        for k in range(ITERATIONS):
            slopes = learned.slopes(shape, values)
            if size == math.inf:
                tried = np.concatenate([values[None], values + self._differences(shape)])
            else:
                step = shape.step(slopes, gap) if k != 1 or not fresh else learned.closed(shape, values, gap) - values
                tried = values + share * SHARES[:, None] * step
                more = self._differences(shape) if lost else share * step + shape.aside(slopes, ASIDE)
                tried = np.concatenate([tried, values + more])
            if not self.in_lanes and not lost:
                tried = tried[:1]
            gaps, sizes, b = self._roll(shape, tried)
            self.iterations += k > 0
            ok = np.isfinite(sizes)
            failed = not ok[:2].any()
            if sizes[b] <= 1.0:
                return shape.with_values(tried[b])
            if size == math.inf:
                if not ok.any() and self.in_lanes:
                    tried = values + shape.aside(slopes, ASIDE)
                    gaps, sizes, b = self._roll(shape, tried)
                    ok = np.isfinite(sizes)
                if not ok.any():
                    return None
                b = 0 if ok[0] else b
                if fresh:
                    learned.find_scales(shape, tried[b], self.aim - gaps[b])
                    slopes = learned.slopes(shape, tried[b])
            else:
                tried, gaps, ok = np.vstack([tried, values]), np.vstack([gaps, gap]), np.append(ok, True)
            gained, better = sizes[b] < GAIN * size, sizes[b] < size
            at = b if better else -1
            learned.correct(slopes, tried[ok] - tried[at], gaps[at] - gaps[ok])
            share = 1.0 if gained else (0.3 if failed else 0.6) * share
            poor += not gained
            lost = not gained and not lost
            if better:
                values, gap, size = tried[b], gaps[b], float(sizes[b])
            if poor > POOR:
                break
            if fresh and k == 0:
                shape = self._in_time(shape.with_values(values))
        return None

    def _differences(self, shape: Shape) -> FloatArray:
        """Changes of each number (n, n), those of turns to the side of the pose: mirrored for a mirrored pose."""
        _, y, yaw = self.aim
        side = math.copysign(DIFFERENCE, y if abs(y) > 1e-9 else yaw)
        return np.asarray(np.where(shape.is_way, DIFFERENCE, side)[:, None] * shape.metric.T)

    def _in_time(self, shape: Shape) -> Shape:
        """The shape, slower where its commands are above their limits, before more rollouts are spent on it."""
        over, curved = self.excess(shape)
        return shape.slower(self.easy) if over > 1.0 and curved <= 1.0 else shape


def eased(limits: Limits) -> Limits:
    """Limits of speeds and their changes with room for corrections."""
    names = "speed", "reverse", "lateral", "turn", "acceleration", "turn_acceleration"
    return dataclasses.replace(limits, **{name: EASE * getattr(limits, name) for name in names})


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


def level(shape: Shape, pose: FloatArray) -> Shape:
    """The shape with numbers that end at a pose from the start on level ground, with its steps."""
    values = shape.values
    for _ in range(4):
        end, slopes = shape.planar_end(values)
        gap = pose - end
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
