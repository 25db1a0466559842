"""T Fig. 3.8, 3.9, 3.11: predicted uncertainty of Crusher's motion 1, 2 and 4 s ahead against the scatter of errors."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from experiments import calibration_drives as drives
from experiments.experiment import Experiment, Progress, Result, Row
from experiments.figure_3_8_plot import draw
from experiments.online_calibration import learn
from experiments.table_3_3 import DENSITY, SECONDS
from grouser.calibration.evaluate import Errors, errors_of
from grouser.calibration.loss import GATE
from grouser.checks import FloatArray
from grouser.kinematics import Kinematics
from grouser.logs import Log
from grouser.motion.intervals import cut_log
from grouser.motion.model import MotionModel
from grouser.motion.noise import Noise, bounded
from grouser.motion.predict import LogProblem
from grouser.vehicles import vehicle

INTERVALS = (1.0, 2.0, 4.0)  # s
POSE, VELOCITY, CONSERVATIVE = "pose residuals", "velocity residuals", "pose residuals, none rejected"
PERIOD = 0.1  # s, over which a velocity is measured
EVERY, SIZES, LASTING = 20.0, (5.0, 20.0), (0.2, 1.0)  # s, m, s: jumps of the poses


@dataclass(frozen=True, eq=False, kw_only=True)
class Scatter:
    """Errors of one interval length with what a noise model predicts for them."""

    interval: float
    """[s]."""
    calibrated_to: str
    errors: Errors
    """Of all intervals, after calibration."""
    inlier: NDArray[np.bool_]
    """Whose poses do not jump."""
    rejected: int
    """How many counted for less than half in the noise."""
    density: FloatArray
    """Q′ of vx, vy, wz."""

    @property
    def sample(self) -> FloatArray:
        """Sample covariance of the errors whose poses do not jump, (3, 3)."""
        return np.atleast_2d(np.cov(self.errors.error[self.inlier].T))

    @property
    def predicted(self) -> FloatArray:
        """Mean of the covariances predicted for them, T (3.15), (3, 3)."""
        result: FloatArray = self.errors.covariance[self.inlier].mean(axis=0)
        return result

    def row(self) -> Row:
        """As numbers: one-sigma axes of both ellipses [m], their turn [°], yaw [rad]."""
        sample, predicted = self.sample, self.predicted
        (major, minor, turn), (p_major, p_minor, p_turn) = axes_of(sample), axes_of(predicted)
        return {
            "interval": self.interval,
            "calibrated_to": self.calibrated_to,
            "intervals": len(self.inlier),
            "rejected": self.rejected,
            "sample_major": major,
            "predicted_major": p_major,
            "sample_minor": minor,
            "predicted_minor": p_minor,
            "sample_turn": turn,
            "predicted_turn": p_turn,
            "area_ratio": p_major * p_minor / (major * minor),
            "sample_yaw": math.sqrt(sample[2, 2]),
            "predicted_yaw": math.sqrt(predicted[2, 2]),
            "inside_95": float(np.mean(self.errors.inside[self.inlier])),
        }


def run_figure(quick: bool, progress: Progress) -> Result:
    """Three drives of 360 s, or one in the quick version."""
    count = 1 if quick else 3
    runs = []
    for seed in range(1, count + 1):
        runs.append(drives.drive_crusher(SECONDS, seed))
        progress(seed, count + len(INTERVALS))
    smooth = drives.log_of_drive(runs, name="crusher on hills")
    log = drives.with_jumps(smooth, every=EVERY, sizes=SIZES, lasting=LASTING)
    scatters = []
    for k, interval in enumerate(INTERVALS):
        scatters += calibrate_noise(log, smooth, interval)
        progress(count + k + 1, count + len(INTERVALS))
    return Result(
        name=FIGURE_3_8.name,
        rows=[scatter.row() for scatter in scatters],
        paper=[],
        notes=_notes(scatters),
        settings={
            "vehicle": "crusher",
            "ground": vars(drives.CRUSHER_GROUND),
            "driver": vars(drives.CRUSHER_DRIVER),
            "drives": count,
            "seconds": SECONDS,
            "jumps": {"every": EVERY, "sizes": SIZES, "lasting": LASTING},
            "gates": {POSE: GATE, CONSERVATIVE: "infinite"},
            "noise": [
                {"interval": s.interval, "calibrated_to": s.calibrated_to, "density": s.density.tolist()}
                for s in scatters
            ],
            "quick": quick,
        },
        keys=("interval", "calibrated_to"),
        draw=lambda result, path: draw(scatters, path),
    )


FIGURE_3_8 = Experiment(
    name="figure-3.8",
    description="Crusher on steep slopes: predicted uncertainty after 1, 2 and 4 s against the scatter of errors",
    body=run_figure,
)


def calibrate_noise(log: Log, smooth: Log, interval: float) -> list[Scatter]:
    """Q′ calibrated online to poses, outliers rejected or not, and to velocities, which do not jump as poses do.

    Slip is that calibrated with outliers rejected in all of them: they differ by their noise alone.
    """
    car = Kinematics(vehicle("crusher"))
    robust, full = (
        learn(log, car, ["slip"], density=DENSITY, form="full", interval=interval, gate=gate) for gate in (GATE, np.inf)
    )
    assert robust.fit.history is not None
    rejected = int(np.count_nonzero(~robust.fit.history.accepted))
    motion, cut = robust.fit.model, robust.intervals
    moved = cut.measured - cut_log(smooth, motion, interval=interval).measured
    inlier = np.abs(moved).max(axis=1) < 1e-6
    models = (
        (POSE, motion, rejected),
        (VELOCITY, motion.replace(noise=velocity_noise(smooth, motion)), 0),
        (CONSERVATIVE, motion.replace(noise=full.fit.model.noise), 0),
    )
    return [
        Scatter(
            interval=interval,
            calibrated_to=name,
            errors=errors_of(model, log, cut),
            inlier=inlier,
            rejected=rejected,
            density=model.noise.density,
        )
        for name, model, rejected in models
    ]


def velocity_noise(log: Log, motion: MotionModel) -> Noise:
    """Q′ from velocity residuals, T (3.67) times Δt: a sample covariance is no spectral density (errata).

    Velocities are motions from one pose to the next; what the pose sensor's own noise adds to them is taken off.
    """
    cut = cut_log(log, motion, interval=PERIOD)
    problem = LogProblem(log, motion, cut)
    silent = motion.replace(noise=replace(motion.noise, density=np.zeros((3, 3))))
    predicted = problem.errors(silent)
    r = problem.residuals(predicted.poses)
    excess = np.einsum("ni,nj->nij", r, r) - problem.covariance(silent, predicted)
    density = excess.mean(axis=0) / float(cut.duration.mean())  # (r/Δt)(r/Δt)ᵀ Δt
    return replace(motion.noise, density=bounded(density, Noise.LOWEST, Noise.HIGHEST))


def axes_of(covariance: FloatArray) -> tuple[float, float, float]:
    """One-sigma half axes of the position ellipse [m] and the turn of the longer one from x [°], −90 to 90."""
    values, vectors = np.linalg.eigh(covariance[:2, :2])
    x, y = vectors[:, 1]
    turn = math.degrees(math.atan2(y, x))
    return math.sqrt(values[1]), math.sqrt(max(values[0], 0.0)), turn - 180.0 * round(turn / 180.0)


def _notes(scatters: list[Scatter]) -> list[str]:
    def ratios(name: str) -> str:
        return ", ".join(f"{s.interval:g} s {s.row()['area_ratio']:.2f}" for s in scatters if s.calibrated_to == name)

    def yaws(name: str) -> str:
        return ", ".join(
            f"{math.sqrt(s.predicted[2, 2] / s.sample[2, 2]):.2f}" for s in scatters if s.calibrated_to == name
        )

    return [
        "One-sigma half axes of the error ellipse [m], its turn from the heading [°] and the deviation of yaw [rad], "
        "of "
        "the sample and as predicted on average, both of intervals whose poses do not jump; inside_95 is the share "
        "within their own 95 % ellipse.",
        f"Area of the predicted ellipse over the sample's: {ratios(POSE)}; of yaw deviations: {yaws(POSE)}. "
        "The paper shows a close match, without numbers.",
        f"Calibrated to velocity residuals, (3.67) times Δt: area {ratios(VELOCITY)}; yaw {yaws(VELOCITY)}. "
        "Errors of velocity last longer than a sample: white noise of their size adds up to far too little, as the "
        "paper found.",
        f"With no interval rejected, outliers counted in full: area {ratios(CONSERVATIVE)}; yaw {yaws(CONSERVATIVE)}. "
        "Larger where outliers matter, as in Fig. 3.11, whose higher gate lets some of them pass.",
        f"The poses jump by {SIZES[0]:g} to {SIZES[1]:g} m for a moment every {EVERY:g} s on average, as of a GPS that "
        "loses satellites. The filter rejects these and some of the largest errors of the drives, which weigh little "
        "in the noise: it is that of the bulk of the errors, of the last 120 intervals; fewer than 95 % lie inside.",
    ]
