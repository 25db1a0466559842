"""T Tables 3.7 and 3.8: the RecBot on three surfaces, by kinematics and dynamics."""

from __future__ import annotations

from dataclasses import replace

from experiments.calibration_drives import Driver
from experiments.experiment import Experiment, Progress, Result, Row
from experiments.surface_table import Trial, paper_rows, run_trial
from grouser.actuation import PI
from grouser.vehicles import Vehicle, vehicle

GAIN, STEERING_GAIN = 250.0, 3000.0  # N m/(rad/s)
OFFSET = 0.05  # rad
WORN, ASIDE = 0.985, 0.05  # -, m
PAPER: list[Row] = paper_rows(
    {
        "asphalt": {
            (10.0, "kin."): (1.5985, 0.1953),
            (10.0, "kin.+ online"): (0.2723, 0.0468),
            (10.0, "kin.+"): (0.2096, 0.0372),
            (10.0, "dyn."): (0.2818, 0.0564),
            (20.0, "kin."): (3.8325, 0.3657),
            (20.0, "kin.+"): (0.4762, 0.0577),
            (20.0, "dyn."): (0.7686, 0.0919),
        },
        "dirt": {
            (10.0, "kin."): (1.9500, 0.3884),
            (10.0, "kin.+ online"): (0.4945, 0.0981),
            (10.0, "kin.+"): (0.3742, 0.0760),
            (10.0, "dyn."): (0.6325, 0.1387),
            (20.0, "kin."): (5.5051, 0.7079),
            (20.0, "kin.+"): (1.0067, 0.1096),
            (20.0, "dyn."): (1.7544, 0.1949),
        },
        "grass": {
            (10.0, "kin."): (1.3843, 0.1953),
            (10.0, "kin.+ online"): (0.4119, 0.0853),
            (10.0, "kin.+"): (0.3364, 0.0622),
            (10.0, "dyn."): (0.4947, 0.0944),
            (20.0, "kin."): (3.3847, 0.3805),
            (20.0, "kin.+"): (0.8972, 0.1006),
            (20.0, "dyn."): (1.1547, 0.1577),
        },
    }
)


def real_recbot() -> Vehicle:
    """Sprung in front, with worn tyres on the left and a load off the middle."""
    car = vehicle("recbot")
    left = ("FL", "BL")
    body, *others = car.frames
    x, _, z = body.com
    frames = [replace(body, com=(x, ASIDE, z))]
    for frame in others:
        worn = replace(frame, radius=frame.radius * WORN) if frame.radius is not None and frame.name in left else frame
        frames.append(worn)
    return replace(car, frames=tuple(frames))


TRIAL = Trial(
    real=real_recbot(),
    believed=vehicle("recbot_rigid"),
    actuator=PI(gain={"steerL": STEERING_GAIN, "steerR": STEERING_GAIN, "BL": GAIN, "BR": GAIN}),
    driver=Driver(slowest=1.5, fastest=5.0, turn=0.9, sideways=3.0, turning=0.8, home=80.0),
    usual_speed=3.5,
    offsets={"steerL": OFFSET, "steerR": OFFSET},
    hidden=("suspL", "suspR"),
    planar=False,
    differences=(
        f"its front wheels are sprung, its steering encoders {OFFSET:g} rad off, its left tyres "
        f"{100 * (1 - WORN):.1f} % smaller than in the models and its centre of mass {ASIDE:g} m aside"
    ),
)


def run_table(quick: bool, progress: Progress) -> Result:
    """Three surfaces, or two in the quick version."""
    title = "RecBot, mean errors of predictions (T Tables 3.7 and 3.8)"
    return run_trial(TRIAL, TABLE_3_7.name, title, PAPER, quick, progress)


TABLE_3_7 = Experiment(
    name="table-3.7",
    description="RecBot on three surfaces: kinematics and dynamics, calibrated (also Table 3.8)",
    body=run_table,
)
