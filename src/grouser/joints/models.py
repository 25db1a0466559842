"""Models of passive joints: springs, stops, your own. T (2.74)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, overload

import numpy as np

from grouser import checks
from grouser._kernels.joints import laws
from grouser._kernels.law import Law
from grouser.checks import FloatArray
from grouser.errors import SimulationError
from grouser.law import BoundLaw, Function, Memory, OwnLaw, Parametric, decorated, quantity
from grouser.vehicles import Vehicle

if TYPE_CHECKING:
    from typing import Self


class JointModel(Parametric, ABC):
    """A force along a combination of joints, c = Σ coefficient · θ − value, as a function of c and ċ."""

    law: Law
    """The compiled law, see `_kernels/joints/laws.py`."""
    joints: Mapping[str, float] | str
    """A joint, or coefficients by joint, ratios."""
    elastic: ClassVar[bool] = True
    """Whether c in the law is where a spring neither gains nor loses energy over a step; False: that of its end."""

    @property
    def value(self) -> float:
        """Displacement at which c is zero [rad or m]."""
        return 0.0

    @abstractmethod
    def pack(self) -> FloatArray:
        """The law's numbers, in SI units."""

    def bind(self) -> BoundLaw:
        """The law."""
        return BoundLaw(self.law.address, self.pack(), self.law)

    @property
    def start_memory(self) -> FloatArray:
        """What the law remembers at the start, in its unit, or nothing."""
        return np.zeros(0)

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
    stiffness: float = quantity(unit="N m/rad or N/m", check=checks.not_negative)
    """[N m/rad or N/m], ≥ 0."""
    damping: float = quantity(0.0, "N m s/rad or N s/m", checks.not_negative)
    """[N m s/rad or N s/m], ≥ 0."""
    natural: float = quantity(0.0, "rad or m")
    """Displacement without force [rad or m]."""

    @property
    def value(self) -> float:
        return self.natural

    def pack(self) -> FloatArray:
        return np.array([self.stiffness, self.damping], dtype=np.float64)


@dataclass(frozen=True, kw_only=True)
class Stops(JointModel):
    """Two stops a joint cannot pass: a stiff spring and damper beyond them."""

    law = laws.stops
    elastic = False

    joints: Mapping[str, float] | str
    """A joint, or coefficients by joint, ratios."""
    lower: float = quantity(unit="rad or m")
    """[rad or m]."""
    upper: float = quantity(unit="rad or m")
    """[rad or m], above lower."""
    stiffness: float = quantity(unit="N m/rad or N/m", check=checks.not_negative)
    """[N m/rad or N/m], ≥ 0."""
    damping: float = quantity(0.0, "N m s/rad or N s/m", checks.not_negative)
    """[N m s/rad or N s/m], ≥ 0."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.lower >= self.upper:
            raise SimulationError(f"Stops: lower {self.lower:g} is not below upper {self.upper:g}")

    def pack(self) -> FloatArray:
        return np.array([self.lower, self.upper, self.stiffness, self.damping], dtype=np.float64)


class OwnJoint(OwnLaw, JointModel):
    """A joint model made from a Python function by `law`; `on` says which joint it acts on."""

    kind = "joint law"
    arguments = ("angle", "rate")
    returns = "a force, and after it each memory"

    def __init__(self, function: Function, *, jacobian: Function | None = None, memory: Memory = ()) -> None:
        from grouser._kernels.own_law import own_law

        super().__init__(function, jacobian=jacobian, memory=memory)
        self.joints: Mapping[str, float] | str = {}
        start = self.start_memory.tolist()
        examples = [0.1, -0.2, *start, *((0.01,) if start else ())]
        outputs = 1 + len(start)
        build = partial(own_law, inputs=2 + outputs, outputs=outputs, first=0, columns=2, rows=1)
        self.law = self._law(None, examples, build, {outputs: (2,)})

    def on(self, joints: Mapping[str, float] | str) -> Self:
        """The same law on a joint, or on a combination of joints: coefficients by joint, ratios."""
        changed = self.replace()
        changed.joints = joints
        return changed

    def pack(self) -> FloatArray:
        return np.array([*self.values, 0.0])

    @property
    def start_memory(self) -> FloatArray:
        return np.array([float(value) for value in self.memory.values()])

    def row(self, vehicle: Vehicle) -> FloatArray:
        if not self.joints:
            raise self._wrong(f"acts on no joint; use .on('{vehicle.joints[0]}')")
        return super().row(vehicle)

    def __repr__(self) -> str:
        return f"{super().__repr__()}.on({self.joints!r})"


@overload
def law(function: Function) -> OwnJoint: ...
@overload
def law(*, jacobian: Function | None = None, memory: Memory = ()) -> Callable[[Function], OwnJoint]: ...
def law(function: Function | None = None, *, jacobian: Function | None = None, memory: Memory = ()) -> Any:
    """Make a joint model of a plain Python function; a decorator, with or without arguments.

    function: `f(angle, rate, *, torque=gr.param(5.0, "N m"), …)` returns the torque [N m] or force [N] along the joint
        from its angle [rad] or displacement [m] and its rate [rad/s or m/s], at the end of a step. Use `.on("joint")`
        to say where it acts.
    jacobian: a function of the same arguments that returns ∂/∂angle and ∂/∂rate, the change of memory over the step
        included; without it derivatives are central differences.
    memory: names of what it remembers, or a mapping to what that is at the start, in its unit. It is then called as
        `f(angle, rate, stuck, dt, *, …)` with the memories and the step [s], and returns the force and the new
        memories.
    """
    return decorated(OwnJoint, function, jacobian=jacobian, memory=memory)
