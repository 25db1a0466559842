"""A wheel on a sand testbed: Ishigami's terramechanics fitted to half of the points, compared with the rest."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields

import numpy as np

from experiments.experiment import Experiment, Progress, Result, Row
from experiments.single_wheel_data import (
    ANGLES,
    QUANTITIES,
    RADIUS,
    SCATTER,
    WHEELS,
    WIDTH,
    BoolArray,
    Points,
    find_data,
    read,
)
from experiments.single_wheel_plot import draw
from grouser.checks import FloatArray
from grouser.contact import Ishigami

SMOOTHING = 1e-4
"""ε [m/s]: a hundredth of the carriage's 10 mm/s. The law has no other speed: this equals driving 500 times as fast
at the default ε."""
DEEPEST_ANGLE = 45
"""Of the narrower fit [deg]: at 90° the wheel is in past its axle, where the model ends."""
TO_45, ALL = "to 45 deg", "all angles"
RANGES = {TO_45: DEEPEST_ANGLE, ALL: ANGLES[-1]}

DEPTHS = np.linspace(0.0, 0.12, 25)
"""Where the load is looked for first [m]."""
REFINEMENTS = 8
ROBUST = 3.0
"""Residuals beyond this many scatters count by their size, no longer by its square."""

PAPER: list[Row] = [
    {
        "wheel": "both, the authors' soil",
        "density": 1330.0,
        "friction_angle_deg": 29.0,
        "cohesion": 1000.0,
        "shear_modulus": 0.021,
        "stiffness": 8.0e6,
    }
]


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


UNKNOWNS: dict[str, tuple[float, float]] = {
    "cohesion_kPa": (0.0, 5.0),
    "friction_angle_deg": (20.0, 45.0),
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
}
"""What is fitted, and between what bounds.

log_pressure is log₁₀ of the pressure [Pa] at 20 mm, better determined than k_φ, which depends on n; a_1_share is the
part of what keeps θ_m in the contact; destructive_share is X_c/(π/2 − φ). Shear moduli start at 5 mm: below, the
stress steps between quadrature points and the fit follows the steps.
"""
REFERENCE_DEPTH = 0.02  # m
STARTS = (
    (0.3, 33.0, 5.3, 1.9, 0.9, -0.3, -1.7, 0.01, -1.5, 0.003, 1.4, 0.65),
    (0.5, 30.0, 4.0, 1.0, 0.4, 0.2, -1.5, 0.04, -1.9, 0.02, 1.0, 0.4),
)
"""A soil that hardens with depth, to which a wide search led, and one such as Table C.2's."""


def soil(unknowns: FloatArray) -> Ishigami:
    """The model for values of `UNKNOWNS`.

    k_c is zero: with one width it cannot be distinguished from k_φ. Density is the authors'.
    """
    value = dict(zip(UNKNOWNS, (float(x) for x in unknowns), strict=True))
    ratio, phi, a_0 = value["sinkage_ratio"], math.radians(value["friction_angle_deg"]), value["a_0"]
    behind = min(math.sqrt(ratio), math.acos(max(1.0 - ratio, 0.0)) / (math.pi / 2))
    return Ishigami(
        cohesion=1e3 * value["cohesion_kPa"],
        friction_angle=phi,
        destructive_angle=value["destructive_share"] * (math.pi / 2 - phi),
        k_c=0.0,
        k_phi=10.0 ** value["log_pressure"] / REFERENCE_DEPTH ** value["n"],
        n=value["n"],
        a_0=a_0,
        a_1=value["a_1_share"] * min(1.0 - a_0, a_0 + behind),
        density=PAPER[0]["density"],
        sinkage_ratio=ratio,
        shear_x=(10.0 ** value["log_k_x"], value["k_x_growth"]),
        shear_y=(10.0 ** value["log_k_y"], value["k_y_growth"]),
        smoothing=SMOOTHING,
    )


def fit(points: Points, *, starts: int = 2, evaluations: int = 100, seed: int = 0) -> Fit:
    """Soil that predicts points best: bounded least squares, residuals in scatters, robust (soft L1).

    starts: how many, those of `STARTS` first, then the best of twenty times as many drawn with seed.
    evaluations: most that one start may take, without those for its derivatives.
    """
    from scipy.optimize import least_squares

    low, high = np.array(list(UNKNOWNS.values())).T

    def residuals(unknowns: FloatArray) -> FloatArray:
        return ((predict(soil(unknowns), points) - points.measured) / SCATTER).ravel()

    best, unsettled = None, 0
    for start in _starts(residuals, low, high, starts, seed):
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
    at_bound = tuple(name for name, is_near in zip(UNKNOWNS, near, strict=True) if is_near)
    return Fit(soil(best.x), float(best.cost), at_bound, unsettled)


