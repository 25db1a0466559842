"""Contact laws by soil: those of a ground, bound for the wheels of a dynamic model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from grouser import checks
from grouser._kernels.dynamics.scratch import DynamicModel
from grouser.contact import Contact
from grouser.dynamics.loads import wheel_loads
from grouser.errors import SimulationError
from grouser.law import BoundLaw, Recipe
from grouser.once import once_each
from grouser.terrain import Soil, Soils
from grouser.vehicles import Vehicle

Contacts = Contact | Mapping[str, Contact]


@once_each
def soil_contacts(soils: Soils) -> tuple[Contacts | None, ...]:
    """The contact model of each soil, those out of files made; None: the model's own."""
    return tuple(_contact(soil.contact, soil) for soil in soils.soils)


def _contact(given: Any, soil: Soil) -> Contacts | None:
    if given is None:
        return None
    if isinstance(given, Mapping):
        return {name: _one(law, soil) for name, law in given.items()}
    return _one(given, soil)


def _one(given: Any, soil: Soil) -> Contact:
    if isinstance(given, Recipe):
        from grouser.contact.library import contact_of

        given = contact_of(given)
    law: Contact = checks.instance(given, Contact, f"soil '{soil.name}'", "use grouser.contact.Pacejka() or another")
    return law


def on_soils(model: DynamicModel, vehicle: Vehicle, soils: Soils) -> DynamicModel:
    """The model as the engine takes it, with laws of soils after its own; contacts that are no wheels keep theirs."""
    models = soil_contacts(soils)
    if all(one is None for one in models):
        return model
    contact = np.repeat(model.contact[:, :1], 1 + len(models), axis=1)
    couple = model.couple.copy()
    bound: dict[tuple[int, str], BoundLaw] = {}
    for k, link in enumerate(model.link.tolist()):
        frame = vehicle.frames[link]
        if not frame.is_wheel:
            continue
        for i, given in enumerate(models):
            if given is None:
                continue
            law = _of_wheel(given, frame.name, soils.soils[i])
            key = i, frame.name
            if key not in bound:
                bound[key] = law.bind(frame.radius, frame.contact_width, wheel_loads(vehicle)[frame.name])
            contact[k, 1 + i] = bound[key].pair
            # A law without a couple gives zero for it, so one that has a couple decides for all soils.
            couple[k] = max(couple[k], (frame.radius or 0.0) * law.axle_couple * (frame.slides is None))
    made: DynamicModel = model.replace(contact=contact, couple=couple)
    made.keep = bound
    return made


def _of_wheel(given: Contacts, wheel: str, soil: Soil) -> Contact:
    if not isinstance(given, Mapping):
        return given
    if wheel not in given:
        raise SimulationError(
            f"soil '{soil.name}': gives no contact model for wheel '{wheel}', only for {', '.join(given)}"
        )
    return given[wheel]
