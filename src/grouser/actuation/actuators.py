"""Actuator models with torque: P and PI control, direct-current motors, drives shared by several wheels."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grouser import checks
from grouser._kernels.actuation import laws
from grouser._kernels.law import Law
from grouser.checks import FloatArray
from grouser.errors import SimulationError
from grouser.vehicles import Vehicle

PerJoint = float | Mapping[str, float]
"""One number for all actuated joints, or one by joint name."""


class Actuator(ABC):
    """A model of all actuated joints of a vehicle: torque from commands, rates and angles."""

    law: Law
    """The compiled law, see `_kernels/actuation/laws.py`."""

    @abstractmethod
    def bind(self, vehicle: Vehicle) -> FloatArray:
        """The law's parameters for a vehicle."""

    def armature(self, vehicle: Vehicle) -> FloatArray:
        """Rotor inertia reflected to each joint [kg m² or kg], shape (nj,)."""
        return np.zeros(vehicle.n_joints)


@dataclass(frozen=True, kw_only=True)
class PI(Actuator):
    """τ = K_p e + K_i ∫e dt, e = commanded − actual rate, limited, without wind-up."""

    law = laws.proportional_integral

    gain: PerJoint
    """K_p [N m/(rad/s)], ≥ 0."""
    integral: PerJoint = 0.0
    """K_i [N m/rad], ≥ 0."""
    limit: PerJoint = math.inf
    """Largest torque [N m], > 0."""

    def bind(self, vehicle: Vehicle) -> FloatArray:
        columns = [
            per_joint(self.gain, vehicle, "actuator gain", least=0.0),
            per_joint(self.integral, vehicle, "actuator integral", least=0.0),
            per_joint(self.limit, vehicle, "actuator limit", least=1e-12),
        ]
        return np.concatenate([[len(vehicle.actuated)], np.column_stack(columns).ravel()])


@dataclass(frozen=True, kw_only=True)
class DCMotor(Actuator):
    """A speed-controlled motor behind a gear: its torque falls from stall to nothing at the no-load speed."""

    law = laws.dc_motor

    stall_torque: PerJoint
    """Of the motor [N m], > 0."""
    no_load_speed: PerJoint
    """Of the motor [rad/s], > 0."""
    gear: PerJoint = 1.0
    """Turns of the motor per turn of the joint, > 0."""
    gain: PerJoint = 1e3
    """Of the speed controller, at the joint [N m/(rad/s)], ≥ 0."""
    rotor_inertia: PerJoint = 0.0
    """Of the motor [kg m²], ≥ 0; the joint feels it times gear²."""

    def bind(self, vehicle: Vehicle) -> FloatArray:
        gear = per_joint(self.gear, vehicle, "motor gear", least=1e-9)
        columns = [
            per_joint(self.gain, vehicle, "motor gain", least=0.0),
            per_joint(self.stall_torque, vehicle, "motor stall_torque", least=1e-12) * gear,
            per_joint(self.no_load_speed, vehicle, "motor no_load_speed", least=1e-9) / gear,
        ]
        return np.concatenate([[len(vehicle.actuated)], np.column_stack(columns).ravel()])

    def armature(self, vehicle: Vehicle) -> FloatArray:
        result = np.zeros(vehicle.n_joints)
        gear = per_joint(self.gear, vehicle, "motor gear", least=1e-9)
        inertia = per_joint(self.rotor_inertia, vehicle, "motor rotor_inertia", least=0.0)
        result[vehicle.arrays.actuated] = inertia * gear**2
        return result


@dataclass(frozen=True, kw_only=True)
class SharedDrive(Actuator):
    """One motor for several joints that turn together, such as all wheels of a side; others have their own."""

    law = laws.coupled

    groups: Sequence[Sequence[str]]
    """Names of the joints that share a motor; a joint left out is a group of its own."""
    gain: PerJoint
    """K_p of each joint's share of the motor [N m/(rad/s)], ≥ 0."""
    coupling: float = 1e4
    """How stiffly joints of a group turn together [N m/(rad/s)], ≥ 0."""
    limit: PerJoint = math.inf
    """Largest share of a joint [N m], > 0."""

    def bind(self, vehicle: Vehicle) -> FloatArray:
        if isinstance(self.groups, str) or not isinstance(self.groups, Sequence):
            raise SimulationError(f"shared drive groups: {self.groups!r:.60} is not a list of lists of joint names")
        group = np.arange(len(vehicle.actuated), dtype=np.float64) + len(self.groups)
        seen: set[str] = set()
        for k, names in enumerate(self.groups):
            for name in names:
                if name not in vehicle.actuated:
                    raise _not_actuated(name, vehicle, "shared drive")
                if name in seen:
                    raise SimulationError(f"shared drive: '{name}' is in two groups; a joint has one motor")
                seen.add(name)
                group[vehicle.actuated.index(name)] = k
        stiff = checks.number(self.coupling, "shared drive coupling")
        if stiff < 0.0:
            raise SimulationError(f"shared drive coupling: {stiff:g} is negative")
        columns = [
            group,
            per_joint(self.gain, vehicle, "shared drive gain", least=0.0),
            np.full(len(group), stiff),
            per_joint(self.limit, vehicle, "shared drive limit", least=1e-12),
        ]
        return np.concatenate([[len(vehicle.actuated)], np.column_stack(columns).ravel()])


def per_joint(value: Any, vehicle: Vehicle, name: str, *, least: float) -> FloatArray:
    """One number per actuated joint, from one for all or a mapping by name that must name every one."""
    if isinstance(value, Mapping):
        for joint in value:
            if joint not in vehicle.actuated:
                raise _not_actuated(joint, vehicle, name)
        missing = [joint for joint in vehicle.actuated if joint not in value]
        if missing:
            raise SimulationError(f"{name}: gives nothing for {', '.join(missing)}; name every actuated joint")
        numbers = [value[joint] for joint in vehicle.actuated]
    else:
        numbers = [value] * len(vehicle.actuated)
    endless = name.endswith("limit")
    result = [x if endless and x == math.inf else checks.number(x, name) for x in numbers]
    for x in result:
        if x < least:
            raise SimulationError(f"{name}: {x:g} is {'negative' if least == 0.0 else 'not positive'}")
    return np.array(result, dtype=np.float64)


def _not_actuated(joint: object, vehicle: Vehicle, name: str) -> SimulationError:
    return SimulationError(
        f"{name}: {joint!r:.60} is not actuated in '{vehicle.name}'; actuated joints are {', '.join(vehicle.actuated)}"
    )
