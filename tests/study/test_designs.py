"""Designs and distributions: strata, independence of chunks, closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from grouser.errors import StudyError
from grouser.study.design import METHODS, Design
from grouser.study.quantity import Quantity
from grouser.study.sensitivity import response, sobol_indices


@pytest.mark.parametrize("method", [m for m in METHODS if m != "grid"])
def test_any_part_of_a_design_is_that_of_the_whole(method: str) -> None:
    design = Design(method, 50, 5, 3)
    whole = design.levels(range(design.variants))
    assert whole.shape == (design.variants, 5)
    assert 0.0 < whole.min() < whole.max() < 1.0
    for first, last in ((0, 1), (7, 8), (7, 31), (40, design.variants)):
        np.testing.assert_array_equal(design.levels(range(first, last)), whole[first:last])
    assert not np.array_equal(Design(method, 50, 5, 4).levels(range(50)), whole[:50])


def test_a_latin_hypercube_has_one_run_in_each_stratum() -> None:
    u = Design("latin", 97, 4, 1).levels(range(97))
    for column in u.T:
        assert sorted((column * 97).astype(int)) == list(range(97))
    assert abs(np.corrcoef(u.T)[np.triu_indices(4, 1)]).max() < 0.4


def test_a_grid_has_every_combination_once() -> None:
    design = Design("grid", 1, 3, 0, (2, 3, 4))
    assert design.variants == 24
    assert len({tuple(row) for row in design.levels(range(24))}) == 24


def test_sobol_indices_of_the_ishigami_function() -> None:
    """Ishigami and Homma (1990), a = 7, b = 0.1: closed forms of first and total indices."""
    a, b = 7.0, 0.1
    design = Design("saltelli", 4096, 3, 1)
    x = np.pi * (2.0 * design.levels(range(design.variants)) - 1.0)
    y = (np.sin(x[:, 0]) + a * np.sin(x[:, 1]) ** 2 + b * x[:, 2] ** 4 * np.sin(x[:, 0])).reshape(-1, 5)
    v1, v2, v13 = 0.5 * (1 + b * np.pi**4 / 5) ** 2, a**2 / 8, b**2 * np.pi**8 * (1 / 18 - 1 / 50)
    total = v1 + v2 + v13
    found = sobol_indices(y[:, 0], y[:, 1], y[:, 2:])
    np.testing.assert_allclose(found.first, np.array([v1, v2, 0.0]) / total, rtol=0.0, atol=0.01)
    np.testing.assert_allclose(found.total, np.array([v1 + v13, v2, v13]) / total, rtol=0.0, atol=0.01)
    assert (found.first_interval[0] <= found.first).all()
    assert (found.total_interval[1] >= found.total).all()
    y[0, 0] = np.nan
    assert sobol_indices(y[:, 0], y[:, 1], y[:, 2:]).samples == 4095


def test_the_share_of_variance_by_bins_is_that_of_the_closed_form() -> None:
    rng = np.random.default_rng(1)
    x, z = rng.random((2, 20000))
    found = response(x, 3.0 * x + z)
    assert found.share == pytest.approx(0.9, abs=0.01)  # 9/12 of (9 + 1)/12
    assert response(x, z).share < 0.002


def test_bands_of_response_curves_cover_the_mean_in_95_percent() -> None:
    rng, inside = np.random.default_rng(2), []
    for _ in range(300):
        x, z = rng.random((2, 300))
        found = response(x, 3.0 * x + z)
        inside += list((found.low < 3.0 * found.x + 0.5) & (3.0 * found.x + 0.5 < found.high))
    assert 0.93 < np.mean(inside) < 0.98  # 2400 bins, and a little more than 0.95 as they vary in x, too


@pytest.mark.parametrize(
    ("given", "mean", "deviation"),
    [
        ({"range": [2.0, 5.0]}, 3.5, 3.0 / 12**0.5),
        ({"normal": [1.0, 0.2]}, 1.0, 0.2),
        ({"lognormal": [2.0, 0.3]}, 2.0 * np.exp(0.045), 2.0 * np.exp(0.045) * np.sqrt(np.exp(0.09) - 1.0)),
        ({"triangular": [0.0, 1.0, 4.0]}, 5.0 / 3.0, (13.0 / 18.0) ** 0.5),
        ({"log_range": [1.0, np.e]}, np.e - 1.0, np.sqrt((np.e**2 - 1.0) / 2.0 - (np.e - 1.0) ** 2)),
        ([1.0, 3.0], 2.0, 1.0),
        ({"normal": [0.0, 1.0], "low": 0.0}, np.sqrt(2.0 / np.pi), np.sqrt(1.0 - 2.0 / np.pi)),
    ],
)
def test_a_distribution_has_its_mean_and_deviation(given: object, mean: float, deviation: float) -> None:
    u = (np.arange(200_000) + 0.5) / 200_000
    values = Quantity.of("vehicle.mass", given, "kg").values(u)
    assert values.mean() == pytest.approx(mean, rel=2e-4)
    assert values.std() == pytest.approx(deviation, rel=1e-3)


def test_units_are_converted_to_si() -> None:
    assert Quantity.of("vehicle.radius", {"range": [5, 8], "unit": "cm"}, "m").numbers == (0.05, 0.08)
    assert Quantity.of("contact.friction_angle", {"values": [180], "unit": "deg"}, "rad").numbers[0] == pytest.approx(
        np.pi
    )
    logs = Quantity.of("vehicle.mass", {"lognormal": [2000.0, 0.3], "unit": "g"}, "kg")
    assert logs.numbers == (2.0, 0.3)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"range": [2.0, 1.0]}, "is empty"),
        ({"range": [1.0, 2.0], "unit": "kg"}, "'kg' is not a unit of it; give one of m, mm, cm, km"),
        ({"normal": [1.0, 0.0]}, "sigma above zero"),
        ({"values": []}, "at least one"),
        ({"gauss": [1.0, 2.0]}, "must have one of values, range"),
        ({"range": [0.0, np.nan]}, "not a finite number"),
        ("wide", "is not a number"),
        ({"normal": [0.0, 1.0], "low": 90.0}, "nothing of the distribution"),
    ],
)
def test_wrong_distributions_are_refused_in_one_sentence(given: object, words: str) -> None:
    with pytest.raises(StudyError, match=words) as said:
        Quantity.of("vehicle.radius", given, "m")
    assert "vehicle.radius" in str(said.value)
