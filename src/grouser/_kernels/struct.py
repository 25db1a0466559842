"""Structs: many arrays and numbers behind one address.

A kernel that takes fifty arrays by value passes four hundred words at every call, and compiles as many. A `Struct` is
laid out once, by Python, as a row of 64-bit words, and kernels take its address: `s.field` reads the same as of a named
tuple, in compiled code and with NUMBA_DISABLE_JIT=1.

Fields never change after that, only what stands in the arrays does: compiled code may read each of them once and keep
it.
`struct_type.py` tells Numba about them; this module needs no Numba, so that a vehicle can be read without it.
"""

from __future__ import annotations

from functools import cache
from math import prod
from typing import Any, ClassVar, NamedTuple

import numpy as np

_KINDS = {"f": np.dtype(np.float64), "i": np.dtype(np.int64)}


class Field(NamedTuple):
    """Type of a field: "f" or "i" for 64-bit floats or whole numbers, or that of a struct; and the shape, () for one.

    An entry of the shape is a number or the name of a size.
    """

    kind: Any
    shape: tuple[int | str, ...]


def array(*shape: int | str) -> Any:
    """A C-contiguous array of float64."""
    return Field("f", shape)


def indices(*shape: int | str) -> Any:
    """A C-contiguous array of int64."""
    return Field("i", shape)


def number() -> Any:
    """A float64."""
    return Field("f", ())


def integer() -> Any:
    """An int64, or a bool as one."""
    return Field("i", ())


def struct(kind: type[Struct]) -> Any:
    """Another struct."""
    return Field(kind, ())


def block() -> Any:
    """All arrays of a struct made by `zeros` as one."""
    return Field("f", ("block",))


class Struct:
    """Base of all structs. A subclass lists its fields: `radius = array("nw")`."""

    _fields: ClassVar[dict[str, Field]]
    _word: ClassVar[dict[str, int]]
    _address: int

    def __init_subclass__(cls) -> None:
        cls._fields = {name: value for name, value in vars(cls).items() if isinstance(value, Field)}
        for name in cls._fields:
            delattr(cls, name)
        cls._word, at = {}, 0
        for name, (_, shape) in cls._fields.items():
            cls._word[name] = at
            at += 1 + len(shape)

    def __init__(self, *ordered: Any, **values: Any) -> None:
        values |= zip(self._fields, ordered, strict=False)
        if values.keys() != self._fields.keys():
            raise TypeError(f"{type(self).__name__}: fields {sorted(values.keys() ^ self._fields.keys())} do not fit")
        words = []
        for name, (kind, shape) in self._fields.items():
            value = values[name]
            if shape:
                value = np.ascontiguousarray(value, dtype=_KINDS[kind])
                if value.ndim != len(shape):
                    raise TypeError(f"{type(self).__name__}.{name}: has {value.ndim} dimensions, needs {len(shape)}")
                words += [value.ctypes.data, *value.shape]
            elif kind == "f":
                value = float(value)
                words.append(int(np.float64(value).view(np.int64)))
            elif isinstance(kind, type):
                words.append(value._address)
            else:
                value = int(value)
                words.append(value)
            self.__dict__[name] = value
        self._words = np.array(words, dtype=np.int64)
        self._address = self._words.ctypes.data

    @classmethod
    def zeros(cls, **sizes: int) -> Any:
        """One whose arrays are zero and lie in one block of memory; a size for every name in the shapes."""
        made = cls.__new__(cls)
        total, words, places = _layout(cls, tuple(sizes.items()))
        block = np.zeros(total)
        made._block = block
        made._words = words + block.ctypes.data * places
        made._address = made._words.ctypes.data
        return made

    def __getattr__(self, name: str) -> Any:
        # An array of `zeros` becomes a NumPy array when Python first looks at it.
        field = type(self)._fields.get(name)
        if field is None or "_block" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__} has no field {name!r}")
        at = type(self)._word[name]
        shape = tuple(self._words[at + 1 : at + 1 + len(field.shape)].tolist())
        start = (int(self._words[at]) - self._block.ctypes.data) // 8
        flat = self._block[start : start + prod(shape)]
        self.__dict__[name] = view = (flat if field.kind == "f" else flat.view(np.int64)).reshape(shape)
        return view

    def replace(self, **changes: Any) -> Any:
        """A copy with some fields changed; the other arrays are shared."""
        return type(self)(**({name: getattr(self, name) for name in self._fields} | changes))

    def __iter__(self) -> Any:
        return (getattr(self, name) for name in self._fields)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), {name: getattr(self, name) for name in self._fields})


def _rebuild(cls: type[Struct], values: dict[str, Any]) -> Struct:
    return cls(**values)


@cache
def _layout(cls: type[Struct], sizes: tuple[tuple[str, int], ...]) -> tuple[int, Any, Any]:
    """Length of the block, the words with places in the block in bytes, and where those stand."""
    known, words, places, at = dict(sizes), [], [], 0
    for _, shape in cls._fields.values():
        sized = [-1 if n == "block" else known[n] if isinstance(n, str) else n for n in shape]
        words += [8 * at, *sized]
        places += [1] + [0] * len(sized)
        at += prod(sized) if sized != [-1] else 0
    words = [at if word == -1 else word for word in words]
    return at, np.array(words, dtype=np.int64), np.array(places, dtype=np.int64)
