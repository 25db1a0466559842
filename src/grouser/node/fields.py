"""Field types of ROS messages: what an annotation of a message class says about its bytes.

A field of a message is annotated with one of the names below or with another message class; `fields_of` reads them.
Names, sizes and RIHS01 numbers are those of the ROS interface definition (REP-2011, type_description_interfaces).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache
from typing import Annotated, Any, ClassVar, TypeVar, cast, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

__all__ = ["TYPES", "Field", "Message", "Primitive", "fields_of", "per_type"]


@dataclass(frozen=True)
class Primitive:
    """A primitive type: its ROS name, `struct` letter, size [bytes], and number in `type_description_interfaces`."""

    name: str
    letter: str
    size: int
    number: int


PRIMITIVES = {
    one.name: one
    for one in (
        Primitive("bool", "?", 1, 15),
        Primitive("byte", "B", 1, 16),
        Primitive("int8", "b", 1, 2),
        Primitive("uint8", "B", 1, 3),
        Primitive("int16", "h", 2, 4),
        Primitive("uint16", "H", 2, 5),
        Primitive("int32", "i", 4, 6),
        Primitive("uint32", "I", 4, 7),
        Primitive("int64", "q", 8, 8),
        Primitive("uint64", "Q", 8, 9),
        Primitive("float32", "f", 4, 10),
        Primitive("float64", "d", 8, 11),
        Primitive("string", "", 4, 17),
    )
}

Bool = Annotated[bool, "bool"]
Byte = Annotated[int, "byte"]
Int8 = Annotated[int, "int8"]
UInt8 = Annotated[int, "uint8"]
UInt16 = Annotated[int, "uint16"]
Int32 = Annotated[int, "int32"]
UInt32 = Annotated[int, "uint32"]
Float64 = Annotated[float, "float64"]
String = Annotated[str, "string"]
Strings = Annotated[list[str], "string[]"]
Floats = Annotated[NDArray[np.float64], "float64[]"]
"""A sequence of any length; an array when decoded, anything that numpy takes when encoded."""
Matrix3 = Annotated[NDArray[np.float64], "float64[9]"]
Matrix6 = Annotated[NDArray[np.float64], "float64[36]"]
"""A 6×6 matrix by rows, flat."""


TYPES: dict[str, type[Message]] = {}
"""Message classes by their name in ROS, as `nav_msgs/msg/Odometry`."""


class Message:
    """Root of all message classes, which are dataclasses with slots. Equal are those of one type with equal bytes."""

    __slots__ = ()
    NAME: ClassVar[str]
    """Name in ROS, as `nav_msgs/msg/Odometry`."""

    def __init_subclass__(cls, package: str = "") -> None:
        if package:  # `dataclass(slots=True)` makes the class a second time, without the argument
            cls.NAME = f"{package}/msg/{cls.__name__}"
        TYPES[cls.NAME] = cls

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


@per_type
def fields_of(kind: type[Message]) -> tuple[Field, ...]:
    """The fields of a message class, in order."""
    hints = get_type_hints(kind, include_extras=True)
    return tuple(_field(one.name, hints[one.name]) for one in fields(kind))  # type: ignore[arg-type]


def _field(name: str, hint: Any) -> Field:
    if get_origin(hint) is Annotated:
        said = get_args(hint)[1]
        base, _, rest = said.partition("[")
        count = None if not rest else int(rest.rstrip("]") or 0)
        return Field(name, PRIMITIVES[base], None, count)
    if get_origin(hint) is list:
        return Field(name, None, get_args(hint)[0], 0)
    return Field(name, None, hint, None)
