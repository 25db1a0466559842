"""Errors of a run that rolls without slip, measured from its poses, vehicle and ground, not taken from the solver."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from grouser import checks, rotation
from grouser.checks import FloatArray
from grouser.errors import SimulationError
from grouser.kinematics import frame_poses
from grouser.rolling.closure import Contacts, contacts_at, wheel_jacobians
from grouser.simulation.records import RollingRecord
from grouser.simulation.run import Run
from grouser.terrain import Terrain

__all__ = ["Measures", "measure"]


def measure(run: Run) -> Measures:
    """Errors of contact and rolling along a run of `grouser.rolling.roll`."""
    checks.instance(run, Run, "run", "use what grouser.rolling.roll(…) returns")
    return Measures(run)


@dataclass(frozen=True, eq=False)
class Measures:
    """Gaps, angles and slip of a rolling run of T rows and nw wheels; computed when first used."""

    run: Run
    """The run."""

    def __post_init__(self) -> None:
        _ = self.rolling

    @property
    def rolling(self) -> RollingRecord:
        """The run's own record."""
        if self.run.rolling is None:
            raise SimulationError(
                f"run: '{self.run.vehicle.name}' was not rolled without slip; use what grouser.rolling.roll(…) returns"
            )
        return self.run.rolling

    @property
    def ground(self) -> Terrain:
        """The ground it rolled on."""
        if self.run.ground is None:
            raise SimulationError("this run was loaded without its ground, which could not be stored; roll it again")
        return self.run.ground

    @cached_property
    def contacts(self) -> Contacts:
        """Both surfaces at the contact coordinates of every row."""
        return contacts_at(self.run.vehicle, self.ground, self.run.state, self.rolling.coordinates)

    @cached_property
    def platform_velocity(self) -> FloatArray:
        """V_P of (16.15): the platform's velocity in world axes [m/s], turn rates in its own [rad/s], shape (T, 6)."""
        R = rotation.from_quaternion(self.run.quaternion)
        linear = np.einsum("tij,tj->ti", R, self.run.velocity[:, 3:6])
        return np.concatenate((linear, self.run.velocity[:, :3]), axis=1)

    @property
    def psi(self) -> FloatArray:
        """R's contact angle ψ of each wheel [rad], unwrapped, shape (T, nw)."""
        return np.unwrap(self.contacts.psi, axis=0)

    @property
    def contact_gap(self) -> FloatArray:
        """Distance of the contact points of wheel and ground [m], shape (T, nw)."""
        gap: FloatArray = np.linalg.norm(self.contacts.point_wheel - self.contacts.ground.point, axis=-1)
        return gap

    @property
    def normal_error(self) -> FloatArray:
        """Angle of the normals of wheel and ground from opposite [rad], shape (T, nw)."""
        at = self.contacts
        across = np.linalg.norm(np.cross(at.normal_wheel, at.ground.normal), axis=-1)
        angle: FloatArray = np.arctan2(across, -np.sum(at.normal_wheel * at.ground.normal, axis=-1))
        return angle

    @cached_property
    def rolling_residual(self) -> FloatArray:
        """Speed of the wheels' own contact points over the ground [m/s], shape (T − 4, nw): two rows less at each end.

        The velocities are central differences of the fourth order of the recorded poses and joints, so it falls with
        the fourth power of the time between rows.
        """
        run = self.run
        n = len(run.time) - 4
        if n < 1:
            return np.zeros((0, run.vehicle.n_wheels))
        h = float(run.time[1] - run.time[0])
        if run.time[-1] - run.time[-2] < 0.99 * h:  # the last row of a run comes sooner
            n -= 1

        def slope(values: FloatArray) -> FloatArray:
            wide, near = values[4 : n + 4] - values[:n], values[3 : n + 3] - values[1 : n + 1]
            out: FloatArray = (8.0 * near - wide) / (12.0 * h)
            return out

        R = rotation.from_quaternion(run.quaternion)
        inside = slice(2, n + 2)
        spin = np.einsum("tji,tjk->tik", R[inside], slope(R))  # [ω]× to the order of the differences
        omega = 0.5 * (spin[:, [2, 0, 1], [1, 2, 0]] - spin[:, [1, 2, 0], [2, 0, 1]])
        linear = np.einsum("tji,tj->ti", R[inside], slope(run.position))
        v = np.concatenate((omega, linear, slope(run.joints)), axis=1)
        moving, _ = wheel_jacobians(run.vehicle, run.state[inside], self.contacts.point_on_wheel[inside])
        residual: FloatArray = np.linalg.norm(np.einsum("twij,tj->twi", moving, v), axis=-1)
        return residual

    def clearance(self, every: int = 1, samples: tuple[int, int] = (90, 24)) -> FloatArray:
        """Height of the lowest point of each tyre over the ground below it [m], shape (rows, nw), of every k-th row.

        It is 0 at the contact, and below 0 only where a tyre passes through the ground elsewhere, which the curvature
        condition cannot see. `samples` points around and across the lower half of each tyre.
        """
        a = self.run.vehicle.arrays
        contact = self.rolling.coordinates[::every]
        R = frame_poses(self.run.vehicle, self.run.state[::every])[0][:, a.wheel]
        u, v = (contact[..., i, None] + np.linspace(-0.5 * np.pi, 0.5 * np.pi, n) for i, n in enumerate(samples))
        # Written out: `on_tyre` would take four times the memory.
        u, v, tyre = u[..., :, None], v[..., None, :], a.tyre[:, None, None]
        around = (a.radius - a.tyre)[:, None, None] + tyre * np.cos(v)
        points = np.stack(np.broadcast_arrays(around * np.sin(u), tyre * np.sin(v), around * np.cos(u)), axis=-1)
        points = self.contacts.centre[::every, :, None, None] + np.einsum("twij,twabj->twabi", R, points)
        below = self.ground.sample(points[..., 0], points[..., 1])
        over = np.where(below.inside, points[..., 2] - below.height, np.inf)
        lowest: FloatArray = over.min(axis=(-2, -1))
        return lowest

    def summary(self) -> dict[str, Any]:
        """The run in a few numbers; contacts and rolling are measured where its ground is known."""
        run, rolling = self.run, self.rolling
        done = len(run.time) > 0
        out: dict[str, Any] = {
            "vehicle": run.vehicle.name,
            "status": str(run.status),
            "seconds_simulated": float(run.steps * run.dt),
            "distance": run.distance,
            "degrees_of_freedom": int(rolling.degrees_of_freedom.min()) if done else None,
            "degrees_of_freedom_most": int(rolling.degrees_of_freedom.max()) if done else None,
            "closure_error_max": float(rolling.closure_error.max()) if done else None,
            "slip_max": float(run.contact.slip_speed.max()) if done else None,
            "final_position": [float(x) for x in run.position[-1]] if done else [],
        }
        if run.ground is not None and done:
            out |= {
                "contact_gap_max": float(self.contact_gap.max()),
                "normal_error_max": float(self.normal_error.max()),
                "rolling_residual_max": float(self.rolling_residual.max()) if len(run.time) > 4 else None,
            }
        return out
