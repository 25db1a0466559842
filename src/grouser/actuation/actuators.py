"""Actuator models with torque: P and PI control, direct-current motors, drives shared by several wheels, your own."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, overload

import numpy as np

from grouser import checks
from grouser._kernels.actuation import laws
from grouser._kernels.law import Law
from grouser.checks import FloatArray
from grouser.errors import SimulationError
from grouser.law import BoundLaw, Function, Memory, OwnLaw, Parametric, decorated, quantity
from grouser.vehicles import Vehicle

PerJoint = float | Mapping[str, float]
"""One number for all actuated joints, or one by joint name."""


class Actuator(Parametric, ABC):
    """A model of all actuated joints of a vehicle: torque from commands, rates, angles and memories."""

    law: Law
    """The compiled law, see `_kernels/actuation/laws.py`."""

    @abstractmethod
    def bind(self, vehicle: Vehicle) -> BoundLaw:
        """The law for a vehicle."""

    def armature(self, vehicle: Vehicle) -> FloatArray:
        """Rotor inertia reflected to each joint [kg m² or kg], shape (nj,)."""
        return np.zeros(vehicle.n_joints)

    def start_memory(self, vehicle: Vehicle) -> FloatArray:
        """What the law remembers at the start, in its unit: some numbers for each actuated joint, or none."""
        return np.zeros(0)

    def _bound(self, vehicle: Vehicle, *columns: FloatArray) -> BoundLaw:
        """The law with one row of numbers a joint."""
        par = np.concatenate([[len(vehicle.actuated)], np.column_stack(columns).ravel()])
        return BoundLaw(self.law.address, par, self.law)

    def _each(self, name: str, vehicle: Vehicle) -> FloatArray:
        """A field's number for every actuated joint, from one for all or a mapping that must name every one."""
        value, where = getattr(self, name), f"{type(self).__name__} {name}"
        if not isinstance(value, Mapping):
            return np.full(len(vehicle.actuated), float(value))
        for joint in value:
            _check_actuated(joint, vehicle, where)
        missing = [joint for joint in vehicle.actuated if joint not in value]
        if missing:
            raise SimulationError(f"{where}: gives nothing for {', '.join(missing)}; name every actuated joint")
        return np.array([float(value[joint]) for joint in vehicle.actuated])


def _limit(value: Any, name: str) -> float:
    return math.inf if value == math.inf else checks.positive(value, name)


def _check_actuated(joint: object, vehicle: Vehicle, name: str) -> None:
    if joint not in vehicle.actuated:
        raise SimulationError(
            f"{name}: {joint!r:.60} is not actuated in '{vehicle.name}'; actuated joints are "
            f"{', '.join(vehicle.actuated)}"
        )


@dataclass(frozen=True, kw_only=True)
class PI(Actuator):
    """τ = K_p e + K_i ∫e dt, e = commanded − actual rate, limited, without wind-up."""

    law = laws.proportional_integral

    gain: PerJoint = quantity(unit="N m s/rad", check=checks.not_negative)
    """K_p [N m/(rad/s)], ≥ 0."""
    integral: PerJoint = quantity(0.0, "N m/rad", checks.not_negative)
    """K_i [N m/rad], ≥ 0."""
    limit: PerJoint = quantity(math.inf, "N m", _limit)
    """Largest torque [N m], > 0."""
    rotor_inertia: PerJoint = quantity(0.0, "kg m²", checks.not_negative)
    """Inertia of the motor behind its gear, as the joint feels it [kg m²], ≥ 0."""

    def bind(self, vehicle: Vehicle) -> BoundLaw:
        return self._bound(vehicle, *(self._each(name, vehicle) for name in ("gain", "integral", "limit")))

    def armature(self, vehicle: Vehicle) -> FloatArray:
        result = np.zeros(vehicle.n_joints)
        result[vehicle.arrays.actuated] = self._each("rotor_inertia", vehicle)
        return result

    def start_memory(self, vehicle: Vehicle) -> FloatArray:
        return np.zeros(len(vehicle.actuated))


