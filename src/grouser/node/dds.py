"""ROS 2 over DDS: Cyclone DDS from the package registry (extra `[dds]`), without a ROS installation.

A ROS topic `/odom` is the DDS topic `rt/odom` with the type `nav_msgs::msg::dds_::Odometry_`. Types are final and sent
as XCDR1, as ROS 2 does. Bytes are made and read by `grouser.node.cdr`, not by Cyclone's Python code, which is slow.
Nothing leaves the machine unless `network` is set; Cyclone takes its interfaces from CYCLONEDDS_URI then.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from operator import itemgetter
from typing import Any

from grouser.node.cdr import encode
from grouser.node.fields import Field, Message, dds_name, fields_of, per_type, ros_name
from grouser.node.transport import Peer, Receive, TransportError, ros_domain

try:
    from cyclonedds import core
    from cyclonedds._clayer import ddspy_take, ddspy_write
    from cyclonedds.core import DDSException, Policy, Qos
    from cyclonedds.domain import Domain, DomainParticipant
    from cyclonedds.idl import make_idl_struct
    from cyclonedds.idl import types as idl
    from cyclonedds.idl.annotations import final
    from cyclonedds.pub import DataWriter
    from cyclonedds.sub import DataReader
    from cyclonedds.topic import Topic
except ImportError as missing:
    raise TransportError("DDS needs Cyclone DDS, which is not installed: pip install 'grouser[dds]'") from missing

MOST_DOMAINS = 232
"""Largest domain whose ports exist (DDSI-RTPS 9.6.2)."""
KEPT = 4096
"""History depth of readers: the newest messages of a topic are kept. Depths need not agree between peers."""
SENT = 10
"""History depth of writers, for retransmission; ROS's default."""
SECOND = 1_000_000_000
LOOPBACK = """<CycloneDDS><Domain>
<General><Interfaces><NetworkInterface name="lo"/></Interfaces></General>
<Discovery><ParticipantIndex>auto</ParticipantIndex><MaxAutoParticipantIndex>99</MaxAutoParticipantIndex>
<Peers><Peer Address="localhost"/></Peers></Discovery>
</Domain></CycloneDDS>"""
"""This computer only, by unicast, as with ROS_AUTOMATIC_DISCOVERY_RANGE=LOCALHOST."""


