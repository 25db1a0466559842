"""Lanes: eight numbers that a kernel treats as one, each step of it done for eight rollouts at once.

Compiled they are a vector of the processor. Kernels that add, multiply and compare numbers take lanes as they are; a
choice that depends on them is made by `where`, as no branch can go two ways. `where`, `both`, `either`, `only` and
`bits` take single numbers and bools, too, so that one kernel does a step of one rollout or of eight. The entries of an
array of lanes begin at multiples of 64 bytes: `zero_lanes` makes such arrays.
"""

from __future__ import annotations

import builtins
import math
import operator
from itertools import product
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel import models, register_default
from numba.core.imputils import lower_builtin, lower_cast
from numba.core.typeconv.rules import default_type_manager
from numba.core.typing.templates import ConcreteTemplate, infer_global, signature
from numba.extending import intrinsic

LANES = 8
"""How many there are."""
_NUMBERS, _BITS = ir.VectorType(ir.DoubleType(), LANES), ir.VectorType(ir.IntType(1), LANES)
_INTEGER = ir.IntType(32)


class LanesType(types.Type):
    """Eight float64."""

    size = 8 * LANES

    def __init__(self) -> None:
        super().__init__(f"lanes{LANES}")


class MaskType(types.Type):
    """Eight truth values."""

    def __init__(self) -> None:
        super().__init__(f"mask{LANES}")


lanes, mask = LanesType(), MaskType()
default_type_manager.set_promote(types.float64, lanes)


@register_default(LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _NUMBERS)


@register_default(MaskType)
class _MaskModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _BITS)


def zero_lanes(*shape: int) -> Any:
    """An array of lanes as NumPy sees it, the lane last; it begins at a multiple of 64 bytes."""
    room = np.zeros(math.prod(shape) * LANES + LANES)
    first = -(room.ctypes.data // 8) % LANES
    return room[first : len(room) - LANES + first].reshape(*shape, LANES)


def zero_struct(kind: Any, **given: Any) -> Any:
    """A struct of zero arrays of lanes. Given are a size for every name in the shapes, and the structs in it."""
    shapes = {name: [given.get(n, n) for n in field.shape] for name, field in kind._fields.items() if field.shape}
    structs = {name: given[name] for name in kind._structs}
    return kind(**{name: zero_lanes(*shape) for name, shape in shapes.items()}, **structs)


def _splat(builder: Any, value: Any) -> Any:
    one = builder.insert_element(ir.Constant(_NUMBERS, ir.Undefined), value, ir.Constant(_INTEGER, 0))
    return builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(_INTEGER, LANES), [0] * LANES))


@lower_cast(types.Float, LanesType)
def _cast(context: Any, builder: Any, fromty: Any, toty: Any, value: Any) -> Any:
    return _splat(builder, value)


def _numbers(builder: Any, args: Any) -> list[Any]:
    return [one if isinstance(one.type, ir.VectorType) else _splat(builder, one) for one in args]


_ONE = [(lanes,)]
_TWO = [(lanes, lanes), (lanes, types.float64), (types.float64, lanes)]


def declare(function: Any, build: Any, result: Any, kinds: Any = _TWO) -> None:
    """Let a function take arguments of these kinds; build(builder, values…) emits it, of lanes alone if any is."""

    class Template(ConcreteTemplate):
        key = function
        cases = [signature(result, *one) for one in kinds]  # noqa: RUF012

    infer_global(function)(Template)
    for one in kinds:

        @lower_builtin(function, *one)
        def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            vectors = any(isinstance(kind, (LanesType, MaskType)) for kind in sig.args)
            return build(builder, *(_numbers(builder, args) if vectors else args))


def _vector_function(name: str) -> Any:
    def build(builder: Any, *args: Any) -> Any:
        kind = ir.FunctionType(_NUMBERS, [_NUMBERS] * len(args))
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.v{LANES}f64"), args)

    return build


for _key, _inplace, _name in (
    (operator.add, operator.iadd, "fadd"),
    (operator.sub, operator.isub, "fsub"),
    (operator.mul, operator.imul, "fmul"),
    (operator.truediv, operator.itruediv, "fdiv"),
):
    for _one in (_key, _inplace):
        declare(_one, lambda builder, a, b, name=_name: getattr(builder, name)(a, b), lanes)
for _key, _sign in ((operator.lt, "<"), (operator.le, "<="), (operator.gt, ">"), (operator.ge, ">=")):
    declare(_key, lambda builder, a, b, sign=_sign: builder.fcmp_ordered(sign, a, b), mask)
declare(operator.neg, lambda builder, a: builder.fneg(a), lanes, _ONE)
for _function, _name in ((builtins.abs, "fabs"), (math.sqrt, "sqrt"), (math.floor, "floor")):
    declare(_function, _vector_function(_name), lanes, _ONE)
