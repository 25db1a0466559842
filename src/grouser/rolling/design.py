"""Designs compared: how much the wheels of a vehicle must slip because of its geometry alone (R §16.1.2).

Every design is led along the same path over the same ground by the same driver: its platform has the speed of the path,
and its steering joints turn towards the path. All its wheels stay on the ground, and the wheels and passive joints turn
as they must for the least slip. What is left is kinematic slip: no choice of wheel rates avoids it. The sum of squared
slip speeds of all wheels is least at every instant; the joint rates count for RATE_WEIGHT of a slip speed, so that of
motions with equal slip the calmest is taken.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grouser import checks
from grouser._kernels.constants import GRAVITY
from grouser.checks import FloatArray
from grouser.errors import SimulationError
from grouser.kinematics import frame_poses
from grouser.rolling.closure import contacts_at
from grouser.rolling.model import RollingModel
from grouser.rolling.motion import Guide, launch
from grouser.simulation.records import RollingRecord
from grouser.simulation.run import Run
from grouser.simulation.status import Status
from grouser.terrain import Terrain
from grouser.vehicles import Vehicle

__all__ = ["Design", "compare", "judge", "load_shares"]

RATE_WEIGHT = 1e-3
"""Slip speed [m/s] that a joint rate of 1 rad/s (or m/s) more than desired is worth."""
SPIN_WEIGHT = 0.01
"""Weight of a wheel's own rate, where that of other joints is 1: wheels turn unequally before the body drifts."""
PATH_GAIN = 1.0
"""Gain of the position error along the path [1/s]."""
PATH_LENGTH = 2.0
"""Length in which it returns to the path [m]."""


@dataclass(frozen=True)
class Design:
    """Motion and slip of one vehicle along the path."""

    run: Run
    """Its motion; `run.contact.velocity` is the slip that could not be avoided."""
    friction: float
    """Coefficient of friction μ."""
    load: FloatArray
    """Quasi-static normal force of each wheel [N], shape (T, nw); see `load_shares`."""

    @property
    def slip_speed(self) -> FloatArray:
        """Slip speed of each wheel [m/s], shape (T, nw)."""
        return self.run.contact.slip_speed

    @property
    def rolling(self) -> RollingRecord:
        """Freedoms and closure along the run."""
        assert self.run.rolling is not None
        return self.run.rolling

    @property
    def slip_per_metre(self) -> float:
        """Length that the wheels slip for each metre of the platform's path, summed over the wheels [m/m]."""
        return self._integral(self.slip_speed.sum(axis=1)) / max(self.run.distance, 1e-12)

    @property
    def power(self) -> FloatArray:
        """Power lost to slip, μ × load × slip speed of all wheels [W], shape (T,)."""
        lost: FloatArray = self.friction * (self.load * self.slip_speed).sum(axis=1)
        return lost

    @property
    def energy_per_metre(self) -> float:
        """Energy lost to slip for each metre of path [J/m]."""
        return self._integral(self.power) / max(self.run.distance, 1e-12)

    def summary(self) -> dict[str, Any]:
        """In a few numbers."""
        run = self.run
        return {
            "vehicle": run.vehicle.name,
            "status": str(run.status),
            "distance": run.distance,
            "degrees_of_freedom": int(self.rolling.degrees_of_freedom.min()),
            "slip_per_metre": self.slip_per_metre,
            "slip_speed_max": float(self.slip_speed.max()),
            "power_mean": float(self.power.mean()),
            "power_max": float(self.power.max()),
            "energy_per_metre": self.energy_per_metre,
            "closure_error_max": float(self.rolling.closure_error.max()),
        }

    def _integral(self, values: FloatArray) -> float:
        return float(np.trapezoid(values, self.run.time))


