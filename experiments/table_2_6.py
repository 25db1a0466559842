"""T Table 2.6: what a step of each model costs, Zoë on rough ground."""

from __future__ import annotations

import numpy as np

from experiments import zoe_benchmark as zoe
from experiments.experiment import Experiment, Progress, Result, Row
from experiments.step_plot import draw_steps
from grouser.simulation import Status

MODELS = (zoe.KINEMATIC, zoe.ERP_CFM, zoe.PIECEWISE, zoe.PACEJKA, zoe.TERRAMECHANICS)

PAPER: list[Row] = [
    # The table's times are thousandths of real time: C++ on one core at 3.4 GHz.
    {"model": model, "dt": dt, "us_per_step": round(1e3 * time * dt, 2), "realtime_factor": round(1e3 / time)}
    for dt, times in (
        (0.01, (0.984, 1.799, 3.138, 4.366, 3.609)),
        (0.02, (0.469, 0.904, 1.562, 2.203, 1.874)),
        (0.04, (0.219, 0.454, 0.780, 1.141, 0.953)),
        (0.10, (0.078, 0.191, 0.312, 0.500, 0.360)),
    )
    for model, time in zip(MODELS, times, strict=True)
]


def run_table(quick: bool, progress: Progress) -> Result:
    """Every model at every step over 10 terrains, or 2 in the quick version."""
    seeds = range(1, 3 if quick else 11)
    cases = [(model, dt) for model in MODELS for dt in zoe.STEPS]
    for model in MODELS:
        zoe.trial(model, seeds[0], zoe.STEPS[-1]).run()  # compiles, or loads what is compiled, outside the timings
    rows, halved = [], 0
    for done, (model, dt) in enumerate(cases):
        times, failed = [], 0
        for seed in seeds:
            trial = zoe.trial(model, seed, dt)
            run = trial.run()
            failed += run.status is not Status.OK
            halved += run.halved_steps
            cost = trial.us_per_step()
            if cost is not None:
                times.append(cost)
        us = float(np.median(times)) if times else None
        rows.append(
            {
                "model": model,
                "dt": dt,
                "us_per_step": us,
                "realtime_factor": None if us is None else 1e6 * dt / us,
                "terrains": len(seeds),
                "failed": failed,
            }
        )
        progress(done + 1, len(cases))
    return Result(
        name=TABLE_2_6.name,
        rows=rows,
        paper=PAPER,
        notes=_notes(rows, halved),
        settings=zoe.settings(seeds, quick),
        keys=("model", "dt"),
        draw=lambda result, path: draw_steps(
            result,
            path,
            by="model",
            panels=(("us_per_step", "CPU time of a step [µs]"), ("realtime_factor", "times real time [1]")),
            logarithmic=("us_per_step", "realtime_factor"),
            title="Zoë, 10 m over rough ground: cost (T Table 2.6)",
        ),
    )


TABLE_2_6 = Experiment(
    name="table-2.6",
    description="Zoë on rough ground: what a step costs by model and step size",
    body=run_table,
)


def _notes(rows: list[Row], halved: int) -> list[str]:
    us = {(row["model"], row["dt"]): row["us_per_step"] for row in rows}
    paper = {(row["model"], row["dt"]): row["us_per_step"] for row in PAPER}
    notes = [
        "Median CPU time of one core here, C++ at 3.4 GHz in the paper. Dynamic models have ideal actuators. erp/cfm "
        "has the spring and damper of the other models at each dt and no bound on friction, as in the paper; it is "
        "solved by the same Newton iteration as the others, not in one linear step.",
        f"A step that does not converge or turns too far is taken in parts: {halved} of all steps here.",
    ]
    at = zoe.STEPS[2]
    if all(us[model, at] for model in MODELS):
        ratios = ", ".join(f"{model} {paper[model, at] / us[model, at]:.1f}" for model in MODELS)
        notes.append(f"Times cheaper than printed at dt {at:g} s: {ratios}.")
    return notes
