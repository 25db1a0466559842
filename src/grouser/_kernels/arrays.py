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


@inlined
def inner(a, b):
    """a · b over the length of a."""
    total = 0.0
    for i in range(a.size):
        total += a[i] * b[i]
    return total
