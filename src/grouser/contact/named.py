"""Contact models by name, made for a vehicle's wheels."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from grouser._kernels.constants import GRAVITY
from grouser.checks import nearest
from grouser.contact import library
from grouser.contact.base import Contact
from grouser.contact.ishigami import Ishigami
from grouser.contact.pacejka import Pacejka
from grouser.contact.piecewise import PiecewiseLinear
from grouser.contact.table import Table
from grouser.errors import SimulationError
from grouser.vehicles import Vehicle

HARD = 0.05
"""Static penetration of the wheels of a vehicle with balls that slide, over their radius, where that is less than the
default: such robots are small, with hard wheels, and on soft ones would tilt more than the ground."""
MODELS: dict[str, type[PiecewiseLinear | Pacejka | Ishigami]] = {
    "piecewise-linear": PiecewiseLinear, "pacejka": Pacejka, "terramechanics": Ishigami,
}  # fmt: skip
CONTACTS = tuple(MODELS)
"""Names of `contact_named`, besides the soils and tyres of the library."""
DEEP = 0.6
"""Sinkage over radius beyond which the law of soil does not hold."""


def contact_named(
    name: str, vehicle: Vehicle, *, friction: float | None = None, speed: float = 1.0
) -> Contact | dict[str, Contact]:
    """A contact model with its defaults, or a soil or tyre of the library.

    Soils, as terramechanics, are a table for each size of wheel, made at a speed [m/s].
    friction: μ of the models that have one; None is theirs.
    """
    model: Contact
    if name in MODELS:
        model = MODELS[name]()
    elif name in library.names():
        model = library.entry(name).model
    else:
        hint = nearest(name, [*CONTACTS, *library.names()])
        words = f"is not one of {', '.join(CONTACTS)}, or a soil or tyre of the library; {hint}grouser soils lists them"
        raise SimulationError(f"contact: {name!r:.40} {words}")
    if isinstance(model, Ishigami):
        if friction is not None:
            raise SimulationError("friction: terramechanics has none; its soil holds by cohesion and friction angle")
        if name not in CONTACTS and (why := stuck(model, vehicle)):
            warnings.warn(f"contact: in {name} {why}", stacklevel=2)
        return _soil_tables(model, vehicle, speed)
    given: dict[str, Any] = {} if friction is None else {"friction": friction}
    if vehicle.sliding:
        radius = min((f.radius for f in vehicle.frames if f.radius and f.slides is None), default=math.inf)
        given["static_penetration"] = min(PiecewiseLinear().static_penetration, HARD * radius)
    return model.replace(**given)


def stuck(soil: Ishigami, vehicle: Vehicle) -> str:
    """Why a vehicle will not get ahead on level ground of a soil; empty where it will.

    Each wheel with an equal share of the weight, at its steady sinkage h in slips from 0.1 to 1: f_z(h, s) = load.
    Where f_x(s) < 0 throughout, the law pushes a spinning wheel back, which soil does not do.
    """
    load = vehicle.mass * GRAVITY / max(vehicle.n_wheels, 1)
    sizes = {(f.radius, f.width) for f in vehicle.frames if f.radius and f.width and f.slides is None}
    for radius, width in sorted(sizes) if load > 0.0 else ():
        depth = np.linspace(0.0, 1.0, 400)[1:, None] * radius
        slip = np.linspace(0.1, 1.0, 10)
        v = np.zeros((len(depth), len(slip), 3))
        v[..., 0] = -slip
        force = soil.force(v, 1.0, -depth, radius=radius, width=width)
        carried = force[..., 2] >= load
        at = carried.argmax(axis=0), np.arange(len(slip))
        wheel = f"a wheel of {radius:g} m with {load:.0f} N on it"
        if not carried.any(axis=0).any() or depth[at[0][0], 0] > DEEP * radius:
            return f"{wheel} sinks in to its axle, where the law ends; do not trust the run"
        if force[..., 0][at].max() < 0.0:
            return f"{wheel} has no pull at any slip and would spin in place; do not trust the run"
    return ""


def _soil_tables(model: Ishigami, vehicle: Vehicle, speed: float) -> dict[str, Contact]:
    """A table for each size of wheel; the law itself, which is slower, where a table would be too coarse."""
    made: dict[tuple[float | None, float | None], Contact] = {}
    contacts: dict[str, Contact] = {}
    for frame in (f for f in vehicle.frames if f.is_wheel):
        size = (frame.radius, frame.contact_width)
        if size not in made:
            if size[0] is None or size[1] is None:
                raise SimulationError(f"wheel '{frame.name}' has no width, which terramechanics needs; give it one [m]")
            try:
                made[size] = Table(model, radius=size[0], width=size[1], speed=speed)
            except SimulationError:
                made[size] = model
        contacts[frame.name] = made[size]
    return contacts
