"""Model-predictive path integral control on rough ground, with an uncertain model and a bounded chance of failure.

Williams et al., "Information-theoretic model predictive control" (2018): sampled commands, weighed by their costs.
Here samples drive the 3D model, and the plan must pass a test by drives of drawn models before its first command is
given.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grouser import rotation
from grouser._kernels.plan.drive import issue_one
from grouser.checks import Checker, FloatArray
from grouser.collision.frames import planar_pose
from grouser.errors import PlanError
from grouser.plan.cost import Cost, Path, finite, segment_near
from grouser.plan.keep_out import KeepOut
from grouser.plan.limits import Limits, limits_for
from grouser.plan.places import check_on_map
from grouser.plan.room import driving_scratch
from grouser.plan.trials import Bounds, Disturbance, Effort, Roller, Trials, roller_for
from grouser.plan.uncertain import Uncertain
from grouser.simulation.drive import level_rates
from grouser.simulation.settle import start_state
from grouser.terrain import Terrain

checked = Checker(PlanError)
KNOT = 0.4
"""Time between the places at which sampled commands are drawn [s]; between them they are interpolated."""
ELITES = 8
"""Plans that are tested where the mean of the samples does not pass: half of them means of samples with more room."""
SHARE = 0.02
"""Share of the samples that weigh most: the temperature follows from it."""
SPREAD = np.array([0.35, 0.35, 0.4])
"""Sigma of the sampled commands, as a share of the range of forward, left and turn."""
TIGHTEN, LOOSEN = 0.25, 0.05
"""How much the margins of samples change, in sigmas, after a plan that did not pass, and after one that did."""
LEAST_TIGHT, MOST_TIGHT = -2.0, 3.0
"""Bounds of that change [sigmas]."""
STANDS = 0.1
"""Share of the way at full speed below which a plan is said to wait."""
ROOMY = 0.1
"""Share of the samples that is kept where fewer have the margins wanted: those with the most room."""
QUICKLY = 0.5
"""Time in which the difference between predicted and estimated motion becomes a bias of the planner's model [s]."""
SLOWEST = 0.3
"""Speed [m/s] below which that difference, per distance, is taken as if at this one."""


