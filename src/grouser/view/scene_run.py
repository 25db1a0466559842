"""One run as a scene: poses of its frames, contacts with forces and slip in world axes, curves over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from grouser.checks import FloatArray
from grouser.collision.frames import frame_poses
from grouser.rotation import to_quaternion
from grouser.simulation.run import Run
from grouser.vehicles.vehicle import Vehicle
from grouser.view import arrays
from grouser.view.scene_plots import plots_of
from grouser.view.scene_vehicle import scene_vehicle

if TYPE_CHECKING:
    from grouser.vehicles.visual import Visual

MOST_ROWS = 12_000
"""States of a run that go into a page; of more, evenly chosen ones, and the page says so."""


def good_rows(run: Run) -> int:
    """How many states from the first are finite."""
    finite = np.isfinite(run.state).all(axis=1) & np.isfinite(run.contact.point).all(axis=(1, 2))
    return len(run.time) if finite.all() else int(np.argmin(finite))


def scene_run(run: Run, name: str, origin: FloatArray, ground: int | None, meshes: dict[str, Visual]) -> dict[str, Any]:
    """A run as JSON types; without states it has a vehicle and a status only."""
    total = good_rows(run)
    rows = arrays.evenly(total, MOST_ROWS)
    scene: dict[str, Any] = {
        "name": name,
        "vehicle": scene_vehicle(run.vehicle, meshes),
        "status": str(run.status),
        "meaning": run.status.meaning,
        "distance": run.distance if total == len(run.time) else 0.0,
        "rows": total,
        "drawn": len(rows),
        "ground": ground,
        "time": arrays.exact(run.time[rows]),
        "poses": [],
        "contact": None,
        "plots": [],
    }
    if total == 0:
        return scene
    R_world_frame, p_world_frame = world_frames(run.vehicle, run.state[rows])
    quaternion, position = frames_in_parents(run.vehicle, R_world_frame, p_world_frame)
    quaternion = _continuous(quaternion, run.vehicle, run.joints[rows])
    R_world_contact = contact_axes(run, rows, R_world_frame)
    slip = run.contact.velocity[rows] * (1.0, 1.0, 0.0)  # in the ground plane
    force = run.contact.force
    scene["poses"] = [
        # The body moves far from the origin, where float32 is too coarse.
        {"quaternion": arrays.exact(quaternion[:, 0]), "position": arrays.exact(position[:, 0] - origin)},
        *(
            {"quaternion": _changing(quaternion[:, i]), "position": _changing(position[:, i])}
            for i in range(1, len(run.vehicle.frames))
        ),
    ]
    scene["contact"] = {
        "point": arrays.single(run.contact.point[rows] - origin),
        "slip": arrays.single(in_world(R_world_contact, slip)),
        "force": None if force is None else arrays.single(in_world(R_world_contact, force[rows])),
    }
    scene["plots"] = plots_of(run, rows)
    return scene


def world_frames(vehicle: Vehicle, states: FloatArray) -> tuple[FloatArray, FloatArray]:
    """R_world_frame (n, nf, 3, 3) and p_world_frame (n, nf, 3) [m] of n states, from the engine's kernel."""
    poses = [frame_poses(vehicle, state) for state in states]
    return np.array([R for R, _ in poses]), np.array([p for _, p in poses])


def frames_in_parents(vehicle: Vehicle, R: FloatArray, p: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Quaternions w x y z (n, nf, 4) and positions (n, nf, 3) [m] relative to the parent frame; the body's: world."""
    up = vehicle.arrays.parent[1:]
    R_up = R[:, up].swapaxes(-1, -2)
    R_parent, p_parent = R.copy(), p.copy()
    R_parent[:, 1:] = R_up @ R[:, 1:]
    p_parent[:, 1:] = (R_up @ (p[:, 1:] - p[:, up])[..., None])[..., 0]
    return to_quaternion(R_parent), p_parent


def contact_axes(run: Run, rows: arrays.Rows, R_world_frame: FloatArray) -> FloatArray:
    """R_world_contact at some rows, (rows, nw, 3, 3)."""
    return ground_axes(R_world_frame[:, run.vehicle.arrays.wheel][..., 1], run.contact.normal[rows])


def ground_axes(axle: FloatArray, normal: FloatArray) -> FloatArray:
    """R_world_contact (..., 3, 3) of axles and ground normals (..., 3): columns ahead, left, normal; T Fig. 2.3."""
    ahead = np.cross(axle, normal)
    ahead /= np.maximum(np.linalg.norm(ahead, axis=-1, keepdims=True), 1e-12)
    axes: FloatArray = np.stack([ahead, np.cross(normal, ahead), normal], axis=-1)
    return axes


def in_world(R_world_contact: FloatArray, vectors: FloatArray) -> FloatArray:
    """Vectors of contact frames (rows, nw, 3) in world axes."""
    turned: FloatArray = np.einsum("twij,twj->twi", R_world_contact, vectors)
    return turned


def _continuous(quaternion: FloatArray, vehicle: Vehicle, joints: FloatArray) -> FloatArray:
    """Signs such that the arc from one row to the next is the turn of the joint, up to 2π, and not its complement."""
    turned = np.zeros(quaternion.shape[:2])
    revolute = [i for i, frame in enumerate(vehicle.frames) if (frame.joint or "").startswith("R")]
    turned[:, revolute] = joints[:, [i - 1 for i in revolute]]
    along = np.sum(quaternion[1:] * quaternion[:-1], axis=-1) * np.cos(0.5 * np.diff(turned, axis=0))
    signed = quaternion.copy()
    signed[1:] *= np.cumprod(np.where(along < 0.0, -1.0, 1.0), axis=0)[..., None]
    return signed


def _changing(values: FloatArray) -> arrays.Encoded:
    """Rows (n, k), or one (1, k) where all are equal: a turning joint keeps its place, a sliding one its rotation."""
    constant = np.ptp(values, axis=0).max() < 1e-12
    return arrays.single(values[:1] if constant else values)
