"""The regression that calibrated models must beat, and the comparison of the two."""

from __future__ import annotations

import numpy as np
import pytest

from experiments import ridge
from experiments.experiment import Result
from experiments.warthog_ridge import WARTHOG_RIDGE, compare


@pytest.fixture(scope="module")
def result() -> Result:
    return WARTHOG_RIDGE.run(quick=True)


def pooled(result: Result, model: str) -> float:
    return next(float(r["position_rms"]) for r in result.rows if (r["model"], r["log"]) == (model, "all"))


def test_the_chosen_model_beats_the_regression_on_drives_neither_has_seen(result: Result) -> None:
    bands = result.settings["bands"]
    assert bands["ridge"]["low"] > 0.0
    assert bands["ridge, overlapping, own lag"]["low"] > 0.0
    assert pooled(result, result.settings["chosen"]) < pooled(result, "ridge, overlapping")


def test_the_regression_is_no_straw_man(result: Result) -> None:
    """It is as good as six parameters of body slip, and uses 37 features."""
    assert len(ridge.FEATURES) == 37
    assert pooled(result, "ridge, overlapping") < pooled(result, "kinematic")


def test_ridge_regression_of_no_penalty_is_least_squares() -> None:
    random = np.random.default_rng(0)
    X, truth = random.normal(size=(80, 5)), random.normal(size=(5, 3))
    Y = X @ truth + 2.0
    assert np.allclose(ridge.fit(X, Y, 1e-12)(X), Y, atol=1e-9)
    assert np.abs(ridge.fit(X, Y, 1e3)(X) - Y).max() > 0.5


def test_bands_hold_a_known_difference_and_its_sign() -> None:
    random = np.random.default_rng(1)
    ours = random.normal(0.0, 0.05, (400, 3))
    band = compare(1.2 * ours, ours, 2000)
    assert band["low"] < band["difference"] < band["high"]
    assert band["difference"] == pytest.approx(0.2 * np.sqrt(2.0) * 0.05, rel=0.1)
    assert band["low"] > 0.0
    assert compare(ours, 1.2 * ours, 2000)["high"] < 0.0
    same = compare(ours, random.permutation(ours), 2000)
    assert same["low"] < 0.0 < same["high"]