def _starts(
    residuals: Callable[[FloatArray], FloatArray], low: FloatArray, high: FloatArray, count: int, seed: int
) -> Iterator[FloatArray]:
    yield from (np.array(start) for start in STARTS[:count])
    more = count - len(STARTS)
    if more > 0:
        drawn = low + (high - low) * np.random.default_rng(seed).uniform(0.02, 0.98, (20 * more, len(low)))
        costs = [np.abs(residuals(x)).sum() for x in drawn]
        yield from drawn[np.argsort(costs)[:more]]


def run_single_wheel(quick: bool, progress: Progress) -> Result:
    """Both wheels, fitted to 45° and to all angles; the quick version makes one start of few evaluations."""
    path = find_data()
    points = read(path)
    starts, evaluations = (1, 25) if quick else (6, 100)
    defaults = Ishigami(smoothing=SMOOTHING)
    fits: dict[tuple[str, str], Fit] = {}
    rows: list[Row] = []
    for wheel in WHEELS:
        of_wheel = points[points.wheel == wheel]
        for name, largest in RANGES.items():
            fitted = of_wheel.half() & (of_wheel.angle <= largest)
            fits[wheel, name] = fit(of_wheel[fitted], starts=starts, evaluations=evaluations)
            rows += _rows(wheel, name, of_wheel, fitted, fits[wheel, name].model, defaults)
            progress(len(fits), len(WHEELS) * len(RANGES))
    return Result(
        name=SINGLE_WHEEL.name,
        rows=rows,
        paper=PAPER,
        notes=_notes(points, fits, rows),
        settings={
            "data": str(path),
            "radius": RADIUS,
            "width": WIDTH,
            "smoothing": SMOOTHING,
            "scatter": dict(zip(QUANTITIES, SCATTER, strict=True)),
            "robust": ROBUST,
            "bounds": {name: list(bounds) for name, bounds in UNKNOWNS.items()},
            "starts": starts,
            "evaluations": evaluations,
            "fits": [
                {
                    "wheel": wheel,
                    "fitted_to": name,
                    "cost": found.cost,
                    "at_bound": list(found.at_bound),
                    "unsettled": found.unsettled,
                    "soil": _parameters(found.model),
                }
                for (wheel, name), found in fits.items()
            ],
            "quick": quick,
        },
        keys=("wheel",),
        draw=draw_points,
    )


def draw_points(result: Result, path: str | os.PathLike[str]) -> None:
    """Measured points with their deviations, and the curves of the fit to 45°."""
    points = read(result.settings["data"])
    curves: dict[tuple[str, int], tuple[FloatArray, FloatArray]] = {}
    for found in result.settings["fits"]:
        if found["fitted_to"] == TO_45:
            model = Ishigami(**found["soil"])
            for angle in ANGLES:
                line = _line(points[(points.wheel == found["wheel"]) & (points.angle == angle)], angle)
                curves[found["wheel"], angle] = line.slip, predict(model, line)
    draw(points, curves, QUANTITIES, path)


SINGLE_WHEEL = Experiment(
    name="single-wheel",
    description="A wheel on a sand testbed: terramechanics fitted to half of the measured points predicts the rest",
    body=run_single_wheel,
)


def _rows(
    wheel: str, name: str, points: Points, fitted: BoolArray, model: Ishigami, defaults: Ishigami
) -> Iterator[Row]:
    error = predict(model, points) - points.measured
    error_by_default = predict(defaults, points) - points.measured
    inside = points.angle <= RANGES[name]
    groups: list[tuple[str, int | str, BoolArray]] = []
    for label, part in (("fit", fitted), ("held out", inside & ~fitted)):
        groups.append((label, "all", part))
        # The fit to all angles shows its whole and what it does to 90°.
        shown = [angle for angle in ANGLES if (angle <= RANGES[name] if name == TO_45 else angle > DEEPEST_ANGLE)]
        groups += [(label, angle, part & (points.angle == angle)) for angle in shown]
    groups += [("held out", angle, points.angle == angle) for angle in ANGLES if angle > RANGES[name]]
    for i, quantity in enumerate(QUANTITIES):
        for label, group_angle, part in groups:
            yield {
                "wheel": wheel,
                "fitted_to": name,
                "quantity": quantity,
                "set": label,
                "slip_angle": group_angle,
                "n": int(part.sum()),
                "rms": _rms(error[part, i]),
                "median": float(np.median(error[part, i])),
                "scatter": SCATTER[i],
                "repeatability": float(points[part].repeatability()[i]),
                "rms_table_c2": _rms(error_by_default[part, i]),
            }


