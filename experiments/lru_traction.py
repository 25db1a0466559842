"""L §6.3: the LRU drives an ellipse on a soft flank, up, round, down and back, with and without traction control."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.experiment import Experiment, Progress, Result, Row
from experiments.lru_running_gear import GEARS, MOST_TWIST, ROTOR, SPRING, plant
from experiments.wedged_soil import WedgedSoil
from grouser import rotation, terrain
from grouser.calibration.calibrate import calibrate
from grouser.calibration.simulated import log_of_run
from grouser.checks import FloatArray
from grouser.contact import Contact, Ishigami, PiecewiseLinear
from grouser.dynamics import Dynamics
from grouser.errors import SimulationError
from grouser.kinematics import Kinematics
from grouser.motion.velocity import Inputs, twists
from grouser.odometry.slip_ratio import body_slip
from grouser.simulation import Run, drive, simulate
from grouser.slip import BodySlip
from grouser.terrain import Terrain
from grouser.traction.control import TractionControl
from grouser.traction.loop import PLANAR, ClosedLoop, LoopRecord, Sensors, drive_loop
from grouser.traction.path import Path, PurePursuit, ellipse
from grouser.vehicles import Vehicle, vehicle

SOILS: dict[str, Contact] = {
    # T Table C.2, Ishigami's lunar simulant.
    "simulant": Ishigami(),
    # Dry sand of the Land Locomotion Laboratory (Wong, Theory of Ground Vehicles, Table 2.3); shear moduli of C.2 (a).
    "dry sand": Ishigami(cohesion=1040.0, friction_angle=math.radians(28.0), k_c=990.0, k_phi=1.52843e6, n=1.1),
    # The simulant, whose friction angle of 37° falls to 30°, about that of loose sand, as slip grows faster (a).
    "wedged gravel": WedgedSoil(soil=Ishigami(), residual=0.75, speed=0.1),
    # Firm ground on which a wheel sticks, and slips once it has let go (a). From 0.4 to 0.2, tried first, the rover let
    # go on the climb and stayed there with spinning wheels.
    "firm gravel": PiecewiseLinear(friction=0.6, cone=True, dynamic_share=0.6, stribeck=0.05, static_penetration=0.005),
}
QUICK_SOILS = ("wedged gravel",)
SLOPE_LOW, SLOPE_HIGH = 5.0, 9.0  # [°] at the lower and the upper turn: the range of L's calibration drives
ROUGH_RMS, ROUGH_LENGTH = 0.02, 0.3  # [m] (a)
SPEED = 0.6  # [m/s] desired; the wheels reach 0.625 m/s at 5 rad/s
SEEDS, RATE, DT = 6, 50.0, 0.005
AXES, QUICK_AXES = (10.0, 3.5), (5.0, 2.2)  # [m] semi-axes of the ellipse, along and across the slope
MARGIN = 2.0
"""Ground around the ellipse [m]."""
PATIENCE = 1.6
"""How many times as long as without slip a drive may take."""
UPHILL = math.cos(math.radians(45.0))
"""The climb is where the path heads within 45° of straight up."""
MOVING = 0.1
"""Wheel speed [m/s] above which slip is measured."""
IMU_PERIOD = 0.01
"""Vertical acceleration is the mean over this time [s], as of an IMU at 100 Hz; nothing else is filtered."""
CALIBRATION: tuple[tuple[float, float, float], ...] = (
    # slope [°], heading [°] from straight up, curvature [1/m]
    (5.0, 0.0, 0.0),
    (9.0, 0.0, 0.0),
    (7.0, 180.0, 0.0),
    (9.0, 180.0, 0.0),
    (7.0, 90.0, 0.0),
    (7.0, -90.0, 0.0),
    (7.0, 0.0, 0.5),
    (7.0, 180.0, -0.5),
    (0.0, 0.0, 0.6),
    (0.0, 0.0, -0.6),
)
LOWER = ("slip_mean", "slip_peak", "az_peak", "az_rms", "energy_per_m")
"""What control should lower."""


@dataclass(frozen=True)
class Drive:
    """One drive round the ellipse, up to the end of the path."""

    run: Run
    """Of the plant."""
    record: LoopRecord
    """Of the loop."""
    time: FloatArray
    """[s], (n,)."""
    slip: FloatArray
    """True |s| of L (6.4), from noiseless wheel odometry, (n,)."""
    climbing: FloatArray
    """1 where it climbs and moves, else 0, (n,)."""
    vertical: FloatArray
    """Vertical acceleration of the body frame [m/s²], (n,)."""
    values: dict[str, float]
    """In numbers."""


def run_traction(quick: bool, progress: Progress) -> Result:
    """Every soil and running gear, several grounds, both ways; quick has one soil, one ground and a smaller ellipse."""
    rover = vehicle("lru1")
    path = ellipse(*(QUICK_AXES if quick else AXES))
    names = QUICK_SOILS if quick else tuple(SOILS)
    seeds = range(1, 2 if quick else SEEDS + 1)
    rows: list[Row] = []
    fits: dict[str, list[float]] = {}
    shown: dict[str, tuple[Drive, Drive]] = {}
    done = 0
    for name in names:
        slip = calibrate_slip(rover, SOILS[name])
        fits[name] = [float(p) for p in slip.coefficients]
        odometry, control = Kinematics(rover, slip=slip), TractionControl(turn_slip=fits[name][5])
        for gear in GEARS:
            model = plant(rover, gear, SOILS[name])
            pairs = []
            for seed in seeds:
                ground = flank(path, seed)
                off, on = (drive_path(model, odometry, ground, path, c, seed) for c in (None, control))
                pairs.append((off, on))
                done += 1
                progress(done, len(names) * len(GEARS) * len(seeds))
            shown[f"{name}, {gear}"] = pairs[0]
            rows += _rows(name, gear, pairs)
    return Result(
        name=LRU_TRACTION.name,
        rows=rows,
        paper=[],
        notes=_notes(rows, len(seeds)),
        settings=_settings(path, names, len(seeds), fits, quick),
        keys=("soil", "gear", "control"),
        draw=lambda result, file: _draw(shown, path, file),
    )


LRU_TRACTION = Experiment(
    name="lru-traction",
    description="LRU on a soft flank of 5 to 9°: the same ellipse with and without traction control",
    body=run_traction,
)


def flank(path: Path, seed: int) -> Terrain:
    """A rough flank under a path around the origin; it rises along x, ever more steeply."""
    a, b = np.abs(path.points).max(axis=0)
    sides = (2.0 * (a + MARGIN), 2.0 * (b + MARGIN))
    rough = terrain.rough(ROUGH_RMS, ROUGH_LENGTH, seed, size=sides, spacing=ROUGH_LENGTH / 6.0)
    x, y = (np.asarray(rough.settings[k], dtype=np.float64) for k in ("x", "y"))
    low, high = np.tan(np.radians([SLOPE_LOW, SLOPE_HIGH]))
    rise = 0.5 * (low + high) * x + 0.25 * (high - low) / a * x**2
    return terrain.grid(rough.settings["heights"] + rise[:, None], x, y, interpolation="bicubic")


def calibrate_slip(rover: Vehicle, soil: Contact) -> BodySlip:
    """The six parameters of body slip in a soil, from ten drives on even slopes."""
    model = Dynamics(rover, contact=soil)
    runs = []
    for slope, heading, curvature in CALIBRATION:
        ground = terrain.slope(slope) if slope else terrain.plane()
        start = (0.0, 0.0, math.radians(heading))
        runs.append(simulate(model, ground, drive.arc(0.5, curvature), duration=8.0, dt=0.01, start=start))
    log = log_of_run(runs, pose_rate=1.0, name="calibration drives")
    fit = calibrate(Kinematics(rover, slip=BodySlip(np.zeros(6))), log, ["slip"], interval=2.0)
    slip = fit.model.model.slip  # type: ignore[union-attr]
    assert isinstance(slip, BodySlip)
    return slip


def drive_path(
    model: Dynamics, odometry: Kinematics, ground: Terrain, path: Path, control: TractionControl | None, seed: int
) -> Drive:
    """Once round the path; refused if the rover does not get round. odometry: what the rover knows of itself."""
    loop = ClosedLoop(
        PurePursuit(path, speed=SPEED),
        odometry,
        control=control,
        sensors=Sensors(seed=seed),
        rate=RATE,
    )
    (x, y), towards = path.points[0], path.points[1] - path.points[0]
    heading = math.atan2(towards[1], towards[0])
    seconds = float(math.ceil(PATIENCE * path.length / SPEED))
    run = drive_loop(model, ground, loop, start=(float(x), float(y), heading), duration=seconds, dt=DT)
    if not loop.planner.finished:
        raise SimulationError(
            f"lru-traction: on {model.contact!r:.60}, ground {seed}, the rover got {loop.planner.along:.1f} m of "
            f"{path.length:.1f} m in {seconds:g} s and ended {run.status}"
        )
    return measure(odometry.vehicle, run, loop.record, path)


def measure(rover: Vehicle, run: Run, record: LoopRecord, path: Path) -> Drive:
    """Slip on the climb, vertical acceleration, energy, time and deviation of a drive up to the end of its path.

    rover: as its odometry takes it, rigid; encoders are on the motors.

    Energy is what the motors put in: the soil's torque about the axles is in `run.power`.
    """
    end = int(np.argmax(record.along >= path.length - 1e-6))
    n = round(float(record.time[end]) / run.dt)
    encoders = [run.vehicle.joint_index(run.vehicle.motors.get(joint, joint)) for joint in rover.joints]
    rates, angles = run.velocity[:n, 6:][:, encoders], run.joints[:n, encoders]
    inputs = Inputs(time=run.time[:n], attitude=run.rpy[:n, :2], rates=rates, angles=angles)
    wheels = twists(Kinematics(rover), inputs)[:, PLANAR]
    body = run.velocity[:n][:, PLANAR]
    slip = body_slip((body - wheels)[:, :2], wheels[:, :2])
    along = np.interp(run.time[:n], record.time, record.along)
    up = np.interp(along, path.along, np.gradient(path.points[:, 0], path.along))
    climbing = ((up > UPHILL) & (np.hypot(wheels[:, 0], wheels[:, 1]) > MOVING)).astype(np.float64)
    driven = run.dt * np.linalg.norm(run.velocity[:n, 3:6], axis=1)
    vertical = vertical_acceleration(run)[:n]
    assert run.power is not None
    energy = run.dt * float(np.maximum(run.power[:n], 0.0).sum())
    weight = climbing * driven
    return Drive(
        run=run,
        record=record,
        time=run.time[:n],
        slip=slip,
        climbing=climbing,
        vertical=vertical,
        values={
            "slip_mean": float(weight @ slip / weight.sum()),
            "slip_peak": float((climbing * slip).max()),
            "az_peak": float(np.abs(vertical).max()),
            "az_rms": float(np.sqrt(np.mean(vertical**2))),
            "energy_per_m": energy / float(driven.sum()),
            "seconds": float(record.time[end]),
            "off_rms": float(np.sqrt(np.mean(record.off[: end + 1] ** 2))),
            "off_most": float(np.abs(record.off[: end + 1]).max()),
        },
    )


def vertical_acceleration(run: Run) -> FloatArray:
    """Of the body frame along world z [m/s²], mean over the period of an IMU, shape (T,)."""
    R_world_body = rotation.from_quaternion(run.quaternion)
    v_up = np.einsum("ni,ni->n", R_world_body[:, 2], run.velocity[:, 3:6])
    k = max(round(IMU_PERIOD / run.dt), 1)
    rise = (v_up[k:] - v_up[:-k]) / (k * run.dt)
    result: FloatArray = np.concatenate([rise, np.zeros(len(v_up) - len(rise))])
    return result


def _rows(soil: str, gear: str, pairs: list[tuple[Drive, Drive]]) -> list[Row]:
    """Means over the grounds without and with control, and on how many control lowered what it should."""
    rows: list[Row] = []
    for k, control in enumerate(("off", "on")):
        names = pairs[0][k].values
        rows.append(
            {"soil": soil, "gear": gear, "control": control}
            | {name: float(np.mean([pair[k].values[name] for pair in pairs])) for name in names}
            | {f"lower_{name}": None for name in LOWER}
        )
    for name in LOWER:
        rows[1][f"lower_{name}"] = sum(on.values[name] < off.values[name] for off, on in pairs)
    return rows


def _change(rows: list[Row], soil: str, gear: str, name: str) -> float:
    """By how many percent control changed a mean."""
    same = [row for row in rows if (row["soil"], row["gear"]) == (soil, gear)]
    off, on = (next(row for row in same if row["control"] == c) for c in ("off", "on"))
    return 100.0 * float(on[name] / off[name] - 1.0)


def _notes(rows: list[Row], grounds: int) -> list[str]:
    soils = dict.fromkeys(row["soil"] for row in rows)

    def changes(gear: str, name: str) -> str:
        return ", ".join(f"{_change(rows, soil, gear, name):+.1f} % ({soil})" for soil in soils)

    def compared(gear: str) -> str:
        return (
            f"With control and {gear} running gear: mean slip {changes(gear, 'slip_mean')}; peak acceleration "
            f"{changes(gear, 'az_peak')}; energy per metre {changes(gear, 'energy_per_m')}; time "
            f"{changes(gear, 'seconds')}: the drive takes longer."
        )

    return [
        f"Means over grounds (here {grounds}); lower_… is on how many of them control lowered a value. Slip is the "
        "true |s| of (6.4) on the climb, its mean over distance; az is the vertical acceleration of the body; energy "
        "is what the motors put in, none is taken back.",
        "Energy per metre has the soil's work in it: motors turn their wheels against the torque of the stresses along "
        "the rim.",
        *(compared(gear) for gear in GEARS),
        "In the paper slip falls notably on the climb and peak acceleration by more than half, in one drive each way "
        "and without ground truth; it prints no other numbers.",
        "In soil whose strength does not depend on speed the slope asks for the same slip at any speed, so that going "
        "slower hardly lowers it. The paper explains its finding by gravel that holds while slip is slow and lets go "
        "where it is fast; wedged gravel is the simulant with that property. How much and how fast are assumptions of "
        "ours, made before it was run.",
        "The simulant was chosen first; the other soils were added after it had been run, and all are shown. Firm "
        "gravel has the static and dynamic friction of the textbook's stick-slip.",
        "Elastic running gear: wheels wind up against their motors and twist about their steering axes, 2°/N m as L "
        "measured for steering. Bogies and suspension do not bend along the drive, and the point contact has no moment "
        "about the steering axis, so that steering on the spot winds nothing up.",
        "The fusion filter is the true velocity with noise, and the planner sees the true pose.",
    ]


def _settings(path: Path, soils: tuple[str, ...], grounds: int, fits: dict[str, list[float]], quick: bool) -> Row:
    noise = Sensors()
    return {
        "vehicle": "lru1",
        "plant": "dynamics, midpoint, PI motors of 20 N m/(rad/s) and 100 N m/rad",
        "elastic": {"spring": SPRING[0], "damping": SPRING[1], "twist": MOST_TWIST, "rotor_inertia": ROTOR},
        "soils": {name: repr(SOILS[name]) for name in soils},
        "slip_parameters": fits,
        "path": {"ellipse": np.abs(path.points).max(axis=0).tolist(), "length": path.length},
        "slope_deg": [SLOPE_LOW, SLOPE_HIGH],
        "roughness": {"rms": ROUGH_RMS, "length": ROUGH_LENGTH, "seeds": list(range(1, grounds + 1))},
        "speed": SPEED,
        "control": _plain(TractionControl()),
        "sensors": _plain(noise),
        "control_rate": RATE,
        "dt": DT,
        "quick": quick,
    }


def _plain(settings: Any) -> Row:
    return {name: str(value) if isinstance(value, str) else value for name, value in vars(settings).items()}


def _draw(shown: dict[str, tuple[Drive, Drive]], path: Path, file: str | os.PathLike[str]) -> None:
    from experiments.lru_traction_plot import draw

    draw(shown, path, file)
