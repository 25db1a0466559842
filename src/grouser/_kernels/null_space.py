"""Equality constraints by their null space: x = x₀ + N z with N orthonormal, from a pivoted factorisation."""

from grouser._compile.jit import kernel
from grouser._kernels.least_squares import cholesky_solve, eliminate, end_reflection, longest_row, reflect


@kernel
def factorise_rows(H, h, m, n, tolerance, Q):
    """H = L Qᵀ by Householder reflections with row pivoting: H (m, n) ← L, lower trapezoidal; h follows the pivots.

    Q (n, n) is orthogonal; its last n − rank columns span the null space. Returns the rank: a row counts as long as
    what the rows before leave of it is longer than `tolerance` times the longest row.
    """
    for i in range(n):
        for j in range(n):
            Q[i, j] = 1.0 if i == j else 0.0
    first = 0.0
    rank = 0
    for k in range(min(m, n)):
        best, size = longest_row(H, k, m, n)
        first = max(first, size)
        if not size > tolerance * first:
            break
        rank += 1
        h[k], h[best] = h[best], h[k]
        diagonal, squared = eliminate(H, k, best, m, n, size)
        for i in range(n):
            reflect(H[k], squared, k, n, Q[i])
        end_reflection(H, k, n, diagonal)
    return rank


@kernel
def smallest_solution(H, h, m, rank, Q, N, y, x):
    """x (n,) of smallest norm with H x = h after `factorise_rows`; in least squares where rows contradict each other.

    N (rank, rank) and y (rank,) are work space.
    """
    if rank == m:
        for i in range(rank):
            total = h[i]
            for j in range(i):
                total -= H[i, j] * y[j]
            y[i] = total / H[i, i]
    else:
        for i in range(rank):
            y[i] = 0.0
            for r in range(m):
                y[i] += H[r, i] * h[r]
            for j in range(i, rank):
                N[i, j] = 0.0
                for r in range(m):
                    N[i, j] += H[r, i] * H[r, j]
        cholesky_solve(N, rank, 0.0, 0.0, y)
    for i in range(x.size):
        x[i] = 0.0
        for k in range(rank):
            x[i] += Q[i, k] * y[k]


@kernel
def invert(A, n, out):
    """out ← A⁻¹ of a small square matrix, A overwritten; returns False where a pivot vanishes."""
    for i in range(n):
        for j in range(n):
            out[i, j] = 1.0 if i == j else 0.0
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(A[i, k]) > abs(A[best, k]):
                best = i
        if not abs(A[best, k]) > 1e-300:
            return False
        if best != k:
            for j in range(n):
                A[k, j], A[best, j] = A[best, j], A[k, j]
                out[k, j], out[best, j] = out[best, j], out[k, j]
        scale = 1.0 / A[k, k]
        for j in range(n):
            A[k, j] *= scale
            out[k, j] *= scale
        for i in range(n):
            if i != k:
                factor = A[i, k]
                for j in range(n):
                    A[i, j] -= factor * A[k, j]
                    out[i, j] -= factor * out[k, j]
    return True
