"""Live node: topics of a robot in; pose, transforms and diagnostics out, over DDS or Zenoh, without a ROS installation.

`grouser node` runs it. In Python, `grouser.node.dds.DdsTransport` (extra `[dds]`),
`grouser.node.zenoh_transport.ZenohTransport` (`[zenoh]`) and `grouser.node.foxglove_view.LiveView` (`[foxglove]`) are
imported by themselves.
"""

from typing import TYPE_CHECKING

from grouser.lazy import lazy

if TYPE_CHECKING:
    from grouser.node.runner import Node, NodeSettings
    from grouser.node.transport import Peer, Transport, TransportError

__all__ = ["Node", "NodeSettings", "Peer", "Transport", "TransportError"]

lazy(__name__)
