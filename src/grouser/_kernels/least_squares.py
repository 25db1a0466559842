"""Small least squares, written out: Cholesky of the normal matrix, and a pivoted QR where that loses rank."""

import math

from grouser._compile.jit import inlined, kernel
from grouser._compile.lanes import bits, both

# The normal equations square the condition: a pivot this much smaller than its column costs four of the sixteen digits,
# a QR half as many. Pivots of ordinary vehicles are above 0.2: the QR decides only where something is nearly open.
_PIVOT = 1e-4
# A squared column this much smaller than the largest is rounding: the QR decides then, too.
_NOTHING = 1e-18
# A column of the pivoted QR this much smaller than the first adds nothing but rounding.
_RANK = 1e-9


@inlined
def least_squares(B, b, m, n, N, x, work, pivot):
    """x (n,) of smallest ‖Bᵀ x − b‖, and among equals of smallest ‖x‖; returns the rank.

    Row i of B (n, m) is the column of unknown i: every sum below runs along memory. B and b may be overwritten.
    """
    largest = normal_equations(B, b, m, n, N, x)
    if not cholesky_solve(N, n, _PIVOT, _NOTHING * largest, x):
        return minimum_norm(B, b, m, n, N, x, work, pivot)
    return n


@inlined
def normal_equations(B, b, m, n, N, x):
    """N ← B Bᵀ, its upper half, and x ← B b; returns the largest of the diagonal.

    Two rows at a time against two: each number read is used twice.
    """
    for i in range(0, n - 1, 2):
        p = 0.0
        q = 0.0
        for r in range(m):
            p += B[i, r] * b[r]
            q += B[i + 1, r] * b[r]
        x[i] = p
        x[i + 1] = q
        for j in range(i, n - 1, 2):
            ii = 0.0
            ij = 0.0
            ji = 0.0
            jj = 0.0
            for r in range(m):
                ii += B[i, r] * B[j, r]
                ij += B[i, r] * B[j + 1, r]
                ji += B[i + 1, r] * B[j, r]
                jj += B[i + 1, r] * B[j + 1, r]
            N[i, j] = ii
            N[i, j + 1] = ij
            N[i + 1, j] = ji
            N[i + 1, j + 1] = jj
    if n % 2 == 1:
        last = n - 1
        total = 0.0
        for r in range(m):
            total += B[last, r] * b[r]
        x[last] = total
        for i in range(n):
            total = 0.0
            for r in range(m):
                total += B[i, r] * B[last, r]
            N[i, last] = total
    largest = 0.0
    for i in range(n):
        largest = max(largest, N[i, i])
    return largest


@inlined
def cholesky_solve(N, n, smallest, floor, x):
    """x ← N⁻¹ x by L D Lᵀ of the upper half of N, overwritten; False if a pivot falls below smallest · N_ii or floor.

    Row k of the upper half then holds D_k Lᵀ, and the diagonal 1/D_k: only products are left for `back_substitute`.
    Of lanes: which were solved; it ends early once none is left.
    """
    for i in range(1, n):
        N[i, 0] = N[i, i]  # the lower half is free
    solved = floor <= math.inf
    for k in range(n):
        pivot = N[k, k]
        solved = both(solved, both(pivot > smallest * N[k, 0], pivot > floor))
        if bits(solved) == 0:
            return solved
        inverse = 1.0 / pivot
        for i in range(k + 1, n):
            factor = N[k, i] * inverse
            x[i] -= factor * x[k]
            for j in range(i, n):
                N[i, j] -= factor * N[k, j]
        N[k, k] = inverse
    back_substitute(N, n, x)
    return solved


@inlined
def back_substitute(N, n, x):
    """x ← D⁻¹ L⁻ᵀ x with what `cholesky_solve` left in N."""
    for k in range(n - 1, -1, -1):
        value = x[k] * N[k, k]
        x[k] = value
        for i in range(k):
            x[i] -= N[i, k] * value


@inlined
def solve_again(N, n, x):
    """x ← N⁻¹ x with what `cholesky_solve` left in N, for another right side."""
    for k in range(n):
        value = x[k] * N[k, k]
        for i in range(k + 1, n):
            x[i] -= N[k, i] * value
    back_substitute(N, n, x)


