"""Live node: topics of a robot in; pose, transforms and diagnostics out, over DDS or Zenoh, without a ROS installation.

Each part is imported when it is used: `grouser.node.dds` needs the extra `[dds]`, `grouser.node.zenoh` `[zenoh]`,
`grouser.node.foxglove` `[foxglove]`.
"""
