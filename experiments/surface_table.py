"""What T Tables 3.4 to 3.8 share: a vehicle on asphalt, dirt and grass, several models calibrated 10 m at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from experiments import calibration_drives as drives
from experiments.calibration_drives import Driver, Ground
from experiments.experiment import Progress, Result, Row
from experiments.online_calibration import Learned, learn, mean_position, mean_yaw
from experiments.surface_plot import draw
from grouser._kernels.constants import GRAVITY
from grouser.actuation import Actuator
from grouser.checks import FloatArray
from grouser.contact import PiecewiseLinear
from grouser.dynamics import Dynamics
from grouser.kinematics import Kinematics
from grouser.logs import Log
from grouser.logs.log import Sensor
from grouser.motion.intervals import cut_log
from grouser.motion.parameters import Parameter
from grouser.motion.planar import DifferentialDrive
from grouser.terrain import Terrain
from grouser.vehicles import Vehicle

SECONDS = 180.0
SHORT, LONG = 10.0, 20.0  # m
SURFACES = ("asphalt", "dirt", "grass")
QUICK = ("asphalt", "grass")
SENSOR = Sensor(x=0.4, y=-0.2)
"""Where the pose sensor really sits; every model must find it."""
KIN, KIN_ONLINE, KIN_AFTER, DYN = "kin.", "kin.+ online", "kin.+", "dyn."
PLANAR, PLANAR_ONLINE, PLANAR_AFTER = "diff. drive", "diff. drive+ online", "diff. drive+"
DENSITY = np.diag([0.02, 0.02, 0.005])  # m²/s, m²/s, rad²/s: a first guess of Q′


@dataclass(frozen=True, eq=False, kw_only=True)
class Trial:
    """A vehicle of the experiment, as it is and as its models believe it to be."""

    real: Vehicle
    """What drives."""
    believed: Vehicle
    """What is calibrated."""
    actuator: Actuator
    driver: Driver
    usual_speed: float
    """Speed at which the rolling resistance of a surface is given [m/s]."""
    offsets: dict[str, float] = field(default_factory=dict)
    """Errors of joint encoders [rad]."""
    hidden: tuple[str, ...] = ()
    """Joints that nothing measures."""
    planar: bool
    """Whether differential drive is among the models."""
    differences: str
    """What the vehicle is and its models do not know, for people."""

    def surface(self, name: str) -> Ground:
        """Asphalt grips evenly; dirt and grass are softer, rougher and grip each wheel in its own way."""
        v = self.usual_speed
        return {
            "asphalt": Ground(
                friction=0.9, variation=0.03, resistance=0.01 / v, slope_rms=1.0, rough_rms=0.003, seed=11
            ),
            "dirt": Ground(
                friction=0.7,
                variation=0.15,
                resistance=0.04 / v,
                drag=0.04 / v,
                grip=0.7,
                slope_rms=2.0,
                rough_rms=0.015,
                seed=21,
            ),
            "grass": Ground(
                friction=0.6,
                variation=0.12,
                resistance=0.06 / v,
                drag=0.04 / v,
                grip=0.6,
                slope_rms=2.0,
                rough_rms=0.02,
                seed=31,
            ),
        }[name]

    def log(self, surface: str) -> Log:
        """Three minutes of random driving."""
        run = drives.drive_randomly(self.real, self.actuator, self.surface(surface), self.driver, seconds=SECONDS)
        return drives.log_of_drive(
            run, name=f"{self.real.name} on {surface}", sensor=SENSOR, offsets=self.offsets, hidden=self.hidden
        )

    def contact_parameters(self) -> list[str | Parameter]:
        """Constants of the piecewise-linear contact and the centre of gravity across the ground, with their priors."""
        load = self.believed.mass * GRAVITY / self.believed.n_wheels
        stiff = load / 0.02 * 0.1  # N s/m, the model's own default
        x, y = self.believed.frames[0].com[:2]
        wide = {"lower": 0.02 * stiff, "upper": 20.0 * stiff, "scale": stiff}
        return [
            Parameter(name="contact.slip_stiffness_x", value=stiff, sigma=0.5 * stiff, **wide),
            Parameter(name="contact.slip_stiffness_y", value=stiff, sigma=0.5 * stiff, **wide),
            Parameter(name="contact.friction", value=0.7, sigma=0.2, lower=0.1, upper=2.0, scale=0.7),
            Parameter(
                name="contact.rolling_resistance",
                value=0.0,
                sigma=0.02 * load,
                lower=0.0,
                upper=0.5 * load,
                scale=0.05 * load,
            ),
            Parameter(name="vehicle.cg.x", value=x, sigma=0.1, lower=x - 0.5, upper=x + 0.5, scale=0.1),
            Parameter(name="vehicle.cg.y", value=y, sigma=0.1, lower=y - 0.5, upper=y + 0.5, scale=0.1),
        ]

    def learned(self, log: Log, hills: Terrain) -> dict[str, Learned]:
        """Every model calibrated on a log; a plain one is given the sensor's place alone."""
        place = ["sensor.x", "sensor.y"]
        car = self.believed
        models: dict[str, Learned] = {}

        def add(name: str, model: Kinematics | Dynamics | DifferentialDrive, more: Sequence[str | Parameter]) -> None:
            ground = hills if isinstance(model, Dynamics) else None
            models[name] = learn(log, model, [*more, *place], density=DENSITY, distance=SHORT, ground=ground)

        if self.planar:
            add(PLANAR, DifferentialDrive(vehicle=car), [])
            add(PLANAR_AFTER, DifferentialDrive(vehicle=car), ["model.yaw_gain"])
        add(KIN, Kinematics(car), [])
        add(KIN_AFTER, Kinematics(car), ["slip"])
        add(DYN, Dynamics(car, contact=PiecewiseLinear(friction=0.7, cone=True)), self.contact_parameters())
        return models


