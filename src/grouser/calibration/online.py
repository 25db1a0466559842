"""The online filter: parameters and noise from one interval after another, T (3.48)–(3.54), P, on ground that changes.

An interval is predicted and judged before it updates the filter. When the estimate of the noise changes, the last
intervals are filtered again. The evidence of the intervals selects the random walk of slip; a test detects a change of
ground (`change.py`), and a memory stores and recalls grounds (`memory.py`).
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from grouser.calibration.change import BEGUN, CURVED, Change, ChangeTest, Hypotheses, Lines, Prior
from grouser.calibration.filter_state import restore, state_of_filter
from grouser.calibration.interval_filter import Limits, Linear, Linearise, Window, filter_one, make_run, shortening
from grouser.calibration.loss import GATE
from grouser.calibration.memory import Feeling, Ground, Memory
from grouser.calibration.noise_learning import NoiseLearner
from grouser.checks import FloatArray
from grouser.errors import CalibrationError
from grouser.motion.model import MotionModel
from grouser.motion.parameters import Parameter, ParameterVector, default, is_noise
from grouser.motion.predict import LogProblem
from grouser.motion.spread import of_ground

ALARM = 1200.0
"""Mean number of intervals between false alarms of a changed ground, at least: 40 minutes of 2 s."""
SLOWLY = (np.inf, 10_000.0, 1_000.0, 100.0)
"""Times of driving [s] in which slip may wander by the spread between grounds; the evidence selects one."""
DOUBT = (0.0, -1.0, -2.0, -3.0)
"""Logarithms of their prior probabilities."""
OPEN = 10
"""Intervals after a change, or at the start, during which another ground may still replace the present one."""
ITERATIONS, NEAR = 6, 0.1
"""Most linearisations of an interval that moves the estimate far, and the change [sigmas] that ends them."""
EVERY = 5
"""Intervals between updates of the noise, once there are many."""
SIZES = (1.0, 0.3)
"""Sizes of the changes that are tested, as shares of the spread between grounds: a narrow prior finds a small one
sooner."""
SETTLED = 15
"""Intervals on a new ground before the test for a change begins: half a minute."""
NEW = 0.4
"""Prior probability that a ground is none of those remembered."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Update:
    """The effect of one interval on the filter."""

    time: float
    """Time stamp of the interval's end [s]."""
    residual: FloatArray
    """Measured less predicted, before the update [m, rad], (m,)."""
    innovation: FloatArray
    """Predicted covariance of the residual: noise and uncertain parameters [m², rad²], (m, m)."""
    distance: float
    """Squared Mahalanobis distance of the residual, T (3.68)."""
    accepted: bool
    """Whether it counted by half or more; an outlier does not."""
    values: FloatArray
    """All parameters after it, (n,), in their units."""
    sigma: FloatArray
    """Their one-sigma uncertainties, (n,), in their units."""
    ground: str
    """Name of the most probable ground."""


