"""The slip surface of P (13) as a slip law, so that the engine drives it over any ground."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from grouser import checks
from grouser._kernels.slip import laws
from grouser.checks import FloatArray
from grouser.errors import SimulationError
from grouser.law import LawParameter
from grouser.slip.body import Slip

if TYPE_CHECKING:
    from typing import Self

UNITS = ("1", "m/rad", "s/rad", "s", "1", "m/rad", "s/rad", "s", "rad/m", "1", "s/m", "rad s/m", "rad s/m")
"""Units of α₁…α₁₃ where gravity acts by time; by distance α₄, α₈, α₁₂, α₁₃ have one of them over m/s."""
STEADY = 8
"""Terms of a learned correction that depend on speed and turn rate alone."""


def _no_correction() -> FloatArray:
    return np.array([np.inf, np.inf, *np.zeros(STEADY + 3)])


@dataclass(frozen=True, eq=False, kw_only=True)
class SurfaceSlip(Slip):
    """Slip rates of the body's origin over speed, turn rate and gravity, P (13): α as in `grouser.motion.Perturbative`.

    It is added to the body's velocity. `grouser.motion.on_ground.engine_model` makes one of a calibrated motion model.
    """

    law = laws.surface

    coefficients: FloatArray
    """α₁…α₁₃, (13,), each in its unit."""
    by_distance: bool = False
    """Whether slip by gravity grows with the distance that the wheels roll, not with time."""
    centre: FloatArray = field(default_factory=lambda: np.zeros(3))
    """Centre of mass in the body [m], (3,): the engine takes slip there."""
    match: FloatArray = field(default_factory=lambda: np.zeros((3, 2)))
    """Excess of V_x, V_y [m/s], V_θ [rad/s] of the surface's odometry over the solution of the wheels, per v_x and ω_z
    of that, (3, 2)."""
    steady: FloatArray = field(default_factory=_no_correction)
    """Reach of speed [m/s] and turn rate [rad/s], coefficients of the steady terms of a learned correction (8), and
    what is added beyond the reach to x, y [m/s] and yaw [rad/s], (13,)."""
    wheels: FloatArray = field(default_factory=lambda: np.zeros((0, 3)))
    """x, y [m] of the wheels whose rim speeds count, and 1 where one is steered, (k, 3)."""
    apply: str = "body"
    """"body" or "wheels", as in `Slip`."""

    def __post_init__(self) -> None:
        self._check_apply()
        shapes = {"coefficients": (13,), "centre": (3,), "match": (3, 2), "wheels": (None, 3)}
        for name, shape in shapes.items():
            object.__setattr__(self, name, checks.array(getattr(self, name), f"slip surface {name}", shape))
        if self.by_distance and not len(self.wheels):
            raise SimulationError("slip surface: slip by distance needs wheels, whose rim speed is the distance")

    @property
    def parameters(self) -> tuple[LawParameter, ...]:
        named = enumerate(zip(self.coefficients.tolist(), UNITS, strict=True), start=1)
        return tuple(LawParameter(f"a{i}", value, unit, -5.0, 5.0) for i, (value, unit) in named)

    def replace(self, **values: float) -> Self:
        changed, names = self.coefficients.copy(), [p.name for p in self.parameters]
        for name, value in values.items():
            if name not in names:
                raise SimulationError(f"slip parameters: no {name!r:.40}; there are a1 … a13")
            changed[names.index(name)] = checks.number(value, f"slip {name}")
        return replace(self, coefficients=changed)

    def pack(self) -> FloatArray:
        parts = (
            self.coefficients, [float(self.by_distance)], self.centre, self.match.ravel(), self.steady,
            [float(len(self.wheels))], self.wheels.ravel(),
        )  # fmt: skip
        return np.concatenate([np.asarray(part, dtype=np.float64) for part in parts])
