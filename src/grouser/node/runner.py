"""The node: messages in, the chain on board, messages out. One thread computes; those of the transport only deliver."""

from __future__ import annotations

import math
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

from grouser.errors import GrouserError
from grouser.node.cdr import MessageError, decode
from grouser.node.checkpoint import Checkpoints
from grouser.node.fields import Message
from grouser.node.inbox import Inbox, Letter
from grouser.node.inputs import Inputs
from grouser.node.messages import Bool, DiagnosticArray, Odometry, TFMessage
from grouser.node.outputs import diagnostics, odometry_message, transform_message
from grouser.node.transport import Transport
from grouser.node.watch import Latency, TopicWatch
from grouser.robot.estimate import ALARMS, RobotEstimate
from grouser.robot.robot import Robot, give

SLOW = 1.0
"""Period of diagnostics and checkpoints [s]."""
SWITCH = 5e-4
"""Switch interval of Python's threads [s]; the default of 5 ms would add to the latency."""

_Read = tuple[float, Message, Letter]
"""Time [s], message, and its letter."""
View = Callable[[Odometry, RobotEstimate, DiagnosticArray | None], None]
"""Called with each publication: odometry, its estimate, and once a second the diagnostics."""


@dataclass(frozen=True, kw_only=True)
class NodeSettings:
    """Names and rates of what a node publishes."""

    rate: float = 50.0
    """Highest rate of odometry and transform [Hz]; no estimate is sent twice."""
    topic: str = "/odom"
    """Of nav_msgs/Odometry."""
    frame: str = "odom"
    """Frame of the pose (REP-105)."""
    child: str = "base_link"
    """Frame of the body."""
    transform: bool = True
    """Whether the transform is sent on /tf; only one node may send it."""
    diagnostics: str = "/diagnostics"
    """Of diagnostic_msgs/DiagnosticArray."""
    monitor: str = "/monitor"
    """Prefix of the alarms: /monitor/stuck, /monitor/sliding, /monitor/ground_changed."""


