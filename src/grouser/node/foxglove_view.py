"""The estimate of a node, live in Foxglove: a WebSocket server with the types of foxglove-sdk.

Topics: `/odom` (pose and twist with covariances), `/tf`, `/path`, `/scene` (box, wheels, 95 % ellipsoid of the
position), `/wheels` (which are excluded), `/slip`, `/monitor`, `/diagnostics`. A message without a subscriber is not
built.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

from grouser.errors import GrouserError
from grouser.node.messages import DiagnosticArray, Odometry, Time
from grouser.robot.estimate import ALARMS
from grouser.vehicles.vehicle import Vehicle
from grouser.view.foxglove import schema

try:
    import foxglove
    from foxglove import channels
    from foxglove import messages as m

    from grouser.node.foxglove_scene import PathSoFar, ellipsoid_entity, path_poses, vector, vehicle_entity
except ImportError:
    raise GrouserError("--foxglove needs foxglove-sdk; run: pip install grouser[foxglove]") from None

LOOPBACK = "127.0.0.1"
PORT = 8765
"""Foxglove's own default."""
RATE = 20.0
"""Highest rate of messages of one topic [Hz]; `show` does nothing if called sooner."""
SLOW = 1.0
"""Period of the path and of the vehicle's shapes [s], which a late client needs too."""
SCHEMAS = {
    "/wheels": schema(
        "grouser.WheelStates",
        {"grouser.WheelStates": "wheels:grouser.WheelState*", "grouser.WheelState": "name:text excluded:flag"},
    ),
    "/slip": {
        "title": "grouser.Slip",
        "description": "Velocity minus that of pure rolling: ahead, left [m/s], yaw [rad/s]; share of speed lost",
        "type": "object",
        "properties": {name: {"type": ["number", "null"]} for name in ("ahead", "left", "yaw", "share")},
    },
    "/monitor": schema("grouser.Monitor", {"grouser.Monitor": " ".join(f"{name}:flag" for name in ALARMS)}),
}
"""JSON Schemas of the topics whose types are not Foxglove's."""
SLOWEST = 0.02
"""Rolling speed [m/s] below which the share is not given."""