class DdsTransport:
    """A DDS participant with the topics of a node; see `grouser.node.transport.Transport`."""

    def __init__(self, domain: int | None = None, *, network: bool = False) -> None:
        """Join a domain; None: that of ROS_DOMAIN_ID, else 0. network: also reach other computers."""
        number = ros_domain(domain, MOST_DOMAINS)
        self._domain: Any = None
        try:
            if not network:
                with suppress(DDSException):  # the domain exists: an earlier transport of this process made it
                    self._domain = Domain(number, LOOPBACK)
            self._participant: Any = DomainParticipant(number)
        except DDSException as problem:
            raise TransportError(f"DDS domain {number} cannot be joined: {problem}") from problem
        self._topics: dict[tuple[str, type[Message]], Any] = {}
        self._readers: list[tuple[Any, Any, Receive, str]] = []
        self._writers: list[tuple[Any, str]] = []
        self._overrun = 0
        self._closing = threading.Event()
        self._wake = core.GuardCondition(self._participant)
        self._waits = core.WaitSet(self._participant)
        self._waits.attach(self._wake)
        self._thread: threading.Thread | None = None

    def subscribe(self, topic: str, type: type[Message], receive: Receive, *, reliable: bool = False) -> None:
        """Call `receive` for each message of the topic."""
        reader = DataReader(self._participant, self._topic(topic, type), _quality(reliable, KEPT))
        condition = core.ReadCondition(reader, core.ViewState.Any | core.SampleState.NotRead | core.InstanceState.Any)
        self._readers = [*self._readers, (reader, condition, receive, topic)]
        self._waits.attach(condition)
        self._wake.set(True)
        if self._thread is None:
            self._thread = threading.Thread(target=self._take_messages, name="dds", daemon=True)
            self._thread.start()

    def publisher(self, topic: str, type: type[Message], *, reliable: bool = True) -> Callable[[Message], None]:
        """A function that publishes a message on the topic."""
        writer = DataWriter(self._participant, self._topic(topic, type), _quality(reliable, SENT))
        self._writers.append((writer, topic))

        def publish(message: Message) -> None:
            data = encode(message)
            if not self._closing.is_set() and ddspy_write(writer._ref, data + bytes(-len(data) % 4)) < 0:
                raise TransportError(f"{topic}: Cyclone DDS did not take a message")

        return publish

    def peers(self) -> Sequence[Peer]:
        """Publishers and subscribers of others that are matched with the topics of this transport."""
        found = []
        for reader, _, _, topic in self._readers:
            ends = (reader.get_matched_publication_data(one) for one in reader.get_matched_publications())
            found += [_peer(topic, end, publishes=True) for end in ends if end is not None]
        for writer, topic in self._writers:
            ends = (writer.get_matched_subscription_data(one) for one in writer.get_matched_subscriptions())
            found += [_peer(topic, end, publishes=False) for end in ends if end is not None]
        return found

    def lost(self) -> int:
        """Messages lost: gaps in the sequences of publishers, and overruns of the queue here."""
        return self._overrun + sum(int(one[0].get_sample_lost_status().total_count) for one in self._readers)

    def close(self) -> None:
        """Leave the domain."""
        if self._closing.is_set():
            return
        self._closing.set()
        self._wake.set(True)
        if self._thread is not None:
            self._thread.join()
        self._participant._delete(self._participant._ref)  # and its readers and writers
        if self._domain is not None:
            self._domain._delete(self._domain._ref)

    def _topic(self, name: str, kind: type[Message]) -> Any:
        if not name.startswith("/") or name != name.strip() or len(name) > 250:
            raise TransportError(f"{name!r:.60} is not the name of a topic; it begins with /, as /odom")
        if (name, kind) not in self._topics:
            try:
                self._topics[name, kind] = Topic(self._participant, f"rt{name}", _idl_type(kind))
            except DDSException as problem:
                raise TransportError(f"{name}: no such topic can be made in DDS: {problem}") from problem
        return self._topics[name, kind]

    def _take_messages(self) -> None:
        mask = core.SampleState.Any | core.ViewState.Any | core.InstanceState.Any
        while not self._closing.is_set():
            self._waits.wait(SECOND)
            self._wake.set(False)
            waiting: list[tuple[int, bytes, Receive]] = []
            for reader, _, receive, _ in self._readers:
                taken = ddspy_take(reader._ref, mask, KEPT)
                if isinstance(taken, int):
                    continue  # an error code: the reader is being closed
                self._overrun += len(taken) >= KEPT  # at least one was lost: the oldest
                waiting += [(info.source_timestamp, data, receive) for data, info in taken if info.valid_data]
            now = time.time()
            waiting.sort(key=itemgetter(0))  # in the order in which they were sent, over all topics
            for _, data, receive in waiting:
                receive(data, now)


def _quality(reliable: bool, depth: int) -> Any:
    """Quality of service as in ROS: reliable or best effort; volatile; XCDR1; not to this participant."""
    reliability = Policy.Reliability.Reliable(SECOND // 10) if reliable else Policy.Reliability.BestEffort
    return Qos(
        reliability,
        Policy.Durability.Volatile,
        Policy.History.KeepLast(depth),
        Policy.DataRepresentation(use_cdrv0_representation=True, use_xcdrv2_representation=False),
        Policy.IgnoreLocal.Participant,
    )


def _peer(topic: str, end: Any, *, publishes: bool) -> Peer:
    kind = end.type_name
    return Peer(topic, ros_name(kind) if kind.count("::") == 3 else kind, publishes, str(end.key))


@per_type
def _idl_type(kind: type[Message]) -> Any:
    """Cyclone's class for a message: its name and description for discovery; the bytes are ours."""
    parts = {one.name: _idl_field(one) for one in fields_of(kind)}
    name = dds_name(kind.NAME)
    made = make_idl_struct(name.split("::")[-1], name.replace("::", "."), parts)
    return final(made)


def _idl_field(one: Field) -> Any:
    if one.message is not None:
        inner = _idl_type(one.message)
    else:
        assert one.primitive is not None
        inner = {"bool": bool, "string": str}.get(one.primitive.name) or getattr(idl, one.primitive.name)
    if one.count is None:
        return inner
    return idl.array[inner, one.count] if one.count else idl.sequence[inner]
