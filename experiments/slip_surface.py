"""P Fig. 4 to 7: a skid-steered vehicle learns its slip surface and its uncertainty while it drives over hills."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from experiments.experiment import Experiment, Progress, Result, Row
from grouser import terrain
from grouser.actuation import PI
from grouser.calibration.perturbative_filter import COMPONENTS, PerturbativeFilter
from grouser.calibration.simulated import log_of_run
from grouser.checks import FloatArray
from grouser.contact import Pacejka
from grouser.dynamics import Dynamics
from grouser.errors import SimulationError
from grouser.logs import Log
from grouser.motion.intervals import cut_log
from grouser.motion.model import MotionModel
from grouser.motion.noise import Noise
from grouser.motion.parameters import Parameter, resolve, with_values
from grouser.motion.predict import LogProblem
from grouser.motion.slip_surface import Perturbative
from grouser.simulation import Run, Status, drive, simulate
from grouser.terrain import Terrain
from grouser.vehicles import vehicle

FRICTION, GAIN = 0.9, 20000.0  # -, N m/(rad/s)
FASTEST, SHARPEST = 6.0, 4.0  # m/s, rad/s: largest commands, as in the paper
SIDEWAYS = 5.0  # m/s²: largest commanded speed times turn rate; a third of it is turned
SPEEDING, TURNING = 1.5, 4.0  # m/s², rad/s²: how fast commands change
SLOPES_RMS, HILL_LENGTH = 7.0, 60.0  # °, m
ROUGH_RMS, ROUGH_LENGTH = 0.02, 2.0  # m
SIDE, SPACING = 640.0, 0.8  # m, of the map
RUN, DT = 40.0, 0.02  # s
INTERVAL = 2.0  # s
POSITION_NOISE, YAW_NOISE = 0.02, 0.003  # m, rad: GPS with inertial navigation
HELD_OUT = (0.0, 20.0, 40.0, 80.0, 120.0, 160.0, 200.0, 240.0, 300.0)
"""Seconds of driving before the judgement on the rest, P Fig. 5."""
ERRORS = ("along track", "cross track", "heading")
PAPER: list[Row] = [
    {"error": error, "reduction_percent": percent} for error, percent in zip(ERRORS, (71.0, 81.0, 90.0), strict=True)
]


@dataclass(frozen=True, eq=False)
class Course:
    """One online calibration: errors before each update, and what was learned."""

    before: FloatArray
    """Errors without slip, (I, 3): along, across [m], heading [rad]."""
    online: FloatArray
    """Errors of the predictions made just before learning from each interval, (I, 3)."""
    after: FloatArray
    """Errors with the parameters at the end, (I, 3)."""
    predicted: FloatArray
    """Mean covariance that the calibrated noise predicts for them, (3, 3)."""
    heading: FloatArray
    """Measured turn over each interval [rad], (I,)."""
    held_out: list[tuple[float, float, float]]
    """Seconds of calibration, mean and standard deviation of the position error on the rest [m]."""
    learned: MotionModel
    """The model at the end."""
    rejected: int
    """Intervals that counted by less than half."""


def run_surface(quick: bool, progress: Progress) -> Result:
    """800 s of driving, or 320 s in the quick version."""
    count = 8 if quick else 20
    model, ground = _crusher(), hills(seed=1)
    runs = []
    for seed in range(count):
        runs.append(_drive(model, ground, seed))
        progress(seed + 1, count + 1)
    log = log_of_run(runs, position_noise=POSITION_NOISE, yaw_noise=YAW_NOISE, seed=1, name="crusher on hills")
    course = calibrate_online(log, model)
    progress(count + 1, count + 1)
    return Result(
        name=SLIP_SURFACE.name,
        rows=[_row(course, i) for i in range(3)],
        paper=PAPER,
        notes=_notes(course, log),
        settings={
            "vehicle": "crusher",
            "log": {"model": "dynamic", "contact": "pacejka", "friction": FRICTION, "gain": GAIN, "dt": DT},
            "commands": {"speed": [1.0, FASTEST], "turn": [-SHARPEST, SHARPEST], "speed_times_turn": SIDEWAYS},
            "ground": {
                "slope_rms_deg": SLOPES_RMS,
                "hill_length": HILL_LENGTH,
                "rough_rms": ROUGH_RMS,
                "rough_length": ROUGH_LENGTH,
            },
            "seconds": count * RUN,
            "interval": INTERVAL,
            "pose_noise": [POSITION_NOISE, YAW_NOISE],
            "slip": course.learned.model.parameters,  # type: ignore[union-attr]
            "noise": course.learned.noise.density.tolist(),
            "held_out": [{"seconds": s, "mean": m, "deviation": d} for s, m, d in course.held_out],
            "quick": quick,
        },
        keys=("error",),
        draw=lambda result, path: draw(course, path),
    )


SLIP_SURFACE = Experiment(
    name="slip-surface",
    description="Crusher on hills: 13 slip parameters and 6 of the noise, learned online, against no calibration",
    body=run_surface,
)


def _crusher() -> Dynamics:
    return Dynamics(vehicle("crusher"), contact=Pacejka(friction=FRICTION), actuator=PI(gain=GAIN))


def hills(*, seed: int) -> Terrain:
    """Rolling hills with rough ground on them."""
    axis = np.linspace(-0.5 * SIDE, 0.5 * SIDE, round(SIDE / SPACING) + 1)
    at = np.meshgrid(axis, axis, indexing="ij")
    rms = np.tan(np.radians(SLOPES_RMS)) * HILL_LENGTH / np.sqrt(2.0)
    large = terrain.rough(rms, HILL_LENGTH, seed, size=SIDE + 20.0, spacing=5.0, interpolation="bicubic")
    small = terrain.rough(ROUGH_RMS, ROUGH_LENGTH, seed + 1, size=SIDE + 4.0, spacing=SPACING)
    return terrain.grid(large.height(*at) + small.height(*at), axis, axis)


def _drive(model: Dynamics, ground: Terrain, seed: int) -> Run:
    """Forty seconds of changing speed and turn from a place of its own."""
    random = np.random.default_rng(seed)
    steps = round(RUN / DT)
    speed, turn = np.empty(steps), np.empty(steps)
    at = 0
    while at < steps:
        end = at + round(random.uniform(1.0, 4.0) / DT)
        v = random.uniform(1.0, FASTEST)
        most = min(SHARPEST, SIDEWAYS / v)
        speed[at:end], turn[at:end] = v, random.choice([0.0, 1.0, 1.0]) * random.uniform(-most, most)
        at = end
    wheels = _wheel_rates(model, _limited(speed, SPEEDING), _limited(turn, TURNING))
    x, y = random.uniform(-60.0, 60.0, 2)
    run = simulate(model, ground, drive.table(wheels), duration=RUN, dt=DT, start=(x, y, random.uniform(-np.pi, np.pi)))
    if run.status is not Status.OK:
        raise SimulationError(f"drive {seed} ended as {run.status} after {run.steps} steps")
    return run


def _limited(values: FloatArray, rate: float) -> FloatArray:
    """As a powertrain follows: changing no faster than a rate [1/s]."""
    out = np.empty_like(values)
    now = values[0]
    for k, value in enumerate(values):
        now += min(max(value - now, -rate * DT), rate * DT)
        out[k] = now
    return out


def _wheel_rates(model: Dynamics, speed: FloatArray, turn: FloatArray) -> FloatArray:
    car = model.vehicle
    side = {w: p[1] for w, p in zip(car.wheels, car.wheel_positions, strict=True)}
    radius = {f.name: f.radius for f in car.frames if f.radius is not None}
    return np.stack([(speed - side[w] * turn) / radius[w] for w in car.actuated], axis=1)


def calibrate_online(log: Log, model: Dynamics) -> Course:
    """P §3 and §4 on a log: all slip parameters from zero, one interval of 2 s after another."""
    car = model.vehicle
    start = MotionModel(
        model=Perturbative(vehicle=car),
        sensor=log.sensor,
        noise=Noise(components=COMPONENTS, density=np.diag([0.3, 0.3, 0.1]), form="full", grows="time"),
    )
    problem = LogProblem(log, start, cut_log(log, start, interval=INTERVAL))
    count = len(problem.intervals)
    order = np.argsort(problem.intervals.segment * 1e6 + problem.intervals.times[:, 1])
    times = problem.intervals.segment * RUN + problem.intervals.times[:, 1]
    learner = PerturbativeFilter(problem, start, priors(start), adapt=False)  # one ground, as in the paper
    online = np.empty((count, 3))
    history = []
    for k in order:
        history.append((float(times[k] - INTERVAL), learner.values))
        online[k] = learner.update(problem, int(k)).residual
    history.append((float(times[order[-1]]), learner.values))
    learned = learner.calibrated
    residuals = [problem.residuals(problem.poses([one])[0]) for one in (start, learned)]
    predicted = problem.covariance(learned, problem.errors(learned)).mean(axis=0)
    held_out = []
    for seconds in HELD_OUT:
        rest = times - INTERVAL >= seconds
        if seconds > 0.6 * float(times.max()):
            break
        values = next(v for t, v in reversed(history) if t <= seconds)
        then = with_values(start, dict(zip(learner.names, values.tolist(), strict=True)))
        r = problem.residuals(problem.poses([then])[0])[rest]
        error = np.hypot(r[:, 0], r[:, 1])
        held_out.append((seconds, float(error.mean()), float(error.std())))
    heading = problem.intervals.measured[:, 5]
    return Course(residuals[0], online, residuals[1], predicted, heading, held_out, learned, learner.rejected)


def priors(start: MotionModel) -> list[Parameter]:
    """All 13 and 6 parameters; the noise is given the weight of some intervals, lest the first few decide it."""
    return [
        replace(p, sigma=0.25 * p.scale) if p.name.startswith("noise.") else p
        for p in resolve(start, ["slip", "noise"])
    ]


def _row(course: Course, i: int) -> Row:
    before, online, after = (float(e[:, i].std()) for e in (course.before, course.online, course.after))
    return {
        "error": ERRORS[i],
        "uncalibrated": before,
        "online": online,
        "reduction_percent": 100.0 * (1.0 - online / before),
        "converged": after,
        "predicted": float(np.sqrt(course.predicted[i, i])),
        "uncalibrated_mean": float(course.before[:, i].mean()),
        "online_mean": float(course.online[:, i].mean()),
    }


def _along_the_end(course: Course) -> tuple[float, float]:
    """Reductions [%] along and across the heading at the end of each interval instead of at its start."""
    c, s = np.cos(course.heading), np.sin(course.heading)
    before, online = (
        np.stack([c * e[:, 0] + s * e[:, 1], c * e[:, 1] - s * e[:, 0]]).std(axis=1)
        for e in (course.before, course.online)
    )
    along, across = 100.0 * (1.0 - online / before)
    return float(along), float(across)


def _notes(course: Course, log: Log) -> list[str]:
    assert log.attitude is not None
    sample = np.cov(course.online[:, :2].T)
    ratio = float(np.sqrt(np.linalg.det(course.predicted[:2, :2]) / np.linalg.det(sample)))
    slip = course.learned.model.parameters  # type: ignore[union-attr]
    roll, pitch = np.degrees(log.attitude).T
    along, across = _along_the_end(course)
    curve = ", ".join(f"{s:.0f} s {m:.2f} ± {d:.2f}" for s, m, d in course.held_out)
    return [
        "Standard deviations in m and rad at the end of 2 s, along and across the heading at its start, P (15). Online "
        "errors are of predictions made before learning from their interval, the first ones included; predicted is "
        "what the calibrated noise says.",
        "The paper does not say along which heading its tracks lie. Taken along and across the heading at the end, the "
        f"reductions are {along:.0f} and {across:.0f} %: the wheels' speed is nearly right here, their turn is not. "
        "Friction, hills and commands are ours, so the percentages show the kind of gain and not its exact size.",
        f"The log is of a dynamic Crusher with tyres: roll {roll.min():.0f} to {roll.max():.0f}°, pitch "
        f"{pitch.min():.0f} to {pitch.max():.0f}° (the paper: −28 to 29°, −22 to 17°).",
        f"It turns at {1.0 + slip['slip.a10']:.2f} of the rate its wheels say (the paper: a third); forward slip is "
        f"{slip['slip.a4']:.3f} g_x (0.256), sideways {slip['slip.a8']:.3f} g_y (0.043).",
        f"The predicted ellipse has {ratio:.2f} of the area of the sample's; in the paper it lies just inside.",
        f"Position error on the rest of the log after calibrating for a while [m]: {curve}.",
        f"{course.rejected} of {len(course.online)} intervals were rejected as outliers.",
    ]


def draw(course: Course, path: str | os.PathLike[str]) -> None:
    """Scatter without and with calibration (Fig. 4), convergence on held-out data (Fig. 5), slip surfaces (Fig. 6)."""
    from grouser.view import style

    with style.picture(path, 13.0, 8.0) as figure:
        grid = figure.add_gridspec(2, 3)
        reach = 1.05 * float(np.abs(course.before[:, :2]).max())
        for column, (title, errors) in enumerate((("no slip", course.before), ("online", course.online))):
            ax = figure.add_subplot(grid[0, column])
            ax.plot(errors[:, 0], errors[:, 1], ".", ms=3, color=style.PALETTE[0])
            _ellipse(ax, errors[:, :2].mean(axis=0), np.cov(errors[:, :2].T), style.PALETTE[1], "-", "3σ of the sample")
            if column == 1:
                _ellipse(ax, np.zeros(2), course.predicted[:2, :2], style.PALETTE[2], "--", "3σ predicted")
            ax.set(xlim=(-reach, reach), ylim=(-reach, reach), title=f"errors after 2 s, {title}")
            ax.set(xlabel="along track [m]", ylabel="across track [m]")
            ax.set_aspect("equal")
            ax.legend(loc="upper left")
        ax = figure.add_subplot(grid[0, 2])
        seconds, mean, deviation = np.array(course.held_out).T
        ax.errorbar(seconds, mean, deviation, fmt="o-", color=style.PALETTE[0], capsize=3)
        ax.set(xlabel="calibrated for [s]", ylabel="position error on the rest [m]", title="held-out data: mean ± 1σ")
        ax.set_ylim(bottom=0.0)
        model = course.learned.model
        assert isinstance(model, Perturbative)
        v, w = np.meshgrid(np.linspace(0.0, FASTEST, 31), np.linspace(-SHARPEST, SHARPEST, 41))
        slip = np.where((np.abs(v * w) <= SIDEWAYS)[..., None], model.slip_surface(v, w), np.nan)
        for column, label in enumerate(("forward slip [m/s]", "lateral slip [m/s]", "angular slip [rad/s]")):
            ax = figure.add_subplot(grid[1, column], projection="3d")
            reach = float(np.nanmax(np.abs(slip[..., column])))
            ax.plot_surface(v, w, slip[..., column], cmap=style.SIGNED, linewidth=0.0, vmin=-reach, vmax=reach)
            ax.set(xlabel="V_x [m/s]", ylabel="V_θ [rad/s]", title=label)
        figure.suptitle("Crusher on hills: slip learned online in 13 parameters (P Fig. 4 to 6)")


def _ellipse(ax: Any, centre: FloatArray, covariance: FloatArray, colour: str, style: str, label: str) -> None:
    values, vectors = np.linalg.eigh(covariance)
    angle = np.linspace(0.0, 2.0 * np.pi, 101)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    x, y = centre[:, None] + 3.0 * (vectors * np.sqrt(np.maximum(values, 0.0))) @ circle
    ax.plot(x, y, color=colour, ls=style, lw=1.5, label=label)
