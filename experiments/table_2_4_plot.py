"""Picture of T Table 2.4, after T Fig. 2.9 and 2.10."""

from __future__ import annotations

import os

from experiments.experiment import Result, Row

# Okabe and Ito's colours, distinguishable with colour blindness; the marker differs too.
STYLES = {
    "stabilized DAE": ("#0072B2", "o"),
    "unconstrained (Nelder-Mead)": ("#D55E00", "s"),
    "unconstrained (Newton)": ("#009E73", "^"),
}
PANELS = (
    ("contact_speed", "mean contact-point speed [m/s]"),
    ("position_error", "final position error [m]"),
    ("yaw_error", "final yaw error [rad]"),
    ("load", "CPU time per simulated second [s]"),
)


def draw(result: Result, path: str | os.PathLike[str]) -> None:
    """Contact speed, errors and cost against the step; filled and joined: measured, open: the paper's."""
    from grouser.view import style

    with style.picture(path, 9.0, 7.0) as figure:
        axes = figure.subplots(2, 2).ravel()
        for ax, (column, label) in zip(axes, PANELS, strict=True):
            for method, (colour, marker) in STYLES.items():
                x, y = _series(result.rows, method, column)
                ax.plot(x, y, color=colour, marker=marker, label=method)
                x, y = _series(result.paper, method, column)
                name = f"{method}, paper" if x else None
                ax.plot(x, y, color=colour, marker=marker, ms=10, mfc="none", mew=1.5, linestyle="none", label=name)
            ax.set_xscale("log")
            ax.set_xticks([0.01, 0.02, 0.04, 0.1, 0.2], ["0.01", "0.02", "0.04", "0.1", "0.2"])
            ax.minorticks_off()
            ax.set_xlabel("step size [s]")
            ax.set_ylabel(label)
            if column == "load":
                ax.set_yscale("log")
                ax.set_title("cost (the paper's in MATLAB)")
            else:
                ax.set_ylim(bottom=0.0)
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2)
        figure.suptitle("Rocky 7, 5 m straight over rough ground (T Table 2.4)")


def _series(rows: list[Row], method: str, column: str) -> tuple[list[float], list[float]]:
    """Step sizes and values of one method where there are any."""
    points = []
    for row in rows:
        value = row["us_per_step"] if column == "load" else row[column]
        if row["method"] == method and value is not None:
            points.append((row["dt"], 1e-6 * value / row["dt"] if column == "load" else value))
    return [x for x, _ in points], [y for _, y in points]
