"""One run as a scene: states to pose the vehicle exactly, contacts with forces and slip in world axes, curves."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from grouser.checks import FloatArray
from grouser.kinematics import frame_poses
from grouser.simulation import Run
from grouser.view import scene_arrays
from grouser.view.scene_curves import scene_curves
from grouser.view.scene_vehicle import Shape, scene_vehicle

MOST_ROWS = 12_000
"""States of a run that go into a page; of more, every k-th and the last, and the page says so."""


def good_rows(run: Run) -> int:
    """How many states from the first are finite."""
    finite = np.isfinite(run.state).all(axis=1) & np.isfinite(run.contact.point).all(axis=(1, 2))
    return len(run.time) if finite.all() else int(np.argmin(finite))


def scene_run(run: Run, name: str, origin: FloatArray, ground: int | None, meshes: dict[str, Shape]) -> dict[str, Any]:
    """A run as JSON types; without states it has a vehicle and a status only."""
    total = good_rows(run)
    rows = _chosen_rows(total)
    scene: dict[str, Any] = {
        "name": name,
        "vehicle": scene_vehicle(run.vehicle, meshes),
        "status": str(run.status),
        "meaning": run.status.meaning,
        "distance": run.distance if total == len(run.time) else 0.0,
        "rows": total,
        "drawn": len(rows),
        "ground": ground,
        "time": scene_arrays.exact(run.time[rows]),
        "state": scene_arrays.exact(run.state[rows]),
        "contact": None,
        "plots": [],
    }
    if total == 0:
        return scene
    R_world_contact = contact_axes(run, rows)
    slip = run.contact.velocity[rows] * (1.0, 1.0, 0.0)  # what it rises is not slip
    force = run.contact.force
    scene["contact"] = {
        "point": scene_arrays.single(run.contact.point[rows] - origin),
        "slip": scene_arrays.single(np.einsum("twij,twj->twi", R_world_contact, slip)),
        "force": None if force is None else scene_arrays.single(world_forces(R_world_contact, force[rows])),
    }
    scene["plots"] = scene_curves(run, rows)
    return scene


def contact_axes(run: Run, rows: NDArray[np.int64]) -> FloatArray:
    """R_world_contact at some rows, (rows, nw, 3, 3): columns ahead, left, normal; T Fig. 2.3."""
    axle = np.array([frame_poses(run.vehicle, q)[0][run.vehicle.arrays.wheel, :, 1] for q in run.state[rows]])
    normal = run.contact.normal[rows]
    ahead = np.cross(axle, normal)
    ahead /= np.maximum(np.linalg.norm(ahead, axis=-1, keepdims=True), 1e-12)
    axes: FloatArray = np.stack([ahead, np.cross(normal, ahead), normal], axis=-1)
    return axes


def world_forces(R_world_contact: FloatArray, force: FloatArray) -> FloatArray:
    """Forces of contact frames in world axes [N], (rows, nw, 3)."""
    turned: FloatArray = np.einsum("twij,twj->twi", R_world_contact, force)
    return turned


def _chosen_rows(total: int) -> NDArray[np.int64]:
    every = max(1, -(-total // MOST_ROWS))
    rows = np.arange(0, total, every, dtype=np.int64)
    return rows if total == 0 or rows[-1] == total - 1 else np.append(rows, total - 1)
