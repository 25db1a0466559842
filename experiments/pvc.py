"""R §16.4: the three-wheeler with passive variable camber rolls off a plateau and over random ground."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from experiments.experiment import Experiment, Progress, Result, Row
from experiments.pvc_plot import draw
from grouser import terrain
from grouser.checks import FloatArray
from grouser.rolling.design import Design, compare
from grouser.rolling.measure import measure
from grouser.rolling.model import RollingModel
from grouser.rolling.motion import roll
from grouser.rolling.start import Start
from grouser.simulation.run import Run
from grouser.terrain import Terrain
from grouser.vehicles import vehicle

DURATION, DT = 30.0, 0.01  # s
DRIVE = 1.0  # rad/s
SIGMAS = (1.0, 5.0, 10.0)  # 1/s; R: "values of σ between 1 and 10 produced good results"
TIMED = 3
"""Runs of which the quickest is reported."""
BOUND = 3e-4
"""R §16.3.3: ‖C‖ stays below this."""
DESIGNS = ("pvc", "pvc_axle", "pvc_four", "pvc_rocker", "pvc_locked")
FRICTION = 0.6
RADIUS = 0.65  # m


def plateau() -> Terrain:
    """A round plateau 3 m high, 9 m to the middle of its edge, which falls by up to 37°; a spline as in R."""
    x, y = np.linspace(-6.0, 30.0, 145), np.linspace(-18.0, 18.0, 145)
    distance = np.hypot(x[:, None], y[None, :])
    heights = 1.5 * (1.0 - np.tanh((distance - 9.0) / 2.0))
    return terrain.spline(heights, x, y, description="plateau, 3 m high")


def random_ground() -> Terrain:
    """Random hills, RMS 0.4 m, correlation length 3 m; a spline as in R."""
    return terrain.rough(rms=0.4, length=3.0, seed=3, size=(40.0, 24.0), center=(10.0, 0.0), interpolation="spline")


GROUNDS: dict[str, tuple[Callable[[], Terrain], tuple[float, float, float]]] = {
    # R gives neither ground in numbers. The start on the plateau is off its middle, so that left and right differ.
    "pvc-plateau": (plateau, (0.0, -4.0, 0.0)),
    "pvc-random": (random_ground, (0.0, 0.0, 0.0)),
}


def run_pvc(name: str, quick: bool, progress: Progress) -> Result:
    """R's inputs at three σ, then the designs along one straight path; the quick version has one σ."""
    make, place = GROUNDS[name]
    ground = make()
    model = RollingModel(vehicle("pvc"), ground)
    start = model.start(*place)
    sigmas = (5.0,) if quick else SIGMAS
    parts = len(sigmas) + 1
    _roll(model, start, duration=DT)  # compiles
    rows, runs = [], {}
    for done, sigma in enumerate(sigmas):
        seconds = []
        for _ in range(TIMED):
            began = time.perf_counter()
            runs[sigma] = _roll(model.replace(sigma=sigma), start)
            seconds.append(time.perf_counter() - began)
        rows.append(_row(model, runs[sigma], sigma, min(seconds)))
        progress(done + 1, parts)
    designs = compare(
        [vehicle(each) for each in DESIGNS], ground, speed=DRIVE * RADIUS, start=place, duration=DURATION, dt=2 * DT,
        friction=FRICTION,
    )  # fmt: skip
    progress(parts, parts)
    shown = runs[5.0]
    return Result(
        name=name,
        rows=rows,
        paper=[{"sigma": s, "degrees_of_freedom": 3, "closure_error_max": BOUND} for s in sigmas],
        notes=_notes(rows, shown, designs),
        summary={
            "degrees_of_freedom": min(row["degrees_of_freedom"] for row in rows),
            **{c: max(row[c] for row in rows) for c in ("closure_error_max", "rolling_residual_max", "seconds")},
        },
        settings={
            "vehicle": "pvc",
            "ground": ground.description,
            "start": list(place),
            "duration": DURATION,
            "dt": DT,
            "desired": {"phi1": 0.0, "alpha1": DRIVE, "alpha2": DRIVE, "alpha3": DRIVE, "gamma2": 0.0, "gamma3": 0.0},
            "designs": [design.summary() for design in designs.values()],
            "friction": FRICTION,
            "seconds": f"of the quickest of {TIMED} runs",
            "quick": quick,
        },
        keys=("sigma",),
        draw=partial(draw, run=shown, designs=designs),
    )


