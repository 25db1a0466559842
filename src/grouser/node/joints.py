"""Joint messages to the rates and angles of the chain: one topic of all joints, or one per side or wheel."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from grouser.checks import FloatArray
from grouser.errors import LogError
from grouser.logs.manifest import Signal

__all__ = ["JointFeed", "Joints"]

TABLES = ("rates", "angles", "currents")


class Joints:
    """The joints' values, gathered from several topics until each has sent one; then they go to the chain.

    A topic that sends a second time before another has sent at all: the other is late or lost, its joints are NaN.
    """

    def __init__(self, joints: int, topics: int) -> None:
        """Of so many joints, whose values come from so many topics."""
        self.values = {name: np.full(joints, np.nan) for name in TABLES}
        self.given: set[str] = set()
        """The tables that the topics fill."""
        self._waiting = frozenset(range(topics))
        self._missing = set(self._waiting)
        self._time = 0.0

    def begin(self, topic: int, robot: Any, t: float) -> None:
        """A message of a topic comes; what is there goes first if it holds one of the same topic already."""
        if topic not in self._missing:
            self._send(robot, self._time)
        self._time = t

    def end(self, topic: int, robot: Any, t: float) -> None:
        """The values of a topic's message are in place."""
        self._missing.discard(topic)
        if not self._missing:
            self._send(robot, t)

    def _send(self, robot: Any, t: float) -> None:
        values = self.values
        more = {"currents": values["currents"]} if "currents" in self.given else {}
        robot.joints(t, values["rates"], values["angles"] if "angles" in self.given else None, **more)
        for one in values.values():
            one.fill(np.nan)
        self._missing = set(self._waiting)


class JointFeed:
    """The values of one topic: a sensor_msgs/JointState, or one number per message."""

    def __init__(self, joints: Joints, topic: int, signals: dict[str, Signal], order: Sequence[str]) -> None:
        """For the signals of a topic by key, "rates.FL", and the joints of the vehicle in their order."""
        self._joints, self._topic = joints, topic
        lags = {one.lag for one in signals.values()}
        if len(lags) > 1:
            raise LogError(f"{', '.join(signals)}: have different lags; the joints of one message have one")
        self._lag = lags.pop()
        self._groups = [
            _Group(joints.values[table], table, {key: signals[key] for key in keys}, order)
            for table, keys in _by_group(signals).items()
        ]
        joints.given |= {key.split(".")[0] for key in signals}

    def __call__(self, robot: Any, message: Any, t: float) -> None:
        """Take the values of a message of time t [s]."""
        at = t - self._lag
        self._joints.begin(self._topic, robot, at)
        for group in self._groups:
            group.take(message, at)
        self._joints.end(self._topic, robot, at)


def _by_group(signals: dict[str, Signal]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for key in signals:
        groups.setdefault(key.split(".")[0], []).append(key)
    return groups


class _Group:
    """Values of one table that come from one topic."""

    def __init__(self, into: FloatArray, table: str, signals: dict[str, Signal], order: Sequence[str]) -> None:
        self._into = into
        ones = list(signals.values())
        self._at = np.array([order.index(key.split(".", 1)[1]) for key in signals])
        self._factor = np.array([one.factor(key) for key, one in signals.items()])
        self._names = [one.joint for one in ones]
        fields = {str(one.field) for one in ones}
        if len(fields) > 1:
            raise LogError(
                f"{', '.join(signals)}: have the fields {', '.join(sorted(fields))}; those of a topic have one"
            )
        self._get = attrgetter(fields.pop())
        kinds = {one.kind or "rate" for one in ones}
        if len(kinds) > 1:
            raise LogError(
                f"{', '.join(signals)}: have the kinds {', '.join(sorted(kinds))}; those of a topic have one"
            )
        self._kind = kinds.pop()
        self._seen: list[str] | None = None
        self._from = np.zeros(0, np.int64)
        self._last: tuple[float, FloatArray] | None = None

    def take(self, message: Any, t: float) -> None:
        """Fill the values in; NaN stays where the message has none, and where a rate cannot be made yet."""
        values = self._factor * self._numbers(message)
        if self._kind != "rate":
            before, self._last = self._last, (t, values)
            step = np.nan if before is None or t <= before[0] else t - before[0]
            values = (values if self._kind == "increment" or before is None else values - before[1]) / step
        self._into[self._at] = values

    def _numbers(self, message: Any) -> FloatArray:
        if self._names[0] is None:
            return np.array([self._get(message)])
        if message.name != self._seen:
            self._seen = message.name
            place = {name: k for k, name in enumerate(message.name)}
            self._from = np.array([place.get(name, -1) for name in self._names])
        values = self._get(message)
        at = np.where(self._from < len(values), self._from, -1)
        if (at < 0).any():
            return np.array([values[k] if k >= 0 else np.nan for k in at])
        found: FloatArray = values[at]
        return found