def judge(
    model: RollingModel,
    *,
    speed: float = 0.65,
    curvature: float = 0.0,
    duration: float = 30.0,
    dt: float = 0.01,
    start: tuple[float, float, float] = (0.0, 0.0, 0.0),
    friction: float = 0.6,
    every: int = 10,
) -> Design:
    """Lead one vehicle along a path and measure its kinematic slip.

    The path of the platform frame, seen from above, begins at `start` (x, y, yaw) and is straight or an arc of
    `curvature` [1/m], driven at `speed` [m/s] over the map.
    """
    checks.instance(model, RollingModel, "model", "use grouser.rolling.RollingModel(vehicle, ground)")
    v = checks.positive(speed, "speed")
    kappa = checks.number(curvature, "curvature")
    mu = checks.not_negative(friction, "friction")
    step = checks.positive(dt, "dt")
    steps = checks.count(round(checks.positive(duration, "duration") / step), "duration over dt", most=10**7)
    x, y, yaw = (float(value) for value in checks.array(start, "start", (3,)))
    half_steps = 0.5 * step * np.arange(2 * steps + 1, dtype=np.float64)
    vehicle = model.vehicle
    desired = np.zeros((1, vehicle.n_joints))
    desired[0, vehicle.arrays.wheel - 1] = v / vehicle.arrays.radius
    weights = model.joint_weights
    weights[vehicle.arrays.wheel - 1] *= SPIN_WEIGHT
    path = _arc(x, y, yaw, v, kappa, half_steps)
    guide = Guide(path, _steering(vehicle), weights, rate_weight=RATE_WEIGHT, gain=PATH_GAIN, length=PATH_LENGTH)
    every = checks.count(every, "every", most=steps)
    run = launch(model, desired, dt=step, steps=steps, every=every, start=model.start(x, y, yaw), guide=guide)
    if len(run.time) < 2:
        raise SimulationError(f"vehicle '{vehicle.name}' cannot be led along the path: {run.status.meaning}")
    assert run.rolling is not None
    load = np.array([load_shares(model, q, c) for q, c in zip(run.state, run.rolling.coordinates, strict=True)])
    return Design(run=run, friction=mu, load=load)


def compare(vehicles: Sequence[Vehicle], ground: Terrain, **options: Any) -> dict[str, Design]:
    """Judge several vehicles on one ground and path, by name; options as in `judge`. Each must reach the end."""
    checks.instance(vehicles, Sequence, "vehicles", "give a list of them")
    out: dict[str, Design] = {}
    for vehicle in vehicles:
        if isinstance(vehicle, Vehicle) and vehicle.name in out:
            raise SimulationError(f"vehicles: '{vehicle.name}' is given twice; designs need names of their own")
        design = judge(RollingModel(vehicle, ground), **options)
        if design.run.status is not Status.OK:
            raise SimulationError(
                f"vehicle '{vehicle.name}' ended after {design.run.time[-1]:g} s: {design.run.status.meaning}"
            )
        out[vehicle.name] = design
    return out


def load_shares(model: RollingModel, state: FloatArray, contact: FloatArray) -> FloatArray:
    """Quasi-static normal force of each wheel [N], shape (nw,).

    The vehicle is weighed as one body: vertical forces at the contacts carry its weight and hold its centre of mass, of
    smallest norm where there are more than three wheels; none pulls. Their parts along the ground's normals are taken.
    """
    checks.instance(model, RollingModel, "model", "use grouser.rolling.RollingModel(vehicle, ground)")
    vehicle = model.vehicle
    at = contacts_at(vehicle, model.ground, state, contact)
    R, p = frame_poses(vehicle, state)
    a = vehicle.arrays
    centre = a.mass @ (p + np.einsum("fij,fj->fi", R, a.com)) / vehicle.mass
    lever = at.ground.point[:, :2] - centre[:2]
    weight = vehicle.mass * GRAVITY
    share = np.linalg.lstsq(np.vstack((np.ones(len(lever)), lever.T)), np.array([weight, 0.0, 0.0]), rcond=None)[0]
    share = np.maximum(share, 0.0)
    share *= weight / share.sum()
    normal: FloatArray = share * at.ground.normal[:, 2]
    return normal


def _steering(vehicle: Vehicle) -> FloatArray:
    """(joint, x, y, gain) of each steering joint, x and y of its axis [m] from the point that is led."""
    at_rest = np.concatenate(((1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0), vehicle.rest))
    p = frame_poses(vehicle, at_rest)[1]
    x, y = vehicle.drive_point
    axes = ((one, *p[vehicle.frame_index(one.joint), :2]) for one in vehicle.steering)
    rows = [(vehicle.joint_index(one.joint), a_x - x, a_y - y, one.gain) for one, a_x, a_y in axes]
    return np.array(rows, dtype=np.float64).reshape(-1, 4)


def _arc(x: float, y: float, yaw: float, speed: float, curvature: float, t: FloatArray) -> FloatArray:
    """x, y, heading, speed, curvature of a straight line or arc at times t, shape (len(t), 5)."""
    heading = yaw + curvature * speed * t
    chord = speed * t * np.sinc(0.5 * curvature * speed * t / math.pi)
    middle = yaw + 0.5 * curvature * speed * t
    columns = (x + chord * np.cos(middle), y + chord * np.sin(middle), heading, speed, curvature)
    return np.stack(np.broadcast_arrays(*columns), axis=1)
