"""Maps of single-precision heights: the same surface as in double precision, however they lie in memory."""

import numpy as np
import pytest

import grouser as gr
from grouser.errors import TerrainError
from grouser.terrain.relief import relief

X, Y = 10.0 + 0.5 * np.arange(13), -3.0 + 0.25 * np.arange(17)
HEIGHTS = np.random.default_rng(4).normal(0.0, 0.3, (13, 17)).astype(np.float32)
HOLED = HEIGHTS.copy()
HOLED[4, 5] = HOLED[4, 6] = HOLED[0, 0] = HOLED[12, 8] = HOLED[7, 9] = HOLED[9, 9] = np.nan


def everywhere(count=4000):
    """Inside, on nodes and borders, outside, and no place at all."""
    inside = np.random.default_rng(1).uniform((X[0] - 0.3, Y[0] - 0.3), (X[-1] + 0.3, Y[-1] + 0.3), (count, 2))
    nodes = np.stack(np.meshgrid(X, Y, indexing="ij"), axis=-1).reshape(-1, 2)
    return np.concatenate([inside, nodes])


@pytest.mark.parametrize("heights", [HEIGHTS, HOLED], ids=["whole", "with holes"])
@pytest.mark.parametrize("layout", ["rows", "columns", "flipped", "a file from the north"])
def test_single_and_double_precision_are_one_surface(heights, layout):
    """Slopes at borders and beside holes are one-sided in both."""
    laid = {
        "rows": lambda h: np.ascontiguousarray(h),
        "columns": lambda h: np.asfortranarray(h),
        "flipped": lambda h: np.ascontiguousarray(h[::-1, ::-1])[::-1, ::-1],
        "a file from the north": lambda h: np.ascontiguousarray(h.T[::-1])[::-1].T,
    }[layout](heights)
    single, double = gr.terrain.grid(laid, X, Y), gr.terrain.grid(heights.astype(float), X, Y)
    assert single.settings["heights"].dtype == np.float32
    assert single.law is not double.law
    x, y = everywhere().T
    a, b = single.sample(x, y), double.sample(x, y)
    np.testing.assert_array_equal(a.inside, b.inside)
    assert 0 < a.inside.sum() < len(x)
    np.testing.assert_allclose(a.height, b.height, rtol=0.0, atol=1e-14)
    np.testing.assert_allclose(a.gradient, b.gradient, rtol=0.0, atol=1e-13)
    assert single.bounds == double.bounds
    assert single.relief == double.relief


def test_a_plane_has_its_own_slopes_along_each_axis():
    """Of 0.2 east and −0.1 north: a swapped or flipped axis would show."""
    heights = (0.2 * X[:, None] - 0.1 * Y[None, :] + 5.0).astype(np.float32)
    ground = gr.terrain.grid(heights, X, Y)
    np.testing.assert_allclose(ground.gradient(12.2, -1.3), [0.2, -0.1], rtol=0.0, atol=1e-5)
    np.testing.assert_allclose(ground.height(12.2, -1.3), 0.2 * 12.2 + 0.13 + 5.0, rtol=0.0, atol=1e-6)


def test_the_map_keeps_a_copy_of_an_array_that_its_maker_changes():
    mine = HEIGHTS.copy()
    ground = gr.terrain.grid(mine, X, Y)
    before = float(ground.height(12.0, -1.0))
    mine += 1.0
    assert float(ground.height(12.0, -1.0)) == before


def test_single_precision_survives_a_file_and_a_copy(tmp_path):
    import pickle

    ground = gr.terrain.grid(HOLED, X, Y)
    ground.save(tmp_path / "map.npz")
    for again in (gr.terrain.read(tmp_path / "map.npz"), pickle.loads(pickle.dumps(ground))):
        assert again.settings["heights"].dtype == np.float32
        for p, q in zip(again.sample(*everywhere().T), ground.sample(*everywhere().T), strict=True):
            np.testing.assert_array_equal(p, q)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda h: h * np.nan, "all NaN"),
        (lambda h: np.where(h > 0.0, np.inf, h).astype(np.float32), "not a finite number"),
        (lambda h: (h + 1e12).astype(np.float32), "too large"),
        (lambda h: h[:1], "shape"),
        (lambda h: np.ma.masked_array(h, mask=h > 0.0), "masked"),
    ],
)
def test_heights_that_are_none_are_refused(change, says):
    with pytest.raises(TerrainError, match=says):
        gr.terrain.grid(change(HEIGHTS.copy()), X, Y)


def test_a_vehicle_drives_the_same_way_on_both():
    single, double = (
        gr.terrain.grid(HEIGHTS, 2.0 * X, 4.0 * Y),
        gr.terrain.grid(HEIGHTS.astype(float), 2.0 * X, 4.0 * Y),
    )
    for model in (gr.Kinematics(gr.vehicle("husky")), gr.Dynamics(gr.vehicle("husky"))):
        runs = [
            gr.simulate(model, ground, gr.drive.arc(0.8, 0.1), duration=2.0, start=(26.0, -4.0, 1.0))
            for ground in (single, double)
        ]
        assert runs[0].status == "ok"
        np.testing.assert_allclose(runs[0].position, runs[1].position, rtol=0.0, atol=1e-7)


@pytest.mark.parametrize("turned", [False, True])
def test_relief_is_what_all_nodes_together_say(turned, monkeypatch):
    """By whole-array NumPy in angles, while the function looks at a few rows at a time and at tangents."""
    monkeypatch.setattr("grouser.terrain.relief.AT_ONCE", 40)
    heights = np.asfortranarray(HOLED) if turned else HOLED
    found = relief(heights, X, Y)
    h = HOLED.astype(float)
    assert (found.lowest, found.highest, found.holes) == (np.nanmin(h), np.nanmax(h), 6)
    slopes = [np.abs(np.diff(h, axis=0)) / 0.5, np.abs(np.diff(h, axis=1)) / 0.25]
    steepest = max(np.nanmax(s) for s in slopes)
    assert found.slope == pytest.approx(steepest, rel=1e-12)
    axis = int(np.nanmax(slopes[1]) == steepest)
    i, j = np.argwhere(slopes[axis] == steepest)[0]
    assert (found.x, found.y) == (X[i], Y[j])


@pytest.mark.parametrize("degrees", [-24.9, -25.1, 24.9, 25.1, 80.0])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("first", [-60.0, 0.0, 40.0])
def test_a_bend_of_more_than_25_degrees_is_a_fold(degrees, axis, first):
    last = first + degrees
    if abs(last) > 89.0:
        last = first - degrees
    profile = np.array([0.0, np.tan(np.radians(first)), np.tan(np.radians(first)) + np.tan(np.radians(last))])
    heights = np.repeat(profile[:, None], 3, axis=1)
    nodes = np.arange(3.0)
    assert relief(heights if axis == 0 else heights.T, nodes, nodes).folded == (abs(last - first) > 25.0)
