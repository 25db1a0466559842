"""Five drives of a Warthog in the order of their dates: does a memory of grounds help at the start of the next one?"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from experiments.data import folder
from experiments.experiment import Experiment, Progress, Result, Row
from experiments.warthog_ridge import SOURCE, compare, log_of
from grouser.calibration import Memory, adapt, calibrate
from grouser.calibration.memory import WANDER
from grouser.checks import FloatArray
from grouser.logs import Log
from grouser.motion.fit import Fit
from grouser.motion.intervals import Intervals, cut_log
from grouser.motion.model import MotionModel
from grouser.motion.parameters import resolve
from grouser.motion.slip_surface import Perturbative
from grouser.vehicles import vehicle

LOGS = (
    "grass_20240718_1659",
    "grass_20240729_1446",
    "grass_20240808_1556",
    "grass_20240808_1619",
    "asphalt_20240920_0813",
)
"""By date; the first one is fitted."""
PARAMETERS = ("slip", "sensor.x", "sensor.y", "sensor.lag", "noise")
INTERVAL, START = 2.0, 10.0  # s: of a prediction; what counts as the start of a drive
WITHOUT, WITH = "without", "with memory"
DRAWS = 10_000


@dataclass(frozen=True, eq=False, kw_only=True)
class Starts:
    """Errors at the starts of drives, measured less predicted x, y [m], yaw [rad], each before it was learned from."""

    first: dict[str, FloatArray]
    """Of the first seconds of a log, (I, 3), by `WITHOUT` and `WITH`."""
    anywhere: dict[str, FloatArray]
    """Of as many seconds from every such stretch of the log on, (I, 3)."""


def run(quick: bool, progress: Progress) -> Result:
    """All five logs, or the first, one on grass and that on asphalt in the quick version."""
    names = (LOGS[0], LOGS[3], LOGS[4]) if quick else LOGS
    place = folder("warthog", f"warthog_{LOGS[0]}.csv", SOURCE)
    logs = {name: log_of(place, name) for name in names}
    first = logs[names[0]]
    motion = MotionModel(model=Perturbative(vehicle=vehicle("warthog")), sensor=first.sensor)
    fit = calibrate(motion, first, PARAMETERS, interval=INTERVAL)
    memory = Memory.of(motion, resolve(motion, PARAMETERS))
    rows, starts = [], []
    for k, (name, log) in enumerate(logs.items()):
        found = judge(fit, log, memory, every=4 if quick else 1)
        # The fit is of the first log: its intervals must not count twice.
        learned = calibrate(fit if k else motion, log, PARAMETERS, interval=INTERVAL, online=True, memory=memory)
        rows.append(_row(name, found, learned, memory, fitted=k == 0))
        starts.append(found)
        progress(k + 1, len(logs))
    bands = {
        "first": _band([s.first for s in starts[1:]]),
        "anywhere": _band([s.anywhere for s in starts[1:]]),
    }
    return Result(
        name=WARTHOG_MEMORY.name,
        rows=rows,
        paper=[],
        notes=_notes(names, rows, bands, memory),
        settings={
            "fitted": names[0], "interval": INTERVAL, "start": START, "parameters": PARAMETERS, "bands": bands,
            "memory": memory.summary(), "quick": quick,
        },
        keys=("log",),
        draw=draw,
        summary={"margin_first": bands["first"], "margin_anywhere": bands["anywhere"]},
    )  # fmt: skip


def judge(fit: Fit, log: Log, memory: Memory, *, every: int = 1) -> Starts:
    """Drive the starts of a log with the memory as it is, and without; neither is changed.

    every: of how many stretches of the log one is used.
    """
    cut = cut_log(log, fit.model, interval=INTERVAL)
    stretches = beginnings(cut)[::every]
    errors: dict[str, list[FloatArray]] = {WITHOUT: [], WITH: []}
    for chosen in stretches:
        for name, found in errors.items():
            known = memory.copy() if name == WITH and memory.grounds else None
            found.append(adapt(fit, log, cut.only(chosen), memory=known).error)
    return Starts(
        first={name: found[0] for name, found in errors.items()},
        anywhere={name: np.concatenate(found) for name, found in errors.items()},
    )


def beginnings(cut: Intervals) -> list[slice]:
    """The intervals in stretches of `START` seconds of driving, one after another; a shorter rest is left out."""
    count = round(START / INTERVAL)
    return [slice(k, k + count) for k in range(0, len(cut) - count + 1, count)]


def _row(name: str, found: Starts, learned: Fit, memory: Memory, *, fitted: bool) -> Row:
    def rms(errors: FloatArray) -> tuple[float, float]:
        position = float(np.sqrt(np.mean(np.sum(errors[:, :2] ** 2, axis=1))))
        return position, float(np.degrees(np.sqrt(np.mean(errors[:, 2] ** 2))))

    row: Row = {"log": name + (" (fitted)" if fitted else "")}
    for where, errors in (("", found.first), ("anywhere_", found.anywhere)):
        for unit, k in (("position", 0), ("yaw_deg", 1)):
            row |= {f"{where}{unit}": rms(errors[WITHOUT])[k], f"{where}{unit}_memory": rms(errors[WITH])[k]}
    values = dict(zip((p.name for p in learned.parameters), learned.vector.tolist(), strict=True))
    row |= {"turn_slip": values["slip.a10"], "lag": values["sensor.lag"]}
    return row | {"changes": len(learned.changes), "grounds": len(memory.grounds)}


def _band(errors: Sequence[dict[str, FloatArray]]) -> Row:
    """Position rms without less with memory [m], pooled over logs, with a 95 % band of the paired difference."""
    pooled = [np.concatenate([e[name] for e in errors]) for name in (WITHOUT, WITH)]
    return compare(pooled[0], pooled[1], DRAWS)


def _notes(names: Sequence[str], rows: Sequence[Row], bands: dict[str, Row], memory: Memory) -> list[str]:
    def told(band: Row) -> str:
        verdict = "helps" if band["low"] > 0.0 else "harms" if band["high"] < 0.0 else "makes no proven difference"
        difference, low, high = (f"{1e3 * band[k]:+.1f}" for k in ("difference", "low", "high"))
        return f"{difference} mm ({low} to {high}): the memory {verdict}"

    spread = float(np.sqrt(memory.spread.diagonal()[memory.names.index("slip.a10")]))
    grounds = ", ".join(f"{g.name} ({g.seconds:.0f} s, {g.visits} visits)" for g in memory.grounds)
    return [
        f"RMS of predictions of {INTERVAL:g} s [m, °] in the first {START:g} s of driving of each log, each before it"
        f" was learned from. All start from the fit of {names[0]} and adapt; with memory they may recall a ground of"
        " the logs above them. 'anywhere': the same for a start at every stretch of the log, for the first seconds are"
        f" {round(START / INTERVAL)} intervals only.",
        "Position rms without less with memory over the logs after the first, with 95 % bands of the paired"
        f" difference: first seconds {told(bands['first'])}; anywhere {told(bands['anywhere'])}.",
        f"Grounds known at the end: {grounds}. The first row is of the fitted log, with an empty memory.",
        "turn_slip and lag [s] are those at the end of a log, after learning from all of it. Between the logs turn slip"
        f" differs by {np.ptp([row['turn_slip'] for row in rows]):.3f}, the delay of the poses by"
        f" {np.ptp([row['lag'] for row in rows]):.3f} s; turn slip of two grounds may differ by {spread:.3f},"
        f" that of one ground from visit to visit by {WANDER * spread:.3f}. A memory cannot know the delay, which is of"
        " that day and not of a ground.",
    ]


def draw(result: Result, path: str | os.PathLike[str]) -> None:
    """Position and yaw rms at starts of every log, with and without memory."""
    from grouser.view import style

    with style.picture(path, 10.0, 4.5) as figure:
        panels = figure.subplots(1, 2)
        at = np.arange(len(result.rows))
        for ax, unit, label in zip(panels, ("position", "yaw_deg"), ("position rms [m]", "yaw rms [°]"), strict=True):
            for k, (name, end) in enumerate(((WITHOUT, ""), (WITH, "_memory"))):
                values = [row[f"anywhere_{unit}{end}"] for row in result.rows]
                ax.bar(at + (k - 0.5) * 0.38, values, 0.36, color=style.PALETTE[k], label=name)
                ax.plot(at + (k - 0.5) * 0.38, [row[f"{unit}{end}"] for row in result.rows], "kx", ms=5)
            ax.set_xticks(at, [row["log"].replace("_2024", "\n") for row in result.rows], fontsize=7)
            style.label(ax, y=label)
        panels[0].legend()
        figure.suptitle(f"Starts of {result.settings['start']:g} s: bars anywhere in a log, crosses its first seconds")


WARTHOG_MEMORY = Experiment(
    "warthog-memory", "Five drives of a Warthog in sequence: their first 10 s with a memory of grounds and without", run
)
