"""The contacts of a dynamic model as the engine takes them: which frame each is on, and what moves it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from grouser._kernels.vehicles.arrays import VehicleArrays


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
