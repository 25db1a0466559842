"""Page of a plan: the drive in 3D with its route, ellipses, samples of the controller and refused ways."""

import os
from pathlib import Path

import numpy as np

from grouser.plan.planned import Plan, evenly
from grouser.view import colours
from grouser.view.page import view_runs
from grouser.view.plan_ways import borders, costs, refused, routes
from grouser.view.scene import CHI_SQUARE_95, Lines
from grouser.view.scene_ground import surroundings

ELLIPSES = 24
"""Along the drive in a page."""


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
    lines += _ellipses(plan)
    kept = borders(plan, surroundings([way for way in ways if len(way)], margin=0.2))
    if kept:
        lines.append(Lines(kept, "keep-outs", colours.VERMILLION, width=2.5))
    said = [title] if title else [plan.run.vehicle.name]
    said.append(costs(plan.distance, float(plan.drive.time[-1]), float(plan.drive.energy.sum())))
    if plan.spread is not None:
        said.append(f"chance of failure {100.0 * plan.risk:.2g} %")
    if not plan.reached:
        said.append("goal not reached")
    return view_runs(plan.run, path, lines=lines, title=" · ".join(said))


def _ellipses(plan: Plan) -> list[Lines]:
    """Where drives of drawn models are, all along the way."""
    found, angle = [], np.linspace(0.0, 2.0 * np.pi, 33)
    circle = np.sqrt(CHI_SQUARE_95) * np.column_stack([np.cos(angle), np.sin(angle)])
    ways = (plan.spread, "steered along the plan", colours.INK), (plan.blind, "without feedback", colours.PURPLE)
    for spread, name, colour in ways:
        if spread is not None:
            rows = evenly(len(plan.drive.time), ELLIPSES)[1:]  # all start at one place
            values, vectors = np.linalg.eigh(spread.covariance[rows, :2, :2])
            roots = vectors * np.sqrt(np.maximum(values, 0.0))[:, None]
            rings = spread.mean[rows, None, :2] + circle @ roots.swapaxes(1, 2)
            found.append(Lines(list(rings), name, colour, detail=f"{len(rings)} ellipses of 95 %", width=2.0))
    return found


def _goal(plan: Plan) -> Lines:
    """Where the goal is reached."""
    angle = np.linspace(0.0, 2.0 * np.pi, 33)
    ring = plan.goal[:2] + plan.goal_radius * np.column_stack([np.cos(angle), np.sin(angle)])
    return Lines([ring], "goal", colours.GREEN, detail=f"reached at {plan.goal_radius:g} m")
