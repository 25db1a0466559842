"""Interface of a transport of messages, which DDS and Zenoh implement."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from grouser.errors import GrouserError
from grouser.node.fields import Message

Receive = Callable[[bytes, float], None]
"""Called with the bytes of a message (`decode` reads them) and the time when they arrived [s, `time.time()`].

It is called from a thread of the transport, one call at a time per topic; it must return at once and not raise.
"""


class TransportError(GrouserError):
    """A transport cannot be opened or used."""


def ros_domain(given: int | None, most: int | None = None) -> int:
    """The ROS domain; None: that of ROS_DOMAIN_ID, else 0. most: the largest there is, None: any."""
    said, where = (given, "domain") if given is not None else (os.environ.get("ROS_DOMAIN_ID") or 0, "ROS_DOMAIN_ID")
    try:
        number = int(said)
    except ValueError:
        number = -1
    if number < 0 or (most is not None and number > most):
        known = "whole numbers from 0" if most is None else f"0 to {most}"
        raise TransportError(f"{where}: {said!r:.40} is not a ROS domain; domains are {known}")
    return number


@dataclass(frozen=True)
class Peer:
    """A publisher or subscriber of others that a transport sees."""

    topic: str
    """ROS name, as `/odom`."""
    type: str
    """ROS name, as `nav_msgs/msg/Odometry`."""
    publishes: bool
    """True for a publisher, False for a subscriber."""
    identity: str
    """Distinguishes the endpoints of one topic; unique and constant while it lives."""


class Transport(Protocol):
    """Subscribes to topics and publishes on them. Topics have their ROS name, as `/odom`."""

    def subscribe(self, topic: str, type: type[Message], receive: Receive, *, reliable: bool = False) -> None:
        """Call `receive` for each message of the topic.

        Not reliable is ROS's sensor-data quality: best effort, volatile, the last ones are kept. A best-effort
        subscriber hears reliable publishers too.
        """

    def publisher(self, topic: str, type: type[Message], *, reliable: bool = True) -> Callable[[Message], None]:
        """A function that publishes a message on the topic."""

    def peers(self) -> Sequence[Peer]:
        """Publishers and subscribers of others, as far as discovered, on the topics of this transport."""

    def lost(self) -> int:
        """Messages lost on the way to this transport's subscribers, as far as it is known."""

    def close(self) -> None:
        """Leave the network. Nothing is called after it returns; a second call does nothing."""
