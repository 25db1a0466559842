"""Rolling a vehicle over a ground: desired joint rates in, a recorded run out."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from grouser import checks
from grouser._kernels.rolling.closure import RollingJob, RollingWork
from grouser._kernels.rolling.vehicle import roll_vehicle
from grouser._kernels.simulation.rollout import CONTACT_COLUMNS
from grouser.checks import FloatArray
from grouser.collision.frames import SCRATCH
from grouser.errors import SimulationError
from grouser.kinematics.suspension import suspension_of
from grouser.rolling.closure import contacts_at, rigid_couplings
from grouser.rolling.model import RANK_TOLERANCE, RollingModel, column_units, constraint_values
from grouser.rolling.start import Start
from grouser.simulation.records import ContactRecord, RollingRecord
from grouser.simulation.run import Run
from grouser.simulation.simulate import step_count
from grouser.simulation.status import OF_CODE
from grouser.terrain import Terrain
from grouser.vehicles import Vehicle

__all__ = ["launch", "roll"]

MOST_STEPS = 10**7
MOST_DECAY = 2.78
"""Largest σ dt: beyond 2.785 classical Runge–Kutta steps make a decaying error grow."""


class Guide(NamedTuple):
    """Guidance of a platform along a path, as in `design.judge`; slip is then minimised instead of zero."""

    path: FloatArray
    """x, y [m], heading [rad], speed [m/s], curvature [1/m] at every half step, shape (2 steps + 1, 5)."""
    steering: FloatArray
    """Joint, x and y of its axis from the point that is led [m], gain [1/s], one row for each steering joint."""
    weights: FloatArray
    """Weights of the joints' desired rates, shape (nj,)."""
    rate_weight: float
    """Weight of joint rates against slip speeds [m]."""
    gain: float
    """Gain of the position error along the path [1/s]."""
    length: float
    """Length in which it returns to the path [m]."""


Rates = Mapping[str, float] | ArrayLike | Callable[[float], Any]


def roll(
    model: RollingModel | Vehicle,
    ground: Terrain | None = None,
    *,
    rates: Rates,
    duration: float = 30.0,
    dt: float = 0.01,
    start: Start | ArrayLike | None = None,
    sigma: float = 5.0,
    every: int = 1,
) -> Run:
    """Roll a vehicle without slip, its joint rates the admissible ones nearest to the desired (R §16.3.2).

    The run has a part `rolling`; `measure(run)` gives the errors of contact and rolling.

    model: a RollingModel; or a vehicle, with its `ground` and `sigma` [1/s].
    rates: desired joint rates [rad/s or m/s] as {"joint": rate}, where the others are 0, as an array (nj,), or as
        a function of the time [s] that returns one of these.
    duration, dt: [s]; classical Runge–Kutta steps. Every `every`-th step is recorded.
    start: from `model.start`, or (x, y, yaw), or None for the origin.
    """
    if isinstance(model, RollingModel):
        if ground is not None and ground is not model.ground:
            raise SimulationError("ground: the model has its own; leave ground out, or use model.replace(ground=...)")
    else:
        if ground is None:
            raise SimulationError("ground: is missing; give a terrain, or a RollingModel that has one")
        model = RollingModel(model, ground, sigma=sigma)
    step = checks.positive(dt, "dt")
    seconds = checks.positive(duration, "duration")
    checks.count(round(seconds / step), "duration over dt", most=MOST_STEPS)
    steps = step_count(seconds, step)
    if start is None or not isinstance(start, Start):
        x, y, yaw = checks.array((0.0, 0.0, 0.0) if start is None else start, "start", (3,))
        start = model.start(float(x), float(y), float(yaw))
    every = checks.count(every, "every", most=steps)
    if callable(rates):
        half_steps = (0.5 * step * k for k in range(2 * steps + 1))
        desired = np.array([model.joint_rates(rates(t), f"rates({t:g})") for t in half_steps])
    else:
        desired = model.joint_rates(rates)[None]
    return launch(model, desired, dt=step, steps=steps, every=every, start=start)


