"""The whole benchmark: all pieces of work are prepared first, then timed in turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from grouser.bench.calibration import filter_updates
from grouser.bench.engine import batches, machine, steps
from grouser.bench.odometry import odometry_update
from grouser.bench.rounds import interleave
from grouser.bench.stepper import stepped

ROUNDS, QUICK_ROUNDS = 50, 10


def measure(*, quick: bool = False, progress: Callable[[int, int], None] | None = None) -> dict[str, Any]:
    """All cases, with the machine they ran on; JSON types only."""
    groups = {
        "cases": steps(),
        "batch": batches(),
        "calibration": filter_updates(),
        "odometry": [odometry_update()],
        "stepper": stepped(),
    }
    works = [work for group in groups.values() for work in group]
    samples = iter(interleave(works, QUICK_ROUNDS if quick else ROUNDS, progress=progress))
    reports = {name: [work.report(next(samples)) for work in group] for name, group in groups.items()}
    return {"machine": machine(), **reports, "odometry": reports["odometry"][0]}
