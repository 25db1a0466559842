"""Contact models by name, made for a vehicle's wheels."""

from __future__ import annotations

from typing import Any

from grouser.contact.base import Contact
from grouser.contact.ishigami import Ishigami
from grouser.contact.pacejka import Pacejka
from grouser.contact.piecewise import PiecewiseLinear
from grouser.contact.table import Table
from grouser.errors import SimulationError
from grouser.vehicles import Vehicle

CONTACTS = ("piecewise-linear", "pacejka", "terramechanics")
"""Names of `contact_named`."""


def contact_named(
    name: str, vehicle: Vehicle, *, friction: float | None = None, speed: float = 1.0
) -> Contact | dict[str, Contact]:
    """A contact model with its defaults; terramechanics is a table for each size of wheel, made at a speed [m/s].

    friction: μ of the two models that have one; None is theirs.
    """
    if name not in CONTACTS:
        raise SimulationError(f"contact: {name!r:.40} is not one of {', '.join(CONTACTS)}")
    if name == "terramechanics":
        if friction is not None:
            raise SimulationError("friction: terramechanics has none; its soil holds by cohesion and friction angle")
        return _soil_tables(vehicle, speed)
    given: dict[str, Any] = {} if friction is None else {"friction": friction}
    return PiecewiseLinear(**given) if name == "piecewise-linear" else Pacejka(**given)


def _soil_tables(vehicle: Vehicle, speed: float) -> dict[str, Contact]:
    made: dict[tuple[float | None, float | None], Table] = {}
    contacts: dict[str, Contact] = {}
    for frame in (f for f in vehicle.frames if f.is_wheel):
        size = (frame.radius, frame.width)
        if size not in made:
            if frame.radius is None or frame.width is None:
                raise SimulationError(f"wheel '{frame.name}' has no width, which terramechanics needs; give it one [m]")
            made[size] = Table(Ishigami(), radius=frame.radius, width=frame.width, speed=speed)
        contacts[frame.name] = made[size]
    return contacts
