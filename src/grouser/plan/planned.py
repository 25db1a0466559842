"""A whole plan: the route over a map, the drive along it, and how likely and how exactly it goes as predicted."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path as File
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grouser import rotation
from grouser.checks import Checker, FloatArray
from grouser.collision.frames import planar_pose
from grouser.errors import PlanError
from grouser.pictures import draw
from grouser.plan.follow import DT, Followed, follow
from grouser.plan.keep_out import KeepOut
from grouser.plan.limits import Limits, limits_for
from grouser.plan.places import check_ends, ends
from grouser.plan.room import half_width
from grouser.plan.trials import MEANING, Bounds, Effort, Roller
from grouser.plan.uncertain import Uncertain
from grouser.simulation.run import Run
from grouser.simulation.simulate import simulate
from grouser.spacing import evenly
from grouser.terrain import Terrain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from grouser.plan.route import Refusal, Route

checked = Checker(PlanError)
MOST_DRAWS = 1000
"""Drives of drawn models, at most."""
SHOWN = 0.5
"""Distance between the places of a path in a summary [m]."""
ELLIPSES = 24
"""Places with a covariance in a summary."""
SEARCHED, DRIVEN = 10, 87
"""Percent of the work that are the search of a route, and the drive along it."""


@dataclass(frozen=True, eq=False)
class Spread:
    """Drives of drawn models under the commands of a plan."""

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

    @property
    def risk_most(self) -> float:
        """Largest chance of failure with which so few would have failed with a probability of 5 %."""
        from scipy.stats import beta

        n, failed = len(self.status), sum(self.failures.values())
        return float(beta.ppf(0.95, failed + 1, n - failed)) if failed < n else 1.0


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
    """Drives of drawn models that are steered along the plan by feedback; None if the model has no uncertainty."""
    blind: Spread | None
    """The same without feedback: their drift."""
    allowed_risk: float
    """Largest probability of failure asked for."""
    start: FloatArray
    """x, y [m], yaw [rad]."""
    goal: FloatArray
    """x, y [m], yaw [rad]; yaw is NaN if any is right."""
    goal_radius: float
    """Distance at which the goal is reached [m]."""
    ground: Terrain
    """The map."""
    keep_out: KeepOut | None
    """Places it must not enter."""

    @property
    def refused(self) -> tuple[Refusal, ...]:
        """Failed paths, the straight one first."""
        return self.route.refused

    @property
    def reached(self) -> bool:
        """Whether the predicted drive reaches the goal."""
        return self.drive.reached

    @property
    def risk(self) -> float:
        """Probability that the whole drive fails, by drives of drawn models; 1 if the goal is not reached at all.

        0 for a model taken as exact, whose risk is not known.
        """
        return self.spread.risk if self.reached and self.spread is not None else float(not self.reached)

    @property
    def reason(self) -> str:
        """Why the plan fails, in a sentence; empty if it does not."""
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
        poses = planar_pose(drive.state)
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
            "least_tip_margin_deg": math.degrees(float(drive.tip_margin.min())) if len(drive.tip_margin) else None,
            "largest_slip": float(drive.slip.max(initial=0.0)),
            "minimise": self.route.minimise,
            "refused": [
                {"way": one.what, "reason": one.reason, "x": one.place[0], "y": one.place[1]} for one in self.refused
            ],
            "path": poses[rows].tolist(),
            "route": np.asarray(self.route.path, dtype=np.float64).tolist(),
            "route_cost": _of_route(self.route) if len(self.route.path) else None,
            "alternatives": [
                {
                    "minimise": one.minimise,
                    **_of_route(one),
                    "path": np.asarray(one.path, dtype=np.float64).tolist(),
                }
                for one in self.route.alternatives
            ],
        }
        if spread is not None:
            result["drawn_models"] = len(spread.status)
            result["failures"] = spread.failures
            result["risk_most"] = spread.risk_most
        for name, one in (("ellipses", spread), ("ellipses_without_feedback", self.blind)):
            if one is not None:
                result[name] = [
                    {"time": float(drive.time[k]), "x": x, "y": y, "covariance": one.covariance[k, :2, :2].tolist()}
                    for k in evenly(len(drive.time), ELLIPSES)
                    for x, y in (one.mean[k, :2].tolist(),)
                ]
        return result

    def plot(self, path: str | os.PathLike[str] | None = None, *, title: str = "") -> Figure:
        """Map with route, drive and ellipses, and tip margin, slip and speed along it; saved if a path is given."""
        figure: Figure = draw("plan", self, path, title=title)
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

    model: a fit, a motion model, `Uncertain`, `Kinematics`, `Dynamics` or `Auto`. start, goal: x, y [m] and maybe yaw
    [rad]; without a yaw the start looks to the goal and the goal is reached in any direction. minimise: energy, time or
    risk. risk: largest chance of failure. samples: of MPPI, in each step. draws: models that test the drive; at least
    3/risk are drawn, 1000 at most: if none of them fails, the chance is below risk (95 % confidence). reached: distance
    at which the goal is reached [m]. progress(done, all) is called on the way.

    >>> way = gr.plan.plan(gr.Fit.load("fit.toml"), ground, (0, 0), (80, 40))
    >>> way.summary(); way.plot("plan.png"); way.view("plan.html")
    """
    from grouser.plan.route import Meter, route

    uncertain = Uncertain.of(model)
    nominal = uncertain.driven
    checked.instance(ground, Terrain, "ground", "use gr.terrain.read(…) or another")
    if not 0.0 <= checked.number(risk, "risk") < 1.0:
        raise PlanError(f"risk: {risk:g} is not a chance from 0 to below 1")
    checked.count(samples, "samples", least=8, most=1_000_000)
    count = checked.count(draws, "draws", least=2, most=MOST_DRAWS)
    count = min(max(count, math.ceil(3.0 / max(risk, 1e-9))), MOST_DRAWS)
    first, last = ends(start, goal)
    limits = limits_for(nominal.vehicle, limits)
    reached = checked.positive(reached, "reached")
    check_ends(first, last, ground, keep_out, half_width(nominal.vehicle), reached)
    of_way: dict[str, Any] = {"keep_out": keep_out, "bounds": bounds, "effort": effort}
    wanted = last if math.isfinite(last[2]) else last[:2]
    meter = Meter(progress, 100, 1)
    way = route(
        model, ground, first, wanted, minimise=minimise, limits=limits, seed=seed,
        progress=meter.over(SEARCHED), **of_way,
    )  # fmt: skip
    meter.next(SEARCHED)
    options: dict[str, Any] = {**of_way, "threads": threads}
    drive = follow(
        uncertain, ground, way, first, last, minimise=minimise, limits=limits, reached=reached,
        planner={"samples": samples, "risk": risk, "seed": seed}, progress=meter.over(DRIVEN), **options,
    )  # fmt: skip
    rates = drive.rates if len(drive.rates) else np.zeros((1, len(nominal.vehicle.actuated)))  # it does not begin
    run = simulate(nominal, ground, rates, duration=len(rates) * DT, dt=DT, start=drive.state[0])
    run = replace(run, drive="plan", path=np.ascontiguousarray(way.path[:, :2]))
    spread = blind = None
    if not uncertain.certain and len(drive.twist):
        test = partial(_spread, uncertain, ground, drive, limits, count, seed, {**options, "dt": DT})
        spread, blind = test(steered=True), test(steered=False)
    meter.next(100)
    return Plan(
        route=way, drive=drive, run=run, spread=spread, blind=blind, allowed_risk=risk, start=first, goal=last,
        goal_radius=reached, ground=ground, keep_out=keep_out,
    )  # fmt: skip


