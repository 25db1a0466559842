"""The contacts of a dynamic model as the engine takes them: what moves each, its load at rest, its laws by soil."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grouser import checks
from grouser._kernels.constants import GRAVITY
from grouser._kernels.dynamics.scratch import DynamicModel
from grouser._kernels.vehicles.arrays import VehicleArrays
from grouser.contact import Contact
from grouser.errors import SimulationError
from grouser.law import BoundLaw, Recipe
from grouser.once import once_each
from grouser.terrain import Soil, Soils
from grouser.vehicles import Vehicle
from grouser.vehicles.tree import forward_kinematics

LEAST_SHARE = 0.2
"""Least load of a wheel, as a share of the mean: what carries nothing at rest may do so later."""
Contacts = Contact | Mapping[str, Contact]


def contact_slots(vehicle: VehicleArrays, free: NDArray[np.int64]) -> dict[str, NDArray[np.int64]]:
    """`link`, `axle`, `row`, `support`, `support_size` and `spin` of `DynamicModel` for velocities that are solved for.

    Contacts are the first of each wheel, the second of each wheel, then the points of the hull.
    """
    nw, first = len(vehicle.wheel), 3 * len(vehicle.wheel) + len(vehicle.coupling_value)
    link = np.concatenate([vehicle.wheel, vehicle.wheel, vehicle.hull_frame])
    axle = np.concatenate([vehicle.leader, vehicle.leader, vehicle.hull_frame])
    others = len(link) - nw
    position = {int(k): i for i, k in enumerate(free)}
    support = np.zeros((len(link), len(free)), dtype=np.int64)
    size, spin = np.zeros(len(link), dtype=np.int64), np.full(len(link), -1, dtype=np.int64)
    moving: dict[int, list[int]] = {}
    for k, (frame, turned) in enumerate(zip(link.tolist(), axle.tolist(), strict=True)):
        if frame not in moving:
            moving[frame] = _moving(vehicle, frame, turned, position)
        support[k, : len(moving[frame])] = moving[frame]
        size[k] = len(moving[frame])
        if k < 2 * nw:
            spin[k] = position.get(5 + turned, -1)
    row = np.concatenate([3 * np.arange(nw), first + 3 * np.arange(others)])
    return {"link": link, "axle": axle, "row": row, "support": support, "support_size": size, "spin": spin}


def _moving(vehicle: VehicleArrays, frame: int, axle: int, position: dict[int, int]) -> list[int]:
    """Positions among the free velocities that move a frame: those of the body and of the joints on the way to it.

    axle: the frame whose joint turns it, its own or that of the wheel it turns with.
    """
    columns = [*range(6), 5 + axle] if frame > 0 else list(range(6))
    while (frame := int(vehicle.parent[frame])) > 0:
        columns.append(5 + frame)
    return sorted(position[k] for k in columns if k in position)


@once_each
def wheel_loads(vehicle: Vehicle) -> dict[str, float]:
    """Load of each wheel [N], by name: an equal share of the weight, or, with balls that slide, that of statics.

    A ball that carries a tenth of the weight would else stand on a spring for a third of it, and hold the vehicle's end
    up. Of all loads that balance the weight it is those that differ least from equal ones.
    """
    equal = np.full(vehicle.n_wheels, vehicle.mass * GRAVITY / vehicle.n_wheels)
    if vehicle.sliding and vehicle.mass > 0.0:
        R, p = forward_kinematics(vehicle.frames, vehicle.rest)
        mass = np.array([frame.mass for frame in vehicle.frames])
        com = np.array([frame.com for frame in vehicle.frames])
        centre = mass @ (p + np.einsum("fij,fj->fi", R, com)) / mass.sum()
        balance = np.vstack([np.ones(vehicle.n_wheels), (vehicle.wheel_positions - centre)[:, :2].T])
        missing = np.array([vehicle.mass * GRAVITY, 0.0, 0.0]) - balance @ equal
        equal = np.maximum(equal + np.linalg.pinv(balance) @ missing, LEAST_SHARE * equal)
    return dict(zip(vehicle.wheels, equal.tolist(), strict=True))


@once_each
def _by_soil(soils: Soils) -> tuple[Contacts | None, ...]:
    """The contact model of each soil, those out of files made; None: the model's own."""
    return tuple(_contacts(soil.contact, soil) for soil in soils.soils)


def _contacts(given: Any, soil: Soil) -> Contacts | None:
    if isinstance(given, Mapping):
        return {name: _contact(law, soil) for name, law in given.items()}
    return None if given is None else _contact(given, soil)


def _contact(given: Any, soil: Soil) -> Contact:
    if isinstance(given, Recipe):
        from grouser.contact.library import contact_of

        given = contact_of(given)
    law: Contact = checks.instance(given, Contact, f"soil '{soil.name}'", "use grouser.contact.Pacejka() or another")
    return law


def on_soils(model: DynamicModel, vehicle: Vehicle, soils: Soils) -> DynamicModel:
    """The model as the engine takes it, with laws of soils after its own; contacts that are no wheels keep theirs."""
    models = _by_soil(soils)
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
