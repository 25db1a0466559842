"""A digest of all that decides the machine code of a function: its bytecode and constants, and those of all it calls.

It holds no path, time or line number, so the same code has the same digest in another folder, environment or container;
an edited callee, flag, constant or struct has another.
"""

import hashlib
import sys
import types
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
from llvmlite import binding as llvm
from numba.core.codegen import get_host_cpu_features
from numba.core.types import BaseTuple

from grouser._compile.struct import Struct
from grouser._compile.struct_type import type_of

_MACHINERY = ("fingerprint.py", "jit.py", "lanes.py", "library.py", "struct.py", "struct_type.py")
_MACHINERY += ("../_kernels/lanes.py", "../_kernels/elementary.py")  # what lanes make of `math.sin` and others
_SETTINGS = ("BOUNDSCHECK", "DEBUGINFO_DEFAULT", "ENABLE_AVX", "LOOP_VECTORIZE", "OPT", "SLP_VECTORIZE", "USING_SVML")


def target() -> str:
    """What processor machine code is made for: its name and features, as Numba decides them."""
    name, features = numba.config.CPU_NAME, numba.config.CPU_FEATURES
    name = llvm.get_host_cpu_name() if name is None else name
    return f"{name}:{get_host_cpu_features() if features is None else features}"


@cache
def versions() -> str:
    """Python, Numba and LLVM, and the settings of Numba that change its code."""
    settings = [f"{name}={getattr(numba.config, name, None)}" for name in _SETTINGS]
    python = f"{sys.implementation.cache_tag}-{sys.platform}"
    return " ".join([python, f"numba-{numba.__version__}", f"llvmlite-{llvmlite.__version__}", *settings])


def name_of(signature: Any) -> str:
    """Types of the arguments, with the fields of named tuples, which Numba's names leave out."""
    return f"{signature} {_fields(getattr(signature, 'args', signature))}"


def _fields(kinds: Any) -> list[Any]:
    tuples = (kind for kind in kinds if isinstance(kind, BaseTuple))
    return [one for kind in tuples for one in (getattr(kind, "fields", ()), *_fields(kind.types))]


@cache
def _machinery() -> bytes:
    """Digest of the sources that decide how kernels are compiled."""
    folder = Path(__file__).parent
    return hashlib.sha256(b"\0".join((folder / name).read_bytes() for name in _MACHINERY)).digest()


class CallTree:
    """A function and all it calls, with a digest of them."""

    def __init__(self, function: Any, flags: object) -> None:
        self._seen: dict[int, Any] = {}
        self.kernels: list[Any] = []
        """Dispatchers of the inner kernels in it."""
        self._digest = hashlib.sha256(_machinery())
        self._add(flags)
        self._add(function)
        self.digest = self._digest.digest()

    def _put(self, *parts: object) -> None:
        for part in parts:
            self._digest.update(repr(part).encode() + b"\0")

    def _add(self, value: Any) -> None:
        if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
            self._put(type(value).__name__, value)
        elif isinstance(value, tuple):  # by value: whether equal ones are one object depends on how a module was loaded
            self._put(type(value).__qualname__, getattr(value, "_fields", None), len(value))
            for one in value:
                self._add(one)
        elif isinstance(value, (set, frozenset)):  # in an order that is the same in every process
            self._add(tuple(sorted(value, key=repr)))
        elif id(value) in self._seen:
            self._put("again", list(self._seen).index(id(value)))
        elif isinstance(value, types.ModuleType):
            self._put("module", value.__name__)  # of other packages: their version counts
        else:
            self._seen[id(value)] = value
            self._add_object(value)

    def _add_object(self, value: Any) -> None:
        if isinstance(value, (list, dict)):
            self._put(type(value).__name__)
            self._add(tuple(value if isinstance(value, list) else sorted(value.items())))
        elif isinstance(value, np.ndarray):
            self._put("array", value.dtype.str, value.shape)
            self._digest.update(value.tobytes())
        elif hasattr(value, "py_func"):
            self.kernels.append(value)
            self._put("kernel")
            self._add(value.targetoptions)
            self._add_function(value.py_func)
        elif isinstance(value, types.FunctionType) or hasattr(value, "_defn"):  # an intrinsic has _defn
            self._add_function(getattr(value, "_defn", value))
        elif isinstance(value, types.CodeType):
            self._add_code(value)
        elif isinstance(value, type) and issubclass(value, Struct):
            self._put("struct", type_of(value).name)
        elif isinstance(value, type):
            self._put("class", value.__qualname__, getattr(value, "_fields", None))
        elif isinstance(getattr(value, "function", None), types.FunctionType):  # a Law
            self._add_function(value.function)
        else:
            text = repr(value)
            self._put(type(value).__qualname__, text if " at 0x" not in text else "")

    def _add_function(self, function: types.FunctionType) -> None:
        self._put("function", function.__module__, function.__qualname__)  # Numba's symbols hold both
        self._add(function.__defaults__)
        self._add(function.__kwdefaults__)
        for cell in function.__closure__ or ():
            self._add(cell.cell_contents)
        self._add_code(function.__code__)
        names = sorted(_names(function.__code__))
        for name in filter(function.__globals__.__contains__, names):
            value = function.__globals__[name]
            self._put(name)
            self._add(value)
            if isinstance(value, types.ModuleType) and value.__name__.startswith("grouser."):
                for attribute in (one for one in names if hasattr(value, one)):
                    self._put(attribute)
                    self._add(getattr(value, attribute))

    def _add_code(self, code: types.CodeType) -> None:
        self._digest.update(code.co_code)
        self._put(code.co_names, code.co_varnames, code.co_freevars, code.co_argcount, code.co_flags)
        first = 1 if code.co_consts and isinstance(code.co_consts[0], str) else 0  # a docstring changes nothing
        for one in code.co_consts[first:]:
            self._add(one)


def _names(code: types.CodeType) -> set[str]:
    """Names that a function and those inside it look up."""
    return set(code.co_names).union(*(_names(one) for one in code.co_consts if isinstance(one, types.CodeType)))
