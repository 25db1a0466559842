"""Bytes of messages: Common Data Representation as ROS 2 uses it (XCDR1, plain, 4-byte encapsulation header).

Numbers are aligned to their size from the first byte after the header. A string is its length with the closing zero,
its UTF-8 bytes and the zero; a sequence is its length and its elements. Bytes from the network are not trusted: each
length is compared with what is left before anything is made of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import groupby
from operator import attrgetter
from struct import Struct, error
from typing import Any, Literal, TypeVar

import numpy as np

from grouser.errors import GrouserError
from grouser.node.fields import Field, Message, Primitive, fields_of, per_type

M = TypeVar("M", bound=Message)

HEADER = b"\x00\x01\x00\x00"
Order = Literal["<", ">"]
ORDERS: dict[bytes, Order] = {b"\x00\x01": "<", b"\x00\x00": ">"}
"""Byte order by encapsulation: plain CDR, little or big endian."""


class MessageError(GrouserError):
    """A message that cannot be encoded, or bytes that are not a message."""


def encode(message: Message) -> bytes:
    """Bytes of a message, little endian, with the encapsulation header."""
    out = bytearray(HEADER)
    try:
        _write(type(message), out, message)
    except (error, TypeError, ValueError, AttributeError, OverflowError) as problem:
        raise MessageError(f"{type(message).NAME}: cannot be encoded: {problem}") from problem
    return bytes(out)


def decode(kind: type[M], data: bytes | bytearray | memoryview) -> M:
    """The message of this type in the bytes; bytes that are not one raise `MessageError`."""
    data = bytes(data)
    order = ORDERS.get(data[:2])
    if order is None or len(data) < 4:
        given = data[:4].hex(" ") or "missing"
        raise MessageError(f"{kind.NAME}: the encapsulation is {given}; plain CDR, 00 01 or 00 00, is read")
    source = _Source(data, order)
    try:
        return _made(kind, source)
    except _BytesError as problem:
        raise MessageError(f"{kind.NAME}: byte {source.at} of {len(data)}: {problem}") from None


class _BytesError(Exception):
    pass


class _Source:
    """Bytes, the offset of the next one, and their byte order."""

    __slots__ = ("at", "data", "order")

    def __init__(self, data: bytes, order: Order) -> None:
        self.data, self.order, self.at = data, order, 4

    def count(self, least: int) -> int:
        """The length of a sequence whose elements take at least this number of bytes each."""
        at = self.at + -self.at % 4  # the header has four bytes and does not change this alignment
        (count,) = self.numbers(LENGTHS[self.order], at)
        if count * least > len(self.data) - self.at:
            raise _BytesError(f"a length of {count} is more than the bytes that are left")
        return int(count)

    def numbers(self, form: Struct, at: int) -> tuple[Any, ...]:
        end = at + form.size
        if end > len(self.data):
            raise _BytesError("the bytes end too early")
        self.at = end
        return form.unpack_from(self.data, at)

    def text(self) -> str:
        size = self.count(1)
        raw = self.data[self.at : self.at + size]
        if size and (raw[-1] or 0 in raw[:-1]):
            raise _BytesError("a string has no zero at its end, or one before it")
        try:
            text = raw[:-1].decode()
        except UnicodeDecodeError:
            raise _BytesError("a string is not UTF-8") from None
        self.at += size
        return text

    def array(self, one: Primitive, count: int) -> Any:
        start = self.at + (4 - self.at) % one.size if count else self.at
        end = start + count * one.size
        if end > len(self.data):
            raise _BytesError("the bytes end too early")
        self.at = end
        values = np.frombuffer(self.data, DTYPES[self.order, one.letter], count, start)
        return values.astype(one.letter)


DTYPES = {
    (order, letter): np.dtype(letter).newbyteorder(order) for order in ORDERS.values() for letter in "?bBhHiIqQfd"
}
LENGTHS = {order: Struct(f"{order}I") for order in "<>"}


class _Run:
    """Consecutive numbers, also those of nested messages: one `struct` per offset modulo 8."""

    def __init__(self, paths: list[str], kinds: list[Primitive]) -> None:
        self.get: Callable[[Any], tuple[Any, ...]] = attrgetter(*paths)
        if len(paths) == 1:
            one = attrgetter(paths[0])
            self.get = lambda message: (one(message),)
        self.forms = {order: [_form(order, kinds, phase) for phase in range(8)] for order in "<>"}

    def write(self, out: bytearray, message: Any) -> None:
        out += self.forms["<"][(len(out) + 4) % 8].pack(*self.get(message))

    def read(self, source: _Source) -> tuple[Any, ...]:
        return source.numbers(self.forms[source.order][(source.at + 4) % 8], source.at)


def _form(order: str, kinds: list[Primitive], phase: int) -> Struct:
    """`struct` of numbers that begin at this offset modulo 8, with padding."""
    letters, at = [], phase
    for one in kinds:
        pad = -at % one.size
        letters.append("x" * pad + one.letter)
        at += pad + one.size
    return Struct(order + "".join(letters))


class _Text:
    def __init__(self, path: str) -> None:
        self.get = attrgetter(path)

    def write(self, out: bytearray, message: Any) -> None:
        _write_text(out, self.get(message))

    def read(self, source: _Source) -> tuple[Any, ...]:
        return (source.text(),)


class _Array:
    """An array of numbers: of fixed length, or a sequence."""

    def __init__(self, path: str, kind: Primitive, count: int) -> None:
        self.get, self.path, self.kind, self.count = attrgetter(path), path, kind, count
        self.dtype = np.dtype(kind.letter).newbyteorder("<")

    def write(self, out: bytearray, message: Any) -> None:
        values = np.asarray(self.get(message), self.dtype)
        if not self.count:
            _write_length(out, values.size)
        elif values.size != self.count:
            raise ValueError(f"{self.path} has {values.size} values; it has {self.count}")
        if values.size:
            out += bytes((4 - len(out)) % self.kind.size)
            out += values.tobytes()

    def read(self, source: _Source) -> tuple[Any, ...]:
        return (source.array(self.kind, self.count or source.count(self.kind.size)),)


class _Sequence:
    """A sequence of strings or messages; each takes at least `least` bytes."""

    def __init__(
        self, path: str, put: Callable[[bytearray, Any], None], take: Callable[[_Source], Any], least: int
    ) -> None:
        self.get, self.put, self.take, self.least = attrgetter(path), put, take, least

    def write(self, out: bytearray, message: Any) -> None:
        values = self.get(message)
        _write_length(out, len(values))
        for one in values:
            self.put(out, one)

    def read(self, source: _Source) -> tuple[Any, ...]:
        return ([self.take(source) for _ in range(source.count(self.least))],)


_Step = _Run | _Text | _Array | _Sequence


def _write_length(out: bytearray, count: int) -> None:
    out += bytes(-len(out) % 4)
    out += LENGTHS["<"].pack(count)


def _write_text(out: bytearray, text: str) -> None:
    raw = text.encode()
    if 0 in raw:
        raise ValueError("a string holds a zero byte")
    _write_length(out, len(raw) + 1)
    out += raw
    out.append(0)


def _write(kind: type[Message], out: bytearray, message: Any) -> None:
    for step in _steps(kind):
        step.write(out, message)


@per_type
def _steps(kind: type[Message]) -> tuple[_Step, ...]:
    """Steps of encoding and decoding, in order; numbers between strings and arrays are one step."""
    steps: list[_Step] = []
    for scalar, group in groupby(_leaves(kind, ""), lambda leaf: leaf[1].number is not None and leaf[1].count is None):
        leaves = list(group)
        if scalar:
            steps.append(_Run([path for path, _ in leaves], [one.number for _, one in leaves if one.number]))
        else:
            steps += [_step(path, one) for path, one in leaves]
    return tuple(steps)


def _step(path: str, one: Field) -> _Step:
    if one.message is not None:
        return _Sequence(path, partial(_write, one.message), partial(_made, one.message), _least(one.message))
    if one.number is not None:
        return _Array(path, one.number, one.count or 0)
    return _Text(path) if one.count is None else _Sequence(path, _write_text, _Source.text, 4)


def _leaves(kind: type[Message], before: str) -> Iterator[tuple[str, Field]]:
    for one in fields_of(kind):
        if one.message is not None and one.count is None:
            yield from _leaves(one.message, f"{before}{one.name}.")
        else:
            yield before + one.name, one


def _least(kind: type[Message]) -> int:
    """Smallest size of a message [byte]."""
    return sum(
        4 if one.primitive is None or one.count == 0 else one.primitive.size * (one.count or 1)
        for _, one in _leaves(kind, "")
    )


def _made(kind: type[M], source: _Source) -> M:
    values = [value for step in _steps(kind) for value in step.read(source)]
    made: M = _maker(kind)(iter(values))
    return made


@per_type
def _maker(kind: type[Message]) -> Callable[[Iterator[Any]], Any]:
    """A function that makes a message from its values in order."""
    parts = [next if one.message is None or one.count is not None else _maker(one.message) for one in fields_of(kind)]

    def make(values: Iterator[Any]) -> Message:
        return kind(*[part(values) for part in parts])

    return make
