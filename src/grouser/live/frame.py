"""One frame of a live drive as bytes: little-endian float64, in the order that viewer/src/live/frame.js reads."""

from __future__ import annotations

import json
import math
import struct
from typing import Any

import numpy as np

from grouser.checks import FloatArray
from grouser.collision.frames import frame_poses
from grouser.kinematics.rollover import rollover_margin
from grouser.live.session import Session
from grouser.simulation.outcome import slip_ratio
from grouser.simulation.status import Status
from grouser.view.scene_run import frames_in_parents, ground_axes, in_world

FRAME, NEWS, PATH = 1, 2, 3
"""Kinds of messages: a frame, JSON, a planned path."""
HEAD = (
    "time", "pace", "heard", "ended", "paused", "speed", "turn", "wanted_speed", "wanted_turn", "slip", "margin",
    "tilt", "power", "distance", "recorded",
)  # fmt: skip
"""Numbers at the beginning of a frame: [s], simulated over real time, number of the last command, …, m/s, rad/s,
ratio, rad, rad, W, m, s."""


def message(kind: int, payload: bytes) -> bytes:
    """A message as bytes, with its kind and length in front."""
    return struct.pack("<II", kind, len(payload)) + payload


def news(values: dict[str, Any]) -> bytes:
    """A message of JSON."""
    return message(NEWS, json.dumps(values, allow_nan=False, separators=(",", ":")).encode())


def path_message(path: FloatArray, origin: FloatArray) -> bytes:
    """A planned path (n, 3) [m]; no points if there is none."""
    return message(PATH, np.ascontiguousarray(path - origin, dtype="<f8").tobytes())


def picture(session: Session, origin: FloatArray, pace: float) -> bytes:
    """Numbers of `HEAD`; quaternion w x y z and position of each frame in its parent; contacts.

    A contact is 11 numbers: point, force and slip in world axes [m, N, m/s], normal force [N], slip speed [m/s].
    """
    sim = session.sim
    vehicle, state, velocity, contact = sim.model.vehicle, sim.state, sim.velocity, sim.contact
    R, p = frame_poses(vehicle, state[None])
    quaternion, position = frames_in_parents(vehicle, R, p)
    position[0, 0] -= origin
    touching = sim.steps > 0 and bool(np.isfinite(contact.point).all())
    margin, slip = math.nan, 0.0
    if touching:
        margins = rollover_margin(
            vehicle, state[None], velocity[None], contact.point[None], gravity=float(sim.model.gravity)
        )
        margin = float(margins.angle[0])
        slip = float(slip_ratio(vehicle, velocity, contact.velocity[:, 0]))
    power = math.nan if sim.power is None else float(sim.power.sum())
    up = R[0, 0, 2, 2]
    head = [
        sim.time, pace, session.heard, sim.status is not Status.OK, session.paused, velocity[3], velocity[2],
        session.twist[0], session.twist[2], slip, margin, math.acos(min(max(up, -1.0), 1.0)), power, session.distance,
        math.nan if session.recorder is None else session.recorder.duration,
    ]  # fmt: skip
    parts = [np.array(head), np.concatenate([quaternion[0], position[0]], axis=1).ravel()]
    parts.append(_contacts(session, R[0], origin) if touching else np.zeros(11 * vehicle.n_wheels))
    return message(FRAME, np.concatenate(parts).astype("<f8").tobytes())


def _contacts(session: Session, R_world_frame: FloatArray, origin: FloatArray) -> FloatArray:
    sim = session.sim
    contact, wheels = sim.contact, sim.model.vehicle.arrays.wheel
    axes = ground_axes(R_world_frame[None, wheels][..., 1], contact.normal[None])
    slip = contact.velocity * (1.0, 1.0, 0.0)
    force = np.zeros_like(slip) if sim.force is None else sim.force
    columns = (contact.point - origin, in_world(axes, force[None])[0], in_world(axes, slip[None])[0])
    return np.column_stack([*columns, force[:, 2], np.hypot(slip[:, 0], slip[:, 1])]).ravel()
