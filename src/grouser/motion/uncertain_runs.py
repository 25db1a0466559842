"""Runs and rollouts of a fit or a motion model on any ground, with samples of parameters and process noise."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from grouser import checks
from grouser.checks import FloatArray
from grouser.errors import SimulationError
from grouser.motion.fit import Fit
from grouser.motion.model import MotionModel
from grouser.motion.on_ground import draws, driven_rates, driven_speed, engine_model, left_out, scaled_noise
from grouser.simulation.rollout import Rollouts, joined_outcomes, roll_out
from grouser.simulation.run import Run
from grouser.simulation.samples import Samples
from grouser.simulation.simulate import MOST_VALUES, check_model, simulate, step_count
from grouser.simulation.status import Status
from grouser.terrain import Terrain

RUNS = 200
"""Default samples of a run: sigmas are then known to 5 %."""
ROLLOUTS = 20
"""Samples of each row of commands."""


def simulate_uncertain(
    given: Fit | MotionModel,
    ground: Terrain,
    drive: Any,
    *,
    duration: float,
    dt: float,
    start: ArrayLike | None = None,
    velocity: ArrayLike | None = None,
    every: int = 1,
    samples: int | None = None,
    seed: int = 0,
) -> Run:
    """`grouser.simulate` of a fit: the run of its own parameters without noise, and samples of it.

    A drive with feedback gives its commands on the path without a powertrain; they then pass the powertrain.
    """
    motion = _motion(given)
    _warn_of_left_out(motion)
    model = engine_model(motion)
    count = checks.count(RUNS if samples is None else samples, "samples", least=0, most=10**6)
    options: dict[str, Any] = {"dt": dt, "start": start, "velocity": velocity}
    first = run = simulate(model, ground, drive, duration=duration, every=1, **options)
    if run.status is Status.INTERRUPTED:
        return run
    steps = step_count(float(duration), float(dt))
    # After an early end the last command is held.
    last = len(run.command) - 1
    commands = run.command[np.minimum(np.arange(steps), last)] if last >= 0 else np.zeros((steps, run.command.shape[1]))
    if motion.powertrain is not None or every != 1:
        again = drive if motion.powertrain is None else driven_rates(motion.powertrain, commands, dt)
        run = simulate(model, ground, again, duration=duration, every=every, **options)
    run = dataclasses.replace(run, drive=first.drive, path=first.path)
    if count == 0:
        return run
    if count * (steps // every + 1) * (7 + model.vehicle.n_joints) > MOST_VALUES:
        raise SimulationError(f"{count} samples of {steps} steps do not fit in memory; record fewer with every=…")
    options |= {"every": every, "samples": count, "seed": seed, "outcome": False}
    rolled = roll_out_uncertain(given, ground, commands[None], **options)
    found = Samples(state=rolled.state, status=rolled.status, steps=rolled.steps, every=every)
    cut = str(Status.INTERRUPTED) in rolled.status
    return dataclasses.replace(run, samples=found, status=Status.INTERRUPTED if cut else run.status)


def roll_out_uncertain(
    given: Fit | MotionModel,
    ground: Terrain,
    commands: ArrayLike,
    *,
    start: ArrayLike | None = None,
    velocity: ArrayLike | None = None,
    dt: float = 0.04,
    every: int | None = None,
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    samples: int | None = None,
    seed: int = 0,
    outcome: bool = True,
) -> Rollouts:
    """`grouser.rollout` of a fit: each row of commands by `samples` draws of the parameters, each with its own noise.

    Draw k is the same for all rows of commands. No samples: its own parameters, without noise.
    """
    motion = _motion(given)
    if outcome:  # samples of a run: the run has warned already
        _warn_of_left_out(motion)
    nominal = engine_model(motion)
    check_model(nominal, ground)
    step = checks.positive(dt, "dt")
    count = checks.count(ROLLOUTS if samples is None else samples, "samples", least=0, most=10**6)
    number = checks.count(seed, "seed", least=0, most=2**63 - 1)
    wanted = checks.array(commands, "commands", (None, None, len(nominal.vehicle.actuated)))
    options: dict[str, Any] = {"start": start, "velocity": velocity, "dt": step, "every": every, "threads": threads}
    options["outcome"] = outcome
    if count == 0:
        return roll_out(nominal, ground, driven_rates(motion.powertrain, wanted, step), **options)
    rows = 0 if every is None else wanted.shape[1] // every + 1
    if len(wanted) * count * rows * (7 + nominal.vehicle.n_joints) > MOST_VALUES:
        raise SimulationError(
            f"{len(wanted)} × {count} rollouts do not fit in memory with every={every}; record fewer, or none"
        )
    found, before, halted = [], (motion, nominal), False
    for k, one in enumerate(draws(given, count, number)):
        model = before[1] if one is before[0] else engine_model(one)
        before = one, model
        rates = driven_rates(one.powertrain, wanted, step)
        found.append(roll_out(model, ground, rates, **options, halted=halted, disturb=_disturb(one, step, number, k)))
        halted = halted or str(Status.INTERRUPTED) in found[-1].status
        if progress is not None:
            progress((k + 1) * len(wanted), count * len(wanted))
    return _interleaved(found)


def _disturb(motion: MotionModel, dt: float, seed: int, draw: int) -> Callable[[int, FloatArray], FloatArray | None]:
    """Process noise of one draw; that of a row of commands depends on its number and the draw's, not on the others."""
    noise = motion.noise
    silent = not noise.density.any() and (noise.wander is None or not noise.wander.any())

    def disturb(first: int, rates: FloatArray) -> FloatArray | None:
        if silent:
            return None
        shape = rates.shape[1], 2, len(noise.components)
        unit = [np.random.default_rng((1, seed, draw, first + i)).standard_normal(shape) for i in range(len(rates))]
        return scaled_noise(noise, driven_speed(motion.vehicle, rates), dt, np.array(unit))

    return disturb


def _interleaved(parts: list[Rollouts]) -> Rollouts:
    """Rollouts of K draws of the same rows of commands, as one: row i of draw k is i K + k."""

    def joined(name: str) -> Any:
        each = [getattr(part, name) for part in parts]
        return None if each[0] is None else np.stack(each, axis=1).reshape(len(each[0]) * len(each), *each[0].shape[1:])

    names = ("final_state", "state", "status", "steps", "deficient", "final_velocity")
    outcomes = [part.outcome for part in parts if part.outcome is not None]
    return Rollouts(
        time=parts[0].time,
        samples=len(parts),
        outcome=joined_outcomes(outcomes, axis=1) if outcomes else None,
        **{name: joined(name) for name in names},
    )


def _motion(given: Fit | MotionModel) -> MotionModel:
    return given.model if isinstance(given, Fit) else given


def _warn_of_left_out(motion: MotionModel) -> None:
    note = left_out(motion)
    if note is not None:
        warnings.warn(note, stacklevel=5)