class OnlineFilter:
    """Parameters of a motion model from one interval after another; memory does not grow.

    `p`, `P` are the systematic parameters and their covariance, `s`, `S` those of the noise.
    """

    def __init__(
        self,
        motion: MotionModel,
        parameters: Sequence[Parameter],
        *,
        covariance: FloatArray | None = None,
        gate: float = GATE,
        adapt: bool = True,
        alarm: float = ALARM,
        memory: Memory | None = None,
    ) -> None:
        """Parameters start at their values with their prior sigmas, or with the covariance (np, np) of a fit.

        `adapt`: slip may wander and the ground change, at most one false alarm in `alarm` intervals on average; a
        memory gives grounds to recall and takes new ones. An infinite gate counts every interval in full.
        """
        self.motion = motion
        self.systematic = [p for p in parameters if not is_noise(p.name)]
        self.stochastic = _whole([p for p in parameters if is_noise(p.name)], motion)
        if not parameters:
            raise CalibrationError("no parameters to calibrate; name some, such as slip, sensor.x, noise")
        self.gate = float(gate)
        self._vector = ParameterVector(motion, self.names)
        self.noise = NoiseLearner(motion, self.stochastic)
        self.p = np.array([q.value for q in self.systematic], dtype=np.float64)
        self.P = np.diag([q.sigma**2 for q in self.systematic]).reshape(len(self.p), len(self.p))
        self.informed = covariance is not None
        if covariance is not None:
            self.P = np.array(covariance, dtype=np.float64)
        self._drift = np.array([q.drift**2 for q in self.systematic])
        self.pace = 0
        """Index of the selected time of `SLOWLY`."""
        self._of_ground = np.array([k for k, q in enumerate(self.systematic) if of_ground(q.name)], dtype=np.int64)
        self.adapt = adapt and len(self._of_ground) > 0
        if memory is not None:
            memory.check_serves(motion, self.systematic)
        self.memory = memory or Memory.of(motion, self.systematic)
        self.ground = self.memory.fresh_name()
        self.recalled = False
        """Whether the present ground is one of the memory's."""
        self.changes: list[Change] = []
        self.alarm = alarm
        self.updates = self.rejected = 0
        self.seconds = 0.0
        """Seconds driven on the present ground."""
        self.feeling = Feeling()
        self._linearise = Linearise(motion, self.systematic)
        self.size = 0
        """Number of residuals of an interval; 0 before the first one."""
        self.window: Window = None  # type: ignore[assignment]  # made for the first interval, as these
        self._weighted: Any = None
        self._in_full: Any = None
        self.tests: ChangeTest | None = None
        self.open: Hypotheses | None = None
        self.recent: list[tuple[Linear, float, FloatArray, FloatArray, dict[str, Any]]] = []
        """The last intervals: linearised, start time, and estimate, covariance and noise before."""

    @property
    def s(self) -> FloatArray:
        """Parameters of the noise, (ns,), in their units."""
        return self.noise.values

    @property
    def S(self) -> FloatArray:
        """Their covariance, (ns, ns), products of their units."""
        return self.noise.covariance

    @property
    def values(self) -> FloatArray:
        """All parameters, systematic first, (n,), in their units."""
        return np.concatenate([self.p, self.s])

    @property
    def names(self) -> list[str]:
        """Their names."""
        return [q.name for q in (*self.systematic, *self.stochastic)]

    @property
    def calibrated(self) -> MotionModel:
        """The motion model with the present parameters."""
        return self._vector.model(self.values)

    def update(self, problem: LogProblem, k: int) -> Update:
        """Learn from interval k of a problem."""
        start, end = problem.intervals.times[k].tolist()

        def lines(X: FloatArray) -> tuple[FloatArray, FloatArray]:
            y, H, _ = self._linearise(problem, k, X)
            return y + shorter, H

        y, H, predicted = self._linearise(problem, k, self.p[None])
        shorter = shortening(problem, self.noise.model, predicted)
        fixed, basis = self.noise.bases(problem, predicted)
        lasting = self.noise.lasting(problem, predicted)[0]
        one = Linear(y[0] + shorter, H[0], fixed[0], basis[0], end - start, lasting)
        if not self.size:
            self._begin(problem.size)
        at, P = self.p.copy(), self.P + np.diag(self._walk * one.seconds)
        R = one.covariance(self.noise.mean)
        innovation = one.H @ P @ one.H.T + R
        # The evidence with cautious noise is for the test of a change only.
        present = self._try(one, at, R, self.noise.high)[0] if self.tests is not None and self.open is None else 0.0
        _, distance, weight, curved = self._try(one, at, R, self.noise.mean)
        self.recent = [*self.recent[-BEGUN + 1 :], (one, start, at, self.P.copy(), self.noise.state)]
        self.seconds += one.seconds
        self.feeling.add(problem, k)
        if not self._notices(one, at, lines, present, end):
            if curved:
                one = self._iterated(one, at, R, lines)
            self._set_noise(self.window.run, self.noise.mean)
            self.window.add(one, self.p, self.P)
            weight = float(self.window.run.weight[self.window.count - 1])
            self._look_back()
            self._settle(one, at, lines)
        self.updates += 1
        accepted = weight >= 0.5
        self.rejected += not accepted
        return Update(
            time=end,
            residual=np.asarray(problem.residuals(predicted.poses, slice(k, k + 1))[0]),
            innovation=innovation,
            distance=distance,
            accepted=accepted,
            values=self.values,
            sigma=np.sqrt(np.maximum(np.concatenate([np.diag(self.P), np.diag(self.S)]), 0.0)),
            ground=self.ground,
        )

    @property
    def _walk(self) -> FloatArray:
        """Variance that the random walk of the parameters adds in a second, (np,)."""
        if not self.adapt or self.pace == 0:
            return self._drift
        walk = self._drift.copy()
        walk[self._of_ground] += np.diag(self.memory.spread) / SLOWLY[self.pace]
        return walk

    @property
    def limits(self) -> Limits:
        """Sizes of an interval, gate and bounds of the parameters."""
        bounds = np.array([[q.lower, q.upper] for q in self.systematic]).reshape(-1, 2)
        return (self.size, len(self.p), len(self.noise.names)), self.gate, bounds

    def make_runs(self, size: int) -> None:
        """Room for intervals of `size` residuals."""
        self.size = size
        self.window = Window(self.limits)
        self._weighted, self._in_full = (make_run(1, (self.limits[0], g, self.limits[2])) for g in (self.gate, np.inf))

    def _begin(self, size: int) -> None:
        """Before the first interval: the tests, and grounds of the memory that it may be on."""
        self.make_runs(size)
        self.window.begin(self.p, self.P)
        if not self.adapt:
            return
        self.tests = self.new_tests()
        if self.informed or self.memory.grounds:
            priors = self._priors(self.p, self.P)
            same = Prior(self.ground, self.p, self._wandered(self.P), 0.5 if self.informed else 1e-3)
            priors = [same, *(prior._replace(weight=(1.0 - same.weight) * prior.weight) for prior in priors)]
            best = int(np.argmax([prior.weight for prior in priors]))
            self._become(self._begin_open(priors), best, priors[best].name or self.ground)

    def _set_noise(self, run: Any, phi: FloatArray) -> None:
        run.phi[:], run.drift[:] = phi, self._walk

    def _again(self, phi: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        """Filter the window again with coefficients of the noise (ns,): estimate, covariance, logarithm of evidence."""
        self._set_noise(self.window.run, phi)
        return self.window.again()

    def _try(self, one: Linear, at: FloatArray, R: FloatArray, phi: FloatArray) -> tuple[float, float, float, bool]:
        """Evidence, squared distance and weight of an interval, and whether it, in full, leaves its linear range."""
        run = self._weighted
        self._set_noise(run, phi)
        filter_one(run, one, self.p, self.P)
        gain = self.P @ one.H.T @ np.linalg.inv(one.H @ self.P @ one.H.T + R)  # as if it counted in full
        moved = one.H @ gain @ (one.y - one.H @ at)
        curved = bool(np.any(np.abs(moved) > 0.5 * CURVED * np.sqrt(np.diag(R))))
        return float(run.evidence[0]), float(run.distance[0]), float(run.weight[0]), curved

    def _iterated(self, one: Linear, at: FloatArray, R: FloatArray, lines: Lines) -> Linear:
        """The interval linearised at the estimate after it, counted in full: only there can an outlier be judged."""
        base = at
        self._set_noise(self._in_full, self.noise.mean)
        for _ in range(ITERATIONS):
            p = filter_one(self._in_full, one, self.p, self.P)
            if np.all(np.abs(one.H @ (p - base)) < NEAR * np.sqrt(np.diag(R))):
                break
            y, H = lines(p[None])
            base, one = p, one._replace(y=y[0], H=H[0])
        return one

    def _look_back(self) -> None:
        """Update the noise, and the random walk of slip, from the last intervals, and filter them again."""
        window = self.window
        if window.count > 8 * EVERY and self.updates % EVERY:
            return
        for _ in range(3):
            self._again(self.noise.phi)
            if self.noise.step(window.run.score, window.run.information) < 0.02:
                break
        self.p, self.P, _ = self._again(self.noise.mean)
        if not self.adapt or window.count < 4 * EVERY or self.updates % (2 * EVERY):
            return
        now, evidence = self.pace, []
        for pace, doubt in enumerate(DOUBT):
            self.pace = pace
            evidence.append(self._again(self.noise.mean)[2] + doubt)
        best = int(np.argmax(evidence))
        self.pace = best if evidence[best] > evidence[now] + 0.5 else now
        self.p, self.P, _ = self._again(self.noise.mean)

    def _wandered(self, P: FloatArray, share: float = 0.15) -> FloatArray:
        """A covariance of all parameters with a share of the spread between grounds added."""
        out = P.copy()
        out[np.ix_(self._of_ground, self._of_ground)] += share**2 * self.memory.spread
        return out

    def _priors(self, p: FloatArray, P: FloatArray) -> list[Prior]:
        """Hypotheses about another ground than the present one, estimated as p, P: a new one, or one remembered."""
        others = [g for g in self.memory.grounds if g.name != self.ground]
        new = NEW if others else 1.0
        priors = [Prior("", p, self._wandered(P, size), new / len(SIZES)) for size in SIZES]
        index, own = np.ix_(self._of_ground, self._of_ground), P.copy()
        own[self._of_ground] = own[:, self._of_ground] = 0.0  # the vehicle's own parameters stay as they are
        for ground in others:
            q, Q = p.copy(), own.copy()
            q[self._of_ground], Q[index] = ground.mean, self.memory.recall_covariance(ground)
            priors.append(Prior(ground.name, q, Q, (1.0 - new) / len(others)))
        return priors

    def new_tests(self) -> ChangeTest:
        """A test for a change of the present ground, none begun."""
        return ChangeTest(self.alarm, self._priors(self.p, self.P), self.limits)

    def _notices(self, one: Linear, at: FloatArray, lines: Lines, present: float, end: float) -> bool:
        """Test for a change of ground; on an alarm the filter becomes that of the new ground."""
        if self.tests is None or self.open is not None:
            return False
        if self._is_settled(one):
            self.tests.begin(self._priors(at, self.P))
        found = self.tests.update(one, at, self.noise.high, lines, present)
        if found is None:
            return False
        running = self.tests.running
        age, best = int(running.age[found]), running.best(found)
        _, since, p, P, noise = self.recent[-age]
        seconds = sum(recent[0].seconds for recent in self.recent[-age:])
        self.seconds -= seconds
        self.noise.state = noise
        left = self._remember(p, P, age)
        self.seconds = seconds
        self.noise.begin_ground()
        # The hypotheses stay open for some intervals.
        names = [name or self.memory.fresh_name() for name in running.names]
        priors = [Prior(name, q, Q, 1.0) for name, q, Q in zip(names, running.p[found], running.P[found], strict=True)]
        hypotheses = self._begin_open(priors)
        hypotheses.log_weight[0] = running.log_weight[found]
        self._become(hypotheses, best, names[best])
        self.window.begin(running.first_p[found, best], running.first_P[found, best])
        for j in range(age):
            before = self.recent[j - age][0]
            again = before._replace(y=running.y[found, j, best], H=running.H[found, j, best])
            self.window.add(again, self.p.copy(), self.P.copy())
        self._look_back()
        if left != self.ground:  # else the last change was a false alarm, and this is the way back
            self.changes.append(Change(time=end, since=since, from_=left, to=self.ground, recalled=self.recalled))
        self.tests = self.new_tests()
        return True

    def _is_settled(self, one: Linear) -> bool:
        """Whether parameters add less to the uncertainty of a prediction than its noise."""
        if self.window.count < SETTLED and not self.recalled and not (self.informed and not self.changes):
            return False
        noise = np.diag(one.covariance(self.noise.phi))
        return bool(np.all(np.einsum("ac,cd,ad->a", one.H, self.P, one.H) < noise))

    def _begin_open(self, priors: Sequence[Prior]) -> Hypotheses:
        self.open = Hypotheses(1, priors, self.limits)
        self.open.begin(0, priors)
        return self.open

    def _become(self, hypotheses: Hypotheses, h: int, name: str) -> None:
        """Take over the estimate of a hypothesis about the ground of a name."""
        self.ground, self.recalled = name, any(g.name == name for g in self.memory.grounds)
        self.p, self.P = hypotheses.p[0, h].copy(), hypotheses.P[0, h].copy()
        self.window.begin(self.p, self.P)

    def _settle(self, one: Linear, at: FloatArray, lines: Lines) -> None:
        """Shortly after a change, or at the start: take another ground if it explains the intervals better."""
        if self.open is None:
            return
        self.open.update(one, at, self.noise.high, lines, 0.0)
        best = self.open.best(0)
        if self.open.names[best] != self.ground:
            self._become(self.open, best, self.open.names[best] or self.memory.fresh_name())
            if self.changes:
                self.changes[-1] = replace(self.changes[-1], to=self.ground, recalled=self.recalled)
        if self.open.age[0] >= OPEN or (self.open.age[0] >= 3 and self.open.log_weight[0, best] > -1e-3):
            self.open = None
            self.tests = self.new_tests()

    def _remember(self, p: FloatArray, P: FloatArray, new: int = 0) -> str:
        """Store the present ground without its last intervals; the name it has in the memory."""
        visit = Ground(
            name=self.ground,
            mean=p[self._of_ground],
            covariance=P[np.ix_(self._of_ground, self._of_ground)],
            seconds=self.seconds,
            feel=self.feeling.take(new),
        )
        return self.memory.remember(visit, recalled=self.recalled)

    def remember(self) -> Memory:
        """The memory with the present estimate of the present ground."""
        if self.seconds > 0.0 and len(self._of_ground):
            self.ground = self._remember(self.p, self.P)
            self.recalled, self.seconds = True, 0.0
        return self.memory

    @property
    def state(self) -> dict[str, Any]:
        """The whole state of the filter, as plain numbers."""
        return state_of_filter(self)

    @state.setter
    def state(self, state: dict[str, Any]) -> None:
        restore(self, state)

    def copy(self) -> OnlineFilter:
        """Another filter in the same state, independent of this one."""
        other = copy.copy(self)
        other.noise, other.feeling = copy.copy(self.noise), Feeling()
        other.state = self.state
        return other


def _whole(stochastic: list[Parameter], motion: MotionModel) -> list[Parameter]:
    """Parameters of the noise; of a Cholesky factor all entries, in order, as they make one covariance together."""
    noise, chosen = motion.noise, {p.name: p for p in stochastic}
    if noise.form != "cholesky" or not any(name in chosen for name in noise.names):
        return stochastic
    return list({**{name: default(motion, name) for name in noise.names}, **chosen}.values())
