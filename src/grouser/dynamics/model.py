"""The dynamic model: contact, actuator and joint models on a vehicle, and the step they give."""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from grouser import checks
from grouser._kernels.constants import GRAVITY
from grouser._kernels.dynamics import probe as kernels
from grouser._kernels.dynamics.scratch import DynamicModel, DynamicScratch, make_dynamic_scratch
from grouser._kernels.joints.laws import spring
from grouser._kernels.vehicles.arrays import VehicleArrays
from grouser.actuation import Actuator
from grouser.checks import FloatArray
from grouser.collision.frames import SCRATCH, checked_state
from grouser.contact import Contact, PiecewiseLinear, Ruts
from grouser.contact.named import contact_named
from grouser.dynamics.contacts import contact_slots, on_soils, wheel_loads
from grouser.dynamics.external import ExternalForce
from grouser.dynamics.step import Step, take_step
from grouser.errors import SimulationError
from grouser.joints.models import JointModel
from grouser.law import BoundLaw
from grouser.model import Model
from grouser.once import Pool
from grouser.terrain import Soils, Terrain
from grouser.vehicles import Vehicle

NEWTON = ("full", "single")
LEADS = {"euler": 0.0, "midpoint": 0.5}
RELATIVE_TOLERANCE = 1e-4
SINGLE_SHARE = 0.02
"""Share of the weight that a single Newton step may leave unbalanced; beyond it the step is solved in full."""
DYNAMIC_SCRATCH: Pool[DynamicScratch] = Pool(lambda model, vehicle: make_dynamic_scratch(vehicle, model))
"""Work space of the kernels for a model, by its arrays; entries clear it."""


DEFAULT_CONTACT = PiecewiseLinear()
HALF = 0.5
"""Static penetration over the radius of a wheel from which a contact model is too soft for it."""
HULL_CONTACT = PiecewiseLinear(friction=0.5, cone=True, static_penetration=0.005)
"""Hull on ground: the weight on a wheel sinks a point of it in by 5 mm; friction is limited as a vector."""


