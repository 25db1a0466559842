"""Models of passive joints: springs, stops. T (2.74)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from grouser import checks
from grouser._kernels.joints import laws
from grouser._kernels.law import Law
from grouser.checks import FloatArray
from grouser.errors import SimulationError
from grouser.vehicles import Vehicle


class JointModel(ABC):
    """A force along a combination of joints, c = Σ coefficient · θ − value, as a function of c and ċ."""

    law: Law
    """The compiled law: force from c and ċ."""
    joints: Mapping[str, float] | str
    """A joint, or coefficients by joint, ratios."""

    @property
    def value(self) -> float:
        """Displacement at which c is zero [rad or m]."""
        return 0.0

    @abstractmethod
    def bind(self) -> FloatArray:
        """The law's parameters."""

    def row(self, vehicle: Vehicle) -> FloatArray:
        """Coefficients of all joints, shape (nj,)."""
        result = np.zeros(vehicle.n_joints)
        named = {self.joints: 1.0} if isinstance(self.joints, str) else self.joints
        for name, coefficient in named.items():
            result[vehicle.joint_index(name)] = checks.number(coefficient, f"joint model, coefficient of '{name}'")
        return result


@dataclass(frozen=True, kw_only=True)
class Spring(JointModel):
    """Spring and damper on a joint or a combination of joints."""

    law = laws.spring

    joints: Mapping[str, float] | str
    """A joint, or coefficients by joint, ratios."""
    stiffness: float
    """[N m/rad or N/m], ≥ 0."""
    damping: float = 0.0
    """[N m s/rad or N s/m], ≥ 0."""
    natural: float = 0.0
    """Displacement without force [rad or m]."""

    @property
    def value(self) -> float:
        return checks.number(self.natural, "spring natural")

    def bind(self) -> FloatArray:
        pair = [_not_negative(self.stiffness, "spring stiffness"), _not_negative(self.damping, "spring damping")]
        return np.array(pair)


@dataclass(frozen=True, kw_only=True)
class Stops(JointModel):
    """Two stops a joint cannot pass: a stiff spring and damper beyond them."""

    law = laws.stops

    joints: Mapping[str, float] | str
    """A joint, or coefficients by joint, ratios."""
    lower: float
    """[rad or m]."""
    upper: float
    """[rad or m], above lower."""
    stiffness: float
    """[N m/rad or N/m], ≥ 0."""
    damping: float = 0.0
    """[N m s/rad or N s/m], ≥ 0."""

    def bind(self) -> FloatArray:
        lower, upper = checks.number(self.lower, "stops lower"), checks.number(self.upper, "stops upper")
        if lower >= upper:
            raise SimulationError(f"stops: lower {lower:g} is not below upper {upper:g}")
        return np.array(
            [
                lower,
                upper,
                _not_negative(self.stiffness, "stops stiffness"),
                _not_negative(self.damping, "stops damping"),
            ]
        )


def _not_negative(value: float, name: str) -> float:
    result = checks.number(value, name)
    if result < 0.0:
        raise SimulationError(f"{name}: {result:g} is negative")
    return result
