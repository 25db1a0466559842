"""Message classes of ROS 2: what an annotation of a field says about its bytes, and the name and hash of a type.

A field of a message is annotated with one of the names below or with another message class; `fields_of` reads them.
Names, sizes and numbers are those of the ROS interface definition (REP-2011, type_description_interfaces).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field, fields
from functools import cache, partial
from hashlib import sha256
from typing import Annotated, Any, ClassVar, NamedTuple, TypeVar, cast, dataclass_transform, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray


class Primitive(NamedTuple):
    """A primitive type: its ROS name, `struct` letter, size [bytes], and number in `type_description_interfaces`."""

    name: str
    letter: str
    size: int
    number: int


_FLOAT64, _STRING = Primitive("float64", "d", 8, 11), Primitive("string", "", 4, 17)

Bool = Annotated[bool, Primitive("bool", "?", 1, 15)]
Byte = Annotated[int, Primitive("byte", "B", 1, 16)]
Int8 = Annotated[int, Primitive("int8", "b", 1, 2)]
UInt8 = Annotated[int, Primitive("uint8", "B", 1, 3)]
UInt16 = Annotated[int, Primitive("uint16", "H", 2, 5)]
Int32 = Annotated[int, Primitive("int32", "i", 4, 6)]
UInt32 = Annotated[int, Primitive("uint32", "I", 4, 7)]
Float64 = Annotated[float, _FLOAT64]
String = Annotated[str, _STRING]
Strings = Annotated[list[str], _STRING, 0]
Floats = Annotated[NDArray[np.float64], _FLOAT64, 0]
"""A sequence of any length; an array when decoded, anything that numpy takes when encoded."""
Matrix3 = Annotated[NDArray[np.float64], _FLOAT64, 9]
Matrix6 = Annotated[NDArray[np.float64], _FLOAT64, 36]
"""A 6×6 matrix by rows, flat."""

TYPES: dict[str, type[Message]] = {}
"""Message classes by their name in ROS, as `nav_msgs/msg/Odometry`."""


@dataclass_transform(eq_default=False, field_specifiers=(field,))
class _MessageType(type):
    """Makes each message class a dataclass with slots; each message gets a copy of a mutable default."""

    def __new__(meta, name: str, bases: tuple[type, ...], body: dict[str, Any], package: str = "") -> Any:
        if not package:  # `Message` itself, and the class with slots that `dataclass` makes of another
            return super().__new__(meta, name, bases, body)
        for key, default in body.items():
            if isinstance(default, (Message, np.ndarray)):
                body[key] = field(default_factory=partial(deepcopy, default))
        made: Any = dataclass(slots=True, eq=False)(super().__new__(meta, name, bases, body))
        made.NAME = f"{package}/msg/{name}"
        TYPES[made.NAME] = made
        return made


class Message(metaclass=_MessageType):
    """Root of all message classes. Messages are equal if they have one type and the same bytes."""

    __slots__ = ()
    NAME: ClassVar[str]
    """Name in ROS, as `nav_msgs/msg/Odometry`."""

    def __eq__(self, other: object) -> bool:
        from grouser.node.cdr import encode

        return isinstance(other, Message) and type(self) is type(other) and encode(self) == encode(other)


T = TypeVar("T")


def per_type(make: Callable[[type[Message]], T]) -> Callable[[type[Message]], T]:
    """A function of a message class whose results are kept; mypy does not take a class for a key of `cache`."""
    return cast("Callable[[type[Message]], T]", cache(make))


@dataclass(frozen=True)
class Field:
    """One field of a message."""

    name: str
    primitive: Primitive | None
    """None for another message."""
    message: type[Message] | None
    """None for a primitive."""
    count: int | None
    """None for one value, 0 for a sequence, else the length of a fixed array."""

    @property
    def number(self) -> Primitive | None:
        """The primitive type of a number; None for text and messages."""
        return None if self.primitive is None or self.primitive == _STRING else self.primitive


@per_type
def fields_of(kind: type[Message]) -> tuple[Field, ...]:
    """The fields of a message class, in order."""
    hints = get_type_hints(kind, include_extras=True)
    return tuple(_field(one.name, hints[one.name]) for one in fields(kind))


def _field(name: str, hint: Any) -> Field:
    if get_origin(hint) is Annotated:
        primitive, *count = hint.__metadata__
        return Field(name, primitive, None, count[0] if count else None)
    if get_origin(hint) is list:
        return Field(name, None, hint.__args__[0], 0)
    return Field(name, None, hint, None)


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
    """`RIHS01_…` of a message class, as Zenoh keys hold it: SHA-256 of the JSON form of its description (REP-2016)."""
    known: dict[str, Any] = {}
    own = _description(kind, known)
    others = [known[name] for name in sorted(known) if name != kind.NAME]
    text = json.dumps({"type_description": own, "referenced_type_descriptions": others})
    return f"RIHS01_{sha256(text.encode()).hexdigest()}"


def _description(kind: type[Message], known: dict[str, Any]) -> Any:
    if kind.NAME not in known:
        described = [{"name": one.name, "type": _type(one, known)} for one in fields_of(kind)]
        known[kind.NAME] = {"type_name": kind.NAME, "fields": described}
    return known[kind.NAME]


def _type(one: Field, known: dict[str, Any]) -> dict[str, Any]:
    number = 1 if one.primitive is None else one.primitive.number
    shift = 0 if one.count is None else 48 if one.count else 144
    nested = "" if one.message is None else _description(one.message, known)["type_name"]
    shape = {"capacity": one.count or 0, "string_capacity": 0}
    return {"type_id": number + shift, **shape, "nested_type_name": nested}
