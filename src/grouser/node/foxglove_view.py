"""What the node estimates, live in Foxglove: a WebSocket server with the types of foxglove-sdk.

Topics: `/odom` (pose and twist with covariances), `/tf`, `/path`, `/scene` (box, wheels, 95 % ellipsoid of the
position), `/wheels` (slip, excluded), `/monitor`, `/diagnostics`. What no client looks at is not built.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from grouser import rotation
from grouser.errors import GrouserError
from grouser.node.path import PathSoFar
from grouser.vehicles.vehicle import Vehicle
from grouser.view.scene_vehicle import WIDTH, scene_vehicle

if TYPE_CHECKING:
    from foxglove.messages import Pose, SceneEntity, Timestamp

    from grouser.node.messages import DiagnosticArray, Odometry

__all__ = ["LOOPBACK", "PORT", "LiveView"]

LOOPBACK = "127.0.0.1"
PORT = 8765
"""Foxglove's own default."""
RATE = 20.0
"""Most messages of one topic in a second; `show` does nothing if called sooner."""
SLOW = 1.0
"""Seconds between messages of the path and of the vehicle's shapes, which a client that comes late needs too."""
SIGMAS_95 = math.sqrt(7.815)
"""Half axes of the 95 % ellipsoid of a position, in sigmas: χ² of three degrees of freedom."""
BODY, TYRE, EXCLUDED, ELLIPSOID = (
    (0.90, 0.62, 0.0, 1.0),
    (0.13, 0.13, 0.14, 1.0),
    (0.84, 0.37, 0.0, 1.0),
    (0.0, 0.45, 0.7, 0.3),
)
# A cylinder of Foxglove stands along z; a wheel's axle is y. Rx(−90°) turns z into y.
R_WHEEL_CYLINDER = rotation.from_rpy(-0.5 * math.pi, 0.0, 0.0)
WHEELS_SCHEMA = {
    "title": "grouser.WheelStates",
    "type": "object",
    "properties": {
        "wheels": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "slip": {"type": "number"}, "excluded": {"type": "boolean"}},
            },
        }
    },
}
MONITOR_SCHEMA = {"title": "grouser.Monitor", "type": "object", "additionalProperties": {"type": ["boolean", "number"]}}


