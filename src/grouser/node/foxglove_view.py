"""What the node estimates, live in Foxglove: a WebSocket server with the types of foxglove-sdk.

Topics: `/odom` (pose and twist with covariances), `/tf`, `/path`, `/scene` (box, wheels, 95 % ellipsoid of the
position), `/wheels` (which are excluded), `/slip`, `/monitor`, `/diagnostics`. What no client looks at is not built.
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from grouser.errors import GrouserError
from grouser.node.foxglove_scene import ellipsoid_entity, path_poses, vehicle_entity
from grouser.node.path import PathSoFar
from grouser.robot.estimate import ALARMS
from grouser.vehicles.vehicle import Vehicle

if TYPE_CHECKING:
    from foxglove.messages import SceneEntity, Timestamp

    from grouser.node.messages import DiagnosticArray, Odometry, Time

__all__ = ["LOOPBACK", "PORT", "LiveView", "Slip", "slip_of"]

LOOPBACK = "127.0.0.1"
PORT = 8765
"""Foxglove's own default."""
RATE = 20.0
"""Most messages of one topic in a second; `show` does nothing if called sooner."""
SLOW = 1.0
"""Seconds between messages of the path and of the vehicle's shapes, which a client that comes late needs too."""
WHEELS_SCHEMA = {
    "title": "grouser.WheelStates",
    "type": "object",
    "properties": {
        "wheels": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "excluded": {"type": "boolean"}},
            },
        }
    },
}
SLIP_SCHEMA = {
    "title": "grouser.Slip",
    "description": "Velocity less that of rolling without slip: ahead, left [m/s], yaw [rad/s]; share of speed lost",
    "type": "object",
    "properties": {name: {"type": ["number", "null"]} for name in ("ahead", "left", "yaw", "share")},
}
MONITOR_SCHEMA = {
    "title": "grouser.Monitor",
    "type": "object",
    "properties": {name: {"type": "boolean"} for name in ALARMS},
}
SLOWEST = 0.02
"""Rolling speed [m/s] below which no share of it is given."""


class Slip(NamedTuple):
    """Velocity of the body less that of its wheels rolling without slip; None where it is not known."""

    ahead: float | None
    """[m/s]"""
    left: float | None
    """[m/s]"""
    yaw: float | None
    """[rad/s]"""
    share: float | None
    """Share of the rolling speed that is lost; none below 2 cm/s."""


def slip_of(estimate: Any) -> Slip | None:
    """Slip of an estimate of `grouser.Robot`; None before the first sample of the wheels."""
    wheels = getattr(estimate, "wheels", None)
    if wheels is None:
        return None
    rolling = wheels.odometry_twist
    slip = estimate.twist - rolling
    share = -slip[3] / rolling[3] if abs(rolling[3]) > SLOWEST else math.nan
    return Slip(*(float(one) if math.isfinite(one) else None for one in (slip[3], slip[4], slip[2], share)))


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
        self._m = messages
        self._vehicle = vehicle
        self._path = PathSoFar()
        self._last = self._last_slow = -math.inf
        self._drawn: frozenset[str] | None = None
        self._shape: tuple[frozenset[str], SceneEntity] | None = None
        self._context = context = foxglove.Context()  # held: without it the channels are gone
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
        self._slip = foxglove.Channel("/slip", schema=SLIP_SCHEMA, context=context)
        self._monitor = foxglove.Channel("/monitor", schema=MONITOR_SCHEMA, context=context)
        self._channels: list[Any] = [self._odometry, self._tf, self._poses, self._scene, self._log]
        self._channels += [self._wheels, self._slip, self._monitor]

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
        for channel in self._channels:
            channel.close()

    def show(
        self,
        odometry: Odometry,
        *,
        excluded: Collection[str] = (),
        monitor: Mapping[str, bool] | None = None,
        slip: Slip | None = None,
        diagnostics: DiagnosticArray | None = None,
    ) -> None:
        """Show what the node publishes: odometry, excluded wheels, alarms by name, slip (`slip_of`), new diagnostics.

        At most 20 times in a second (wall clock); other estimates only lengthen the path.
        """
        position = odometry.pose.pose.position
        self._path.add(position.x, position.y, position.z)
        if diagnostics is not None:
            self._show_diagnostics(diagnostics)
        now = time.monotonic()
        if now - self._last < 1.0 / RATE:
            return
        self._last = now
        m = self._m
        at, nanoseconds = self._time(odometry.header.stamp)
        if self._odometry.has_sinks() or self._tf.has_sinks():
            self._show_pose(odometry, at, nanoseconds)
        if self._scene.has_sinks():
            self._scene.log(m.SceneUpdate(entities=[ellipsoid_entity(odometry, at)]), log_time=nanoseconds)
        out = frozenset(excluded)
        if self._wheels.has_sinks():
            names = self._vehicle.wheels if self._vehicle is not None else sorted(out)
            wheels = [{"name": name, "excluded": name in out} for name in names]
            self._wheels.log({"wheels": wheels}, log_time=nanoseconds)
        if monitor is not None and self._monitor.has_sinks():
            self._monitor.log({name: bool(holds) for name, holds in monitor.items()}, log_time=nanoseconds)
        if slip is not None and self._slip.has_sinks():
            self._slip.log(slip._asdict(), log_time=nanoseconds)
        if now - self._last_slow >= SLOW or out != self._drawn:
            self._last_slow, self._drawn = now, out
            self._show_slow(odometry, at, nanoseconds, out)

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
            poses = path_poses(self._path.points)
            self._poses.log(m.PosesInFrame(timestamp=at, frame_id=frame, poses=poses), log_time=nanoseconds)
        if self._scene.has_sinks() and self._vehicle is not None:
            if self._shape is None or self._shape[0] != excluded:
                self._shape = excluded, vehicle_entity(self._vehicle, odometry.child_frame_id, at, excluded)
            self._scene.log(m.SceneUpdate(entities=[self._shape[1]]), log_time=nanoseconds)

    def _show_diagnostics(self, diagnostics: DiagnosticArray) -> None:
        if not self._log.has_sinks():
            return
        m = self._m
        level = {0: m.LogLevel.Info, 1: m.LogLevel.Warning, 2: m.LogLevel.Error, 3: m.LogLevel.Warning}
        at, nanoseconds = self._time(diagnostics.header.stamp)
        for status in diagnostics.status:
            said = "; ".join([status.message, *(f"{one.key}: {one.value}" for one in status.values)])
            one = m.Log(timestamp=at, level=level.get(status.level, m.LogLevel.Unknown), name=status.name, message=said)
            self._log.log(one, log_time=nanoseconds)

    def _time(self, stamp: Time) -> tuple[Timestamp, int]:
        """A stamp as Foxglove has it, also in nanoseconds; it has none before 1970."""
        sec = max(stamp.sec, 0)
        return self._m.Timestamp(sec, stamp.nanosec), sec * 1_000_000_000 + stamp.nanosec