def _notes(points: Points, fits: dict[tuple[str, str], Fit], rows: list[Row]) -> list[str]:
    ahead = points[points.angle == 0]
    aside = np.abs(ahead.v[:, 1])
    misaligned = math.degrees(float(np.arctan2(aside, ahead.v[:, 0] + ahead.r_omega).max()))
    side = float((aside / np.hypot(aside, SMOOTHING)).max())
    notes = [
        "For every point the model's sinkage is the one that carries the measured load at the measured slip and slip "
        "angle; errors are model minus measurement. Fitted are every other rim speed of a slip angle, the other ones "
        "at the next angle, so that no held-out trial has a repetition among the fitted. scatter is the one given with "
        "the data and weighs the fit; repeatability is the deviation between repeated trials in the row's own points; "
        "rms_table_c2 is that of the soil of T Table C.2, unfitted.",
        f"R = {1e3 * RADIUS:g} mm for both wheels (the rim, grousers not included), "
        f"ε = {SMOOTHING:g} m/s because the carriage moves at 10 mm/s. k_c is 0 and k_φ stands for k_c/b + k_φ: one "
        "width cannot separate them. Density is the authors'. The side's resistance, (C.34), is there in full as "
        f"soon as |v_y| is a few ε, so at slip angle 0 the yaw's misalignment, up to {misaligned:.2f}°, gives up to "
        f"{side:.0%} of it.",
        "The held-out points are not untouched: the bounds of friction angle, exponent and shear modulus were narrowed "
        "after a look at them.",
        _held_out_note(rows),
    ]
    notes += [_soil_note(wheel, name, found) for (wheel, name), found in fits.items()]
    for wheel in WHEELS:
        part = points[(points.wheel == wheel) & (points.angle <= DEEPEST_ANGLE)]
        error = predict(fits[wheel, TO_45].model, part) - part.measured
        regimes = {
            "braked (slip under -0.1)": part.slip < -0.1,
            "near free rolling": np.abs(part.slip) <= 0.1,
            "driven (slip over 0.1)": part.slip > 0.1,
        }
        notes.append(
            f"{wheel.capitalize()} wheel to 45°, rms of pull, lateral force and sinkage: "
            + "; ".join(f"{name} {_triple(error[chosen])}" for name, chosen in regimes.items())
            + "."
        )
        notes.append(_failures(wheel, points[points.wheel == wheel], fits[wheel, TO_45].model))
    own = PAPER[0]
    notes.append(
        "Up to 45° measured sinkage is least near free rolling and grows both ways, with grousers almost to the depth "
        "of a locked wheel. The model has no grousers and no soil above the axle, and is fitted without its bow wave. "
        "Where parameters end at their bounds a fit describes these curves, not the sand: the authors' own has "
        f"c {1e-3 * own['cohesion']:g} kPa, φ {own['friction_angle_deg']:g}°, shear modulus "
        f"{1e3 * own['shear_modulus']:g} mm. A start is unsettled if its limit of evaluations stopped it; a better "
        "soil may lie beyond."
    )
    return notes


def _held_out_note(rows: list[Row]) -> str:
    """Held-out errors up to 45° in scatters, and which of them fitting did not make smaller."""
    chosen = [r for r in rows if (r["fitted_to"], r["set"], r["slip_angle"]) == (TO_45, "held out", "all")]
    parts = []
    for wheel in WHEELS:
        of_wheel = [r for r in chosen if r["wheel"] == wheel]
        ratios = ", ".join(f"{_bare(r['quantity'])} {r['rms'] / r['scatter']:.1f}" for r in of_wheel)
        parts.append(f"{wheel} wheel {ratios}")
    text = f"Held-out rms up to 45° in scatters: {'; '.join(parts)}."
    worse = [f"{r['wheel']} wheel's {_bare(r['quantity'])}" for r in chosen if r["rms"] >= r["rms_table_c2"]]
    return text + (f" No better than the unfitted soil of Table C.2: {', '.join(worse)}." if worse else "")


