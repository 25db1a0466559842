"""Frames between the wheels and the body: arms that carry one wheel each, as Crusher's, and steering."""

from __future__ import annotations

import numpy as np

from grouser.checks import FloatArray
from grouser.vehicles import Vehicle

PITCH, YAW = 1, 2  # Codes of joints that turn about y, z; those of 3 and more slide


def wheel_arms(vehicle: Vehicle) -> FloatArray:
    """Which joints about y carry each wheel alone, (nw, nj), 1 where one does.

    The ground under a wheel that has an arm to itself, as Crusher's, is the body's, not the arm's; under a bogie or
    axle that carries several wheels the bogie's. Contacts of arms that also turn about other axes stay at angle zero.
    """
    a = vehicle.arrays
    above = [frames_above(vehicle, wheel) for wheel in a.wheel]
    out = np.zeros((vehicle.n_wheels, vehicle.n_joints))
    for row, wheel, chain in zip(out, a.wheel, above, strict=True):
        own = [f for f in chain if sum(f in other for other in above) == 1]
        straight = all(np.array_equal(a.rotation[f], np.eye(3)) for f in [int(wheel), *own])
        if straight and all(a.joint[f] == PITCH or a.joint[f] >= 3 for f in own):
            row[[f - 1 for f in own if a.joint[f] == PITCH]] = 1.0
    return out


def wheels_steer(vehicle: Vehicle) -> bool:
    """Whether any wheel turns about a vertical axis of the body; without it wheels must slide in a turn."""
    a = vehicle.arrays
    return any(a.joint[f] == YAW for wheel in a.wheel for f in frames_above(vehicle, wheel))


def frames_above(vehicle: Vehicle, frame: int) -> list[int]:
    """Frames between one and the body."""
    parent = vehicle.arrays.parent
    found: list[int] = []
    while (frame := int(parent[frame])) > 0:
        found.append(frame)
    return found
