"""Cost of a step: CPU time without recording, minus the cost of a launch before its first step."""

from __future__ import annotations

import time
from typing import Any

from grouser.checks import FloatArray
from grouser.dynamics import Dynamics
from grouser.kinematics import Kinematics
from grouser.simulation.drive import as_drive
from grouser.simulation.engine import launch
from grouser.terrain import Terrain

REPEATS = 5  # of each timing; the quickest counts: other programs can only slow it down


def us_per_step(
    model: Kinematics | Dynamics,
    ground: Terrain,
    command: Any,
    start: FloatArray,
    *,
    dt: float,
    duration: float,
    velocity: FloatArray | None = None,
) -> float | None:
    """CPU time of a completed step [µs]; None if there was none."""
    bound = as_drive(command).bind(model.vehicle, dt)
    velocities = None if velocity is None else velocity[None]

    def seconds(count: int) -> tuple[float, int]:
        times, steps = [], 0
        for _ in range(REPEATS):
            # Of the process, not the thread: Numba may run even a batch of one on a thread of its own pool.
            begin = time.process_time()
            records = launch(
                model, ground, [bound], start[None], dt=dt, steps=count, every=0, detailed=False, velocities=velocities
            )
            times.append(time.process_time() - begin)
            steps = int(records.steps[0])
        return min(times), steps

    taken, steps = seconds(round(duration / dt))
    return 1e6 * (taken - seconds(0)[0]) / steps if steps else None
