"""Topics over Zenoh as rmw_zenoh maps them: a session with liveliness tokens, puts with attachments, subscriptions.

Loopback only by default: it listens at 127.0.0.1, scouts by multicast on the loopback interface, and connects to the
router of rmw_zenoh on this computer and to the peers that the two name, which for nodes of ROS listen on loopback too.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

from grouser.node.cdr import encode
from grouser.node.fields import Message, dds_name, ros_name, type_hash
from grouser.node.transport import Peer, Receive, TransportError, ros_domain
from grouser.node.zenoh_keys import HUMBLE_HASH, Attachment, Entity, EntityKind, gid, qos_text, topic_key, watch_key

if TYPE_CHECKING:
    import zenoh

ROUTER = "tcp/localhost:7447"
"""Where the router of rmw_zenoh (`ros2 run rmw_zenoh_cpp rmw_zenohd`) listens, and its nodes connect."""
WAITING = 4096
"""Length of the queue of a topic; beyond it the oldest messages are dropped and counted as lost."""
PUBLISHERS = 64
"""Publishers of one topic whose sequence numbers are followed."""
ENTITIES = 10_000
"""Publishers and subscriptions of others that are kept, of all topics of the domain."""
SENSOR_DEPTH, RELIABLE_DEPTH = 5, 10
"""Depths of ROS's sensor-data and default qualities, as written in liveliness tokens."""
WAIT_BEFORE_DROP = 20_000
"""Time [µs] that a put waits for a full link before its message is dropped."""
LARGEST_GAP = 1_000_000
"""Largest gap of sequence numbers that counts as lost messages; a larger one is a restart or an error."""

TOPIC = re.compile(r"(/[A-Za-z_][A-Za-z0-9_]*)+")

Mode = Literal["peer", "client", "router"]


def session_settings(
    mode: Mode = "peer", *, connect: Sequence[str] = (ROUTER,), listen: Sequence[str] = (), network: bool = False
) -> dict[str, Any]:
    """Settings of a Zenoh session by their path in Zenoh's configuration.

    `network` lets it listen on all interfaces and scout by multicast beyond loopback. Peers of one router do not hear
    each other through it: each connects to those it hears of by gossip, as in the default settings of rmw_zenoh.
    """
    settings: dict[str, Any] = {
        "mode": mode,
        "connect/endpoints": list(connect),
        "scouting/multicast/enabled": mode == "peer",
        "scouting/multicast/interface": "auto" if network else "lo",
        "scouting/gossip/enabled": True,
        "scouting/gossip/autoconnect": {"router": [], "peer": ["router", "peer"]},
        "timestamping/enabled": True,
        "transport/link/tx/queue/congestion_control/drop/wait_before_drop": WAIT_BEFORE_DROP,
    }
    if mode != "client":
        settings["listen/endpoints"] = list(listen) or ["tcp/[::]:0" if network else "tcp/127.0.0.1:0"]
        settings["connect/timeout_ms"] = -1  # tries again in the background: a router may start later
        settings["connect/exit_on_failure"] = False
    return settings