class Slip(NamedTuple):
    """Velocity of the body minus that of rolling without slip; None where it is not known."""

    ahead: float | None
    """[m/s]"""
    left: float | None
    """[m/s]"""
    yaw: float | None
    """[rad/s]"""
    share: float | None
    """Share of the rolling speed that is lost; None below 2 cm/s."""


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
        self._vehicle = vehicle
        self._path = PathSoFar()
        self._last = self._last_slow = -math.inf
        self._drawn: frozenset[str] | None = None
        self._shape: tuple[frozenset[str], m.SceneEntity] | None = None
        self._context = context = foxglove.Context()  # held: without it the channels are gone
        try:
            self._server = foxglove.start_server(name="grouser", host=host, port=port, context=context)
        except (RuntimeError, OSError, ValueError, OverflowError) as why:
            raise GrouserError(f"Foxglove cannot be served at {host}:{port} ({why}); give a free port") from None
        self._channels: dict[str, Any] = {
            "/odom": channels.OdometryChannel("/odom", context=context),
            "/tf": channels.FrameTransformsChannel("/tf", context=context),
            "/path": channels.PosesInFrameChannel("/path", context=context),
            "/scene": channels.SceneUpdateChannel("/scene", context=context),
            "/diagnostics": channels.LogChannel("/diagnostics", context=context),
        }
        for topic, described in SCHEMAS.items():
            self._channels[topic] = foxglove.Channel(topic, schema=described, context=context)

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
        for channel in self._channels.values():
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
        at, nanoseconds = _time(odometry.header.stamp)
        out = frozenset(excluded)

        def log(topic: str, make: Callable[[], Any]) -> None:
            """Build and send a message if a client has subscribed to its topic."""
            channel = self._channels[topic]
            if channel.has_sinks():
                channel.log(make(), log_time=nanoseconds)

        log("/odom", lambda: _odometry(odometry, at))
        log("/tf", lambda: _transform(odometry, at))
        log("/scene", lambda: m.SceneUpdate(entities=[ellipsoid_entity(odometry, at)]))
        names = self._vehicle.wheels if self._vehicle is not None else sorted(out)
        log("/wheels", lambda: {"wheels": [{"name": name, "excluded": name in out} for name in names]})
        if monitor is not None:
            log("/monitor", lambda: {name: bool(holds) for name, holds in monitor.items()})
        if slip is not None:
            log("/slip", slip._asdict)
        if now - self._last_slow >= SLOW or out != self._drawn:
            self._last_slow, self._drawn = now, out
            frame = odometry.header.frame_id
            log("/path", lambda: m.PosesInFrame(timestamp=at, frame_id=frame, poses=path_poses(self._path.points)))
            if self._vehicle is not None:
                body = odometry.child_frame_id
                log("/scene", lambda: m.SceneUpdate(entities=[self._vehicle_shape(body, at, out)]))

    def _vehicle_shape(self, frame: str, at: m.Timestamp, excluded: frozenset[str]) -> m.SceneEntity:
        """The vehicle, built again only if other wheels are excluded."""
        assert self._vehicle is not None
        if self._shape is None or self._shape[0] != excluded:
            self._shape = excluded, vehicle_entity(self._vehicle, frame, at, excluded)
        return self._shape[1]

    def _show_diagnostics(self, diagnostics: DiagnosticArray) -> None:
        channel = self._channels["/diagnostics"]
        if not channel.has_sinks():
            return
        level = {0: m.LogLevel.Info, 1: m.LogLevel.Warning, 2: m.LogLevel.Error, 3: m.LogLevel.Warning}
        at, nanoseconds = _time(diagnostics.header.stamp)
        for status in diagnostics.status:
            said = "; ".join([status.message, *(f"{one.key}: {one.value}" for one in status.values)])
            one = m.Log(timestamp=at, level=level.get(status.level, m.LogLevel.Unknown), name=status.name, message=said)
            channel.log(one, log_time=nanoseconds)


def _odometry(odometry: Odometry, at: m.Timestamp) -> m.Odometry:
    twist = odometry.twist.twist
    position, orientation = _place(odometry)
    return m.Odometry(
        timestamp=at,
        frame_id=odometry.header.frame_id,
        body_frame_id=odometry.child_frame_id,
        pose=m.Pose(position=position, orientation=orientation),
        linear_velocity=vector((twist.linear.x, twist.linear.y, twist.linear.z)),
        angular_velocity=vector((twist.angular.x, twist.angular.y, twist.angular.z)),
        pose_covariance=[float(x) for x in odometry.pose.covariance],
        velocity_covariance=[float(x) for x in odometry.twist.covariance],
    )


def _transform(odometry: Odometry, at: m.Timestamp) -> m.FrameTransforms:
    parent, child = odometry.header.frame_id, odometry.child_frame_id
    position, orientation = _place(odometry)
    moved = m.FrameTransform(
        timestamp=at, parent_frame_id=parent, child_frame_id=child, translation=position, rotation=orientation
    )
    return m.FrameTransforms(transforms=[moved])


def _place(odometry: Odometry) -> tuple[m.Vector3, m.Quaternion]:
    p, q = odometry.pose.pose.position, odometry.pose.pose.orientation
    return vector((p.x, p.y, p.z)), m.Quaternion(x=q.x, y=q.y, z=q.z, w=q.w)


def _time(stamp: Time) -> tuple[m.Timestamp, int]:
    """A stamp as Foxglove has it, also in nanoseconds; it has none before 1970."""
    sec = max(stamp.sec, 0)
    return m.Timestamp(sec, stamp.nanosec), sec * 1_000_000_000 + stamp.nanosec
