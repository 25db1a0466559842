"""Parts of grounds are the same grounds there."""

import numpy as np
import pytest

import grouser as gr
from grouser.errors import TerrainError
from grouser.terrain.crop import coarser, cropped
from grouser.terrain.place import middle

AXIS = np.linspace(-20.0, 20.0, 161)
HEIGHTS = np.random.default_rng(1).normal(0.0, 0.2, (161, 161))
BOX = (3.1, 9.3, -7.9, 1.2)


def box_mesh():
    x, y = np.meshgrid(np.arange(-20.0, 21.0, 2.0), np.arange(-20.0, 21.0, 2.0), indexing="ij")
    vertices = np.column_stack([x.ravel(), y.ravel(), np.random.default_rng(2).normal(size=x.size)])
    i = np.arange(20)[:, None] * 21 + np.arange(20)[None, :]
    corners = i.ravel()
    faces = np.concatenate(
        [np.stack([corners, corners + 21, corners + 1], 1), np.stack([corners + 1, corners + 21, corners + 22], 1)]
    )
    return gr.terrain.mesh(vertices, faces)


def soil():
    classes = np.random.default_rng(3).integers(0, 2, (50, 40)).astype(np.uint8)
    raster = gr.terrain.SoilRaster(classes=classes, origin=(-12.0, -11.0), cell=0.5, outside=1)
    laws = [gr.contact.Pacejka(friction=0.4), gr.contact.Pacejka(friction=0.9)]
    return gr.terrain.soils(gr.terrain.grid(HEIGHTS, AXIS, AXIS), raster, laws)


GROUNDS = {
    "grid": lambda: gr.terrain.grid(HEIGHTS, AXIS, AXIS),
    "single": lambda: gr.terrain.grid(HEIGHTS.astype(np.float32), AXIS, AXIS),
    "bicubic": lambda: gr.terrain.grid(HEIGHTS, AXIS, AXIS, interpolation="bicubic"),
    "spline": lambda: gr.terrain.spline(HEIGHTS, AXIS, AXIS),
    "mesh": box_mesh,
    "moved": lambda: gr.terrain.moved(gr.terrain.grid(HEIGHTS, AXIS, AXIS), x=1.0, y=-2.0, z=3.0, yaw=0.7, mirror=True),
    "stack": lambda: gr.terrain.stack(
        gr.terrain.grid(HEIGHTS, AXIS, AXIS), gr.terrain.ramp(0.4, 12.0, x=4.0, width=2.0, base=False)
    ),
    "soils": soil,
    "moved soils": lambda: gr.terrain.moved(soil(), x=1.0, yaw=-0.4),
    "plane": lambda: gr.terrain.plane(1.0),
}


@pytest.mark.parametrize("name", GROUNDS)
def test_a_part_is_the_same_ground_in_its_rectangle(name):
    whole = GROUNDS[name]()
    part = cropped(whole, BOX)
    x, y = np.random.default_rng(5).uniform(BOX[::2], BOX[1::2], (3000, 2)).T
    for p, q in zip(part.sample(x, y), whole.sample(x, y), strict=True):
        np.testing.assert_allclose(p, q, rtol=0.0, atol=1e-11)
    np.testing.assert_array_equal(part.soil(x, y), whole.soil(x, y))
    if name != "plane":
        (a, b, c, d), (wa, wb, wc, wd) = part.bounds, whole.bounds
        assert (b - a) * (d - c) < 0.7 * (wb - wa) * (wd - wc)
    assert cropped(part, BOX).bounds == cropped(cropped(part, BOX), BOX).bounds


@pytest.mark.parametrize("name", [name for name in GROUNDS if name != "plane"])
def test_a_part_that_misses_the_map_is_refused(name):
    with pytest.raises(TerrainError, match=r"nothing of the map is within x 900 to 950 m, y 0 to 1 m; it covers x"):
        cropped(GROUNDS[name](), (900.0, 950.0, 0.0, 1.0))


def test_a_part_with_no_height_is_refused():
    heights = HEIGHTS.copy()
    heights[60:140, 20:120] = np.nan
    with pytest.raises(TerrainError, match="nothing of the map"):
        cropped(gr.terrain.grid(heights, AXIS, AXIS), (0.0, 5.0, -5.0, 0.0))


def test_a_part_of_a_part_knows_the_whole_and_a_file_keeps_it(tmp_path):
    whole = GROUNDS["single"]()
    part = cropped(cropped(whole, (-10.0, 10.0, -10.0, 10.0)), BOX)
    assert part.source.whole == whole.bounds
    assert part.description.count("part of") == 1
    part.save(tmp_path / "part.npz")
    again = gr.terrain.read(tmp_path / "part.npz")
    assert again.source == part.source


def test_only_nodes_can_be_averaged():
    with pytest.raises(TerrainError, match="this is a mesh"):
        coarser(box_mesh(), 2)


def test_the_middle_of_a_map_is_where_a_vehicle_can_stand():
    far = 5_310_000.0
    nodes = np.arange(200.0)
    heights = np.zeros((200, 200))
    assert middle(gr.terrain.grid(heights, nodes, far + nodes)) == pytest.approx((100.0, far + 100.0), abs=1.0)
    heights[90:120, 90:120] = np.nan
    x, y = middle(gr.terrain.grid(heights, nodes, far + nodes))
    assert 3.0 < np.hypot(x - 99.5, y - far - 99.5) < 25.0
    assert not (86.0 < x < 122.0 and 86.0 < y - far < 122.0)
    assert middle(gr.terrain.plane()) == (0.0, 0.0)
    heights[:] = np.nan
    heights[50, 50] = heights[51, 50] = heights[50, 51] = heights[51, 51] = 0.0
    with pytest.raises(TerrainError, match="give a start"):
        middle(gr.terrain.grid(heights, nodes, nodes))