@dataclass(frozen=True, kw_only=True)
class DCMotor(Actuator):
    """A speed-controlled motor behind a gear: its torque falls from stall to nothing at the no-load speed."""

    law = laws.dc_motor

    stall_torque: PerJoint = quantity(unit="N m", check=checks.positive)
    """Stall torque of the motor [N m], > 0."""
    no_load_speed: PerJoint = quantity(unit="rad/s", check=checks.positive)
    """No-load speed of the motor [rad/s], > 0."""
    gear: PerJoint = quantity(1.0, "1", checks.positive)
    """Turns of the motor per turn of the joint, > 0."""
    gain: PerJoint = quantity(1e3, "N m s/rad", checks.not_negative)
    """Gain of the speed controller, at the joint [N m/(rad/s)], ≥ 0."""
    rotor_inertia: PerJoint = quantity(0.0, "kg m²", checks.not_negative)
    """Rotor inertia of the motor [kg m²], ≥ 0; the joint feels it times gear²."""

    def bind(self, vehicle: Vehicle) -> BoundLaw:
        gain, stall, free, gear = (
            self._each(name, vehicle) for name in ("gain", "stall_torque", "no_load_speed", "gear")
        )
        return self._bound(vehicle, gain, stall * gear, free / gear)

    def armature(self, vehicle: Vehicle) -> FloatArray:
        result = np.zeros(vehicle.n_joints)
        result[vehicle.arrays.actuated] = self._each("rotor_inertia", vehicle) * self._each("gear", vehicle) ** 2
        return result


@dataclass(frozen=True, kw_only=True)
class SharedDrive(Actuator):
    """One motor for several joints that turn together, such as all wheels of a side; others have their own."""

    law = laws.coupled

    groups: Sequence[Sequence[str]]
    """Names of the joints that share a motor; a joint left out is a group of its own."""
    gain: PerJoint = quantity(unit="N m s/rad", check=checks.not_negative)
    """K_p of each joint's share of the motor [N m/(rad/s)], ≥ 0."""
    coupling: float = quantity(1e4, "N m s/rad", checks.not_negative)
    """How stiffly joints of a group turn together [N m/(rad/s)], ≥ 0."""
    limit: PerJoint = quantity(math.inf, "N m", _limit)
    """Largest share of a joint [N m], > 0."""

    def bind(self, vehicle: Vehicle) -> BoundLaw:
        if isinstance(self.groups, str) or not isinstance(self.groups, Sequence):
            raise SimulationError(f"SharedDrive groups: {self.groups!r:.60} is not a list of lists of joint names")
        group = np.arange(len(vehicle.actuated), dtype=np.float64) + len(self.groups)
        seen: set[str] = set()
        for k, names in enumerate(self.groups):
            for name in names:
                _check_actuated(name, vehicle, "SharedDrive groups")
                if name in seen:
                    raise SimulationError(f"SharedDrive groups: '{name}' is in two groups; a joint has one motor")
                seen.add(name)
                group[vehicle.actuated.index(name)] = k
        return self._bound(vehicle, group, *(self._each(name, vehicle) for name in ("gain", "coupling", "limit")))


class OwnActuator(OwnLaw, Actuator):
    """An actuator made from a Python function by `law`."""

    kind = "actuator law"
    arguments = ("command", "rate", "angle")
    returns = "a torque for each actuated joint, and after it each memory, likewise"

    def bind(self, vehicle: Vehicle) -> BoundLaw:
        from grouser._kernels.own_law import own_law

        n = len(vehicle.actuated)
        memory = self.start_memory(vehicle)
        examples = [np.ones(n), np.zeros(n), np.zeros(n), *memory.reshape(-1, n), *((0.01,) if self.memory else ())]
        outputs = n + len(memory)
        # ∂torque/∂rate, with the angles at the end of the step, which follow the rates.
        slopes = {"first": n, "columns": n, "rows": n, "follow": n}
        build = partial(own_law, inputs=2 * n + outputs + 1, outputs=outputs, **slopes)
        law = self._law(n, examples, build, {outputs: (n * n,)})
        return BoundLaw(law.address, np.array([*self.values, 0.0]), law)

    def start_memory(self, vehicle: Vehicle) -> FloatArray:
        return np.repeat([float(value) for value in self.memory.values()], len(vehicle.actuated))


@overload
def law(function: Function) -> OwnActuator: ...
@overload
def law(*, jacobian: Function | None = None, memory: Memory = ()) -> Callable[[Function], OwnActuator]: ...
def law(function: Function | None = None, *, jacobian: Function | None = None, memory: Memory = ()) -> Any:
    """Make an actuator of a plain Python function; a decorator, with or without arguments.

    function: `f(command, rate, angle, *, gain=gr.param(300.0, "N m s/rad", low=0), …)` returns the torque [N m] of
        every actuated joint. command, rate [rad/s] and angle [rad] are arrays, one entry a joint, at the end of a step.
    jacobian: a function of the same arguments that returns ∂torque/∂rate, (na, na), with the change of angle and
        memory over the step; without it derivatives are central differences.
    memory: names of what it remembers of each joint, or a mapping to what that is at the start, in its unit. It is then
        called as `f(command, rate, angle, integral, dt, *, …)` with the memories and the step [s], and returns the
        torque and the new memories.
    """
    return decorated(OwnActuator, function, jacobian=jacobian, memory=memory)