class LiveView:
    """Serves the node's estimate to Foxglove at `ws://host:port`, until it is closed."""

    def __init__(self, host: str = LOOPBACK, port: int = PORT, *, vehicle: Vehicle | None = None) -> None:
        """Start the server. Only this computer can reach it unless `host` is another of its addresses.

        `port` 0 takes a free one. With a vehicle the scene shows its box and wheels.
        """
        try:
            import foxglove
            from foxglove import channels, messages
        except ImportError:
            raise GrouserError("--foxglove needs foxglove-sdk; run: pip install grouser[foxglove]") from None
        foxglove.set_log_level("WARN")
        self._m = messages
        self._vehicle = vehicle
        self._path = PathSoFar()
        self._last = self._last_slow = -math.inf
        self._drawn: frozenset[str] | None = None
        context = foxglove.Context()
        try:
            self._server = foxglove.start_server(name="grouser", host=host, port=port, context=context)
        except (RuntimeError, OSError, ValueError, OverflowError) as why:
            raise GrouserError(f"Foxglove cannot be served at {host}:{port} ({why}); give a free port") from None
        self._odometry = channels.OdometryChannel("/odom", context=context)
        self._tf = channels.FrameTransformsChannel("/tf", context=context)
        self._poses = channels.PosesInFrameChannel("/path", context=context)
        self._scene = channels.SceneUpdateChannel("/scene", context=context)
        self._log = channels.LogChannel("/diagnostics", context=context)
        self._wheels = foxglove.Channel("/wheels", schema=WHEELS_SCHEMA, context=context)
        self._monitor = foxglove.Channel("/monitor", schema=MONITOR_SCHEMA, context=context)

    @property
    def port(self) -> int:
        """Port of the server."""
        return int(self._server.port)

    @property
    def url(self) -> str:
        """Link that opens Foxglove in a browser with this view; empty once closed."""
        return self._server.app_url() or ""

    def close(self) -> None:
        """Stop the server."""
        self._server.stop()

    def show(
        self,
        odometry: Odometry,
        *,
        slip: Mapping[str, float] | None = None,
        excluded: Collection[str] = (),
        monitor: Mapping[str, float] | None = None,
        diagnostics: DiagnosticArray | None = None,
    ) -> bool:
        """Show one estimate: pose and twist as sent to ROS, slip ratio and exclusion by wheel, monitor states by name.

        True if it was shown, False if less than 1/20 s has gone since the last (wall clock).
        """
        position = odometry.pose.pose.position
        self._path.add(position.x, position.y, position.z)
        if diagnostics is not None:
            self._show_diagnostics(diagnostics)
        now = time.monotonic()
        if now - self._last < 1.0 / RATE:
            return False
        self._last = now
        stamp = odometry.header.stamp
        nanoseconds = stamp.sec * 1_000_000_000 + stamp.nanosec
        m = self._m
        at = m.Timestamp(stamp.sec, stamp.nanosec)
        if self._odometry.has_sinks() or self._tf.has_sinks():
            self._show_pose(odometry, at, nanoseconds)
        if self._scene.has_sinks():
            self._scene.log(m.SceneUpdate(entities=[self._ellipsoid(odometry, at)]), log_time=nanoseconds)
        if self._wheels.has_sinks():
            names = self._vehicle.wheels if self._vehicle is not None else sorted({*(slip or {}), *excluded})
            wheels = [{"name": w, "slip": _finite((slip or {}).get(w)), "excluded": w in excluded} for w in names]
            self._wheels.log(json.dumps({"wheels": wheels}), log_time=nanoseconds)
        if self._monitor.has_sinks() and monitor:
            states = {name: value if isinstance(value, bool) else _finite(value) for name, value in monitor.items()}
            self._monitor.log(json.dumps(states), log_time=nanoseconds)
        out = frozenset(excluded)
        if now - self._last_slow >= SLOW or out != self._drawn:
            self._last_slow, self._drawn = now, out
            self._show_slow(odometry, at, nanoseconds, out)
        return True

    def _show_pose(self, odometry: Odometry, at: Timestamp, nanoseconds: int) -> None:
        m, pose, twist = self._m, odometry.pose.pose, odometry.twist.twist
        frame, body = odometry.header.frame_id, odometry.child_frame_id
        translation = m.Vector3(x=pose.position.x, y=pose.position.y, z=pose.position.z)
        q = pose.orientation
        turn = m.Quaternion(x=q.x, y=q.y, z=q.z, w=q.w)
        shown = m.Odometry(
            timestamp=at,
            frame_id=frame,
            body_frame_id=body,
            pose=m.Pose(position=translation, orientation=turn),
            linear_velocity=m.Vector3(x=twist.linear.x, y=twist.linear.y, z=twist.linear.z),
            angular_velocity=m.Vector3(x=twist.angular.x, y=twist.angular.y, z=twist.angular.z),
            pose_covariance=[float(x) for x in odometry.pose.covariance],
            velocity_covariance=[float(x) for x in odometry.twist.covariance],
        )
        self._odometry.log(shown, log_time=nanoseconds)
        moved = m.FrameTransform(
            timestamp=at, parent_frame_id=frame, child_frame_id=body, translation=translation, rotation=turn
        )
        self._tf.log(m.FrameTransforms(transforms=[moved]), log_time=nanoseconds)

    def _show_slow(self, odometry: Odometry, at: Timestamp, nanoseconds: int, excluded: frozenset[str]) -> None:
        m, frame = self._m, odometry.header.frame_id
        if self._poses.has_sinks():
            poses = [self._pose(point) for point in self._path.points]
            self._poses.log(m.PosesInFrame(timestamp=at, frame_id=frame, poses=poses), log_time=nanoseconds)
        if self._scene.has_sinks() and self._vehicle is not None:
            entities = [self._vehicle_entity(self._vehicle, odometry.child_frame_id, at, excluded)]
            self._scene.log(m.SceneUpdate(entities=entities), log_time=nanoseconds)

    def _show_diagnostics(self, diagnostics: DiagnosticArray) -> None:
        if not self._log.has_sinks():
            return
        m = self._m
        level = {0: m.LogLevel.Info, 1: m.LogLevel.Warning, 2: m.LogLevel.Error, 3: m.LogLevel.Warning}
        stamp = diagnostics.header.stamp
        for status in diagnostics.status:
            said = "; ".join([status.message, *(f"{one.key}: {one.value}" for one in status.values)])
            at = m.Timestamp(stamp.sec, stamp.nanosec)
            one = m.Log(timestamp=at, level=level.get(status.level, m.LogLevel.Unknown), name=status.name, message=said)
            self._log.log(one, log_time=stamp.sec * 1_000_000_000 + stamp.nanosec)

    def _vehicle_entity(self, vehicle: Vehicle, frame: str, at: Timestamp, excluded: frozenset[str]) -> SceneEntity:
        """Box and wheels in the body's frame, with all joints at zero; an excluded wheel is orange."""
        m = self._m
        box = scene_vehicle(vehicle, {})["frames"][0]["shapes"][0]
        cube = m.CubePrimitive(
            pose=self._pose(box["centre"], np.reshape(box["axes"], (3, 3))),
            size=_xyz(m, box["size"]),
            color=_rgba(m, BODY),
        )
        cylinders = []
        for i, (name, place) in enumerate(zip(vehicle.wheels, vehicle.wheel_positions, strict=True)):
            wheel = vehicle.frames[int(vehicle.arrays.wheel[i])]
            radius = float(vehicle.arrays.radius[i])
            size = (2.0 * radius, 2.0 * radius, wheel.width or WIDTH * radius)
            colour = EXCLUDED if name in excluded else TYRE
            cylinders.append(
                m.CylinderPrimitive(
                    pose=self._pose(place, R_WHEEL_CYLINDER),
                    size=_xyz(m, size),
                    bottom_scale=1.0,
                    top_scale=1.0,
                    color=_rgba(m, colour),
                )
            )
        return m.SceneEntity(
            timestamp=at, frame_id=frame, id="vehicle", frame_locked=True, cubes=[cube], cylinders=cylinders
        )

    def _ellipsoid(self, odometry: Odometry, at: Timestamp) -> SceneEntity:
        """Where the position is with 95 % probability."""
        m, place = self._m, odometry.pose.pose.position
        covariance = np.reshape(odometry.pose.covariance, (6, 6))[:3, :3]
        size, axes = np.zeros(3), np.eye(3)
        if np.isfinite(covariance).all():
            variances, axes = np.linalg.eigh(covariance)
            axes[:, 2] = np.cross(axes[:, 0], axes[:, 1])
            size = 2.0 * SIGMAS_95 * np.sqrt(np.maximum(variances, 0.0))
        sphere = m.SpherePrimitive(
            pose=self._pose((place.x, place.y, place.z), axes), size=_xyz(m, size), color=_rgba(m, ELLIPSOID)
        )
        return m.SceneEntity(timestamp=at, frame_id=odometry.header.frame_id, id="position 95 %", spheres=[sphere])

    def _pose(self, place: Any, R: Any = None) -> Pose:
        w, x, y, z = (1.0, 0.0, 0.0, 0.0) if R is None else rotation.to_quaternion(R).tolist()
        return self._m.Pose(position=_xyz(self._m, place), orientation=self._m.Quaternion(x=x, y=y, z=z, w=w))


def _xyz(m: Any, values: Any) -> Any:
    x, y, z = (float(value) for value in values)
    return m.Vector3(x=x, y=y, z=z)


def _rgba(m: Any, values: tuple[float, float, float, float]) -> Any:
    r, g, b, a = values
    return m.Color(r=r, g=g, b=b, a=a)


def _finite(value: float | None) -> float | None:
    """JSON has no NaN and no infinity."""
    return float(value) if value is not None and math.isfinite(value) else None
