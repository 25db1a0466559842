"""Names of message types on the wire: those of DDS, and the hashes that Zenoh keys hold.

The hash is RIHS01 (REP-2016): SHA-256 of the JSON form of the type's description, computed from our own field tables;
tests compare it with that of rosbags.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

from grouser.node.fields import Field, Message, fields_of, per_type

__all__ = ["dds_name", "type_hash"]


def dds_name(ros_name: str) -> str:
    """`nav_msgs::msg::dds_::Odometry_` for `nav_msgs/msg/Odometry`."""
    package, folder, name = ros_name.split("/")
    return f"{package}::{folder}::dds_::{name}_"


def ros_name(dds_name: str) -> str:
    """`nav_msgs/msg/Odometry` for `nav_msgs::msg::dds_::Odometry_`."""
    package, folder, _, name = dds_name.split("::")
    return f"{package}/{folder}/{name.removesuffix('_')}"


@per_type
def type_hash(kind: type[Message]) -> str:
    """`RIHS01_…` of a message class."""
    known: dict[str, Any] = {}
    own = _description(kind, known)
    others = [known[name] for name in sorted(known) if name != kind.NAME]
    text = json.dumps({"type_description": own, "referenced_type_descriptions": others})
    return f"RIHS01_{sha256(text.encode()).hexdigest()}"


def _description(kind: type[Message], known: dict[str, Any]) -> dict[str, Any]:
    if kind.NAME not in known:
        fields = [{"name": one.name, "type": _type(one, known)} for one in fields_of(kind)]
        known[kind.NAME] = {"type_name": kind.NAME, "fields": fields}
    found: dict[str, Any] = known[kind.NAME]
    return found


def _type(one: Field, known: dict[str, Any]) -> dict[str, Any]:
    number = 1 if one.primitive is None else one.primitive.number
    shift = 0 if one.count is None else 48 if one.count else 144
    nested = "" if one.message is None else _description(one.message, known)["type_name"]
    return {
        "type_id": number + shift, "capacity": one.count or 0, "string_capacity": 0, "nested_type_name": nested
    }  # fmt: skip
