"""What Numba finds out about calls on numbers and arrays, remembered while kernels are compiled.

Type inference asks what float64 + float64 is at every such line, and Numba tries dozens of candidates each time: a
third of all compiling. The answer depends on the function, the types and the compiler's flags only.
"""

import gc
from contextlib import contextmanager

from numba import types
from numba.core.types.functions import BaseFunction

_PLAIN = (types.Number, types.Boolean, types.Array, types.RawPointer, types.CPointer, types.UniTuple, types.SliceType)
_known = {}
_tokens = {}
_stack = []
_resolve = BaseFunction.get_call_type


def _remembered(self, context, args, kws):
    if kws or not all(isinstance(one, _PLAIN) for one in args):
        return _resolve(self, context, args, kws)
    key = self, context, args, _stack[-1]
    found = _known.get(key)
    if found is None:
        found = _known[key] = _resolve(self, context, args, kws)
    return found


@contextmanager
def remembered_typing(flags):
    """Around the compiling of one kernel, under Numba's compiler lock; kernels that it calls compile inside."""
    values = repr(sorted(flags.values().items(), key=repr))
    outermost, collects = not _stack, gc.isenabled()
    _stack.append(_tokens.setdefault(values, len(_tokens)))
    BaseFunction.get_call_type = _remembered
    gc.disable()  # the many objects of a compilation live until its end: looking for garbage finds none
    try:
        yield
    finally:
        _stack.pop()
        if outermost:
            BaseFunction.get_call_type = _resolve
            if collects:
                gc.enable()
