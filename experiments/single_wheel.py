"""A wheel on a sand testbed: terramechanics as printed and mended, judged on angles and speeds that no fit has seen."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import fields

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
from experiments.single_wheel_fit import BOUNDS, DENSITY, LAWS, ROBUST, SMOOTHING, Fit, fit, predict
from experiments.single_wheel_held_out import across_angles, across_slips, corrected, measured
from experiments.single_wheel_plot import draw
from grouser.checks import FloatArray
from grouser.contact import Ishigami, ShearModulus

DEEPEST_ANGLE = 45
"""Of the fits [deg]: at 90° the wheel is in past its axle, where the model ends."""
SPEEDS, ONE_ANGLE, ONE_SPEED = "every other speed", "one angle", "one speed"
"""What is held out: a chessboard of rim speeds and angles; all of one slip angle; all of one rim speed."""
MEANS = ("measured", *(law.replace(" ", "_") for law in LAWS), "corrected", "interpolated")

PAPER: list[Row] = [
    {
        "wheel": "both, the authors' soil",
        "density": DENSITY,
        "friction_angle_deg": 29.0,
        "cohesion": 1000.0,
        "shear_modulus": 0.021,
        "stiffness": 8.0e6,
    }
]


def run_single_wheel(quick: bool, progress: Progress) -> Result:
    """Both wheels up to 45°; the quick version makes one start of few evaluations and holds out no single speeds."""
    path = find_data()
    points = read(path)
    options = {"starts": 1, "evaluations": 20} if quick else {"starts": 2, "evaluations": 60}
    fits: dict[tuple[str, str], Fit] = {}
    rows: list[Row] = []
    done = 0
    for wheel in WHEELS:
        whole = points[points.wheel == wheel]
        inside = whole[whole.angle <= DEEPEST_ANGLE]
        speeds = np.unique(inside.rim_speed)[1:-1]
        parts = 1 + np.unique(inside.angle).size + (0 if quick else speeds.size)

        known, asked = inside[inside.half()], whole[~(whole.half() & (whole.angle <= DEEPEST_ANGLE))]
        for law in LAWS:
            fits[wheel, law] = fit(known, law=law, **options)
        found = {law: predict(fits[wheel, law].model, asked) for law in LAWS}
        within = asked.angle <= DEEPEST_ANGLE
        both = np.full((2, len(asked), 3), np.nan)
        both[0, within] = corrected(fits[wheel, "mended"].model, known, asked[within], across_slips)
        both[1, within] = across_slips(known, asked[within], measured)
        rows += _rows(wheel, SPEEDS, asked, [*found.values(), *both])
        progress(done := done + 1, len(WHEELS) * parts)

        for angle in np.unique(inside.angle):
            out = inside.angle == angle
            known, asked = inside[~out], inside[out]
            models = [fit(known, law=law, **options).model for law in LAWS]
            between = across_angles(whole[whole.angle != angle], asked, measured)
            adjusted = corrected(models[-1], known, asked, across_angles)
            rows += _rows(wheel, ONE_ANGLE, asked, [*(predict(m, asked) for m in models), adjusted, between])
            progress(done := done + 1, len(WHEELS) * parts)

        if not quick:
            guesses = np.full((4, len(inside), 3), np.nan)
            for speed in speeds:
                out = inside.rim_speed == speed
                known, asked = inside[~out], inside[out]
                model = fit(known, starts=1, evaluations=60).model
                guesses[1, out] = predict(model, asked)
                guesses[2, out] = corrected(model, known, asked, across_slips)
                guesses[3, out] = across_slips(known, asked, measured)
                progress(done := done + 1, len(WHEELS) * parts)
            judged = np.isin(inside.rim_speed, speeds)
            rows += _rows(wheel, ONE_SPEED, inside[judged], list(guesses[:, judged]))
    return Result(
        name=SINGLE_WHEEL.name,
        rows=rows,
        paper=PAPER,
        notes=_notes(fits, rows),
        settings={
            "data": str(path),
            "radius": RADIUS,
            "width": WIDTH,
            "smoothing": SMOOTHING,
            "scatter": dict(zip(QUANTITIES, SCATTER, strict=True)),
            "robust": ROBUST,
            "bounds": {name: list(bounds) for name, bounds in BOUNDS.items()},
            **options,
            "fits": [
                {
                    "wheel": wheel,
                    "law": law,
                    "cost": found.cost,
                    "at_bound": list(found.at_bound),
                    "unsettled": found.unsettled,
                    "soil": _parameters(found.model),
                }
                for (wheel, law), found in fits.items()
            ],
            "quick": quick,
        },
        keys=("wheel",),
        draw=draw_points,
    )


def draw_points(result: Result, path: str | os.PathLike[str]) -> None:
    """Measured points with their deviations, and the curves of both laws, fitted to every other point up to 45°."""
    points = read(result.settings["data"])
    curves: dict[tuple[str, str, int], tuple[FloatArray, FloatArray]] = {}
    for found in result.settings["fits"]:
        model = Ishigami(**found["soil"])
        for angle in ANGLES:
            line = _line(points[(points.wheel == found["wheel"]) & (points.angle == angle)], angle)
            curves[found["wheel"], found["law"], angle] = line.slip, predict(model, line)
    draw(points, curves, QUANTITIES, path)


SINGLE_WHEEL = Experiment(
    name="single-wheel",
    description="A wheel on a sand testbed: terramechanics as printed and mended predicts angles and speeds held out",
    body=run_single_wheel,
)


def _rows(wheel: str, held_out: str, points: Points, guesses: list[FloatArray]) -> Iterator[Row]:
    """Mean and rms error by slip angle; guesses by the columns `MEANS` behind the measured."""
    groups: list[tuple[int | str, BoolArray]] = [(int(a), points.angle == a) for a in np.unique(points.angle)]
    if held_out != ONE_ANGLE:
        groups.append(("to 45", points.angle <= DEEPEST_ANGLE))
    for i, quantity in enumerate(QUANTITIES):
        for angle, part in groups:
            row: Row = {
                "wheel": wheel,
                "held_out": held_out,
                "slip_angle": angle,
                "quantity": quantity,
                "n": int(part.sum()),
                "scatter": SCATTER[i],
                "repeatability": float(points[part].repeatability()[i]),
            }
            for name, guess in zip(MEANS, (points.measured, *guesses), strict=True):
                row[name] = _number(guess[part, i].mean())
            for name, guess in zip(MEANS[1:], guesses, strict=True):
                row[f"rms_{name}"] = _number(_rms(guess[part, i] - points.measured[part, i]))
            yield row


def _notes(fits: dict[tuple[str, str], Fit], rows: list[Row]) -> list[str]:
    notes = [
        "For every point the model's sinkage is the one that carries the measured load at the measured slip and slip "
        "angle. Columns are means over the row's points, then rms errors. As printed is T (C.19)–(C.36) with twelve "
        "unknowns; mended adds slip sinkage in both directions, ploughing that grows with sideslip, friction on the "
        "side and a bow wave, and shears along the displacement. Corrected is mended plus what it leaves of the fitted "
        "points, interpolated. Interpolated are the measured means on either side, 90° and the mirror image of 30° "
        "included; no fit has seen 90°. Beyond the last speed the last two are extrapolated.",
        "scatter is given with the data and weighs the fit; repeatability is the deviation between repeated trials in "
        "the row's own points. At slip angle 0 the mean lateral force is 0.6 N; a symmetric model has none.",
        f"R = {1e3 * RADIUS:g} mm for both wheels (grousers not included), ε = {SMOOTHING:g} m/s because the carriage "
        "moves at 10 mm/s. k_c is 0: one width cannot separate it from k_φ. Density is the authors'. The form of the "
        "mended law was chosen with all angles up to 45° in sight; only its numbers are held out.",
        *_lateral_by_angle(rows),
        *_comparison(rows),
    ]
    notes += [_soil_note(wheel, law, found) for (wheel, law), found in fits.items()]
    own = PAPER[0]
    notes.append(
        "The model has no grousers and ends at the axle: at 90°, where wheels sink deeper than the radius, it fails. "
        "Where parameters end at their bounds a fit describes these curves, not the sand: the authors' own has "
        f"c {1e-3 * own['cohesion']:g} kPa, φ {own['friction_angle_deg']:g}°, shear modulus "
        f"{1e3 * own['shear_modulus']:g} mm."
    )
    return notes


def _lateral_by_angle(rows: list[Row]) -> Iterator[str]:
    """Mean lateral force of the angle left out: what was measured, and what each way to guess it says."""
    for wheel in WHEELS:
        chosen = [r for r in rows if (r["wheel"], r["held_out"], r["quantity"]) == (wheel, ONE_ANGLE, QUANTITIES[1])]
        texts = [
            f"{r['slip_angle']}°: measured {r['measured']:.1f}, as printed {r['as_printed']:.1f}, mended "
            f"{r['mended']:.1f}, interpolated {r['interpolated']:.1f}"
            for r in chosen
        ]
        yield f"{wheel.capitalize()} wheel, mean lateral force [N] of the angle left out: {'; '.join(texts)}."


def _comparison(rows: list[Row]) -> Iterator[str]:
    """Where the mended law is nearer than interpolation, and where not."""
    for held_out in (SPEEDS, ONE_ANGLE, ONE_SPEED):
        better: list[str] = []
        worse: list[str] = []
        for r in rows:
            summed = r["slip_angle"] == "to 45" or held_out == ONE_ANGLE
            if r["held_out"] == held_out and summed:
                angle = f" at {r['slip_angle']}°" if held_out == ONE_ANGLE else ""
                text = f"{r['wheel']} {_bare(r['quantity'])}{angle} {r['rms_mended']:.2g} ({r['rms_interpolated']:.2g})"
                (better if r["rms_mended"] < r["rms_interpolated"] else worse).append(text)
        if better or worse:
            yield (
                f"{held_out.capitalize()} held out, rms of the mended law (of interpolation): nearer "
                f"{', '.join(better) or 'nowhere'}; not nearer {', '.join(worse) or 'nowhere'}."
            )


def _bare(quantity: str) -> str:
    """A quantity without its unit."""
    return quantity.split(" [")[0]


def _soil_note(wheel: str, law: str, found: Fit) -> str:
    m = found.model
    k_x, k_y = (k for k in (m.shear_x, m.shear_y) if isinstance(k, ShearModulus))
    text = (
        f"{wheel.capitalize()} wheel, {law}: c {1e-3 * m.cohesion:.2f} kPa, φ {math.degrees(m.friction_angle):.1f}°, "
        f"X_c {math.degrees(m.destructive_angle):.1f}°, k_φ {m.k_phi:.3g} N/m^(n+2), n {m.n:.2f}, a_0 {m.a_0:.2f}, "
        f"a_1 {m.a_1:.2f}, λ {m.sinkage_ratio:.2f}, "
    )
    if m.isotropic_shear is None:
        text += (
            f"k_x {1e3 * k_x.at_zero:.1f} + {1e3 * k_x.growth:.1f} |β| mm, "
            f"k_y {1e3 * k_y.at_zero:.1f} + {1e3 * k_y.growth:.1f} |β| mm"
        )
    else:
        text += (
            f"K {1e3 * m.isotropic_shear:.1f} mm, n_x {m.slip_sinkage:.2f}, n_y {m.sideslip_sinkage:.2f}, "
            f"κ {m.plough_sideslip:.2f}, μ {m.side_friction:.2f}, bow wave {m.bow_wave:.2f}"
        )
    text += f"; at a bound: {', '.join(found.at_bound)}" if found.at_bound else ""
    return text + f"; unsettled starts: {found.unsettled}."


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
    values = {field.name: getattr(model, field.name) for field in fields(model)}
    return {name: [v.at_zero, v.growth] if isinstance(v, ShearModulus) else v for name, v in values.items()}


def _number(value: float) -> float | None:
    """None where there is none."""
    return None if math.isnan(value) else float(value)


def _rms(values: FloatArray) -> float:
    return float(np.sqrt(np.mean(values**2)))
