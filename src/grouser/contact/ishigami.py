"""Rigid wheels in loose soil: Ishigami's terramechanics, T (C.19)–(C.36)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from grouser import checks
from grouser._kernels.constants import GRAVITY
from grouser._kernels.contact import soil as laws
from grouser.checks import FloatArray
from grouser.contact.base import Contact
from grouser.errors import SimulationError
from grouser.law import Parametric, quantity


@dataclass(frozen=True)
class ShearModulus(Parametric):
    """Shear deformation modulus k = at_zero + growth |β| of T Table C.2, β the slip angle."""

    at_zero: float = quantity(unit="m", check=checks.positive)
    """At slip angle zero [m], > 0."""
    growth: float = quantity(0.0, "m/rad", checks.not_negative)
    """With |β| [m/rad], ≥ 0."""


@dataclass(frozen=True, kw_only=True)
class Ishigami(Contact):
    """A rigid wheel in loose soil; stresses are integrated over the part of its rim in the soil.

    Defaults are the lunar soil simulant of T Table C.2, in SI units. Sinkage is −Δz. Once the wheel is in to its
    axle, force grows in proportion to sinkage.

    f_x is the drawbar pull: thrust of the shear stresses less the horizontal part of the normal stresses, which is
    Bekker's compaction resistance, and less the bow wave's. The torque about the axle is that of the shear stresses
    alone, R² b ∫ τ_x(θ) dθ against the spin. Times ω it is the power a motor needs: that of f_x at the axle's speed,
    and what compacts, shears and pushes the soil. Resistance thus reaches the axle without turning the wheel, so
    τ ≠ −R f_x, a wheel without torque slows down, and a driven one needs torque on level ground.
    """

    law = laws.ishigami
    rebound_at = laws.REBOUND
    slip_by_wheel_speed = True

    cohesion: float = quantity(800.0, "Pa", checks.not_negative)
    """c [Pa], ≥ 0."""
    friction_angle: float = quantity(math.radians(37.2), "rad", checks.positive)
    """φ [rad], 0 < φ < π/2."""
    destructive_angle: float = quantity(math.radians(26.4), "rad", checks.positive)
    """X_c [rad] of the soil ploughed aside, > 0, X_c + φ < π/2."""
    k_c: float = quantity(1.37e3, "N/m^(n+1)", checks.not_negative)
    """Pressure-sinkage modulus [N/m^(n+1)], ≥ 0."""
    k_phi: float = quantity(8.14e5, "N/m^(n+2)", checks.positive)
    """Pressure-sinkage modulus [N/m^(n+2)], > 0."""
    n: float = quantity(1.0, "1", checks.positive, high=3.0)
    """Sinkage exponent, 0 < n ≤ 3."""
    a_0: float = quantity(0.40)
    """Share of the entry angle at which stress is largest, at zero slip."""
    a_1: float = quantity(0.15)
    """Growth of that share with slip ratio."""
    density: float = quantity(1.6e3, "kg/m³", checks.not_negative)
    """ρ_d of the soil [kg/m³], ≥ 0."""
    sinkage_ratio: float = quantity(1.0, "1", low=0.0, high=1.5)
    """λ, ratio of the height of the rut behind the wheel to the sinkage ahead, 0 ≤ λ ≤ 1.5."""
    shear_x: ShearModulus | tuple[float, float] = ShearModulus(0.036, 0.043)
    """k_x; a pair of numbers is at_zero [m] and growth [m/rad]."""
    shear_y: ShearModulus | tuple[float, float] = ShearModulus(0.013, 0.020)
    """k_y, likewise."""
    isotropic_shear: float | None = quantity(None, "m", checks.positive)
    """Shear modulus K [m] of isotropic soil, which shears along the displacement (Jia et al.); None: k_x and k_y."""
    ploughing: bool = True
    """Whether soil pushed aside by the wheel's side resists (the bulldozing of (C.34))."""
    plough_sideslip: float = quantity(0.0, "1", checks.not_negative)
    """κ ≥ 0: ratio of v_y to √(V_x² + (Rω)²) at which ploughing is 1/√2 of (C.34). 0 is T, in full at any sideslip.

    In sand it is of order 1: measured lateral force grows with slip angle beyond 45°, see docs/models.md."""
    side_friction: float = quantity(0.0, "1", checks.not_negative, high=2.0)
    """μ of the soil that the wheel's side ploughs, against its sliding along x, a ratio, 0 ≤ μ ≤ 2."""
    slip_sinkage: float = quantity(0.0, "1", checks.not_negative, high=10.0)
    """n_x, 0 ≤ n_x ≤ 10: N = n + (n_x v_x² + n_y v_y²)/(V_x² + v_y² + (Rω)²) is the sinkage exponent with slip.

    0 is T, where a slipping wheel sinks by what its shear stresses no longer lift. Measured in sand: 2 to 3."""
    sideslip_sinkage: float = quantity(0.0, "1", checks.not_negative, high=10.0)
    """n_y, likewise with slip along y, a ratio, 0 ≤ n_y ≤ 10. Measured in sand: 3 to 5."""
    bow_wave: float = quantity(0.15, "1", checks.not_negative)
    """Share of b R_b(h), (C.34) over the wheel's width, with which soil pushed ahead resists travel, ≥ 0.

    T has none, which is 0: then the simulant's rebound (λ = 1) pushes a wheel on level ground as much as compaction
    holds it, at a slip of −0.008. L §5.1 names it without a number. 0.15 is an assumption: a little above the 0.09 at
    which level slip turns positive. 0.4 to 0.67 give the slips that L measured (0.03 to 0.11 on the level)."""
    damping: float = quantity(2.5, "s/m", checks.not_negative)
    """[s/m], ≥ 0: force is multiplied by 1 − damping v_z, never below zero. Not in T; at its load a wheel has the
    K_d of the other models, and sand gives nothing back."""
    smoothing: float = quantity(0.05, "m/s", checks.positive)
    """ε [m/s], > 0: speed below which slip loses its meaning."""
    points: int = 4
    """Gauss points on either side of the largest stress; 4 give about 1e-5 of the load, 3e-4 in hard braking."""

    def __post_init__(self) -> None:
        for name in ("shear_x", "shear_y"):
            given = getattr(self, name)
            if not isinstance(given, ShearModulus):
                pair = checks.array(given, f"Ishigami {name}", (2,)).tolist()
                checks.positive(pair[0], f"Ishigami {name} at zero slip angle")
                checks.not_negative(pair[1], f"Ishigami growth of {name}")
                object.__setattr__(self, name, ShearModulus(*pair))
        super().__post_init__()
        if self.friction_angle + self.destructive_angle >= math.pi / 2:
            raise SimulationError(
                f"Ishigami friction_angle and destructive_angle: {self.friction_angle:g} and "
                f"{self.destructive_angle:g} rad together reach a right angle; are they in degrees?"
            )
        # θ_m must stay between θ_r and θ_f; θ_r/θ_f is smallest in size for a shallow wheel or one in to its axle.
        ratio = self.sinkage_ratio
        behind = min(math.sqrt(ratio), math.acos(max(1.0 - ratio, 0.0)) / (math.pi / 2))
        if not (self.a_0 + abs(self.a_1) < 1.0 and self.a_0 - abs(self.a_1) > -behind):
            raise SimulationError(
                f"Ishigami a_0, a_1: {self.a_0:g} and {self.a_1:g} put the largest stress outside the contact; "
                f"a_0 ± a_1 must be between {-behind:.3g} and 1"
            )
        checks.count(self.points, "Ishigami points", least=1, most=64)

    def pack(self, radius: float | None, width: float | None, load: float | None) -> FloatArray:
        if radius is None or width is None:
            missing = "radius" if radius is None else "width"
            raise SimulationError(f"Ishigami: the wheel has no {missing}, which terramechanics needs; give it one [m]")
        R = checks.positive(radius, "wheel radius")
        b = checks.positive(width, "wheel width")
        tan_phi = math.tan(self.friction_angle)
        cot_c = 1.0 / math.tan(self.destructive_angle)
        D_1 = cot_c + math.tan(self.destructive_angle + self.friction_angle)
        D_2 = cot_c + cot_c * cot_c * tan_phi
        nodes, weights = np.polynomial.legendre.leggauss(self.points)
        header = np.zeros(laws.NODES)
        header[laws.RADIUS], header[laws.WIDTH] = R, b
        header[laws.PRESSURE] = R**self.n * (self.k_c / b + self.k_phi)
        header[laws.EXPONENT], header[laws.COHESION], header[laws.TAN_PHI] = self.n, self.cohesion, tan_phi
        header[laws.A_0], header[laws.A_1], header[laws.RATIO] = self.a_0, self.a_1, self.sinkage_ratio
        for k, modulus in ((laws.K_X, self.shear_x), (laws.K_Y, self.shear_y)):
            assert isinstance(modulus, ShearModulus)
            header[k : k + 2] = modulus.at_zero, modulus.growth
        header[laws.ISOTROPIC] = self.isotropic_shear or 0.0
        resistance = D_1 * np.array([self.cohesion, 0.5 * D_2 * self.density * GRAVITY])
        header[[laws.PLOUGH_1, laws.PLOUGH_2]] = resistance * self.ploughing
        header[[laws.BOW_1, laws.BOW_2]] = resistance * self.bow_wave * b
        header[laws.ASIDE], header[laws.RUB] = self.plough_sideslip**2, self.side_friction
        header[laws.SINK_X], header[laws.SINK_Y] = self.slip_sinkage, self.sideslip_sinkage
        header[laws.DAMPING], header[laws.EPSILON] = self.damping, self.smoothing
        header[laws.DEEPEST] = R / max(1.0, self.sinkage_ratio)
        header[laws.POINTS] = self.points
        return np.concatenate((header, 0.5 * (nodes + 1.0), 0.5 * weights))
