"""Wheels on arms of their own: where straight down in the body is, seen from an arm that is swung."""

from __future__ import annotations

import numpy as np

from grouser.checks import FloatArray
from grouser.vehicles import Vehicle

PITCH = 1
"""Code of a joint that turns about y; those of 3 and more slide."""


class SwingArms:
    """Contact angles of wheels whose arms swing about y, as Crusher's do, if they touch straight below.

    The ground under a wheel that has an arm to itself is the body's, not the arm's. Under a bogie or axle that carries
    several wheels it is rather the bogie's, so that one is taken as level. Arms that also turn about other axes are
    left alone: their contacts stay at angle zero.
    """

    def __init__(self, vehicle: Vehicle) -> None:
        """Find the arms of a vehicle; there may be none."""
        chosen = [(w, arm) for w, arm in enumerate(_arms(vehicle)) if arm]
        self.wheels = np.array([w for w, _ in chosen], dtype=np.int64)
        """Which wheels have such an arm, (na,)."""
        self._joints = np.zeros((len(chosen), vehicle.n_joints))
        for row, (_, arm) in zip(self._joints, chosen, strict=True):
            row[arm] = 1.0
        self._rest = vehicle.rest
        self._last = self._rest.copy()

    def reset(self) -> None:
        """Forget the last angles: arms are at rest."""
        self._last[:] = self._rest

    def contact_angles(self, angles: FloatArray) -> FloatArray:
        """Contact angles of `wheels` (na,) [rad] at joint angles (nj,), where NaN stands for the last one."""
        self._last = np.where(np.isfinite(angles), angles, self._last)
        result: FloatArray = -(self._joints @ self._last)  # an arm that swings nose down has its contact ahead
        return result


def _arms(vehicle: Vehicle) -> list[list[int]]:
    """Joints about y between each wheel and what carries other wheels too; none where the arm turns otherwise."""
    a = vehicle.arrays
    above: list[list[int]] = []
    for frame in a.wheel:
        chain, at = [], int(a.parent[frame])
        while at > 0:
            chain.append(at)
            at = int(a.parent[at])
        above.append(chain)
    out = []
    for wheel, chain in zip(a.wheel, above, strict=True):
        own = [f for f in chain if sum(f in other for other in above) == 1]
        plain = all(np.array_equal(a.rotation[f], np.eye(3)) for f in [int(wheel), *own])
        plain = plain and all(a.joint[f] == PITCH or a.joint[f] >= 3 for f in own)
        out.append([f - 1 for f in own if a.joint[f] == PITCH] if plain else [])
    return out
