"""Terrains in files: round trips, refusals, and damaged files of every kind."""

import builtins
import inspect
import io
import json
import math
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import grouser.terrain as terrain
from grouser.errors import GrouserError, TerrainError
from grouser.terrain import archive, files
from grouser.terrain.archive import BUILDERS

AXIS = np.linspace(0.0, 4.0, 9)
HEIGHTS = np.random.default_rng(1).normal(scale=0.2, size=(9, 9))
ASC = "ncols 3\nnrows 2\nxllcorner 10\nyllcorner 20\ncellsize 2\nNODATA_value -1\n1 2 3\n4 5 6\n"
FUZZ = settings(
    max_examples=100,
    deadline=None,  # the promise of 2 s is kept by CPU time in `usable_or_refused`
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def assert_same(a, b, low=-1.0, high=6.0):
    px, py = np.random.default_rng(0).uniform(low, high, (2, 500))
    for p, q in zip(a.sample(px, py), b.sample(px, py), strict=True):
        np.testing.assert_array_equal(p, q)
    assert a.bounds == b.bounds
    assert a.description == b.description


def saveable():
    box = terrain.mesh([[0, 0, 0], [3, 0, 1], [0, 3, 2], [3, 3, 0]], [[0, 1, 2], [1, 2, 3]])
    hole = HEIGHTS.copy()
    hole[3, 4] = np.nan
    return {
        "plane": terrain.plane(1.5),
        "slope": terrain.slope(11.0, heading_deg=30.0),
        "ramp": terrain.ramp(0.4, length=1.8, top=0.6, width=0.6, heading_deg=20.0),
        "plateau": terrain.ramp(0.4, 20.0, top=math.inf, down=False),
        "grid": terrain.grid(hole, AXIS, AXIS),
        "bicubic": terrain.grid(HEIGHTS, AXIS, AXIS, interpolation="bicubic"),
        "spline": terrain.spline(HEIGHTS, AXIS, AXIS),
        "mesh": box,
        "rough": terrain.rough(rms=0.1, length=1.0, seed=3, size=8.0),
        "tree": terrain.moved(terrain.stack(box, terrain.moved(terrain.grid(hole, AXIS, AXIS), yaw=1.0)), z=1.0),
    }


@pytest.mark.parametrize("kind", saveable())
def test_a_saved_terrain_is_read_back_the_same(kind, tmp_path):
    ground = saveable()[kind]
    ground.save(tmp_path / "ground.npz")
    assert_same(terrain.read(tmp_path / "ground.npz"), ground)
    assert [p.name for p in tmp_path.iterdir()] == ["ground.npz"]


def test_saving_replaces_a_file_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "ground.npz"
    terrain.plane(1.0).save(path)

    def full_disk(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(archive.np, "savez_compressed", full_disk)
    with pytest.raises(TerrainError, match="No space left"):
        terrain.plane(2.0).save(path)
    monkeypatch.undo()
    assert float(terrain.read(path).height(0, 0)) == 1.0
    assert [p.name for p in tmp_path.iterdir()] == ["ground.npz"]


def test_where_nothing_can_be_written_or_read_it_says_so(tmp_path):
    for act in (
        lambda: terrain.plane().save(tmp_path / "missing" / "ground.npz"),
        lambda: terrain.plane().save(tmp_path / "ground.txt"),
        lambda: terrain.read(tmp_path / "missing.npz"),
        lambda: terrain.read(tmp_path),
        lambda: terrain.read(tmp_path / "ground.txt"),
        lambda: terrain.read("bad\0name.npz"),
    ):
        with pytest.raises(TerrainError) as caught:
            act()
        assert "\n" not in str(caught.value)


def write_npz(path, **entries):
    with open(path, "wb") as file:
        np.savez(file, **entries)


def test_files_from_a_newer_version_or_of_another_kind_are_refused(tmp_path):
    path = tmp_path / "g.npz"
    write_npz(path, schema=np.array("grouser/terrain@2"), terrain=np.array("{}"))
    with pytest.raises(TerrainError, match="newer Grouser"):
        terrain.read(path)
    write_npz(path, x=np.zeros(3))
    with pytest.raises(TerrainError, match="grouser/terrain@1"):
        terrain.read(path)
    write_npz(path, schema=np.array(archive.SCHEMA), terrain=np.array([object()], dtype=object))
    with pytest.raises(TerrainError, match=r"not a readable \.npz"):
        terrain.read(path)


@pytest.mark.parametrize(
    "tree",
    [
        "not json",
        "[" * 100_000,
        "3",
        {"kind": "grid"},
        {"kind": "os.system", "description": "", "settings": {}, "children": []},
        {"kind": "plane", "description": "", "settings": {"colour": 1}, "children": []},
        {"kind": "plane", "description": "", "settings": {"height": "x"}, "children": []},
        {"kind": "grid", "description": "", "settings": {"heights": {"array": "no"}}, "children": []},
        {"kind": "moved", "description": "", "settings": {}, "children": []},
        {"kind": "stack", "description": "", "settings": {"terrains": 3}, "children": []},
    ],
)
def test_a_damaged_tree_is_refused_in_one_sentence(tree, tmp_path):
    path = tmp_path / "g.npz"
    text = tree if isinstance(tree, str) else json.dumps(tree)
    write_npz(path, schema=np.array(archive.SCHEMA), terrain=np.array(text))
    with pytest.raises(TerrainError) as caught:
        terrain.read(path)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


def test_terrains_nested_without_end_are_refused(tmp_path):
    tree = {"kind": "plane", "description": "", "settings": {}, "children": []}
    for _ in range(200):
        tree = {"kind": "moved", "description": "", "settings": {}, "children": [tree]}
    write_npz(tmp_path / "g.npz", schema=np.array(archive.SCHEMA), terrain=np.array(json.dumps(tree)))
    with pytest.raises(TerrainError, match="nested"):
        terrain.read(tmp_path / "g.npz")


def test_a_small_file_that_unpacks_to_a_huge_one_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "MOST_BYTES", 10_000_000)
    with zipfile.ZipFile(tmp_path / "bomb.npz", "w", zipfile.ZIP_DEFLATED) as bomb:
        bomb.writestr("schema.npy", bytes(20_000_000))
    with pytest.raises(TerrainError, match="unpacks to"):
        terrain.read(tmp_path / "bomb.npz")


def test_too_large_a_file_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "LARGEST_FILE", 10)
    (tmp_path / "a.asc").write_text(ASC)
    with pytest.raises(TerrainError, match="at most 10"):
        terrain.read(tmp_path / "a.asc")


