"""Structs: many arrays, records and numbers behind one address.

Fifty arrays by value are four hundred words at every call. A `Struct` is laid out once, by Python, as a row of 64-bit
words, and kernels take its address: `s.field` reads the same in compiled code and with NUMBA_DISABLE_JIT=1.
While a kernel runs fields never change, only what stands in the arrays and records does: compiled code may read each
of them once and keep it. Between two calls their owner may `repoint` them elsewhere. Numbers that a kernel changes are
fields of a record: `s.state.time = t`, `s.state.position[2]`.
`struct_type.py` declares them to Numba; this module needs no Numba, so that a vehicle can be read without it.
"""

from __future__ import annotations

from functools import lru_cache, partial
from math import prod
from types import SimpleNamespace
from typing import Any, ClassVar, NamedTuple

import numpy as np

_KINDS = {"f": np.dtype(np.float64), "i": np.dtype(np.int64), "v": np.dtype(np.float64)}
_LANE_BYTES = 64


class Field(NamedTuple):
    """Type of a field and its shape, () for one.

    "f" or "i" for 64-bit floats or whole numbers, "v" for lanes, the dtype of a record, or the class of a struct. An
    entry of the shape is a number or the name of a size.
    """

    kind: Any
    shape: tuple[int | str, ...]


def record(kind: Any, *shape: int | str) -> Any:
    """A record with named fields of `record_type`, or a C-contiguous array of them."""
    return Field(kind, shape)


array, indices = partial(record, "f"), partial(record, "i")
"""C-contiguous arrays of float64 and int64."""
lanes = partial(record, "v")
"""Arrays of lanes (`lanes.py`); NumPy sees one axis more, the lane."""
number, integer = array, indices
"""A float64; an int64, or a bool as one: no axes."""
struct = record
"""Another struct, by its class."""
block = partial(record, "f", "block")
"""All arrays of a struct made by `zeros` as one."""


def record_type(**fields: int | tuple[int, ...] | type[int]) -> np.dtype[Any]:
    """The dtype of a record: of each field its shape, () for one number, or `int` for one whole number.

    >>> pose = record_type(time=(), position=3, covariance=(6, 6), samples=int)
    """
    for name in (one for one in fields if hasattr(np.record, one)):  # Python would find the method, kernels the field
        raise TypeError(f"a field of a record cannot be called {name!r}, which is an attribute of all NumPy records")
    entries = [(name, "i8", ()) if shape is int else (name, "f8", shape) for name, shape in fields.items()]
    return np.dtype(entries, align=True)


def views(records: Any) -> dict[str, np.ndarray]:
    """Fields of the first of some records as arrays that share its memory: attributes of records cost microseconds."""
    plain = np.atleast_1d(np.asarray(records))
    return {name: plain[name].reshape(-1, *plain.dtype[name].shape)[0, ...] for name in plain.dtype.names or ()}


