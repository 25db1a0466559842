"""The page of a live drive: viewer, vehicle and ground. Motion comes over a stream."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from grouser._version import __version__
from grouser.checks import FloatArray
from grouser.live import frame, settings
from grouser.live.session import FACTORS, Session
from grouser.terrain import Terrain
from grouser.view import colours
from grouser.view.page import filled, script_and_style
from grouser.view.scene_ground import Box, scene_ground
from grouser.view.scene_vehicle import scene_vehicle

SCHEMA = "grouser/live@1"
REACH = 14.0
"""Half the side of a patch, in lengths of the vehicle."""
LEAST = 12.0
"""Half its side at least [m]."""
EDGE = 0.45
"""Distance to the edge at which the next patch is made, as a share of that half."""


class Scenery:
    """Patches of the ground that the page draws: one around the vehicle, the next before it comes to the edge."""

    def __init__(self, ground: Terrain, origin: FloatArray, size: float) -> None:
        """origin: of the scene, world [m]; size: of the vehicle [m]."""
        self.ground, self.origin = ground, origin
        self.reach = max(REACH * size, LEAST)
        self._box: Box = (math.inf, -math.inf, math.inf, -math.inf)

    def is_due(self, x: float, y: float) -> bool:
        """Whether a position [m] is so close to the edge of the patch that the next is needed."""
        near = EDGE * self.reach
        xmin, xmax, ymin, ymax = self._box
        bounds = self.ground.bounds
        return bool(
            (x - xmin < near and xmin > bounds[0]) or (xmax - x < near and xmax < bounds[1])
            or (y - ymin < near and ymin > bounds[2]) or (ymax - y < near and ymax < bounds[3])
        )  # fmt: skip

    def around(self, x: float, y: float) -> dict[str, Any] | None:
        """The patch around a position [m], as JSON types; None where there is no ground."""
        reach, bounds = self.reach, self.ground.bounds
        wide = np.subtract(bounds[1::2], bounds[::2])
        if np.isfinite(wide).all() and wide.max() <= 3.0 * reach:
            self._box = bounds  # a small map is drawn whole
        else:
            self._box = (x - reach, x + reach, y - reach, y + reach)
        return scene_ground(self.ground, self._box, self.origin)


def live_scene(session: Session, scenery: Scenery, *, saves_to: str) -> dict[str, Any]:
    """What a page needs before the first frame, as JSON types."""
    model = session.sim.model
    vehicle, garage, limits = model.vehicle, session.garage, session.limits
    x, y, _ = session.pose
    return {
        "schema": SCHEMA,
        "version": __version__,
        "title": vehicle.name,
        "origin": [float(p) for p in scenery.origin],
        "palette": list(colours.PALETTE),
        "vehicle": scene_vehicle(vehicle, {}),
        "names": list(vehicle.wheels),
        "ground": scenery.around(float(x), float(y)),
        "head": list(frame.HEAD),
        "dynamic": model.dynamic,
        "load": vehicle.mass * model.gravity / vehicle.n_wheels,
        "mass": garage.model.vehicle.mass,
        "lateral": limits.lateral > 0.0,
        "ranges": {
            "speed": [settings.SLOWEST, settings.FASTEST],
            "friction": list(settings.FRICTION),
            "payload": [0.0, garage.most_payload],
            "factor": list(FACTORS),
        },
        "soils": list(garage.soils),
        "savesTo": saves_to,
    }


def live_page(scene: dict[str, Any]) -> tuple[str, str]:
    """The page, and a content security policy that allows its own script and this server only."""
    parts, policy = script_and_style("live")
    return filled("live.html", scene, **parts), f"{policy}; connect-src 'self'; frame-ancestors 'none'"
