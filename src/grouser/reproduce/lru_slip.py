"""L §5.3.4: slip of the LRU on a sandy flank, learned from 17 short drives whose ends were measured with a tape."""

from __future__ import annotations

import os

import numpy as np

from grouser import terrain
from grouser.calibration.batch import BatchResult, gauss_newton
from grouser.calibration.calibrate import cut_log
from grouser.calibration.motion import MotionModel
from grouser.calibration.parameters import resolve
from grouser.calibration.predict import LogProblem
from grouser.calibration.sensitivity import jacobian
from grouser.calibration.simulated import log_of_run
from grouser.checks import FloatArray
from grouser.kinematics import Kinematics
from grouser.reproduce.experiment import Experiment, Progress, Result, Row
from grouser.reproduce.step_plot import COLOURS
from grouser.simulation import Run, drive, simulate
from grouser.slip import BodySlip
from grouser.terrain import Terrain
from grouser.vehicles import vehicle

ETNA = np.array([0.7457, 0.1093, 0.0303, 0.0187, 0.0062, 0.0627])
"""p of L (5.35), in L's sign: what slip takes away from the odometry."""
NAMES = ("p1", "p2", "p3", "p4", "p5", "p6")
SPEED, DT = 0.5, 0.01  # m/s, s
SHORT, LONG = 10.0, 40.0  # s
RATE, ITERATIONS = 0.7, 10
ROUGH_RMS, ROUGH_LENGTH = 0.01, 1.0  # m
ENCODER_NOISE = 0.093  # rad/s at 100 Hz, mean of L (4.43)
TAPE, TAPE_YAW = 0.01, 0.01  # m, rad: one sigma of a measured end
UP, LEFT, DOWN, RIGHT = 0.0, 90.0, 180.0, -90.0
"""Headings [°] on a flank that rises along x."""
DRIVES: tuple[tuple[float, float, float, float], ...] = (
    # slope [°], heading [°], speed factor, curvature [1/m]
    (5.0, UP, 1.0, 0.0),
    (7.0, UP, 1.0, 0.0),
    (9.0, UP, 1.0, 0.0),
    (6.0, DOWN, 1.0, 0.0),
    (9.0, DOWN, 1.0, 0.0),
    (8.0, LEFT, 1.0, 0.0),
    (6.0, RIGHT, 1.0, 0.0),
    (7.0, UP, -1.0, 0.0),
    (7.0, UP, 1.0, 0.3),
    (8.0, UP, 1.0, -0.3),
    (6.0, LEFT, 1.0, 0.4),
    (7.0, DOWN, 1.0, 0.4),
    (9.0, RIGHT, 1.0, -0.4),
)
"""The 13 short drives."""
LONG_DRIVES = ((6.0, UP, 0.12), (7.0, DOWN, -0.15), (8.0, LEFT, 0.2), (7.0, RIGHT, -0.1))
"""The 4 long ones: slope [°], heading [°], curvature [1/m] of the first half; the second turns the other way."""
PAPER: list[Row] = [{"parameter": n, "estimate": float(v)} for n, v in zip(NAMES, ETNA, strict=True)]


def run_lru(quick: bool, progress: Progress) -> Result:
    """17 drives; the quick version leaves out roughness and noise."""
    rough = not quick
    truth = Kinematics(vehicle("lru1"), slip=BodySlip(-ETNA))
    runs = []
    for i in range(len(DRIVES) + len(LONG_DRIVES)):
        runs.append(_drive(truth, i, rough))
        progress(i + 1, len(DRIVES) + len(LONG_DRIVES))
    problem, fit, motion = calibrate_drives(runs, noisy=rough)
    before = problem.residuals(problem.poses([motion])[0])
    calibrated = motion.replace(model=motion.model.replace(slip=BodySlip(fit.values)))  # type: ignore[union-attr]
    after = problem.residuals(problem.poses([calibrated])[0])
    sigma = deviations(problem, motion, fit)
    rows: list[Row] = [
        {
            "parameter": name,
            "estimate": float(-fit.values[k]),
            "sigma": float(sigma[k]),
            "error": float(-fit.values[k] - ETNA[k]),
            "after_5": float(-fit.history[min(5, len(fit.history) - 1), k]),
        }
        for k, name in enumerate(NAMES)
    ]
    return Result(
        name=LRU_SLIP.name,
        rows=rows,
        paper=PAPER,
        notes=_notes(fit, before, after),
        settings={
            "vehicle": "lru1",
            "model": "kinematic, body slip of L (5.7), (5.8) planted with L (5.35)",
            "drives": [
                *({"slope_deg": s, "heading_deg": h, "speed": SPEED * f, "curvature": c} for s, h, f, c in DRIVES),
                *({"slope_deg": s, "heading_deg": h, "speed": SPEED, "curvature": c} for s, h, c in LONG_DRIVES),
            ],
            "seconds": {"short": SHORT, "long": LONG},
            "weights": {"short": 1.0, "long": 0.5},
            "update_rate": RATE,
            "iterations": ITERATIONS,
            "roughness": {"rms": ROUGH_RMS, "length": ROUGH_LENGTH} if rough else None,
            "encoder_noise": ENCODER_NOISE if rough else 0.0,
            "tape_noise": [TAPE, TAPE_YAW] if rough else [0.0, 0.0],
            "dt": DT,
            "quick": quick,
        },
        keys=("parameter",),
        draw=lambda result, path: draw(fit, before, after, path),
    )


LRU_SLIP = Experiment(
    name="lru-slip",
    description="LRU on a flank of 5 to 9°: six slip parameters from the ends of 17 drives, by batch least squares",
    body=run_lru,
)