class Struct:
    """Base of all structs. A subclass lists its fields: `radius = array("nw")`."""

    _fields: ClassVar[dict[str, Field]]
    _word: ClassVar[dict[str, int]]
    _structs: ClassVar[tuple[str, ...]]
    _address: int
    keep: Any = None
    """What must live as long as the struct, or goes with it."""

    def __init_subclass__(cls) -> None:
        cls._fields = {name: value for name, value in vars(cls).items() if isinstance(value, Field)}
        for name in cls._fields:
            delattr(cls, name)
            if hasattr(cls, name):  # Python would find the method, compiled code the field
                raise TypeError(f"{cls.__name__}: a field cannot be called {name!r}, which is a method of all structs")
        cls._word, at = {}, 0
        for name, (_, shape) in cls._fields.items():
            cls._word[name] = at
            at += 1 + len(shape)
        cls._structs = tuple(name for name, field in cls._fields.items() if isinstance(field.kind, type))

    def __init__(self, *ordered: Any, **values: Any) -> None:
        fields = self._fields
        if ordered:
            values |= zip(fields, ordered, strict=False)
        if values.keys() != fields.keys():
            raise TypeError(f"{type(self).__name__}: fields {sorted(values.keys() ^ fields.keys())} do not fit")
        self._words = np.array([word for name in fields for word in self._take(name, values[name])], dtype=np.int64)
        self._address = self._words.ctypes.data

    def _take(self, name: str, value: Any) -> tuple[int, ...]:
        """Keep the value of a field; returns it as words."""
        kind, shape = self._fields[name]
        words: tuple[int, ...]
        if kind.__class__ is str:  # numbers first: runs of one step spend their time here
            if shape:
                value = np.ascontiguousarray(value, dtype=_KINDS[kind])
                words = self._array_words(name, value, shape)
            elif kind == "f":
                value = float(value)
                words = (int(np.float64(value).view(np.int64)),)
            else:
                value = int(value)
                words = (value,)
        elif not isinstance(kind, np.dtype):
            words = (value._address,)
        elif shape:
            value = np.ascontiguousarray(value, dtype=kind).view(np.recarray)
            words = self._array_words(name, value, shape)
        else:
            value = np.asarray(value, dtype=kind).reshape(1).view(np.recarray)[0]
            words = (value.__array_interface__["data"][0],)
        self.__dict__[name] = value
        return words

    def _array_words(self, name: str, value: Any, shape: tuple[int | str, ...]) -> tuple[int, ...]:
        if self._fields[name].kind == "v":
            aligned = value.size == 0 or value.ctypes.data % _LANE_BYTES == 0
            if value.ndim != len(shape) + 1 or 8 * value.shape[-1] != _LANE_BYTES or not aligned:
                raise TypeError(f"{type(self).__name__}.{name}: is not an array of `zero_lanes`")
            return (value.ctypes.data, *value.shape[:-1])
        if value.ndim != len(shape):
            raise TypeError(f"{type(self).__name__}.{name}: has {value.ndim} dimensions, needs {len(shape)}")
        return (value.ctypes.data, *value.shape)

    def repoint(self, **changes: Any) -> None:
        """Change fields in place. Only between two calls of a kernel, by the one who has made the struct."""
        for name, value in changes.items():
            words = self._take(name, value)
            at = self._word[name]
            self._words[at : at + len(words)] = words

    @classmethod
    def zeros(cls, **given: Any) -> Any:
        """One whose arrays are zero and lie in one block of memory.

        Given are a size for every name in the shapes, and the fields that are no arrays.
        """
        made = cls.__new__(cls)
        others = {name: given.pop(name) for name in cls._structs}
        layout = _layout(cls, tuple(given.items()))
        made._layout = layout
        made._block = np.zeros(layout.total)
        made._words = layout.words + made._block.ctypes.data * layout.places
        made._address = made._words.ctypes.data
        made.__dict__.update(layout.numbers)
        if others:
            made.repoint(**others)
        return made

    @property
    def memory_block(self) -> Any:
        """The arrays of a struct made by `zeros`, as one."""
        return self._block

    def __getattr__(self, name: str) -> Any:
        # An array of `zeros` becomes a NumPy array when Python first looks at it.
        own = self.__dict__
        place = own["_layout"].arrays.get(name) if "_layout" in own else None
        if place is None:
            raise AttributeError(f"{type(self).__name__} has no field {name!r}")
        start, end, shape, kind = place
        part = own["_block"][start:end]
        own[name] = view = part.reshape(shape) if kind == "f" else _seen_as(part, shape, kind)
        return view

    def view_in(self, name: str, block: Any) -> Any:
        """An array as it stands in copies of the block, one a row."""
        start, end, shape, kind = self._layout.arrays[name]
        part = block[..., start:end].reshape(*block.shape[:-1], *shape)
        return part if kind == "f" else part.view(np.int64)

    def replace(self, **changes: Any) -> Any:
        """A copy with some fields changed; the other arrays are shared."""
        made = type(self).__new__(type(self))
        made.__dict__.update(self.__dict__)
        made._words = self._words.copy()
        made._address = made._words.ctypes.data
        made.repoint(**changes)
        return made

    def __iter__(self) -> Any:
        return (getattr(self, name) for name in self._fields)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(self)


def _seen_as(part: Any, shape: tuple[int, ...], kind: Any) -> Any:
    """Part of a block as the whole numbers or records of a field."""
    if isinstance(kind, np.dtype):
        records = part.view(kind).view(np.recarray)
        return records.reshape(shape) if shape else records[0]
    return part.reshape(shape).view(np.int64)


@lru_cache(maxsize=512)
def _layout(cls: type[Struct], given: tuple[tuple[str, Any], ...]) -> SimpleNamespace:
    """How a struct lies in memory that `zeros` makes.

    Length of the block; words, with places in the block in bytes; 1 where there is such a place; the numbers; of each
    array its start and end in the block, shape and kind.
    """
    known = dict(given)
    shapes = {
        name: tuple(known[n] if isinstance(n, str) else n for n in field.shape)
        for name, field in cls._fields.items()
        if (field.shape and field.shape != ("block",)) or isinstance(field.kind, np.dtype)
    }
    # In 64-bit words: a record has several, its kind an itemsize.
    length = {n: prod(shape) * (getattr(cls._fields[n].kind, "itemsize", 8) // 8) for n, shape in shapes.items()}
    total = sum(length.values())
    words, places, numbers, arrays, at = [], [], {}, {}, 0
    for name, (kind, declared) in cls._fields.items():
        if declared or isinstance(kind, np.dtype):
            start, shape = (at, shapes[name]) if name in shapes else (0, (total,))
            arrays[name] = (start, start + length.get(name, total), shape, kind)
            words += [8 * start, *shape]
            places += [1] + [0] * len(shape)
            at += length.get(name, 0)
            continue
        places.append(0)
        if name in cls._structs:
            words.append(0)
        elif kind == "f":
            numbers[name] = float(known[name])
            words.append(int(np.float64(numbers[name]).view(np.int64)))
        else:
            numbers[name] = int(known[name])
            words.append(numbers[name])
    words, places = np.array([words, places], dtype=np.int64)
    return SimpleNamespace(total=total, words=words, places=places, numbers=numbers, arrays=arrays)
