"""Soil of the sand testbed: what the model predicts of a steady point, and the parameters that predict best."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.single_wheel_data import RADIUS, SCATTER, WIDTH, Points
from grouser.checks import FloatArray
from grouser.contact import Ishigami, ShearModulus

SMOOTHING = 1e-4
"""ε [m/s]: a hundredth of the carriage's 10 mm/s. The law has no other speed: this equals driving 500 times as fast
at the default ε."""
DENSITY = 1330.0
"""Of the sand, as the authors measured it [kg/m³]."""
DEPTHS = np.linspace(0.0, 0.12, 25)
"""Where the load is looked for first [m]."""
REFINEMENTS = 10
ROBUST = 3.0
"""Residuals beyond this many scatters count by their size, no longer by its square."""
POINTS = 8
"""Gauss points on either side of the largest stress: a fit follows the steps of a coarser quadrature."""


def predict(model: Ishigami, points: Points) -> FloatArray:
    """Drawbar pull [N], lateral force [N] and sinkage [mm] under the measured load and motion, shape (n, 3).

    Sinkage is the smallest that carries the load; where none down to the last of `DEPTHS` does, it is that one.
    """
    wheel = {"radius": RADIUS, "width": WIDTH}
    excess = model.force(points.v[:, None], points.r_omega[:, None], -DEPTHS, **wheel)[..., 2] - points.load[:, None]
    carries = excess >= 0.0
    last = np.where(carries.any(axis=1), carries.argmax(axis=1), len(DEPTHS) - 1).clip(min=1)
    each = np.arange(len(points))
    low, high = DEPTHS[last - 1], DEPTHS[last]
    below, above = excess[each, last - 1], excess[each, last]
    found = above >= 0.0
    # Regula falsi, Illinois: the end that stays counts half.
    for _ in range(REFINEMENTS):
        depth = np.where(found, low - (high - low) * below / np.where(found, above - below, 1.0), high)
        force = model.force(points.v, points.r_omega, -depth, **wheel)
        over = force[:, 2] - points.load
        deeper = over < 0.0
        low, high = np.where(deeper, depth, low), np.where(deeper, high, depth)
        below, above = np.where(deeper, over, 0.5 * below), np.where(deeper, 0.5 * above, over)
    return np.stack([force[:, 0], force[:, 1], 1e3 * depth], axis=1)


BOUNDS: dict[str, tuple[float, float]] = {
    "cohesion_kPa": (0.0, 5.0),
    "friction_angle_deg": (15.0, 45.0),
    "log_pressure": (2.5, 5.5),
    "n": (0.3, 2.0),
    "a_0": (0.0, 0.95),
    "a_1_share": (-0.99, 0.99),
    "log_k_x": (-2.3, -0.5),
    "k_x_growth": (0.0, 0.3),
    "log_k_y": (-2.3, -0.5),
    "k_y_growth": (0.0, 0.3),
    "sinkage_ratio": (0.0, 1.5),
    "destructive_share": (0.05, 0.95),
    "bow_wave": (0.0, 3.0),
    "slip_sinkage": (0.0, 6.0),
    "sideslip_sinkage": (0.0, 10.0),
    "plough_sideslip": (0.0, 3.0),
    "side_friction": (0.0, 1.5),
    "log_k": (-2.3, -0.5),
}
"""What may be fitted, and between what bounds.