declare(math.copysign, _vector_function("copysign"), lanes)
declare(builtins.min, lambda builder, a, b: builder.select(builder.fcmp_ordered("<", b, a), b, a), lanes)
declare(builtins.max, lambda builder, a, b: builder.select(builder.fcmp_ordered(">", b, a), b, a), lanes)


def where(condition: Any, yes: Any, no: Any) -> Any:
    """`yes` where the condition holds, else `no`; both are evaluated."""
    return yes if condition else no


def both(a: Any, b: Any) -> Any:
    """Where a and b hold."""
    return a and b


def either(a: Any, b: Any) -> Any:
    """Where a or b holds."""
    return a or b


def only(a: Any, b: Any) -> Any:
    """Where a holds and b does not."""
    return a and not b


def bits(condition: Any) -> int:
    """A mask as a whole number, the first lane in its lowest bit; of a bool 0 or 1."""
    return int(condition)


def _select(builder: Any, condition: Any, yes: Any, no: Any) -> Any:
    return builder.select(condition, yes, no)


declare(where, _select, types.float64, [(types.boolean, types.float64, types.float64)])
declare(where, _select, lanes, [(mask, *one) for one in product((lanes, types.float64), repeat=2)])
for _kind in (mask, types.boolean):
    declare(both, lambda builder, a, b: builder.and_(a, b), _kind, [(_kind, _kind)])
    declare(either, lambda builder, a, b: builder.or_(a, b), _kind, [(_kind, _kind)])
    declare(only, lambda builder, a, b: builder.and_(a, builder.not_(b)), _kind, [(_kind, _kind)])
declare(bits, lambda builder, a: builder.zext(a, ir.IntType(64)), types.int64, [(types.boolean,)])
declare(
    bits,
    lambda builder, a: builder.zext(builder.bitcast(a, ir.IntType(LANES)), ir.IntType(64)),
    types.int64,
    [(mask,)],
)


class Emitted:
    """A value that is being compiled: what plain Python functions do with it is emitted."""

    def __init__(self, builder: Any, value: Any) -> None:
        self.builder, self.value = builder, value

    def _values(self, *numbers: Any) -> list[Any]:
        double = ir.DoubleType()
        values = [one.value if isinstance(one, Emitted) else ir.Constant(double, one) for one in numbers]
        return _numbers(self.builder, values)

    def _with(self, name: str, a: Any, b: Any) -> Emitted:
        return Emitted(self.builder, getattr(self.builder, name)(*self._values(a, b)))

    def call(self, name: str, *more: Any) -> Emitted:
        """An LLVM function of it, and of more numbers."""
        return Emitted(self.builder, _vector_function(name)(self.builder, *self._values(self, *more)))

    def pick(self, sign: str, limit: Any, yes: Any, no: Any) -> Emitted:
        """`yes` where it is < or > a limit, else `no`."""
        condition = self.builder.fcmp_ordered(sign, *self._values(self, limit))
        return Emitted(self.builder, self.builder.select(condition, *self._values(yes, no)))

    def __add__(self, other: Any) -> Emitted:
        return self._with("fadd", self, other)

    def __sub__(self, other: Any) -> Emitted:
        return self._with("fsub", self, other)

    def __mul__(self, other: Any) -> Emitted:
        return self._with("fmul", self, other)

    def __truediv__(self, other: Any) -> Emitted:
        return self._with("fdiv", self, other)

    def __rsub__(self, other: Any) -> Emitted:
        return self._with("fsub", other, self)

    __radd__, __rmul__ = __add__, __mul__


@intrinsic
def lanes_of(typingctx: Any, numbers: Any, first: Any) -> Any:
    """The eight entries of an array of float64 from an index on."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.load(_place(context, builder, sig, args), align=8)

    return lanes(numbers, types.int64), codegen


@intrinsic
def put_lanes(typingctx: Any, value: Any, numbers: Any, first: Any) -> Any:
    """Eight entries of an array of float64 from an index on ← lanes."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        builder.store(args[0], _place(context, builder, sig, args[1:], 1), align=8)
        return context.get_dummy_value()

    return types.void(lanes, numbers, types.int64), codegen


def _place(context: Any, builder: Any, sig: Any, args: Any, skip: int = 0) -> Any:
    array = context.make_array(sig.args[skip])(context, builder, value=args[0])
    return builder.bitcast(builder.gep(array.data, [args[1]]), _NUMBERS.as_pointer())


@intrinsic
def lane(typingctx: Any, value: Any, k: Any) -> Any:
    """The number in lane k."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.extract_element(args[0], args[1])

    return types.float64(lanes, types.int64), codegen


@intrinsic
def with_lane(typingctx: Any, value: Any, k: Any, number: Any) -> Any:
    """The lanes with another number in lane k."""

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.insert_element(args[0], args[2], args[1])

    return lanes(lanes, types.int64, types.float64), codegen
