"""On board: consistency of odometry and fusion where it is hard, and the monitor's detection and false alarms."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from experiments.experiment import Experiment, Progress, Result, Row
from experiments.on_board_monitor import DIGS, DRIVES, WITHIN, measure

PARTS = (
    ("experiments.on_board_odometry", "scenarios"),
    ("experiments.on_board_wheels", "slipping_scenarios"),
    ("experiments.on_board_fusion", "scenarios"),
)
"""Modules with scenarios for the table of consistency: functions of `quick` that return rows with name, runs, nees,
band [low, high] and inside."""
COLUMNS = (
    *("name", "runs", "nees", "band", "inside", "digs", "found", "within", "latency_median", "latency_95", "hours"),
    *("false_stuck_per_h", "false_sliding_per_h", "false_ground_changed_per_h", "late_ground_changed_per_h"),
    *("ground_found", "ground_found_driving"),
)


def scenarios(quick: bool) -> list[Row]:
    """Rows of all parts that are there."""
    rows: list[Row] = []
    for module, name in PARTS:
        if find_spec(module) is not None:
            function: Callable[[bool], list[Row]] = getattr(import_module(module), name)
            rows += function(quick)
    return rows


def run_on_board(quick: bool, progress: Progress) -> Result:
    """Consistency of every scenario; 100 digs and 10 h of normal driving. Quick: 12 digs and one hour."""
    consistency = scenarios(quick)
    monitored, latencies = measure(quick, progress)
    rows = [{column: row.get(column) for column in COLUMNS} for row in consistency + monitored]
    reached = [row["name"] for row in monitored if row["within"] >= 0.97 and row["false_stuck_per_h"] <= 1.0]
    summary: Row = {
        "scenarios": len(consistency),
        "scenarios_inside": sum(bool(row["inside"]) for row in consistency),
        "detected_within_1.5_s": {row["name"]: row["within"] for row in monitored},
        "false_alarms_per_hour": {row["name"]: row["false_stuck_per_h"] for row in monitored},
        "sensors_that_reach_97_percent": reached,
    }
    return Result(
        name=ON_BOARD.name,
        rows=rows,
        paper=[],
        notes=[
            "`nees` is divided by its degrees of freedom; `inside` says whether it is within its 95 % band.",
            f"`within` is the share of digs found at most {WITHIN} s after the true speed fell below a fifth of the "
            "wheels'; an alarm before that counts as found. Latencies in seconds, '-' where the dig was not found.",
            "The robots, grounds and sensors of the monitor are simulated without code of Grouser; each seed is "
            f"another. Settings were chosen on seeds below {DIGS[0]}, 6000 to 6023 and 7002, which are not used.",
            "GPS is of 1, 2 or 5 Hz with a sigma from 0.02 to 1 m: it adds little where it is coarse.",
            "`ground_found` is the share of changes of ground that were noticed within 5 s, `ground_found_driving` "
            "within 5 s in which wheels turn; gravel and grass are alike here. An alarm more than 30 s after a change "
            "counts as false; `late_ground_changed_per_h` are those of them that are the first since a change.",
        ],
        settings={"dig_seeds": [DIGS[0], DIGS[-1]], "drive_seeds": [DRIVES[0], DRIVES[-1]], "quick": quick},
        keys=("name",),
        draw=lambda result, path: draw(consistency, monitored, latencies, path),
        summary=summary,
    )


ON_BOARD = Experiment(
    name="on-board",
    description="Consistency of the on-board estimates in hard cases; digs found by the monitor and its false alarms",
    body=run_on_board,
)


def draw(
    consistency: list[Row], monitored: list[Row], latencies: dict[str, list[float]], path: str | os.PathLike[str]
) -> None:
    """NEES with bands, latencies of the digs, and false alarms."""
    from grouser.view import style

    with style.look():
        figure = style.new_figure(12.0, 4.5 + 0.2 * len(consistency))
        axes = figure.subplots(1, 3 if consistency else 2, squeeze=False)[0]
        if consistency:
            _draw_nees(axes[0], consistency, style)
        late, false = axes[-2], axes[-1]
        bins = np.arange(-1.0, 3.26, 0.25)
        for color, (name, values) in zip(style.PALETTE, latencies.items(), strict=False):
            missed = float(np.mean(np.array(values) > bins[-1]))
            late.hist(
                np.clip(values, bins[0], bins[-1] + 1.0), bins=bins, histtype="step", lw=1.5, color=color,
                label=f"{name}: {100.0 * missed:.0f} % later",
            )  # fmt: skip
        late.axvline(WITHIN, color=style.BLACK, lw=0.8, ls="--")
        late.set_ylim(top=1.25 * late.get_ylim()[1])  # room for the legend
        late.legend(fontsize=7)
        style.label(late, x="latency [s]", y="digs", title="Digs found")
        kinds = ("stuck", "sliding", "ground_changed")
        for k, kind in enumerate(kinds):
            values = [row[f"false_{kind}_per_h"] for row in monitored]
            false.bar(np.arange(len(monitored)) + 0.25 * (k - 1), values, 0.22, color=style.PALETTE[k], label=kind)
        false.set_xticks(
            range(len(monitored)),
            [row["name"].removeprefix("monitor: ").replace(", ", ",\n") for row in monitored],
            fontsize=7,
        )
        false.set_ylim(top=1.25 * max(false.get_ylim()[1], 1.0))
        false.legend(fontsize=7)
        style.label(false, x="", y="false alarms per hour", title="Normal driving")
        style.save(figure, path)


def _draw_nees(axes: Any, rows: list[Row], style: Any) -> None:
    for k, row in enumerate(reversed(rows)):
        low, high = row["band"]
        axes.plot([low, high], [k, k], color=style.BLACK, lw=5.0, alpha=0.25, solid_capstyle="butt")
        axes.plot(row["nees"], k, "o", color=style.PALETTE[0 if row["inside"] else 1], ms=5)
    axes.set_yticks(range(len(rows)), [row["name"] for row in reversed(rows)], fontsize=7)
    axes.set_xscale("log")
    style.label(axes, x="NEES by degrees of freedom", y="", title="Consistency, 95 % bands")