def launch(
    model: RollingModel, desired: FloatArray, *, dt: float, steps: int, every: int, start: Start,
    guide: Guide | None = None,
) -> Run:  # fmt: skip
    """Run the kernel with desired joint rates at every half step (2 steps + 1, nj), or one row if they are constant."""
    _check_step(model, desired, dt)
    vehicle = model.vehicle
    begin, contact = model.checked(start.state, start.contact)
    rigid = rigid_couplings(vehicle)
    nj, nw = vehicle.n_joints, vehicle.n_wheels
    nv, rows = 6 + nj, steps // every + 2
    led = guide or Guide(np.zeros((0, 5)), np.zeros((0, 4)), model.joint_weights, 0.0, 0.0, 1.0)
    hard, soft = 3 * nw + len(rigid) + 2 + len(led.steering), nj + 2 * nw
    law, scratch = model.ground.curvature, SCRATCH.take(vehicle.arrays)
    sizes = {"nw": nw, "nv": nv, "nr": nv + 4 * nw, "nx": nv + 1 + 4 * nw, "nj": nj}
    job = RollingJob(
        vehicle=vehicle.arrays, s=scratch, suspension=suspension_of(vehicle), rigid=rigid,
        work=RollingWork.zeros(**sizes, hard=hard, soft=soft, widest=max(hard, soft, nv)),
        address=law.address, par=law.par_address, sigma=model.sigma, tolerance=RANK_TOLERANCE, realign=model.realigns,
        returning=model.returning if len(vehicle.couplings) > len(rigid) else 0.0,
        dt=dt, steps=steps, every=every, weights=led.weights, units=column_units(vehicle), desired=desired,
        path=led.path, steering=led.steering, rate_weight=led.rate_weight, path_gain=led.gain, path_length=led.length,
        state=np.concatenate((begin, contact.ravel())), states=np.zeros((rows, sizes["nx"])),
        velocities=np.zeros((rows, sizes["nr"])), contacts=np.zeros((rows, nw, CONTACT_COLUMNS)),
        closure=np.zeros(rows), rank=np.zeros(rows, dtype=np.int64),
    )  # fmt: skip
    status, done, recorded = roll_vehicle(job)
    SCRATCH.give(vehicle.arrays, scratch)
    time = dt * np.minimum(every * np.arange(recorded, dtype=np.float64), steps)
    wanted = np.repeat(desired, recorded, axis=0) if len(desired) == 1 else desired[np.round(2 * time / dt).astype(int)]
    state, velocity = job.states[:recorded, : nv + 1].copy(), job.velocities[:recorded, :nv].copy()
    coordinates = job.states[:recorded, nv + 1 :].reshape(-1, nw, 4)
    rank = job.rank[:recorded]
    # With a path, the rank is that of the path's rows, not of rolling, which is found here.
    if guide is not None and recorded:
        values = constraint_values(vehicle, state, contacts_at(vehicle, model.ground, state, coordinates))
        rank = np.sum(values > RANK_TOLERANCE, axis=-1)
    rolling = RollingRecord(
        coordinates=coordinates,
        rates=job.velocities[:recorded, nv:].reshape(-1, nw, 4),
        desired=wanted,
        closure_error=job.closure[:recorded],
        degrees_of_freedom=nv - rank - model.mobility(begin, contact).loose,
        sigma=model.sigma,
    )
    return Run(
        vehicle=vehicle, time=time, state=state, velocity=velocity, command=wanted[:, vehicle.arrays.actuated],
        contact=ContactRecord.from_columns(job.contacts[:recorded]), status=OF_CODE[status], steps=int(done), dt=dt,
        rolling=rolling, model=model.describe(), ground=model.ground,
    )  # fmt: skip


def _check_step(model: RollingModel, desired: FloatArray, dt: float) -> None:
    """Refuse steps that are too long for the closure, or for the wheels, to be followed."""
    if model.sigma * dt > MOST_DECAY:
        raise SimulationError(
            f"sigma: {model.sigma:g} 1/s is too fast for steps of {dt:g} s, in which an error would grow, not fall;"
            f" use at most {MOST_DECAY / dt:.4g} 1/s, or a smaller dt"
        )
    fastest = float(np.abs(desired[:, model.vehicle.arrays.wheel - 1]).max())
    if fastest * dt > math.pi:
        raise SimulationError(
            f"rates: a wheel at {fastest:g} rad/s turns by more than half a turn in a step of {dt:g} s; use a smaller"
            " dt, or slower wheels"
        )