def _spread(
    uncertain: Uncertain, ground: Terrain, drive: Followed, limits: Limits, count: int, seed: int,
    options: dict[str, Any], *, steered: bool,
) -> Spread:  # fmt: skip
    """Drives of drawn models under the commands of the plan, steered back to it by feedback or not."""
    models = uncertain.models(count, (seed, 3))
    steps = len(drive.twist)
    roller = Roller(models, ground, limits=limits, powertrain=uncertain.powertrain, **options)
    noise = uncertain.disturbance(count, steps, options["dt"], np.random.default_rng([seed, 4]))
    poses = planar_pose(drive.state[:-1])
    start = drive.state[0]
    velocities = np.zeros((count, len(start) - 1)) if drive.velocity is None else np.tile(drive.velocity, (count, 1))
    trials = roller.run(
        np.tile(drive.twist, (count, 1, 1)), start, velocities=velocities, disturbance=noise, record=True,
        reference=poses[None].copy() if steered else None,
    )  # fmt: skip
    values, reference = planar_pose(trials.state), planar_pose(drive.state)[:, 2]
    values[..., 2] = reference + rotation.wrapped(values[..., 2] - reference)
    alive = np.arange(steps + 1) <= trials.steps[:, None]
    enough = alive.sum(axis=0) >= 2
    alive[:, ~enough] = True  # all have ended: where they did
    weight = alive / alive.sum(axis=0)
    mean = np.einsum("nt,ntk->tk", weight, values)
    off = values - mean
    return Spread(tuple(trials.status.tolist()), mean, np.einsum("nt,ntj,ntk->tjk", weight, off, off))


def _of_route(route: Route) -> dict[str, float]:
    """Costs of a route by the drive that checked it, comparable between routes."""
    values = {name: float(getattr(route, name)) for name in ("distance", "duration", "energy", "risk")}
    return {**values, "least_tip_margin_deg": math.degrees(route.least_tip_margin)}


def _by_distance(distance: FloatArray, step: float) -> NDArray[np.int64]:
    """Rows that are about a step [m] apart, with the first and the last."""
    rows = np.searchsorted(distance, np.arange(0.0, float(distance[-1]), step))
    return np.unique(np.append(rows, len(distance) - 1))
