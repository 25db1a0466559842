"""Speed of the models: CPU time of a step on one core, alone, from Python and on a large map; wall time of a batch."""

import os
import platform
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np

from grouser import terrain
from grouser._version import __version__
from grouser.bench.rounds import Sample, Spread, Work, cores_of, report_of
from grouser.checks import FloatArray
from grouser.dynamics import Dynamics
from grouser.kinematics import Kinematics
from grouser.simulation import Simulation, drive, settle, simulate
from grouser.simulation.engine import Records, launch
from grouser.simulation.simulate import start_velocity
from grouser.terrain import Terrain
from grouser.threads import thread_count
from grouser.vehicles import vehicle

STARTS = 20
SECONDS = 4.0
"""What each rollout simulates [s]: on this ground and at this speed it stays on the map."""
SIDE, TILES = 200, 20
"""Nodes along a side of the small map, 1 m apart; the large one is made of so many of it along each side."""
MAP_ROLLOUTS, MAP_STEPS, MAP_DT = 40, 100, 0.04
"""Rollouts in one timing on a map, their steps, and the step [s]: 4 s at 1 m/s stay on one tile."""
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

    def about(self) -> dict[str, Any]:
        """Vehicle and model, for a report."""
        kind = "kinematic" if self.contact == "none" else "dynamic"
        return {"vehicle": self.vehicle, "model": kind, "contact": self.contact}

    def model(self) -> Kinematics | Dynamics:
        """The model, with ideal actuators."""
        from grouser.contact.named import contact_named

        rover = vehicle(self.vehicle)
        if self.contact == "none":
            return Kinematics(rover)
        return Dynamics(rover, contact=contact_named(self.contact, rover, speed=self.speed))

    def ground(self) -> Terrain:
        """Rough ground of this RMS and correlation length [m], always the same."""
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
    """Compile what models with these contacts need, or both kinds, so that the notice precedes any progress bar."""
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


def steps(case: Case, dt: float) -> Work:
    """CPU time per completed step, on one thread."""
    launch_once = _batch(case, rollouts=ROLLOUTS[dt], seconds=SECONDS, dt=dt)
    launch_once(1)

    def more(spread: Spread, samples: Sequence[Sample]) -> dict[str, Any]:
        return {"realtime_factor": round(1e6 * dt / spread.median, 1), "repeats": len(samples)}

    report = report_of({**case.about(), "dt": dt}, "us_per_step", 3, scale=1e6, more=more)
    return Work(partial(_steps_of, launch_once), report)


