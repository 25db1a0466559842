"""The springs of a vehicle as kinematics and settling take them."""

from __future__ import annotations

import numpy as np

from grouser._kernels.constants import GRAVITY
from grouser._kernels.kinematics.suspension import Suspension
from grouser.once import once_each
from grouser.vehicles import Vehicle

CONTACT_GIVE = 1e-3
"""Assumed deflection of a contact under a wheel's share of the weight [m], when springs act against it."""


def make_suspension(vehicle: Vehicle, gravity: float = GRAVITY) -> Suspension:
    """Weights of the couplings and load of the springs under gravity [m/s²]: `_kernels/kinematics/suspension.py`."""
    steered = {s.joint for s in vehicle.steering}
    free = [
        i
        for i, frame in enumerate(vehicle.frames[1:])
        if not frame.actuated and not frame.is_wheel and frame.name not in steered
    ]
    stiffness = np.array([one.stiffness or 0.0 for one in vehicle.couplings])
    sprung = np.array([not one.is_rigid for one in vehicle.couplings], dtype=bool)
    contact = vehicle.mass * GRAVITY / (vehicle.n_wheels * CONTACT_GIVE)
    give = contact / (contact + stiffness)
    return Suspension(
        springs=int(sprung.sum()),
        load=gravity / contact,
        free=np.array(free, dtype=np.int64),
        weight=np.where(sprung, np.sqrt(stiffness / contact * give), 1.0),
        give=np.where(sprung, give, 0.0),
    )


suspension_of = once_each(make_suspension)
"""`make_suspension` on Earth, made once for each vehicle."""
