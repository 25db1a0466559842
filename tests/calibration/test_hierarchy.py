"""The hierarchical fit over grounds: closed forms, its posterior by quadrature, coverage of a new ground."""

import numpy as np
import pytest
from scipy.integrate import quad

from grouser.calibration.hierarchy import TYPICAL, UNSURE, fit_hierarchy
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


def expected_variance(m, c, spread):
    """Posterior mean of one parameter's variance: restricted likelihood times the log-normal prior, by quadrature."""

    def density(log_size):
        w = 1.0 / (np.exp(2.0 * log_size) + c)
        mu = np.sum(w * m) / np.sum(w)
        restricted = np.sum(np.log(w)) - np.log(np.sum(w)) - np.sum(w * (m - mu) ** 2)
        return np.exp(0.5 * restricted - 0.5 * ((log_size - np.log(TYPICAL * spread)) / UNSURE) ** 2)

    low, high = np.log(spread) - 9.0, np.log(spread) + 9.0
    points = np.linspace(low, high, 20).tolist()
    total = quad(density, low, high, points=points, limit=200)[0]
    return quad(lambda u: np.exp(2.0 * u) * density(u), low, high, points=points, limit=200)[0] / total


def test_variances_are_their_posterior_means():
    rng = np.random.default_rng(3)
    C, S = rng.uniform(0.5, 3.0, size=6) ** 2, 2.0
    m = rng.normal(size=6) * np.sqrt(C + 9.0) + 5.0
    found = fit_hierarchy(m[:, None], C[:, None, None], np.array([[S]]))
    T = found.between[0, 0]
    assert pytest.approx(expected_variance(m, C, np.sqrt(S)), rel=1e-3) == T
    w = 1.0 / (T + C)
    assert found.mean[0] == pytest.approx(np.sum(w * m) / np.sum(w), rel=1e-9)
    assert found.mean_covariance[0, 0] == pytest.approx(1.0 / np.sum(w), rel=1e-9)


def test_one_ground_gives_about_the_expected_spread():
    """The mean of the log-normal prior: 1.6 times the expected sigma, since one ground tells nothing of the spread."""
    C = np.diag([0.01, 0.02, 0.03]) ** 2
    found = fit_hierarchy(np.array([[0.3, -0.1, 0.5]]), C[None], SPREAD)
    np.testing.assert_allclose(found.mean, [0.3, -0.1, 0.5])
    np.testing.assert_allclose(found.between, SPREAD * (TYPICAL * np.exp(UNSURE**2)) ** 2, rtol=1e-3, atol=1e-9)
    _, covariance = found.new_ground()
    np.testing.assert_allclose(covariance, 2.0 * found.between + C, rtol=1e-5, atol=1e-9)
    assert found.count == 1


def test_estimates_that_say_nothing_leave_the_expected_spread():
    found = fit_hierarchy(np.zeros((5, 3)), np.tile(1e6 * np.eye(3), (5, 1, 1)), SPREAD)
    np.testing.assert_allclose(found.between, SPREAD * (TYPICAL * np.exp(UNSURE**2)) ** 2, rtol=1e-2, atol=1e-6)


def test_five_grounds_that_are_alike_say_so():
    """Spread of a tenth of the expected one: found within a factor of three, not kept at the expectation."""
    _, _, felt, C = planted(np.random.default_rng(11), 5, 0.01 * SPREAD, noise=0.003)
    assert np.all(fit_hierarchy(felt, C, SPREAD).sigma < 0.3 * np.sqrt(np.diag(SPREAD)))


def test_one_of_the_grounds_is_drawn_to_the_others():
    """Posterior of a ground, against the Gaussian of all grounds and the mean, written out and conditioned."""
    _, _, felt, C = planted(np.random.default_rng(13), 3, noise=0.1)
    found = fit_hierarchy(felt, C, SPREAD)
    wide, T, n = 1e6 * np.eye(3), found.between, 3
    hidden = np.kron(np.eye(3), T) + np.kron(np.ones((3, 3)), wide)
    noise = np.zeros((9, 9))
    for j in range(3):
        noise[n * j : n * j + n, n * j : n * j + n] = C[j]
    gain = np.linalg.solve(hidden + noise, hidden).T
    all_of_them, covariance = gain @ felt.ravel(), hidden - gain @ hidden
    mean, posterior = found.ground(felt[1], C[1])
    np.testing.assert_allclose(mean, all_of_them[3:6], rtol=0.0, atol=1e-6)
    np.testing.assert_allclose(posterior, covariance[3:6, 3:6], rtol=0.0, atol=1e-7)


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
