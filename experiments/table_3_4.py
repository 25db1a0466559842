"""T Tables 3.4, 3.5 and 3.6: the LandTamer on three surfaces, by differential drive, kinematics and dynamics."""

from __future__ import annotations

from dataclasses import replace

from experiments.calibration_drives import Driver
from experiments.experiment import Experiment, Progress, Result, Row
from experiments.landtamer import GAIN
from experiments.surface_table import Trial, paper_rows, run_trial
from grouser.actuation import PI
from grouser.vehicles import Vehicle, vehicle

LOWERED, WORN = 0.015, 0.985  # m, -
COM = (0.08, 0.04)  # m
PAPER: list[Row] = paper_rows(
    {
        "asphalt": {
            (10.0, "diff. drive"): (3.9819, 1.0411),
            (10.0, "diff. drive+ online"): (0.5208, 0.0725),
            (10.0, "diff. drive+"): (0.3523, 0.0257),
            (10.0, "kin."): (1.7460, 0.4112),
            (10.0, "kin.+ online"): (0.2882, 0.0528),
            (10.0, "kin.+"): (0.1564, 0.0131),
            (10.0, "dyn."): (0.1129, 0.0241),
            (20.0, "kin."): (4.9431, 0.7564),
            (20.0, "kin.+"): (0.2135, 0.0184),
            (20.0, "dyn."): (0.3085, 0.0351),
        },
        "dirt": {
            (10.0, "diff. drive"): (4.8502, 1.3279),
            (10.0, "diff. drive+ online"): (1.0925, 0.1337),
            (10.0, "diff. drive+"): (0.8212, 0.1044),
            (10.0, "kin."): (1.3957, 0.2558),
            (10.0, "kin.+ online"): (0.6711, 0.1409),
            (10.0, "kin.+"): (0.5044, 0.1016),
            (10.0, "dyn."): (0.5194, 0.0941),
            (20.0, "kin."): (3.9198, 0.3503),
            (20.0, "kin.+"): (1.3814, 0.2095),
            (20.0, "dyn."): (1.3492, 0.1682),
        },
        "grass": {
            (10.0, "diff. drive"): (4.6703, 1.0515),
            (10.0, "diff. drive+ online"): (0.9565, 0.1366),
            (10.0, "diff. drive+"): (0.8719, 0.1096),
            (10.0, "kin."): (1.2229, 0.2148),
            (10.0, "kin.+ online"): (0.8295, 0.1388),
            (10.0, "kin.+"): (0.5956, 0.1071),
            (10.0, "dyn."): (0.4513, 0.0760),
            (20.0, "kin."): (3.5977, 0.3443),
            (20.0, "kin.+"): (1.5539, 0.1721),
            (20.0, "dyn."): (1.0220, 0.1257),
        },
    }
)


def real_landtamer() -> Vehicle:
    """Middle wheels lower, as amphibious six-wheelers have them; worn tyres on the left; a load off the middle."""
    car = vehicle("landtamer")
    body, *wheels = car.frames
    frames = [replace(body, com=(*COM, body.com[2]))]
    for wheel in wheels:
        x, y, z = wheel.xyz
        low = LOWERED if wheel.name in ("ML", "MR") else 0.0
        radius = (wheel.radius or 0.0) * (WORN if y > 0.0 else 1.0)
        frames.append(replace(wheel, xyz=(x, y, z - low), radius=radius))
    return replace(car, frames=tuple(frames))


TRIAL = Trial(
    real=real_landtamer(),
    believed=vehicle("landtamer"),
    actuator=PI(gain=GAIN),
    driver=Driver(slowest=0.6, fastest=2.9, turn=1.5, sideways=4.0, home=70.0),
    usual_speed=2.0,
    planar=True,
    differences=(
        f"its middle wheels stand {1000 * LOWERED:g} mm lower than in the models, its left tyres are "
        f"{100 * (1 - WORN):.1f} % smaller and its centre of mass is ({COM[0]:g}, {COM[1]:g}) m off"
    ),
)


def run_table(quick: bool, progress: Progress) -> Result:
    """Three surfaces, or two in the quick version."""
    title = "LandTamer, mean errors of predictions (T Tables 3.4 to 3.6)"
    return run_trial(TRIAL, TABLE_3_4.name, title, PAPER, quick, progress)


TABLE_3_4 = Experiment(
    name="table-3.4",
    description="LandTamer on three surfaces: differential drive, kinematics, dynamics (also Tables 3.5, 3.6)",
    body=run_table,
)
