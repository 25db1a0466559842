"""A vehicle that rolls without slip on a smooth ground, and its freedoms (R §16.3.2)."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from grouser import checks
from grouser.checks import FloatArray
from grouser.collision.frames import normalise
from grouser.errors import SimulationError
from grouser.rolling import closure as chains
from grouser.rolling.closure import Contacts, contacts_at, rigid_couplings, wheel_jacobians
from grouser.rolling.start import Start, find_start
from grouser.terrain import Terrain
from grouser.vehicles import Vehicle

RANK_TOLERANCE = 1e-6
"""A constraint counts if its singular value is above this part of the largest (scaled, see `mobility_of`)."""
SURE_GAP = 1e3
"""How many times the least counted singular value must exceed the largest not counted, for the count to be sure."""
ROUNDING = 1e-15


@dataclass(frozen=True)
class Mobility:
    """The freedoms of one state."""

    degrees_of_freedom: int
    """Independent joint rates with all wheels rolling: the columns of Q_C2 (16.8). Sprung joints are free."""
    loose: int
    """Motions of the platform that roll with all joints at rest: above 0 the joint rates do not fix the platform's."""
    admissible: FloatArray
    """J_in of (16.10), shape (nj, nj): desired joint rates [rad/s or m/s] to the nearest admissible ones."""
    singular_values: FloatArray
    """Singular values of rolling constraints and couplings on twist and joint rates, dimensionless; falling from 1."""
    gap: float
    """The least counted singular value over the largest not counted, or over rounding if all are counted."""

    @property
    def rank(self) -> int:
        """Independent constraints."""
        return int(np.sum(self.singular_values > RANK_TOLERANCE))

    @property
    def is_sure(self) -> bool:
        """Whether no singular value lies near the threshold: the count holds for any threshold in a wide range."""
        return self.gap > SURE_GAP


def mobility_of(vehicle: Vehicle, state: FloatArray, at: Contacts) -> Mobility:
    """Freedoms and admissible joint rates of a state.

    The rank is decided on one matrix: the three rolling rows of every wheel [m/s] and the rigid couplings; columns: the
    platform's twist and the joint rates, angles multiplied by the size of the vehicle so that all are lengths. Its
    singular values, divided by the largest, count above RANK_TOLERANCE; `gap` says how clear that is. Its null space
    holds every motion that rolls; the joint rates of those motions are the columns of Q_C2 (16.8).
    """
    B = _constraints(vehicle, state, at)
    _, values, Vt = np.linalg.svd(B)
    values = values / values[0]
    rank = int(np.sum(values > RANK_TOLERANCE))
    beyond = float(values[rank]) if rank < len(values) else 0.0
    platform = np.linalg.svd(B[: 3 * vehicle.n_wheels, :6], compute_uv=False)
    loose = 6 - int(np.sum(platform > RANK_TOLERANCE * platform[0]))
    freedoms = 6 + vehicle.n_joints - rank - loose
    rolling = np.linalg.svd(_joint_units(vehicle)[:, None] * Vt[rank:, 6:].T)[0][:, :freedoms]
    return Mobility(
        degrees_of_freedom=freedoms,
        loose=loose,
        admissible=rolling @ rolling.T,
        singular_values=values,
        gap=float(values[rank - 1]) / max(beyond, ROUNDING),
    )


def constraint_values(vehicle: Vehicle, state: FloatArray, at: Contacts) -> FloatArray:
    """Singular values of the constraints of `mobility_of` for states (..., nq), falling, the largest made 1."""
    values = np.linalg.svd(_constraints(vehicle, state, at), compute_uv=False)
    scaled: FloatArray = values / values[..., :1]
    return scaled


def _constraints(vehicle: Vehicle, state: FloatArray, at: Contacts) -> FloatArray:
    moving, _ = wheel_jacobians(vehicle, state, at.point_on_wheel)
    rows = moving.reshape(*state.shape[:-1], 3 * vehicle.n_wheels, -1)
    coupled = np.pad(_coupling(vehicle), ((0, 0), (6, 0)))
    B = np.concatenate((rows, np.broadcast_to(coupled, (*state.shape[:-1], *coupled.shape))), axis=-2)
    scaled: FloatArray = B * column_units(vehicle)
    return scaled


def column_units(vehicle: Vehicle) -> FloatArray:
    """What makes a joint-space velocity of one of lengths, shape (nv,): 1/size for angles, 1 for the rest."""
    return np.concatenate((np.full(3, 1.0 / _length(vehicle)), np.ones(3), _joint_units(vehicle)))


