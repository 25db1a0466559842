"""Speed of a model stepped from Python: time of one `Stepper.step`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from grouser.bench.engine import CASES, Case
from grouser.bench.rounds import Sample, Spread, Work
from grouser.simulation import Stepper, drive, simulate

STEPS, DT = 100, 0.04
"""Steps in one timing, and each [s]: on this ground and at this speed it stays on the map."""


def stepped() -> list[Work]:
    """Zoë, kinematic and with piecewise-linear contact."""
    return [_stepped(CASES[0]), _stepped(CASES[3])]


def _stepped(case: Case) -> Work:
    model, ground = case.model(), case.ground()
    run = simulate(model, ground, drive.arc(case.speed), duration=STEPS * DT, dt=DT)
    commands, rover = list(run.command[:STEPS]), Stepper(model, ground, dt=DT)

    def steps() -> int:
        rover.reset()
        for command in commands:
            rover.step(command)
        return STEPS

    def report(samples: Sequence[Sample]) -> dict[str, Any]:
        return {
            "vehicle": case.vehicle,
            "model": case.kind,
            "contact": case.contact,
            "dt": DT,
            **Spread.of([s.cpu for s in samples], scale=1e6).json("us_per_step", 2),
            "repeats": len(samples),
        }

    steps()
    return Work(steps, report)
