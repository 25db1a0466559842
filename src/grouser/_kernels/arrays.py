"""Whole arrays in kernels: NumPy's own assignments check overlap and shape at every call."""

from grouser._compile.jit import inlined


@inlined
def fill(a, value):
    """All entries of an array of any shape ← value."""
    for i in range(a.size):
        a.flat[i] = value


@inlined
def copy(values, out):
    """out (n,) ← the first n of values."""
    for i in range(out.size):
        out[i] = values[i]
