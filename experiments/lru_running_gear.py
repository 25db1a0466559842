"""The LRU with rigid running gear, and with wheels on springs as L §4.4.3 measured them for steering."""

from __future__ import annotations

import math

from grouser.actuation import PI
from grouser.contact import Contact
from grouser.dynamics import Dynamics
from grouser.joints import Stops
from grouser.vehicles import Vehicle

GEARS = ("rigid", "elastic")
SPRING = (1.0 / math.radians(2.0), 0.05)
"""2°/N m of L §4.4.3 about the steering axis, taken for winding up about the axle too (a), and damping [N m s/rad], a
twentieth of critical for a wheel that turns freely on its spring (a)."""
MOST_TWIST = math.radians(5.0)
"""Deflection beyond which a wheel gives no more about the steering axis, L §4.4.3 [rad]."""
ROTOR = 0.02
"""Inertia of an elastic wheel's motor behind its gear [kg m²] (a)."""


def plant(rover: Vehicle, gear: str, soil: Contact) -> Dynamics:
    """The rover as it drives. Motors are of a stiff rate control; those of steering and driving both take energy."""
    if gear == "rigid":
        return Dynamics(rover, contact=soil, actuator=PI(gain=20.0, integral=100.0), integrator="midpoint")
    stops = tuple(
        Stops(joints=f"{s.joint}_twist", lower=-MOST_TWIST, upper=MOST_TWIST, stiffness=10.0 * SPRING[0], damping=0.5)
        for s in rover.steering
    )
    return Dynamics(
        rover.elastic(drive=SPRING, steering=SPRING),
        contact=soil,
        actuator=PI(gain=20.0, integral=100.0, rotor_inertia=ROTOR),
        joints=stops,
        integrator="midpoint",
    )
