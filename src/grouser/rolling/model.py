"""A vehicle that rolls without slip on a smooth ground (R, whole)."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from grouser import checks
from grouser.checks import FloatArray
from grouser.collision.contacts import normalise
from grouser.errors import SimulationError
from grouser.rolling.closure import Contacts, closure, closure_jacobian, contacts_at
from grouser.rolling.mobility import Mobility, mobility_of
from grouser.rolling.start import Start, find_start
from grouser.terrain import Terrain
from grouser.vehicles import Vehicle

__all__ = ["RollingModel"]


@dataclass(frozen=True, eq=False)
class RollingModel:
    """Pure rolling of a vehicle's torus wheels on a ground; any tree of frames, any couplings."""

    vehicle: Vehicle
    """Every wheel of it must have a tyre radius."""
    ground: Terrain
    """Twice differentiable: plane, spline, bicubic grid or formula."""
    sigma: float = 5.0
    """σ of (16.14) [1/s], > 0: how fast a violated closure is brought back."""
    weights: Mapping[str, float] = dataclasses.field(default_factory=dict)
    """How much each joint's desired rate counts, > 0, where it is not 1 (R weighs all alike)."""
    realign: bool | None = None
    """Whether each step ends by moving the contacts to where the wheels stand. (16.14) then corrects the vehicle alone.
    None does so where the curvature of the ground jumps (bicubic grids)."""

    def __post_init__(self) -> None:
        checks.instance(self.vehicle, Vehicle, "vehicle", "use grouser.vehicle('pvc') or another")
        checks.instance(self.ground, Terrain, "ground", "use grouser.terrain.spline(...) or another")
        object.__setattr__(self, "sigma", checks.positive(self.sigma, "sigma"))
        for frame in self.vehicle.frames:
            if frame.is_wheel and frame.tyre_radius is None:
                raise SimulationError(
                    f"vehicle '{self.vehicle.name}': wheel '{frame.name}' is a thin disc, and only a round tyre can"
                    " roll on uneven ground without slip; give it a tyre_radius"
                )
        weights: Mapping[str, Any] = checks.instance(self.weights, Mapping, "weights", "use {joint: weight}")
        for name, value in weights.items():
            self.vehicle.joint_index(name)
            checks.positive(value, f"weights, joint '{name}'")
        _ = self.ground.curvature  # refuses ground with edges

    def describe(self) -> str:
        """The model and its settings but vehicle and ground, as text for people."""
        return f"rolling(sigma={self.sigma!r}, weights={dict(self.weights)!r}, realign={self.realigns!r})"

    def replace(self, **changes: Any) -> RollingModel:
        """A copy with some fields changed, checked like a new one."""
        return dataclasses.replace(self, **changes)

    @property
    def realigns(self) -> bool:
        """Whether steps end by moving the contacts."""
        return _curvature_jumps(self.ground) if self.realign is None else self.realign

    @property
    def joint_weights(self) -> FloatArray:
        """Weight of each joint's desired rate, dimensionless, shape (nj,)."""
        return np.array([float(self.weights.get(name, 1.0)) for name in self.vehicle.joints])

    def start(
        self, x: float = 0.0, y: float = 0.0, yaw: float = 0.0, joints: Mapping[str, float] | None = None
    ) -> Start:
        """The vehicle standing at (x, y) [m], heading `yaw` [rad], with some joints given; see `find_start`."""
        return find_start(self.vehicle, self.ground, x=x, y=y, yaw=yaw, joints=joints)

    def contacts(self, state: ArrayLike, contact: ArrayLike) -> Contacts:
        """Both surfaces at every wheel's contact coordinates, world axes."""
        return contacts_at(self.vehicle, self.ground, *self.checked(state, contact))

    def closure(self, state: ArrayLike, contact: ArrayLike) -> FloatArray:
        """C(q) of (16.12) in the form of `grouser.rolling.closure`, shape (5 nw + nc,)."""
        return closure(self.vehicle, self.ground, *self.checked(state, contact))

    def closure_jacobian(self, state: ArrayLike, contact: ArrayLike) -> FloatArray:
        """J of (16.13), shape (5 nw + nc, 6 + nj + 4 nw)."""
        return closure_jacobian(self.vehicle, self.ground, *self.checked(state, contact))

    def mobility(self, state: ArrayLike, contact: ArrayLike) -> Mobility:
        """Degrees of freedom, and J_in of (16.10)."""
        q, eta = self.checked(state, contact)
        return mobility_of(self.vehicle, q, contacts_at(self.vehicle, self.ground, q, eta))

    def joint_rates(self, rates: Any, name: str = "rates") -> FloatArray:
        """Joint rates (nj,) from a mapping of joint names, where the others are 0, or from an array."""
        if isinstance(rates, Mapping):
            out = np.zeros(self.vehicle.n_joints)
            for joint, value in rates.items():
                out[self.vehicle.joint_index(joint)] = checks.number(value, f"{name}, joint '{joint}'")
            return out
        return checks.array(rates, name, (self.vehicle.n_joints,))

    def checked(self, state: ArrayLike, contact: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """A state and its contacts as new arrays, the quaternion made a unit."""
        q = checks.array(state, "state", (7 + self.vehicle.n_joints,))
        normalise(q)
        return q, checks.array(contact, "contact", (self.vehicle.n_wheels, 4))


def _curvature_jumps(ground: Terrain) -> bool:
    """Whether it is a bicubic grid, or one moved: other grounds to roll on are smoother."""
    return ground.kind == "grid" or any(_curvature_jumps(child) for child in ground.children)
