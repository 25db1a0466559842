"""A vehicle seen in a mirror that swaps left and right.

With S = diag(1, −1, 1), positions become S p, rotations S R S, inertias S I S. Frames keep their names (a
mirrored FL stands on the right) and joints keep their types, so a turn about x or z and a slide along y
change sign: the mirrored vehicle at displacements `signs·θ` is the mirror image of the original at θ.
Couplings change so that they hold at `signs·θ`; commands and rates follow the same signs.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from grouser.vehicles.rows import Frame, mirrored_pose

if TYPE_CHECKING:
    from grouser.vehicles.vehicle import Vehicle

S = np.array([1.0, -1.0, 1.0])
REVERSED = ("RX", "RZ", "PY")
"""Joint types whose displacement changes sign in the mirror."""


def signs(vehicle: Vehicle) -> NDArray[np.float64]:
    """+1 or −1 for each joint: mirrored displacement per original displacement, shape (nj,)."""
    return np.array([_sign(frame) for frame in vehicle.frames[1:]])


def mirror(vehicle: Vehicle) -> Vehicle:
    """The left-right mirror image; mirroring twice gives the vehicle back."""
    sign = {frame.name: _sign(frame) for frame in vehicle.frames}
    reference = vehicle.drive_reference
    return vehicle.replace(
        frames=tuple(_frame(frame) for frame in vehicle.frames),
        couplings=tuple(
            dataclasses.replace(one, joints={joint: sign[joint] * k for joint, k in one.joints.items()})
            for one in vehicle.couplings
        ),
        hull=tuple(one.mirrored() for one in vehicle.hull),
        visuals=tuple(one.mirrored() for one in vehicle.visuals),
        drive_reference=None if reference is None else (reference[0], -reference[1]),
    )


def _sign(frame: Frame) -> float:
    return -1.0 if frame.joint in REVERSED else 1.0


def _frame(frame: Frame) -> Frame:
    inertia, com = frame.inertia_matrix * np.outer(S, S), tuple(S * frame.com)
    rollers = None if frame.rollers is None else -frame.rollers
    return dataclasses.replace(frame, **mirrored_pose(frame), com=com, inertia=inertia, rollers=rollers)
