"""Rasters of soil classes: which soil lies where, polygons, files, and what is refused."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import grouser as gr
from grouser.errors import SimulationError, TerrainError
from grouser.terrain import SoilRaster

PLANE = gr.terrain.plane()
A, B = gr.contact.Pacejka(friction=0.8), gr.contact.PiecewiseLinear(friction=0.1)
SQUARE = [(0.0, 0.0), (2.0, 0.0), (2.0, 1.0), (0.0, 1.0), (0.0, 0.0)]


def numbered(**more):
    """A raster of 3 × 2 cells of half a metre, each with its own class, from (1, −1)."""
    classes = np.arange(6).reshape(3, 2)
    return gr.terrain.soils(PLANE, SoilRaster(classes=classes, origin=(1.0, -1.0), cell=0.5, **more), [None] * 6)


def test_a_point_has_the_class_of_its_cell():
    x, y = np.meshgrid([1.25, 1.75, 2.25], [-0.75, -0.25], indexing="ij")
    np.testing.assert_array_equal(numbered().soil(x, y), np.arange(6).reshape(3, 2))


def test_a_point_on_a_border_belongs_to_the_cell_of_larger_x_or_y():
    ground = numbered()
    assert ground.soil(1.5, -0.75) == 2
    assert ground.soil(np.nextafter(1.5, 0.0), -0.75) == 0
    assert ground.soil(1.25, -0.5) == 1
    assert ground.soil(1.25, np.nextafter(-0.5, -1.0)) == 0
    assert ground.soil(1.0, -1.0) == 0


def test_outside_the_nearest_cell_counts_or_the_class_that_is_named():
    far = [(0.0, -0.75), (9.0, -0.75), (1.75, -9.0), (1.75, 9.0), (-9.0, 9.0), (1e300, -1e300), (2.5, 0.0)]
    x, y = np.clip(np.array(far).T, -1e9, 1e9)
    assert numbered().soil(x, y).tolist() == [0, 4, 2, 3, 1, 4, 5]
    assert set(numbered(outside=3).soil(x, y)) == {3}
    assert set(numbered(outside=255).soil(x, y)) == {-1}


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 20), st.integers(1, 20), st.floats(0.01, 10.0), st.floats(-5, 5), st.floats(-5, 5))
def test_every_cell_is_found_again_whatever_the_size(nx, ny, cell, x, y):
    classes = np.random.default_rng(nx * ny).integers(0, 255, (nx, ny))
    ground = gr.terrain.soils(PLANE, SoilRaster(classes=classes, origin=(x, y), cell=cell), [None] * 255)
    u, v = np.meshgrid(x + cell * (np.arange(nx) + 0.5), y + cell * (np.arange(ny) + 0.5), indexing="ij")
    np.testing.assert_array_equal(ground.soil(u, v), classes)


def test_a_ground_without_soils_has_none_anywhere():
    assert PLANE.soils is None
    assert PLANE.soil([0.0, 1.0], 0.0).tolist() == [-1, -1]


def test_heights_slopes_curvature_and_bounds_stay_those_of_the_ground():
    x = np.linspace(-3.0, 3.0, 31)
    field = gr.terrain.spline(0.1 * np.sin(x)[:, None] * np.cos(x)[None], x, x)
    ground = gr.terrain.soils(field, SoilRaster(classes=[[0]], cell=1.0), [A])
    at = np.array([[0.3, -0.4], [1.7, 2.2]])
    np.testing.assert_array_equal(ground.height(*at.T), field.height(*at.T))
    np.testing.assert_array_equal(ground.second_derivatives(at), field.second_derivatives(at))
    assert ground.bounds == field.bounds
    assert ground.has_edges == field.has_edges
    assert gr.terrain.moved(ground, x=1.0).second_derivatives([[0.0, 0.0]]).shape == (1, 6)


@pytest.mark.parametrize("mirror", [False, True])
def test_a_moved_ground_has_its_soils_where_its_points_are(mirror):
    ground = numbered()
    rng = np.random.default_rng(4)
    u, v = rng.uniform((0.0, -2.0), (3.5, 1.0), (500, 2)).T
    yaw, side = 0.7, -1.0 if mirror else 1.0
    x = 3.0 + np.cos(yaw) * u - np.sin(yaw) * side * v
    y = -2.0 + np.sin(yaw) * u + np.cos(yaw) * side * v
    there = gr.terrain.moved(ground, x=3.0, y=-2.0, yaw=yaw, mirror=mirror)
    np.testing.assert_array_equal(there.soil(x, y), ground.soil(u, v))
    twice = gr.terrain.moved(there, x=1.0, y=1.0, yaw=0.5)
    x, y = 1.0 + np.cos(0.5) * x - np.sin(0.5) * y, 1.0 + np.sin(0.5) * x + np.cos(0.5) * y
    np.testing.assert_array_equal(twice.soil(x, y), ground.soil(u, v))


def test_polygons_cover_the_cells_whose_middle_they_hold_and_later_ones_lie_on_top():
    triangle = [(0.5, 0.0), (1.5, 0.0), (1.0, 1.0), (0.5, 0.0)]
    raster = gr.terrain.polygons([(1, SQUARE), (2, triangle)], cell=0.05, background=0)
    ground = gr.terrain.soils(PLANE, raster, [None, A, B])
    assert ground.soil([1.0, 0.2, 1.9, -0.1, 1.0, 50.0], [0.5, 0.5, 0.9, 0.5, 1.1, 0.0]).tolist() == [2, 1, 1, 0, 0, 0]
    cells = np.bincount(raster.classes.ravel(), minlength=3) * 0.05**2
    assert cells[2] == pytest.approx(0.5, abs=0.5 * 0.05)  # half a base of 1 m times a height of 1 m
    assert cells[1] == pytest.approx(1.5, abs=0.5 * 0.05)
    assert raster.outside == 0


def test_a_polygon_that_crosses_itself_is_filled_by_the_even_odd_rule():
    twice = [(0, 0), (4, 0), (4, 4), (0, 4), (0, 0), (1, 1), (3, 1), (3, 3), (1, 3), (1, 1), (0, 0)]
    ground = gr.terrain.soils(PLANE, gr.terrain.polygons([(5, twice)], cell=0.1), {5: A})
    assert ground.soil([0.5, 2.0, 3.5, 9.0], [0.45, 2.0, 3.5, 9.0]).tolist() == [5, -1, 5, -1]


def test_soils_are_saved_with_their_ground_and_drive_alike_when_loaded(tmp_path):
    husky = gr.vehicle("husky")
    soil = gr.contact.Ishigami(cohesion=500.0)
    laws = [
        (A, gr.slip.BodySlip([-0.1, -0.2, 0, 0, 0, 0])),
        B.replace(friction=(0.1, 0.2)),
        gr.contact.Table(soil, radius=0.165, width=0.114, cells=(24, 24, 6), tolerance=0.5),
        dict.fromkeys(husky.wheels, B),
        gr.slip.DriveFrameSlip([0, -0.3, 0, 0, 0, 0, -0.1]),
        None,
    ]
    classes = np.random.default_rng(1).integers(0, 6, (30, 30))
    raster = SoilRaster(classes=classes, origin=(-3.0, -3.0), cell=0.3, outside=1)
    ground = gr.terrain.moved(gr.terrain.soils(PLANE, raster, laws, names=list("abcdef")), x=0.1, yaw=0.4)
    ground.save(tmp_path / "ground.npz")
    loaded = gr.terrain.read(tmp_path / "ground.npz")
    assert [soil.name for soil in loaded.soils.soils] == list("abcdef")
    again = pickle.loads(pickle.dumps(ground))
    loaded.save(tmp_path / "twice.npz")
    twice = gr.terrain.read(tmp_path / "twice.npz")
    for model in (gr.Dynamics(husky), gr.Kinematics(husky)):
        first = gr.simulate(model, ground, gr.drive.arc(1.5, 0.4), duration=2.0)
        for other in (loaded, again, twice):
            run = gr.simulate(model, other, gr.drive.arc(1.5, 0.4), duration=2.0)
            assert run.state.tobytes() == first.state.tobytes()
        first.save(tmp_path / "run.npz")
        kept = gr.Run.load(tmp_path / "run.npz").ground
        np.testing.assert_array_equal(kept.soil([0.3, 5.0], [0.2, 5.0]), ground.soil([0.3, 5.0], [0.2, 5.0]))


def test_a_soil_of_your_own_function_drives_but_is_not_saved(tmp_path):
    @gr.contact.law
    def plain(v, r_omega, dz):
        return -100.0 * v[0], -100.0 * v[1], -1e4 * dz - 500.0 * v[2]

    ground = gr.terrain.soils(PLANE, SoilRaster(classes=[[0]], cell=1.0), [plain])
    assert gr.simulate(gr.Dynamics(gr.vehicle("husky")), ground, gr.drive.arc(0.5), duration=0.2).steps == 5
    with pytest.raises(TerrainError, match=r"soil '0: plain': .* was made of a Python function and cannot be saved"):
        ground.save(tmp_path / "ground.npz")


def test_a_raster_is_saved_and_read_again(tmp_path):
    raster = SoilRaster(classes=np.arange(12).reshape(4, 3), origin=(0.1, -7.0), cell=0.3, outside=11)
    raster.save(tmp_path / "soils.npz")
    again = gr.terrain.read_soils(tmp_path / "soils.npz")
    np.testing.assert_array_equal(again.classes, raster.classes)
    assert (again.origin, again.cell, again.outside) == (raster.origin, raster.cell, raster.outside)


def geotiff(path, values, **more):
    """A GeoTIFF with its north-western corner at (100, 50) m and cells of half a metre."""
    rasterio = pytest.importorskip("rasterio")
    from rasterio.transform import Affine

    options = {"transform": Affine(0.5, 0.0, 100.0, 0.0, -0.5, 50.0), **more}
    with rasterio.open(
        path, "w", driver="GTiff", height=values.shape[0], width=values.shape[1], count=1, dtype=values.dtype, **options
    ) as file:
        file.write(values, 1)


def test_a_geotiff_of_classes_lies_north_up_and_its_gaps_have_no_class(tmp_path):
    geotiff(tmp_path / "soils.tif", np.array([[0, 1], [2, 99], [4, 5]], dtype=np.uint8), nodata=99)
    ground = gr.terrain.soils(PLANE, tmp_path / "soils.tif", [None] * 6)
    x, y = np.meshgrid([100.25, 100.75], [49.75, 49.25, 48.75])
    np.testing.assert_array_equal(ground.soil(x, y), [[0, 1], [2, -1], [4, 5]])


def test_geotiffs_that_hold_no_classes_are_refused(tmp_path):
    from rasterio.transform import Affine

    path = tmp_path / "soils.tif"
    geotiff(path, np.zeros((2, 2), dtype=np.float32))
    with pytest.raises(TerrainError, match=r"first band is float32; soil classes must be whole numbers, such as uint8"):
        gr.terrain.read_soils(path)
    geotiff(path, np.full((2, 2), 300, dtype=np.int16))
    with pytest.raises(TerrainError, match="class 300 is not from 0 to 254"):
        gr.terrain.read_soils(path)
    geotiff(path, np.zeros((2, 2), dtype=np.uint8), transform=Affine(0.5, 0.0, 0.0, 0.0, -0.7, 0.0))
    with pytest.raises(TerrainError, match=r"its cells are 0.5 × 0.7 m; make them square"):
        gr.terrain.read_soils(path)


ONE = SoilRaster(classes=[[0, 1]], cell=1.0)
WRONG = {
    "more classes than laws": (
        lambda: gr.terrain.soils(PLANE, ONE, [A]),
        "laws: class 1 of the raster has none, classes are 0, 1 and laws are given for 0",
    ),
    "an unnamed class outside": (
        lambda: gr.terrain.soils(PLANE, SoilRaster(classes=[[0]], cell=1.0, outside=4), [A]),
        "class 4 of the raster has none",
    ),
    "no law": (lambda: gr.terrain.soils(PLANE, ONE, [A, "ice"]), "soil 1: 'ice' is not a law of soil; use a contact"),
    "another law": (lambda: gr.terrain.soils(PLANE, ONE, [A, gr.actuation.PI(gain=1.0)]), "soil 1: PI.* is not a law"),
    "slip by wheel": (
        lambda: gr.terrain.soils(PLANE, ONE, [A, {"FL": gr.slip.BodySlip(np.zeros(6))}]),
        "soil 1: .* is not a law of soil",
    ),
    "two contacts": (lambda: gr.terrain.soils(PLANE, ONE, [A, (A, B)]), "soil 1: has two contact models"),
    "one law, no list": (lambda: gr.terrain.soils(PLANE, ONE, A), "laws: Pacejka.* is not a list of contact or slip"),
    "soils twice": (
        lambda: gr.terrain.soils(gr.terrain.soils(PLANE, ONE, [A, B]), ONE, [A, B]),
        "the ground has soils already; give all of them in one raster",
    ),
    "soils in a stack": (
        lambda: gr.terrain.stack(gr.terrain.soils(PLANE, ONE, [A, B])),
        "terrain 0 of the stack has soils; stack the grounds first",
    ),
    "names": (lambda: gr.terrain.soils(PLANE, ONE, [A, B], names=["ice"]), "names: are 1, for 2 soils; give one each"),
    "no ground": (lambda: gr.terrain.soils(ONE, ONE, [A, B]), "ground: <SoilRaster .* is not a Terrain"),
    "an array": (lambda: gr.terrain.soils(PLANE, np.zeros((2, 2)), [A]), "raster: .* is neither a SoilRaster nor a"),
    "fractions": (
        lambda: SoilRaster(classes=np.zeros((2, 2)), cell=1.0),
        "soil raster: its classes are float64; they must be whole numbers",
    ),
    "negative": (lambda: SoilRaster(classes=[[-1]], cell=1.0), "class -1 is not from 0 to 254"),
    "ragged": (lambda: SoilRaster(classes=[[1], [1, 2]], cell=1.0), "soil raster: its classes are object"),
    "flat": (lambda: SoilRaster(classes=[1, 2], cell=1.0), r"soil raster: has shape \(2,\); it needs \(nx, ny\)"),
    "cell": (lambda: SoilRaster(classes=[[1]], cell=0.0), "soil raster cell: 0 is not a number from 1e-06"),
    "open polygon": (
        lambda: gr.terrain.polygons([(1, SQUARE[:-1])], cell=0.1),
        r"polygon 0: does not close, it begins at \(0, 0\) m and ends at \(0, 1\) m; repeat its first corner",
    ),
    "two corners": (
        lambda: gr.terrain.polygons([(1, [(0, 0), (1, 1), (0, 0)])], cell=0.1),
        "polygon 0: has 3 corners; it needs 4 or more",
    ),
    "no polygons": (lambda: gr.terrain.polygons([], cell=0.1), "there are no polygons of soil"),
    "fine cells": (lambda: gr.terrain.polygons([(1, SQUARE)], cell=1e-5), "at most 200000000; use larger ones"),
    "no pair": (lambda: gr.terrain.polygons([3], cell=0.1), r"polygon 0: 3 is not \(class, corners\)"),
    "suffix": (lambda: gr.terrain.read_soils("soils.png"), "soils.png: a soil raster ends in one of .npz, .tif, .tiff"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_soils_are_refused_in_a_sentence(name):
    call, message = WRONG[name]
    with pytest.raises(TerrainError, match=message):
        call()


def test_laws_of_a_file_that_are_not_known_are_refused_when_they_are_used():
    from grouser.law import Recipe

    recipe = Recipe({"law": "Magic"}, "contact")
    ground = gr.terrain.soils(PLANE, SoilRaster(classes=[[0]], cell=1.0), [recipe])
    with pytest.raises(SimulationError, match="contact model 'Magic' of a file is not one of ErpCfm, Ishigami"):
        gr.simulate(gr.Dynamics(gr.vehicle("husky")), ground, gr.drive.arc(1.0), duration=0.2)
