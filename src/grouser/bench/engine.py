"""Speed of the models: CPU time per step on one core, wall time of a batch on one and more."""

from __future__ import annotations

import os
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np

from grouser import terrain
from grouser._version import __version__
from grouser.bench.calibration import time_filters
from grouser.bench.odometry import update_time
from grouser.dynamics import Dynamics
from grouser.kinematics import Kinematics
from grouser.simulation import drive, settle
from grouser.simulation.engine import Records, launch, thread_count
from grouser.terrain import Terrain
from grouser.vehicles import vehicle

ROLLOUTS = 200
"""Rollouts timed in one repeat."""
SECONDS = 4.0
"""What each of them simulates [s]: on this ground and at this speed it stays on the map."""


class Case(NamedTuple):
    """A vehicle on the rough ground that suits its size."""

    vehicle: str
    rms: float
    length: float
    speed: float
    contact: str = "none"
    """Contact model of the dynamic model; "none" is kinematics."""

    @property
    def kind(self) -> str:
        """Kind of model."""
        return "kinematic" if self.contact == "none" else "dynamic"

    def model(self) -> Kinematics | Dynamics:
        """The model, with ideal actuators."""
        from grouser.reproduce.contacts import contact_named

        rover = vehicle(self.vehicle)
        if self.contact == "none":
            return Kinematics(rover)
        return Dynamics(rover, contact=contact_named(self.contact, rover, speed=self.speed))

    def ground(self) -> Terrain:
        """Rough ground, RMS and correlation length [m], always the same."""
        return terrain.rough(rms=self.rms, length=self.length, seed=1)


CASES = (
    Case("zoe", 0.15, 0.8, 1.0),
    Case("rocky7", 0.05, 0.2, 0.5),
    Case("landtamer", 0.15, 0.8, 1.0),
    Case("zoe", 0.15, 0.8, 1.0, "piecewise-linear"),
    Case("zoe", 0.15, 0.8, 1.0, "pacejka"),
    Case("zoe", 0.15, 0.8, 1.0, "terramechanics"),
)
BATCHES = (CASES[0], CASES[3])
STEPS = (0.04, 0.01)
"""Time steps [s]."""


def prepare() -> None:
    """Compile what is measured, so that its notice comes before any progress bar."""
    for contact in ("none", "piecewise-linear"):
        _batch(Case("zoe", 0.0, 1.0, 1.0, contact), rollouts=2, seconds=0.04, dt=0.04)(1)


def measure(*, quick: bool = False, progress: Callable[[int, int], None] | None = None) -> dict[str, Any]:
    """All cases and batches, with the machine they ran on; JSON types only."""
    repeats = 3 if quick else 15
    threads = sorted({1, min(2, thread_count(None)), thread_count(None)})
    total = len(CASES) * len(STEPS) + len(BATCHES) * len(threads)
    cases: list[dict[str, Any]] = []
    batches: list[dict[str, Any]] = []

    def report() -> None:
        if progress is not None:
            progress(len(cases) + len(batches), total)

    for case in CASES:
        for dt in STEPS:
            cases.append(_time_step(case, dt, repeats))
            report()
    for case in BATCHES:
        for n in threads:
            batches.append(_time_batch(case, n, 2 if quick else 7))
            report()
    return {
        "machine": machine(),
        "cases": cases,
        "batch": batches,
        "calibration": time_filters(quick=quick),
        "odometry": update_time(updates=2000 if quick else 20000),
    }


def machine() -> dict[str, Any]:
    """What the numbers were measured on."""
    return {
        "cpu": _cpu(),
        "cores": os.cpu_count() or 1,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "numba": numba.__version__,
        "numpy": np.__version__,
        "grouser": __version__,
    }


def _time_step(case: Case, dt: float, repeats: int) -> dict[str, Any]:
    """Median over repeats of the CPU time per completed step, on one thread.

    The process's clock, as one of Numba's thread layers works on a thread of its own.
    """
    launch_once = _batch(case, rollouts=ROLLOUTS, seconds=SECONDS, dt=dt)
    launch_once(1)
    times = []
    for _ in range(repeats):
        began = time.process_time()
        records = launch_once(1)
        times.append((time.process_time() - began) / int(records.steps.sum()))
    seconds = statistics.median(times)
    return {
        "vehicle": case.vehicle,
        "model": case.kind,
        "contact": case.contact,
        "dt": dt,
        "us_per_step": round(1e6 * seconds, 3),
        "realtime_factor": round(dt / seconds, 1),
        "repeats": repeats,
    }


def _time_batch(case: Case, threads: int, repeats: int) -> dict[str, Any]:
    """Median over repeats of the wall time of 1000 rollouts of 10 s at dt 0.04."""
    launch_once = _batch(case, rollouts=1000, seconds=10.0, dt=0.04)
    launch_once(threads)
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        launch_once(threads)
        times.append(time.perf_counter() - began)
    return {
        "vehicle": case.vehicle,
        "model": case.kind,
        "contact": case.contact,
        "rollouts": 1000,
        "seconds_simulated": 10.0,
        "dt": 0.04,
        "seconds": round(statistics.median(times), 4),
        "threads": threads,
        "repeats": repeats,
    }


def _batch(case: Case, *, rollouts: int, seconds: float, dt: float) -> Callable[[int], Records]:
    """A launch that only needs the number of threads: all else is made ready, outside what is timed."""
    model, ground = case.model(), case.ground()
    depth = model.penetration
    starts = np.array(
        [
            settle(model.vehicle, ground, x=float(x), y=float(y), yaw=float(yaw), penetration=depth).state
            for x, y, yaw in np.random.default_rng(0).uniform((-3.0, -3.0, -3.1), (3.0, 3.0, 3.1), (20, 3))
        ]
    )[np.arange(rollouts) % 20]
    drives = [drive.arc(case.speed).bind(model.vehicle, dt)] * rollouts
    steps = round(seconds / dt)
    velocities = None
    if isinstance(model, Dynamics):
        rolling = Kinematics(model.vehicle, penetration=depth)
        velocities = launch(rolling, ground, drives, starts, dt=dt, steps=1, every=1, detailed=True).velocity[:, 0]
    return lambda threads: launch(
        model,
        ground,
        drives,
        starts,
        dt=dt,
        steps=steps,
        every=0,
        detailed=False,
        velocities=velocities,
        threads=threads,
    )


def _cpu() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"
