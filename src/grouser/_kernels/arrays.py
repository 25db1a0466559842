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


@inlined
def copy_rows(values, out):
    """out (m, n) ← the first m rows and n columns of values."""
    for i in range(out.shape[0]):
        copy(values[i], out[i])


@inlined
def add_outer(factor, a, b, out):
    """out (m, n) += factor a bᵀ, with the first entries of a and b."""
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] += factor * a[i] * b[j]


@inlined
def add_congruence(A, P, out):
    """out (m, m) += A P Aᵀ, with A (m, n) and P (n, n) small."""
    for i in range(A.shape[0]):
        for j in range(A.shape[0]):
            total = 0.0
            for k in range(A.shape[1]):
                for c in range(A.shape[1]):
                    total += A[i, k] * P[k, c] * A[j, c]
            out[i, j] += total