class Node:
    """Feeds a chain from the topics of a transport and publishes its estimate."""

    def __init__(
        self,
        robot: Robot,
        inputs: Inputs,
        transport: Transport,
        settings: NodeSettings | None = None,
        *,
        vehicle: str = "",
        checkpoints: Checkpoints | None = None,
        view: View | None = None,
        save: Callable[[], Mapping[str, Any]] = dict,
        note: str = "",
    ) -> None:
        """Subscribe and announce.

        save: arrays of the chain for a checkpoint. note: what diagnostics say of the start, such as that it resumed.
        """
        self._robot, self._topics, self._transport = robot, inputs.topics, transport
        self._reader = inputs.reader
        self._settings = settings or NodeSettings()
        self._vehicle, self._checkpoints, self._view, self._note = vehicle, checkpoints, view, note
        self._save = save
        watches = {one.name: TopicWatch(one.name) for one in self._topics}
        self._watches = list(watches.values())
        self._watch_of = [watches[one.name] for one in self._topics]
        self._inbox = Inbox(len(self._topics))
        self._stopping = threading.Event()
        self.latency = Latency()
        """From the arrival of the last message of an estimate to its publication."""
        self.published = 0
        """Number of estimates so far."""
        self._sent, self._newest = -math.inf, math.nan
        self._next_slow = 0.0
        self._states: DiagnosticArray | None = None
        self._alarms: dict[str, bool] = {}
        self._peers: set[str] = set()
        given = self._settings
        self._odometry = transport.publisher(given.topic, Odometry)
        self._transform = transport.publisher("/tf", TFMessage) if given.transform else None
        self._diagnostics = transport.publisher(given.diagnostics, DiagnosticArray)
        self._monitor = {name: transport.publisher(f"{given.monitor}/{name}", Bool) for name in ALARMS}
        for k, one in enumerate(self._topics):
            transport.subscribe(one.name, one.type, self._inbox.receiver(k), reliable=False)

    def stop(self) -> None:
        """End `run`, from any thread or a signal."""
        self._stopping.set()

    def run(self, seconds: float = math.inf) -> None:
        """Run until stopped or for this time [s]; then write a last checkpoint."""
        until = time.monotonic() + seconds
        before = sys.getswitchinterval()
        sys.setswitchinterval(min(before, SWITCH))
        try:
            while not self._stopping.is_set() and (now := time.monotonic()) < until:
                self._work(now, until)
        finally:
            sys.setswitchinterval(before)
            if self._checkpoints is not None:
                self._checkpoints.close(self._state())

    def _work(self, now: float, until: float) -> None:
        """Process the messages that have arrived; publish if it is time."""
        due = self._sent + 1.0 / self._settings.rate
        wait = min(self._next_slow, until, due if due > now and self._newest == self._newest else math.inf) - now
        letters = self._inbox.take(min(max(wait, 0.0), 0.2))
        # In the order of their stamps: for a late signal the chain must replay.
        for read in sorted(filter(None, map(self._read, letters)), key=itemgetter(0)):
            self._feed(*read)
        now = time.monotonic()
        if self._newest == self._newest and now >= due:
            self._publish(now)
        if now >= self._next_slow:
            self._next_slow = now + SLOW
            self._diagnose(now)

    def _read(self, letter: Letter) -> _Read | None:
        topic, watch = self._topics[letter.topic], self._watch_of[letter.topic]
        try:
            message = decode(topic.type, letter.data)
        except MessageError as problem:
            watch.damaged, watch.problem = watch.damaged + 1, str(problem)
            return None
        t = self._reader.time(letter.arrived, message)
        watch.take(topic.type.NAME, t, letter.arrived, letter.now)
        return t, message, letter

    def _feed(self, t: float, message: Message, letter: Letter) -> None:
        try:
            for event in self._reader.take(self._topics[letter.topic].given, letter.arrived, message, t):
                give(self._robot, event)
        except GrouserError as problem:
            watch = self._watch_of[letter.topic]
            watch.refused, watch.problem = watch.refused + 1, str(problem)
            return
        self._newest = letter.now

    def _publish(self, now: float) -> None:
        estimate = self._robot.estimate
        if estimate is None or not math.isfinite(estimate.time):
            return
        given = self._settings
        message = odometry_message(estimate, given.frame, given.child)
        self._odometry(message)
        due = self._sent + 1.0 / given.rate
        self._sent = due if now < due + 1.0 / given.rate else now  # a message that is a little late keeps the rate
        arrived, self._newest = self._newest, math.nan
        self.latency.add(time.monotonic() - arrived)
        self.published += 1
        if self._transform is not None:
            self._transform(transform_message(estimate, given.frame, given.child))
        if (alarms := estimate.alarms) != self._alarms:
            self._alarms = alarms
            self._publish_alarms()
        if self._view is not None:
            self._view(message, estimate, self._states)
            self._states = None

    def _publish_alarms(self) -> None:
        for name, holds in self._alarms.items():
            self._monitor[name](Bool(holds))

    def _diagnose(self, now: float) -> None:
        """Once a second: diagnostics, alarms for late subscribers, a checkpoint."""
        for one in self._watches:
            one.count(now)
        self._publish_alarms()
        self._states = diagnostics(
            self._robot.estimate, self._robot.faults, self._watches, self._about(), stamp=time.time(), now=now,
            vehicle=self._vehicle,
        )  # fmt: skip
        self._diagnostics(self._states)
        if self._checkpoints is not None and (state := self._state()) is not None:
            self._checkpoints.put(state)

    def _about(self) -> dict[str, Any]:
        """State of the node itself, for diagnostics."""
        publishers = {f"{one.topic} {one.identity}" for one in self._transport.peers() if one.publishes}
        gone = sorted({one.split()[0] for one in self._peers - publishers})
        self._peers |= publishers
        if len(self._peers) > 1000:
            self._peers = publishers
        heard = {one.split()[0] for one in publishers}
        lost = sum(self._inbox.lost)
        notes = [self._note] if self._note else []
        notes += [f"the publisher of {name} has disappeared" for name in gone if name not in heard]
        if lost:
            notes.append(f"{lost} messages came faster than they could be used")
        notes += self._transport_faults()
        if self._checkpoints is not None and self._checkpoints.problem:
            notes.append(self._checkpoints.problem)
        return {
            "latency": self.latency, "notes": notes, "published": self.published, "publishers": len(publishers),
            "lost in the queue": lost, "lost on the way": self._transport.lost(), "memory [MB]": resident_megabytes(),
            "checkpoints": 0 if self._checkpoints is None else self._checkpoints.written,
            **{f"left out: {reason}": count for reason, count in self._reader.left_out.items()},
            **self._transport_faults(),
        }  # fmt: skip

    def _transport_faults(self) -> dict[str, int]:
        """Messages that a transport received and could not use, by reason, where it counts them."""
        return dict(getattr(self._transport, "faults", dict)())

    def _state(self) -> dict[str, Any] | None:
        """Arrays from which the node continues after a restart; None before the first estimate."""
        if self._robot.estimate is None:
            return None
        state = dict(self._save())
        if self._reader.datum is not None:
            state["datum"] = self._reader.datum
        return state

    def summary(self) -> dict[str, Any]:
        """Counts, latency and the last pose."""
        estimate = self._robot.estimate
        return {
            "published": self.published,
            "messages": {one.name: one.messages for one in self._watches},
            "lost": {"queue": sum(self._inbox.lost), "way": self._transport.lost()},
            "damaged": sum(one.damaged for one in self._watches),
            "refused": sum(one.refused for one in self._watches),
            "left_out": dict(self._reader.left_out),
            "transport_faults": self._transport_faults(),
            "latency_ms": self.latency.summary(),
            "memory_mb": resident_megabytes(),
            "position": None if estimate is None else [float(one) for one in estimate.position],
            "faults": dict(self._robot.faults),
        }


def resident_megabytes() -> float:
    """Resident memory of this process [MB]; 0 where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return 0.0
    return round(pages * os.sysconf("SC_PAGE_SIZE") / 1e6, 2)
