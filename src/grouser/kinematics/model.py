"""The kinematic model: constraints, how they are weighed and stabilised, and the velocity that meets them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grouser import checks
from grouser._kernels.constants import GRAVITY
from grouser._kernels.kinematics.velocity import NO_SLIP, SLIP_AT_WHEELS, SLIP_ON_BODY, KinematicModel
from grouser._kernels.vehicles.arrays import VehicleArrays
from grouser.checks import FloatArray
from grouser.errors import SimulationError
from grouser.kinematics.suspension import make_suspension
from grouser.law import Recipe
from grouser.model import Model
from grouser.once import once_each
from grouser.vehicles import Vehicle

if TYPE_CHECKING:
    from grouser.collision.contacts import Contacts
    from grouser.kinematics.step import Step
    from grouser.slip import Slip
    from grouser.terrain import Soils, Terrain

INTEGRATORS = {"euler": 1, "rk4": 4}
DEFAULT_TIME_CONSTANT = 0.1


@dataclass(frozen=True, kw_only=True)
class Weights:
    """Weights of the constraint rows in the least squares of T (2.38); one each gives the thesis's solution."""

    longitudinal: float = 1.0
    """Weight of the slip along the wheel, a ratio; ≥ 0."""
    lateral: float = 1.0
    """Weight of the slip across the wheel, a ratio; ≥ 0."""
    normal: float = 1.0
    """Weight of leaving or entering the ground, a ratio; > 0."""
    coupling: float = 1.0
    """Weight of the joint couplings [m/rad for turning joints]; > 0. That of a spring falls with its stiffness."""

    def __post_init__(self) -> None:
        for name in ("longitudinal", "lateral", "normal", "coupling"):
            value = checks.number(getattr(self, name), f"weight {name}")
            if value < 0.0 or (value == 0.0 and name in ("normal", "coupling")):
                raise SimulationError(f"weight {name}: {value:g} must be positive")
            object.__setattr__(self, name, value)


@dataclass(frozen=True)
class Velocity:
    """A joint-space velocity, with the slip and the rank of its least squares."""

    value: FloatArray
    """[ω (3) rad/s, v (3) m/s, joint rates], body coordinates, shape (nv,)."""
    contact_velocity: FloatArray
    """Velocity of each contact point in its own frame: slip ahead, slip left, rise [m/s], shape (nw, 3)."""
    contacts: Contacts
    """The contacts it was solved for."""
    rank: int
    """Rank of the least squares; below `unknowns` the solution of smallest norm was taken."""
    unknowns: int
    """Number of entries that were solved for."""

    @property
    def deficient(self) -> bool:
        """Whether the constraints leave some velocity open."""
        return self.rank < self.unknowns


