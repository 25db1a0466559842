"""Several grounds on top of each other."""

from __future__ import annotations

import numpy as np

from grouser._kernels.terrain import ground as kernels
from grouser.errors import TerrainError
from grouser.terrain.ground import Terrain

MOST_CHILDREN = 1000


def stack(*terrains: Terrain, description: str = "") -> Terrain:
    """The highest of several grounds at every place; outside only where all of them are.

    terrains: from 1 to 1000 grounds; where two are equally high, the first one's slope counts.
    description: what it is, for people.
    """
    if not 1 <= len(terrains) <= MOST_CHILDREN:
        raise TerrainError(f"a stack of {len(terrains)} terrains; it must be made of 1 to {MOST_CHILDREN}")
    for i, terrain in enumerate(terrains):
        if not isinstance(terrain, Terrain):
            raise TerrainError(f"terrain {i} of the stack is a {type(terrain).__name__}; it must be a Terrain")
    par = [float(len(terrains))]
    for terrain in terrains:
        par += map(float, terrain.bound.pair)
    bounds = np.array([terrain.bounds for terrain in terrains])
    return Terrain(
        kind="stack",
        law=kernels.stack,
        par=np.array(par),
        bounds=(
            float(bounds[:, 0].min()),
            float(bounds[:, 1].max()),
            float(bounds[:, 2].min()),
            float(bounds[:, 3].max()),
        ),
        description=description or "highest of: " + "; ".join(t.description for t in terrains),
        children=terrains,
    )
