"""What a run records besides its states: contacts, hull, solver, ruts, pure rolling; arrays with time first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from grouser.checks import FloatArray

if TYPE_CHECKING:
    from grouser.contact import Ruts


@dataclass(frozen=True)
class ContactRecord:
    """Contacts of every recorded state, wheels in the order of `vehicle.wheels`."""

    point: FloatArray
    """Contact points, world [m], shape (T, nw, 3)."""
    normal: FloatArray
    """Ground normals there, world, shape (T, nw, 3)."""
    velocity: FloatArray
    """Velocity of the contact points in their own frames: slip ahead, slip left, rise [m/s], shape (T, nw, 3)."""
    height_error: FloatArray
    """Δz of T (2.8) [m], negative is penetration, shape (T, nw)."""
    angle: FloatArray
    """Contact angles [rad] of T (2.9) in the wheel's carrier, ahead is negative, shape (T, nw)."""
    force: FloatArray | None = None
    """Force on each wheel in its contact frame [N] over the step that begins here, shape (T, nw, 3); dynamics only.
    Of a wheel with two contacts it is that at the contact listed here; the other one's is `second_force`."""
    power: FloatArray | None = None
    """Mean power of the ground on each wheel [W] over that step, shape (T, nw): of the force at the contact point, and
    of rolling and soil resistance. What is negative is lost to slip, sinkage and rolling, or lent to the contact's
    spring; dynamics only."""
    torque: FloatArray | None = None
    """Moment of the ground on each wheel about its axle [N m] over that step, shape (T, nw): −R f_x of a force at the
    contact point, and rolling and soil resistance; dynamics only."""
    second_force: FloatArray | None = None
    """Force at the second contact of each wheel over that step, world axes [N], zero where it has one contact or none,
    shape (T, nw, 3); dynamics only."""
    second_point: FloatArray | None = None
    """That contact, world [m], zero where there is none, shape (T, nw, 3); dynamics only."""

    @classmethod
    def from_columns(cls, c: FloatArray, f: FloatArray | None = None) -> ContactRecord:
        """From what the engine records, (…, nw, 11), and with dynamics the forces, (…, nw, 11) or (…, nw, 3).

        The frozen constructor takes twice as long as this.
        """
        made = cls.__new__(cls)
        fields = made.__dict__
        fields["point"], fields["normal"], fields["velocity"] = c[..., :3], c[..., 3:6], c[..., 6:9]
        fields["height_error"], fields["angle"] = c[..., 9], c[..., 10]
        if f is not None:
            fields["force"] = f[..., :3]
            if f.shape[-1] > 3:
                fields["power"], fields["torque"] = f[..., 3], f[..., 4]
                fields["second_force"], fields["second_point"] = f[..., 5:8], f[..., 8:11]
        return made

    def columns(self) -> FloatArray:
        """What the engine records of them, without forces, shape (T, nw, 11)."""
        parts = self.point, self.normal, self.velocity, self.height_error[..., None], self.angle[..., None]
        return np.concatenate(parts, axis=-1)

    @property
    def slip_speed(self) -> FloatArray:
        """Speed of slip in the ground plane [m/s], shape (T, nw)."""
        speed: FloatArray = np.hypot(self.velocity[..., 0], self.velocity[..., 1])
        return speed


@dataclass(frozen=True)
class HullRecord:
    """How the ground carries the hull, over the step that begins at each row."""

    force: FloatArray
    """Sum of the forces of the ground on the hull, world [N], shape (T, 3)."""
    point: FloatArray
    """Their centre, world [m]: mean of the points that touch, weighted by normal force; zero if none, (T, 3)."""
    touching: FloatArray
    """Number of points of the hull that carry a force, shape (T,)."""
    power: FloatArray
    """Mean power of the ground on the hull [W], shape (T,)."""

    @classmethod
    def from_columns(cls, columns: FloatArray) -> HullRecord:
        """From what the engine records, shape (T, 8)."""
        return cls(columns[:, :3], columns[:, 3:6], columns[:, 6], columns[:, 7])


@dataclass(frozen=True)
class SolverRecord:
    """How the force balance of each step was solved, and the energy at its beginning."""

    iterations: FloatArray
    """Newton iterations, shape (T,)."""
    residual: FloatArray
    """Largest entry of the force balance left [N or N m], shape (T,)."""
    kinetic: FloatArray
    """Kinetic energy [J], shape (T,)."""
    potential: FloatArray
    """Potential energy in gravity [J], shape (T,)."""


@dataclass(frozen=True)
class RutRecord:
    """Soil that the wheels have pressed, in the cells that the patch around the vehicle still holds."""

    x: FloatArray
    """Centres of the cells, world [m], shape (n,)."""
    y: FloatArray
    """Centres of the cells, world [m], shape (n,)."""
    sinkage: FloatArray
    """Deepest sinkage each has seen, below the ground as it was [m], shape (n,)."""
    cell: float
    """Side of a cell [m]."""
    rebound: float
    """Share of the sinkage by which the soil has sprung back."""

    @classmethod
    def from_cells(cls, cells: FloatArray, ruts: Ruts) -> RutRecord:
        """From what the engine leaves, shape (n, 3)."""
        x, y, sinkage = np.ascontiguousarray(cells.T)
        return cls(x, y, sinkage, ruts.cell, ruts.rebound)

    @property
    def depth(self) -> FloatArray:
        """Depth of the ruts, once the soil has sprung back [m], shape (n,)."""
        depth: FloatArray = (1.0 - self.rebound) * self.sinkage
        return depth


@dataclass(frozen=True)
class RollingRecord:
    """How a vehicle rolled without slip on its round tyres (`grouser.rolling`); rates are those at each state."""

    coordinates: FloatArray
    """Contact coordinates (u, v, x, y) of each wheel [rad, rad, m, m]: around and across the tyre, and on the ground,
    shape (T, nw, 4)."""
    rates: FloatArray
    """Rates of `coordinates` [rad/s, rad/s, m/s, m/s], shape (T, nw, 4)."""
    desired: FloatArray
    """Desired joint rates [rad/s or m/s], shape (T, nj)."""
    closure_error: FloatArray
    """‖C‖ of the closure of the contact chains [m and rad], shape (T,)."""
    degrees_of_freedom: NDArray[np.int64]
    """Instantaneous freedoms of the joint rates, shape (T,)."""
    sigma: float
    """Rate at which a violated closure decays, σ of R (16.14) [1/s]."""
