"""Picture of the DRIVE windows: medians by model and surface, and two models window by window."""

from __future__ import annotations

import os

import numpy as np

from experiments.experiment import Result
from experiments.step_plot import MARKERS

PANELS = (("position_median", "median position error [m]"), ("yaw_median_deg", "median yaw error [°]"))


def draw(result: Result, path: str | os.PathLike[str]) -> None:
    """Left: medians of the steady (filled) and transient (open) odd windows; right: every one of the first surface."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    from grouser.view import style

    surfaces = result.settings["surfaces"]
    models = list(dict.fromkeys((r["model"], r["poses"]) for r in result.rows))
    with style.picture(path, 15.0, 6.0) as figure:
        axes = figure.subplots(1, 3)
        for ax, (column, label) in zip(axes, PANELS, strict=False):
            for k, surface in enumerate(surfaces):
                for windows, face in (("steady", style.PALETTE[k]), ("transient", "none")):
                    here = [r for r in result.rows if (r["surface"], r["windows"]) == (surface, windows)]
                    places = [models.index((r["model"], r["poses"])) for r in here]
                    at = np.array(places) + 0.14 * (k - 0.5 * (len(surfaces) - 1))
                    values = [r[column] for r in here]
                    name = f"{surface}, {windows}"
                    ax.plot(
                        values, at, MARKERS[k], color=style.PALETTE[k], mfc=face, ms=6.0, linestyle="none", label=name
                    )
            ax.set_yticks(range(len(models)), [f"{model} ({poses})" for model, poses in models])
            ax.invert_yaxis()
            ax.set_xscale("log")
            ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            ax.xaxis.set_minor_formatter(NullFormatter())
            ax.set_xlabel(label)
        axes[1].tick_params(labelleft=False)
        errors, ax = result.settings["errors"], axes[2]
        steady = np.array(errors["steady"], dtype=bool)
        x, y = (np.maximum(errors[name], 1e-3) for name in ("kinematic", "piecewise-linear"))
        for k, (part, name) in enumerate(((steady, "steady"), (~steady, "transient"))):
            ax.loglog(x[part], y[part], MARKERS[2 * k], color=style.PALETTE[k], ms=4.5, alpha=0.7, label=name)
        ends = [0.5 * min(x.min(), y.min()), 2.0 * max(x.max(), y.max())]
        ax.plot(ends, ends, color=style.FAINT, lw=0.8)
        ax.set_xlabel("kinematic: position error [m]")
        ax.set_ylabel("piecewise-linear: position error [m]")
        ax.set_title(f"{errors['surface']}: below the line dynamics is nearer")
        ax.legend()
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(surfaces) if len(surfaces) > 1 else 2)
        figure.suptitle("Two-second windows, fitted on even, judged on odd ones")
