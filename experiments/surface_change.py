"""A change of surface under an omni robot, found from wheels, currents and a camera's pose while it happens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from experiments.experiment import Experiment, Progress, Result, Row
from experiments.surface_change_border import Border, CommonLine, best_line, find_border
from experiments.surface_change_data import Drive, files, read_drive
from experiments.surface_change_plot import draw
from experiments.surface_change_test import LEARNED, ChangeTest, find_changes
from grouser.checks import FloatArray

IN_TIME = 1.0
"""How far from the crossing an alarm may be [s]."""
FINE = 0.1
"""Windows for the border [s]."""
HOURS, QUICK_HOURS = 10.0, 0.5
"""Of driving on one surface that is put together from pieces of the runs."""
BLOCK = 1.0
"""Length of these pieces [s]."""


def run(quick: bool, progress: Progress) -> Result:
    """All runs of the folder; quick: fewer hours put together."""
    test, paths = ChangeTest(), files()
    drives, fine, borders = [], [], {}
    for k, path in enumerate(paths):
        drives.append(read_drive(path, test.window))
        if drives[-1].changes:
            fine.append(read_drive(path, FINE))
            borders[drives[-1].name] = find_border(fine[-1], FINE)
        progress(k + 1, len(paths))
    two, one = [d for d in drives if d.changes], [d for d in drives if not d.changes]
    rows = [judge(drive, borders[drive.name], test) for drive in two]
    line = best_line(fine, list(borders.values()), FINE)
    alarms = {drive.name: len(find_changes(drive.features, test)[0]) for drive in one}
    seconds = sum(drive.end for drive in one)
    hours = QUICK_HOURS if quick else HOURS
    put_together = sum(resampled_alarms(drive, test, hours / len(one), seed) for seed, drive in enumerate(one))
    surfaces = surface_rows(drives, borders)
    left_out = left_out_rows(two, one, borders, test)
    within, near = (sum(bool(row[key]) for row in rows) for key in ("in_time", "within_1_s"))
    late = [row["late_s"] for row in rows if row["late_s"] is not None]
    summary: Row = {
        "in_time": within, "within_1_s": near, "runs": len(rows),
        "late_median": float(np.median(late)) if late else None,
        "false_alarms": sum(alarms.values()), "seconds_on_one_surface": seconds,
        "false_alarms_per_hour_resampled": put_together / hours,
    }  # fmt: skip
    return Result(
        name=SURFACE_CHANGE.name, rows=rows, paper=[], keys=("run",), draw=draw, summary=summary,
        notes=notes(summary, line, surfaces, left_out, hours),
        settings={
            "vehicle": "robotino", "window": test.window, "learned": LEARNED, "spread": test.spread,
            "drift": test.drift, "shifts": test.shifts, "false_alarms_per_hour": test.false_alarms,
            "border": line._asdict(), "surfaces": surfaces, "left_out": left_out, "one_surface": alarms, "quick": quick,
            "curves": [curve(drive, borders[drive.name], test) for drive in two],
        },
    )  # fmt: skip


def judge(drive: Drive, border: Border, test: ChangeTest) -> Row:
    """The first alarm of a run against its border."""
    alarms, _ = find_changes(drive.features, test)
    times = [float(drive.time[k]) for k in alarms]
    first = times[0] if times else None
    return {
        "run": drive.name, "direction_deg": round(drive.direction), "speed": round(drive.speed, 2),
        "first_wheel": border.first, "last_wheel": border.last, "sigma": border.sigma_time, "alarm": first,
        "late_s": None if first is None else first - border.time,
        "in_time": first is not None and border.first - IN_TIME <= first <= border.last + IN_TIME,
        "within_1_s": first is not None and abs(first - border.time) <= IN_TIME,
        "later_alarms": len(times[1:]),
    }  # fmt: skip


def resampled_alarms(drive: Drive, test: ChangeTest, hours: float, seed: int) -> int:
    """Alarms in a long drive on one surface, put together from pieces of a run at random."""
    block, x = max(1, round(BLOCK / test.window)), drive.features
    pieces = int(3600.0 * hours / test.window) // block
    starts = np.random.default_rng(seed).integers(0, len(x) - block + 1, pieces)
    return len(find_changes(x[(starts[:, None] + np.arange(block)).ravel()], test)[0])


def surface_rows(drives: Sequence[Drive], borders: dict[str, Border]) -> list[Row]:
    """Slip and current of each surface: mean and sigma over runs, and the sigma of a window within a run."""
    parts: dict[str, list[FloatArray]] = {}
    for drive in drives:
        values = np.stack([1.0 - drive.ratio, drive.current, drive.current / drive.rim_speed], axis=1)
        if not drive.changes:
            parts.setdefault(drive.surface, []).append(values)
            continue
        border = borders[drive.name]
        for name, chosen in (("before", drive.time < border.first), ("after", drive.time > border.last + 0.2)):
            if np.count_nonzero(chosen) > 3:
                parts.setdefault(f"{drive.surface}, {name} the border", []).append(values[chosen])
    rows = []
    for surface, runs in parts.items():
        means = np.array([one.mean(axis=0) for one in runs])
        within = np.sqrt(np.mean([one.var(axis=0) for one in runs], axis=0))
        rows.append({
            "surface": surface, "runs": len(runs),
            "slip": float(means[:, 0].mean()), "slip_sigma": float(means[:, 0].std()),
            "slip_window_sigma": float(within[0]), "current": float(means[:, 1].mean()),
            "current_sigma": float(means[:, 1].std()), "current_per_speed": float(means[:, 2].mean()),
            "current_per_speed_sigma": float(means[:, 2].std()),
        })  # fmt: skip
    return rows


def left_out_rows(
    two: Sequence[Drive], one: Sequence[Drive], borders: dict[str, Border], test: ChangeTest
) -> list[Row]:
    """Some runs judged with the spread of a window learned from the one-surface runs of all others."""
    groups: dict[str, Callable[[Drive], bool]] = {}
    for speed in sorted({round(drive.speed, 1) for drive in two}):
        groups[f"speed {speed:g} m/s"] = lambda drive, speed=speed: round(drive.speed, 1) == speed  # type: ignore[misc]
    for direction in sorted({round(drive.direction) % 360 for drive in two}):
        groups[f"direction {direction} deg"] = lambda drive, d=direction: _apart(drive.direction, d) < 15.0  # type: ignore[misc]
    rows = []
    for name, of_group in groups.items():
        others = [drive for drive in one if not of_group(drive)]
        if not others:
            continue
        varied = np.sqrt(np.mean([drive.features.var(axis=0) for drive in others], axis=0))
        learned = replace(test, spread=tuple(varied.tolist()))
        judged = [judge(drive, borders[drive.name], learned) for drive in two if of_group(drive)]
        inside = [drive for drive in one if of_group(drive)]
        rows.append({
            "left_out": name, "runs": len(judged), "in_time": sum(bool(row["in_time"]) for row in judged),
            "one_surface_runs": len(inside), "spread": varied.round(3).tolist(),
            "false_alarms": sum(len(find_changes(drive.features, learned)[0]) for drive in inside),
        })  # fmt: skip
    return rows


def _apart(a: float, b: float) -> float:
    """Angle between two directions [deg]."""
    return abs((a - b + 180.0) % 360.0 - 180.0)


def curve(drive: Drive, border: Border, test: ChangeTest) -> Row:
    """What a picture of a run shows."""
    alarms, statistic = find_changes(drive.features, test)
    return {
        "run": drive.name, "time": drive.time.tolist(),
        "ratio": drive.ratio.tolist(), "current": drive.current.tolist(),
        "first": border.first, "last": border.last, "alarms": [float(drive.time[k]) for k in alarms],
        "statistic": [None if np.isnan(one) else float(one) for one in statistic],
    }  # fmt: skip


def notes(summary: Row, line: CommonLine, surfaces: list[Row], left_out: list[Row], hours: float) -> list[str]:
    """What a reader must know."""
    missed = [f"{row['left_out']} {row['in_time']} of {row['runs']}" for row in left_out]
    wrong = sum(row["false_alarms"] for row in left_out)
    return [
        f"alarms no earlier than {IN_TIME:g} s before the first driven wheel reaches the border and no later than "
        f"{IN_TIME:g} s after the last: {summary['in_time']} of {summary['runs']}; within {IN_TIME:g} s of the middle: "
        f"{summary['within_1_s']}",
        f"false alarms on one surface: {summary['false_alarms']} in {summary['seconds_on_one_surface']:.0f} s; "
        f"{summary['false_alarms_per_hour_resampled']:.2g} an hour in {hours:g} h put together from {BLOCK:g} s pieces",
        "the border is found afterwards from the whole run, by a method that shares nothing with the test; sigma: its "
        "uncertainty [s]",
        f"one border line for all runs (best: {line.angle:.0f}° from across the travel) costs {line.loss:.0f} of "
        f"log-likelihood for {line.freedoms} numbers saved, and lies {line.left_out:.2f} m rms along the travel from "
        "the border of the run left out"
        + (
            ": the runs do not share one line, and each is judged by its own" if line.loss > 3.0 * line.freedoms else ""
        ),
        *(
            f"{row['surface']}: slip {row['slip']:.2f} ± {row['slip_sigma']:.2f}, current {row['current']:.2f} ± "
            f"{row['current_sigma']:.2f} A, per speed {row['current_per_speed']:.1f} ± "
            f"{row['current_per_speed_sigma']:.1f} A s/m (mean and sigma of {row['runs']} runs)"
            for row in surfaces
        ),
        f"spread learned from the one-surface runs of other speeds or directions, in time: {', '.join(missed)}; "
        f"false alarms {wrong}",
    ]


SURFACE_CHANGE = Experiment(
    name="surface-change",
    description="A change of surface found from wheels, motor currents and a camera's pose, three-wheeled omni robot",
    body=run,
)
