"""T Table 2.7: what a larger step costs in accuracy, Zoë on rough ground, three contact models."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from experiments import zoe_benchmark as zoe
from experiments.experiment import Experiment, Progress, Result, Row
from experiments.step_plot import draw_steps
from grouser.simulation import Run, Status

CONTACTS = (zoe.PIECEWISE, zoe.PACEJKA, zoe.TERRAMECHANICS)
INTEGRATOR = "midpoint"
MORE = range(11, 41)
"""Further terrains, for the uncertainty of the mean of ten."""

PAPER: list[Row] = [
    {"contact": contact, "dt": dt, "position_error": position, "yaw_error": yaw, "iterations": iterations}
    for contact, values in (
        (
            zoe.PIECEWISE,
            ((None, None, 0.9990), (0.0039, 0.0003, 0.9980), (0.0126, 0.0009, 0.9960), (0.0401, 0.0039, 0.9901)),
        ),
        (
            zoe.PACEJKA,
            ((None, None, 1.7364), (0.0037, 0.0006, 1.8663), (0.0109, 0.0014, 2.0100), (0.0292, 0.0038, 2.3624)),
        ),
        (
            zoe.TERRAMECHANICS,
            ((None, None, 1.4118), (0.0085, 0.0020, 1.6525), (0.0226, 0.0043, 1.9657), (0.0513, 0.0128, 2.3149)),
        ),
    )
    for dt, (position, yaw, iterations) in zip(zoe.STEPS, values, strict=True)
]


@dataclass
class Cell:
    """A contact model at a step size, over the terrains."""

    position_error: list[float] = field(default_factory=list)
    yaw_error: list[float] = field(default_factory=list)
    iterations: list[float] = field(default_factory=list)
    halved: int = 0
    failed: int = 0

    def add(self, run: Run, reference: Run) -> None:
        """Take in one terrain; one that did not reach its end counts as failed and enters no mean."""
        self.halved += run.halved_steps
        if run.status is not Status.OK or reference.status is not Status.OK or run.solver is None:
            self.failed += 1
            return
        self.position_error.append(float(np.linalg.norm(run.position[-1] - reference.position[-1])))
        self.yaw_error.append(abs(float(run.yaw[-1] - reference.yaw[-1])))
        self.iterations.append(float(run.solver.iterations.mean()))

    def row(self, contact: str, dt: float) -> Row:
        done = bool(self.position_error)
        return {
            "contact": contact,
            "dt": dt,
            "position_error": float(np.mean(self.position_error)) if done else None,
            "median_error": float(np.median(self.position_error)) if done else None,
            "yaw_error": float(np.mean(self.yaw_error)) if done else None,
            "iterations": float(np.mean(self.iterations)) if done else None,
            "terrains": len(self.position_error) + self.failed,
            "failed": self.failed,
        }


def run_table(quick: bool, progress: Progress) -> Result:
    """Three contact models at four steps over 10 terrains, or 3 in the quick version."""
    seeds = range(1, 4 if quick else 11)
    every = [*seeds, *(() if quick else MORE)]
    cells = {(contact, dt): Cell() for contact in CONTACTS for dt in zoe.STEPS}
    wide = {contact: Cell() for contact in CONTACTS}
    euler = {contact: Cell() for contact in CONTACTS}
    for done, seed in enumerate(every):
        for contact in CONTACTS:
            reference = zoe.trial(contact, seed, zoe.STEPS[0], INTEGRATOR).run()
            coarsest = zoe.trial(contact, seed, zoe.STEPS[-1], INTEGRATOR).run()
            wide[contact].add(coarsest, reference)
            if seed in seeds:
                cells[contact, zoe.STEPS[0]].add(reference, reference)
                cells[contact, zoe.STEPS[-1]].add(coarsest, reference)
                for dt in zoe.STEPS[1:-1]:
                    cells[contact, dt].add(zoe.trial(contact, seed, dt, INTEGRATOR).run(), reference)
                ends = (zoe.trial(contact, seed, dt, "euler").run() for dt in (zoe.STEPS[-1], zoe.STEPS[0]))
                euler[contact].add(*ends)
        progress(done + 1, len(every))
    return Result(
        name=TABLE_2_7.name,
        rows=[cell.row(contact, dt) for (contact, dt), cell in cells.items()],
        paper=PAPER,
        notes=_notes(cells, wide, euler),
        settings=zoe.settings(seeds, quick, INTEGRATOR),
        keys=("contact", "dt"),
        draw=lambda result, path: draw_steps(
            result,
            path,
            by="contact",
            panels=(
                ("position_error", "mean final position error [m]"),
                ("yaw_error", "mean final yaw error [rad]"),
                ("iterations", "Newton iterations per step [1]"),
            ),
            title="Zoë, 10 m over rough ground: error against the same model at dt 0.01 s (T Table 2.7)",
        ),
    )


TABLE_2_7 = Experiment(
    name="table-2.7",
    description="Zoë on rough ground: error and Newton iterations by contact model and step size",
    body=run_table,
)


def _notes(cells: dict[tuple[str, float], Cell], wide: dict[str, Cell], euler: dict[str, Cell]) -> list[str]:
    notes = [
        "Errors are distances to the same model at dt 0.01 s at the end of 10 s, means over the terrains; Newton "
        "iterations are per step.",
    ]
    by_euler = ", ".join(
        f"{contact} {np.mean(cell.position_error):.3f} m (worst {max(cell.position_error):.2f}), "
        f"{np.mean(cell.yaw_error):.4f} rad"
        for contact, cell in euler.items()
        if cell.position_error
    )
    notes.append(
        f'Integrated with integrator="{INTEGRATOR}", which finds the contacts in the middle of a step. The paper finds '
        f"them at its beginning (symplectic Euler, our default); so the errors at dt {zoe.STEPS[-1]:g} s, against "
        f"its own dt {zoe.STEPS[0]:g} s on the same terrains, are: {by_euler}."
    )
    halved = ", ".join(f"{c} {cells[c, zoe.STEPS[-1]].halved}" for c in CONTACTS)
    notes.append(
        f"Steps taken in parts at dt {zoe.STEPS[-1]:g} s as the whole did not converge or turned too far: {halved}."
    )
    for contact, cell in wide.items():
        errors = np.array(cell.position_error)
        ours = np.array(cells[contact, zoe.STEPS[-1]].position_error)
        if len(errors) <= len(ours) or len(ours) == 0:
            continue
        uncertain = float(np.std(ours, ddof=1) / np.sqrt(len(ours)))
        notes.append(
            f"{contact}, dt {zoe.STEPS[-1]:g} s: mean of these {len(ours)} terrains {ours.mean():.3f} ± "
            f"{uncertain:.3f} m, without the worst {np.sort(ours)[:-1].mean():.3f} m; of {len(errors)} terrains "
            f"{errors.mean():.3f} ± {np.std(errors, ddof=1) / np.sqrt(len(errors)):.3f} m, median "
            f"{np.median(errors):.3f} m, yaw {np.mean(cell.yaw_error):.4f} rad."
        )
    soil = cells[zoe.TERRAMECHANICS, zoe.STEPS[-1]].position_error
    if soil and max(soil) > 4.0 * float(np.median(soil)):
        notes.append(
            f"In soil one terrain decides the mean, seed {int(np.argmax(soil)) + 1} with {max(soil):.2f} m: where the "
            "rover almost stalls on a climb, a few centimetres decide how long it digs."
        )
    return notes
