"""Second derivatives of the ground: exact where it is smooth, refused where it has edges."""

import gc
import math

import numpy as np
import pytest

import grouser.terrain as terrain
from grouser._kernels.terrain.ground import sample_ground
from grouser.errors import TerrainError

X = np.linspace(-3.0, 5.0, 17)
Y = np.linspace(-2.0, 2.0, 11)


def hill(x, y):
    return 0.3 * math.sin(1.3 * x + 0.2) * math.cos(0.9 * y) + 0.05 * x * y


def hill_with_slope(x, y):
    s, c = math.sin(1.3 * x + 0.2), math.cos(1.3 * x + 0.2)
    return (
        0.3 * s * math.cos(0.9 * y) + 0.05 * x * y,
        0.39 * c * math.cos(0.9 * y) + 0.05 * y,
        -0.27 * s * math.sin(0.9 * y) + 0.05 * x,
    )


def hill_with_all(x, y):
    s, c = math.sin(1.3 * x + 0.2), math.cos(1.3 * x + 0.2)
    return (
        0.3 * s * math.cos(0.9 * y) + 0.05 * x * y,
        0.39 * c * math.cos(0.9 * y) + 0.05 * y,
        -0.27 * s * math.sin(0.9 * y) + 0.05 * x,
        -0.507 * s * math.cos(0.9 * y),
        -0.351 * c * math.sin(0.9 * y) + 0.05,
        -0.243 * s * math.cos(0.9 * y),
    )


def smooth_grounds():
    heights = np.random.default_rng(5).normal(scale=0.2, size=(X.size, Y.size))
    spline = terrain.spline(heights, X, Y)
    return {
        "plane": terrain.plane(0.7),
        "slope": terrain.slope(17.0, heading_deg=35.0, height=0.4),
        "bicubic": terrain.grid(heights, X, Y, interpolation="bicubic"),
        "spline": spline,
        "turned": terrain.moved(spline, x=0.3, y=-0.2, z=1.0, yaw=0.8),
        "mirrored": terrain.moved(spline, x=0.3, y=-0.2, z=1.0, yaw=0.8, mirror=True),
        "moved twice": terrain.moved(terrain.moved(spline, yaw=2.0, mirror=True), x=1.0, yaw=-0.3),
        "stack of one": terrain.stack(spline),
        "rough bicubic": terrain.rough(0.1, 0.8, 1, size=6.0, interpolation="bicubic"),
        "rough spline": terrain.rough(0.1, 0.8, 1, size=6.0, interpolation="spline"),
        "formula with all": terrain.law(hill_with_all),
        "formula with slope": terrain.law(hill_with_slope),
        "formula of height": terrain.law(hill),
    }


@pytest.fixture(scope="module")
def grounds():
    return smooth_grounds()


NAMES = list(smooth_grounds())


def inner_points(ground, n=300):
    """Random places away from the border of the map."""
    points = np.random.default_rng(7).uniform(-1.2, 1.2, (n, 2))
    return points[ground.contains(points[:, 0], points[:, 1])]


@pytest.mark.parametrize("name", NAMES)
def test_height_and_slope_are_those_of_the_law_without_curvature(grounds, name):
    ground = grounds[name]
    points = inner_points(ground)
    assert len(points) > 100
    out = ground.second_derivatives(points)
    plain = ground.sample(points[:, 0], points[:, 1])
    np.testing.assert_allclose(out[:, 0], plain.height, rtol=0, atol=1e-14)
    # A slope found from heights differs between the two laws by the rounding of the coarser one, 1e-16/1e-5.
    np.testing.assert_allclose(out[:, 1:3], plain.gradient, rtol=0, atol=1e-9 if name.endswith("height") else 1e-13)


@pytest.mark.parametrize("name", NAMES)
def test_second_derivatives_are_differences_of_the_slope(grounds, name):
    ground = grounds[name]
    d = 1e-5
    points = inner_points(ground)
    if "bicubic" in name:  # the second derivative jumps at cell borders: stay away from them
        step = np.array([X[1] - X[0], Y[1] - Y[0]]) if name == "bicubic" else np.full(2, 0.1)
        place = (points - [ground.bounds[0], ground.bounds[2]]) / step
        points = points[(np.abs(place - np.round(place)) > 1e-3).all(axis=1)]
    out = ground.second_derivatives(points)
    px, py = points.T
    by_x = (ground.gradient(px + d, py) - ground.gradient(px - d, py)) / (2 * d)
    by_y = (ground.gradient(px, py + d) - ground.gradient(px, py - d)) / (2 * d)
    # Rounding 1e-16/1e-5 of an exact slope, of one that is itself a difference 1e-16/1e-10; truncation d² h''''.
    bound = 3e-5 if name == "formula of height" else 2e-8
    np.testing.assert_allclose(out[:, 3], by_x[:, 0], rtol=0, atol=bound)
    np.testing.assert_allclose(out[:, 4], by_x[:, 1], rtol=0, atol=bound)
    np.testing.assert_allclose(out[:, 4], by_y[:, 0], rtol=0, atol=bound)
    np.testing.assert_allclose(out[:, 5], by_y[:, 1], rtol=0, atol=bound)


