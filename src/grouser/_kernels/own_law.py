"""Laws around a user's own function: how it is compiled, and differenced where it comes without derivatives."""

import math
from collections.abc import Sequence
from typing import Any

import numba
import numpy as np
from numba import types
from numba.extending import overload

from grouser._compile.jit import FLAGS
from grouser._kernels.law import Law


def put(out, at, value):
    """Write a number, an array or a tuple of them into out from index `at`, by rows; returns the index behind it."""


@overload(put)
def _put(out, at, value):
    if isinstance(value, types.Number):

        def one(out, at, value):
            out[at] = value
            return at + 1

        return one
    if isinstance(value, types.Array):

        def several(out, at, value):
            for number in value.flat:
                out[at] = number
                at += 1
            return at

        return several
    if isinstance(value, types.BaseTuple) and len(value) > 0:
        return lambda out, at, value: put(out, put(out, at, value[0]), value[1:])
    if isinstance(value, types.BaseTuple):
        return lambda out, at, value: at
    return None


def adapt(function: Any, examples: Sequence[Any], places: Sequence[int]) -> tuple[Any, int]:
    """A user's function as one of (x, par), and how many numbers it returns; −1 where they are in arrays.

    examples: its leading arguments, numbers and arrays that stand one after another in x. places: of its parameters
    in par. Raises whatever Numba raises when the function does not compile.
    """
    inner = numba.njit(**FLAGS)(function)
    inner.compile(tuple(numba.typeof(one) for one in (*examples, *(0.0 for _ in places))))
    taken, at = [], 0
    for one in examples:
        end = at + np.size(one)
        taken.append(f"x[{at}:{end}]" if np.ndim(one) else f"x[{at}]")
        at = end
    taken += [f"par[{place}]" for place in places]
    # The number of arguments differs from law to law, and compiled code cannot spread a pointer over them.
    call = eval(f"lambda x, par: function({', '.join(taken)})", {"function": inner})
    return numba.njit(**FLAGS)(call), _count(inner.nopython_signatures[0].return_type)


def _count(returned):
    if isinstance(returned, types.Number):
        return 1
    if isinstance(returned, types.BaseTuple):
        parts = [_count(one) for one in returned]
        return -1 if min(parts, default=0) < 0 else sum(parts)
    return 0 if isinstance(returned, types.NoneType) else -1


@numba.njit(**FLAGS)
def relative_step(x, k):
    """Step of a difference by x[k]."""
    return 1e-6 * max(1.0, abs(x[k]))


def differenced(value, *, first, columns, rows, follow=0, step=relative_step):
    """Central differences of value(x, par, out) by x[first], …, x[first + columns − 1], by rows into jac.

    follow: x[k + follow] moves with x[k] times the last entry of x, as an angle at the end of a step does with its
    rate; 0: nothing does. x and out are left as at the middle.
    """

    @numba.njit(**FLAGS)
    def slopes(x, par, out, jac):
        dt = x[x.size - 1]
        for b in range(columns):
            k = first + b
            middle = x[k]
            angle = x[k + follow]
            h = step(x, k)
            lower = middle - h
            upper = middle + h
            rate = 1.0 / (upper - lower)
            for side in range(2):
                x[k] = lower if side == 0 else upper
                if follow > 0:
                    x[k + follow] = angle + (x[k] - middle) * dt
                value(x, par, out)
                for r in range(rows):
                    jac[r * columns + b] = out[r] if side == 0 else (out[r] - jac[r * columns + b]) * rate
            x[k + follow] = angle
            x[k] = middle
        value(x, par, out)

    return slopes


def own_law(
    evaluate: Any, count: int, jacobian: Any, *, inputs: int, outputs: int, columns: int = 0, **differences: int
) -> Law:
    """The law of a user's function: `inputs` numbers in x, `outputs` in out; NaN where the function raises.

    jacobian: of the same arguments, or None. columns: of its derivatives, 0 if it has none; `differenced` finds them
    where there is no Jacobian.
    """

    @numba.njit(**FLAGS)
    def value(x, par, out):
        put(out, 0, evaluate(x, par))

    @numba.njit(**FLAGS)
    def slopes(x, par, out, jac):
        pass

    if jacobian is not None:

        @numba.njit(**FLAGS)
        def slopes(x, par, out, jac):
            put(jac, 0, jacobian(x, par))

    elif columns > 0:
        slopes = differenced(value, columns=columns, **differences)

    def law(par, x, out, jac):
        for i in range(outputs):
            out[i] = math.nan
        state = numba.carray(x, (inputs,))
        value(state, par, out)
        slopes(state, par, out, jac)

    return Law(law, cached=False)