@dataclass(frozen=True)
class Dynamics(Model):
    """Constrained dynamics, T §2.4: forces and velocities at the end of a step balance, whatever the contact model."""

    vehicle: Vehicle
    """The vehicle it moves."""
    contact: Contact | Mapping[str, Contact] = dataclasses.field(default_factory=lambda: DEFAULT_CONTACT)
    """Wheel-ground model, one for all wheels or by wheel name; on a ground with soils that of the soil under the wheel,
    where it has one (`grouser.terrain.soils`). None given: `PiecewiseLinear()`, harder for a vehicle with balls that
    slide (`grouser.contact.named`)."""
    hull: Contact = HULL_CONTACT
    """Contact model of each point of the vehicle's hull; what follows from a load is that of a wheel's."""
    second_contacts: bool | None = None
    """Whether a wheel may have two contacts, such as floor and step, each with the wheel's contact model; None: on
    ground with edges, grooves or steps (`Terrain.is_folded`). A wheel with a `tyre_radius` has one."""
    actuator: Actuator | None = None
    """Actuator model; None is ideal: actuated joints follow their commands exactly."""
    joints: tuple[JointModel, ...] = ()
    """Springs, stops and laws of your own, in addition to the vehicle's own couplings."""
    external: tuple[ExternalForce, ...] = ()
    """Forces from outside."""
    integrator: str = "euler"
    """"euler": contacts, M and c are taken at the beginning of a step, T (2.85), (2.86): symplectic Euler.

    "midpoint": they are taken in its middle, as far as the old velocity leads there. It costs the same, and a driven
    vehicle's path on rough ground has a fraction of the error; but what swings freely is damped: energy falls by
    ω² dt/2 per second, where Euler keeps it.
    """
    newton: str = "full"
    """"full": iterate to the tolerance; "single": one Newton step a step, T §2.4.4.

    A single step that leaves more than a fiftieth of the weight unbalanced is iterated after all;
    `run.solver.iterations` is above 1 there, and `run.summary()` counts them.
    """
    rest: bool = True
    """Whether contacts of wheels that do not turn hold where they stand, up to the law's friction limit. False: a
    parked vehicle creeps at the slip velocity at which the contact law carries its weight."""
    tolerance: float | None = None
    """Force balance that counts as met [N]; None is a ten-thousandth of the weight."""
    max_iterations: int = 40
    """Newton iterations after which a step is halved; so is one that turns body or joint by more than 0.25 rad."""
    fixed_inertia: bool = False
    """Whether M is computed once, at the start of a run, T §2.4.4."""
    single_body_bias: bool = False
    """Whether the bias force is that of one rigid body, T (2.89)."""
    gravity: float = GRAVITY
    """[m/s²]."""
    energy_check: bool = True
    """Whether a run ends as `gained_energy` where the vehicle has more energy than motors, gravity and outer forces
    gave it, by more than a twentieth of its largest kinetic energy and its weight times a quarter of a wheel radius.
    False where a law of your own gives energy."""
    ruts: Ruts | None = None
    """How soil keeps the sinkage of wheels; None: every wheel meets untouched ground. Needs a contact law for soil."""
    tip_angle: float | None = None
    """Tilt of the body's z axis from the vertical [rad] beyond which a run ends as rolled over. None: π/2, or π of a
    vehicle with a hull, which can lie on it; π: it continues."""
    coupling_time_constant: float = 0.05
    """Time in which errors of rigid couplings decay [s], at least one step."""

    def __post_init__(self) -> None:
        vehicle = checks.instance(self.vehicle, Vehicle, "vehicle", "use grouser.vehicle(name)")
        if self.contact is DEFAULT_CONTACT:
            object.__setattr__(self, "contact", contact_named("piecewise-linear", vehicle))
        for wheel, model in self._contacts().items():
            checks.instance(model, Contact, f"contact of '{wheel}'", "use grouser.contact.Pacejka() or another")
            radius = vehicle.frames[vehicle.frame_index(wheel)].radius or math.inf
            sinks = getattr(model, "static_penetration", 0.0)
            if wheel in vehicle.rolling_wheels and getattr(model, "stiffness", 0.0) is None and sinks > HALF * radius:
                warnings.warn(
                    f"contact: at rest '{wheel}' sinks {sinks:g} m into the ground, and its radius is {radius:g} m: too"
                    f" soft for it; give the contact model static_penetration={0.05 * radius:.2g}",
                    stacklevel=3,
                )
                break
        checks.instance(self.hull, Contact, "hull", "use grouser.contact.PiecewiseLinear() or another")
        if self.second_contacts is not None:
            checks.flag(self.second_contacts, "second_contacts")
        if self.actuator is not None:
            checks.instance(self.actuator, Actuator, "actuator", "use grouser.actuation.PI(gain=…) or None")
        object.__setattr__(self, "joints", checks.rows(self.joints, JointModel, "joints"))
        object.__setattr__(self, "external", checks.rows(self.external, ExternalForce, "external"))
        checks.choice(self.integrator, "integrator", tuple(LEADS))
        checks.choice(self.newton, "newton", NEWTON)
        checks.count(self.max_iterations, "max_iterations", least=2, most=10000)
        checks.number(self.gravity, "gravity")
        if self.tolerance is not None:
            checks.positive(self.tolerance, "tolerance")
        if self.tip_angle is not None:
            checks.positive(self.tip_angle, "tip_angle")
        checks.positive(self.coupling_time_constant, "coupling_time_constant")
        self._check_ruts()
        turning = (vehicle.frames[vehicle.frame_index(wheel)] for wheel in vehicle.rolling_wheels)
        inert = [f.name for f in turning if f.mass > 0.0 and not np.any(f.inertia_matrix)]
        if inert and self.actuator is not None:
            raise SimulationError(f"wheel '{inert[0]}' has mass but no inertia: a torque would spin it at once; add it")
        _ = self._base, self.vehicle_arrays  # refuses bad parameters now, not in the middle of a run

    def _contacts(self) -> dict[str, Contact]:
        if not isinstance(self.contact, Mapping):
            return dict.fromkeys(self.vehicle.wheels, self.contact)
        for name in self.contact:
            if name not in self.vehicle.wheels:
                raise SimulationError(f"contact: no wheel {name!r:.40}; wheels are {', '.join(self.vehicle.wheels)}")
        missing = [name for name in self.vehicle.wheels if name not in self.contact]
        if missing:
            raise SimulationError(f"contact: gives nothing for {', '.join(missing)}; name every wheel")
        return {name: self.contact[name] for name in self.vehicle.wheels}

    def _check_ruts(self) -> None:
        if self.ruts is None:
            return
        checks.instance(self.ruts, Ruts, "ruts", "use grouser.contact.Ruts() or None")
        for wheel, model in self._contacts().items():
            if model.rebound_at is None:
                raise SimulationError(
                    f"ruts: {type(model).__name__}, the contact law of '{wheel}', knows no soil that stays pressed; "
                    "use grouser.contact.Ishigami()"
                )
        length = float(np.ptp(self.vehicle.wheel_positions[:, :2], axis=0).max(initial=0.0))
        if self.ruts.size < 2.0 * length:
            raise SimulationError(
                f"ruts: a patch of {self.ruts.size:g} m is too small for wheels {length:g} m apart; "
                f"make its size at least {2.0 * length:.3g} m"
            )

    dynamic: ClassVar[bool] = True
    order = 0
    """Order of the integrator of kinematics; dynamics has its own."""

    @property
    def wheel_load(self) -> float:
        """Weight per wheel [N], from which contact models take their defaults where nothing slides."""
        return self.vehicle.mass * GRAVITY / self.vehicle.n_wheels

    @cached_property
    def penetration(self) -> float:
        """How deep the wheels settle at the start [m]: where a wheel that rolls without slip carries its load."""
        frame = next(f for f in self.vehicle.frames if f.is_wheel)
        contact = next(iter(self._contacts().values()))
        given = wheel_loads(self.vehicle)[frame.name]
        load = given * max(self.gravity, 0.0) / GRAVITY
        depth = np.linspace(0.0, 0.5 * (frame.radius or 0.0), 2001)
        wheel = {"radius": frame.radius, "width": frame.contact_width, "load": given}
        carried = contact.force(np.zeros((len(depth), 3)), np.ones(len(depth)), -depth, **wheel)[:, 2]
        enough = int(np.argmax(carried >= load)) or len(depth) - 1
        return float(np.interp(load, carried[: enough + 1], depth[: enough + 1]))

    @cached_property
    def vehicle_arrays(self) -> VehicleArrays:
        """The vehicle as the engine takes it, with a coupling row for each joint model."""
        arrays = self.vehicle.arrays
        if not self.joints:
            return arrays
        rows = np.array([joint.row(self.vehicle) for joint in self.joints])
        values = np.array([joint.value for joint in self.joints])
        made: VehicleArrays = arrays.replace(
            coupling=np.concatenate([arrays.coupling, rows]),
            coupling_value=np.concatenate([arrays.coupling_value, values]),
        )
        return made

    @cached_property
    def _laws(self) -> dict[str, list[BoundLaw]]:
        """The laws of contacts, couplings and actuator, kept alive with the model; address 0 is a rigid coupling."""
        vehicle = self.vehicle
        frames = {f.name: f for f in vehicle.frames}
        contact = 2 * [
            model.bind(frames[name].radius, frames[name].contact_width, wheel_loads(vehicle)[name])
            for name, model in self._contacts().items()
        ]
        if self.ruts is not None:
            for bound, model in zip(contact, self._contacts().values(), strict=False):  # both of a wheel are one
                bound.parameters[model.rebound_at] = self.ruts.rebound
        points = len(vehicle.arrays.hull_frame)
        if points:
            contact += points * [self.hull.bind(load=self.wheel_load)]
        coupling = []
        for one in vehicle.couplings:
            stiffness = one.stiffness or 0.0
            address = 0 if one.stiffness is None else spring.address
            coupling.append(BoundLaw(address, np.array([stiffness, one.damping or 0.0])))
        coupling += [joint.bind() for joint in self.joints]
        actuator = [] if self.actuator is None else [self.actuator.bind(vehicle)]
        return {"contact": contact, "coupling": coupling, "actuator": actuator}

    @cached_property
    def _memory(self) -> dict[str, Any]:
        """What laws remember at the start: that of the actuator, then that of each coupling."""
        of_actuator = np.zeros(0) if self.actuator is None else self.actuator.start_memory(self.vehicle)
        parts = [of_actuator, *(np.zeros(0) for _ in self.vehicle.couplings), *(j.start_memory for j in self.joints)]
        sizes = np.array([len(part) for part in parts], dtype=np.int64)
        bristles = np.zeros(2 * len(self._laws["contact"]) if self.rest else 0)
        return {
            "memory": np.concatenate([*parts, bristles]),
            "actuator_memory": len(of_actuator),
            "coupling_memory": np.column_stack([np.cumsum(sizes)[:-1], sizes[1:]]),
            "grip_memory": int(sizes.sum()) if self.rest else -1,
        }

    def arrays(self, dt: float | None = None, soils: Soils | None = None) -> DynamicModel:
        """The model as the engine takes it, for steps of dt [s]. Do not write into the arrays: they belong to it.

        `soils`: of the ground it is on, whose contact models replace the model's own.
        """
        made: DynamicModel | None = self._kept.get((dt, soils))
        if made is None:
            base = self._base if soils is None else on_soils(self._base, self.vehicle, soils)
            made = base.replace(rigid_gain=1.0 / max(self.coupling_time_constant, dt or 0.0))
            self._keep((dt, soils), made)
        return made

    @cached_property
    def _base(self) -> DynamicModel:
        """The model as the engine takes it, without the step."""
        vehicle, laws, contacts = self.vehicle, self._laws, self._contacts().values()
        pairs = {
            kind: np.array([law.pair for law in found], dtype=np.int64).reshape(-1, 2) for kind, found in laws.items()
        }
        nv = 6 + vehicle.n_joints
        ideal = self.actuator is None
        everything = np.arange(nv)
        free = np.setdiff1d(everything, 6 + np.flatnonzero(vehicle.arrays.still))
        free = np.setdiff1d(free, 6 + vehicle.arrays.actuated) if ideal else free
        rolls = np.arange(vehicle.n_wheels) < vehicle.n_wheels - len(vehicle.sliding)
        couples = [r * c.axle_couple for r, c in zip(vehicle.arrays.radius * rolls, contacts, strict=True)]
        shares = vehicle.arrays.held[:, 0] * rolls
        weight = vehicle.mass * GRAVITY
        return DynamicModel(
            free=free,
            ideal=ideal,
            second=2 if self.second_contacts is None else int(self.second_contacts),
            **contact_slots(self.vehicle_arrays, free),
            contact=pairs["contact"][:, None],
            rolling=np.array([*shares, *shares, *np.ones(len(vehicle.arrays.hull_frame))]),
            couple=np.array([*couples, *couples, *np.zeros(len(vehicle.arrays.hull_frame))]),
            actuator=np.zeros(2, dtype=np.int64) if ideal else pairs["actuator"][0],
            coupling=pairs["coupling"],
            elastic=np.array([True] * len(vehicle.couplings) + [j.elastic for j in self.joints], dtype=np.int64),
            **self._memory,
            rigid=np.flatnonzero(pairs["coupling"][:, 0] == 0).astype(np.int64),
            rigid_gain=1.0 / self.coupling_time_constant,
            armature=np.zeros(vehicle.n_joints) if self.actuator is None else self.actuator.armature(vehicle),
            external=np.array([e.pack(vehicle) for e in self.external]).reshape(-1, 11),
            gravity=float(self.gravity),
            tolerance=RELATIVE_TOLERANCE * weight if self.tolerance is None else float(self.tolerance),
            iterations=int(self.max_iterations),
            lead=LEADS[self.integrator],
            single=self.newton == "single",
            single_limit=SINGLE_SHARE * weight,
            energy_check=bool(self.energy_check),
            fixed_inertia=bool(self.fixed_inertia),
            single_body=bool(self.single_body_bias),
            tip_cosine=self._tip_cosine,
            rut_side=0 if self.ruts is None else self.ruts.side,
            rut_cell=0.0 if self.ruts is None else self.ruts.cell,
            rut_width=np.array([f.contact_width or 0.0 for f in vehicle.frames if f.is_wheel]),
            rebound=0.0 if self.ruts is None else self.ruts.rebound,
        )

    @property
    def _tip_cosine(self) -> float:
        """Cosine of the tilt at which a run ends; −2: at none."""
        default = math.pi if self.vehicle.hull else 0.5 * math.pi
        angle = default if self.tip_angle is None else self.tip_angle
        return math.cos(angle) if angle < math.pi else -2.0

    def inertia_and_bias(self, state: ArrayLike, velocity: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """M (nv, nv) and c (nv,) of M q̈′ + c = forces, T Algorithms 3 and 4; c holds gravity, less external forces."""
        nv = 6 + self.vehicle.n_joints
        q, v = checked_state(self.vehicle, state), checks.array(velocity, "velocity", (nv,))
        M, c = np.zeros((nv, nv)), np.zeros(nv)
        arrays, model = self.vehicle_arrays, self.arrays()
        s, d = SCRATCH.take(arrays), DYNAMIC_SCRATCH.take(model, arrays)
        kernels.inertia_and_bias(arrays, model, q, v, M, c, s, d)
        SCRATCH.give(arrays, s)
        DYNAMIC_SCRATCH.give(model, d)
        return M, c

    def step(
        self,
        state: ArrayLike,
        velocity: ArrayLike,
        command: ArrayLike,
        ground: Terrain,
        *,
        dt: float,
        angles: ArrayLike | None = None,
    ) -> Step:
        """Forward dynamics of one step of dt [s]; contacts are found on the ground, or at given angles [rad].

        They are those of the state itself, as with `integrator="euler"`. The step is by itself and as T prints it: c
        at the given velocity, springs at the end of the step, no bristles at rest, not halved where it does not
        converge. `grouser.Simulation` moves as `grouser.simulate` does.
        """
        return take_step(self, state, velocity, command, ground, dt, angles)
