"""The LandTamer of T §2.5.2 and 2.5.3: tyres, proportional wheel control, and a centre of mass that can be raised."""

from __future__ import annotations

import dataclasses

from grouser.actuation import PI
from grouser.contact import Pacejka
from grouser.dynamics import Dynamics
from grouser.vehicles import vehicle

GAIN = 2000.0  # N m/(rad/s)


def landtamer(*, friction: float = 1.0, com_height: float | None = None) -> Dynamics:
    """The model. friction: μ. com_height: of the body's centre of mass over the axles [m]; None is as shipped."""
    car = vehicle("landtamer")
    if com_height is not None:
        body, *wheels = car.frames
        car = dataclasses.replace(car, frames=(dataclasses.replace(body, com=(0.0, 0.0, com_height)), *wheels))
    return Dynamics(car, contact=Pacejka(friction=friction), actuator=PI(gain=GAIN))