def test_an_esri_grid_has_its_first_row_in_the_north(tmp_path):
    path = tmp_path / "a.asc"
    path.write_text(ASC)
    ground = terrain.read(path)
    assert ground.bounds == (11.0, 15.0, 21.0, 23.0)
    np.testing.assert_allclose(ground.height([11, 13, 15, 11], [23, 23, 23, 21]), [1, 2, 3, 4], rtol=0.0, atol=1e-12)
    path.write_text(ASC.replace("llcorner", "llcenter"))
    assert terrain.read(path).bounds == (10.0, 14.0, 20.0, 22.0)
    path.write_text(ASC.upper().replace("\n", "\r\n"))
    assert terrain.read(path, interpolation="bicubic").bounds == (11.0, 15.0, 21.0, 23.0)


def test_missing_heights_of_an_esri_grid_are_outside(tmp_path):
    path = tmp_path / "a.asc"
    for missing in ("-1", "nan"):
        path.write_text(ASC.replace("4 5 6", f"4 5 {missing}"))
        np.testing.assert_array_equal(terrain.read(path).contains([12, 14], 22.0), [True, False])
    path.write_text(ASC.replace("NODATA_value -1\n", "").replace("1 2 3", "-9999 2 3"))
    np.testing.assert_array_equal(terrain.read(path).contains([12, 14], 22.0), [False, True])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("ncols 3\n", ""),
        ("ncols 3", "ncols 3.5"),
        ("ncols 3", "ncols -3"),
        ("ncols 3", "ncols 1e12"),
        ("ncols 3", "ncols nan"),
        ("ncols 3", "ncols inf"),
        ("ncols 3", "ncols 4"),
        ("cellsize 2", "cellsize 0"),
        ("cellsize 2", "cellsize two"),
        ("xllcorner 10", "xllcorner 1e300"),
        ("4 5 6", "4 5"),
        ("4 5 6", "4 x 6"),
        ("4 5 6", "4 inf 6"),
        ("4 5 6", "4 5 6 ¤"),
        ("1 2 3\n4 5 6", "-1 -1 -1\n-1 -1 -1"),
    ],
)
def test_a_damaged_esri_grid_is_refused_in_one_sentence(old, new, tmp_path):
    path = tmp_path / "a.asc"
    path.write_text(ASC.replace(old, new))
    with pytest.raises(TerrainError) as caught:
        terrain.read(path)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(f"{path}: ")


