"""The picture of lru-traction: velocity, slip and vertical acceleration of both drives along the path."""

from __future__ import annotations

import os
import textwrap
from typing import TYPE_CHECKING

import numpy as np

from grouser.traction.path import Path

if TYPE_CHECKING:
    from experiments.lru_traction import Drive

SMOOTH = 0.5
"""Slip is drawn as its mean over this time [s]."""


def draw(shown: dict[str, tuple[Drive, Drive]], path: Path, file: str | os.PathLike[str]) -> None:
    """The first ground of every soil: L Fig. 6.1 to 6.3, over the distance along the path, which both drives share."""
    from grouser.view import style

    with style.picture(file, 4.4 * len(shown) + 1.0, 8.6) as figure:
        axes = figure.subplots(3, len(shown), squeeze=False, sharex=True, sharey="row")
        for column, (soil, drives) in enumerate(shown.items()):
            velocity, slip, vertical = axes[:, column]
            for k, (label, one) in enumerate(zip(("without control", "with control"), drives, strict=True)):
                along = np.interp(one.time, one.record.time, one.record.along)
                wide = 2.2 - 1.2 * k  # both stay visible where they lie upon each other
                velocity.plot(
                    one.record.along, one.record.command[:, 0], color=style.PALETTE[1 - k], lw=wide, label=label
                )
                slip.plot(along, _smoothed(one.slip, one.run.dt), color=style.PALETTE[1 - k], lw=wide)
                vertical.plot(along, one.vertical, color=style.PALETTE[1 - k], lw=0.4 * wide)
            for ax in (velocity, slip, vertical):
                _shade(ax, drives[0], path)
            velocity.set_title(soil)
            vertical.set_xlabel("along the path [m]")
        for ax, label in zip(
            axes[:, 0], ("commanded velocity [m/s]", "slip |s| [1]", "vertical acceleration [m/s²]"), strict=True
        ):
            ax.set_ylabel(label)
        axes[0, 0].legend(loc="lower center")
        title = "LRU on a soft flank, with and without traction control (L §6.3); grey: climbing"
        figure.suptitle(textwrap.fill(title, 44 * len(shown)))


def _smoothed(values: np.ndarray, dt: float) -> np.ndarray:
    width = max(round(SMOOTH / dt), 1)
    return np.convolve(values, np.full(width, 1.0 / width), mode="same")


def _shade(ax: object, drive: Drive, path: Path) -> None:
    """Grey where the path climbs."""
    along = np.interp(drive.time, drive.record.time, drive.record.along)
    edges = np.flatnonzero(np.diff(np.concatenate([[0.0], drive.climbing, [0.0]])))
    for low, high in zip(edges[::2], edges[1::2], strict=True):
        ax.axvspan(along[low], along[high - 1], color="#E4E4E4", zorder=0)  # type: ignore[attr-defined]
