"""Speed of the models: CPU time per step on one core, wall time of a batch on one and more."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np

from grouser import terrain
from grouser._version import __version__
from grouser.bench.rounds import Sample, Spread, Work
from grouser.dynamics import Dynamics
from grouser.kinematics import Kinematics
from grouser.simulation import drive, settle
from grouser.simulation.engine import Records, launch
from grouser.terrain import Terrain
from grouser.threads import thread_count
from grouser.vehicles import vehicle

STARTS = 20
SECONDS = 4.0
"""What each rollout simulates [s]: on this ground and at this speed it stays on the map."""
BATCH_EVERY = 5
"""Batches take 0.3 to 1.5 s, so they are timed in every fifth round only."""


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
        from grouser.contact.named import contact_named

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
ROLLOUTS = {0.04: 40, 0.01: 20}
"""By time step [s]: rollouts in one timing, which then takes 4000 and 8000 steps, about 10 to 60 ms."""


def prepare(*contacts: str) -> None:
    """Compile what models with these contacts need, so that the notice comes before any progress bar.

    Without any: kinematics and dynamics.
    """
    for contact in contacts or ("none", "piecewise-linear"):
        _batch(Case("zoe", 0.0, 1.0, 1.0, contact), rollouts=2, seconds=0.04, dt=0.04)(1)


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


def steps() -> list[Work]:
    """Steps of each case at each time step, on one thread."""
    return [_steps(case, dt) for case in CASES for dt in ROLLOUTS]


def batches() -> list[Work]:
    """Batches of 1000 rollouts of 10 s on one, two and all threads."""
    threads = sorted({1, min(2, thread_count(None)), thread_count(None)})
    return [work for case in BATCHES for work in _batches(case, threads)]


def _steps(case: Case, dt: float) -> Work:
    """CPU time per completed step."""
    launch_once = _batch(case, rollouts=ROLLOUTS[dt], seconds=SECONDS, dt=dt)
    launch_once(1)

    def report(samples: Sequence[Sample]) -> dict[str, Any]:
        spread = Spread.of([s.cpu for s in samples], scale=1e6)
        return {
            "vehicle": case.vehicle,
            "model": case.kind,
            "contact": case.contact,
            "dt": dt,
            **spread.json("us_per_step", 3),
            "realtime_factor": round(1e6 * dt / spread.median, 1),
            "repeats": len(samples),
        }

    return Work(lambda: int(launch_once(1).steps.sum()), report)


def _batches(case: Case, threads: Sequence[int]) -> list[Work]:
    """Wall time of a batch at dt 0.04 by number of threads; one warm-up with all of them."""
    rollouts, seconds, dt = 1000, 10.0, 0.04
    launch_once = _batch(case, rollouts=rollouts, seconds=seconds, dt=dt)
    launch_once(max(threads))

    def work(n: int) -> Work:
        def run() -> int:
            launch_once(n)
            return 1

        def report(samples: Sequence[Sample]) -> dict[str, Any]:
            return {
                "vehicle": case.vehicle,
                "model": case.kind,
                "contact": case.contact,
                "rollouts": rollouts,
                "seconds_simulated": seconds,
                "dt": dt,
                **Spread.of([s.wall for s in samples]).json("seconds", 4),
                "threads": n,
                "cores": round(Spread.of([s.cpu / s.wall for s in samples]).median, 2),
                "repeats": len(samples),
            }

        return Work(run, report, every=BATCH_EVERY, threads=n)

    return [work(n) for n in threads]


def _batch(case: Case, *, rollouts: int, seconds: float, dt: float) -> Callable[[int], Records]:
    """A launch that only needs the number of threads: all else is made ready, outside what is timed."""
    model, ground = case.model(), case.ground()
    depth = model.penetration
    starts = np.array(
        [
            settle(model.vehicle, ground, x=float(x), y=float(y), yaw=float(yaw), penetration=depth).state
            for x, y, yaw in np.random.default_rng(0).uniform((-3.0, -3.0, -3.1), (3.0, 3.0, 3.1), (STARTS, 3))
        ]
    )[np.arange(rollouts) % STARTS]
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
