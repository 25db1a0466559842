"""What every ground has in common: sampling, the end of the map, stacking, moving, formulas, copies."""

import copy
import math
import pickle
import subprocess
import sys

import numpy as np
import pytest

import grouser.terrain as terrain
from grouser._kernels.terrain.ground import sample_ground
from grouser.errors import TerrainError

AXIS = np.linspace(-2.0, 2.0, 21)
HEIGHTS = np.random.default_rng(8).normal(scale=0.1, size=(21, 21))


def every_kind():
    bilinear = terrain.grid(HEIGHTS, AXIS, AXIS)
    triangle = terrain.mesh([[-2, -2, 0], [2, -2, 1], [0, 2, 0.5]], [[0, 1, 2]])
    return {
        "plane": terrain.plane(1.0),
        "slope": terrain.slope(10.0),
        "ramp": terrain.ramp(0.5, 20.0, width=1.0, base=False),
        "endless ramp": terrain.ramp(0.5, 20.0, top=math.inf, down=False, base=False),
        "bilinear": bilinear,
        "bicubic": terrain.grid(HEIGHTS, AXIS, AXIS, interpolation="bicubic"),
        "spline": terrain.spline(HEIGHTS, AXIS, AXIS),
        "mesh": triangle,
        "stack": terrain.stack(bilinear, triangle),
        "moved": terrain.moved(bilinear, x=1.0, yaw=0.4, mirror=True),
        "function": terrain.law(lambda x, y: math.sin(x) * y),
        "nested": terrain.stack(terrain.moved(terrain.stack(bilinear, triangle), x=3.0), terrain.ramp(0.3, 10.0)),
    }


@pytest.mark.parametrize("kind", every_kind())
def test_queries_that_are_not_finite_are_off_every_map(kind):
    ground = every_kind()[kind]
    odd = [math.nan, math.inf, -math.inf, 1e300, -1e300, 1e18, -1e19, 1e10]
    xy = np.array([(a, b) for a in (*odd, 0.1) for b in (*odd, 0.1)][:-1])
    out = np.zeros((len(xy), 3))
    sample_ground(*ground.bound.pair, xy, out)
    assert np.isnan(out[:, 0]).all()


@pytest.mark.parametrize("kind", every_kind())
def test_samples_are_finite_with_unit_normals_and_agree_with_bounds(kind):
    ground = every_kind()[kind]
    px, py = np.random.default_rng(0).uniform(-8, 8, (2, 4000))
    sample = ground.sample(px, py)
    assert sample.inside.any()
    for part in sample:
        assert np.isfinite(part).all()
    np.testing.assert_allclose(np.linalg.norm(sample.normal, axis=-1), 1.0, rtol=0.0, atol=1e-14)
    np.testing.assert_array_equal(sample.normal[~sample.inside], np.tile([0, 0, 1], ((~sample.inside).sum(), 1)))
    xmin, xmax, ymin, ymax = ground.bounds
    beyond = (px < xmin) | (px > xmax) | (py < ymin) | (py > ymax)
    assert not sample.inside[beyond].any()


def test_shapes_broadcast_and_scalars_stay_scalars():
    ground = terrain.slope(10.0)
    sample = ground.sample(np.zeros((4, 1)), np.zeros(3))
    assert sample.height.shape == (4, 3)
    assert sample.gradient.shape == (4, 3, 2)
    assert sample.normal.shape == (4, 3, 3)
    assert sample.inside.shape == (4, 3)
    assert ground.height(1.0, 2.0).shape == ()
    assert ground.sample([], []).height.shape == (0,)
    assert f"{ground.height(1, 2):.3f}" == "0.176"


def test_leaving_the_map_names_the_place_and_the_map():
    ground = terrain.grid(HEIGHTS, AXIS, AXIS)
    with pytest.raises(TerrainError, match=r"\(2\.5, 1\) m; the map lies within x -2 to 2 m, y -2 to 2 m"):
        ground.height([0.0, 2.5, 9.0], [0.0, 1.0, 0.0])
    for method in (ground.gradient, ground.normal):
        with pytest.raises(TerrainError, match="no ground at"):
            method(0.0, -2.001)
    np.testing.assert_array_equal(ground.contains([0.0, 2.0, 2.001], [0.0, -2.0, 0.0]), [True, True, False])


@pytest.mark.parametrize("x", [math.nan, math.inf, [0.0, math.nan], "here", [1, [2, 3]], 1j, None, 1e12])
def test_places_that_are_no_numbers_are_refused(x):
    with pytest.raises(TerrainError):
        terrain.plane().sample(x, 0.0)