def calibrate_drives(runs: list[Run], *, noisy: bool) -> tuple[LogProblem, BatchResult, MotionModel]:
    """L (5.20), (5.21): from no slip, 10 steps of rate 0.7, each drive one residual (x, y, yaw), the last four half."""
    log = log_of_run(
        runs,
        pose_rate=1.0,
        position_noise=TAPE if noisy else 0.0,
        yaw_noise=TAPE_YAW if noisy else 0.0,
        rate_noise=ENCODER_NOISE if noisy else 0.0,
        seed=1,
        name="17 drives",
    )
    motion = MotionModel(model=Kinematics(runs[0].vehicle, slip=BodySlip(np.zeros(6))), sensor=log.sensor)
    problem = LogProblem(log, motion, cut_log(log, motion, interval=None))
    count = len(problem.intervals)
    weights = np.where(np.arange(count) < len(DRIVES), 1.0, 0.5)
    fit = gauss_newton(
        problem,
        motion,
        resolve(motion, ["slip"]),
        loss="none",
        prior=False,
        rate=RATE,
        iterations=ITERATIONS,
        tolerance=0.0,
        weights=weights,
        covariance=np.tile(np.eye(3), (count, 1, 1)),
    )
    return problem, fit, motion


def deviations(problem: LogProblem, motion: MotionModel, fit: BatchResult) -> FloatArray:
    """One sigma of the parameters, (6,), from the scatter of the drives' residuals (White's sandwich)."""
    poses, H = jacobian(problem, motion, resolve(motion, ["slip"]), fit.values)
    score = np.einsum("i,ija,ij->ia", fit.weights, H, problem.residuals(poses))
    bread = np.linalg.inv(fit.information)
    few = len(score) * 3 / (len(score) * 3 - len(NAMES))
    deviation: FloatArray = np.sqrt(few * np.diag(bread @ (score.T @ score) @ bread))
    return deviation


def _drive(model: Kinematics, i: int, rough: bool) -> Run:
    """Drive i on its flank."""
    if i < len(DRIVES):
        slope, heading, factor, curvature = DRIVES[i]
        command, seconds = drive.arc(factor * SPEED, curvature), SHORT
    else:
        slope, heading, curvature = LONG_DRIVES[i - len(DRIVES)]
        command = drive.schedule([(0.0, drive.arc(SPEED, curvature)), (LONG / 2, drive.arc(SPEED, -curvature))])
        seconds = LONG
    ground = _flank(slope, seed=i + 1) if rough else terrain.slope(slope)
    return simulate(model, ground, command, duration=seconds, dt=DT, start=(0.0, 0.0, np.radians(heading)))


def _flank(deg: float, *, seed: int) -> Terrain:
    """A slope that rises along x, with stones and ruts."""
    side = 60.0
    rough = terrain.rough(ROUGH_RMS, ROUGH_LENGTH, seed, size=side + 1.0, spacing=0.25)
    x = np.linspace(-0.5 * side, 0.5 * side, 241)
    heights = rough.height(*np.meshgrid(x, x, indexing="ij")) + np.tan(np.radians(deg)) * x[:, None]
    return terrain.grid(heights, x, x)


def _converged_after(fit: BatchResult) -> int:
    """First step from which all parameters stay within a hundredth of the largest of their end."""
    away = np.abs(fit.history - fit.values).max(axis=1) > 0.01 * np.abs(fit.values).max()
    return int(np.flatnonzero(away)[-1]) + 1 if away.any() else 0


def _notes(fit: BatchResult, before: FloatArray, after: FloatArray) -> list[str]:
    def ends(r: FloatArray) -> str:
        return f"{np.hypot(r[:, 0], r[:, 1]).mean():.3f} m and {np.degrees(np.abs(r[:, 2]).mean()):.2f}°"

    return [
        "The drives are simulated with the paper's parameters, which must come back; signs are L's, slip is what the "
        "ground takes away. Sigma is from the residuals, as the paper's least squares has no measurement noise.",
        f"Within 1 % of its end after {_converged_after(fit)} steps of rate {RATE:g} (the paper: 5); `after_5` are the "
        "parameters there.",
        f"Mean error at the end of a drive: {ends(before)} by odometry without slip, {ends(after)} with it.",
        "Attitude maps the motion to the horizontal plane, where the paper lays its frame into the slope and ignores "
        "it: its improved two-dimensional model. Crab drives are left out, whose slip acts along the direction of "
        "travel and not along the body's axes.",
    ]


def draw(fit: BatchResult, before: FloatArray, after: FloatArray, path: str | os.PathLike[str]) -> None:
    """Parameters over iterations, and the errors at the ends of the drives with and without slip."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.0, 4.8), layout="constrained")
    history, ends = figure.subplots(1, 2)
    for k, name in enumerate(NAMES):
        history.plot(-fit.history[:, k], "o-", ms=3, color=COLOURS[k], label=name)
        history.axhline(ETNA[k], color=COLOURS[k], ls=":", lw=1.0)
    history.set(xlabel="iteration", ylabel="parameter", title="batch estimate; dotted: L (5.35)")
    history.legend(frameon=False, ncols=2)
    drives = np.arange(1, len(before) + 1)
    ends.bar(drives - 0.2, np.hypot(before[:, 0], before[:, 1]), 0.4, color=COLOURS[1], label="without slip")
    ends.bar(drives + 0.2, np.hypot(after[:, 0], after[:, 1]), 0.4, color=COLOURS[0], label="with slip")
    ends.set(xlabel="drive", ylabel="position error at the end [m]", yscale="log", title="17 drives")
    ends.legend(frameon=False)
    for ax in (history, ends):
        ax.grid(alpha=0.3)
    figure.suptitle("LRU on a flank of 5 to 9°: slip from the ends of 17 drives (L §5.3.4)")
    figure.savefig(path, dpi=150)
