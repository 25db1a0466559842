"""An estimate as ROS messages: odometry and transform in the frames of REP-105, and diagnostics of the node."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from grouser.checks import FloatArray
from grouser.node import messages as ros
from grouser.node.watch import FAR, Latency, TopicWatch
from grouser.robot.estimate import RobotEstimate

LEAST_VARIANCE = 1e-9
"""Smallest variance that is sent [SI]; robot_localization takes a zero for a mistake and replaces it by this."""
OK, WARN, ERROR, STALE = 0, 1, 2, 3
ALARM_MEANING = {
    "stuck": "the wheels turn and the robot does not move",
    "sliding": "the robot moves without its wheels",
    "ground_changed": "slip no longer fits the ground it was fitted to",
}


def odometry_message(estimate: RobotEstimate, frame: str, child: str) -> ros.Odometry:
    """nav_msgs/Odometry: pose of `child` in `frame`, twist in `child`, both with covariance."""
    pose = ros.Pose(ros.Point(*estimate.position.tolist()), _quaternion(estimate))
    twist = ros.Twist(ros.Vector3(*estimate.twist[3:].tolist()), ros.Vector3(*estimate.twist[:3].tolist()))
    return ros.Odometry(
        ros.Header(ros.Time.of(estimate.time), frame),
        child,
        ros.PoseWithCovariance(pose, _covariance(estimate.ros_pose_covariance())),
        ros.TwistWithCovariance(twist, _covariance(estimate.ros_twist_covariance())),
    )


def transform_message(estimate: RobotEstimate, frame: str, child: str) -> ros.TFMessage:
    """tf2_msgs/TFMessage: the same pose as a transform."""
    transform = ros.Transform(ros.Vector3(*estimate.position.tolist()), _quaternion(estimate))
    return ros.TFMessage([ros.TransformStamped(ros.Header(ros.Time.of(estimate.time), frame), child, transform)])


def _quaternion(estimate: RobotEstimate) -> ros.Quaternion:
    w, x, y, z = estimate.quaternion.tolist()
    return ros.Quaternion(x, y, z, w)


def _covariance(rows: FloatArray) -> FloatArray:
    """A covariance as it is sent: symmetric to the last bit, no zero on its diagonal."""
    matrix = np.reshape(rows, (6, 6))
    matrix = 0.5 * (matrix + matrix.T)
    at = np.arange(6)
    matrix[at, at] = np.maximum(matrix[at, at], LEAST_VARIANCE)
    return matrix.ravel()


def diagnostics(
    estimate: RobotEstimate | None,
    faults: Mapping[str, int],
    topics: Sequence[TopicWatch],
    node: Mapping[str, Any],
    *,
    stamp: float,
    now: float,
    vehicle: str,
) -> ros.DiagnosticArray:
    """All states. stamp: of the message [s]; now: monotonic [s]; node: what the node says of itself."""
    states = [_estimate(estimate, faults), *_wheels(estimate), *(_topic(one, now) for one in topics), _node(node)]
    for one in states:
        one.name, one.hardware_id = f"grouser: {one.name}", vehicle
    return ros.DiagnosticArray(ros.Header(ros.Time.of(stamp), ""), states)


def _status(name: str, level: int, message: str, values: Mapping[str, Any]) -> ros.DiagnosticStatus:
    return ros.DiagnosticStatus(
        level, name, message, "", [ros.KeyValue(key, _text(one)) for key, one in values.items()]
    )


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return ", ".join(map(str, value)) if isinstance(value, (tuple, list)) else str(value)


def _estimate(estimate: RobotEstimate | None, faults: Mapping[str, int]) -> ros.DiagnosticStatus:
    counted = {f"fault {kind}": count for kind, count in faults.items()}
    if estimate is None:
        return _status("estimate", STALE, "no estimate yet: no sample of the joints has come", counted)
    variance = np.diag(np.reshape(estimate.ros_pose_covariance(), (6, 6)))
    values = {
        **{f"{axis} [m]": value for axis, value in zip("xyz", estimate.position.tolist(), strict=True)},
        "sigma of position [m]": math.sqrt(max(float(variance[:2].sum()), 0.0)),
        "sigma of yaw [rad]": math.sqrt(max(float(variance[5]), 0.0)),
        "degraded": estimate.degraded,
    }
    level, said = OK, "ok"
    if estimate.degraded:
        level, said = WARN, f"larger covariance, because of {', '.join(estimate.degraded)}"
    return _status("estimate", level, said, {**values, **counted})


def _wheels(estimate: RobotEstimate | None) -> list[ros.DiagnosticStatus]:
    """Wheels excluded from the estimate, and alarms of the monitor."""
    if estimate is None:
        return []
    out = estimate.excluded
    said = f"not used: {', '.join(out)}" if out else "all wheels are used"
    on = [ALARM_MEANING[name] for name, holds in estimate.alarms.items() if holds]
    level = ERROR if estimate.stuck or estimate.sliding else WARN if on else OK
    return [
        _status("wheels", WARN if out else OK, said, {"excluded": out}),
        _status("monitor", level, "; ".join(on) or "ok", estimate.alarms),
    ]


def _topic(topic: TopicWatch, now: float) -> ros.DiagnosticStatus:
    values = {
        "type": topic.type, "messages": topic.messages, "rate [Hz]": topic.rate, "damaged": topic.damaged,
        "refused": topic.refused, "delay median [ms]": 1e3 * topic.delay.quantile(0.5),
        "delay 99 % [ms]": 1e3 * topic.delay.quantile(0.99),
    }  # fmt: skip
    level, said = OK, "ok"
    silence = topic.silence(now)
    if silence == math.inf:
        level, said = ERROR, "no message has come"
    elif silence is not None:
        level, said = STALE, f"silent for {silence:.1f} s"
    elif topic.damaged or topic.refused:
        level, said = WARN, f"{topic.damaged} damaged and {topic.refused} refused messages: {topic.problem}"
    elif abs(topic.offset) > FAR:
        level, said = WARN, f"stamps are {topic.offset:.1f} s behind the clock of this computer"
    return _status(topic.name, level, said, values)


def _node(node: Mapping[str, Any]) -> ros.DiagnosticStatus:
    values = dict(node)
    latency: Latency = values.pop("latency")
    values |= {f"latency {name} [ms]": one for name, one in latency.summary().items() if name != "count"}
    notes = values.pop("notes")
    return _status("node", WARN if notes else OK, "; ".join(notes) or "ok", values)
