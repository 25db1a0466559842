"""A path on the map and a driver that follows it: pure pursuit of a point some way ahead."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from grouser import checks
from grouser.checks import FloatArray
from grouser.errors import SimulationError
from grouser.spacing import path_lengths

SEARCH = 2.0  # Distance along the path in which the nearest point is searched [m]: a path may come near itself


class Path:
    """Points (x, y) joined by straight lines, driven from the first to the last."""

    def __init__(self, points: ArrayLike) -> None:
        """points: on the map [m], shape (n, 2), n ≥ 2, no two in a row the same."""
        self.points = checks.array(points, "path points", (None, 2))
        self.along = path_lengths(self.points)
        """Distance of each point from the first along the path [m], shape (n,)."""
        if len(self.along) < 2 or not (np.diff(self.along) > 0.0).all():
            raise SimulationError("path points: there must be at least two, and no two in a row the same")

    @property
    def length(self) -> float:
        """[m]."""
        return float(self.along[-1])

    def point(self, along: float) -> FloatArray:
        """The point at a distance along the path [m]; beyond its end straight on, shape (2,)."""
        beyond = along - self.length
        if beyond > 0.0:
            last = self.points[-1] - self.points[-2]
            return np.asarray(self.points[-1] + last * (beyond / np.linalg.norm(last)))
        return np.array([np.interp(along, self.along, self.points[:, k]) for k in range(2)])

    def nearest(self, x: float, y: float, *, start: float, end: float) -> tuple[float, float]:
        """Distance along the path of its point nearest to (x, y), from start to end, and offset to the right [m]."""
        low = max(int(np.searchsorted(self.along, start)) - 1, 0)
        high = min(max(int(np.searchsorted(self.along, end)), low + 1), len(self.along) - 1)
        a, step = self.points[low:high], np.diff(self.points[low : high + 1], axis=0)
        away = np.array([x, y]) - a
        size = np.einsum("ij,ij->i", step, step)
        length = np.sqrt(size)
        first, last = ((d - self.along[low:high]) / length for d in (start, end))
        t = np.clip(np.einsum("ij,ij->i", away, step) / size, np.clip(first, 0.0, 1.0), np.clip(last, 0.0, 1.0))
        off = away - t[:, None] * step
        k = int(np.argmin(np.einsum("ij,ij->i", off, off)))
        side = off[k, 0] * step[k, 1] - off[k, 1] * step[k, 0]
        return float(self.along[low + k] + t[k] * length[k]), math.copysign(float(np.hypot(*off[k])), side)


def ellipse(along: float, across: float, *, spacing: float = 0.05) -> Path:
    """A closed ellipse around the origin with semi-axes along x and y [m], from (0, −across) towards +x, left all the
    way."""
    a, b = checks.positive(along, "along"), checks.positive(across, "across")
    wanted = math.ceil(2.0 * math.pi * max(a, b) / checks.positive(spacing, "spacing"))
    n = checks.count(max(wanted, 16), "ellipse, number of points", most=10**7)
    angle = np.linspace(0.0, 2.0 * math.pi, n + 1)
    return Path(np.column_stack([a * np.sin(angle), -b * np.cos(angle)]))


class PurePursuit:
    """Desired body velocities that follow a path: an arc through the point a little way ahead."""

    def __init__(self, path: Path, *, speed: float, lookahead: float = 0.8) -> None:
        """speed [m/s] along the path, lookahead [m] along it."""
        self.path = checks.instance(path, Path, "path", "use grouser.traction.Path(points)")
        self.speed = checks.positive(speed, "speed")
        self.lookahead = checks.positive(lookahead, "lookahead")
        self.along = 0.0
        """Distance of the vehicle along the path [m]."""
        self.off = 0.0
        """Its offset to the right of the path [m]."""

    @property
    def finished(self) -> bool:
        """Whether the end of the path is reached."""
        return self.along >= self.path.length - 1e-6

    def desired(self, x: float, y: float, yaw: float) -> FloatArray:
        """Velocity (forward, left [m/s], turn [rad/s]) at a place and heading, shape (3,); zero once it is finished."""
        x, y, yaw = (checks.number(value, name) for value, name in ((x, "x"), (y, "y"), (yaw, "yaw")))
        along, self.off = self.path.nearest(x, y, start=self.along, end=self.along + SEARCH)
        self.along = max(self.along, along)
        if self.finished:
            return np.zeros(3)
        ahead = self.path.point(self.along + self.lookahead) - np.array([x, y])
        left = -math.sin(yaw) * ahead[0] + math.cos(yaw) * ahead[1]
        square = float(ahead @ ahead)
        # Where the path doubles back the vehicle may stand on the very point it pursues: then straight on.
        curvature = 2.0 * left / square if square > 1e-12 else 0.0
        return np.array([self.speed, 0.0, self.speed * curvature])
