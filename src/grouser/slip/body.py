"""Body slip in six parameters, T (2.48), (2.49)."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from grouser import checks
from grouser._kernels.law import Law
from grouser._kernels.slip import laws
from grouser.checks import FloatArray
from grouser.errors import SimulationError
from grouser.own_function import stays_here

if TYPE_CHECKING:
    from typing import Self

APPLICATIONS = ("body", "wheels")


@dataclass(frozen=True, eq=False)
class Slip:
    """A slip law with its parameters: what `Kinematics(slip=...)` takes."""

    law: Law
    """The compiled law, called with (ω, v_cg, force per mass) at the centre of mass, body coordinates."""
    par: FloatArray
    """Its parameters."""
    apply: str = "wheels"
    """"body": the slip is added to the body's velocity, T (2.51), wheels may leave the ground for a while;
    "wheels": it becomes slip at the wheels and the velocity is solved again, T (2.52)."""

    def __post_init__(self) -> None:
        if self.apply not in APPLICATIONS:
            raise SimulationError(f"slip: apply = {self.apply!r:.40} is not one of {', '.join(APPLICATIONS)}")
        object.__setattr__(self, "par", checks.array(self.par, "slip parameters", (None,)))

    def __getstate__(self) -> dict[str, Any]:
        # A law is an address in this process; what is shipped is found again by its name.
        names = [name for name, law in vars(laws).items() if law is self.law]
        if not names:
            raise stays_here("this slip model")
        return {**self.__dict__, "law": names[0]}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({**state, "law": getattr(laws, state["law"])})

    def __deepcopy__(self, memo: object) -> Self:
        return self  # immutable


@dataclass(frozen=True, eq=False, init=False, repr=False)
class BodySlip(Slip):
    """Slip velocity of the body about its centre of gravity, v_true = v_odometry + v_slip.

    v_lon = p₁ (f_lon/f_z) |V_lon| + p₂ V_lon, v_lat = p₃ (f_lat/f_z) |V_lon|,
    ω_ang = p₄ (f_lat/f_z) V_lon + p₅ V_lon + p₆ V_ang. Downhill slip, outward slip and rolling resistance need
    p₁, p₃, p₂ < 0; understeer p₄, p₆ < 0.
    """

    parameters: FloatArray = field(default_factory=lambda: np.zeros(6))
    """p₁, p₂, p₃, p₆ (ratios) and p₄, p₅ [rad/m], shape (6,)."""

    def __init__(
        self,
        parameters: ArrayLike,
        *,
        lon: ArrayLike = (1.0, 0.0, 0.0),
        lat: ArrayLike = (0.0, 1.0, 0.0),
        ang: ArrayLike = (0.0, 0.0, 1.0),
        up: ArrayLike = (0.0, 0.0, 1.0),
        apply: str = "wheels",
    ) -> None:
        """Six parameters, the body directions they act along (T Fig. 2.7), and how slip is applied."""
        p = checks.array(parameters, "slip parameters", (6,))
        directions = [unit(value, name) for value, name in ((lon, "lon"), (lat, "lat"), (ang, "ang"), (up, "up"))]
        object.__setattr__(self, "parameters", p)
        object.__setattr__(self, "law", laws.six_parameters)
        object.__setattr__(self, "par", np.concatenate([p, *directions]))
        object.__setattr__(self, "apply", apply)
        Slip.__post_init__(self)

    @property
    def axes(self) -> FloatArray:
        """The directions lon, lat, ang, up in body coordinates, shape (4, 3)."""
        return self.par[-12:].reshape(4, 3)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.parameters.tolist()}, apply={self.apply!r})"

    def with_parameters(self, parameters: ArrayLike) -> Self:
        """The same slip along the same directions with other parameters, as many as it has."""
        count = len(self.parameters)
        p = checks.array(parameters, "slip parameters", (count,))
        changed = copy.copy(self)
        object.__setattr__(changed, "parameters", p)
        object.__setattr__(changed, "par", np.concatenate([p, self.par[count:]]))
        return changed


def unit(value: ArrayLike, name: str) -> FloatArray:
    """A direction of length one in body axes."""
    direction = checks.array(value, f"slip direction {name}", (3,))
    size = float(np.linalg.norm(direction))
    if size < 1e-9:
        raise SimulationError(f"slip direction {name}: is zero; give a direction in body axes, such as (1, 0, 0)")
    return direction / size
