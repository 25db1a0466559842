"""NEES: one meaning, divided by its degrees of freedom."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2

from grouser.motion.consistency import INSIDE_2, nees, nees_band


@pytest.mark.parametrize("dof", [1, 2, 3, 6])
def test_errors_drawn_from_their_covariance_have_a_nees_of_one(dof):
    random = np.random.default_rng(dof)
    root = random.normal(size=(4000, dof, dof)) + 2.0 * np.eye(dof)
    error = (root @ random.normal(size=(4000, dof, 1)))[..., 0]
    found = nees(error, root @ root.transpose(0, 2, 1))
    low, high = nees_band(4000, dof)
    assert low < 1.0 < high
    assert low < found.mean() < high
    assert not low < nees(1.2 * error, root @ root.transpose(0, 2, 1)).mean() < high


def test_nees_is_the_quadratic_form_over_its_freedoms():
    error, C = np.array([[0.3, -0.2]]), np.array([[[0.04, 0.01], [0.01, 0.09]]])
    assert nees(error, C)[0] == pytest.approx(error[0] @ np.linalg.inv(C[0]) @ error[0] / 2.0)
    # Of a covariance without extent in a direction, the least sigma counts there.
    assert nees(np.array([[0.3, 0.01]]), np.array([np.diag([0.09, 0.0])]), least=0.01)[0] == pytest.approx(1.0)


def test_the_band_is_that_of_chi_squared():
    wanted = chi2.ppf([0.025, 0.975], 3 * 7) / (3 * 7)
    np.testing.assert_allclose(nees_band(7), wanted, rtol=1e-12)
    assert pytest.approx(chi2.ppf(0.95, 2)) == INSIDE_2
