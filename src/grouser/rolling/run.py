"""A recorded run of a rolling vehicle, and what can be measured of it without the solver's help."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from grouser import rotation
from grouser.checks import FloatArray
from grouser.errors import SimulationError
from grouser.pictures import draw
from grouser.rolling.closure import Contacts, contacts_at, frame_poses, wheel_jacobians
from grouser.terrain import Terrain
from grouser.vehicles import Vehicle

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["RollingRun", "RollingStatus"]


class RollingStatus(StrEnum):
    """How a run ended."""

    OK = "ok"
    OFF_TERRAIN = "off_terrain"
    TOO_SHARP = "too_sharp"
    DIVERGED = "diverged"

    @property
    def meaning(self) -> str:
        """In words."""
        return {
            "ok": "it reached its duration",
            "off_terrain": "a wheel came to the end of the map",
            "too_sharp": "the ground is more sharply curved than a tyre can follow, so it cannot touch at one point",
            "diverged": "rates grew beyond all bounds: the vehicle has come to a singular configuration",
        }[self.value]


@dataclass(frozen=True)
class RollingRun:
    """A vehicle that rolled. T rows, one for each recorded state; rates are those at that state."""

    vehicle: Vehicle
    """The vehicle that rolled."""
    time: FloatArray
    """[s], shape (T,)."""
    state: FloatArray
    """[quaternion w x y z, position x y z, joints], shape (T, nq)."""
    contact: FloatArray
    """(u, v, x, y) of each wheel [rad, rad, m, m], shape (T, nw, 4)."""
    velocity: FloatArray
    """[ω rad/s, v m/s of the body in body axes, joint rates], shape (T, nv)."""
    contact_rate: FloatArray
    """Rates of `contact` [rad/s, rad/s, m/s, m/s], shape (T, nw, 4)."""
    slip: FloatArray
    """Velocity of each wheel's contact point in the ground's tangent plane, as solved [m/s], shape (T, nw, 2)."""
    closure_error: FloatArray
    """‖C‖ of the closure of the contact chains [m and rad], shape (T,)."""
    degrees_of_freedom: np.ndarray
    """Instantaneous freedoms of the joint rates, shape (T,) int."""
    desired: FloatArray
    """Desired joint rates [rad/s or m/s], shape (T, nj)."""
    status: RollingStatus
    """How it ended."""
    steps: int
    """Steps completed."""
    dt: float
    """Step [s]."""
    sigma: float
    """σ of (16.14) [1/s]."""
    ground: Terrain | None = field(default=None, compare=False)
    """The ground it rolled on; None after loading a file whose ground could not be stored."""

    @property
    def position(self) -> FloatArray:
        """Position of the body frame, world [m], shape (T, 3)."""
        return self.state[:, 4:7]

    @property
    def quaternion(self) -> FloatArray:
        """Orientation of the body, w x y z, shape (T, 4)."""
        return self.state[:, :4]

    @property
    def joints(self) -> FloatArray:
        """Joint displacements [rad or m] in the order of `vehicle.joints`, shape (T, nj)."""
        return self.state[:, 7:]

    @property
    def joint_rates(self) -> FloatArray:
        """Joint rates θ̇ [rad/s or m/s], shape (T, nj)."""
        return self.velocity[:, 6:]

    @cached_property
    def platform_velocity(self) -> FloatArray:
        """V_P of (16.15): the platform's velocity in world axes [m/s], turn rates in its own [rad/s], shape (T, 6)."""
        R = rotation.from_quaternion(self.quaternion)
        linear = np.einsum("tij,tj->ti", R, self.velocity[:, 3:6])
        return np.concatenate((linear, self.velocity[:, :3]), axis=1)

    @property
    def distance(self) -> float:
        """Length of the path of the body frame [m]."""
        return float(np.linalg.norm(np.diff(self.position, axis=0), axis=1).sum())

    def joint(self, name: str) -> FloatArray:
        """Displacement of one joint over time [rad or m], shape (T,)."""
        return self.joints[:, self.vehicle.joint_index(name)]

    @cached_property
    def wheel_centres(self) -> FloatArray:
        """Wheel centres, world [m], shape (T, nw, 3)."""
        return frame_poses(self.vehicle, self.state)[1][:, self.vehicle.arrays.wheel]

    @cached_property
    def contacts(self) -> Contacts:
        """Both surfaces at the contact coordinates of every row, from pose, tree and ground, not from the solver."""
        return contacts_at(self.vehicle, self._need_ground(), self.state, self.contact)

    def _need_ground(self) -> Terrain:
        if self.ground is None:
            raise SimulationError("this run was loaded without its ground, which could not be stored; roll it again")
        return self.ground

    @property
    def contact_gap(self) -> FloatArray:
        """Distance of the contact points of wheel and ground [m], shape (T, nw); measured, not the solver's."""
        gap: FloatArray = np.linalg.norm(self.contacts.point_wheel - self.contacts.point_ground, axis=-1)
        return gap

    @property
    def normal_error(self) -> FloatArray:
        """Angle of the normals of wheel and ground from opposite [rad], shape (T, nw); measured, not the solver's."""
        at = self.contacts
        across = np.linalg.norm(np.cross(at.normal_wheel, at.normal), axis=-1)
        angle: FloatArray = np.arctan2(across, -np.sum(at.normal_wheel * at.normal, axis=-1))
        return angle

    @cached_property
    def rolling_residual(self) -> FloatArray:
        """Speed of the wheels' own contact points over the ground [m/s], shape (T − 4, nw): two rows less at each end.

        The velocities are central differences of the fourth order of the recorded poses and joints, not the solver's,
        so it falls with the fourth power of the time between rows.
        """
        n = len(self.time) - 4
        if n < 1:
            return np.zeros((0, self.vehicle.n_wheels))
        h = float(self.time[1] - self.time[0])
        if self.time[-1] - self.time[-2] < 0.99 * h:  # the last row of a run comes sooner
            n -= 1

        def slope(values: FloatArray) -> FloatArray:
            wide, near = values[4 : n + 4] - values[:n], values[3 : n + 3] - values[1 : n + 1]
            out: FloatArray = (8.0 * near - wide) / (12.0 * h)
            return out

        R = rotation.from_quaternion(self.quaternion)
        inside = slice(2, n + 2)
        spin = np.einsum("tji,tjk->tik", R[inside], slope(R))
        v = np.concatenate(
            (
                0.5 * np.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]], axis=1)
                - 0.5 * np.stack([spin[:, 1, 2], spin[:, 2, 0], spin[:, 0, 1]], axis=1),
                np.einsum("tji,tj->ti", R[inside], slope(self.position)),
                slope(self.joints),
            ),
            axis=1,
        )
        at = Contacts(*(field[inside] for field in self.contacts))
        moving, _ = wheel_jacobians(self.vehicle, self.state[inside], at)
        residual: FloatArray = np.linalg.norm(np.einsum("twij,tj->twi", moving, v), axis=-1)
        return residual

    def clearance(self, every: int = 1, samples: tuple[int, int] = (90, 24)) -> FloatArray:
        """Height of the lowest point of each tyre over the ground below it [m], shape (rows, nw), of every k-th row.

        It is 0 at the contact, and below 0 only where a tyre passes through the ground elsewhere, which the curvature
        condition cannot see. `samples` points around and across the lower half of each tyre.
        """
        at = self.contacts
        a = self.vehicle.arrays
        R = frame_poses(self.vehicle, self.state[::every])[0][:, a.wheel]
        u = self.contact[::every, :, :1] + np.linspace(-0.5 * np.pi, 0.5 * np.pi, samples[0])
        v = self.contact[::every, :, 1:2] + np.linspace(-0.5 * np.pi, 0.5 * np.pi, samples[1])
        u, v = u[..., :, None], v[..., None, :]
        around = (a.radius - a.tyre)[:, None, None] + a.tyre[:, None, None] * np.cos(v)
        side = np.broadcast_to(a.tyre[:, None, None] * np.sin(v), np.broadcast_shapes(u.shape, v.shape))
        points = np.stack((around * np.sin(u), side, around * np.cos(u)), axis=-1)
        points = at.centre[::every, :, None, None] + np.einsum("twij,twabj->twabi", R, points)
        below = self._need_ground().sample(points[..., 0], points[..., 1])
        over = np.where(below.inside, points[..., 2] - below.height, np.inf)
        lowest: FloatArray = over.min(axis=(-2, -1))
        return lowest

    @property
    def psi(self) -> FloatArray:
        """R's contact angle ψ of each wheel [rad], unwrapped, shape (T, nw)."""
        return np.unwrap(self.contacts.psi, axis=0)

    def summary(self) -> dict[str, Any]:
        """The run in a few numbers; contacts and rolling are measured, not the solver's."""
        done = len(self.time) > 0
        out: dict[str, Any] = {
            "vehicle": self.vehicle.name,
            "status": str(self.status),
            "seconds_simulated": float(self.steps * self.dt),
            "distance": self.distance if done else 0.0,
            "degrees_of_freedom": int(self.degrees_of_freedom.min()) if done else None,
            "degrees_of_freedom_most": int(self.degrees_of_freedom.max()) if done else None,
            "closure_error_max": float(self.closure_error.max()) if done else None,
            "slip_max": float(np.linalg.norm(self.slip, axis=-1).max()) if done else None,
            "final_position": [float(x) for x in self.position[-1]] if done else [],
        }
        if self.ground is not None and done:
            out |= {
                "contact_gap_max": float(self.contact_gap.max()),
                "normal_error_max": float(self.normal_error.max()),
                "rolling_residual_max": float(self.rolling_residual.max()) if len(self.time) > 4 else None,
            }
        return out

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Joint angles and rates, platform velocities, constraint errors and paths, after R Fig. 16.9 to 16.15."""
        figure: Figure = draw("rolling", self, path)
        return figure

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to a .npz file that `RollingRun.load` reads back exactly."""
        from grouser.rolling.files import save_run

        save_run(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> RollingRun:
        """Read a run that `save` wrote."""
        from grouser.rolling.files import load_run

        return load_run(path)

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write a table with a header: time, pose, joints, rates, contacts, errors."""
        from grouser.rolling.files import write_csv

        write_csv(self, path)

    def __repr__(self) -> str:
        return (
            f"<RollingRun of '{self.vehicle.name}': {self.steps} steps of {self.dt:g} s, {self.distance:.3f} m,"
            f" {self.status}>"
        )