@dataclass(frozen=True, eq=False)
class Command:
    """What the vehicle is to do until the next command."""

    twist: FloatArray
    """Forward, left [m/s] and turn [rad/s] of the drive point, (3,)."""
    rates: FloatArray
    """Rates of the actuated joints [rad/s or m/s], (na,)."""
    risk: float
    """Chance that the plan fails within the horizon, by drives of drawn models, a ratio; of braking, if it brakes."""
    feasible: bool
    """Whether a plan passed; else the vehicle brakes."""
    reason: str
    """Why it brakes, or why it waits: that plans that move on do not pass; else empty."""
    plan: FloatArray
    """Commands of the plan: forward, left [m/s], turn [rad/s], (T, 3)."""
    path: FloatArray
    """x, y, z [m], yaw [rad] along the plan, (T + 1, 4)."""
    cost: float
    """Of the plan, dimensionless."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[np.float64]:
        return np.array(self.twist, dtype=dtype)


class Judged(NamedTuple):
    """Plans (E, T, 3), driven by the best model and by drawn ones."""

    plans: FloatArray
    """Forward, left [m/s], turn [rad/s], (E, T, 3)."""
    nominal: Trials
    """Of the best model."""
    tests: Trials | None
    """Of the drawn models, draws by plans."""
    risk: FloatArray
    """Share of the drawn models that fails within the horizon, a ratio, (E,)."""
    soon: FloatArray
    """Share that fails in the first step, a ratio, (E,)."""

    def passes(self, most: float) -> NDArray[np.bool_]:
        """Which plans the best model drives to their end with at most that risk, (E,)."""
        return np.asarray(self.nominal.ok & (self.risk <= most))


class MPPI:
    """A controller that samples commands, rolls them out in 3D and gives the mean of the best.

    >>> controller = gr.plan.MPPI(model, ground, gr.plan.Cost(gr.plan.Goal(8, 3)), risk=0.05)
    >>> command = controller.command(state)

    `risk` bounds the chance that a drive fails: that the vehicle tips, leaves the map, enters a keep-out or gets stuck
    between the first command and `reset`. It is a chance constraint, not CVaR, and it is kept as a budget. Each plan is
    tested by `draws` of the uncertain model, steered back to the plan by feedback, as planning again would. The share
    that fails within the horizon is the risk of the plan, the share that fails in its first step is the risk of the
    command. A plan passes if its risk is at most what is left: `risk` less the sum over the commands given so far.
    With exact draws the chance that a drive fails would be the mean of that sum, for a drive of any length. They are
    estimates: parameters are drawn as little known as at the start, the plan that passes is one that was lucky, and at
    2/risk draws the error of one test is up to 0.7 of `risk`. `python -m experiments planning` measures the rate.

    Samples must keep margins that grow until plans pass. If no plan passes, the vehicle brakes and says why; braking
    may cost more than is left. Afterwards only plans pass of which no draw fails.
    """

    def __init__(
        self,
        model: Any,
        ground: Terrain,
        cost: Cost,
        *,
        horizon: float = 2.8,
        dt: float = 0.08,
        samples: int = 1000,
        risk: float = 0.05,
        draws: int = 100,
        seed: int = 1,
        limits: Limits | None = None,
        keep_out: KeepOut | None = None,
        bounds: Bounds | None = None,
        effort: Effort | None = None,
        threads: int | None = None,
    ) -> None:
        """For a model (`Kinematics`, `Dynamics`, `Auto`, `Uncertain`, a motion model or a fit) on a ground.

        horizon, dt: how far it looks ahead and its step [s]; a command is for one step. risk: largest chance that the
        drive fails, from the first command to `reset`. draws: drives that test a plan; at least 2/risk are made.
        """
        self.uncertain = Uncertain.of(model)
        self.model, self.ground = self.uncertain.model, ground
        self.dt = checked.positive(dt, "dt")
        self.steps = max(2, round(checked.positive(horizon, "horizon") / self.dt))
        self.samples = checked.count(samples, "samples", least=8, most=1_000_000)
        self.risk = checked.number(risk, "risk")
        if not 0.0 <= self.risk < 1.0:
            raise PlanError(f"risk: {self.risk:g} is not a chance from 0 to below 1")
        self.seed = checked.count(seed, "seed", least=0, most=2**63 - 1)
        self.limits = limits_for(self.model.vehicle, limits)
        self.cost = checked.instance(cost, Cost, "cost", "use gr.plan.Cost(gr.plan.Goal(x, y))")
        checked.instance(ground, Terrain, "ground", "use gr.terrain.…")
        kinds = (keep_out, KeepOut, "keep_out"), (bounds, Bounds, "bounds"), (effort, Effort, "effort")
        for value, kind, name in kinds:
            if value is not None:
                checked.instance(value, kind, name, f"use gr.plan.{kind.__name__}(…)")
        self._keep_out = keep_out
        self._check_goal(self.cost)
        options: dict[str, Any] = {
            "dt": self.dt, "limits": self.limits, "powertrain": self.uncertain.powertrain, "keep_out": keep_out,
            "effort": effort, "bounds": bounds, "threads": threads,
        }  # fmt: skip
        self._nominal = roller_for(self.uncertain.auto or self.model, ground, cost, **options)
        self._drawn: Roller | None = None
        self.draws = 0
        if not self.uncertain.certain:
            least = min(2.0 / self.risk, 1000.0) if self.risk > 0.0 else 0.0
            self.draws = checked.count(draws, "draws", least=1, most=100_000)
            self.draws = min(max(self.draws, int(least)), 1000)
            self._drawn = Roller(self.uncertain.models(self.draws, (self.seed, 1)), ground, cost, **options)
        knots = max(2, round(self.steps * self.dt / KNOT) + 1)
        at = np.linspace(0.0, knots - 1.0, self.steps)
        self._between: FloatArray = np.maximum(0.0, 1.0 - np.abs(at[:, None] - np.arange(knots)))
        self.reset()

    def reset(self) -> None:
        """Forget the last plan and all commands, and begin a new drive with the whole risk to spend."""
        self.plan: FloatArray = np.zeros((self.steps, 3))
        """Commands of the last plan, (T, 3)."""
        self._calls = 0
        self._tight = 0.0
        self._spread = np.zeros(2)
        self._spent = 0.0
        self._segment = 0
        delay = 0.0 if self.uncertain.powertrain is None else self.uncertain.powertrain.delay / self.dt
        self._past = np.zeros((int(np.ceil(delay)) + 1, 3))
        self._moving = np.zeros(3)
        self._driving = driving_scratch(self.model.vehicle, len(self._past) + 1)
        self.mean: FloatArray = np.zeros(3)
        """What the powertrain makes of the commands in the step of the last one, its mean, (3,)."""
        self.bias: FloatArray = np.zeros(6)
        """What it moves more than the model says, per way that the wheels roll [ω rad/m, v a ratio], body axes, (6,).

        Of kinematic models; zero unless it is set or learned.
        """

    @property
    def _rollers(self) -> list[Roller]:
        return [self._nominal] if self._drawn is None else [self._nominal, self._drawn]

    def learn_bias(self, order: Command, pose: FloatArray) -> None:
        """Correct `bias` by a step that ended at an estimated pose: x, y [m], yaw [rad]; order: the command of it."""
        x, y, _, yaw = order.path[1]
        c, s = math.cos(yaw), math.sin(yaw)
        dx, dy, turned = pose[0] - x, pose[1] - y, math.remainder(pose[2] - yaw, 2.0 * math.pi)
        distance = self.dt * max(float(np.hypot(order.twist[0], order.twist[1])), SLOWEST)
        off = np.array([0.0, 0.0, turned, c * dx + s * dy, c * dy - s * dx, 0.0])
        self.bias = self.bias + off * (self.dt / QUICKLY / distance)

    def replace_model(self, model: Any) -> None:
        """Use another model of the same vehicle, such as a fit that has adapted; the plan stays."""
        uncertain = Uncertain.of(model)
        if uncertain.model.vehicle.joints != self.model.vehicle.joints:
            raise PlanError(f"model: is of '{uncertain.model.vehicle.name}', was of '{self.model.vehicle.name}'")
        if type(uncertain.model) is not type(self.model):
            raise PlanError(f"model: is {type(uncertain.model).__name__}, was {type(self.model).__name__}")
        self.uncertain, self.model = uncertain, uncertain.model
        for roller in self._rollers:
            drawn = roller is self._drawn
            roller.powertrain = self.uncertain.powertrain
            roller.replace_models(self.uncertain.models(self.draws, (self.seed, 1)) if drawn else [self.model])

    def command(self, state: ArrayLike, velocity: ArrayLike | None = None) -> Command:
        """The command for the next step from a state (nq,) or (x, y, yaw); dynamics takes its velocity (nv,), too."""
        q = start_state(self.model.vehicle, self.ground, state, self.model.penetration)
        v = None if velocity is None else checked.array(velocity, "velocity", (6 + self.model.vehicle.n_joints,))
        self._segment = segment_near(self.cost.arrays.path, self._segment, float(q[4]), float(q[5]))
        rng = np.random.default_rng([self.seed, 2, self._calls])
        self._calls += 1
        before = np.concatenate([self.plan[1:], self.plan[-1:]])
        wanted = self._sampled(before, rng)
        trials = self._roll(self._nominal, wanted, q, v)
        finite(trials.cost)
        reason = "" if trials.ok.any() else trials.why_failed("no sample is feasible")
        passing = None
        if not reason:
            passing, reason = self._passing(wanted, trials, q, v, rng)
        chosen, i = passing or (self._judged(np.zeros((1, self.steps, 3)), q, v, rng), 0)
        states = chosen.nominal.state[i]
        self._spent += float(chosen.soon[i])
        plan = self.plan = chosen.plans[i]
        twist = self.issue(plan[0])
        return Command(
            twist=twist,
            rates=self.rates(twist, q),
            risk=float(chosen.risk[i]),
            feasible=passing is not None,
            reason=reason,
            plan=plan,
            path=np.column_stack([states[:, 4:7], rotation.yaw_of(states[:, :4])]),
            cost=float(chosen.nominal.cost[i]),
        )

    @property
    def spent(self) -> float:
        """Sum of the risks of all commands since the last `reset`, a ratio: what is spent of `risk`."""
        return self._spent

    def rates(self, twist: ArrayLike, state: FloatArray) -> FloatArray:
        """Rates of the actuated joints (na,) [rad/s or m/s] for a velocity of the drive point at a state (nq,)."""
        return level_rates(self.model.vehicle, checked.numbers(twist, 3, "twist"), state)

    def _check_goal(self, cost: Cost) -> None:
        if not cost.terms:
            raise PlanError("cost: has no term, so all commands are equal; give gr.plan.Goal(x, y) or others")
        goal, keep_out = cost.goal, self._keep_out
        if goal is None:
            return
        here = f"goal ({goal.x:g}, {goal.y:g}) m"
        check_on_map(self.ground, goal.x, goal.y, here)
        if keep_out is not None and keep_out.clearance(goal.x, goal.y) < 0.0:
            raise PlanError(f"{here} is in a keep-out; choose a place outside")

    def _sampled(self, before: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Commands around the plan before, (N, T, 3); the first are that plan, standing, and steady commands."""
        limits = self.limits
        sigma = SPREAD * np.minimum(limits.most - limits.least, 2.0 * limits.most) * 0.5
        noise = rng.standard_normal((self.samples, self._between.shape[1], 3)) * sigma
        swing = np.matmul(self._between, noise)
        wanted: FloatArray = before + swing
        # A third explores around a steady command, so that a plan can be left for another.
        steady = self.samples // 3
        if steady:
            random = rng.uniform(limits.least, limits.most, (steady, 1, 3))
            random[: steady // 2, :, 0] = limits.speed
            wanted[-steady:] = random + 0.3 * swing[-steady:]
        if np.isinf(limits.curvature):
            # Some turn on the spot and then go straight: noise hardly finds that, and a sharp corner needs it.
            turns = self.samples // 8
            early = np.arange(self.steps) < rng.uniform(0.0, 0.8 * self.steps, (turns, 1))
            spin = rng.uniform(0.5 * limits.turn, limits.turn, (turns, 1)) * rng.choice([-1.0, 1.0], (turns, 1))
            wanted[2 : 2 + turns, :, 0] = np.where(early, 0.0, limits.speed)
            wanted[2 : 2 + turns, :, 1] = 0.0
            wanted[2 : 2 + turns, :, 2] = np.where(early, spin, 0.0)
        wanted[0], wanted[1] = before, 0.0
        least, most = (np.tile(one, self.steps) for one in (limits.least, limits.most))  # NumPy: slow along three
        return np.asarray(np.clip(wanted.reshape(self.samples, -1), least, most)).reshape(wanted.shape)

    def _weighed(self, wanted: FloatArray, costs: FloatArray) -> FloatArray:
        """Mean of the samples, weighed by exp(−cost/temperature)."""
        best = costs.min()
        count = max(2, int(SHARE * len(costs)))
        temperature = max(float(np.partition(costs, count)[count] - best), 1e-9)
        weight = np.exp(-np.minimum((costs - best) / temperature, 50.0) * 2.0)
        weight[~np.isfinite(costs)] = 0.0
        return np.asarray((weight / weight.sum()) @ wanted.reshape(len(wanted), -1)).reshape(wanted.shape[1:])

    def _roll(self, roller: Roller, wanted: FloatArray, q: FloatArray, v: FloatArray | None, **more: Any) -> Trials:
        if self.bias.any():
            more["disturbance"] = _biased(more.get("disturbance"), self.bias, self.steps, abs(self._moving[0]))
        issued: dict[str, Any] = {"past": self._past, "moving": self._moving, "segment": self._segment}
        return roller.run(np.ascontiguousarray(wanted), q, velocities=v, **issued, **more)

    def _passing(
        self, wanted: FloatArray, trials: Trials, q: FloatArray, v: FloatArray | None, rng: np.random.Generator
    ) -> tuple[tuple[Judged, int] | None, str]:
        """The mean of the samples if its risk is within what is left, else the cheapest of others; or why none is.

        A plan is given as those judged together and its row.
        """
        left = max(self.risk - self._spent, 0.0)
        # Risks below about one draw cannot be counted.
        sigmas = -NormalDist().inv_cdf(min(max(left, 0.5 / max(self.draws, 1)), 0.5)) if self.draws else 0.0
        costs = self._with_room(trials, sigmas + self._tight)
        mean = self._judged(self._weighed(wanted, costs)[None], q, v, rng)
        if mean.tests is not None:
            self._learn(mean.tests, mean.nominal)
        risk = float(mean.risk[0])
        if mean.passes(left)[0]:
            if risk < 0.5 * left:
                self._tight = max(self._tight - LOOSEN, LEAST_TIGHT)
            return (mean, 0), ""
        self._tight = min(self._tight + TIGHTEN, MOST_TIGHT)
        plans = []
        for k in range(ELITES // 2):
            costs = self._with_room(trials, sigmas + self._tight + 0.5 * k)
            plans += [wanted[int(np.argmin(costs))], self._weighed(wanted, costs)]
        others = self._judged(np.array(plans), q, v, rng)
        allowed = f"has a chance of failure of at most {left:.3g}, what is left of {self.risk:.3g}"
        cost = np.where(others.passes(left), others.nominal.cost, np.inf)
        best = int(np.argmin(cost))
        if np.isfinite(cost[best]):
            waits = others.nominal.distance[best] < STANDS * self.limits.speed * self.steps * self.dt
            if not waits or mean.tests is None or risk <= left:
                return (others, best), ""
            return (others, best), mean.tests.why_failed(f"no plan that moves on {allowed}")
        if others.tests is None:
            return None, others.nominal.why_failed("no plan is feasible")
        why = f"no plan {allowed}; the least is {min(float(others.risk.min()), risk):.3g}"
        return None, (others.tests if (others.risk > left).any() else others.nominal).why_failed(why)

    def _with_room(self, trials: Trials, sigmas: float) -> FloatArray:
        """Costs of the samples; one with less room than some sigmas costs as much as one that fails."""
        costs = np.where(np.isnan(trials.cost), np.inf, trials.cost)
        if self.draws == 0 or sigmas <= 0.0:
            return costs
        spread = np.maximum(self._spread, 1e-9)
        room = np.minimum(
            trials.clearance / spread[0], (trials.least_tip_margin - self._nominal.bounds.tip_margin) / spread[1]
        )
        most = float(np.quantile(room[trials.ok], 1.0 - ROOMY))
        return np.asarray(costs + np.where(room < min(sigmas, most), 2.0 * self.cost.failure, 0.0))

    def _judged(self, plans: FloatArray, q: FloatArray, v: FloatArray | None, rng: np.random.Generator) -> Judged:
        """Drives of the best model and of all drawn ones under each of the plans (E, T, 3), E being 1 or `ELITES`."""
        nominal = self._roll(self._nominal, plans, q, v, record=True)
        if self._drawn is None:
            return Judged(plans, nominal, None, (~nominal.ok).astype(np.float64), np.zeros(len(plans)))
        tests = self._roll(
            self._drawn,
            np.tile(plans, (self.draws, 1, 1)),
            q,
            v,
            reference=np.ascontiguousarray(planar_pose(nominal.state[:, :-1])),
            disturbance=self.uncertain.disturbance(self.draws, self.steps, self.dt, rng),
        )
        failed = ~tests.ok.reshape(self.draws, len(plans))
        # A state is judged when the next step begins.
        soon = failed & (tests.steps.reshape(failed.shape) <= 1)
        return Judged(plans, nominal, tests, failed.mean(axis=0), soon.mean(axis=0))

    def _learn(self, tests: Trials, single: Trials) -> None:
        """Spread of clearance [m] and tip margin [rad] between drives, by which samples must keep their distance."""
        for i, (values, own) in enumerate(
            ((tests.clearance, single.clearance), (tests.least_tip_margin, single.least_tip_margin))
        ):
            known = values[np.isfinite(values)]
            if len(known) > 1 and np.isfinite(own[0]):
                sigma = float(np.sqrt(np.mean((known - own[0]) ** 2)))
                self._spread[i] += (0.3 if self._spread[i] > 0.0 else 1.0) * (sigma - self._spread[i])

    def issue(self, wanted: FloatArray) -> FloatArray:
        """A command (3,) [m/s, m/s, rad/s] within limits; it is remembered, as is what the powertrain makes of it."""
        work = self._driving
        work.aim[:] = wanted
        row = issue_one(self._nominal.driving(self._past, self._moving), work, self.dt)
        twist: FloatArray = work.queue[row].copy()
        self._moving, self.mean = work.acted.copy(), work.twist.copy()
        self._past = np.concatenate([self._past[1:], twist[None]])
        return twist

    @property
    def issued(self) -> tuple[FloatArray, FloatArray]:
        """Recent commands [m/s, m/s, rad/s], the last one last, (m, 3), and the motion they now cause, (3,)."""
        return self._past, self._moving

    def fan(self, state: ArrayLike, velocity: ArrayLike | None = None, *, count: int = 60) -> FloatArray:
        """Paths of some samples around the last plan: x, y, z [m], (count, T + 1, 3). Nothing is changed by it."""
        q = start_state(self.model.vehicle, self.ground, state, self.model.penetration)
        v = None if velocity is None else np.asarray(velocity, dtype=np.float64)
        wanted = self._sampled(self.plan, np.random.default_rng([self.seed, 5, self._calls]))
        chosen = np.linspace(0, len(wanted) - 1, min(count, len(wanted))).astype(np.int64)
        repeated = wanted[np.resize(chosen, len(wanted))]
        return self._roll(self._nominal, repeated, q, v, record=True).state[: len(chosen), :, 4:7].copy()

    def follow(self, points: ArrayLike) -> None:
        """Follow another path (n, 2) [m] with the weights of the last; the plan stays."""
        before = next((term for term in self.cost.terms if isinstance(term, Path)), None)
        path = Path(points) if before is None else replace(before, points=points)
        self.replace_cost(self.cost.replace(path))

    def replace_cost(self, cost: Cost) -> None:
        """Use another cost; the plan stays."""
        cost = checked.instance(cost, Cost, "cost", "use gr.plan.Cost(gr.plan.Goal(x, y))")
        self._check_goal(cost)
        if not np.array_equal(cost.arrays.path, self.cost.arrays.path):
            self._segment = 0
        self.cost = cost
        for roller in self._rollers:
            roller.replace_cost(cost)


def _biased(given: Disturbance | None, bias: FloatArray, steps: int, speed: float) -> Disturbance:
    """A disturbance with a bias per way (6,); where noise grows with time, it is that of the present speed [m/s]."""
    if given is None:
        return Disturbance(np.zeros((1, steps, 6)), np.tile(bias, (1, steps, 1)), True)
    if given.by_distance:
        return replace(given, wander=given.wander + bias)
    return replace(given, white=given.white + speed * bias)
