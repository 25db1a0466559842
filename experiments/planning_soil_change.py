"""Soil that changes half-way along a path: does the closed loop of `grouser.plan.drive` come back to its path?

Truth: dynamics, a tyre law on firm ground and Ishigami's terramechanics in loose sand, on a rough side slope with a
curved path. The planner knows a noisy map without soils, and a kinematic model with the slip law T (2.48), calibrated
on the firm ground of another hill. Every seed is another hill, slope, sand, map, calibration and noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

import grouser as gr
from experiments.experiment import Experiment, Progress, Result, Row
from experiments.planning_soil_change_plot import draw
from grouser.calibration.simulated import log_of_run
from grouser.checks import FloatArray
from grouser.contact import Ishigami, Table

SEEDS, QUICK = range(1, 21), range(1, 2)
"""Judged; scene and weights were chosen on seeds from 501 on."""
BEFORE, AFTER = 24.0, 25.0  # m of the path on firm ground and in sand
QUICK_BEFORE, QUICK_AFTER = 12.0, 16.0
FORMER = 20.0  # s before the change that the error is compared with
FROM = 10.0  # s after the change, from which on the error must be back
BACK = 1.5  # times its former value
WINDOWS = ((0.0, 5.0), (5.0, 10.0), (10.0, 15.0), (15.0, 20.0), (20.0, 25.0))  # s after the change
SLIDING = 2.0  # s, of the error over time
FIRM = gr.contact.Pacejka(friction=0.8)
SLOPE, ANGLE, SHEAR = (8.0, 11.0), (29.0, 33.0), (0.025, 0.04)  # deg of the hill; deg and m of the sand
ROUGH, LENGTH = 0.05, 1.0  # m: rms and correlation length of the ground
SENSORS = gr.plan.Sensors(position=0.01, yaw=0.005, pose_rate=10.0)
INTERVAL = 0.6  # s, of online calibration
PLANNER: dict[str, Any] = {"samples": 150, "dt": 0.1, "horizon": 2.5, "draws": 20, "risk": 0.1}
WAVE = 25.0  # m, of the path
CELL = 0.15  # m
ASIDE = 4.0  # cost of a metre off the path by that of a metre ahead


@dataclass(frozen=True, eq=False)
class Scene:
    """What a seed decides."""

    ground: gr.terrain.Terrain
    known: gr.terrain.Terrain
    path: FloatArray
    yaw: float
    change: float
    """x at which the sand begins [m]."""
    fit: gr.Fit
    degrees: float
    sand: Ishigami


@dataclass(frozen=True, eq=False)
class Driven:
    """A drive, by the time since the soil changed."""

    time: FloatArray
    """[s], 0 where the body's origin passes the border."""
    aside: FloatArray
    """Distance from the path [m]."""
    nees: float
    noticed: float | None
    """Time after which calibration noticed the change [s]."""
    status: str

    def rms(self, first: float, last: float) -> float:
        """Of the distance from the path, from first to before last [s]."""
        chosen = self.aside[(self.time >= first) & (self.time < last)]
        return float(np.sqrt(np.mean(chosen**2))) if len(chosen) else math.nan


def run(quick: bool, progress: Progress) -> Result:
    """Every seed with adaptation and without it."""
    seeds = list(QUICK if quick else SEEDS)
    lengths = (QUICK_BEFORE, QUICK_AFTER) if quick else (BEFORE, AFTER)
    drives: dict[bool, list[Driven]] = {True: [], False: []}
    for k, seed in enumerate(seeds):
        at = scene(seed, *lengths)
        for adapt in (True, False):
            drives[adapt].append(driven(at, seed, adapt))
            progress(2 * k + 2 - adapt, 2 * len(seeds))
    return judged(seeds, drives, quick)


