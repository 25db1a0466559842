"""Solving again with the factor that `cholesky_solve` of the small least squares left behind."""

from grouser._compile.jit import inlined
from grouser._kernels.least_squares import back_substitute


@inlined
def solve_again(N, n, x):
    """x ← N⁻¹ x with the upper half L D Lᵀ that `cholesky_solve` left in N, for another right side."""
    for k in range(n):
        value = x[k] * N[k, k]  # the diagonal is kept inverted
        for i in range(k + 1, n):
            x[i] -= N[k, i] * value
    back_substitute(N, n, x)
