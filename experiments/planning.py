"""Planning: random rough grounds crossed with and without heights, and asked against realised risk."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np

from experiments import planning_grounds as grounds
from experiments import planning_scenes as scenes
from experiments.experiment import Experiment, Progress, Result, Row
from experiments.planning_loop import Driven

GROUNDS, DRIVES, WIDER_DRIVES = 200, 1000, 300
QUICK_GROUNDS, QUICK_DRIVES = 12, 20
LEVELS = (0.01, 0.05, 0.2)
"""Asked risks."""
WIDER = (0.05, 2.0)
"""Asked risk, and how much wider than believed the true slip is drawn, of the row that is reported only."""
WORKERS = 2
COLUMNS = (
    *("name", "drives", "reached", "stopped", "tipped", "keep_out", "left_map", "stuck", "share_reached"),
    *("asked", "realised", "most", "within", "spent"),
)
Job = tuple[Any, ...]


def run_planning(quick: bool, progress: Progress) -> Result:
    """200 grounds, 1000 drives at each of three risks and 300 with wider slip. Quick: 12 grounds, 20 drives each."""
    n, drives = (QUICK_GROUNDS, QUICK_DRIVES) if quick else (GROUNDS, DRIVES)
    jobs: list[Job] = [("ground", seed) for seed in range(n)]
    for seed in range(drives):
        jobs += [("risk", seed, risk, 1.0) for risk in LEVELS]
        if seed < min(WIDER_DRIVES, drives):
            jobs.append(("risk", seed, *WIDER))
    done = list(_all(jobs, progress))
    return result_of(done, quick)


def _all(jobs: Sequence[Job], progress: Progress) -> Iterable[Row]:
    with ProcessPoolExecutor(min(WORKERS, os.cpu_count() or 1), mp_context=get_context("spawn")) as pool:
        for k, row in enumerate(pool.map(run_job, jobs, chunksize=1)):
            progress(k + 1, len(jobs))
            yield row


def run_job(job: Job) -> Row:
    """One ground or one drive, as plain values."""
    if job[0] == "ground":
        seed = job[1]
        where = grounds.place(seed)
        row: Row = {"part": "ground", "seed": seed, "rms": where.rms, "length": where.length}
        row["exists"] = grounds.way(where.known, where, 0.0) is not None
        if row["exists"]:
            row |= {name: plain(grounds.cross(where, seed, planar=name == "planar")) for name in ("heights", "planar")}
        return row
    _, seed, risk, wider = job
    kind, driven = scenes.risky_drive(seed, risk, wider=wider)
    return {"part": "risk", "seed": seed, "risk": risk, "wider": wider, "kind": kind, "drive": plain(driven)}


def plain(driven: Driven | None) -> Row:
    """How a drive went; one without a route stops where it starts."""
    if driven is None:
        return {"reached": False, "status": "ok", "spent": 0.0, "tip_margin": np.pi}
    return {
        "reached": driven.reached, "status": driven.status, "spent": driven.spent, "tip_margin": driven.tip_margin,
    }  # fmt: skip


def counted(name: str, drives: Sequence[Row], asked: float | None = None) -> Row:
    """A row of the table; with an asked risk its realised rate and the most that is within its band."""
    from scipy.stats import binom

    n, status = len(drives), Counter(one["status"] for one in drives)
    reached = sum(one["reached"] for one in drives)
    row: Row = dict.fromkeys(COLUMNS)
    row |= {"name": name, "drives": n, "reached": reached, "stopped": status["ok"] - reached}
    row |= {"tipped": status["tipped"] + status["rolled_over"], "keep_out": status["keep_out"]}
    row["left_map"] = status["off_terrain"]
    row["stuck"] = n - status["ok"] - row["tipped"] - row["keep_out"] - row["left_map"]
    row["share_reached"] = reached / n if n else None
    if asked is not None and n:
        most = float(binom.ppf(0.95, n, asked)) / n
        realised = 1.0 - status["ok"] / n
        row |= {"asked": asked, "realised": realised, "most": most, "within": realised <= most}
        row["spent"] = float(np.mean([one["spent"] for one in drives]))
    return row


def result_of(done: Sequence[Row], quick: bool) -> Result:
    """The table of what was driven."""
    maps = [one for one in done if one["part"] == "ground"]
    passable = [one for one in maps if one["exists"]]
    risky = [one for one in done if one["part"] == "risk"]
    rows = [
        counted("grounds, heights known", [one["heights"] for one in passable]),
        counted("grounds, planar model", [one["planar"] for one in passable]),
    ]
    for risk in LEVELS:
        at = [one for one in risky if one["risk"] == risk and one["wider"] == 1.0]
        rows.append(counted(f"risk {100.0 * risk:g} %", [one["drive"] for one in at], risk))
        for kind in scenes.KINDS:
            rows.append(counted(f"  {kind}", [one["drive"] for one in at if one["kind"] == kind], risk))
    risk, wider = WIDER
    rows.append(
        counted(
            f"risk {100.0 * risk:g} %, slip {wider:g} × wider than believed",
            [one["drive"] for one in risky if one["wider"] == wider],
            risk,
        )
    )
    realised = {row["asked"]: row for row in rows if row["name"].startswith("risk") and "wider" not in row["name"]}
    summary: Row = {
        "grounds": len(maps),
        "grounds_with_a_way": len(passable),
        "reached": rows[0]["share_reached"],
        "reached_planar": rows[1]["share_reached"],
        "realised_risk": {f"{asked:g}": row["realised"] for asked, row in realised.items()},
        "risk_within_band": {f"{asked:g}": row["within"] for asked, row in realised.items()},
    }
    return Result(
        name=PLANNING.name,
        rows=rows,
        paper=[],
        notes=[
            f"{len(maps)} grounds, {len(passable)} of them with a way: one that `gr.plan.route` finds and the engine "
            "drives to its end with the planner's best model and no tip margin. Shares are of those.",
            "Grounds: the planner knows heights and keep-outs, but not soils or the drawn slip; it starts with the "
            "heading of its route. The planar model is the same vehicle and planner on a map without heights.",
            "`realised` is the share of drives that tip, enter a keep-out, leave the map or get stuck; `most` is the "
            "95 % quantile of the binomial distribution at the asked risk. A vehicle that stops has not violated it.",
            "`spent` is the mean of what the planner believes to have spent of its risk, braking included.",
            "True slip is drawn from the distribution that the planner believes, except in the last row.",
            "Scenes, grounds and settings were chosen on seeds of 10 000 and above.",
        ],
        settings={
            "ground_seeds": [0, len(maps) - 1],
            "drive_seeds": [0, max((one["seed"] for one in risky), default=-1)],
            "vehicle": scenes.VEHICLE.name,
            "dt": scenes.DT,
            "samples": {"grounds": grounds.SAMPLES, "risk": scenes.SAMPLES},
            "quick": quick,
        },
        keys=("name",),
        draw=draw,
        summary=summary,
    )


def draw(result: Result, path: str | os.PathLike[str]) -> None:
    """Shares of grounds, and realised against asked risk."""
    from grouser.view import style

    with style.look():
        figure = style.new_figure(9.0, 3.8)
        left, right = figure.subplots(1, 2)
        ends: tuple[tuple[str, Callable[[Row], int]], ...] = (
            ("reached", lambda row: row["reached"]),
            ("stopped", lambda row: row["stopped"]),
            ("tipped", lambda row: row["tipped"]),
            ("other violation", lambda row: row["keep_out"] + row["left_map"] + row["stuck"]),
        )
        below = np.zeros(2)
        for color, (name, count) in zip(style.PALETTE, ends, strict=False):
            values = np.array([count(row) for row in result.rows[:2]], dtype=np.float64)
            left.bar(("heights known", "planar model"), values, 0.6, bottom=below, color=color, label=name)
            below += values
        left.set_ylim(top=1.3 * max(float(below.max()), 1.0))
        left.legend(fontsize=7, ncols=2)
        style.label(left, x="", y="grounds with a way", title="Random rough grounds")
        for color, kind in zip(style.PALETTE, ("all scenes", *scenes.KINDS), strict=False):
            rows = [r for r in result.rows if r["asked"] is not None and "wider" not in r["name"]]
            rows = [r for r in rows if (r["name"].startswith("risk") if kind == "all scenes" else kind in r["name"])]
            rows = [r for r in rows if r["drives"]]
            width = 2.0 if kind == "all scenes" else 0.8
            right.plot(
                [r["asked"] for r in rows], [r["realised"] for r in rows], "o-", color=color, lw=width, label=kind
            )
        right.plot([0.0, 0.2], [0.0, 0.2], "--", color=style.BLACK, lw=0.8, label="asked")
        right.legend(fontsize=7)
        style.label(right, x="asked risk", y="share of drives that fail", title="Risk")
        style.save(figure, path)


PLANNING = Experiment(
    name="planning",
    description="Random rough grounds crossed by MPPI with and without heights; asked and realised risk of drives",
    body=run_planning,
)
