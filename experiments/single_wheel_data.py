"""The points of the sand testbed: the file and its columns."""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments import data
from grouser.checks import FloatArray
from grouser.errors import GrouserError

BoolArray = NDArray[np.bool_]

FILE = "single_wheel.csv"
FOLDER = "single-wheel-sand"
SOURCE = "steady points of github.com/robomechanics/3d-terramechanics"

WHEELS = ("smooth", "grouser")
ANGLES = (0, 30, 45, 90)  # commanded slip angle [deg]
QUANTITIES = ("drawbar pull [N]", "lateral force [N]", "sinkage [mm]")
SCATTER = (0.4, 0.5, 0.6)
"""From trial to trial, by quantity, as given with the data; the weights of the fit."""
RADIUS = 0.058
"""Of either wheel [m]; the 5 mm grousers stand out beyond it."""
WIDTH = 0.05  # m


@dataclass(frozen=True)
class Points:
    """Steady points of one or both wheels; all arrays have one entry or row per point."""

    wheel: NDArray[np.str_]
    """Name."""
    angle: FloatArray
    """Commanded slip angle [deg]."""
    rim_speed: FloatArray
    """Commanded [mm/s]."""
    slip: FloatArray
    """As in the file: by carriage speed, whatever the slip angle."""
    v: FloatArray
    """Velocity of the contact point in the wheel's frame [m/s], shape (n, 3)."""
    r_omega: FloatArray
    """Rim speed [m/s]."""
    load: FloatArray
    """[N]."""
    measured: FloatArray
    """By `QUANTITIES`, shape (n, 3)."""
    deviation: FloatArray
    """Standard deviation inside the trial, likewise."""

    def __len__(self) -> int:
        return len(self.load)

    def __getitem__(self, chosen: BoolArray) -> Points:
        return Points(**{field.name: getattr(self, field.name)[chosen] for field in fields(self)})

    def half(self) -> BoolArray:
        """Which to fit: every other rim speed of a slip angle, the other ones at the next angle (a chessboard).

        No trial held out has a repetition among those fitted, and every other angle ends beyond its fitted speeds.
        """
        row = np.unique(self.angle, return_inverse=True)[1]
        column = np.unique(self.rim_speed, return_inverse=True)[1]
        return np.asarray((row + column) % 2 == 0)

    def repeatability(self) -> FloatArray:
        """Standard deviation between trials of the same wheel, angle and speed, by `QUANTITIES`."""
        squares, freedom = np.zeros(3), 0
        conditions = np.stack([self.wheel == WHEELS[0], self.angle, self.rim_speed], axis=1)
        for condition in np.unique(conditions, axis=0):
            values = self.measured[(conditions == condition).all(axis=1)]
            squares += ((values - values.mean(axis=0)) ** 2).sum(axis=0)
            freedom += len(values) - 1
        return np.sqrt(squares / freedom) if freedom else np.full(3, np.nan)


def find_data() -> Path:
    """The file, in the folder of `--data` or in the clone's own data."""
    return data.folder(FOLDER, FILE, SOURCE) / FILE


def read(path: str | os.PathLike[str]) -> Points:
    """Steady points, turned into the wheel's frame.

    The carriage moves at V, the wheel is yawed by β: V_x = V cos β ahead, V_y = −V sin β, the sign that makes the
    measured lateral force oppose it; the contact point moves at V_x − Rω. Drawbar pull is −Fy, sinkage −Z.
    """
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    if not rows or "wheel" not in rows[0]:
        raise GrouserError(f"{os.fspath(path)}: has no column wheel")

    def column(name: str) -> FloatArray:
        try:
            return np.array([float(row[name]) for row in rows])
        except (KeyError, TypeError, ValueError):
            raise GrouserError(f"{os.fspath(path)}: has no column {name} of numbers") from None

    beta = np.radians(column("beta_meas_deg"))
    speed, r_omega = 1e-3 * column("Vx_mm_s"), 1e-3 * column("Vry_mm_s")
    return Points(
        wheel=np.array([row["wheel"] for row in rows]),
        angle=column("beta_cmd_deg"),
        rim_speed=column("Vry_cmd_mm_s"),
        slip=column("slip"),
        v=np.stack([speed * np.cos(beta) - r_omega, -speed * np.sin(beta), np.zeros(len(rows))], axis=1),
        r_omega=r_omega,
        load=-column("Fz_N"),
        measured=np.stack([-column("Fy_N"), column("Fx_N"), -column("Z_mm")], axis=1),
        deviation=np.stack([column("Fy_std"), column("Fx_std"), column("Z_std")], axis=1),
    )