def _bare(quantity: str) -> str:
    """A quantity without its unit."""
    return quantity.split(" [")[0]


def _failures(wheel: str, points: Points, model: Ishigami) -> str:
    """Sinkage at slip angle 0 from rolling free to spinning fast, and all at 90°."""
    predicted = predict(model, points)
    straight, sideways = points.angle == 0, points.angle == ANGLES[-1]
    rolling, fast = straight & (np.abs(points.slip) < 0.1), straight & (points.slip > 0.8)

    def mean(values: FloatArray, chosen: BoolArray, quantity: int) -> str:
        return f"{values[chosen, quantity].mean():.0f}"

    def both(chosen: BoolArray, quantity: int, unit: str) -> str:
        return f"{mean(predicted, chosen, quantity)} {unit} (measured {mean(points.measured, chosen, quantity)})"

    return (
        f"{wheel.capitalize()} wheel, sinkage at slip angle 0: rolling free {both(rolling, 2, 'mm')}, at slip 0.9 "
        f"{both(fast, 2, 'mm')}; at 90°, never fitted: lateral force {both(sideways, 1, 'N')} and sinkage "
        f"{both(sideways, 2, 'mm')}; what was measured is deeper than the radius."
    )


def _soil_note(wheel: str, name: str, found: Fit) -> str:
    m = found.model
    text = (
        f"{wheel.capitalize()} wheel, {name}: c {1e-3 * m.cohesion:.2f} kPa, φ {math.degrees(m.friction_angle):.1f}°, "
        f"X_c {math.degrees(m.destructive_angle):.1f}°, k_φ {m.k_phi:.3g} N/m^(n+2), n {m.n:.2f}, a_0 {m.a_0:.2f}, "
        f"a_1 {m.a_1:.2f}, λ {m.sinkage_ratio:.2f}, k_x {1e3 * m.shear_x[0]:.1f} + {1e3 * m.shear_x[1]:.1f} |β| mm, "
        f"k_y {1e3 * m.shear_y[0]:.1f} + {1e3 * m.shear_y[1]:.1f} |β| mm"
    )
    text += f"; at a bound: {', '.join(found.at_bound)}" if found.at_bound else ""
    return text + f"; unsettled starts: {found.unsettled}."


def _triple(error: FloatArray) -> str:
    pull, lateral, sinkage = (_rms(column) for column in error.T)
    return f"{pull:.1f} N, {lateral:.1f} N, {sinkage:.1f} mm"


def _line(points: Points, angle: int) -> Points:
    """A fine line of slips from a locked wheel to the fastest of points, at their speed, under loads between theirs."""
    slip = np.concatenate([np.linspace(-1.0, 0.0, 41), np.linspace(0.0, points.slip.max(), 41)[1:]])
    beta = math.radians(angle)
    speed = float(np.median(np.hypot(points.v[:, 0] + points.r_omega, points.v[:, 1])))
    r_omega = speed * np.where(slip < 0.0, 1.0 + slip, 1.0 / (1.0 - slip.clip(min=0.0)))
    blank = np.zeros((len(slip), 3))
    across = np.full(len(slip), -speed * math.sin(beta))
    load = np.interp(slip, *_means(points.slip, points.load, points.rim_speed))
    return Points(
        wheel=np.full(len(slip), points.wheel[0]),
        angle=np.full(len(slip), float(angle)),
        rim_speed=1e3 * r_omega,
        slip=slip,
        v=np.stack([speed * math.cos(beta) - r_omega, across, np.zeros(len(slip))], axis=1),
        r_omega=r_omega,
        load=load,
        measured=blank,
        deviation=blank,
    )


def _means(x: FloatArray, y: FloatArray, group: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean x and y of every group, in ascending order of group."""
    names = np.unique(group)
    return np.array([x[group == g].mean() for g in names]), np.array([y[group == g].mean() for g in names])


def _parameters(model: Ishigami) -> Row:
    return {field.name: getattr(model, field.name) for field in fields(model)}


def _rms(values: FloatArray) -> float:
    return float(np.sqrt(np.mean(values**2)))
