"""The picture of ground-change: error and turn slip over one drive, and the numbers of all seeds."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from experiments.planted_drive import FIRM, LOOSE

if TYPE_CHECKING:
    from experiments.experiment import Result
    from grouser.calibration.online import Update

TURN = 9  # α₁₀


def draw(result: Result, updates: Sequence[Update], path: str | os.PathLike[str]) -> None:
    """Errors and turn slip of the first drive above; z-scores and coverage of all below."""
    from grouser.view import style

    time = np.array([u.time for u in updates])
    error = np.array([np.hypot(*u.residual[:2]) for u in updates])
    turn, sigma = np.array([(u.values[TURN], u.sigma[TURN]) for u in updates]).T
    there, back = result.settings["changes"]
    with style.picture(path, 11.0, 8.0) as figure:
        panels = figure.subplots(2, 2)
        panels[0, 0].plot(time, error, ".", ms=3, color=style.BLUE)
        style.label(panels[0, 0], x="time [s]", y="position error after 2 s [m]")
        panels[0, 1].plot(time, turn, color=style.BLUE, label="online, ±2σ")
        panels[0, 1].fill_between(time, turn - 2.0 * sigma, turn + 2.0 * sigma, color=style.SKY, alpha=0.5)
        true = np.where((time > there) & (time <= back), LOOSE[TURN], FIRM[TURN])
        panels[0, 1].plot(time, true, "--", color=style.VERMILLION, label="planted")
        panels[0, 1].set_ylim(-1.0, 0.0)
        panels[0, 1].legend()
        style.label(panels[0, 1], x="time [s]", y="turn slip α₁₀ [1]")
        _bars(panels[1, 0], result, "z ", "rms z-score [1]", (0.8, 1.2), style.BLUE)
        _bars(panels[1, 1], result, "inside 95 %, ", "share inside 95 % ellipses [1]", (0.92, 0.98), style.GREEN)
        figure.suptitle("Planted soil that changes after 300 s and back after 600 s")


def _bars(axes: object, result: Result, kind: str, label: str, band: tuple[float, float], colour: str) -> None:
    from grouser.view import style

    rows = [row for row in result.rows if row["quantity"].startswith(kind)]
    axes.axhspan(*band, color=style.FAINT, alpha=0.3)  # type: ignore[attr-defined]
    axes.plot(range(len(rows)), [row["value"] for row in rows], "o", color=colour)  # type: ignore[attr-defined]
    names = [row["quantity"].removeprefix(kind) for row in rows]
    axes.set_xticks(range(len(rows)), names, rotation=90, fontsize=7)  # type: ignore[attr-defined]
    style.label(axes, x="", y=label)  # type: ignore[arg-type]
