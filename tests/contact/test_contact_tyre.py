"""Pacejka's tyre: where its force peaks, and its equality with the printed equations."""

import numpy as np
import pytest

from grouser.contact import MagicFormula, Pacejka

SHARP = Pacejka(stiffness=1e4, smoothing=1e-9)


def normalised(s, alpha):
    """(f_x, f_y)/f_z at slip ratio s and slip angle α, travelling at 1 m/s."""
    s, alpha = np.broadcast_arrays(s, alpha)
    v = np.stack((-s, np.tan(alpha), 0 * s), -1)
    f = SHARP.force(v, 1.0 + s, -0.01)
    return f[..., :2] / f[..., 2:]


def curve(formula, z):
    x = formula.B * formula.K * z
    return formula.D * np.sin(formula.C * np.arctan((1 - formula.E) * x + formula.E * np.arctan(x)))


def test_magic_formulas_peak_where_table_c1_puts_them():
    s = np.linspace(0.0, 1.0, 100_001)
    assert s[np.argmax(curve(SHARP.longitudinal, s))] == pytest.approx(0.300, abs=5e-4)
    alpha = np.radians(90 * s)
    assert 90 * s[np.argmax(curve(SHARP.lateral, 2 * alpha / np.pi))] == pytest.approx(21.4, abs=0.05)


def test_combined_force_peaks_at_larger_slip():
    s = np.linspace(0.0, 1.0, 100_001)
    f = normalised(s, 0.0)[:, 0]
    assert s[np.argmax(f)] == pytest.approx(0.381, abs=5e-4)
    assert f.max() == pytest.approx(0.961, abs=5e-4)
    f = -normalised(0.0, np.radians(90 * s[:-1]))[:, 1]
    assert 90 * s[np.argmax(f)] == pytest.approx(27.1, abs=0.05)


def test_regular_form_equals_the_printed_equations():
    r = np.random.default_rng(5)
    s = r.uniform(-0.9, 2.0, 20_000)
    alpha = r.uniform(-1.4, 1.4, 20_000)
    f_x = curve(SHARP.longitudinal, s)
    f_y = curve(SHARP.lateral, 2 * alpha / np.pi)
    t = np.tan(alpha)
    F = np.abs(f_x * f_y) / np.sqrt(s**2 * f_y**2 + f_x**2 * t**2)
    np.testing.assert_allclose(normalised(s, alpha), np.stack((F * s, -F * t), -1), rtol=0, atol=1e-12)


def test_slope_at_rest_is_that_of_the_recipe():
    # F₀ = a b/√(a² + b²) with a = 10, b = 10.186; slope −μ f_z F₀/ε.
    J = Pacejka(stiffness=1e4, smoothing=0.05, friction=0.5).jacobian(np.zeros(3), 0.0, -0.01)
    assert J[0, 0] == pytest.approx(-0.5 * 100.0 * 7.136 / 0.05, rel=1e-4)
    assert J[1, 1] == pytest.approx(J[0, 0])


def test_derivatives_join_where_the_series_takes_over():
    v = np.zeros((2, 3))
    v[:, 0] = 1e-4 * np.array([1 - 1e-9, 1 + 1e-9])
    v[:, 1] = 1e-4 * np.array([1 - 1e-9, 1 + 1e-9])
    J = SHARP.jacobian(v, 1.0 - v[:, 0], -0.01, radius=0.3)
    np.testing.assert_allclose(J[0], J[1], rtol=1e-7, atol=1e-7 * np.abs(J).max())


def test_a_curve_of_another_shape_is_used():
    stiff = Pacejka(stiffness=1e4, longitudinal=MagicFormula(B=0.2))
    soft = Pacejka(stiffness=1e4)
    v = [-0.02, 0.0, 0.0]
    assert stiff.force(v, 1.0, -0.01)[0] > soft.force(v, 1.0, -0.01)[0]
