"""Response to an alarm: the rover stops, and a way back along its tracks is proposed."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from grouser import rotation
from grouser.checks import FloatArray
from grouser.errors import OdometryError
from grouser.robot.monitor import Monitor
from grouser.robot.monitor_settings import check
from grouser.spacing import path_lengths

KEPT = 512
"""Poses of the path that are remembered."""
GRIP = 0.5
"""Share of the wheels' motion above which they had grip."""


@dataclass(frozen=True, eq=False)
class Recovery:
    """A recovery manoeuvre: back along the driven path, where the wheels had grip, then away from it."""

    waypoints: FloatArray
    """Poses (n, 3) to drive through in reverse: x, y [m], yaw [rad]. The first is where the robot is."""
    commands: FloatArray
    """The same as (n − 1, 3) steps: forward speed [m/s], yaw rate [rad/s], duration [s]."""
    away: tuple[float, float, float]
    """The step after them: forward speed [m/s], yaw rate [rad/s], duration [s], a turn off the old path."""

    @property
    def length(self) -> float:
        """Way back [m]."""
        return float(np.sum(np.abs(self.commands[:, 0]) * self.commands[:, 2]))


class Response:
    """Stops a robot while the monitor reports that it is stuck or slides, and proposes how to get free.

    >>> response = Response(monitor, speed=0.2)
    >>> response.add_pose(t, x, y, yaw)  # along the drive
    >>> speed, turn = response.command(t, speed, turn)  # (0, 0) while stopped
    >>> response.proposal.commands  # if a person or a planner agrees: response.acknowledge(), then drive them
    """

    def __init__(self, monitor: Monitor, *, speed: float = 0.2, distance: float = 2.0, spacing: float = 0.05) -> None:
        """Speed [m/s] and length [m] of the way back, and the spacing of the poses that are remembered [m]."""
        self.monitor = check.instance(monitor, Monitor, "monitor", "use Monitor(…)")
        self.speed = check.positive(speed, "response speed")
        self.distance = check.positive(distance, "response distance")
        self.spacing = check.positive(spacing, "response spacing")
        most = 0.5 * KEPT * self.spacing
        if self.distance > most:
            raise OdometryError(f"response distance: {self.distance:g} m at this spacing is above {most:g} m")
        self._path = np.zeros((KEPT, 5))  # ring of t, x, y, yaw, share of the wheels' motion
        self._count = 0
        self._stopped = False
        self._acknowledged = -math.inf

    def add_pose(self, t: float, x: float, y: float, yaw: float) -> None:
        """The robot is at x, y [m] with a yaw [rad] at time t [s]; kept where it is a spacing away from the last."""
        row = np.array([t, x, y, yaw, self.monitor.moved_share])
        if not np.isfinite(row).all():
            return
        if self._count:
            last = self._path[(self._count - 1) % KEPT]
            if math.hypot(x - last[1], y - last[2]) < self.spacing and abs(rotation.wrapped(yaw - last[3])) < 0.1:
                return
        self._path[self._count % KEPT] = row
        self._count += 1

    def command(self, t: float, speed: float, turn: float) -> tuple[float, float]:
        """The command at time t [s] to carry out: the given one [m/s, rad/s], or zero while the robot is stopped."""
        monitor = self.monitor
        since = max((one.since for one in (monitor.stuck, monitor.sliding) if one.active), default=-math.inf)
        self._stopped = since > self._acknowledged
        return (0.0, 0.0) if self._stopped else (float(speed), float(turn))

    @property
    def stopped(self) -> bool:
        """Whether the last command was replaced by zero."""
        return self._stopped

    def acknowledge(self) -> None:
        """Drive again in spite of the present alarm, for instance in order to recover; a later alarm stops again."""
        conditions = (self.monitor.stuck, self.monitor.sliding)
        self._acknowledged = max([self._acknowledged, *(one.since for one in conditions if one.active)])
        self._stopped = False

    @property
    def proposal(self) -> Recovery | None:
        """The way back from the present alarm of `stuck`; None without one or without a path."""
        stuck = self.monitor.stuck
        if not stuck.active or self._count < 2:
            return None
        rows = self._path[np.arange(max(0, self._count - KEPT), self._count) % KEPT][::-1]
        before = rows[:, 0] <= stuck.since
        here = rows[0]
        gripped = rows[before & (rows[:, 4] >= GRIP)]
        back = np.vstack([here[None], gripped])[:, 1:4]
        way = path_lengths(back[:, :2])
        back = back[: int(np.searchsorted(way, self.distance)) + 1]
        if len(back) < 2:
            return None
        commands = self._commands(back)
        # A turn of 0.5 rad off the old path, away from the side to which the robot turned
        turned = float(rotation.wrapped(back[0, 2] - back[-1, 2]))
        forward = -self.speed if commands[0, 0] > 0.0 else self.speed
        return Recovery(waypoints=back, commands=commands, away=(forward, -0.25 if turned > 0.0 else 0.25, 2.0))

    def _commands(self, poses: FloatArray) -> FloatArray:
        """Steps from waypoint to waypoint: arcs in reverse with bounded speed."""
        step = np.diff(poses[:, :2], axis=0)
        length = np.hypot(step[:, 0], step[:, 1])
        turn = rotation.wrapped(np.diff(poses[:, 2]))
        # Sign of the step along the heading between: a path that was driven in reverse is left forwards.
        heading = poses[:-1, 2] + 0.5 * turn
        ahead = np.where(step[:, 0] * np.cos(heading) + step[:, 1] * np.sin(heading) > 0.0, 1.0, -1.0)
        duration = np.maximum(np.maximum(length / self.speed, np.abs(turn) / 0.5), 1e-3)
        return np.stack([ahead * length / duration, turn / duration, duration], axis=1)
