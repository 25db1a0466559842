"""A whole plan: the route over a map, the drive along it, and how likely and how exactly it goes as predicted."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path as File
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from grouser.checks import Checker, FloatArray
from grouser.errors import PlanError
from grouser.pictures import draw
from grouser.plan.follow import Followed, Follower, straight_way, yaws
from grouser.plan.keep_out import KeepOut
from grouser.plan.limits import Limits
from grouser.plan.room import half_width
from grouser.plan.trials import MEANING, Bounds, Effort, Roller
from grouser.plan.uncertain import Uncertain
from grouser.simulation.run import Run
from grouser.simulation.simulate import simulate
from grouser.terrain import Terrain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from grouser.plan.route import Route

checked = Checker(PlanError)
MOST_DRAWS = 1000
"""Drives of drawn models, at most."""
SHOWN = 0.5
"""Distance between the places of a path in a summary [m]."""
ELLIPSES = 24
"""Places with a covariance in a summary."""


@dataclass(frozen=True, eq=False)
class Refused:
    """A way that does not pass."""

    reason: str
    """Why."""
    place: tuple[float, float]
    """Where it ends, x, y [m]."""
    path: FloatArray
    """The way up to there, x, y [m], (n, 2); empty where only the place is known."""


@dataclass(frozen=True, eq=False)
class Spread:
    """Drives of drawn models that are steered along the plan."""

    status: tuple[str, ...]
    """How each ended."""
    mean: FloatArray
    """Mean x, y [m], yaw [rad] at each time, (T + 1, 3)."""
    covariance: FloatArray
    """Of these, (T + 1, 3, 3)."""

    @property
    def failures(self) -> dict[str, int]:
        """How many failed, by reason."""
        return dict(Counter(one for one in self.status if one != "ok"))

    @property
    def risk(self) -> float:
        """Share that failed."""
        return sum(self.failures.values()) / len(self.status)


@dataclass(frozen=True, eq=False)
class Plan:
    """A route, the predicted drive along it, its cost, and its chance of failure."""

    route: Route
    """The way over the map."""
    drive: Followed
    """The predicted drive of the best model along it."""
    run: Run
    """The same drive with its contacts."""
    spread: Spread | None
    """Drives of drawn models; None if the model has no uncertainty."""
    refused: tuple[Refused, ...]
    """Ways that do not pass, the straight one first."""
    allowed_risk: float
    """Largest probability of failure asked for."""
    start: FloatArray
    """x, y [m], yaw [rad]."""
    goal: FloatArray
    """x, y [m], yaw [rad]; yaw is NaN if any is right."""
    ground: Terrain
    """The map."""
    keep_out: KeepOut | None
    """Places it must not enter."""

    @property
    def reached(self) -> bool:
        """Whether the predicted drive reaches the goal."""
        return self.drive.reached

    @property
    def risk(self) -> float:
        """Probability that the whole drive fails, by drives of drawn models; 0 or 1 for a model taken as exact."""
        return float(not self.reached) if self.spread is None else self.spread.risk

    @property
    def reason(self) -> str:
        """What is wrong with the plan, in a sentence; empty if nothing is."""
        if not self.reached:
            return self.drive.reason
        if self.spread is not None and self.risk > self.allowed_risk:
            most, n = max((n, name) for name, n in self.spread.failures.items())[::-1]
            share = f"{self.risk:.3g} of the drives with drawn models fail, and {self.allowed_risk:.3g} is allowed"
            return f"{share}; {n} of {len(self.spread.status)} because {MEANING[most]}"
        return ""

    @cached_property
    def distance(self) -> float:
        """Length of the predicted drive [m]."""
        return float(self.drive.distance[-1])

    def summary(self) -> dict[str, Any]:
        """Plain numbers, as JSON takes them: metres, seconds, joules, degrees where a name says so, else radians."""
        drive, spread = self.drive, self.spread
        rows = _by_distance(drive.distance, SHOWN)
        poses = np.column_stack([drive.state[:, 4:6], yaws(drive.state)])
        result: dict[str, Any] = {
            "vehicle": self.run.vehicle.name,
            "reached": self.reached,
            "reason": self.reason or None,
            "distance": self.distance,
            "duration": float(drive.time[-1]),
            "energy": float(drive.energy.sum()),
            "risk": self.risk,
            "risk_allowed": self.allowed_risk,
            "uncertain": spread is not None,
            "least_tip_margin_deg": math.degrees(float(drive.tip_margin.min(initial=math.pi))),
            "largest_slip": float(drive.slip.max(initial=0.0)),
            "refused": [{"reason": one.reason, "x": one.place[0], "y": one.place[1]} for one in self.refused],
            "path": poses[rows].tolist(),
            "route": np.asarray(self.route.path, dtype=np.float64).tolist(),
        }
        if spread is not None:
            at = np.unique(np.linspace(0, len(drive.time) - 1, ELLIPSES).astype(int))
            result["drawn_models"] = len(spread.status)
            result["failures"] = spread.failures
            result["ellipses"] = [
                {
                    "time": float(drive.time[k]),
                    "x": float(spread.mean[k, 0]),
                    "y": float(spread.mean[k, 1]),
                    "covariance": spread.covariance[k, :2, :2].tolist(),
                }
                for k in at
            ]
        return result

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Map with route, drive and ellipses, and tip margin, slip and speed along it; saved if a path is given."""
        figure: Figure = draw("plan", self, path)
        return figure

    def view(self, path: str | os.PathLike[str], *, title: str = "") -> File:
        """Write a page that plays the drive in 3D, with the route, samples and refused ways; returns its path."""
        page: File = draw("plan as page", self, path, title=title)
        return page