def run_trial(trial: Trial, name: str, title: str, paper: list[Row], quick: bool, progress: Progress) -> Result:
    """Three surfaces, or two in the quick version."""
    surfaces = QUICK if quick else SURFACES
    found = {}
    for done, surface in enumerate(surfaces):
        found[surface] = trial.learned(trial.log(surface), trial.surface(surface).hills())
        progress(done + 1, len(surfaces))
    rows = [row for surface in surfaces for row in _rows(surface, found[surface])]
    return Result(
        name=name,
        rows=rows,
        paper=paper,
        notes=_notes(trial, found, paper),
        settings={
            "vehicle": trial.real.name,
            "log": {"model": "dynamic", "contact": "pacejka", "dt": drives.DT, "unknown": trial.differences},
            "surfaces": {surface: vars(trial.surface(surface)) for surface in surfaces},
            "driver": vars(trial.driver),
            "seconds": SECONDS,
            "horizons": [SHORT, LONG],
            "sensor": [SENSOR.x, SENSOR.y],
            "pose_noise": [drives.POSITION_NOISE, drives.YAW_NOISE],
            "parameters": {s: {model: learned.fit.values for model, learned in found[s].items()} for s in surfaces},
            "quick": quick,
        },
        keys=("surface", "horizon", "model"),
        draw=lambda result, path: draw(result, title, path),
    )


def paper_rows(surfaces: dict[str, dict[tuple[float, str], tuple[float, float]]]) -> list[Row]:
    """Rows of a paper's table from its errors, with its percentages recomputed from them."""
    rows = []
    for surface, errors in surfaces.items():
        for (horizon, model), (position, yaw) in errors.items():
            rows.append(_row(surface, horizon, model, position, yaw, errors[horizon, KIN]))
    return rows


def _rows(surface: str, models: dict[str, Learned]) -> list[Row]:
    errors: dict[tuple[float, str], FloatArray] = {}
    if PLANAR_AFTER in models:
        errors[SHORT, PLANAR] = models[PLANAR].after
        errors[SHORT, PLANAR_ONLINE] = models[PLANAR_AFTER].online
        errors[SHORT, PLANAR_AFTER] = models[PLANAR_AFTER].after
    errors[SHORT, KIN] = models[KIN].after
    errors[SHORT, KIN_ONLINE] = models[KIN_AFTER].online
    errors[SHORT, KIN_AFTER] = models[KIN_AFTER].after
    errors[SHORT, DYN] = models[DYN].after
    for name in (KIN, KIN_AFTER, DYN):
        one = models[name]
        errors[LONG, name] = one.judged(cut_log(one.log, one.start, distance=LONG))
    means = {key: (mean_position(e), mean_yaw(e)) for key, e in errors.items()}
    return [{**_row(surface, *key, *means[key], means[key[0], KIN]), "intervals": len(errors[key])} for key in means]


def _row(surface: str, horizon: float, model: str, position: float, yaw: float, kin: tuple[float, float]) -> Row:
    plain = model == KIN or model.startswith("diff")
    return {
        "surface": surface,
        "horizon": horizon,
        "model": model,
        "position_error": position,
        "yaw_error": yaw,
        "position_reduction": None if plain else 100.0 * (1.0 - position / kin[0]),
        "yaw_reduction": None if plain else 100.0 * (1.0 - yaw / kin[1]),
    }


def _notes(trial: Trial, found: dict[str, dict[str, Learned]], paper: list[Row]) -> list[str]:
    theirs = {(r["surface"], r["model"]): r["position_error"] for r in paper if r["horizon"] == SHORT}
    online = ", ".join(
        f"{s} {100.0 * (mean_position(m[KIN_AFTER].online) / mean_position(m[KIN_AFTER].after) - 1.0):+.0f} % "
        f"({100.0 * (theirs[s, KIN_ONLINE] / theirs[s, KIN_AFTER] - 1.0):+.0f} %)"
        for s, m in found.items()
    )
    places = "; ".join(
        f"{s} " + ", ".join(f"{n} ({v['sensor.x']:.2f}, {v['sensor.y']:.2f})" for n, v in _places(m))
        for s, m in found.items()
    )
    notes = [
        "Mean errors [m, rad] over non-overlapping intervals of so many metres, and how far below kin. they are [%]. "
        "All "
        "are calibrated on 10 m; 20 m is judged with the same parameters. Online errors are of predictions from prior "
        "intervals alone.",
        "The log is of a dynamic vehicle with tyres whose friction and drag change under each wheel; "
        f"{trial.differences}. "
        "The dynamic model is piecewise-linear, the same for all wheels, and uses the hills but not their roughness.",
        f"Position errors of kin.+ online against converged (paper): {online}; 180 s are few intervals.",
        f"Place of the sensor found [m], truth ({SENSOR.x:g}, {SENSOR.y:g}): {places}. Kinematics cannot separate it "
        "from a "
        "centre of turning that has moved ahead or back.",
    ]
    if trial.planar:
        less = ", ".join(
            f"{s} {_less(m[KIN_AFTER], m[PLANAR_AFTER]):.0f} % and {_less(m[DYN], m[PLANAR_AFTER]):.0f} %"
            for s, m in found.items()
        )
        notes.append(f"Position errors of kin.+ and dyn. below diff. drive+: {less} (paper: 32–56 %, 37–68 %).")
    return notes


def _places(models: dict[str, Learned]) -> list[tuple[str, dict[str, float]]]:
    return [(name, models[name].fit.values) for name in (KIN_AFTER, DYN)]


def _less(ours: Learned, theirs: Learned) -> float:
    return 100.0 * (1.0 - mean_position(ours.after) / mean_position(theirs.after))
