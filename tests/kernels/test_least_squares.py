"""Small least squares, constraints and inverses of kernels against NumPy, of every rank."""

from __future__ import annotations

import numpy as np
import pytest

from grouser._compile.jit import entry
from grouser._kernels.least_squares import least_squares
from grouser._kernels.null_space import factorise_rows, invert, smallest_solution

ROUNDING = 1e-9  # of solutions of the order of one; the normal equations square condition numbers of up to a hundred


@entry
def solve(B, b, m, n, N, x, work, pivot):
    return least_squares(B, b, m, n, N, x, work, pivot)


@entry
def constrain(H, h, m, n, tolerance, Q, N, y, x):
    rank = factorise_rows(H, h, m, n, tolerance, Q)
    smallest_solution(H, h, m, rank, Q, N, y, x)
    return rank


@entry
def inverse(A, n, out):
    return invert(A, n, out)


def matrix(random, m, n, rank):
    """A random (m, n) of a rank, with singular values from 0.2 to 2."""
    U = np.linalg.qr(random.normal(size=(m, rank)))[0]
    V = np.linalg.qr(random.normal(size=(n, rank)))[0]
    return U * random.uniform(0.2, 2.0, rank) @ V.T


@pytest.mark.parametrize(
    ("m", "n", "rank"), [(3, 3, 3), (12, 6, 6), (13, 7, 7), (12, 6, 5), (9, 7, 4), (5, 8, 5), (4, 1, 1)]
)
def test_the_solution_is_numpys_of_smallest_norm(m, n, rank):
    random = np.random.default_rng(100 * m + 10 * n + rank)
    for _ in range(20):
        A, b = matrix(random, m, n, rank), random.normal(size=m)
        x, work, pivot = np.zeros(n), np.zeros((4, max(m, n))), np.zeros(n, dtype=np.int64)
        found = solve(np.ascontiguousarray(A.T), b.copy(), m, n, np.zeros((n, n)), x, work, pivot)
        assert found == rank
        np.testing.assert_allclose(x, np.linalg.lstsq(A, b, rcond=1e-8)[0], rtol=0.0, atol=ROUNDING)


@pytest.mark.parametrize(("m", "n", "rank"), [(1, 6, 1), (4, 6, 4), (4, 6, 2), (6, 6, 6), (7, 5, 3)])
def test_constraints_leave_their_null_space_and_the_smallest_solution(m, n, rank):
    random = np.random.default_rng(100 * m + 10 * n + rank)
    for _ in range(20):
        H, h = matrix(random, m, n, rank), random.normal(size=m)
        Q, x = np.zeros((n, n)), np.zeros(n)
        found = constrain(H.copy(), h.copy(), m, n, 1e-9, Q, np.zeros((m, m)), np.zeros(m), x)
        assert found == rank
        np.testing.assert_allclose(Q.T @ Q, np.eye(n), rtol=0.0, atol=1e-12)
        np.testing.assert_allclose(H @ Q[:, rank:], 0.0, rtol=0.0, atol=1e-12)
        np.testing.assert_allclose(x, np.linalg.pinv(H, rcond=1e-8) @ h, rtol=0.0, atol=ROUNDING)


def test_an_inverse_is_numpys_and_a_singular_matrix_has_none():
    random = np.random.default_rng(2)
    for n in (1, 2, 3, 6):
        A, out = matrix(random, n, n, n), np.zeros((n, n))
        assert inverse(A.copy(), n, out)
        np.testing.assert_allclose(out @ A, np.eye(n), rtol=0.0, atol=1e-12)
    assert not inverse(np.zeros((2, 2)), 2, np.zeros((2, 2)))
