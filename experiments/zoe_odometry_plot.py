"""The picture of zoe-odometry: paths, position and yaw errors of both drives, as T Fig. 3.17 to 3.19."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from experiments.zoe_odometry import Course, Track

SHOWN = ("2D exact geometry", "2D calibrated", "3D angles zero", "3D calibrated")


def draw(drives: dict[str, Course], tracks: dict[str, dict[str, Track]], path: str | os.PathLike[str]) -> None:
    """A column per side: the paths, then position and yaw error over time."""
    from grouser.view import style

    with style.picture(path, 12.0, 10.0) as figure:
        axes = figure.subplots(3, len(drives), squeeze=False, height_ratios=(1.6, 1.0, 1.0))
        for column, (side, drive) in enumerate(drives.items()):
            where, position, yaw = axes[:, column]
            true = drive.run.position
            where.plot(true[:, 0], true[:, 1], color="black", lw=2.0, label="true")
            for k, name in enumerate(SHOWN):
                one = tracks[side][name]
                look = {"color": style.PALETTE[(1, 3, 4, 0)[k]], "lw": 1.1, "label": name}
                where.plot(one.position[:, 0], one.position[:, 1], **look)
                position.plot(one.time, np.hypot(one.position_error[:, 0], one.position_error[:, 1]), **look)
                yaw.plot(one.time, np.degrees(one.yaw_error), **look)
            for ax, bounds in ((position, (0.75,)), (yaw, (-2.5, 2.5))):
                for bound in bounds:
                    ax.axhline(bound, color=style.FAINT, ls=":", lw=1.0)
            where.set(xlabel="x [m]", ylabel="y [m]", aspect="equal", title=f"{side} wheels over ramps")
            position.set(xlabel="time [s]", ylabel="position error [m]")
            yaw.set(xlabel="time [s]", ylabel="yaw error, true less estimated [°]")
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(handles))
        figure.suptitle("Zoë over ramps: odometry in 2D and 3D (T §3.4.3); dotted: never exceeded in the paper")
