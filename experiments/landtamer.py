"""The LandTamer of T §2.5.2 and 2.5.3: tyres, proportional wheel control, and a centre of mass that can be raised."""

from __future__ import annotations

import dataclasses
import math

from grouser.actuation import PI
from grouser.contact import Pacejka
from grouser.dynamics import Dynamics
from grouser.vehicles import vehicle

GAIN = 2000.0  # N m/(rad/s)


def landtamer(*, friction: float = 1.0, com_height: float | None = None, damping_time: float | None = None) -> Dynamics:
    """The model. friction: μ. com_height: of the body's centre of mass over the axles [m]; None is as shipped.

    damping_time: K_d/K_p of the tyres [s]; None is the 0.05 that contact models assume.
    """
    car = vehicle("landtamer")
    if com_height is not None:
        body, *wheels = car.frames
        car = dataclasses.replace(car, frames=(dataclasses.replace(body, com=(0.0, 0.0, com_height)), *wheels))
    # A run continues when it rolls over.
    model = Dynamics(car, contact=Pacejka(friction=friction), actuator=PI(gain=GAIN), tip_angle=math.pi)
    if damping_time is None:
        return model
    stiffness = model.wheel_load / 0.02
    return model.replace(contact=Pacejka(friction=friction, stiffness=stiffness, damping=damping_time * stiffness))
