"""The ground near a run: the part of a large map that its file keeps."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from grouser.terrain import Terrain
from grouser.terrain.crop import cropped
from grouser.terrain.place import middle

if TYPE_CHECKING:
    from grouser.simulation.run import Run

KEPT_WHOLE = 2_000_000
"""Bytes of a ground up to which all of it is kept."""
KEPT = 1_000_000
"""Bytes of the part that is kept of a larger one, unless the run needs more."""
ROOM = 5.0
"""Ground kept around the run [m], at least; and a tenth of its extent, and four times the reach of the wheels."""


def ground_near(run: Run) -> Terrain | None:
    """The ground of a run, or of a large one the part around it; `Terrain.source` of it says how large the whole is.

    It is the same ground there. Around the run lies at least what pictures and pages show of it.
    """
    ground = run.ground
    if ground is None or _bytes(ground) <= KEPT_WHOLE:
        return ground
    places = np.concatenate([run.position[:, :2], run.contact.point[..., :2].reshape(-1, 2)])
    if len(places) == 0:
        places = np.array([middle(ground)])
    low, high = places.min(axis=0), places.max(axis=0)
    width, height = (high - low).tolist()
    reach = float(np.abs(run.vehicle.wheel_positions).max(initial=0.0)) + float(
        run.vehicle.arrays.radius.max(initial=0.0)
    )
    least = ROOM + 0.1 * max(width, height) + 4.0 * reach
    # (width + 2 m)(height + 2 m) is the area that may be kept.
    area = KEPT / max(_density(ground), 1e-12)
    half = 0.25 * (width + height)
    room = max(least, math.sqrt(max(half * half + 0.25 * (area - width * height), 0.0)) - half)
    return cropped(ground, (low[0] - room, high[0] + room, low[1] - room, high[1] + room))


def _bytes(ground: Terrain) -> int:
    """Memory of the arrays that make a ground again."""
    own = sum(value.nbytes for value in ground.settings.values() if isinstance(value, np.ndarray))
    return own + sum(_bytes(child) for child in ground.children)


def _density(ground: Terrain) -> float:
    """The same per area [1/m²]."""
    xmin, xmax, ymin, ymax = ground.bounds
    area = (xmax - xmin) * (ymax - ymin)
    own = _bytes(ground) - sum(map(_bytes, ground.children))
    return (own / area if math.isfinite(area) else 0.0) + sum(map(_density, ground.children))
