"""How every kernel is compiled: the decorators.

`kernel`, `inlined` and `allocating` are called by other kernels and stay LLVM IR (`library.py`); `entry` and
`exact_entry` are called from Python and become machine code, which is kept in files named by content (`store.py`).
"""

from functools import partial

import numba
from numba.core import sigutils
from numba.core.ccallback import CFunc
from numba.core.errors import TypingError
from numba.core.registry import CPUDispatcher

from grouser._compile import alone, watch
from grouser._compile.library import InnerCompiler, OuterCompiler
from grouser._compile.store import ContentCache

# Plain fastmath=True would assume that no number is NaN, and isnan() would lie.
FLAGS = {"error_model": "numpy", "fastmath": {"contract", "reassoc", "nsz", "arcp"}}
EXACT = {"error_model": "numpy"}
_INNER = {"nopython": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
_OUTER = {"nopython": True, "no_cfunc_wrapper": True, "nogil": True}


class InnerKernel(CPUDispatcher):
    """A function that only kernels can call: it has no machine code of its own."""

    def __call__(self, *args, **kwargs):
        name = f"{self.py_func.__module__}.{self.py_func.__name__}"
        raise TypeError(f"{name} is an inner kernel without machine code of its own; call it from an @entry")


class EntryKernel(CPUDispatcher):
    """A function that only Python calls: kernels must not, as its code may come from a file, without the IR to link."""

    def compile(self, sig):
        with watch.until_compiled(), alone.until_done():
            return super().compile(sig)

    def get_call_template(self, args, kws):
        name = self.py_func.__name__
        raise TypingError(f"{name} is an entry, which kernels cannot call; make the shared part a kernel")


def _decorator(kind, compiler, options):
    def decorate(function):
        if numba.config.DISABLE_JIT:
            return function
        made = kind(function, targetoptions=options, pipeline_class=compiler)
        if kind is EntryKernel:
            made._cache = ContentCache(function, options)
        return made

    return decorate


_inner = partial(_decorator, InnerKernel, InnerCompiler)
_outer = partial(_decorator, EntryKernel, OuterCompiler)
allocating = _inner({**_INNER, **FLAGS})
"""Compile a function called from entries that makes arrays."""
kernel = _inner({"_nrt": False, **_INNER, **FLAGS})
"""Compile a function called from other kernels. It cannot allocate.

Without Numba's reference counts: a function with branches would count every array up and down at every call.
"""
exact_kernel = _inner({"_nrt": False, **_INNER, **EXACT})
"""As `kernel`, without the liberties that `FLAGS` gives the compiler: for where the last bit counts."""
inlined = _inner({"_nrt": False, "forceinline": True, **_INNER, **FLAGS})
"""As `kernel`, compiled into its callers."""
entry = _outer({**_OUTER, **FLAGS})
"""Compile a function called from Python; the GIL is released while it runs."""
exact_entry = _outer({**_OUTER, **EXACT})
"""As `entry`, without the liberties of the other kernels."""


def compile_law(function, signature, *, cached: bool):
    """Compile a C function with the signature of a law (see `law.py`)."""
    made = CFunc(function, sigutils.normalize_signature(signature), {}, dict(FLAGS), pipeline_class=OuterCompiler)
    made._cache = ContentCache(function, FLAGS, kept=cached)
    with watch.until_compiled(), alone.until_done():
        made.compile()
    return made
