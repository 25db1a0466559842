"""Maps of surveyors: windows, means of nodes, no data that is not declared, coordinate systems, memory."""

import subprocess
import sys

import numpy as np
import pytest

import grouser as gr
from grouser.errors import TerrainError
from grouser.terrain import archive, crop, geotiff
from grouser.terrain.source import Guess

rasterio = pytest.importorskip("rasterio")

WEST, NORTH = 440_000.0, 5_312_000.0
ROWS, COLUMNS = 60, 80


def surface(x, y):
    """Hills around 300 m; another height at each node."""
    return 300.0 + 5.0 * np.sin(0.11 * (x - WEST)) + 3.0 * np.cos(0.07 * (y - NORTH)) + 0.02 * (x - WEST)


def rows(cell=1.0):
    x = WEST + cell * (np.arange(COLUMNS) + 0.5)
    y = NORTH - cell * (np.arange(ROWS) + 0.5)
    return surface(x[None, :], y[:, None]).astype(np.float32)


def write(path, values, *, crs="EPSG:32633", cell=1.0, west=WEST, north=NORTH, **options):
    place = rasterio.transform.from_origin(west, north, cell, cell)
    shape = {"width": values.shape[1], "height": values.shape[0], "count": 1}
    with rasterio.open(
        path, "w", driver="GTiff", dtype=values.dtype, crs=crs, transform=place, **shape, **options
    ) as file:
        file.write(values, 1)
    return path


@pytest.fixture
def dem(tmp_path):
    return write(tmp_path / "dem.tif", rows())


@pytest.mark.parametrize("options", [{}, {"tiled": True, "blockxsize": 16, "blockysize": 16, "compress": "deflate"}])
@pytest.mark.parametrize("at_once", [7, 256])
def test_a_geotiff_keeps_its_single_precision_and_its_places(tmp_path, options, at_once, monkeypatch):
    monkeypatch.setattr(geotiff, "ROWS_AT_ONCE", at_once)
    ground = gr.terrain.read(write(tmp_path / "dem.tif", rows(), **options))
    assert ground.settings["heights"].dtype == np.float32
    assert ground.bounds == (WEST + 0.5, WEST + COLUMNS - 0.5, NORTH - ROWS + 0.5, NORTH - 0.5)
    for i, j in ((0, 0), (3, 50), (ROWS - 1, COLUMNS - 1)):
        x, y = WEST + j + 0.5, NORTH - i - 0.5
        assert float(ground.height(x, y)) == pytest.approx(float(rows()[i, j]), abs=1e-9)
    # East of the first node the surface rises by 0.11 × 5 + 0.02 per metre: signs of both axes.
    dx, dy = ground.gradient(WEST + 30.5, NORTH - 20.5)
    assert dx == pytest.approx(0.55 * np.cos(0.11 * 30.5) + 0.02, abs=2e-3)
    assert dy == pytest.approx(-0.21 * np.sin(0.07 * -20.5), abs=2e-3)


def test_a_window_is_the_same_ground_there_and_knows_its_whole(dem):
    whole = gr.terrain.read(dem)
    part = gr.terrain.read(dem, bounds=(WEST + 20.2, WEST + 39.0, NORTH - 30.0, NORTH - 10.7))
    assert part.bounds == (WEST + 19.5, WEST + 39.5, NORTH - 30.5, NORTH - 10.5)
    assert part.source.whole == whole.bounds
    assert whole.source.whole is None
    assert part.description == "part of map dem.tif"
    x, y = np.random.default_rng(2).uniform((WEST + 20.5, NORTH - 29.5), (WEST + 38.5, NORTH - 11.5), (500, 2)).T
    for p, q in zip(part.sample(x, y), whole.sample(x, y), strict=True):
        np.testing.assert_allclose(p, q, rtol=0.0, atol=1e-12)
    with pytest.raises(
        TerrainError, match=r"nothing of the map is within x 0 to 10 m, y 0 to 10 m; it covers x 440000\.5 to"
    ):
        gr.terrain.read(dem, bounds=(0.0, 10.0, 0.0, 10.0))