@inlined
def longest_row(H, k, m, n):
    """Of rows k … m − 1 the one that is longest from column k on, and its length there."""
    best = k
    largest = -1.0
    for i in range(k, m):
        size = 0.0
        for j in range(k, n):
            size += H[i, j] * H[i, j]
        if size > largest:
            largest = size
            best = i
    return best, math.sqrt(max(largest, 0.0))


@inlined
def reflect(vector, squared, k, n, x):
    """x ← (I − 2 v vᵀ/v²) x, columns k … n − 1."""
    dot = 0.0
    for j in range(k, n):
        dot += vector[j] * x[j]
    dot *= 2.0 / squared
    for j in range(k, n):
        x[j] -= dot * vector[j]


@inlined
def eliminate(H, k, best, m, n, size):
    """One step of a QR of the rows of H (m, n), the best row first: it is swapped with row k and reflected onto axis k.

    The rows after it follow. Row k holds the vector of the reflection, until `end_reflection`. Returns the entry that
    the reflection leaves on the diagonal, and the squared length of the vector. size: of the row, from column k on.
    """
    if best != k:
        for j in range(n):
            H[k, j], H[best, j] = H[best, j], H[k, j]
    diagonal = -size if H[k, k] > 0.0 else size
    H[k, k] -= diagonal
    squared = 0.0
    for j in range(k, n):
        squared += H[k, j] * H[k, j]
    for i in range(k + 1, m):
        reflect(H[k], squared, k, n, H[i])
    return diagonal, squared


@inlined
def end_reflection(H, k, n, diagonal):
    """The vector in row k is no longer needed: the diagonal, and zeros."""
    H[k, k] = diagonal
    for j in range(k + 1, n):
        H[k, j] = 0.0


@kernel
def factorise_pivoted(B, b, m, n, pivot):
    """Householder QR with row pivoting of B (n, m), whose rows are the columns, in place; Qᵀ applied to b.

    Row j of the result holds column j of R; returns the rank.
    """
    for j in range(n):
        pivot[j] = j
    first = 0.0
    rank = 0
    for k in range(min(m, n)):
        best, size = longest_row(B, k, n, m)
        first = max(first, size)
        if not size > _RANK * first:
            break
        rank += 1
        pivot[k], pivot[best] = pivot[best], pivot[k]
        diagonal, squared = eliminate(B, k, best, n, m, size)
        reflect(B[k], squared, k, m, b)
        end_reflection(B, k, m, diagonal)
    return rank


@inlined
def solve_triangle(B, rank, x):
    """x ← R⁻¹ x of the upper triangle R that `factorise_pivoted` left in B."""
    for i in range(rank - 1, -1, -1):
        total = x[i]
        for k in range(i + 1, rank):
            total -= B[k, i] * x[k]
        x[i] = total / B[i, i]


@kernel
def minimum_norm(B, b, m, n, N, x, work, pivot):
    """As `least_squares`, for any rank: Bᵀ P = Q [R S], x = P [y − T z; z] with T = R⁻¹S and z of smallest ‖x‖."""
    rank = factorise_pivoted(B, b, m, n, pivot)
    free = n - rank
    for j in range(rank, n):
        solve_triangle(B, rank, B[j])
    solve_triangle(B, rank, b)
    # (I + TᵀT) z = Tᵀ y: its eigenvalues are at least one, so the plain Cholesky is safe.
    z = work[2]
    for i in range(free):
        z[i] = 0.0
        for k in range(rank):
            z[i] += B[rank + i, k] * b[k]
        for j in range(i, free):
            N[i, j] = 1.0 if i == j else 0.0
            for k in range(rank):
                N[i, j] += B[rank + i, k] * B[rank + j, k]
    cholesky_solve(N, free, 0.0, 0.0, z)
    for i in range(rank):
        total = b[i]
        for j in range(free):
            total -= B[rank + j, i] * z[j]
        x[pivot[i]] = total
    for j in range(free):
        x[pivot[rank + j]] = z[j]
    return rank
