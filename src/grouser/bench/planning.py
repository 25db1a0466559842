"""Speed of the planner: steps per second of sampled drives with their costs, and commands per second."""

from collections.abc import Sequence
from typing import Any

from grouser.bench.engine import BATCHES, Case
from grouser.bench.rounds import Sample, Spread, Work, report_of
from grouser.plan import MPPI, CommandRate, Cost, Goal, TipMargin
from grouser.simulation import settle

SAMPLES, STEPS, DT = 1000, 35, 0.08
"""Samples of a command, their steps, and the step [s]."""
THREADS = (1, 2)
EVERY = 5
"""Commands take 0.1 to 0.5 s, so they are timed in every fifth round only."""


def planning() -> list[Work]:
    """Wall time of one MPPI command for Zoë on rough ground, kinematic and dynamic, on one and two threads."""
    return [work for case in BATCHES for work in commands(case)]


def commands(
    case: Case, *, samples: int = SAMPLES, steps: int = STEPS, dt: float = DT, threads: Sequence[int] = THREADS
) -> list[Work]:
    """The same for one case; a command that was not timed warms each of them up."""
    model, ground = case.model(), case.ground()
    start = settle(model.vehicle, ground, penetration=model.penetration).state
    cost = Cost(Goal(8.0, 3.0), TipMargin(), CommandRate())
    about = {**case.about(), "samples": samples, "steps": steps, "dt": dt}

    def work(n: int) -> Work:
        controller = MPPI(model, ground, cost, horizon=steps * dt, dt=dt, samples=samples, threads=n)

        def command() -> int:
            controller.command(start)
            return 1

        def more(spread: Spread, timings: Sequence[Sample]) -> dict[str, Any]:
            cores = Spread.of([s.cpu / s.wall for s in timings]).median
            rate = 1.0 / spread.median
            return {
                "hertz": round(rate, 2),
                "steps_per_second": round(rate * samples * steps),
                "threads": n,
                "cores": round(cores, 2),
                "repeats": len(timings),
            }

        command()
        return Work(command, report_of(about, "seconds", 5, clock="wall", more=more), every=EVERY, threads=n)

    return [work(n) for n in threads]
