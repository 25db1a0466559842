"""The contact of the Open Dynamics Engine in its own terms: erp and cfm."""

from __future__ import annotations

from dataclasses import dataclass

from grouser import checks
from grouser._kernels.contact import laws
from grouser.checks import FloatArray
from grouser.contact.base import Contact
from grouser.contact.piecewise import PiecewiseLinear, friction_of_axes
from grouser.errors import SimulationError


@dataclass(frozen=True)
class ErpCfm(Contact):
    """`PiecewiseLinear` with the spring an error reduction and a constraint mixing amount to at one step size.

    erp = dt K_p/(dt K_p + K_d), cfm = 1/(dt K_p + K_d), so K_p = erp/(cfm dt) and K_d = (1 − erp)/cfm.
    """

    law = laws.piecewise_linear

    erp: float
    """Share of the height error removed in a step, 0 < erp ≤ 1."""
    cfm: float
    """Constraint force mixing [m/(N·s)], > 0."""
    dt: float
    """Step the two are meant for [s], > 0."""
    force_dependent_slip: float | None = None
    """Slip velocity per force, 1/C_x = 1/C_y [m/(N·s)], > 0; None: that of `PiecewiseLinear`, 1/(K_p × 0.1 s)."""
    friction: float | tuple[float, float] = 1.0
    """μ, ≥ 0, or (μ_x, μ_y)."""

    def __post_init__(self) -> None:
        if not checks.positive(self.erp, "ErpCfm erp") <= 1.0:
            raise SimulationError(f"ErpCfm erp: {self.erp:g} is not between 0 and 1")
        checks.positive(self.cfm, "ErpCfm cfm")
        checks.positive(self.dt, "ErpCfm dt")
        if self.force_dependent_slip is not None:
            checks.positive(self.force_dependent_slip, "ErpCfm force_dependent_slip")
        friction_of_axes(self.friction, "ErpCfm friction")

    @property
    def spring(self) -> PiecewiseLinear:
        """The same model as a spring and damper."""
        slip = None if self.force_dependent_slip is None else 1.0 / self.force_dependent_slip
        return PiecewiseLinear(
            stiffness=self.erp / (self.cfm * self.dt),
            damping=(1.0 - self.erp) / self.cfm,
            slip_stiffness_x=slip,
            slip_stiffness_y=slip,
            friction=self.friction,
            onset=0.0,
        )

    def bind(self, radius: float | None, width: float | None, load: float | None) -> FloatArray:
        return self.spring.bind(radius, width, load)