@dataclass(frozen=True)
class Kinematics(Model):
    """Stabilised-DAE kinematics, T (2.33)–(2.38): the wheels slip as little as they can and stay on the ground."""

    vehicle: Vehicle
    """The vehicle it moves."""
    slip: Slip | None = None
    """Slip added on top, T §2.3, such as `BodySlip([...])`; on a ground with soils that of the soil under each wheel,
    where it has one (`grouser.terrain.soils`). Slip on the body is then the mean over the wheels."""
    time_constant: float | None = None
    """Time [s] in which height and joint errors decay, 1/σ of T (2.35), at least one step.

    None takes 0.1 s, or the step where that is longer.
    """
    penetration: float = 0.0
    """How deep the wheels settle into the ground [m], ≥ 0."""
    weights: Weights = dataclasses.field(default_factory=Weights)
    """Weights of the least squares."""
    integrator: str = "euler"
    """"euler" (first order, fastest) or "rk4" (fourth order, four times the cost)."""
    tip_angle: float = math.pi / 2
    """Tilt of the body's z axis from the vertical [rad] beyond which it counts as rolled over."""
    gravity: float = GRAVITY
    """[m/s²]; slip that depends on force and the rollover margin of a run use it."""

    def __post_init__(self) -> None:
        checks.instance(self.vehicle, Vehicle, "vehicle", "use grouser.vehicle(name)")
        if self.slip is not None:
            from grouser.slip import Slip

            checks.instance(self.slip, Slip, "slip", "use grouser.slip.BodySlip([...])")
        if self.time_constant is not None:
            object.__setattr__(self, "time_constant", checks.positive(self.time_constant, "time_constant"))
        penetration = checks.number(self.penetration, "penetration")
        rolling = (f.radius for f in self.vehicle.frames if f.slides is None)
        if not 0.0 <= penetration < min(radius or math.inf for radius in rolling):
            raise SimulationError(f"penetration: {penetration:g} m must be at least 0 and less than a wheel's radius")
        object.__setattr__(self, "penetration", penetration)
        checks.instance(self.weights, Weights, "weights", "use grouser.kinematics.Weights(normal=…)")
        checks.choice(self.integrator, "integrator", tuple(INTEGRATORS))
        tip = checks.positive(self.tip_angle, "tip_angle")
        object.__setattr__(self, "tip_angle", min(tip, math.pi))
        object.__setattr__(self, "gravity", checks.number(self.gravity, "gravity"))

    @property
    def order(self) -> int:
        """Order of the integrator."""
        return INTEGRATORS[self.integrator]

    @property
    def vehicle_arrays(self) -> VehicleArrays:
        """The vehicle as the engine takes it."""
        return self.vehicle.arrays

    def gain(self, dt: float | None) -> float:
        """Baumgarte gain σ [1/s] for steps of dt [s]; refused beyond 1/dt, where errors would overshoot."""
        if self.time_constant is None:
            return 1.0 / max(DEFAULT_TIME_CONSTANT, dt or 0.0)
        if dt is not None and self.time_constant < dt * (1.0 - 1e-9):
            raise SimulationError(
                f"time_constant: {self.time_constant:g} s is shorter than the step of {dt:g} s, so errors would "
                f"overshoot (T (2.35): σ ≤ 1/Δt); use at least {dt:g} s or a shorter step"
            )
        return 1.0 / self.time_constant

    def arrays(
        self,
        dt: float | None = None,
        known: Iterable[int] | None = None,
        soils: Soils | None = None,
        *,
        springs: bool | None = None,
    ) -> KinematicModel:
        """The model for the engine, for steps of dt [s]. `known`: given entries of the velocity, else the actuated.

        soils: of the ground it is on, whose slip models replace the model's own. springs: whether sprung joints yield;
        None: in steps. Without them, as along a log, nothing brings a joint back whose rate is not measured, so it is
        taken to stand still. Do not write into the arrays: they belong to this model.
        """
        key = dt, None if known is None else tuple(known), soils, dt is not None if springs is None else springs
        made: KinematicModel | None = self._kept.get(key)
        return self._keep(key, self._arrays(*key)) if made is None else made

    def _arrays(
        self, dt: float | None, known: tuple[int, ...] | None, soils: Soils | None, springs: bool
    ) -> KinematicModel:
        changes: dict[str, Any] = {"gain": self.gain(dt) * self._base.gain}
        if soils is not None:
            changes |= _slip_fields(self.slip, soils)
        if not springs:
            suspension, first = self._base.suspension, 3 * self.vehicle.n_wheels
            changes["suspension"] = suspension.replace(springs=0)
            changes["weight"] = weight = self._base.weight.copy()
            weight[first:] = self.weights.coupling
            changes["gain"][first:][suspension.give > 0.0] = 0.0
        if known is not None:
            changes |= _choice(np.array(sorted(set(known)), dtype=np.int64), self.vehicle)
        made: KinematicModel = self._base.replace(**changes)
        return made

    @cached_property
    def _base(self) -> KinematicModel:
        """The model for the engine with the actuated entries known and a Baumgarte gain of 1/s."""
        vehicle = self.vehicle
        nw, nc = vehicle.n_wheels, len(vehicle.couplings)
        given = 6 + vehicle.arrays.actuated
        w, suspension = self.weights, make_suspension(vehicle, self.gravity)
        return KinematicModel(
            **_choice(given, vehicle),
            weight=np.concatenate([np.tile([w.longitudinal, w.lateral, w.normal], nw), w.coupling * suspension.weight]),
            gain=np.concatenate([np.tile([0.0, 0.0, 1.0], nw), np.ones(nc)]),
            suspension=suspension,
            target=np.full(nw, -self.penetration),
            slip_mode=_slip_mode(self.slip),
            slip_address=0 if self.slip is None else self.slip.bound.address,
            slip_par=0 if self.slip is None else self.slip.bound.par_address,
            **_slip_fields(self.slip, None),
            tip_cosine=math.cos(self.tip_angle),
            gravity=self.gravity,
        )

    def step(self, state: ArrayLike, command: ArrayLike, ground: Terrain, *, dt: float) -> Step:
        """Move on by one step of dt [s] under commanded rates of the actuated joints, shape (na,).

        As `grouser.simulate` moves; `grouser.Simulation` keeps the state between steps and is quicker.
        """
        return self._take_step(self, state, command, ground, dt)

    @cached_property
    def _take_step(self) -> Callable[..., Step]:
        # This and the next are loaded when first used: runs take their steps in the engine.
        from grouser.kinematics.step import take_step

        return take_step

    @cached_property
    def _evaluate(self) -> Callable[..., tuple[Contacts, FloatArray, FloatArray, int]]:
        from grouser.collision.contacts import evaluate

        return evaluate

    def velocity(
        self, state: ArrayLike, command: ArrayLike, ground: Terrain | None = None, *, angles: ArrayLike | None = None
    ) -> Velocity:
        """Prediction: the velocity at a state under commanded rates of the actuated joints, shape (na,)."""
        v = np.zeros(6 + self.vehicle.n_joints)
        arrays = self.arrays(soils=getattr(ground, "soils", None), springs=True)
        v[6 + self.vehicle.arrays.actuated] = checks.array(command, "command", (len(self.vehicle.actuated),))
        return self._solve(arrays, state, ground, angles, v)

    def estimate(
        self,
        state: ArrayLike,
        rates: ArrayLike,
        ground: Terrain | None = None,
        *,
        angles: ArrayLike | None = None,
        gyro: ArrayLike | None = None,
    ) -> Velocity:
        """Estimation: the body's velocity from measured rates of all joints (nj,), optionally the gyro's (3,) [rad/s].

        Joints that are not measured are NaN in `rates` and are solved for.
        """
        values = checks.array(rates, "rates", (self.vehicle.n_joints,), missing=True)
        measured = ~np.isnan(values)
        v = np.zeros(6 + self.vehicle.n_joints)
        v[6:][measured] = values[measured]
        known = [6 + int(j) for j in np.flatnonzero(measured)]
        if gyro is not None:
            v[:3] = checks.array(gyro, "gyro", (3,))
            known += [0, 1, 2]
        soils = getattr(ground, "soils", None)  # what is no ground is refused below
        return self._solve(self.arrays(known=known, soils=soils, springs=True), state, ground, angles, v)

    def _solve(
        self, arrays: KinematicModel, state: ArrayLike, ground: Terrain | None, angles: ArrayLike | None, v: FloatArray
    ) -> Velocity:
        contacts, _, value, rank = self._evaluate(self.vehicle, arrays, state, ground, angles, v)
        return Velocity(value, contacts.jacobian @ value, contacts, rank, int(arrays.counts[1]))


