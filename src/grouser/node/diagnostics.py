"""diagnostic_msgs/DiagnosticArray of a node: the estimate, the wheels, the monitor, each topic, the node itself."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from grouser.node.latency import Latency
from grouser.node.messages import DiagnosticArray, DiagnosticStatus, Header, KeyValue, Time
from grouser.node.watch import FAR, TopicWatch
from grouser.robot.estimate import RobotEstimate

__all__ = ["diagnostics"]

OK, WARN, ERROR, STALE = 0, 1, 2, 3
SAID = {
    "stuck": "the wheels turn and the robot does not move",
    "sliding": "the robot moves without its wheels",
    "ground_changed": "slip no longer fits the ground it was fitted to",
}


def diagnostics(
    estimate: RobotEstimate | None,
    faults: Mapping[str, int],
    topics: Sequence[TopicWatch],
    node: Mapping[str, Any],
    *,
    stamp: float,
    now: float,
    vehicle: str,
) -> DiagnosticArray:
    """All states. stamp: of the message [s]; now: monotonic [s]; node: what the node says of itself."""
    states = [_estimate(estimate, faults), *_wheels(estimate), *(_topic(one, now) for one in topics), _node(node)]
    for one in states:
        one.name, one.hardware_id = f"grouser: {one.name}", vehicle
    return DiagnosticArray(Header(Time.of(stamp), ""), states)


def _status(name: str, level: int, message: str, values: Mapping[str, Any]) -> DiagnosticStatus:
    return DiagnosticStatus(level, name, message, "", [KeyValue(key, _text(one)) for key, one in values.items()])


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return ", ".join(map(str, value)) if isinstance(value, (tuple, list)) else str(value)


def _estimate(estimate: RobotEstimate | None, faults: Mapping[str, int]) -> DiagnosticStatus:
    counted = {f"fault {kind}": count for kind, count in faults.items()}
    if estimate is None:
        return _status("estimate", STALE, "no estimate yet: no sample of the joints has come", counted)
    variance = np.diag(np.reshape(estimate.ros_pose_covariance(), (6, 6)))
    values = {
        "x [m]": float(estimate.position[0]),
        "y [m]": float(estimate.position[1]),
        "z [m]": float(estimate.position[2]),
        "sigma of position [m]": math.sqrt(max(float(variance[:2].sum()), 0.0)),
        "sigma of yaw [rad]": math.sqrt(max(float(variance[5]), 0.0)),
        "degraded": estimate.degraded,
    }
    level, said = OK, "ok"
    if estimate.degraded:
        level, said = WARN, f"larger covariance, because of {', '.join(estimate.degraded)}"
    return _status("estimate", level, said, {**values, **counted})


def _wheels(estimate: RobotEstimate | None) -> list[DiagnosticStatus]:
    """The wheels that are not believed, and the alarms of the monitor."""
    if estimate is None:
        return []
    out = estimate.excluded
    said = f"not used: {', '.join(out)}" if out else "all wheels are used"
    on = [SAID[name] for name, holds in estimate.alarms.items() if holds]
    level = ERROR if estimate.stuck or estimate.sliding else WARN if on else OK
    return [
        _status("wheels", WARN if out else OK, said, {"excluded": out}),
        _status("monitor", level, "; ".join(on) or "ok", estimate.alarms),
    ]


def _topic(topic: TopicWatch, now: float) -> DiagnosticStatus:
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


def _node(node: Mapping[str, Any]) -> DiagnosticStatus:
    values = dict(node)
    latency: Latency = values.pop("latency")
    values |= {f"latency {name} [ms]": one for name, one in latency.summary().items() if name != "count"}
    notes = values.pop("notes")
    return _status("node", WARN if notes else OK, "; ".join(notes) or "ok", values)