def write_tif(path, rows, crs="EPSG:32633", transform=None, **options):
    rasterio = pytest.importorskip("rasterio")
    place = transform or rasterio.transform.from_origin(500_000.0, 4_000_010.0, 0.5, 0.5)
    with rasterio.open(
        path, "w", driver="GTiff", width=rows.shape[1], height=rows.shape[0], count=1,
        dtype=rows.dtype, crs=crs, transform=place, **options,
    ) as file:  # fmt: skip
        file.write(rows, 1)


def test_a_geotiff_is_placed_by_its_coordinates(tmp_path):
    rows = np.arange(12, dtype=np.float32).reshape(3, 4)
    rows[0, 0] = -99.0
    write_tif(tmp_path / "a.tif", rows, nodata=-99.0)
    ground = terrain.read(tmp_path / "a.tif")
    assert ground.bounds == (500_000.25, 500_001.75, 4_000_008.75, 4_000_009.75)
    np.testing.assert_allclose(ground.height(500_001.25, 4_000_009.25), 6.0, rtol=0.0, atol=1e-6)
    assert not ground.contains(500_000.3, 4_000_009.7)


def test_a_geotiff_in_degrees_or_without_a_position_is_refused(tmp_path):
    rasterio = pytest.importorskip("rasterio")
    rows = np.zeros((3, 4), np.float32)
    write_tif(
        tmp_path / "a.tif",
        rows,
        crs="EPSG:4326",
        transform=rasterio.transform.from_origin(10, 50, 1e-4, 1e-4),
    )
    with pytest.raises(TerrainError, match="degrees"):
        terrain.read(tmp_path / "a.tif")
    turned = rasterio.Affine.rotation(30.0) @ rasterio.Affine.scale(0.5, -0.5)
    write_tif(tmp_path / "b.tiff", rows, transform=turned)
    with pytest.raises(TerrainError, match="north up"):
        terrain.read(tmp_path / "b.tiff")
    (tmp_path / "c.tif").write_bytes(b"II*\0 not a tiff")
    with pytest.raises(TerrainError, match="not a readable GeoTIFF"):
        terrain.read(tmp_path / "c.tif")


def mesh_bytes(kind):
    trimesh = pytest.importorskip("trimesh")
    vertices = [[0, 0, 0], [3, 0, 1], [0, 3, 2], [3, 3, 0]]
    made = trimesh.Trimesh(vertices, [[0, 1, 2], [1, 3, 2]], process=False)
    if kind == "ply ascii":
        return made.export(file_type="ply", encoding="ascii")
    if kind == "stl ascii":
        return made.export(file_type="stl_ascii").encode()
    data = made.export(file_type=kind)
    return data.encode() if isinstance(data, str) else data


@pytest.mark.parametrize("kind", ["stl", "obj", "ply", "stl ascii", "ply ascii"])
def test_meshes_are_read_from_files(kind, tmp_path):
    path = tmp_path / f"a.{kind[:3]}"
    path.write_bytes(mesh_bytes(kind))
    ground = terrain.read(path)
    assert ground.bounds == (0.0, 3.0, 0.0, 3.0)
    np.testing.assert_allclose(
        ground.height([0.0, 3.0, 1.0, 3.0], [0.0, 0.0, 1.0, 3.0]), [0, 1, 1, 0], rtol=0.0, atol=1e-6
    )