def judged(seeds: list[int], drives: dict[bool, list[Driven]], quick: bool) -> Result:
    """The table, from all drives."""
    former = {adapt: pooled(drives[adapt], -FORMER, 0.0) for adapt in drives}
    rows: list[Row] = [_row("before", former, former)]
    rows += [_row(f"{a:g} to {b:g}", {k: pooled(drives[k], a, b) for k in drives}, former) for a, b in WINDOWS]
    rows.append(_row(f"{FROM:g} on", {k: pooled(drives[k], FROM, math.inf) for k in drives}, former))
    back = {adapt: time_back(drives[adapt], former[adapt]) for adapt in drives}
    within = {
        adapt: sum(d.rms(FROM, math.inf) <= BACK * d.rms(-FORMER, 0.0) for d in drives[adapt]) for adapt in drives
    }
    noticed = [d.noticed for d in drives[True] if d.noticed is not None]
    summary = {
        "ratio_from_10_s": rows[-1]["ratio with"],
        "ratio_from_10_s_without": rows[-1]["ratio without"],
        "time_back": back[True],
        "time_back_without": back[False],
        "drives": len(seeds),
        "drives_back": within[True],
        "drives_back_without": within[False],
        "noticed": len(noticed),
        "noticed_after_median": float(np.median(noticed)) if noticed else None,
        "ended_early": sum(d.status != "ok" for d in (*drives[True], *drives[False])),
        "nees": float(np.mean([d.nees for d in drives[True]])),
    }
    return Result(
        name=PLANNING_SOIL_CHANGE.name,
        rows=rows,
        paper=[],
        notes=[
            "Root mean square distance from the path [m] over all drives, with adaptation (a bias of the planner's "
            "model and online calibration) and without it, and by its value in the 20 s before the change; windows are "
            "seconds after the change.",
            f"Back within {BACK:g} times for good, by a sliding rms of {SLIDING:g} s over all drives: with "
            f"{_seconds(back[True])}, without {_seconds(back[False])}.",
            f"Drives whose rms from {FROM:g} s on is within {BACK:g} times its own former value: with {within[True]} of"
            f" {len(seeds)}, without {within[False]}.",
            f"Calibration noticed the change in {len(noticed)} of {len(seeds)} drives"
            + (f", after {np.median(noticed):.1f} s (median)." if noticed else "."),
            "Truth is dynamics with tyre and terramechanics laws; the planner has neither the soils nor these laws.",
        ],
        settings={
            "vehicle": "zoe", "seeds": [seeds[0], seeds[-1]], "roughness": [ROUGH, LENGTH], "planner": PLANNER,
            "interval": INTERVAL, "sensors": vars(SENSORS), "quick": quick,
            "drives": [
                {"seed": s, "former": _known(d.rms(-FORMER, 0.0)), "from_10_s": _known(d.rms(FROM, math.inf)),
                 "noticed": d.noticed, "without": _known(e.rms(FROM, math.inf)), "nees": d.nees, "status": d.status}
                for s, d, e in zip(seeds, drives[True], drives[False], strict=True)
            ],
        },
        keys=("seconds",),
        draw=lambda result, path: draw(result, drives, former, path),
        summary=summary,
    )  # fmt: skip


def _row(window: str, value: dict[bool, float], former: dict[bool, float]) -> Row:
    return {
        "seconds": window,
        "with [m]": _known(value[True]),
        "ratio with": _known(value[True] / former[True]),
        "without [m]": _known(value[False]),
        "ratio without": _known(value[False] / former[False]),
    }


def _known(value: float) -> float | None:
    """None where no drive lasted so long."""
    return None if math.isnan(value) else value


def _seconds(value: float | None) -> str:
    return "not" if value is None else f"after {value:.1f} s"


def pooled(drives: list[Driven], first: float, last: float) -> float:
    """Root mean square distance from the path over all drives from first to before last [s]."""
    squares = np.concatenate([d.aside[(d.time >= first) & (d.time < last)] for d in drives]) ** 2
    return float(np.sqrt(np.mean(squares))) if len(squares) else math.nan


def over_time(drives: list[Driven]) -> tuple[FloatArray, FloatArray]:
    """Middles of sliding windows [s], and the rms of all drives in each [m]; as far as all drives last."""
    end = min(float(d.time[-1]) for d in drives)
    middles = np.arange(0.5 * SLIDING, end - 0.5 * SLIDING, 0.25)
    return middles, np.array([pooled(drives, t - 0.5 * SLIDING, t + 0.5 * SLIDING) for t in middles])


def time_back(drives: list[Driven], former: float) -> float | None:
    """Time from which on the sliding rms stays within 1.5 times the former [s]; None if it ends above."""
    middles, rms = over_time(drives)
    above = np.flatnonzero(rms > BACK * former)
    if not len(above):
        return 0.0
    return None if above[-1] == len(rms) - 1 else float(middles[above[-1] + 1])


def hill(seed: int, degrees: float, size: tuple[float, float]) -> gr.terrain.Terrain:
    """A rough slope that rises to the left of x, from x = −6 m on."""
    (w, h), middle = size, (0.5 * size[0] - 6.0, 0.0)
    x = np.linspace(middle[0] - 0.5 * w, middle[0] + 0.5 * w, round(w / CELL) + 1)
    y = np.linspace(-0.5 * h, 0.5 * h, round(h / CELL) + 1)
    rough = gr.terrain.rough(ROUGH, LENGTH, seed, size=size, center=middle, spacing=CELL)
    X, Y = np.meshgrid(x, y, indexing="ij")
    return gr.terrain.grid(rough.height(X, Y) + math.tan(math.radians(degrees)) * Y, x=x, y=y)


