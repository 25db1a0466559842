"""Settings that the sliders of the page change (friction, soil, payload, largest speed), and the model for them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from grouser import checks
from grouser.contact import Contact, Ishigami, library
from grouser.contact.named import CONTACTS, contact_named, stuck
from grouser.errors import SimulationError
from grouser.vehicles import Vehicle

if TYPE_CHECKING:
    from grouser.dynamics import Dynamics
    from grouser.kinematics import Kinematics

OWN = "own"
"""No soil: the contact model the drive began with."""
FRICTION = (0.02, 1.5)
"""Range of the coefficient of friction."""
FASTEST = 5.0
"""Largest speed that can be set [m/s]."""
SLOWEST = 0.05
"""Smallest largest speed that can be set [m/s]."""
MOST_PAYLOAD = 2.0
"""Largest payload, over the mass of the vehicle."""


@dataclass(frozen=True)
class Settings:
    """Settings of the driver."""

    speed: float = 1.0
    """Largest speed [m/s]."""
    friction: float | None = None
    """Coefficient of friction; None: that of the contact model."""
    soil: str = OWN
    """`OWN`, or a contact model by name."""
    payload: float = 0.0
    """Mass on the body, spread as the body's own [kg]."""


@dataclass(frozen=True)
class Garage:
    """Makes the model of some settings from the one the drive began with."""

    model: Kinematics | Dynamics
    """The model the drive began with."""
    _made: dict[tuple[str, float | None], Any] = dataclasses.field(default_factory=dict, repr=False)
    """Contact models by soil and friction: the table of a soil takes a second."""

    @property
    def soils(self) -> tuple[str, ...]:
        """Soils to choose from; a kinematic model has only its own."""
        if not self.model.dynamic:
            return (OWN,)
        wide = all(f.width for f in self.model.vehicle.frames if f.is_wheel)
        loose = {name for name in library.names() if isinstance(library.entry(name).model, Ishigami)} | {CONTACTS[-1]}
        return (OWN, *(name for name in (*CONTACTS, *library.names()) if wide or name not in loose))

    @property
    def most_payload(self) -> float:
        """Largest payload [kg]; 0 for a kinematic model and for a body without mass."""
        vehicle = self.model.vehicle
        if not self.model.dynamic or vehicle.frames[0].mass == 0.0:
            return 0.0
        return float(f"{MOST_PAYLOAD * vehicle.mass:.2g}")

    def friction_of(self, settings: Settings) -> float | None:
        """The coefficient of friction under some settings; None where the contact model has none."""
        if not self.model.dynamic:
            return None
        contact = self._contact(settings)
        several = contact.values() if isinstance(contact, Mapping) else [contact]
        found = {getattr(one, "friction", None) for one in several}
        return found.pop() if len(found) == 1 else None

    def changed(self, settings: Settings, wanted: Mapping[str, Any]) -> Settings:
        """Settings with some changed; impossible ones are refused."""
        for name in wanted:
            if name not in {field.name for field in dataclasses.fields(Settings)}:
                raise SimulationError(f"no setting {name!r:.40}; settings are speed, friction, soil, payload")
        new = dataclasses.replace(settings, **wanted)
        if new.soil != settings.soil and "friction" not in wanted:
            new = dataclasses.replace(new, friction=None)  # each soil begins with its own
        if new.soil not in self.soils:
            raise SimulationError(f"soil: {new.soil!r:.40} is not one of {', '.join(self.soils)}")
        check_speed(new.speed, "speed")
        checks.number(new.payload, "payload", low=0.0, high=self.most_payload, unit="kg")
        if new.friction is not None:
            checks.number(new.friction, "friction", low=FRICTION[0], high=FRICTION[1], unit="[1]")
            if self.friction_of(dataclasses.replace(new, friction=None)) is None:
                model = "the contact model" if new.soil == OWN else new.soil
                model = model if self.model.dynamic else "a kinematic model"
                raise SimulationError(f"friction: {model} has no coefficient of friction")
        return new

    def built(self, settings: Settings) -> Kinematics | Dynamics:
        """The model of some settings."""
        if not self.model.dynamic:
            return self.model
        vehicle = loaded(self.model.vehicle, settings.payload)
        return self.model.replace(vehicle=vehicle, contact=self._contact(settings))

    def doubt(self, settings: Settings) -> str:
        """Why the model is not valid under some settings; empty if it is."""
        soil = library.entry(settings.soil).model if settings.soil in library.names() else None
        if not self.model.dynamic or not isinstance(soil, Ishigami):
            return ""
        why = stuck(soil, loaded(self.model.vehicle, settings.payload))
        return why and f"in {settings.soil} {why}"

    def _contact(self, settings: Settings) -> Contact | Mapping[str, Contact]:
        key = settings.soil, settings.friction
        if key not in self._made:
            model: Any = self.model
            contact = model.contact if settings.soil == OWN else contact_named(settings.soil, model.vehicle)
            if settings.friction is not None:
                if isinstance(contact, Mapping):
                    contact = {name: one.replace(friction=settings.friction) for name, one in contact.items()}
                else:
                    contact = contact.replace(friction=settings.friction)
            self._made[key] = contact
        return self._made[key]  # type: ignore[no-any-return]


def check_speed(speed: float, name: str) -> None:
    """Refuse a largest speed [m/s] that cannot be set."""
    checks.number(speed, name, low=SLOWEST, high=FASTEST, unit="m/s")


def loaded(vehicle: Vehicle, payload: float) -> Vehicle:
    """The vehicle with more mass on its body [kg], spread as the body's own."""
    body = vehicle.frames[0]
    if payload == 0.0:
        return vehicle
    share = (body.mass + payload) / body.mass
    return vehicle.replace_frame(
        body.name, mass=body.mass + payload, inertia=(share * np.asarray(body.inertia_matrix)).tolist()
    )
