"""Timing many pieces of work in turn, round by round: a slow phase of the machine slows all of them equally."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

REST = 0.05
"""Pause after work on several threads [s], untimed. The threads of a pool may spin for a while after their work
(OpenMP's took 5 to 11 ms of CPU time), and the CPU time of what follows would include it."""


class Sample(NamedTuple):
    """One timing of a piece of work."""

    cpu: float
    """CPU time of the process per unit of work [s]."""
    wall: float
    """Wall time per unit of work [s]."""


class Spread(NamedTuple):
    """Median, quartiles and minimum of several timings, in their unit."""

    median: float
    lower: float
    upper: float
    minimum: float

    @classmethod
    def of(cls, values: Sequence[float], *, scale: float = 1.0) -> Spread:
        """Spread of values times a scale; quartiles are interpolated between values."""
        lower, median, upper = np.percentile(values, (25.0, 50.0, 75.0)).tolist()
        return cls(scale * median, scale * lower, scale * upper, scale * min(values))

    def json(self, median: str, digits: int) -> dict[str, Any]:
        """As JSON, the median under a name of its own."""
        middle, lower, upper, minimum = (round(value, digits) for value in self)
        return {median: middle, "quartiles": [lower, upper], "minimum": minimum}


class Work(NamedTuple):
    """A piece of work that is prepared and warm."""

    run: Callable[[], int]
    """Does it once; returns how many units (steps, updates) that were."""
    report: Callable[[Sequence[Sample]], dict[str, Any]]
    """Makes JSON of its timings."""
    every: int = 1
    """Takes part in every n-th round, the first included."""
    threads: int = 1
    """Threads it uses."""


def cores_of(samples: Sequence[Sample]) -> float:
    """Cores that work kept busy: median of CPU time over wall time, a ratio."""
    return round(Spread.of([s.cpu / s.wall for s in samples]).median, 2)


def report_of(
    about: dict[str, Any],
    median: str,
    digits: int,
    *,
    scale: float = 1.0,
    clock: str = "cpu",
    more: Callable[[Spread, Sequence[Sample]], dict[str, Any]] = lambda spread, samples: {"repeats": len(samples)},
) -> Callable[[Sequence[Sample]], dict[str, Any]]:
    """A report: what was timed, the spread of its timings by a clock, and more."""

    def report(samples: Sequence[Sample]) -> dict[str, Any]:
        spread = Spread.of([getattr(s, clock) for s in samples], scale=scale)
        return {**about, **spread.json(median, digits), **more(spread, samples)}

    return report


def interleave(
    works: Sequence[Work],
    rounds: int,
    *,
    progress: Callable[[int, int], None] | None = None,
    clocks: Callable[[], tuple[float, float]] = lambda: (time.process_time(), time.perf_counter()),
    rest: Callable[[float], None] = time.sleep,
) -> list[list[Sample]]:
    """Time each piece of work once a round, in the given order; the samples of each, round by round.

    `progress(done, total)` is called after each timing. `clocks` reads CPU and wall time [s]: of the process, not of
    the thread, as the engine may work on another thread even where it uses only one.
    """
    samples: list[list[Sample]] = [[] for _ in works]
    order = list(schedule([work.every for work in works], rounds))
    for done, i in enumerate(order, start=1):
        began, units, ended = clocks(), works[i].run(), clocks()
        samples[i].append(Sample((ended[0] - began[0]) / units, (ended[1] - began[1]) / units))
        if works[i].threads > 1:
            rest(REST)
        if progress is not None:
            progress(done, len(order))
    return samples


def schedule(every: Sequence[int], rounds: int) -> Iterator[int]:
    """Which piece of work is timed, one after another; `every` says in how many rounds each takes part once."""
    for k in range(rounds):
        yield from (i for i, stride in enumerate(every) if k % stride == 0)