def calibrated(seed: int, degrees: float) -> gr.Fit:
    """A fit on the firm ground of another hill: arcs of 15 s each way along and across it."""
    rover, rng = gr.vehicle("zoe"), np.random.default_rng([seed, 21])
    ground = hill(10_000 + seed, degrees, (44.0, 44.0))
    truth = gr.Dynamics(rover, contact=FIRM)
    runs = []
    for curvature, yaw in zip((0.0, 0.1, -0.1, 0.2, -0.2, 0.15, -0.15, 0.0), rng.uniform(-3.1, 3.1, 8), strict=True):
        arc = gr.drive.arc(speed=rng.uniform(0.5, 1.0), curvature=curvature)
        runs.append(gr.simulate(truth, ground, arc, duration=15.0, dt=0.02, start=(16.0, 0.0, yaw)))
    s = SENSORS
    log = log_of_run(
        runs, pose_rate=s.pose_rate, position_noise=s.position, yaw_noise=s.yaw, attitude_noise=s.attitude,
        rate_noise=s.wheel_rate, inclination_noise=s.attitude, measured=rover.joints, seed=seed,
    )  # fmt: skip
    model = gr.Kinematics(rover, slip=gr.slip.BodySlip(np.zeros(6)))
    return gr.calibrate(model, log, ["slip", "noise"], interval=2.0)


def scene(seed: int, before: float, after: float) -> Scene:
    """The hill with its path, sand and map, and the fit."""
    rng = np.random.default_rng([seed, 20])
    degrees, angle, shear = (rng.uniform(*span) for span in (SLOPE, ANGLE, SHEAR))
    sand = Ishigami(
        cohesion=0.0, friction_angle=math.radians(angle), plough_sideslip=1.0, shear_y=(shear, 0.04)
    )  # fmt: skip
    rover = gr.vehicle("zoe")
    wheel = next(frame for frame in rover.frames if frame.is_wheel)
    assert wheel.radius is not None
    assert wheel.width is not None
    loose = Table(sand, radius=wheel.radius, width=wheel.width, speed=1.0)
    base = hill(seed, degrees, (before + after + 16.0, 24.0))
    cells = np.zeros((2, 1), dtype=np.uint8)
    cells[1] = 1
    border = gr.terrain.SoilRaster(classes=cells, origin=(before - 1000.0, -500.0), cell=1000.0)
    ground = gr.terrain.soils(base, border, [FIRM, loose])
    x = np.linspace(0.0, before + after + 3.0, 240)
    amplitude, phase = rng.uniform(1.2, 1.8), rng.uniform(0.0, 2.0 * math.pi)
    y = amplitude * (np.sin(2.0 * math.pi * x / WAVE + phase) - math.sin(phase))
    yaw = math.atan(amplitude * 2.0 * math.pi / WAVE * math.cos(phase))
    known = gr.plan.noisy_map(base, sigma=0.02, seed=20_000 + seed)
    return Scene(ground, known, np.column_stack([x, y]), yaw, before, calibrated(seed, degrees), degrees, sand)


def driven(at: Scene, seed: int, adapt: bool) -> Driven:
    """The closed loop along the path."""
    truth = gr.Dynamics(gr.vehicle("zoe"), contact=FIRM)
    cost = gr.plan.Cost(gr.plan.Path(at.path, aside=ASIDE), gr.plan.CommandRate())
    length = float(np.linalg.norm(np.diff(at.path, axis=0), axis=1).sum())
    drive = gr.plan.drive(
        at.fit, truth, at.ground, cost, known=at.known, start=(0.0, 0.0, at.yaw), duration=1.5 * length,
        sensors=SENSORS, adapt=adapt, interval=INTERVAL, reached=3.0, seed=seed, **PLANNER,
    )  # fmt: skip
    passed = drive.state[:, 4] >= at.change
    zero = float(drive.time[int(np.argmax(passed))]) if passed.any() else float(drive.time[-1])
    noticed = next((c["time"] - zero for c in drive.changes if c["time"] > zero), None)
    return Driven(
        time=drive.time - zero,
        aside=drive.cross_track,
        nees=float(drive.nees.mean()),
        noticed=noticed,
        status="ok" if drive.reached else drive.status,
    )


PLANNING_SOIL_CHANGE = Experiment(
    "planning-soil-change", "Path following by MPPI when the soil changes half-way, with online calibration", run
)
