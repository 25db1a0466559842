"""Pneumatic tyres: Pacejka's magic formulas joined by the Nicolas–Comstock equation, T (C.10)–(C.18)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from grouser import checks
from grouser._kernels.contact import laws
from grouser.checks import FloatArray
from grouser.contact.base import not_negative
from grouser.contact.spring import SpringContact
from grouser.errors import SimulationError


@dataclass(frozen=True)
class MagicFormula:
    """Normalised force D sin(C atan(B (1−E) K s + E atan(B K s))) over slip s, T (C.13).

    Lateral force takes 2α/π for s, (C.14).
    """

    B: float
    """Stiffness factor, > 0."""
    C: float = 1.5
    """Shape factor, 0 < C ≤ 2: beyond 2 force would change its sign at large slip."""
    D: float = 1.0
    """Peak of the normalised force, > 0."""
    E: float = 0.3
    """Curvature factor, −10 ≤ E ≤ 1."""
    K: float = 100.0
    """Scale of slip, > 0; 100 for slip in per cent."""

    def __post_init__(self) -> None:
        for name in ("B", "C", "D", "K"):
            checks.positive(getattr(self, name), f"MagicFormula {name}")
        if self.C > 2.0:
            raise SimulationError(f"MagicFormula C: {self.C:g} is above 2, where force changes its sign at large slip")
        if not -10.0 <= checks.number(self.E, "MagicFormula E") <= 1.0:
            raise SimulationError(f"MagicFormula E: {self.E:g} is not between -10 and 1")


@dataclass(frozen=True, kw_only=True)
class Pacejka(SpringContact):
    """A pneumatic tyre; force falls beyond a critical slip. Defaults are T Table C.1.

    (f_x, f_y) = −μ f_z F (v_x, v_y)/V̄ with V̄ = √(V_x² + ε²), V_x = v_x + Rω: T (C.16), (C.17) wherever those are
    defined and |V_x| ≫ ε, and regular at rest, at zero slip and in reverse. |(f_x, f_y)| ≤ μ f_z max(D).
    """

    law = laws.pacejka

    friction: float = 1.0
    """μ, ≥ 0."""
    longitudinal: MagicFormula = MagicFormula(B=1.0 / 15.0, E=0.3)
    """Curve over slip ratio s = −v_x/V_x."""
    lateral: MagicFormula = MagicFormula(B=8.0 / 75.0, E=0.6)
    """Curve over slip angle α = atan(v_y/V_x)."""
    smoothing: float = 0.05
    """ε [m/s], > 0: speed below which the tyre is a viscous damper, as slip has no meaning at rest."""

    def __post_init__(self) -> None:
        super().__post_init__()
        not_negative(self.friction, "Pacejka friction")
        checks.positive(self.smoothing, "Pacejka smoothing")
        for name in ("longitudinal", "lateral"):
            if not isinstance(getattr(self, name), MagicFormula):
                raise SimulationError(f"Pacejka {name}: {getattr(self, name)!r:.40} is not a MagicFormula")

    def bind(self, radius: float | None, width: float | None, load: float | None) -> FloatArray:
        spring = self.spring(load)
        par = np.zeros(laws.LATERAL + 4)
        par[laws.K_P], par[laws.K_D], par[laws.ONSET] = spring.stiffness, spring.damping, spring.onset
        par[laws.C_RR] = self.rolling_resistance
        par[laws.MU], par[laws.EPSILON] = self.friction, self.smoothing
        par[laws.PEAK] = max(self.longitudinal.D, self.lateral.D)
        for at, curve, unit in (
            (laws.LONGITUDINAL, self.longitudinal, 1.0),
            (laws.LATERAL, self.lateral, 2.0 / math.pi),
        ):
            par[at : at + 4] = unit * curve.B * curve.K, curve.C, curve.D, curve.E
        return par
