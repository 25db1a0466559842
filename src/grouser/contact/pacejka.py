"""Pneumatic tyres: Pacejka's magic formulas joined by the Nicolas–Comstock equation, T (C.10)–(C.18)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from grouser import checks
from grouser._kernels.contact import laws
from grouser.checks import FloatArray
from grouser.contact.base import SpringContact
from grouser.errors import SimulationError
from grouser.law import Parametric, quantity


@dataclass(frozen=True)
class MagicFormula(Parametric):
    """Normalised force D sin(C atan(B (1−E) K s + E atan(B K s))) over slip s, T (C.13).

    Lateral force takes 2α/π for s, (C.14).
    """

    B: float = quantity(check=checks.positive)
    """Stiffness factor, > 0."""
    C: float = quantity(1.5, "1", checks.positive)
    """Shape factor, 0 < C ≤ 2: beyond 2 force would change its sign at large slip."""
    D: float = quantity(1.0, "1", checks.positive)
    """Peak of the normalised force, > 0."""
    E: float = quantity(0.3, "1", low=-10.0, high=1.0)
    """Curvature factor, −10 ≤ E ≤ 1."""
    K: float = quantity(100.0, "1", checks.positive)
    """Scale of slip, > 0; 100 for slip in per cent."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.C > 2.0:
            raise SimulationError(f"MagicFormula C: {self.C:g} is above 2, where force changes its sign at large slip")


@dataclass(frozen=True, kw_only=True)
class Pacejka(SpringContact):
    """A pneumatic tyre; force falls beyond a critical slip. Defaults are T Table C.1.

    (f_x, f_y) = −μ f_z F (v_x, v_y)/V̄ with V̄ = √(V_x² + ε²), V_x = v_x + Rω: T (C.16), (C.17) wherever those are
    defined and |V_x| ≫ ε, and regular at rest, at zero slip and in reverse. |(f_x, f_y)| ≤ μ f_z max(D).
    """

    law = laws.pacejka

    friction: float = quantity(1.0, "1", checks.not_negative)
    """μ, ≥ 0."""
    longitudinal: MagicFormula = MagicFormula(B=1.0 / 15.0, E=0.3)
    """Curve over slip ratio s = −v_x/V_x."""
    lateral: MagicFormula = MagicFormula(B=8.0 / 75.0, E=0.6)
    """Curve over slip angle α = atan(v_y/V_x)."""
    smoothing: float = quantity(0.05, "m/s", checks.positive)
    """ε [m/s], > 0: speed below which the tyre is a viscous damper, as slip has no meaning at rest."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("longitudinal", "lateral"):
            checks.instance(getattr(self, name), MagicFormula, f"Pacejka {name}", "use MagicFormula(B=…)")

    def pack(self, radius: float | None, width: float | None, load: float | None) -> FloatArray:
        spring = self.at_load(load)._spring(radius)
        peak = max(self.longitudinal.D, self.lateral.D)
        curves = [
            (unit * curve.B * curve.K, curve.C, curve.D, curve.E)
            for curve, unit in ((self.longitudinal, 1.0), (self.lateral, 2.0 / math.pi))
        ]
        return np.array([*spring, self.friction, self.smoothing, peak, *curves[0], *curves[1]], dtype=np.float64)