log_pressure is log₁₀ of the pressure [Pa] at 20 mm, better determined than k_φ, which depends on n; a_1_share is the
part of what keeps θ_m in the contact; destructive_share is X_c/(π/2 − φ); log_k is that of isotropic soil. Shear
moduli start at 5 mm: below, the stress steps between quadrature points and the fit follows the steps.
"""
REFERENCE_DEPTH = 0.02  # m
BEYOND_T = ("bow_wave", "slip_sinkage", "sideslip_sinkage", "plough_sideslip", "side_friction")
ANISOTROPIC = ("log_k_x", "k_x_growth", "log_k_y", "k_y_growth")
PRINTED = tuple(name for name in BOUNDS if name not in (*BEYOND_T, "log_k"))
"""Unknowns of the law as T prints it."""
MENDED = tuple(name for name in BOUNDS if name not in ANISOTROPIC)
"""Unknowns with what T lacks. Soil shears along the displacement (isotropic), so one shear modulus takes the place of
four numbers."""
LAWS = {"as printed": PRINTED, "mended": MENDED}
START_VALUES: tuple[dict[str, float], ...] = (
    {"cohesion_kPa": 0.3, "friction_angle_deg": 25.0, "log_pressure": 4.4, "n": 1.2, "a_0": 0.4, "a_1_share": -0.3,
     "log_k_x": -1.6, "k_x_growth": 0.01, "log_k_y": -1.5, "k_y_growth": 0.003, "sinkage_ratio": 1.2,
     "destructive_share": 0.6, "bow_wave": 0.8, "slip_sinkage": 2.0, "sideslip_sinkage": 3.5, "plough_sideslip": 1.0,
     "side_friction": 0.5, "log_k": -1.7},
    {"cohesion_kPa": 0.3, "friction_angle_deg": 33.0, "log_pressure": 5.3, "n": 1.9, "a_0": 0.9, "a_1_share": -0.3,
     "log_k_x": -1.7, "k_x_growth": 0.01, "log_k_y": -1.5, "k_y_growth": 0.003, "sinkage_ratio": 1.4,
     "destructive_share": 0.65, "bow_wave": 0.2, "slip_sinkage": 1.0, "sideslip_sinkage": 1.5, "plough_sideslip": 0.5,
     "side_friction": 0.3, "log_k": -1.9},
)  # fmt: skip
"""Sand that sinks with slip, and a soil that hardens with depth."""


@dataclass(frozen=True)
class Fit:
    """Parameters that came out."""

    model: Ishigami
    cost: float
    """Robust sum of squared residuals in scatters, halved."""
    at_bound: tuple[str, ...]
    """Unknowns that ended at a bound."""
    unsettled: int
    """Starts stopped by their limit of evaluations."""


def soil(value: dict[str, float]) -> Ishigami:
    """The model for values of unknowns by name; those left out are zero.

    k_c is zero: with one width it cannot be distinguished from k_φ. Density is the authors'.
    """
    ratio, phi, a_0 = value["sinkage_ratio"], math.radians(value["friction_angle_deg"]), value["a_0"]
    behind = min(math.sqrt(ratio), math.acos(max(1.0 - ratio, 0.0)) / (math.pi / 2))
    more: dict[str, Any] = {name: value.get(name, 0.0) for name in BEYOND_T}
    if "log_k" in value:
        more |= {"isotropic_shear": 10.0 ** value["log_k"]}
    else:
        more |= {
            f"shear_{axis}": ShearModulus(10.0 ** value[f"log_k_{axis}"], value[f"k_{axis}_growth"]) for axis in "xy"
        }
    return Ishigami(
        cohesion=1e3 * value["cohesion_kPa"],
        friction_angle=phi,
        destructive_angle=value["destructive_share"] * (math.pi / 2 - phi),
        k_c=0.0,
        k_phi=10.0 ** value["log_pressure"] / REFERENCE_DEPTH ** value["n"],
        n=value["n"],
        a_0=a_0,
        a_1=value["a_1_share"] * min(1.0 - a_0, a_0 + behind),
        density=DENSITY,
        sinkage_ratio=ratio,
        smoothing=SMOOTHING,
        points=POINTS,
        **more,
    )


def fit(points: Points, *, law: str = "mended", starts: int = 2, evaluations: int = 100, seed: int = 0) -> Fit:
    """Soil that predicts points best: bounded least squares, residuals in scatters, robust (soft L1).

    law: one of `LAWS`.
    starts: how many, those of `START_VALUES` first, then the best of twenty times as many drawn with seed.
    evaluations: most that one start may take, without those for its derivatives.
    """
    from scipy.optimize import least_squares

    names = LAWS[law]
    low, high = np.array([BOUNDS[name] for name in names]).T

    def made(unknowns: FloatArray) -> Ishigami:
        return soil(dict(zip(names, unknowns.tolist(), strict=True)))

    def residuals(unknowns: FloatArray) -> FloatArray:
        return ((predict(made(unknowns), points) - points.measured) / SCATTER).ravel()

    best, unsettled = None, 0
    for start in _starts(residuals, names, starts, seed):
        solution = least_squares(
            residuals,
            start,
            bounds=(low, high),
            x_scale=high - low,
            loss="soft_l1",
            f_scale=ROBUST,
            diff_step=1e-4,
            max_nfev=evaluations,
        )
        unsettled += solution.status == 0
        if best is None or solution.cost < best.cost:
            best = solution
    assert best is not None
    near = np.minimum(best.x - low, high - best.x) < 1e-3 * (high - low)
    at_bound = tuple(name for name, is_near in zip(names, near, strict=True) if is_near)
    return Fit(made(best.x), float(best.cost), at_bound, unsettled)


def _starts(
    residuals: Callable[[FloatArray], FloatArray], names: tuple[str, ...], count: int, seed: int
) -> Iterator[FloatArray]:
    yield from (np.array([values[name] for name in names]) for values in START_VALUES[:count])
    more = count - len(START_VALUES)
    if more > 0:
        low, high = np.array([BOUNDS[name] for name in names]).T
        drawn = low + (high - low) * np.random.default_rng(seed).uniform(0.02, 0.98, (20 * more, len(low)))
        costs = [np.abs(residuals(x)).sum() for x in drawn]
        yield from drawn[np.argsort(costs)[:more]]