def _choice(known: NDArray[np.int64], vehicle: Vehicle) -> dict[str, Any]:
    """Which velocities of a vehicle are given, as a KinematicModel says it; those of `still` joints are."""
    nv = 6 + vehicle.n_joints
    known = np.union1d(known, 6 + np.flatnonzero(vehicle.arrays.still)).astype(np.int64)
    unknown = np.setdiff1d(np.arange(nv), known)
    filled = [np.concatenate([some, np.zeros(nv - len(some), dtype=np.int64)]) for some in (known, unknown)]
    return {"known": filled[0], "unknown": filled[1], "counts": np.array([len(known), len(unknown)])}


@once_each
def _slips(soils: Soils) -> tuple[Slip | None, ...]:
    """The slip model of each soil, those out of files made; None: the model's own."""
    from grouser.slip import Slip

    found: list[Slip | None] = []
    for soil in soils.soils:
        given = soil.slip
        if isinstance(given, Recipe):
            from grouser.slip.body import slip_of

            given = slip_of(given)
        if given is not None:
            checks.instance(given, Slip, f"soil '{soil.name}'", "use grouser.slip.BodySlip([...])")
        found.append(given)
    return tuple(found)


def _slip_fields(own: Slip | None, soils: Soils | None) -> dict[str, Any]:
    """Slip by soil as a KinematicModel says it, the model's own first; no rows where soils have no slip."""
    models = () if soils is None else _slips(soils)
    if all(one is None for one in models):
        return {"soil_slip": np.zeros((0, 2), dtype=np.int64)}
    laws = [own, *(own if one is None else one for one in models)]
    applied = {law.apply for law in laws if law is not None}
    if len(applied) > 1:
        raise SimulationError(
            "slip of the soils: some is applied to the body and some at the wheels, the model's own included; "
            'give all the same, apply="wheels" or apply="body"'
        )
    rows = [(0, 0) if law is None else law.bound.pair for law in laws]
    return {"soil_slip": np.array(rows, dtype=np.int64), "slip_mode": _slip_mode(next(filter(None, laws)))}


def _slip_mode(slip: Slip | None) -> int:
    """How slip is applied, as the engine takes it."""
    if slip is None:
        return NO_SLIP
    return SLIP_ON_BODY if slip.apply == "body" else SLIP_AT_WHEELS