def _coupling(vehicle: Vehicle) -> FloatArray:
    """Rows of the rigid couplings, the largest coefficient of each made 1."""
    rows: FloatArray = vehicle.arrays.coupling[rigid_couplings(vehicle)]
    return rows / np.max(np.abs(rows), axis=1, keepdims=True) if len(rows) else rows


def _joint_units(vehicle: Vehicle) -> FloatArray:
    """1/length for joints that turn, 1 for those that slide, shape (nj,)."""
    return np.where(vehicle.arrays.joint[1:] < 3, 1.0 / _length(vehicle), 1.0)


def _length(vehicle: Vehicle) -> float:
    """Size of a vehicle [m]: the root mean square distance of its wheels from their middle, at least a wheel radius."""
    wheels = vehicle.wheel_positions
    spread = float(np.sqrt(np.mean(np.sum((wheels - wheels.mean(axis=0)) ** 2, axis=1))))
    return max(spread, float(vehicle.arrays.radius.max()))


@dataclass(frozen=True, eq=False)
class RollingModel:
    """Pure rolling of a vehicle's torus wheels on a ground; any tree of frames, any couplings.

    Rigid couplings hold. Sprung joints are free. What rolling leaves open, of all joints, the desired rates decide: the
    admissible rates nearest to them are taken. Passive and sprung joints have a desired rate of zero unless one is
    given, so they move as little as they can; with `returning` springs bring them back.
    """

    vehicle: Vehicle
    """Every wheel of it must have a tyre radius."""
    ground: Terrain
    """Twice differentiable: plane, spline, bicubic grid or formula."""
    sigma: float = 5.0
    """σ of (16.14) [1/s], > 0: how fast a violated closure is brought back."""
    returning: float = 0.0
    """Rate ρ [1/s], ≥ 0, at which sprung joints wish to return to where the springs carry the weight: the desired rate
    is less by ρ (c − c₀), with c₀ as in `settle`. 0 is R's, which knows no forces."""
    weights: Mapping[str, float] = dataclasses.field(default_factory=dict)
    """How much each joint's desired rate counts, > 0, where it is not 1 (R weighs all equally)."""
    realign: bool | None = None
    """Whether each step ends by moving the contacts to where the wheels stand. (16.14) then corrects the vehicle alone.
    None does so where the curvature of the ground jumps (bicubic grids)."""

    def __post_init__(self) -> None:
        checks.instance(self.vehicle, Vehicle, "vehicle", "use grouser.vehicle('pvc') or another")
        checks.instance(self.ground, Terrain, "ground", "use grouser.terrain.spline(...) or another")
        object.__setattr__(self, "sigma", checks.positive(self.sigma, "sigma"))
        object.__setattr__(self, "returning", checks.not_negative(self.returning, "returning"))
        for frame in self.vehicle.frames:
            wrong = None
            if not frame.has_own_turn:
                kind = "slides" if frame.turns_with is None else "turns with another wheel"
                wrong = f"{kind}, and rolling without slip needs wheels that turn by themselves; use grouser.Kinematics"
            elif frame.rollers is not None:
                wrong = "has rollers, and rolling without slip needs plain tyres; use grouser.Kinematics"
            elif frame.is_wheel and frame.tyre_radius is None:
                wrong = "is a thin disc, and only a round tyre can roll on uneven ground; give it a tyre_radius"
            if wrong is not None:
                raise SimulationError(f"vehicle '{self.vehicle.name}': wheel '{frame.name}' {wrong}")
        weights: Mapping[str, Any] = checks.instance(self.weights, Mapping, "weights", "use {joint: weight}")
        for name, value in weights.items():
            self.vehicle.joint_index(name)
            checks.positive(value, f"weights, joint '{name}'")
        _ = self.ground.curvature  # refuses ground with edges

    def describe(self) -> str:
        """The model and its settings but vehicle and ground, as text for people."""
        settings = {"sigma": self.sigma, "returning": self.returning, "weights": dict(self.weights)}
        settings |= {"realign": self.realigns}
        return f"rolling({', '.join(f'{name}={value!r}' for name, value in settings.items())})"

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
        """C(q) of (16.12) in the form of `grouser.rolling.closure`, shape (5 nw + nk,), nk rigid couplings."""
        return chains.closure(self.vehicle, self.ground, *self.checked(state, contact))

    def closure_jacobian(self, state: ArrayLike, contact: ArrayLike) -> FloatArray:
        """J of (16.13), shape (5 nw + nk, 6 + nj + 4 nw)."""
        return chains.closure_jacobian(self.vehicle, self.ground, *self.checked(state, contact))

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
