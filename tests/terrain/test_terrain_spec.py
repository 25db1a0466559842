"""Terrains written in one line."""

import numpy as np
import pytest

import grouser.terrain as terrain
from grouser.errors import TerrainError


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("flat", lambda: terrain.plane()),
        ("flat:height=.5", lambda: terrain.plane(0.5)),
        ("slope:deg=10", lambda: terrain.slope(10.0)),
        ("slope:deg=10,heading_deg=90", lambda: terrain.slope(10.0, heading_deg=90.0)),
        ("ramp:height=1.5,deg=20", lambda: terrain.ramp(1.5, 20.0)),
        (
            "ramp: height=1.5, deg=20, top=inf, down=no",
            lambda: terrain.ramp(1.5, 20.0, top=np.inf, down=False),
        ),
        ("rough:rms=.15,length=.8,seed=1", lambda: terrain.rough(0.15, 0.8, 1)),
    ],
)
def test_a_line_says_what_the_functions_say(text, made):
    px, py = np.random.default_rng(0).uniform(-9, 9, (2, 100))
    for a, b in zip(terrain.parse(text).sample(px, py), made().sample(px, py), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_path_is_read(tmp_path):
    terrain.plane(2.0).save(tmp_path / "a.npz")
    assert float(terrain.parse(str(tmp_path / "a.npz")).height(0, 0)) == 2.0


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("hill", "flat, slope, ramp, rough"),
        ("", "flat, slope, ramp, rough"),
        ("missing.npz", "no such file"),
        ("slope:degrees=10", "keys deg, heading_deg, height"),
        ("slope:10", "key=value"),
        ("slope", "needs deg"),
        ("slope:deg=steep", "a number"),
        ("slope:deg=10,deg=11", "twice"),
        ("slope:deg=nan", "from -85 to 85"),
        ("rough:rms=.1,length=.8,seed=1.5", "a whole number"),
        ("rough:rms=.1", "length, seed"),
        ("ramp:height=1", "deg and length"),
        ("ramp:height=1,deg=20,down=maybe", "yes or no"),
    ],
)
def test_a_line_that_says_nothing_usable_is_answered_with_what_would(text, says):
    with pytest.raises(TerrainError) as caught:
        terrain.parse(text)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)
