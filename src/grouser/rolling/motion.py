"""Rolling a vehicle over a ground: desired joint rates in, a recorded run out."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from grouser import checks
from grouser._kernels.rolling import contact as rolling_contact
from grouser._kernels.rolling import vehicle as rolling_vehicle
from grouser._kernels.scratch import make_scratch
from grouser.checks import FloatArray
from grouser.errors import SimulationError
from grouser.rolling.closure import contacts_at
from grouser.rolling.mobility import RANK_TOLERANCE, column_units, constraint_values
from grouser.rolling.model import RollingModel
from grouser.rolling.run import RollingRun, RollingStatus
from grouser.rolling.start import Start
from grouser.terrain import Terrain
from grouser.vehicles import Vehicle

__all__ = ["launch", "roll"]

STATUS = {
    rolling_contact.OK: RollingStatus.OK,
    rolling_contact.OFF_TERRAIN: RollingStatus.OFF_TERRAIN,
    rolling_contact.TOO_SHARP: RollingStatus.TOO_SHARP,
    rolling_contact.DIVERGED: RollingStatus.DIVERGED,
}
MOST_STEPS = 10**7
MOST_DECAY = 2.78
"""Largest σ dt: beyond 2.785 classical Runge–Kutta steps make a decaying error grow."""

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
) -> RollingRun:
    """Roll a vehicle without slip, its joint rates the admissible ones nearest to the desired (R §16.3.2).

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
    steps = checks.count(round(seconds / step), "duration over dt", most=MOST_STEPS)
    if abs(steps * step - seconds) > 1e-6 * max(seconds, step):
        raise SimulationError(f"duration: {seconds:g} s is not a whole number of steps of {step:g} s")
    k = checks.count(every, "every", most=steps)
    return launch(model, _desired(model, rates, step, steps), dt=step, steps=steps, every=k, start=begin(model, start))


def begin(model: RollingModel, start: Start | ArrayLike | None) -> Start:
    """The start of a run: given, or found at (x, y, yaw)."""
    if start is None:
        return model.start()
    if isinstance(start, Start):
        state, contact = model.checked(start.state, start.contact)
        return Start(state, contact, start.iterations, start.closure)
    x, y, yaw = checks.array(start, "start", (3,))
    return model.start(float(x), float(y), float(yaw))


def launch(
    model: RollingModel,
    desired: FloatArray,
    *,
    dt: float,
    steps: int,
    every: int,
    start: Start,
    path: FloatArray | None = None,
    steering: FloatArray | None = None,
    follow: tuple[float, float, float] = (0.0, 0.0, 1.0),
    weights: FloatArray | None = None,
) -> RollingRun:
    """Run the kernel. With a `path` (2 steps + 1, 5) of the body, slip is made small instead of zero.

    `path`, `steering`, `follow` (weight of rates [m], gain [1/s], length [m]) and `weights` of the joints are those of
    `design.judge`.
    """
    _check_step(model, desired, dt)
    vehicle = model.vehicle
    nv, nw = 6 + vehicle.n_joints, vehicle.n_wheels
    rows = steps // every + 2
    state, contact = start.state.copy(), start.contact.copy()
    out = {
        "state": np.zeros((rows, nv + 1)),
        "contact": np.zeros((rows, nw, 4)),
        "velocity": np.zeros((rows, nv)),
        "contact_rate": np.zeros((rows, nw, 4)),
        "slip": np.zeros((rows, nw, 2)),
        "closure_error": np.zeros(rows),
    }
    rank = np.zeros(rows, dtype=np.int64)
    law = model.ground.curvature
    status, done, recorded = rolling_vehicle.roll_vehicle(
        vehicle.arrays,
        law.address,
        law.par_address,
        np.array([model.sigma, RANK_TOLERANCE, *follow, float(model.realigns)]),
        state,
        contact,
        np.ascontiguousarray(desired),
        model.joint_weights if weights is None else weights,
        column_units(vehicle),
        np.zeros((0, 5)) if path is None else np.ascontiguousarray(path),
        np.zeros((0, 4)) if steering is None else np.ascontiguousarray(steering),
        float(dt),
        int(steps),
        int(every),
        *out.values(),
        rank,
        make_scratch(vehicle.arrays),
    )
    time = dt * np.minimum(every * np.arange(recorded, dtype=np.float64), steps)
    # Beside a path, the rank is that of the path's rows, not of rolling: it is found anew then.
    if path is not None and recorded:
        at = contacts_at(vehicle, model.ground, out["state"][:recorded], out["contact"][:recorded])
        values = constraint_values(vehicle, out["state"][:recorded], at)
        rank[:recorded] = np.sum(values > RANK_TOLERANCE, axis=-1)
    loose = model.mobility(start.state, start.contact).loose
    wanted = np.repeat(desired, recorded, axis=0) if len(desired) == 1 else desired[np.round(2 * time / dt).astype(int)]
    return RollingRun(
        vehicle=vehicle,
        time=time,
        **{name: array[:recorded] for name, array in out.items()},
        degrees_of_freedom=nv - rank[:recorded] - loose,
        desired=wanted,
        status=STATUS[status],
        steps=int(done),
        dt=dt,
        sigma=model.sigma,
        ground=model.ground,
    )


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


def _desired(model: RollingModel, rates: Rates, dt: float, steps: int) -> FloatArray:
    """Desired rates at every half step (2 steps + 1, nj), or one row if they are constant."""
    if not callable(rates):
        return model.joint_rates(rates)[None]
    return np.array([model.joint_rates(rates(0.5 * dt * k), f"rates({0.5 * dt * k:g})") for k in range(2 * steps + 1)])
