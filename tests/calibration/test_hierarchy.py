"""The hierarchical fit over grounds: closed forms, the likelihood it maximises, coverage of a new ground."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from grouser.calibration.hierarchy import WORTH, fit_hierarchy
from grouser.errors import CalibrationError

SPREAD = np.diag([0.1, 0.05, 0.2]) ** 2


def planted(rng, grounds, spread=SPREAD, noise=0.03):
    """Parameters of some grounds, estimates of them and their covariances; all about one mean."""
    n = len(spread)
    mean = rng.normal(size=n)
    truth = rng.multivariate_normal(mean, spread, size=grounds)
    roots = noise * rng.normal(size=(grounds, n, n)) / np.sqrt(n)
    C = roots @ roots.transpose(0, 2, 1) + (0.2 * noise) ** 2 * np.eye(n)
    felt = np.array([rng.multivariate_normal(t, c) for t, c in zip(truth, C, strict=True)])
    return mean, truth, felt, C


def test_grounds_known_exactly_give_the_pooled_scatter():
    """T = (κ S + scatter)/d with d = κ + J − 1, and its posterior mean is d/(d − 1) times that."""
    m = np.random.default_rng(1).normal(size=(4, 3))
    found = fit_hierarchy(m, np.zeros((4, 3, 3)), SPREAD)
    off = m - m.mean(axis=0)
    np.testing.assert_allclose(found.mean, m.mean(axis=0), atol=1e-9)
    np.testing.assert_allclose(found.between, (WORTH * SPREAD + off.T @ off) / (WORTH + 4 - 2), rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(found.mean_covariance, found.between / 4, rtol=1e-6, atol=1e-9)


def test_one_ground_gives_the_expected_spread():
    C = np.diag([0.01, 0.02, 0.03]) ** 2
    found = fit_hierarchy(np.array([[0.3, -0.1, 0.5]]), C[None], SPREAD)
    np.testing.assert_allclose(found.mean, [0.3, -0.1, 0.5])
    np.testing.assert_allclose(found.between, SPREAD * WORTH / (WORTH - 1.0), rtol=1e-5, atol=1e-9)
    _, covariance = found.new_ground()
    np.testing.assert_allclose(covariance, 2.0 * found.between + C, rtol=1e-5, atol=1e-9)
    assert found.count == 1


def test_estimates_that_say_nothing_leave_the_expected_spread():
    found = fit_hierarchy(np.zeros((5, 3)), np.tile(1e6 * np.eye(3), (5, 1, 1)), SPREAD)
    d = WORTH + 4
    np.testing.assert_allclose(found.between, SPREAD * d / (d - 1), rtol=1e-3, atol=1e-9)


def test_it_is_the_most_likely_spread():
    """Against the restricted likelihood of one parameter with its prior, written out and maximised by a search."""
    rng = np.random.default_rng(3)
    C, S = rng.uniform(0.5, 3.0, size=6) ** 2, 2.0
    m = rng.normal(size=6) * np.sqrt(C + 9.0) + 5.0

    def cost(log_t):
        T = np.exp(log_t)
        w = 1.0 / (T + C)
        mu = np.sum(w * m) / np.sum(w)
        restricted = np.sum(np.log(T + C)) + np.log(np.sum(w)) + np.sum(w * (m - mu) ** 2)
        return restricted + WORTH * (log_t + S / T)

    T = np.exp(minimize_scalar(cost, bounds=(-5, 6), method="bounded", options={"xatol": 1e-10}).x)
    d = WORTH + 5
    found = fit_hierarchy(m[:, None], C[:, None, None], np.array([[S]]))
    assert found.between[0, 0] == pytest.approx(T * d / (d - 1), rel=1e-4)


def test_many_grounds_give_their_own_spread_with_its_correlation():
    true = np.array([[0.04, 0.018, 0.0], [0.018, 0.01, 0.0], [0.0, 0.0, 0.0025]])
    mean, _, felt, C = planted(np.random.default_rng(5), 400, true)
    found = fit_hierarchy(felt, C, SPREAD)
    sigma = np.sqrt(np.diag(true))
    assert np.abs(found.between - true).max() < 0.2 * sigma.max() ** 2
    np.testing.assert_allclose(found.sigma, sigma, rtol=0.12)
    assert found.between[0, 1] / np.prod(found.sigma[:2]) == pytest.approx(0.9, abs=0.05)
    z = (found.mean - mean) / np.sqrt(np.diag(found.mean_covariance))
    assert np.abs(z).max() < 3.5


def test_units_do_not_matter():
    _, _, felt, C = planted(np.random.default_rng(7), 5)
    unit = np.array([1e5, 1e-4, 1.0])
    both = np.outer(unit, unit)
    plain, scaled = fit_hierarchy(felt, C, SPREAD), fit_hierarchy(felt * unit, C * both, SPREAD * both)
    np.testing.assert_allclose(scaled.mean, plain.mean * unit, rtol=1e-9)
    np.testing.assert_allclose(scaled.between, plain.between * both, rtol=1e-8)
    np.testing.assert_allclose(scaled.mean_covariance, plain.mean_covariance * both, rtol=1e-8)


def test_a_parameter_without_spread_is_one_number_for_all_grounds():
    m, sigma = np.array([[1.0, 0.0], [2.0, 0.0]]), np.array([0.1, 0.2])
    C = np.array([np.diag([s**2, 0.01]) for s in sigma])
    found = fit_hierarchy(m, C, np.diag([0.0, 0.04]))
    weight = 1.0 / sigma**2
    assert found.mean[0] == pytest.approx(np.sum(weight * m[:, 0]) / weight.sum(), rel=1e-6)
    assert found.mean_covariance[0, 0] == pytest.approx(1.0 / weight.sum(), rel=1e-6)
    assert found.between[0, 0] == 0.0


def test_a_centre_counts_as_a_ground_known_exactly():
    alone = fit_hierarchy(np.zeros((0, 3)), np.zeros((0, 3, 3)), SPREAD, centre=np.ones(3))
    np.testing.assert_allclose(alone.mean, 1.0)
    np.testing.assert_allclose(alone.mean_covariance, alone.between, rtol=1e-6, atol=1e-12)
    assert alone.count == 0
    _, _, felt, C = planted(np.random.default_rng(9), 3)
    with_centre = fit_hierarchy(felt[:2], C[:2], SPREAD, centre=felt[2])
    exact = fit_hierarchy(felt, np.concatenate([C[:2], np.zeros((1, 3, 3))]), SPREAD)
    np.testing.assert_allclose(with_centre.mean, exact.mean, rtol=1e-12)
    assert with_centre.count == 2


@pytest.mark.parametrize("grounds", [2, 3, 5, 10])
def test_a_new_ground_lies_where_it_is_said_to(grounds):
    """Planted spread as expected: 95 % intervals of each parameter of a new ground hold 90 to 98 %; 900 numbers."""
    rng = np.random.default_rng(100 + grounds)
    inside = []
    for _ in range(300):
        _, truth, felt, C = planted(rng, grounds + 1)
        mean, covariance = fit_hierarchy(felt[:-1], C[:-1], SPREAD).new_ground()
        inside.append(np.abs(truth[-1] - mean) < 1.96 * np.sqrt(np.diag(covariance)))
    assert 0.90 < np.mean(inside) < 0.98


def test_bad_input_is_refused():
    with pytest.raises(CalibrationError, match=r"not \(2, 3\), \(1, 3, 3\) and \(3, 3\)"):
        fit_hierarchy(np.zeros((2, 3)), np.zeros((1, 3, 3)), SPREAD)
    with pytest.raises(CalibrationError, match="needs a centre"):
        fit_hierarchy(np.zeros((0, 3)), np.zeros((0, 3, 3)), SPREAD)
    with pytest.raises(CalibrationError, match="finite"):
        fit_hierarchy(np.full((1, 3), np.nan), np.zeros((1, 3, 3)), SPREAD)
    with pytest.raises(CalibrationError, match="centre"):
        fit_hierarchy(np.zeros((1, 3)), np.zeros((1, 3, 3)), SPREAD, centre=np.zeros(2))
