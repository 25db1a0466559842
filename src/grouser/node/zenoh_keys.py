"""Names that rmw_zenoh gives to topics and entities in Zenoh, and the attachment of its messages.

As rmw_zenoh_cpp has them since version 0.2.4 (ros2/rmw_zenoh, docs/design.md: "Topic and Service name mapping to Zenoh
key expressions", "Graph Cache", "Publishers"; attachment of #605; empty numbers of the QoS are the defaults of its
qos.cpp). Read, not run: no ROS 2 installation was at hand.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal, cast, get_args

EntityKind = Literal["NN", "MP", "MS", "SS", "SC"]
"""Node, publisher, subscription, service server, service client."""

HUMBLE_HASH = "TypeHashNotSupported"
"""What rmw_zenoh writes in place of a type hash on ROS 2 Humble, which has none."""

_ADMIN = "@ros2_lv"
_NODE_CHUNKS, _TOPIC_CHUNKS = 9, 13
_ATTACHMENT = struct.Struct("<qqB16s")
_GID_LENGTH = 16
_DEFAULT_DEPTH = 42


def topic_key(domain: int, topic: str, type: str, hash: str) -> str:
    """Key that messages of a topic are put to: domain, topic without outer slashes, DDS name and hash of the type."""
    return f"{domain}/{topic.strip('/')}/{type}/{hash}"


def qos_text(*, reliable: bool, transient: bool, depth: int, keep_all: bool = False) -> str:
    """QoS as a chunk of a liveliness token; what is the default of rmw_zenoh (reliable, volatile, last 42) is empty.

    reliability : durability : history , depth : deadline s , ns : lifespan s , ns : liveliness , lease s , ns.
    """
    count = "" if depth == _DEFAULT_DEPTH else depth
    return f"{'' if reliable else 2}:{1 if transient else ''}:{2 if keep_all else ''},{count}:,:,:,,"


@dataclass(frozen=True)
class Entity:
    """A node, or a publisher or subscription of one, as its liveliness token names it."""

    domain: int
    session: str
    """Zenoh id of the session, in hexadecimal digits."""
    node_id: str
    id: str
    kind: EntityKind
    namespace: str
    """With a leading slash; `/` if there is none."""
    node: str
    topic: str = ""
    """With a leading slash; empty for a node."""
    type: str = ""
    """As DDS names it; empty for a node."""
    hash: str = ""
    qos: str = ""
    enclave: str = "/"

    @property
    def name(self) -> str:
        """Full name of the node: `/robot/talker`."""
        return f"{self.namespace.rstrip('/')}/{self.node}"

    @property
    def token(self) -> str:
        """Key of the liveliness token; slashes inside a chunk are written %."""
        chunks = [_ADMIN, str(self.domain), self.session, self.node_id, self.id, self.kind]
        chunks += [one.replace("/", "%") for one in (self.enclave, self.namespace, self.node)]
        if self.kind != "NN":
            chunks += [one.replace("/", "%") for one in (self.topic, self.type, self.hash)] + [self.qos]
        return "/".join(chunks)

    @classmethod
    def read(cls, token: str) -> Entity | None:
        """The entity of a token; None if rmw_zenoh did not write it. Further chunks are ignored."""
        chunks = token.split("/")
        if len(chunks) < _NODE_CHUNKS or "" in chunks or chunks[0] != _ADMIN or not chunks[1].isdecimal():
            return None
        kind = chunks[5]
        if kind not in get_args(EntityKind) or (kind != "NN" and len(chunks) < _TOPIC_CHUNKS):
            return None
        enclave, namespace, node = (one.replace("%", "/") for one in chunks[6:9])
        session, node_id, number = chunks[2:5]
        node_of = (int(chunks[1]), session, node_id, number, cast(EntityKind, kind), namespace, node)
        if kind == "NN":
            return cls(*node_of, enclave=enclave)
        topic, type, hash = (one.replace("%", "/") for one in chunks[9:12])
        return cls(*node_of, topic, type, hash, chunks[12], enclave)


def watch_key(domain: int) -> str:
    """Matches the liveliness tokens of all entities of a domain."""
    return f"{_ADMIN}/{domain}/**"


def gid(token: str) -> bytes:
    """16 bytes that name a publisher: a digest of its token.

    rmw_zenoh takes XXH3 for it; a receiver compares gids for equality only, so any digest without collisions does.
    """
    return blake2b(token.encode(), digest_size=_GID_LENGTH).digest()


@dataclass(frozen=True)
class Attachment:
    """Data that rmw_zenoh sends with each message."""

    sequence: int
    """Counts the messages of one publisher, from 1."""
    stamp: int
    """Time of sending [ns since the epoch]."""
    gid: bytes
    """Of the publisher; 16 bytes."""

    @property
    def data(self) -> bytes:
        """33 bytes: sequence and stamp as little-endian int64, 16 as the length of the gid, and the gid."""
        return _ATTACHMENT.pack(self.sequence, self.stamp, _GID_LENGTH, self.gid)

    @classmethod
    def read(cls, data: bytes) -> Attachment | None:
        """From bytes; None if they are not an attachment of rmw_zenoh."""
        if len(data) != _ATTACHMENT.size:
            return None
        sequence, stamp, length, source = _ATTACHMENT.unpack(data)
        return cls(sequence, stamp, source) if length == _GID_LENGTH else None