def test_places_of_different_shapes_are_refused():
    with pytest.raises(TerrainError, match="broadcast"):
        terrain.plane().sample([1.0, 2.0], [1.0, 2.0, 3.0])


def test_the_highest_of_a_stack_wins_and_it_ends_where_all_do():
    low = terrain.grid(HEIGHTS, AXIS, AXIS)
    tilted = terrain.moved(terrain.grid(0.3 * AXIS[:, None] + 0.0 * AXIS, AXIS, AXIS), x=1.5, yaw=0.7)
    children = (low, tilted, terrain.moved(low, y=3.0))
    px, py = np.random.default_rng(0).uniform(-5, 7, (2, 8000))
    samples = [child.sample(px, py) for child in children]
    heights = np.array([np.where(s.inside, s.height, -np.inf) for s in samples])
    best = heights.argmax(axis=0)
    for order in ((0, 1, 2), (2, 1, 0)):
        found = terrain.stack(*(children[i] for i in order)).sample(px, py)
        np.testing.assert_array_equal(found.inside, np.isfinite(heights.max(axis=0)))
        inside = found.inside
        assert 500 < inside.sum() < 7500
        np.testing.assert_array_equal(found.height[inside], heights.max(axis=0)[inside])
        gradients = np.array([s.gradient for s in samples])[best, np.arange(px.size)]
        np.testing.assert_array_equal(found.gradient[inside], gradients[inside])


def test_a_stack_keeps_its_children_alive():
    ground = terrain.moved(terrain.stack(terrain.grid(HEIGHTS + 5.0, AXIS, AXIS), terrain.plane(-9.0)), z=1.0)
    filler = [np.full(2000, 7.7) for _ in range(200)]
    np.testing.assert_allclose(ground.height(AXIS[:-1], AXIS[:-1]), np.diag(HEIGHTS)[:-1] + 6.0, rtol=0.0, atol=1e-12)
    assert len(filler) == 200


def test_mirrored_ground_has_the_mirrored_heights_and_slopes():
    ground = terrain.grid(HEIGHTS, AXIS, AXIS)
    mirrored = terrain.moved(ground, mirror=True)
    px, py = np.random.default_rng(0).uniform(-2, 2, (2, 1000))
    np.testing.assert_allclose(mirrored.height(px, py), ground.height(px, -py), rtol=0.0, atol=1e-15)
    np.testing.assert_allclose(mirrored.gradient(px, py), ground.gradient(px, -py) * [1, -1], rtol=0.0, atol=1e-15)