def batches(case: Case) -> list[Work]:
    """Wall time of a batch of 1000 rollouts of 10 s on one, two and all threads; one warm-up with all of them."""
    threads = sorted({1, min(2, thread_count(None)), thread_count(None)})
    about = {**case.about(), "rollouts": 1000, "seconds_simulated": 10.0, "dt": 0.04}
    launch_once = _batch(case, rollouts=1000, seconds=10.0, dt=0.04)
    launch_once(threads[-1])

    def work(n: int) -> Work:
        def more(spread: Spread, samples: Sequence[Sample]) -> dict[str, Any]:
            return {"threads": n, "cores": cores_of(samples), "repeats": len(samples)}

        report = report_of(about, "seconds", 4, clock="wall", more=more)
        return Work(lambda: len(launch_once(n).steps) // 1000, report, every=BATCH_EVERY, threads=n)

    return [work(n) for n in threads]


def stepped(case: Case) -> list[Work]:
    """CPU time per step of a `Simulation` from Python, and of the kernel that takes the same steps in one call."""
    model, ground = case.model(), case.ground()
    rest = None if isinstance(model, Kinematics) else np.zeros(6 + model.vehicle.n_joints)
    run = simulate(model, ground, drive.arc(case.speed), duration=SECONDS, dt=0.04, velocity=rest)
    commands, rover = list(run.command[:-1]), Simulation(model, ground, dt=0.04)
    start = rover.state[None]
    held = drive.table(run.command[:-1]).bind(model.vehicle, 0.04)

    def steps() -> int:
        rover.reset()
        for command in commands:
            rover.step(command)
        return len(commands)

    def kernel() -> int:
        options: dict[str, Any] = {"dt": 0.04, "steps": len(commands), "every": 0, "detailed": False}
        return int(launch(model, ground, [held], start, **options).steps[0])

    if steps() != kernel():
        raise RuntimeError("the steps of the stepping benchmark end early; its ground is too small")
    about = {**case.about(), "dt": 0.04}
    return [
        Work(steps, report_of(about, "us_per_step", 2, scale=1e6)),
        Work(kernel, report_of(about, "us_kernel", 2, scale=1e6)),
    ]


def maps() -> list[Work]:
    """CPU time of a step of Husky, kinematic and dynamic, on a small map and on a large one with the same hills.

    What is more on the large map is memory that is far away.
    """
    rover, works = vehicle("husky"), []
    small, nodes = hills(), np.arange(1.0 * SIDE * TILES)
    large = terrain.grid(np.tile(small.settings["heights"], (TILES, TILES)), nodes, nodes)
    for model in (Kinematics(rover), Dynamics(rover)):
        kind = "kinematic" if isinstance(model, Kinematics) else "dynamic"
        for ground, tiles in ((small, 1), (large, TILES)):
            rng, middle = np.random.default_rng(2), 0.5 * SIDE
            low, high = (middle - 60.0, middle - 60.0, -3.1), (middle + 60.0, middle + 60.0, 3.1)
            places = rng.uniform(low, high, (MAP_ROLLOUTS, 3))
            places[:, :2] += SIDE * rng.integers(0, tiles, (MAP_ROLLOUTS, 2))
            launch_once = _launcher(model, ground, places, speed=1.0, rollouts=MAP_ROLLOUTS, steps=MAP_STEPS, dt=MAP_DT)
            launch_once(1)
            about = {"vehicle": rover.name, "model": kind, "nodes": 2 * [SIDE * tiles], "dt": MAP_DT}
            works.append(Work(partial(_steps_of, launch_once), report_of(about, "us_per_step", 3, scale=1e6)))
    return works


@cache
def hills() -> Terrain:
    """Hills of RMS 2 m with bumps of RMS 0.03 m that repeat after the small map, in single precision."""
    rng = np.random.default_rng(1)
    k = np.fft.fftfreq(SIDE)[:, None], np.fft.rfftfreq(SIDE)[None, :]
    wave = np.maximum(np.hypot(*k), 1.0 / SIDE)
    rough = np.fft.irfft2(np.fft.rfft2(rng.standard_normal((SIDE, SIDE))) * wave**-2.0, s=(SIDE, SIDE))
    heights = 2.0 * rough / rough.std() + 0.03 * rng.standard_normal((SIDE, SIDE))
    return terrain.grid(heights.astype(np.float32), np.arange(1.0 * SIDE), np.arange(1.0 * SIDE))


def with_ratio(reports: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Reports in pairs of small and large; the large one says how many times as long its step takes."""
    return [
        one
        for small, large in zip(reports[::2], reports[1::2], strict=True)
        for one in (small, {**large, "ratio": round(large["us_per_step"] / small["us_per_step"], 3)})
    ]


def _steps_of(launch_once: Callable[[int], Records]) -> int:
    """Steps that were completed on one thread."""
    return int(launch_once(1).steps.sum())


def _batch(case: Case, *, rollouts: int, seconds: float, dt: float) -> Callable[[int], Records]:
    """Rollouts of a case from random places near the origin."""
    places = np.random.default_rng(0).uniform((-3.0, -3.0, -3.1), (3.0, 3.0, 3.1), (STARTS, 3))
    steps = round(seconds / dt)
    return _launcher(case.model(), case.ground(), places, speed=case.speed, rollouts=rollouts, steps=steps, dt=dt)


def _launcher(
    model: Kinematics | Dynamics, ground: Terrain, places: FloatArray, *, speed: float, rollouts: int, steps: int,
    dt: float,
) -> Callable[[int], Records]:  # fmt: skip
    """A launch that only needs the number of threads: all else is made ready, outside what is timed.

    places: where rollouts start in turn, x, y [m] and yaw [rad], (n, 3).
    """
    at_rest = [
        settle(model.vehicle, ground, x=x, y=y, yaw=yaw, penetration=model.penetration).state
        for x, y, yaw in places.tolist()
    ]
    starts = np.array(at_rest)[np.arange(rollouts) % len(places)]
    drives = [drive.arc(speed).bind(model.vehicle, dt)] * rollouts
    velocities = start_velocity(model, ground, drives, starts, None, dt)
    return lambda threads: launch(
        model, ground, drives, starts, dt=dt, steps=steps, every=0, detailed=False, velocities=velocities,
        threads=threads,
    )  # fmt: skip


def _cpu() -> str:
    with suppress(OSError):
        found = re.search(r"^model name\s*: *(.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
        if found:
            return found[1].strip()
    return platform.processor() or "unknown"
