"""Shapes of the live view: the vehicle's box and wheels, the 95 % ellipsoid of the position, and the path."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

import numpy as np
from foxglove import messages as m

from grouser import rotation
from grouser.checks import FloatArray
from grouser.node.messages import Odometry
from grouser.vehicles.vehicle import Vehicle
from grouser.view.foxglove import R_WHEEL_CYLINDER
from grouser.view.scene_vehicle import WIDTH, plain_frames, principal

SIGMAS_95 = math.sqrt(7.815)
"""Half axes of the 95 % ellipsoid of a position, in sigmas: χ² of three degrees of freedom."""
BODY, TYRE = m.Color(r=0.90, g=0.62, b=0.0, a=1.0), m.Color(r=0.13, g=0.13, b=0.14, a=1.0)
EXCLUDED, ELLIPSOID = m.Color(r=0.84, g=0.37, b=0.0, a=1.0), m.Color(r=0.0, g=0.45, b=0.7, a=0.3)


def vehicle_entity(vehicle: Vehicle, frame: str, at: m.Timestamp, excluded: Collection[str]) -> m.SceneEntity:
    """Box and wheels in the body's frame, with all joints at zero; an excluded wheel is orange."""
    box = plain_frames(vehicle)[0]["shapes"][0]
    place = pose(box["centre"], np.reshape(box["axes"], (3, 3)))
    cube = m.CubePrimitive(pose=place, size=vector(box["size"]), color=BODY)
    cylinders = []
    for i, (name, centre) in enumerate(zip(vehicle.wheels, vehicle.wheel_positions, strict=True)):
        radius = float(vehicle.arrays.radius[i])
        width = vehicle.frames[int(vehicle.arrays.wheel[i])].width or WIDTH * radius
        cylinders.append(
            m.CylinderPrimitive(
                pose=pose(centre, R_WHEEL_CYLINDER),
                size=vector((2.0 * radius, 2.0 * radius, width)),
                bottom_scale=1.0,
                top_scale=1.0,
                color=EXCLUDED if name in excluded else TYRE,
            )
        )
    shapes: Any = {"cubes": [cube], "cylinders": cylinders}
    return m.SceneEntity(timestamp=at, frame_id=frame, id="vehicle", frame_locked=True, **shapes)


def ellipsoid_entity(odometry: Odometry, at: m.Timestamp) -> m.SceneEntity:
    """The 95 % ellipsoid of the position; a point where its covariance is not finite."""
    place = odometry.pose.pose.position
    covariance = np.reshape(odometry.pose.covariance, (6, 6))[:3, :3]
    size, axes = np.zeros(3), np.eye(3)
    if np.isfinite(covariance).all():
        variances, axes = principal(covariance)
        size = 2.0 * SIGMAS_95 * np.sqrt(np.maximum(variances, 0.0))
    sphere = m.SpherePrimitive(pose=pose((place.x, place.y, place.z), axes), size=vector(size), color=ELLIPSOID)
    return m.SceneEntity(timestamp=at, frame_id=odometry.header.frame_id, id="position 95 %", spheres=[sphere])


def path_poses(points: FloatArray) -> list[m.Pose]:
    """A path (n, 3) [m] as poses without rotation; .5 µs a point, because it is made in the node's own thread."""
    straight = m.Quaternion(x=0.0, y=0.0, z=0.0, w=1.0)
    return [m.Pose(position=m.Vector3(x=x, y=y, z=z), orientation=straight) for x, y, z in points.tolist()]


def pose(position: Any, R: FloatArray) -> m.Pose:
    """A pose of position [m] and rotation matrix."""
    w, x, y, z = rotation.to_quaternion(R).tolist()
    return m.Pose(position=vector(position), orientation=m.Quaternion(x=x, y=y, z=z, w=w))


def vector(values: Any) -> m.Vector3:
    """Three numbers as Foxglove's vector."""
    x, y, z = map(float, values)
    return m.Vector3(x=x, y=y, z=z)


class PathSoFar:
    """Points of a path, from its start to now, at most `most` of them.

    A point is kept if it is `spacing` [m] or more from the last kept one. When the memory is full, every other point is
    removed and the spacing doubles: a long drive is coarser but complete.
    """

    def __init__(self, most: int = 1000, spacing: float = 0.05) -> None:
        self._kept = np.empty((max(2, most), 3))
        self._count = 0
        self.spacing = spacing
        """Least distance between kept points [m]."""

    @property
    def points(self) -> FloatArray:
        """Points kept [m], oldest first, shape (n, 3)."""
        return self._kept[: self._count]

    def add(self, x: float, y: float, z: float) -> None:
        """Add a position [m]; one that is not finite is ignored."""
        if not (math.isfinite(x) and math.isfinite(y) and math.isfinite(z)):
            return
        if self._count:
            last = self._kept[self._count - 1]
            if math.dist((x, y, z), (last[0], last[1], last[2])) < self.spacing:
                return
        if self._count == len(self._kept):
            thinned = self._kept[::2].copy()
            self._count = len(thinned)
            self._kept[: self._count] = thinned
            self.spacing *= 2.0
        self._kept[self._count] = x, y, z
        self._count += 1