def test_a_missing_package_is_named_with_how_to_install_it(tmp_path, monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.split(".")[0] in ("rasterio", "trimesh"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    for suffix, extra in ((".tif", "geo"), (".stl", "mesh")):
        path = tmp_path / f"a{suffix}"
        path.write_bytes(b"x")
        monkeypatch.setattr(builtins, "__import__", without)
        with pytest.raises(TerrainError, match=rf"pip install grouser\[{extra}\]"):
            terrain.read(path)
        monkeypatch.undo()


def usable_or_refused(path):
    """A terrain read from any bytes answers everywhere, or the file is refused in one sentence."""
    try:
        ground = terrain.read(path)
    except GrouserError as error:
        message = str(error)
    else:
        message = ""
        xmin, xmax, ymin, ymax = np.clip(ground.bounds, -1e9, 1e9)
        sample = ground.sample(np.linspace(xmin, xmax, 17)[:, None], np.linspace(ymin, ymax, 17)[None, :])
        assert all(np.isfinite(part).all() for part in sample)
    assert "\n" not in message


def seed_files():
    npz = io.BytesIO()
    given = {"heights": {"array": "h"}, "x": [0, 1, 2], "y": [0, 1, 2]}
    tree = json.dumps({"kind": "grid", "description": "", "settings": given, "children": []})
    np.savez(npz, schema=np.array(archive.SCHEMA), terrain=np.array(tree), h=np.zeros((3, 3)))
    data = {".npz": npz.getvalue(), ".asc": ASC.encode()}
    for kind in ("stl", "obj", "ply", "stl ascii", "ply ascii"):
        data[f" {kind}"] = mesh_bytes(kind)
    return data


SEEDS = seed_files()


@pytest.mark.parametrize("kind", SEEDS)
@FUZZ
@given(data=st.data())
def test_damaged_files_are_refused_or_usable(kind, data, tmp_path):
    content = bytearray(SEEDS[kind])
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(content)))
        match data.draw(st.sampled_from(["change", "insert", "cut", "repeat"])):
            case "change" if at < len(content):
                content[at] = data.draw(st.integers(0, 255))
            case "insert":
                content[at:at] = data.draw(
                    st.binary(max_size=8) | st.sampled_from([b"9", b"-", b"1e308", b"nan ", b"\n"])
                )
            case "cut":
                del content[at : at + data.draw(st.integers(1, 40))]
            case "repeat":
                content[at:at] = content[at : at + 20]
    path = tmp_path / f"a.{kind.strip(' .')[:3]}"
    path.write_bytes(content)
    usable_or_refused(path)


odd_values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.floats(),
    st.sampled_from(["bilinear", "bicubic", "inf", [0, 1, 2], [0, 1, 1e308], {"array": "a"}, {"array": "b"}]),
)


@pytest.mark.parametrize("kind", BUILDERS)
@FUZZ
@given(data=st.data())
def test_whole_files_with_odd_settings_are_refused_or_usable(kind, data, tmp_path):
    names = [name for name in inspect.signature(BUILDERS[kind]).parameters if name != "description"]
    flat = {"kind": "plane", "description": "", "settings": {}, "children": []}
    tree = {
        "kind": kind,
        "description": data.draw(st.text(max_size=5)),
        "settings": data.draw(st.fixed_dictionaries({}, optional=dict.fromkeys(names, odd_values))),
        "children": data.draw(st.lists(st.just(flat), max_size=2)),
    }
    sides = npst.array_shapes(min_dims=1, max_dims=3, max_side=4)
    array = npst.arrays(st.sampled_from([np.float64, np.int64, np.float32, np.bool_, np.complex128]), sides)
    path = tmp_path / "a.npz"
    write_npz(
        path,
        schema=np.array(archive.SCHEMA),
        terrain=np.array(json.dumps(tree)),
        a=data.draw(array),
        b=data.draw(array),
    )
    usable_or_refused(path)


@pytest.mark.parametrize("suffix", ["npz", "asc", "tif", "stl", "obj", "ply"])
@FUZZ
@given(content=st.binary(max_size=300))
def test_random_bytes_are_refused_or_usable(suffix, content, tmp_path):
    path = tmp_path / f"a.{suffix}"
    path.write_bytes(content)
    usable_or_refused(path)
