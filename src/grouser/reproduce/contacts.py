"""Contact models by name, made for a vehicle's wheels, and the start that rests on them."""

from __future__ import annotations

from typing import Any

from grouser.checks import FloatArray
from grouser.contact import Contact, ErpCfm, Ishigami, Pacejka, PiecewiseLinear, Table
from grouser.contact.spring import DAMPING_TIME
from grouser.dynamics import Dynamics
from grouser.errors import SimulationError
from grouser.kinematics import Kinematics
from grouser.simulation import settle, simulate
from grouser.terrain import Terrain
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


def erp_cfm(model: Dynamics, dt: float) -> ErpCfm:
    """The Open Dynamics Engine's contact with the spring and damper of the other models at a step dt [s].

    Its friction has no bound worth the name, as in T Table 2.6.
    """
    stiffness = model.wheel_load / PiecewiseLinear().static_penetration
    mixing = 1.0 / (stiffness * (dt + DAMPING_TIME))
    return ErpCfm(erp=dt * stiffness * mixing, cfm=mixing, dt=dt, friction=1e3)


def start_rolling(
    model: Dynamics, ground: Terrain, drive: Any, pose: tuple[float, float, float] = (0.0, 0.0, 0.0)
) -> tuple[FloatArray, FloatArray]:
    """State and velocity of a vehicle that rests on its contacts and already rolls along as the drive says."""
    x, y, yaw = pose
    state = settle(model.vehicle, ground, x=x, y=y, yaw=yaw, penetration=model.penetration).state
    rolling = Kinematics(model.vehicle, penetration=model.penetration)
    run = simulate(rolling, ground, drive, duration=0.01, dt=0.01, start=state)
    if len(run.velocity) == 0:
        raise SimulationError(f"the ground ends under a wheel at x = {x:g}, y = {y:g} m; move it inside")
    return state, run.velocity[0]
