"""The Open Dynamics Engine's contact and ours, and the start of a vehicle that already rolls."""

from __future__ import annotations

from typing import Any

from grouser.checks import FloatArray
from grouser.contact import ErpCfm, PiecewiseLinear
from grouser.contact.base import DAMPING_TIME
from grouser.dynamics import Dynamics
from grouser.errors import SimulationError
from grouser.kinematics import Kinematics
from grouser.simulation import settle, simulate
from grouser.terrain import Terrain


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
