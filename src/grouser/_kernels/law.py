"""Laws: the swappable functions of the engine (ground, drive, slip, contact, actuator), called by C address.

Every law is `void(double* par, double* x, double* out, double* jac)`. A call by address costs about 8 ns, and a
user's own law never recompiles the engine. The meaning of `x`, `out` and `jac` is given with the laws of each kind.
"""

from __future__ import annotations

import ctypes
from functools import cached_property

from llvmlite import ir
from numba import config, types
from numba.core import cgutils
from numba.extending import intrinsic

from grouser._compile.jit import compile_law

_doubles = types.CPointer(types.float64)
SIGNATURE = types.void(_doubles, _doubles, _doubles, _doubles)


# With NUMBA_DISABLE_JIT=1 kernels run as plain Python, and laws are found by their address here.
_interpreted = {}


class Law:
    """A compiled C function of the law's form; compiled on first use, alive as long as this object is."""

    many = None
    """The same law at many points at once, where there is one; grounds only."""

    def __init__(self, function, *, cached: bool = True):
        self.function = function
        self.__doc__ = function.__doc__
        self._cached = cached

    @cached_property
    def address(self) -> int:
        if config.DISABLE_JIT:
            _interpreted[id(self)] = self.function
            return id(self)
        self._compiled = compile_law(self.function, SIGNATURE, cached=self._cached)
        return self._compiled.address


def law(function):
    """Decorate a function of (par, x, out, jac), each a double pointer indexed as par[i]."""
    return Law(function)


def _law_at(builder, address):
    """The C function at an address, and the type of its arguments."""
    double_pointer = ir.DoubleType().as_pointer()
    function_type = ir.FunctionType(ir.VoidType(), [double_pointer] * 4)
    return builder.inttoptr(address, function_type.as_pointer()), double_pointer


@intrinsic
def _call_law(typingctx, address, par, x, out, jac):
    signature = types.void(types.int64, types.int64, x, out, jac)

    def codegen(context, builder, signature, args):
        function, double_pointer = _law_at(builder, args[0])
        pointers = [builder.inttoptr(args[1], double_pointer)]
        for kind, value in zip(signature.args[2:], args[2:], strict=True):
            array = context.make_array(kind)(context, builder, value=value)
            pointers.append(builder.bitcast(array.data, double_pointer))
        builder.call(function, pointers)
        return context.get_dummy_value()

    return signature, codegen


@intrinsic
def _call_law_from_law(typingctx, address, par, x, out, jac):
    signature = types.void(types.int64, types.int64, _doubles, _doubles, _doubles)

    def codegen(context, builder, signature, args):
        function, double_pointer = _law_at(builder, args[0])
        builder.call(function, [builder.inttoptr(args[1], double_pointer), *args[2:]])
        return context.get_dummy_value()

    return signature, codegen


@intrinsic(prefer_literal=True)
def _local_numbers(typingctx, size):
    if not isinstance(size, types.IntegerLiteral):
        return None

    def codegen(context, builder, signature, args):
        return cgutils.alloca_once(builder, ir.DoubleType(), size=size.literal_value)

    return _doubles(size), codegen


def _interpret(address, par, x, out, jac):
    _interpreted[address](ctypes.cast(int(par), ctypes.POINTER(ctypes.c_double)), x, out, jac)


call_law = _interpret if config.DISABLE_JIT else _call_law
"""Call the law at `address` with parameters at address `par` and the arrays x, out, jac."""

call_law_from_law = _interpret if config.DISABLE_JIT else _call_law_from_law
"""As `call_law`, from inside a law: x, out and jac are double pointers there."""

local_numbers = (lambda size: [0.0] * size) if config.DISABLE_JIT else _local_numbers
"""Pointer to that many doubles on the caller's stack, uninitialised; the size is a constant."""