def test_a_formula_gives_its_own_second_derivatives_or_close_differences(grounds):
    points = inner_points(grounds["plane"])
    exact = np.array([hill_with_all(*p) for p in points])
    np.testing.assert_allclose(grounds["formula with all"].second_derivatives(points), exact, rtol=0, atol=1e-15)
    np.testing.assert_allclose(grounds["formula with slope"].second_derivatives(points), exact, rtol=0, atol=1e-9)
    np.testing.assert_allclose(grounds["formula of height"].second_derivatives(points), exact, rtol=0, atol=1e-8)


def test_curvature_of_a_spline_goes_on_across_cell_borders_and_of_a_bicubic_grid_jumps(grounds):
    borders = np.array([[x, y] for x in X[1:-1] for y in Y[1:-1]])
    for side in ([1.0, 0.0], [0.0, 1.0], [0.7, -0.7]):
        step = 1e-9 * np.array(side)
        jump = {
            name: np.abs(
                grounds[name].second_derivatives(borders + step) - grounds[name].second_derivatives(borders - step)
            )[:, 3:].max()
            for name in ("spline", "bicubic")
        }
        assert jump["spline"] < 1e-6  # third derivative times 2e-9, 6 m⁻² here
        assert jump["bicubic"] > 0.1


def test_spline_through_a_parabola_has_its_curvature_everywhere_up_to_the_border():
    heights = 0.4 * X[:, None] ** 2 - 0.3 * X[:, None] * Y[None, :] + 0.1 * Y[None, :] ** 2
    ground = terrain.spline(heights, X, Y)
    points = np.array([[x, y] for x in np.linspace(-3, 5, 41) for y in np.linspace(-2, 2, 23)])
    np.testing.assert_allclose(
        ground.second_derivatives(points)[:, 3:], [[0.8, -0.3, 0.2]] * len(points), rtol=0.0, atol=1e-11
    )


def test_outside_the_map_the_law_says_nan_and_the_method_says_where(grounds):
    for name in ("bicubic", "spline", "turned", "stack of one"):
        curvature = grounds[name].curvature
        out = np.zeros((2, 6))
        places = np.array([[50.0, 0.0], [np.nan, 0.0]])
        sample_ground(*curvature.pair, places, out)
        assert np.isnan(out[:, 0]).all()
        with pytest.raises(TerrainError, match=r"no ground at \(x, y\) = \(50, 1\) m"):
            grounds[name].second_derivatives([[0.0, 0.0], [50.0, 1.0]])
    bounded = terrain.law(bounds=(0.0, 1.0, 0.0, 1.0))(hill_with_all)
    with pytest.raises(TerrainError, match="no ground"):
        bounded.second_derivatives([[0.5, -0.1]])
    for formula in (
        lambda x, y: math.sqrt(x),
        lambda x, y: (math.sqrt(x), 0.0, 0.0),
        lambda x, y: (0.0, 0.0, 0.0, math.sqrt(x), 0.0, 0.0),
    ):
        with pytest.raises(TerrainError, match="no ground"):
            terrain.law(formula).second_derivatives([[-0.5, 0.0]])


def test_a_moved_ground_keeps_what_it_is_made_of_alive():
    curvature = terrain.moved(terrain.spline(X[:, None] * Y[None, :], X, Y), yaw=math.pi / 2).curvature
    gc.collect()
    junk = [np.full(500, 1e300) for _ in range(50)]
    out = np.zeros((1, 6))
    sample_ground(*curvature.pair, np.array([[0.5, 0.25]]), out)
    del junk
    # h = −x y after a quarter turn
    np.testing.assert_allclose(out[0], [-0.125, -0.25, -0.5, 0.0, -1.0, 0.0], rtol=0.0, atol=1e-12)


EDGED = {
    "bilinear": lambda: terrain.grid(np.zeros((3, 3)), [0, 1, 2], [0, 1, 2]),
    "rough": lambda: terrain.rough(0.1, 0.8, 1, size=3.0),
    "mesh": lambda: terrain.mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]]),
    "ramp": lambda: terrain.ramp(0.5, 20.0),
    "ramp alone": lambda: terrain.ramp(0.5, 20.0, base=False),
    "stack of two": lambda: terrain.stack(terrain.plane(), terrain.slope(5.0)),
    "moved mesh": lambda: terrain.moved(terrain.mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]]), x=1.0),
}


@pytest.mark.parametrize("name", EDGED)
def test_ground_with_edges_has_no_curvature_and_says_what_to_use(name):
    ground = EDGED[name]()
    with pytest.raises(TerrainError, match=r"has edges, rolling without slip needs .*; use gr\.terrain\.spline\(") as e:
        _ = ground.curvature
    assert "\n" not in str(e.value)
    with pytest.raises(TerrainError, match="has edges"):
        ground.second_derivatives([[0.0, 0.0]])


@pytest.mark.parametrize(
    ("xy", "words"),
    [([0.0, 0.0], "shape"), ([[0.0, 0.0, 0.0]], "shape"), ([[0.0, np.nan]], "finite"), ("a", "of num")],
)
def test_points_that_are_no_points_are_refused(xy, words):
    with pytest.raises(TerrainError, match=words):
        terrain.plane().second_derivatives(xy)


def test_a_formula_with_a_wrong_number_of_results_is_refused():
    with pytest.raises(TerrainError, match="must return a height"):
        terrain.law(lambda x, y: (x, y))
    with pytest.raises(TerrainError, match="must return a height"):
        terrain.law(lambda x, y: (x, y, 0.0, "a", 0.0, 0.0))
