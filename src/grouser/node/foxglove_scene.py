"""Shapes of the live view: the vehicle's box and wheels, the ellipsoid of the position, and the path."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np

from grouser import rotation
from grouser.checks import FloatArray
from grouser.vehicles.vehicle import Vehicle
from grouser.view.scene_vehicle import WIDTH, plain_frames

if TYPE_CHECKING:
    from foxglove.messages import Color, Pose, SceneEntity, Timestamp, Vector3

    from grouser.node.messages import Odometry

__all__ = ["ellipsoid_entity", "path_poses", "vehicle_entity"]

SIGMAS_95 = math.sqrt(7.815)
"""Half axes of the 95 % ellipsoid of a position, in sigmas: χ² of three degrees of freedom."""
BODY, TYRE = (0.90, 0.62, 0.0, 1.0), (0.13, 0.13, 0.14, 1.0)
EXCLUDED, ELLIPSOID = (0.84, 0.37, 0.0, 1.0), (0.0, 0.45, 0.7, 0.3)
# A cylinder of Foxglove stands along z; a wheel's axle is y. Rx(−90°) turns z into y.
R_WHEEL_CYLINDER = rotation.from_rpy(-0.5 * math.pi, 0.0, 0.0)


def vehicle_entity(vehicle: Vehicle, frame: str, at: Timestamp, excluded: Collection[str]) -> SceneEntity:
    """Box and wheels in the body's frame, with all joints at zero; an excluded wheel is orange."""
    from foxglove.messages import CubePrimitive, CylinderPrimitive, SceneEntity

    box = plain_frames(vehicle)[0]["shapes"][0]
    pose = _pose(box["centre"], np.reshape(box["axes"], (3, 3)))
    cube = CubePrimitive(pose=pose, size=_xyz(box["size"]), color=_rgba(BODY))
    cylinders = []
    for i, (name, place) in enumerate(zip(vehicle.wheels, vehicle.wheel_positions, strict=True)):
        radius = float(vehicle.arrays.radius[i])
        width = vehicle.frames[int(vehicle.arrays.wheel[i])].width or WIDTH * radius
        cylinders.append(
            CylinderPrimitive(
                pose=_pose(place, R_WHEEL_CYLINDER),
                size=_xyz((2.0 * radius, 2.0 * radius, width)),
                bottom_scale=1.0,
                top_scale=1.0,
                color=_rgba(EXCLUDED if name in excluded else TYRE),
            )
        )
    return SceneEntity(timestamp=at, frame_id=frame, id="vehicle", frame_locked=True, cubes=[cube], cylinders=cylinders)


def ellipsoid_entity(odometry: Odometry, at: Timestamp) -> SceneEntity:
    """Where the position is with 95 % probability; a point where its covariance is not finite."""
    from foxglove.messages import SceneEntity, SpherePrimitive

    place = odometry.pose.pose.position
    covariance = np.reshape(odometry.pose.covariance, (6, 6))[:3, :3]
    size, axes = np.zeros(3), np.eye(3)
    if np.isfinite(covariance).all():
        variances, axes = np.linalg.eigh(covariance)
        axes[:, 2] = np.cross(axes[:, 0], axes[:, 1])
        size = 2.0 * SIGMAS_95 * np.sqrt(np.maximum(variances, 0.0))
    pose = _pose((place.x, place.y, place.z), axes)
    sphere = SpherePrimitive(pose=pose, size=_xyz(size), color=_rgba(ELLIPSOID))
    return SceneEntity(timestamp=at, frame_id=odometry.header.frame_id, id="position 95 %", spheres=[sphere])


def path_poses(points: FloatArray) -> list[Pose]:
    """A path (n, 3) [m] as poses that are not turned; .5 µs a point, for it is made in the node's own thread."""
    from foxglove.messages import Pose, Quaternion, Vector3

    straight = Quaternion(x=0.0, y=0.0, z=0.0, w=1.0)
    return [Pose(position=Vector3(x=x, y=y, z=z), orientation=straight) for x, y, z in points.tolist()]


def _pose(place: Any, R: FloatArray) -> Pose:
    from foxglove.messages import Pose, Quaternion

    w, x, y, z = rotation.to_quaternion(R).tolist()
    return Pose(position=_xyz(place), orientation=Quaternion(x=x, y=y, z=z, w=w))


def _xyz(values: Any) -> Vector3:
    from foxglove.messages import Vector3

    x, y, z = (float(value) for value in values)
    return Vector3(x=x, y=y, z=z)


def _rgba(values: tuple[float, float, float, float]) -> Color:
    from foxglove.messages import Color

    r, g, b, a = values
    return Color(r=r, g=g, b=b, a=a)
