"""Page of a plan: the drive in 3D with its route, samples of the controller and refused ways on the ground."""

import os
from pathlib import Path

from grouser.plan.planned import Plan
from grouser.view.page import view_runs
from grouser.view.scene import Lines


def view_plan(plan: Plan, path: str | os.PathLike[str], *, title: str = "") -> Path:
    """Write the page; returns its path."""
    lines = [Lines([plan.route.path[:, :2]], "route", "#3182bd", detail=f"least {plan.route.minimise}")]
    fans = [one for fan in plan.drive.fans for one in fan]
    if fans:
        lines.append(Lines(fans, "samples", "#9ecae1", width=1.0, opacity=0.35))
    for one in plan.refused:
        if len(one.path) > 1:
            lines.append(Lines([one.path], "refused", "#d62728", detail=one.reason, dash=0.5))
    for other in plan.route.alternatives:
        lines.append(Lines([other.path[:, :2]], f"least {other.minimise}", "#756bb1", width=2.0))
    return view_runs(plan.run, path, lines=lines, title=title)
