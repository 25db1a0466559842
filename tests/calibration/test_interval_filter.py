"""The kernel of the online filter against a Kalman filter of a few lines, and its slopes against differences."""

from __future__ import annotations

import numpy as np
import pytest

from grouser._kernels.calibration import intervals as kernels
from grouser.calibration.interval_filter import HELD, Linear, Window, make_run, put

M, N, NS = 3, 4, 2
BOUNDS = np.tile([-np.inf, np.inf], (N, 1))


def drawn(count: int, seed: int = 0, outlier: float = 0.0) -> list[Linear]:
    """Measurements of p = (1, −2, 0.5, 0) with R = 0.1 I + 0.3 B₁ + 0.5 B₂."""
    rng = np.random.default_rng(seed)
    out = []
    for k in range(count):
        A = rng.normal(size=(NS, M, M))
        basis = A @ A.transpose(0, 2, 1)
        fixed, H = 0.1 * np.eye(M), rng.normal(size=(M, N))
        R = fixed + np.einsum("j,jab->ab", [0.3, 0.5], basis)
        y = H @ [1.0, -2.0, 0.5, 0.0] + np.linalg.cholesky(R) @ rng.normal(size=M)
        out.append(Linear(y + outlier * (k == 5), H, fixed, basis, 2.0, np.zeros((M, M))))
    return out


def reference(ones, p, P, phi, drift):
    """T (3.49)–(3.54) as printed, with matrices inverted; and Σ log N(innovation)."""
    total = 0.0
    for one in ones:
        P = P + np.diag(drift) * one.seconds
        R = one.fixed + np.einsum("j,jab->ab", phi, one.basis)
        S = one.H @ P @ one.H.T + R
        r = one.y - one.H @ p
        total -= 0.5 * (r @ np.linalg.inv(S) @ r + np.log(np.linalg.det(2.0 * np.pi * S)))
        K = P @ one.H.T @ np.linalg.inv(S)
        p, P = p + K @ r, P - K @ one.H @ P
    return p, P, total


def window_of(ones, phi, drift=0.0, gate=np.inf) -> Window:
    window = Window(((M, N, NS), gate, BOUNDS))
    window.begin(np.zeros(N), 4.0 * np.eye(N))
    window.run.phi[:], window.run.drift[:] = phi, drift
    p, P = np.zeros(N), 4.0 * np.eye(N)
    for one in ones:
        window.add(one, p, P)
    return window


def test_it_is_a_kalman_filter():
    drift = np.array([0.0, 0.1, 0.0, 0.02])
    p, P, _ = window_of(drawn(12), [0.3, 0.5], drift).again()
    wanted = reference(drawn(12), np.zeros(N), 4.0 * np.eye(N), [0.3, 0.5], drift)
    np.testing.assert_allclose(p, wanted[0], rtol=1e-10)
    np.testing.assert_allclose(P, wanted[1], rtol=1e-9, atol=1e-14)


def test_evidence_of_good_intervals_is_that_of_their_innovations():
    ones = drawn(12)
    _, _, evidence = window_of(ones, [0.3, 0.5]).again()
    wanted = reference(ones, np.zeros(N), 4.0 * np.eye(N), [0.3, 0.5], np.zeros(N))[2]
    # Less the 2 % that are expected to be outliers, plus what these add: below 1 % of a good one each.
    assert evidence == pytest.approx(wanted + 12 * np.log(1.0 - kernels.OUTLIERS), abs=0.05)


def test_the_score_is_the_slope_of_the_evidence():
    """Σ ∂ log N(innovation)/∂φ with the filter's own P held, which is what the score leaves out of the whole slope."""
    ones = drawn(1)  # one interval: its prediction does not depend on φ
    phi, h = np.array([0.3, 0.5]), 1e-6
    window = window_of(ones, phi)
    window.again()
    for j, e in enumerate(np.eye(NS)):
        ends = [reference(ones, np.zeros(N), 4.0 * np.eye(N), phi + s * h * e, np.zeros(N))[2] for s in (1.0, -1.0)]
        assert window.run.score[j] == pytest.approx((ends[0] - ends[1]) / (2.0 * h), rel=1e-6)


def test_the_information_is_that_of_a_gaussian():
    """½ tr(S⁻¹ B_i S⁻¹ B_j), summed over intervals whose P is known."""
    ones, phi = drawn(6), np.array([0.3, 0.5])
    window = window_of(ones, phi)
    window.again()
    p, P, wanted = np.zeros(N), 4.0 * np.eye(N), np.zeros((NS, NS))
    for one in ones:
        S = one.H @ P @ one.H.T + one.fixed + np.einsum("j,jab->ab", phi, one.basis)
        A = np.linalg.inv(S) @ one.basis
        wanted += 0.5 * np.einsum("iab,jba->ij", A, A)
        p, P, _ = reference([one], p, P, phi, np.zeros(N))
    np.testing.assert_allclose(window.run.information, wanted, rtol=1e-9)


def test_an_outlier_moves_little_and_counts_little_in_the_noise():
    clean, dirty = window_of(drawn(40), [0.3, 0.5], gate=1e6), window_of(drawn(40, outlier=50.0), [0.3, 0.5], gate=1e6)
    (p, P, _), (q, _, _) = clean.again(), dirty.again()
    assert np.all(np.abs(p - q) < np.sqrt(np.diag(P)))
    assert dirty.run.weight[5] < 0.01
    # It counts for at most `MOST` average intervals of 40.
    shift = dirty.run.score - clean.run.score
    assert np.all(np.abs(shift) < 3.0 * np.sqrt(np.diag(clean.run.information)))
    blunt = window_of(drawn(40, outlier=50.0), [0.3, 0.5])
    blunt.again()
    assert np.any(np.abs(blunt.run.score - clean.run.score) > 30.0 * np.sqrt(np.diag(clean.run.information)))


def test_a_full_window_hands_its_oldest_to_the_head():
    ones = drawn(HELD + 30)
    p, P, _ = window_of(ones, [0.3, 0.5]).again()
    wanted = reference(ones, np.zeros(N), 4.0 * np.eye(N), [0.3, 0.5], np.zeros(N))
    np.testing.assert_allclose(p, wanted[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(P, wanted[1], rtol=1e-8, atol=1e-14)


def test_filters_side_by_side_are_single_ones():
    ones = drawn(3)
    run = make_run(3, ((M, N, NS), 1e4, BOUNDS))
    run.phi[:] = [0.3, 0.5]
    p, P = np.arange(3.0 * N).reshape(3, N), np.stack([(k + 1.0) * np.eye(N) for k in range(3)])
    alone = []
    for k, one in enumerate(ones):
        put(run, k, one)
        alone.append(reference([one], p[k].copy(), P[k].copy(), [0.3, 0.5], np.zeros(N)))
    run_open = make_run(3, ((M, N, NS), np.inf, BOUNDS))
    run_open.phi[:] = [0.3, 0.5]
    for k, one in enumerate(ones):
        put(run_open, k, one)
    assert kernels.filter_side_by_side(run_open, p, P) == -1
    for k in range(3):
        np.testing.assert_allclose(p[k], alone[k][0], rtol=1e-9)
        np.testing.assert_allclose(P[k], alone[k][1], rtol=1e-9, atol=1e-12)


def test_a_covariance_that_is_not_positive_is_reported():
    run = make_run(1, ((M, N, NS), np.inf, BOUNDS))
    put(run, 0, drawn(1)[0]._replace(fixed=-100.0 * np.eye(M)))
    assert kernels.filter_sequence(run, 0, 1, np.zeros(N), np.eye(N)) == 0
