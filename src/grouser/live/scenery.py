"""The ground that the page draws: a patch around the vehicle, and the next one before it comes to the edge."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from grouser.checks import FloatArray
from grouser.terrain import Terrain
from grouser.view.scene_ground import Box, scene_ground

REACH = 14.0
"""Half the side of a patch, in lengths of the vehicle."""
LEAST = 12.0
"""Half its side at least [m]."""
EDGE = 0.45
"""Share of that half which is left ahead when the next patch is made."""


class Scenery:
    """Patches of one ground."""

    def __init__(self, ground: Terrain, origin: FloatArray, size: float) -> None:
        """origin: of the scene, world [m]; size: of the vehicle [m]."""
        self.ground, self.origin = ground, origin
        self.reach = max(REACH * size, LEAST)
        self._box: Box = (math.inf, -math.inf, math.inf, -math.inf)

    def is_due(self, x: float, y: float) -> bool:
        """Whether a place [m] is so near the edge of the patch that another is wanted."""
        near = EDGE * self.reach
        xmin, xmax, ymin, ymax = self._box
        bounds = self.ground.bounds
        return bool(
            (x - xmin < near and xmin > bounds[0]) or (xmax - x < near and xmax < bounds[1])
            or (y - ymin < near and ymin > bounds[2]) or (ymax - y < near and ymax < bounds[3])
        )  # fmt: skip

    def around(self, x: float, y: float) -> dict[str, Any] | None:
        """The patch around a place [m], as a scene has it; None where there is no ground."""
        reach, bounds = self.reach, self.ground.bounds
        wide = np.subtract(bounds[1::2], bounds[::2])
        if np.isfinite(wide).all() and wide.max() <= 3.0 * reach:
            self._box = bounds  # a small map is drawn whole
        else:
            self._box = (x - reach, x + reach, y - reach, y + reach)
        return scene_ground(self.ground, self._box, self.origin)