def test_only_a_window_is_read_from_the_file(tmp_path, monkeypatch):
    path = write(tmp_path / "dem.tif", rows(), tiled=True, blockxsize=16, blockysize=16)
    read, really = [], geotiff._read
    monkeypatch.setattr(
        geotiff, "_read", lambda source, window, *rest: read.append(window) or really(source, window, *rest)
    )
    gr.terrain.read(path, bounds=(WEST + 10.0, WEST + 20.0, NORTH - 20.0, NORTH - 10.0))
    assert [(one.rows, one.columns) for one in read] == [(12, 12)]


def test_means_of_nodes_lie_in_the_middle_of_what_they_are_of(tmp_path):
    """Of a plane they are the plane."""
    x, y = WEST + np.arange(40) + 0.5, NORTH - np.arange(30) - 0.5
    plane = (0.25 * (x[None, :] - WEST) - 0.5 * (y[:, None] - NORTH)).astype(np.float32)
    path = write(tmp_path / "plane.tif", plane)
    for step in (2, 3, 7):
        ground = gr.terrain.read(path, step=step)
        assert np.shape(ground.settings["heights"]) == (40 // step, 30 // step)
        px, py = np.random.default_rng(step).uniform(ground.bounds[::2], ground.bounds[1::2], (50, 2)).T
        np.testing.assert_allclose(ground.height(px, py), 0.25 * (px - WEST) - 0.5 * (py - NORTH), rtol=0.0, atol=1e-5)
        assert ground.source.step == step
        again = crop.coarser(gr.terrain.read(path), step)
        # From the south-west corner here, and in the file: the same nodes.
        np.testing.assert_allclose(again.bounds, ground.bounds, rtol=0.0, atol=1e-9)
        np.testing.assert_allclose(again.height(px, py), ground.height(px, py), rtol=0.0, atol=1e-6)


def test_a_mean_over_a_hole_is_a_hole(tmp_path):
    values = rows()
    values[10, 10] = -32768.0
    ground = gr.terrain.read(write(tmp_path / "dem.tif", values, nodata=-32768.0), step=4)
    assert ground.relief.holes == 1


@pytest.mark.parametrize(
    "number", [-9999.0, -32768.0, -99999.0, 3.4028234663852886e38, -3.4028234663852886e38, 32767.0]
)
def test_an_undeclared_number_far_from_all_heights_is_no_data_and_said(tmp_path, number):
    values = rows()
    values[20:30, 40:50] = number
    ground = gr.terrain.read(write(tmp_path / "dem.tif", values))
    assert ground.relief.holes == 100
    assert ground.relief.lowest > 280.0
    assert ground.source.guessed
    (note,) = ground.notes
    assert "is taken as no data (100 nodes, 2.1 %)" in note
    assert f"{number:.6g}".lstrip("-") in note
    moved = gr.terrain.moved(ground, z=1.0)
    assert moved.notes == ground.notes


@pytest.mark.parametrize("step", [1, 3])
def test_a_depth_of_9999_m_among_depths_is_a_depth(tmp_path, step):
    """A trench down to 10 900 m: the number lies among the others, so nothing is guessed, whatever is read first."""
    values = np.linspace(-10_900.0, 0.0, ROWS * COLUMNS, dtype=np.float32).reshape(ROWS, COLUMNS)
    values[5, 5] = values[0, 0] = -9999.0
    ground = gr.terrain.read(write(tmp_path / "sea.tif", values, cell=100.0), step=step)
    assert ground.relief.holes == 0
    assert not ground.notes
    assert ground.relief.lowest == pytest.approx(-10_900.0, abs=100.0 * step)


def test_a_guess_is_refuted_by_heights_that_come_later():
    guess = Guess()
    first, last = np.array([-999.0, 10.0, 20.0]), np.array([-2000.0, 5.0])
    guess.clear(first)
    assert np.isnan(first[0])
    assert guess.refuted() == ()
    guess.clear(last)
    assert guess.refuted() == (-999.0,)


def test_no_data_is_what_the_file_or_the_user_says(tmp_path):
    values = rows()
    values[:4] = 0.0
    path = write(tmp_path / "dem.tif", values)
    assert gr.terrain.read(path).relief.holes == 0  # 0 is a height
    assert gr.terrain.read(path, nodata=0.0).relief.holes == 4 * COLUMNS
    assert gr.terrain.read(write(path, values, nodata=0.0)).relief.holes == 4 * COLUMNS


@pytest.mark.parametrize("kind", ["int16", "uint8", "float64", "int32"])
def test_other_numbers_are_read_exactly(tmp_path, kind):
    values = np.arange(ROWS * COLUMNS).reshape(ROWS, COLUMNS) % 200
    ground = gr.terrain.read(write(tmp_path / "dem.tif", values.astype(kind)))
    assert ground.settings["heights"].dtype == np.float32  # all are exact in 24 bits
    np.testing.assert_array_equal(ground.settings["heights"], values[::-1].T)
    fine = values + 1e-6
    if kind == "float64":
        kept = gr.terrain.read(write(tmp_path / "dem.tif", fine)).settings["heights"]
        assert kept.dtype == np.float64
        np.testing.assert_array_equal(kept, fine[::-1].T)


def test_scaled_whole_numbers_are_heights(tmp_path):
    path = write(tmp_path / "dem.tif", np.arange(ROWS * COLUMNS, dtype=np.int16).reshape(ROWS, COLUMNS))
    with rasterio.open(path, "r+") as file:
        file.scales, file.offsets = (0.1,), (100.0,)
    ground = gr.terrain.read(path)
    assert float(ground.height(WEST + 0.5, NORTH - 0.5)) == pytest.approx(100.0, abs=1e-5)
    assert float(ground.height(WEST + 10.5, NORTH - 0.5)) == pytest.approx(101.0, abs=1e-5)


def test_the_coordinate_system_is_named_and_must_be_in_metres(tmp_path):
    found = gr.terrain.read(write(tmp_path / "a.tif", rows())).source
    assert (found.crs, found.epsg, found.stored) == ("WGS 84 / UTM zone 33N", 32633, "float32")
    assert gr.terrain.read(write(tmp_path / "a.tif", rows(), crs=None)).source.crs == ""
    with pytest.raises(TerrainError, match=r"degrees \(WGS 84\).*-t_srs EPSG:32633"):
        gr.terrain.read(write(tmp_path / "b.tif", rows(), crs="EPSG:4326", cell=1e-4, west=14.0, north=48.0))
    with pytest.raises(TerrainError, match=r"EPSG:32718"):
        gr.terrain.read(write(tmp_path / "b.tif", rows(), crs="EPSG:4326", cell=1e-4, west=-77.0, north=-12.0))
    with pytest.raises(TerrainError, match=r"in US survey foot \(NAD83 / New York Long Island"):
        gr.terrain.read(write(tmp_path / "c.tif", rows(), crs="EPSG:2263"))


def test_degrees_without_a_coordinate_system_are_recognised_by_their_towers(tmp_path):
    hills = (100.0 * rows()).astype(np.float32)
    with pytest.raises(TerrainError, match="its coordinates must be degrees"):
        gr.terrain.read(write(tmp_path / "a.tif", hills, crs=None, cell=1.0 / 3600.0, west=14.0, north=48.0))
    text = "ncols 2\nnrows 2\nxllcorner 14\nyllcorner 48\ncellsize 0.000277778\n300 310\n320 305\n"
    (tmp_path / "a.asc").write_text(text)
    with pytest.raises(TerrainError, match="its coordinates must be degrees"):
        gr.terrain.read(tmp_path / "a.asc")
    (tmp_path / "a.asc").write_text(text.replace("0.000277778", "0.05").replace("3", "0.3"))
    gr.terrain.read(tmp_path / "a.asc")  # a sandbox of centimetres


def test_an_esri_grid_has_windows_means_and_guesses_too(tmp_path, monkeypatch):
    monkeypatch.setattr("grouser.terrain.esri.AT_ONCE", 100)  # numbers are cut between blocks
    values = rows()
    values[3, 4] = -32768.0
    body = "\n".join(" ".join(f"{v:.3f}" for v in row) for row in values)
    head = f"ncols {COLUMNS}\nnrows {ROWS}\nxllcorner {WEST}\nyllcorner {NORTH - ROWS}\ncellsize 1\n"
    (tmp_path / "dem.asc").write_text(head + body + "\n")
    seen = []
    whole = gr.terrain.read(tmp_path / "dem.asc", progress=lambda done, total: seen.append((done, total)))
    assert seen[-1][0] == seen[-1][1]
    assert seen == sorted(seen)
    assert whole.relief.holes == 1
    assert "−32768" in whole.notes[0]
    tif = gr.terrain.read(write(tmp_path / "dem.tif", values))
    assert whole.bounds == tif.bounds
    part = gr.terrain.read(tmp_path / "dem.asc", bounds=(WEST + 20.0, WEST + 40.0, NORTH - 40.0, NORTH - 20.0), step=2)
    other = gr.terrain.read(tmp_path / "dem.tif", bounds=(WEST + 20.0, WEST + 40.0, NORTH - 40.0, NORTH - 20.0), step=2)
    assert part.bounds == other.bounds
    np.testing.assert_allclose(part.settings["heights"], other.settings["heights"], rtol=0.0, atol=1e-3)


def test_a_window_of_a_large_saved_map_is_read_without_the_rest(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "COMPRESSED", 1000)
    whole = gr.terrain.grid(rows()[::-1].T, WEST + np.arange(COLUMNS), NORTH + np.arange(ROWS))
    whole.save(tmp_path / "map.npz")
    box = (WEST + 10.0, WEST + 20.5, NORTH + 30.0, NORTH + 44.0)
    expected = crop.cropped(whole, box)
    monkeypatch.setattr(archive, "read_npz", lambda *args, **options: pytest.fail("all of it is read"))
    part = gr.terrain.read(tmp_path / "map.npz", bounds=box)
    assert part.bounds == expected.bounds
    assert part.source.whole == whole.bounds
    np.testing.assert_array_equal(part.settings["heights"], expected.settings["heights"])
    with pytest.raises(TerrainError, match="nothing of the map"):
        gr.terrain.read(tmp_path / "map.npz", bounds=(0.0, 1.0, 0.0, 1.0))


def test_too_large_a_map_says_how_to_read_a_part(tmp_path, monkeypatch):
    monkeypatch.setattr("grouser.terrain.files.MOST_SINGLE_NODES", 1000)
    path = write(tmp_path / "dem.tif", rows())
    with pytest.raises(
        TerrainError, match=r"80 columns × 60 rows; at most 1000 nodes are read: cut out a part with crop"
    ):
        gr.terrain.read(path)
    gr.terrain.read(path, step=4)
    gr.terrain.read(path, bounds=(WEST + 10.0, WEST + 20.0, NORTH - 20.0, NORTH - 10.0))


READ = """
import resource, sys
import rasterio
import grouser as gr
import grouser.terrain.files
gr.terrain.grid([[0.0, 0.0], [0.0, 0.0]], [0.0, 1.0], [0.0, 1.0]).kernel
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
ground = gr.terrain.read(sys.argv[1])
ground.kernel
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024, ground.settings["heights"].nbytes)
"""


def test_reading_a_map_takes_little_more_memory_than_its_heights(tmp_path):
    """2000 × 2000 nodes with a hole, in compressed tiles: at most 60 MB over the array, of which GDAL may take 32."""
    x = np.arange(2000, dtype=np.float32)
    values = np.sin(0.01 * x)[None, :] * np.cos(0.013 * x)[:, None] + np.float32(300.0)
    values[100:200, 100:200] = -9999.0
    path = write(tmp_path / "dem.tif", values, tiled=True, compress="deflate")
    out = subprocess.run([sys.executable, "-c", READ, str(path)], capture_output=True, text=True, check=True).stdout
    more, array = map(int, out.split())
    assert array == 16_000_000
    assert more - array < 60_000_000


def test_a_map_that_is_nothing_but_no_data_is_refused_though_it_does_not_say_so(tmp_path):
    with pytest.raises(TerrainError, match="heights are all NaN"):
        gr.terrain.read(write(tmp_path / "holes.tif", np.full((20, 30), -9999.0, dtype=np.float32)))


def test_web_mercator_is_refused_where_its_metres_are_long(tmp_path):
    """At 48° a metre is drawn 1/cos 48° = 1.49 m long; at the equator it is one."""
    north = 6_378_137.0 * np.arcsinh(np.tan(np.radians(48.0)))
    with pytest.raises(TerrainError, match=r"draws a metre here 1\.49 m long"):
        gr.terrain.read(write(tmp_path / "web.tif", rows(), crs="EPSG:3857", west=1.6e6, north=north))
    assert gr.terrain.read(write(tmp_path / "here.tif", rows(), crs="EPSG:3857", west=0.0, north=100.0)).notes == ()


@pytest.mark.parametrize(
    ("place", "said"),
    [
        (rasterio.Affine(0.5, 0, WEST, 0, 0.5, NORTH), "is not north up; turn it so: gdalwarp"),  # south up
        (rasterio.Affine.translation(WEST, NORTH) * rasterio.Affine.rotation(30), "is not north up"),
        (rasterio.Affine.identity(), "has no position"),
    ],
)
@pytest.mark.filterwarnings("ignore::rasterio.errors.NotGeoreferencedWarning")
def test_a_map_that_is_turned_or_nowhere_is_refused_with_its_remedy(tmp_path, place, said):
    shape = {"width": COLUMNS, "height": ROWS, "count": 1, "dtype": "float32", "crs": "EPSG:32633"}
    with rasterio.open(tmp_path / "dem.tif", "w", driver="GTiff", transform=place, **shape) as file:
        file.write(rows(), 1)
    with pytest.raises(TerrainError, match=said):
        gr.terrain.read(tmp_path / "dem.tif")


def test_a_picture_is_no_map_and_of_several_bands_the_first_is_taken_aloud(tmp_path):
    for kind in ("uint8", "float32"):
        values = np.stack([rows() - 280.0, rows(), rows()]).astype(kind)
        place = rasterio.transform.from_origin(WEST, NORTH, 1.0, 1.0)
        shape = {"width": COLUMNS, "height": ROWS, "count": 3, "dtype": kind, "crs": "EPSG:32633"}
        with rasterio.open(tmp_path / f"{kind}.tif", "w", driver="GTiff", transform=place, **shape) as file:
            file.write(values)
    with pytest.raises(TerrainError, match="the red of a picture"):
        gr.terrain.read(tmp_path / "uint8.tif")
    ground = gr.terrain.read(tmp_path / "float32.tif")
    assert ground.notes == ("float32.tif: has 3 bands, heights are those of the first",)
    assert float(ground.height(WEST + 0.5, NORTH - 0.5)) == pytest.approx(float(rows()[0, 0]) - 280.0, abs=1e-4)


def test_a_steep_place_is_named_with_all_digits_of_its_coordinates(tmp_path):
    from grouser.terrain.relief import steep_warning

    heights = rows()
    heights[30, 40] += 50.0
    said = steep_warning(gr.terrain.read(write(tmp_path / "dem.tif", heights)))
    x, y = (float(word) for word in said.split("(x, y) = (")[1].split(")")[0].split(", "))
    assert abs(x - (WEST + 40.5)) <= 1.0
    assert abs(y - (NORTH - 30.5)) <= 1.0