def plan(
    model: Any,
    ground: Terrain,
    start: ArrayLike,
    goal: ArrayLike,
    *,
    minimise: str = "energy",
    risk: float = 0.05,
    samples: int = 300,
    draws: int = 100,
    seed: int = 1,
    limits: Limits | None = None,
    keep_out: KeepOut | None = None,
    bounds: Bounds | None = None,
    effort: Effort | None = None,
    reached: float = 0.3,
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Plan:
    """Find a route, drive it with MPPI in prediction, and test the drive with drawn models.

    model: a fit, a motion model, `Uncertain`, `Kinematics` or `Dynamics`. start, goal: x, y [m] and maybe yaw [rad];
    without a yaw the start looks to the goal and the goal is reached in any direction. minimise: energy, time or risk.
    risk: largest chance of failure. samples: of MPPI, in each step. draws: models that test the drive; at least 2/risk
    are drawn. reached: distance at which the goal is reached [m].

    >>> way = gr.plan.plan(gr.Fit.load("fit.toml"), ground, (0, 0), (80, 40))
    >>> way.summary(); way.plot("plan.png"); way.view("plan.html")
    """
    from grouser.plan.route import route

    uncertain = Uncertain.of(model)
    nominal = uncertain.model
    first, last = _places(start, goal)
    limits = Limits.of(nominal.vehicle) if limits is None else limits
    _check_places(first, last, ground, keep_out, half_width(nominal.vehicle))
    options: dict[str, Any] = {"keep_out": keep_out, "bounds": bounds, "effort": effort, "threads": threads}
    wanted = last if math.isfinite(last[2]) else last[:2]
    way = route(model, ground, first, wanted, minimise=minimise, limits=limits, keep_out=keep_out)
    straight = straight_way(nominal, ground, first, last, limits=limits, **options)
    refused = [] if straight is None else [Refused(*straight)]
    refused += [Refused(str(one), one.place, one.path) for one in way.refused if one.what != "straight way"]
    follower = Follower(
        uncertain, ground, minimise=minimise, samples=samples, risk=risk, seed=seed, limits=limits, **options
    )
    drive = follower.drive(way, first, last, reached=reached, progress=progress)
    rates = drive.rates if len(drive.rates) else np.zeros((1, len(nominal.vehicle.actuated)))  # it does not begin
    seconds = len(rates) * follower.dt
    run = simulate(nominal, ground, rates, duration=seconds, dt=follower.dt, start=drive.state[0])
    spread = None
    if not uncertain.certain and len(drive.twist):
        least = math.ceil(2.0 / max(risk, 1e-9))
        count = min(max(checked.count(draws, "draws", least=2, most=MOST_DRAWS), least), MOST_DRAWS)
        spread = _spread(uncertain, ground, drive, follower.dt, limits, count, seed, options)
    return Plan(
        route=way, drive=drive, run=run, spread=spread, refused=tuple(refused), allowed_risk=risk,
        start=first, goal=last, ground=ground, keep_out=keep_out,
    )  # fmt: skip


def _places(start: ArrayLike, goal: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Start and goal with yaws [rad], (3,) each; that of the goal is NaN where it has none."""
    ends = []
    for name, value in (("start", start), ("goal", goal)):
        numbers = checked.array(value, name, (2 if np.shape(value) == (2,) else 3,))
        ends.append(numbers if len(numbers) == 3 else np.append(numbers, math.nan))
    first, last = ends
    if math.isnan(first[2]):
        first[2] = math.atan2(last[1] - first[1], last[0] - first[0])
    return first, last


def _check_places(first: FloatArray, last: FloatArray, ground: Terrain, keep_out: KeepOut | None, reach: float) -> None:
    xmin, xmax, ymin, ymax = ground.bounds
    for name, (x, y, _) in (("start", first), ("goal", last)):
        if not bool(ground.contains(x, y)):
            where = f"x {xmin:g} to {xmax:g} m, y {ymin:g} to {ymax:g} m"
            raise PlanError(f"{name} ({x:g}, {y:g}) m is off the map, which lies within {where}")
        room = min(x - xmin, xmax - x, y - ymin, ymax - y)
        if room < reach:
            raise PlanError(
                f"{name} ({x:g}, {y:g}) m is {room:.2g} m from the edge of the map; the vehicle needs {reach:.2g} m"
            )
        if keep_out is not None and keep_out.clearance(x, y) < reach:
            free = keep_out.clearance(x, y)
            where = "in a keep-out" if free < 0.0 else f"{free:.2g} m from a keep-out; the vehicle needs {reach:.2g} m"
            raise PlanError(f"{name} ({x:g}, {y:g}) m is {where}")


def _spread(
    uncertain: Uncertain, ground: Terrain, drive: Followed, dt: float, limits: Limits, count: int, seed: int,
    options: dict[str, Any],
) -> Spread:  # fmt: skip
    """Drives of drawn models under the commands of the plan, steered back to it by feedback."""
    models = uncertain.models(count, (seed, 3))
    steps = len(drive.twist)
    roller = Roller(models, ground, dt=dt, limits=limits, powertrain=uncertain.powertrain, **options)
    noise = uncertain.disturbance(count, steps, dt, np.random.default_rng([seed, 4]))
    poses = np.column_stack([drive.state[:-1, 4:6], yaws(drive.state[:-1])])
    start = drive.state[0]
    velocities = np.zeros((count, len(start) - 1)) if drive.velocity is None else np.tile(drive.velocity, (count, 1))
    trials = roller.run(
        np.tile(drive.twist, (count, 1, 1)), start, velocities=velocities, reference=poses[None].copy(),
        disturbance=noise, record=True,
    )  # fmt: skip
    xy, turned = trials.state[:, :, 4:6], yaws(trials.state)
    reference = yaws(drive.state)
    turned = reference + np.mod(turned - reference + math.pi, 2.0 * math.pi) - math.pi
    values = np.concatenate([xy, turned[..., None]], axis=-1)
    alive = np.arange(steps + 1) <= trials.steps[:, None]
    enough = alive.sum(axis=0) >= 2
    alive[:, ~enough] = True  # all have ended: where they did
    weight = alive / alive.sum(axis=0)
    mean = np.einsum("nt,ntk->tk", weight, values)
    off = values - mean
    return Spread(tuple(trials.status.tolist()), mean, np.einsum("nt,ntj,ntk->tjk", weight, off, off))


def _by_distance(distance: Sequence[float] | FloatArray, step: float) -> FloatArray:
    """Rows that are about a step [m] apart, with the first and the last."""
    s = np.asarray(distance)
    rows = np.searchsorted(s, np.arange(0.0, float(s[-1]), step))
    return np.unique(np.append(rows, len(s) - 1))
