"""Terrains written in one line."""

import numpy as np
import pytest

import grouser.terrain as terrain
from grouser.errors import TerrainError
from grouser.terrain.spec import file_of


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


def test_a_part_of_a_file_is_written_after_it(tmp_path):
    x, y = np.arange(40.0), np.arange(30.0)
    whole = terrain.grid(np.random.default_rng(3).normal(size=(40, 30)), x, y)
    path = tmp_path / "a.map: b.npz"
    whole.save(path)
    part = terrain.parse(f"{path}:crop=20,25,10,5")  # any two opposite corners
    assert part.bounds == (9.0, 21.0, 4.0, 26.0)
    assert part.source.whole == whole.bounds
    assert terrain.parse(f" {path} ").bounds == whole.bounds
    coarse = terrain.parse(f"{path}: crop = 10, 5, 20, 25, step = 2")
    np.testing.assert_allclose(np.diff(coarse.settings["x"]), 2.0)
    assert file_of(f"{path}:crop=1,2,3,4") == str(path)
    assert file_of("rough:rms=.1,length=1,seed=1") is None
    assert file_of("flat") is None


@pytest.mark.parametrize(
    ("rest", "says"),
    [
        ("crop=1,2,3", "x0,y0,x1,y1"),
        ("crop=a,b,c,d", "x0,y0,x1,y1"),
        ("crop=1,2,3,4,5", "x0,y0,x1,y1"),
        ("crop=1,2,1,4", r"\(xmin, xmax, ymin, ymax\)"),
        ("crop=900,900,950,950", "it covers x 0 to 39 m, y 0 to 29 m"),
        ("step=two", "a whole number"),
        ("step=0", "a whole number between 1"),
        ("step=30", "at least 2 × 2"),
        ("step=2,step=2", "twice"),
        ("size=2", "keys crop, step, nodata, interpolation"),
        ("5", "keys crop, step, nodata, interpolation"),
        ("nodata=no", "a number"),
        ("interpolation=cubic", "bilinear, bicubic"),
    ],
)
def test_a_part_that_is_none_is_refused(rest, says, tmp_path):
    terrain.grid(np.zeros((40, 30)), np.arange(40.0), np.arange(30.0)).save(tmp_path / "a.npz")
    with pytest.raises(TerrainError, match=says):
        terrain.parse(f"{tmp_path / 'a.npz'}:{rest}")
