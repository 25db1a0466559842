"""Friction linear in slip velocity up to a limit, T (C.3)–(C.9), also in the Open Dynamics Engine's own terms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from grouser import checks
from grouser._kernels.contact import laws
from grouser.checks import FloatArray
from grouser.contact.base import Contact, SpringContact
from grouser.law import quantity

if TYPE_CHECKING:
    from typing import Self

SLIP_STIFFNESS_TIME = 0.1
"""Slip stiffness over stiffness where none is given [s]."""


def friction_of_axes(friction: float | tuple[float, float], name: str) -> float | tuple[float, float]:
    """μ, or (μ_x, μ_y)."""
    if np.ndim(friction) == 0:
        return checks.not_negative(friction, name)
    mu_x, mu_y = checks.array(friction, name, (2,)).tolist()
    return checks.not_negative(mu_x, f"{name} x"), checks.not_negative(mu_y, f"{name} y")


@dataclass(frozen=True, kw_only=True)
class PiecewiseLinear(SpringContact):
    """The Open Dynamics Engine's contact: a spring, and friction proportional to slip velocity up to μ f_z.

    f_z = max(0, −K_p Δz − K_d v_z), f_x = −C_x v_x − C_rr Rω and f_y = −C_y v_y, limited to μ f_z axis by axis
    (a friction pyramid) or as a vector (the Coulomb cone, (C.9)). With a `dynamic_share` m below 1 friction falls from
    static to dynamic as the slip speed v grows, the limit is μ f_z (m + (1 − m) exp(−(v/v_s)²)): stick-slip.
    """

    law = laws.piecewise_linear
    _picture = "contact over slip velocity"

    slip_stiffness_x: float | None = quantity(None, "N s/m", checks.not_negative)
    """C_x [N·s/m], ≥ 0; None: stiffness × 0.1 s."""
    slip_stiffness_y: float | None = quantity(None, "N s/m", checks.not_negative)
    """C_y [N·s/m], ≥ 0; None: stiffness × 0.1 s."""
    friction: float | tuple[float, float] = quantity(1.0, "1", friction_of_axes)
    """μ, ≥ 0, or (μ_x, μ_y)."""
    cone: bool = False
    """Whether tangential force is limited as a vector; with (μ_x, μ_y) the limit is an ellipse."""
    dynamic_share: float = quantity(1.0, "1", checks.not_negative, high=1.0)
    """Ratio of dynamic to static friction, 0 … 1: share of μ left in fast slip. Slip below μ f_z/C creeps, so C should
    be far above μ f_z/v_s."""
    stribeck: float = quantity(0.05, "m/s", checks.positive)
    """v_s [m/s], > 0: slip speed over which friction falls; without effect where `dynamic_share` is 1."""

    def at_load(self, load: float | None) -> Self:
        loaded = super().at_load(load)
        c = SLIP_STIFFNESS_TIME * (loaded.stiffness or 0.0)
        c_x, c_y = (c if given is None else given for given in (self.slip_stiffness_x, self.slip_stiffness_y))
        return loaded.replace(slip_stiffness_x=c_x, slip_stiffness_y=c_y)

    def pack(self, radius: float | None, width: float | None, load: float | None) -> FloatArray:
        m = self.at_load(load)
        mu = np.broadcast_to(np.asarray(self.friction, dtype=np.float64), 2)
        slip = (m.slip_stiffness_x, m.slip_stiffness_y, *mu, self.cone, self.dynamic_share, self.stribeck)
        return np.array([*m._spring(radius), *slip], dtype=np.float64)


@dataclass(frozen=True)
class ErpCfm(Contact):
    """`PiecewiseLinear` with the spring an error reduction and a constraint mixing amount to at one step size.

    erp = dt K_p/(dt K_p + K_d), cfm = 1/(dt K_p + K_d), so K_p = erp/(cfm dt) and K_d = (1 − erp)/cfm.
    """

    law = laws.piecewise_linear

    erp: float = quantity(check=checks.positive, high=1.0)
    """Share of the height error removed in a step, 0 < erp ≤ 1."""
    cfm: float = quantity(unit="m/(N s)", check=checks.positive)
    """Constraint force mixing [m/(N·s)], > 0."""
    dt: float = quantity(unit="s", check=checks.positive)
    """Step the two are meant for [s], > 0."""
    force_dependent_slip: float | None = quantity(None, "m/(N s)", checks.positive)
    """Slip velocity per force, 1/C_x = 1/C_y [m/(N·s)], > 0; None: that of `PiecewiseLinear`, 1/(K_p × 0.1 s)."""
    friction: float | tuple[float, float] = quantity(1.0, "1", friction_of_axes)
    """μ, ≥ 0, or (μ_x, μ_y)."""

    @property
    def axle_couple(self) -> bool:
        """False: it has no rolling resistance."""
        return False

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

    def pack(self, radius: float | None, width: float | None, load: float | None) -> FloatArray:
        return self.spring.pack(radius, width, load)
