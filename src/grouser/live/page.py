"""The page of a live drive: viewer, vehicle and ground in one answer; what moves comes over a stream."""

from __future__ import annotations

from typing import Any

import numpy as np

from grouser._version import __version__
from grouser.checks import FloatArray
from grouser.live import frame, settings
from grouser.live.scenery import Scenery
from grouser.live.session import FACTORS, Session
from grouser.view import colours
from grouser.view.page import digest, filled, part
from grouser.view.scene_vehicle import scene_vehicle, vehicle_size

SCHEMA = "grouser/live@1"


def origin_of(session: Session) -> FloatArray:
    """A whole metre near the start, world [m]: what the page draws is relative to it."""
    return np.asarray(np.rint(session.sim.state[4:7]))


def live_scene(session: Session, scenery: Scenery, *, saves_to: str) -> dict[str, Any]:
    """What a page needs before the first picture, as JSON types."""
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
    """The page, and the policy that lets nothing run but its own script, and nothing be fetched but from here."""
    script, style = part("live.js"), part("live.css")
    policy = (
        f"default-src 'none'; script-src '{digest(script)}'; style-src '{digest(style)}'; connect-src 'self'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return filled("live.html", scene, style=style, script=script), policy


def drawn_size(session: Session) -> float:
    """Length of the vehicle as it is drawn [m]."""
    return vehicle_size(session.sim.model.vehicle)
