"""Page of a plan: the drive in 3D with its route, ellipses, samples of the controller and refused ways."""

import os
from pathlib import Path

import numpy as np

from grouser.plan.planned import Plan
from grouser.view import colours
from grouser.view.page import view_runs
from grouser.view.plan_ways import borders, costs, refused, routes
from grouser.view.scene import Lines, UncertainPoses
from grouser.view.scene_ground import surroundings

ELLIPSES = 400
"""Poses with a covariance in a page."""


def view_plan(plan: Plan, path: str | os.PathLike[str], *, title: str = "") -> Path:
    """Write the page; returns its path."""
    lines = [_goal(plan)]
    ways = [plan.drive.state[:, 4:6], *(way.path for way in (*routes(plan), *refused(plan)))]
    for way in routes(plan):
        lines.append(Lines([way.path], way.name, way.colour, detail=way.detail))
    for way in refused(plan):
        if len(way.path) > 1:
            lines.append(Lines([way.path], f"refused: {way.name}", way.colour, detail=way.detail, dash=0.5))
    fans = [one for fan in plan.drive.fans for one in fan]
    if fans:
        words = f"at {len(plan.drive.fans)} places, {len(fans)} in all"
        lines.append(Lines(fans, "samples of the controller", colours.SLATE, detail=words, width=1.0, opacity=0.35))
    kept = borders(plan, surroundings([way for way in ways if len(way)], margin=0.2))
    if kept:
        lines.append(Lines(kept, "keep-outs", colours.VERMILLION, width=2.5))
    said = [title] if title else [plan.run.vehicle.name]
    said.append(costs(plan.distance, float(plan.drive.time[-1]), float(plan.drive.energy.sum())))
    if plan.spread is not None:
        said.append(f"chance of failure {100.0 * plan.risk:.2g} %")
    if not plan.reached:
        said.append("goal not reached")
    return view_runs(plan.run, path, lines=lines, poses=_poses(plan), title=" · ".join(said))


def _poses(plan: Plan) -> list[UncertainPoses]:
    """Where drives of drawn models are, at times of the drive."""
    found = []
    for spread, name in ((plan.spread, "steered along the plan"), (plan.blind, "without feedback")):
        if spread is not None:
            rows = np.unique(np.linspace(0, len(plan.drive.time) - 1, ELLIPSES).astype(int))
            covariance = spread.covariance[rows, :2, :2]
            covariance = 0.5 * (covariance + covariance.swapaxes(1, 2))
            found.append(UncertainPoses(spread.mean[rows, :2], covariance, name, plan.drive.time[rows]))
    return found


def _goal(plan: Plan) -> Lines:
    """Where the goal is reached."""
    angle = np.linspace(0.0, 2.0 * np.pi, 33)
    ring = plan.goal[:2] + plan.goal_radius * np.column_stack([np.cos(angle), np.sin(angle)])
    return Lines([ring], "goal", colours.GREEN, detail=f"reached at {plan.goal_radius:g} m")