def test_moved_ground_is_found_where_it_was_moved_to():
    ground = terrain.grid(HEIGHTS, AXIS, AXIS, interpolation="bicubic")
    yaw = 0.7
    moved = terrain.moved(ground, x=10.0, y=-3.0, z=2.0, yaw=yaw)
    px, py = np.random.default_rng(0).uniform(-1.99, 1.99, (2, 1000))
    R = np.array([[math.cos(yaw), -math.sin(yaw)], [math.sin(yaw), math.cos(yaw)]])
    qx, qy = R @ (px, py) + np.array([[10.0], [-3.0]])
    np.testing.assert_allclose(moved.height(qx, qy), ground.height(px, py) + 2.0, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(moved.gradient(qx, qy), ground.gradient(px, py) @ R.T, rtol=0.0, atol=1e-12)


def test_moving_there_and_back_changes_nothing():
    ground = terrain.slope(12.0, heading_deg=20.0)
    there = terrain.moved(ground, x=1.0, y=2.0, z=3.0, mirror=True, yaw=1.0)
    back = terrain.moved(terrain.moved(there, x=-1.0, y=-2.0, z=-3.0), yaw=-1.0)
    back = terrain.moved(back, mirror=True)
    np.testing.assert_allclose(back.sample(0.3, 0.4).normal, ground.sample(0.3, 0.4).normal, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(back.height(0.3, 0.4), ground.height(0.3, 0.4), rtol=0.0, atol=1e-12)


def test_a_formula_with_and_without_its_slope_is_the_same_ground():
    k = 1.3

    @terrain.law
    def with_slope(x, y):
        return 0.2 * math.sin(k * x) * y, 0.2 * k * math.cos(k * x) * y, 0.2 * math.sin(k * x)

    @terrain.law
    def height_only(x, y):
        return 0.2 * math.sin(k * x) * y

    px, py = np.random.default_rng(0).uniform(-5, 5, (2, 1000))
    np.testing.assert_allclose(with_slope.height(px, py), height_only.height(px, py), rtol=0.0, atol=1e-15)
    # Rounding eps·h/step ≈ 1e-11 and truncation step²·h‴ ≈ 1e-9.
    np.testing.assert_allclose(with_slope.gradient(px, py), height_only.gradient(px, py), rtol=0.0, atol=1e-8)


def test_a_formula_ends_where_it_returns_nan_and_at_its_bounds():
    @terrain.law
    def bowl(x, y):
        r = x * x + y * y
        if r > 1.0:
            return math.nan
        return math.sqrt(1.0 - r)

    np.testing.assert_array_equal(bowl.contains([0.0, 0.99, 1.01], 0.0), [True, True, False])
    assert np.isfinite(bowl.sample(1.0 - 1e-9, 0.0).gradient).all()
    strip = terrain.law(bounds=(0.0, 2.0, -math.inf, math.inf))(lambda x, y: x)
    np.testing.assert_array_equal(strip.contains([-0.1, 1.0, 2.1], 1e5), [False, True, False])


def test_a_formula_of_whole_numbers_is_a_ground():
    assert float(terrain.law(lambda x, y: 2).height(1.0, 1.0)) == 2.0


@pytest.mark.parametrize(
    "formula",
    [
        lambda x, y: undefined_name + x,  # noqa: F821
        lambda x, y: "high",
        lambda x, y: (x, y),
        lambda x, y: None,
        lambda x: x,
        lambda x, y: print(x, file=y),
        3,
    ],
)
def test_a_formula_that_is_no_ground_is_refused_in_one_sentence(formula):
    with pytest.raises(TerrainError) as caught:
        terrain.law(formula)
    assert "\n" not in str(caught.value)


def test_a_formula_cannot_be_saved_and_says_so(tmp_path):
    ground = terrain.stack(terrain.plane(), terrain.law(lambda x, y: x))
    with pytest.raises(TerrainError, match="neither saved nor sent"):
        ground.save(tmp_path / "f.npz")
    with pytest.raises(TerrainError, match="neither saved nor sent"):
        pickle.dumps(ground)


def test_a_copy_in_another_process_is_the_same_ground():
    """Addresses differ there, so a copy is made again from its settings."""
    for kind, ground in every_kind().items():
        if kind == "function":
            continue
        twin = pickle.loads(pickle.dumps(ground))
        px, py = np.random.default_rng(0).uniform(-3, 3, (2, 300))
        for a, b in zip(ground.sample(px, py), twin.sample(px, py), strict=True):
            np.testing.assert_array_equal(a, b)
    assert copy.deepcopy(terrain.plane(3.0)).height(0, 0) == 3.0


def test_a_terrain_cannot_be_changed():
    ground = terrain.grid(HEIGHTS, AXIS, AXIS)
    with pytest.raises(AttributeError):
        ground.par = np.zeros(3)
    with pytest.raises(ValueError):
        ground.par[0] = 1.0
    with pytest.raises(ValueError):
        ground.settings["heights"][0, 0] = 1.0
    with pytest.raises(TypeError):
        ground.settings["x"] = 1.0


def test_changing_the_arrays_a_terrain_was_made_of_does_not_change_it():
    heights, vertices, faces = (
        HEIGHTS.copy(),
        np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]]),
        np.array([[0, 1, 2]]),
    )
    grounds = (
        terrain.grid(heights, AXIS, AXIS),
        terrain.spline(heights, AXIS, AXIS),
        terrain.mesh(vertices, faces),
    )
    before = [g.sample(0.1, 0.1).height for g in grounds]
    heights[:], vertices[:], faces[:] = 9.0, 9.0, 0
    assert [g.sample(0.1, 0.1).height for g in grounds] == before
    assert grounds[2].settings["vertices"].max() == 1.0


def test_importing_terrains_imports_no_heavy_package():
    heavy = "scipy.interpolate", "scipy.optimize", "rasterio", "trimesh", "matplotlib"
    code = f"import sys, grouser.terrain; print([m for m in {heavy!r} if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_stack_and_moved_refuse_what_is_no_terrain():
    for make in (lambda: terrain.stack(), lambda: terrain.stack(1), lambda: terrain.moved("flat")):
        with pytest.raises(TerrainError):
            make()
    with pytest.raises(TerrainError):
        terrain.moved(terrain.plane(), yaw=math.nan)
