"""Friction linear in slip velocity up to a limit, T (C.3)–(C.9)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from grouser import checks
from grouser._kernels.contact import laws
from grouser.checks import FloatArray
from grouser.contact.base import not_negative
from grouser.contact.spring import SpringContact

SLIP_STIFFNESS_TIME = 0.1
"""Slip stiffness over stiffness where none is given [s]."""


@dataclass(frozen=True, kw_only=True)
class PiecewiseLinear(SpringContact):
    """The Open Dynamics Engine's contact: a spring, and friction proportional to slip velocity up to μ f_z.

    f_z = max(0, −K_p Δz − K_d v_z), f_x = −C_x v_x − C_rr Rω and f_y = −C_y v_y, limited to μ f_z axis by axis
    (a friction pyramid) or as a vector (the Coulomb cone, (C.9)).
    """

    law = laws.piecewise_linear
    _picture = "contact over slip velocity"

    slip_stiffness_x: float | None = None
    """C_x [N·s/m], ≥ 0; None: stiffness × 0.1 s."""
    slip_stiffness_y: float | None = None
    """C_y [N·s/m], ≥ 0; None: stiffness × 0.1 s."""
    friction: float | tuple[float, float] = 1.0
    """μ, ≥ 0, or (μ_x, μ_y)."""
    cone: bool = False
    """Whether tangential force is limited as a vector; with (μ_x, μ_y) the limit is an ellipse."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("slip_stiffness_x", "slip_stiffness_y"):
            value = getattr(self, name)
            if value is not None:
                not_negative(value, f"PiecewiseLinear {name}")
        friction_of_axes(self.friction, "PiecewiseLinear friction")

    def bind(self, radius: float | None, width: float | None, load: float | None) -> FloatArray:
        spring = self.spring(load)
        c_x, c_y = (
            SLIP_STIFFNESS_TIME * spring.stiffness if c is None else float(c)
            for c in (self.slip_stiffness_x, self.slip_stiffness_y)
        )
        mu_x, mu_y = friction_of_axes(self.friction, "PiecewiseLinear friction")
        par = np.zeros(9)
        par[laws.K_P], par[laws.K_D], par[laws.ONSET] = spring.stiffness, spring.damping, spring.onset
        par[laws.C_RR] = self.rolling_resistance
        par[laws.C_X], par[laws.C_Y] = c_x, c_y
        par[laws.MU_X], par[laws.MU_Y] = mu_x, mu_y
        par[laws.CONE] = float(bool(self.cone))
        return par


def friction_of_axes(friction: float | tuple[float, float], name: str) -> tuple[float, float]:
    """(μ_x, μ_y) from one number or two."""
    if np.ndim(friction) == 0:
        mu = not_negative(friction, name)
        return mu, mu
    mu_x, mu_y = checks.array(friction, name, (2,)).tolist()
    return not_negative(mu_x, f"{name} x"), not_negative(mu_y, f"{name} y")
