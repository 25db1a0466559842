"""Picture of the single-wheel experiment: measured points with error bars, and the fitted model."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal

import numpy as np

from grouser.checks import FloatArray

if TYPE_CHECKING:
    from experiments.single_wheel_data import Points

# Okabe and Ito's colours; the marker says it once more.
STYLES = {"smooth": ("#0072B2", "o"), "grouser": ("#D55E00", "s")}
LINES: dict[str, Literal["-", ":"]] = {"as printed": ":", "mended": "-"}


def draw(
    points: Points,
    curves: dict[tuple[str, str, int], tuple[FloatArray, FloatArray]],
    quantities: tuple[str, ...],
    path: str | os.PathLike[str],
) -> None:
    """Quantities by rows, slip angles by columns; filled: fitted, open: held out.

    curves: slip and predicted quantities, shape (m,) and (m, 3), by wheel, law and slip angle.
    """
    from matplotlib.lines import Line2D

    from grouser.view import style

    angles = sorted({angle for *_, angle in curves})
    seen = max(angle for angle in angles if angle <= 45)
    with style.picture(path, 13.0, 8.5) as figure:
        axes = figure.subplots(len(quantities), len(angles), sharex=True, sharey="row", squeeze=False)
        for (wheel, law, angle), (slip, predicted) in curves.items():
            for i in range(len(quantities)):
                ax = axes[i, angles.index(angle)]
                ax.plot(slip, predicted[:, i], color=STYLES[wheel][0], linestyle=LINES[law], lw=1.4)
        for wheel, (colour, marker) in STYLES.items():
            of_wheel = points[points.wheel == wheel]
            fitted = of_wheel.half() & (of_wheel.angle <= seen)
            # Side by side, or the wheels would hide each other.
            shift = -0.012 if wheel == "smooth" else 0.012
            for j, angle in enumerate(angles):
                for part, face in ((fitted, colour), (~fitted, "white")):
                    chosen = of_wheel[part & (of_wheel.angle == angle)]
                    for i in range(len(quantities)):
                        axes[i, j].errorbar(
                            chosen.slip + shift,
                            chosen.measured[:, i],
                            yerr=chosen.deviation[:, i],
                            fmt=marker,
                            zorder=3,
                            color=colour,
                            mfc=face,
                            ms=4.0,
                            mew=0.9,
                            elinewidth=0.8,
                            capsize=1.5,
                            alpha=0.85,
                        )
        for i, quantity in enumerate(quantities):
            axes[i, 0].set_ylabel(quantity)
            for ax in axes[i]:
                ax.axhline(0.0, color=style.FAINT, lw=0.6)
        for j, angle in enumerate(angles):
            note = "" if angle <= seen else " (extrapolated)"
            axes[0, j].set_title(f"slip angle {angle}°{note}")
            axes[-1, j].set_xlabel("slip ratio by carriage speed [1]")
            axes[-1, j].set_xticks(np.linspace(-1.0, 1.0, 5))
        axes[-1, 0].invert_yaxis()
        handles = []
        for wheel, (colour, marker) in STYLES.items():
            for law, line in LINES.items():
                handles.append(Line2D([], [], color=colour, linestyle=line, label=f"{wheel} wheel: {law}"))
            handles.append(Line2D([], [], color=colour, marker=marker, linestyle="none", label="fitted"))
            handles.append(Line2D([], [], color=colour, marker=marker, mfc="white", linestyle="none", label="held out"))
        figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
        figure.suptitle(
            "A wheel in sand: Ishigami's model fitted to every other point up to 45° "
            "(bars: standard deviation inside a trial)"
        )
