"""Signals to the methods of a robot that take them."""

from __future__ import annotations

from typing import Any

from grouser.logs.events import Event


def give(robot: Any, event: Event) -> None:
    """Give an event of a log or a live topic to a `grouser.Robot`."""
    if event.kind == "relative_pose":
        started, *rest = event.values
        robot.relative_pose(started, event.t, *rest)
    else:
        getattr(robot, event.kind)(event.t, *event.values)
