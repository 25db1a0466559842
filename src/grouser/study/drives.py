"""Drives of a study: arcs, or arcs one after another, bound for many rows at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from grouser._kernels.simulation import drive as laws
from grouser.checks import Checker, FloatArray, shown
from grouser.errors import StudyError
from grouser.simulation.drive import write_level_motion
from grouser.vehicles import Vehicle

checks = Checker(StudyError)
OF_DRIVE = {"drive.speed": "m/s", "drive.curvature": "1/m", "drive.turn": "rad/s", "drive.left": "m/s"}
"""Numbers of a drive that may vary, and their units."""
FIELDS = ("speed", "curvature", "turn", "left")


@dataclass(frozen=True)
class Driven:
    """Arcs one after another: (start [s], speed [m/s], curvature [1/m], turn [rad/s], left [m/s]) each.

    The vehicle turns by speed times curvature, plus turn.
    """

    parts: tuple[tuple[float, float, float, float, float], ...]

    @classmethod
    def of(cls, given: Any, where: str) -> Driven:
        """From { speed = 1.0, curvature = 0.1 }, or { parts = [[0, 1.0, 0.0], …] }: start, speed, curvature each."""
        if not isinstance(given, Mapping):
            raise StudyError(f"{where}: {shown(given)} is not a table, such as {{ speed = 1.0, curvature = 0.1 }}")
        if "parts" in given:
            if len(given) > 1:
                raise StudyError(f"{where}: has parts and {shown(next(n for n in given if n != 'parts'))}; give one")
            rows = checks.rows(given["parts"], object, f"{where}, parts", "parts")
            parts = [(*checks.numbers(row, 3, f"{where}, part {k + 1}"), 0.0, 0.0) for k, row in enumerate(rows)]
            if not parts or parts[0][0] != 0.0 or any(b[0] <= a[0] for a, b in pairwise(parts)):
                raise StudyError(f"{where}, parts: must begin at 0 s and follow one another in time")
            return cls(tuple(parts))  # type: ignore[arg-type]  # five numbers each
        for name in given:
            if name not in FIELDS:
                raise StudyError(f"{where}: has no '{name:.40}'; it has {', '.join(FIELDS)} or parts")
        numbers = [checks.number(given.get(name, 0.0), f"{where}, {name}") for name in FIELDS]
        return cls(((0.0, *numbers),))  # type: ignore[arg-type]

    def bind(self, vehicle: Vehicle, rows: int, changes: Mapping[str, FloatArray]) -> tuple[np.ndarray, FloatArray]:
        """The drive for each row: addresses of law and numbers (rows, 2), and the numbers, which must be kept.

        changes: values (rows,) of some of `OF_DRIVE`, for all parts.
        """
        n, na = len(self.parts), len(vehicle.actuated)
        par = np.empty((rows, 2 + n + 5 * n * na))
        par[:, :2] = n, na
        for k, (start, *numbers) in enumerate(self.parts):
            par[:, 2 + k] = start
            motion = np.empty((rows, 4))
            for j, name in enumerate(FIELDS):
                motion[:, j] = changes.get(f"drive.{name}", numbers[j])
            turn = motion[:, 0] * motion[:, 1] + motion[:, 2]
            out = par[:, 2 + n + 5 * na * k : 2 + n + 5 * na * (k + 1)]
            different = changes and bool(np.ptp(motion, axis=0).any())
            room = np.empty((na, 5))
            for i in range(rows if different else 1):
                write_level_motion(vehicle, motion.item(i, 0), motion.item(i, 3), turn.item(i), room)
                out[i] = room.ravel()
            if not different:
                out[1:] = out[0]
        pairs = np.empty((rows, 2), dtype=np.int64)
        pairs[:, 0] = laws.schedule.address
        pairs[:, 1] = par.ctypes.data + par.strides[0] * np.arange(rows, dtype=np.int64)
        return pairs, par