class ZenohTransport:
    """Subscribes and publishes over Zenoh, as a node of ROS 2 with rmw_zenoh does."""

    def __init__(
        self,
        node: str = "grouser",
        *,
        domain: int | None = None,
        namespace: str = "/",
        mode: Mode = "peer",
        connect: Sequence[str] = (ROUTER,),
        listen: Sequence[str] = (),
        network: bool = False,
        humble: bool = False,
    ) -> None:
        """Open a session and announce the node, in a domain, None: that of ROS_DOMAIN_ID, else 0.

        `mode` "client" needs a router at one of `connect`. Endpoints are written as Zenoh does: `tcp/192.0.2.1:7447`.
        `humble` publishes with the keys of ROS 2 Humble, which has no type hashes; both kinds are read.
        """
        try:
            import zenoh
        except ImportError:
            raise TransportError("--transport zenoh needs eclipse-zenoh; run: pip install grouser[zenoh]") from None
        self._domain = ros_domain(domain)
        config = zenoh.Config()
        settings = session_settings(mode, connect=connect, listen=listen, network=network)
        self._zenoh = zenoh
        place = f"connect {list(connect)}, listen {settings.get('listen/endpoints', [])}"
        with self._refusing(f"Zenoh session in {mode} mode ({place}) cannot be opened"):
            for path, value in settings.items():
                config.insert_json5(path, json.dumps(value))
            self._session = zenoh.open(config)
        self._humble = humble
        self._node, self._namespace = node, "/" + namespace.strip("/")
        self._id = str(self._session.info.zid())
        self._lock = threading.Lock()
        self._entities: dict[str, Entity] = {}
        self._types: dict[str, set[type[Message]]] = {}
        self._faults: Counter[str] = Counter()
        self._lost = 0
        self._next = 1
        self._open = True
        self._threads: list[threading.Thread] = []
        self._held: list[Any] = []
        self._hold_token(self._entity("NN", "0"))
        watch = self._session.liveliness().declare_subscriber(
            watch_key(self._domain), self._token_changed, history=True
        )
        self._held.append(watch)

    def subscribe(self, topic: str, type: type[Message], receive: Receive, *, reliable: bool = False) -> None:
        """Call `receive` with each message's bytes and the time [s] when they were read, from a thread of the topic."""
        entity = self._endpoint("MS", topic, type, reliable=reliable)
        key = topic_key(self._domain, topic, entity.type, "*")
        channel: Any = self._zenoh.handlers.RingChannel(WAITING)
        with self._refusing(f"{topic}: cannot be subscribed to"):
            subscriber = self._session.declare_subscriber(key, channel, allowed_origin=self._zenoh.Locality.REMOTE)
        self._hold_token(entity)
        reader = threading.Thread(
            target=self._read, args=(subscriber, entity, type_hash(type), receive), name=f"zenoh {topic}", daemon=True
        )
        self._threads.append(reader)
        reader.start()

    def publisher(self, topic: str, type: type[Message], *, reliable: bool = True) -> Callable[[Message], None]:
        """A function that puts a message on the topic, which has one type; after `close` it does nothing."""
        known = next(iter(self._types.get(topic, {type})))
        if known is not type:
            raise TransportError(f"{topic}: has messages of type {known.NAME} already; it cannot have {type.NAME} too")
        entity = self._endpoint("MP", topic, type, reliable=reliable)
        kinds = self._zenoh.Reliability
        with self._refusing(f"{topic}: cannot be published"):
            put = self._session.declare_publisher(
                topic_key(self._domain, topic, entity.type, entity.hash),
                congestion_control=self._zenoh.CongestionControl.DROP,
                reliability=kinds.RELIABLE if reliable else kinds.BEST_EFFORT,
            )
        self._hold_token(entity)
        self._held.append(put)
        source, sequence, lock = gid(entity.token), 0, threading.Lock()

        def publish(message: Message) -> None:
            nonlocal sequence
            data = encode(message)
            with lock:
                if not self._open:
                    return
                sequence += 1
                put.put(data, attachment=Attachment(sequence, time.time_ns(), source).data)

        return publish

    def peers(self) -> Sequence[Peer]:
        """Publishers and subscriptions of others on the topics of this transport, with the same type and hash."""
        with self._lock:
            found = [one for one in self._entities.values() if one.topic in self._types and self._fits(one)]
        return [
            Peer(one.topic, ros_name(one.type), one.kind == "MP", f"{one.name}@{one.session}:{one.id}") for one in found
        ]

    def lost(self) -> int:
        """Messages lost on the way by their sequence numbers, or unread because too many waited."""
        return self._lost

    def faults(self) -> Mapping[str, int]:
        """Counts of messages that could not be used, by reason; and publishers of another type."""
        with self._lock:
            found = Counter(self._faults)
            for one in self._entities.values():
                if one.kind == "MP" and one.topic in self._types and not self._fits(one):
                    found[f"{one.topic}: publishers of another type, {one.type} {one.hash:.16}…"] += 1
        return dict(found)

    def close(self) -> None:
        """Withdraw the tokens and close the session; waits until no message is being handed on."""
        if not self._open:
            return
        self._open = False
        self._session.close()  # type: ignore[no-untyped-call]  # also ends the readers' waiting
        for reader in self._threads:
            if reader is not threading.current_thread():
                reader.join()

    def _entity(self, kind: EntityKind, number: str, **topic: str) -> Entity:
        return Entity(self._domain, self._id, "0", number, kind, self._namespace, self._node, **topic)

    def _endpoint(self, kind: EntityKind, topic: str, type: type[Message], *, reliable: bool) -> Entity:
        if not self._open:
            raise TransportError(f"{topic}: the transport is closed")
        if not TOPIC.fullmatch(topic):
            raise TransportError(f"{topic!r:.60} is not the name of a ROS topic; it begins with /, as /odom")
        with self._lock:
            self._types.setdefault(topic, set()).add(type)
        number, self._next = str(self._next), self._next + 1
        hashed = HUMBLE_HASH if self._humble else type_hash(type)
        qos = qos_text(reliable=reliable, transient=False, depth=RELIABLE_DEPTH if reliable else SENSOR_DEPTH)
        return self._entity(kind, number, topic=topic, type=dds_name(type.NAME), hash=hashed, qos=qos)

    def _hold_token(self, entity: Entity) -> None:
        with self._refusing(f"{entity.topic or entity.name}: not a name for Zenoh"):
            self._held.append(self._session.liveliness().declare_token(entity.token))

    @contextmanager
    def _refusing(self, what: str) -> Iterator[None]:
        """Errors of Zenoh in one sentence, without the places in its source code."""
        try:
            yield
        except self._zenoh.ZError as why:
            said = re.sub(r"\s+at /\S+", "", str(why)).rstrip(". ")
            raise TransportError(f"{what} ({said})") from None

    def _fits(self, other: Entity) -> bool:
        return any(
            other.type == dds_name(kind.NAME) and other.hash in (type_hash(kind), HUMBLE_HASH)
            for kind in self._types[other.topic]
        )

    def _token_changed(self, sample: zenoh.Sample) -> None:
        token = str(sample.key_expr)
        entity = Entity.read(token)
        with self._lock:
            if entity is None:
                self._faults["liveliness tokens that rmw_zenoh does not write"] += 1
            elif sample.kind == self._zenoh.SampleKind.DELETE:
                self._entities.pop(token, None)
            elif entity.session != self._id and entity.kind in ("MP", "MS"):
                if len(self._entities) < ENTITIES or token in self._entities:
                    self._entities[token] = entity
                else:
                    self._faults[f"liveliness tokens beyond the {ENTITIES} that are kept"] += 1

    def _read(self, subscriber: zenoh.Subscriber[Any], entity: Entity, hashed: str, receive: Receive) -> None:
        """Pass on messages until the session is closed; count those that cannot be used."""
        good = {hashed, HUMBLE_HASH}
        last: OrderedDict[bytes, int] = OrderedDict()
        while self._open:
            try:
                sample = subscriber.recv()
            except self._zenoh.ZError:
                return
            arrived = time.time()
            if str(sample.key_expr).rsplit("/", 1)[-1] not in good:
                self._fault(f"{entity.topic}: messages with another type hash")
                continue
            data = sample.attachment
            attachment = Attachment.read(data.to_bytes()) if data is not None else None
            if attachment is None:
                self._fault(f"{entity.topic}: messages without an attachment of rmw_zenoh")
            else:
                self._count_lost(last, attachment)
            if self._open:
                receive(sample.payload.to_bytes(), arrived)

    def _count_lost(self, last: OrderedDict[bytes, int], attachment: Attachment) -> None:
        """Count the gap in the sequence numbers of one publisher."""
        before, sequence = last.get(attachment.gid), attachment.sequence
        if before is None or sequence > before:
            last[attachment.gid] = sequence
        if before is None:
            if len(last) > PUBLISHERS:
                last.popitem(last=False)
        elif 1 < sequence - before <= LARGEST_GAP:
            with self._lock:
                self._lost += sequence - before - 1

    def _fault(self, what: str) -> None:
        with self._lock:
            self._faults[what] += 1