def _roll(model: RollingModel, start: Start, duration: float = DURATION) -> Run:
    rates = dict.fromkeys(("alpha1", "alpha2", "alpha3"), DRIVE)
    return roll(model, rates=rates, duration=duration, dt=DT, start=start)


def _row(model: RollingModel, run: Run, sigma: float, seconds: float) -> Row:
    some = range(0, len(run.time), 100)
    found = measure(run)
    rolling, freedoms = found.rolling, found.rolling.degrees_of_freedom
    mobility = [model.mobility(run.state[k], rolling.coordinates[k]) for k in some]
    camber = np.concatenate((run.joint("gamma2"), run.joint("gamma3")))
    return {
        "sigma": sigma,
        "degrees_of_freedom": int(freedoms.min()) if np.ptp(freedoms) == 0 else None,
        "closure_error_max": float(rolling.closure_error.max()),
        "rolling_residual_max": float(found.rolling_residual.max()),
        "contact_gap_max": float(found.contact_gap.max()),
        "normal_error_max": float(found.normal_error.max()),
        "least_singular_value": min(float(one.singular_values[-1]) for one in mobility),
        "rank_gap_log10": math.log10(min(one.gap for one in mobility)),
        "camber_max_deg": float(np.degrees(np.abs(camber).max())),
        "distance": run.distance,
        "status": str(run.status),
        "seconds": seconds,
    }


def _notes(rows: list[Row], run: Run, designs: dict[str, Design]) -> list[str]:
    worst = {key: max(row[key] for row in rows) for key in ("closure_error_max", "rolling_residual_max")}
    touching = max(max(row["contact_gap_max"], row["normal_error_max"]) for row in rows)
    climb, clearance = run.position[:, 2], 1000.0 * float(measure(run).clearance(every=50).min())
    slipping = "; ".join(
        f"{name} {1000 * one.slip_per_metre:.2g} mm/m, {one.energy_per_metre:.2g} J/m,"
        f" degrees of freedom {int(one.rolling.degrees_of_freedom.min())}"
        for name, one in designs.items()
    )
    return [
        f"‖C‖ is at most {worst['closure_error_max']:.1e}; the paper says below {BOUND:g}. Contact points and normals"
        f" of wheel and ground, measured from the pose, agree to {touching:.1e} m and rad.",
        f"Slip measured from the recorded poses is at most {worst['rolling_residual_max']:.1e} m/s; the solver's own is"
        " zero to rounding.",
        f"The platform goes between {climb.min():.2f} and {climb.max():.2f} m high and leans up to"
        f" {float(np.degrees(_tilt(run).max())):.0f}°; of points sampled all"
        f" over the tyres the lowest is {clearance:+.2f} mm over the ground.",
        "The paper gives neither the sizes of the vehicle nor the grounds in numbers: both are ours.",
        f"Designs led along one straight path at friction {FRICTION:g}: {slipping}. Only the locked"
        " one must slip; the rest comes from the small weight of joint rates.",
    ]


def _tilt(run: Run) -> FloatArray:
    w, x, y, z = run.quaternion.T
    tilt: FloatArray = np.arccos(np.clip(w * w - x * x - y * y + z * z, -1.0, 1.0))
    return tilt


PVC_PLATEAU = Experiment(
    name="pvc-plateau",
    description="The PVC three-wheeler rolls down from a plateau for 30 s without slip (R §16.4.1), and other designs",
    body=partial(run_pvc, "pvc-plateau"),
)
PVC_RANDOM = Experiment(
    name="pvc-random",
    description="The PVC three-wheeler rolls over random hills for 30 s without slip (R §16.4.2), and other designs",
    body=partial(run_pvc, "pvc-random"),
)
