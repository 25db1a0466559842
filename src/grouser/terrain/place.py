"""Places on a map where a vehicle can stand."""

from __future__ import annotations

import math

import numpy as np

from grouser.errors import TerrainError
from grouser.terrain.ground import Terrain

ROOM = 3.0
"""Ground that must be known around a place [m]; a tenth of a smaller map."""
TRIED = 101
"""Places along each side of the map that are tried."""


def middle(ground: Terrain) -> tuple[float, float]:
    """The middle of a map, or the place nearest to it with ground all around: x and y [m], whole if it can."""
    if not all(map(math.isfinite, ground.bounds)):
        return 0.0, 0.0
    xmin, xmax, ymin, ymax = ground.bounds
    room = min(ROOM, 0.1 * min(xmax - xmin, ymax - ymin))
    centre = np.array([0.5 * (xmin + xmax), 0.5 * (ymin + ymax)])
    x, y = (np.linspace(low + room, high - room, TRIED) for low, high in ((xmin, xmax), (ymin, ymax)))
    places = np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1).reshape(-1, 2)
    whole = np.rint(places)
    fits = (np.abs(whole - centre) <= 0.5 * np.array([xmax - xmin, ymax - ymin]) - room).all(axis=1)
    places = np.where(fits[:, None], whole, places)
    around = room * np.exp(1j * np.linspace(0.0, 2.0 * np.pi, 16, endpoint=False))
    for p in places[np.argsort(np.hypot(*(places - centre).T), kind="stable")]:
        if ground.contains(p[0], p[1]) and ground.contains(p[0] + around.real, p[1] + around.imag).all():
            return float(p[0]), float(p[1])
    raise TerrainError(
        f"{ground.description}: has no {2.0 * room:.3g} m of ground in one piece to start on; give a start"
    )
