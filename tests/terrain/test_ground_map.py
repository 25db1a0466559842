"""Ground maps: values between cells, any ground outside, files, soil classes."""

import numpy as np
import pytest

import grouser as gr
from grouser.errors import TerrainError
from grouser.terrain.ground_map import GroundMap, read_ground_map


def made(nx=6, ny=4, cell=2.0):
    """Turn slip rises along x, friction along y; known better in the first columns."""
    x, y = np.meshgrid((np.arange(nx) + 0.5) * cell, (np.arange(ny) + 0.5) * cell, indexing="ij")
    mean = np.stack([-0.6 + 0.02 * x, 0.4 + 0.05 * y], axis=-1)
    sigma = np.where(x < 8.0, 0.02, 0.1)
    covariance = sigma[..., None, None] ** 2 * np.array([[1.0, 0.5], [0.5, 2.0]])
    return GroundMap(
        names=("slip.p6", "contact.friction"), mean=mean, covariance=covariance, origin=(0.0, 0.0), cell=cell,
        outside_mean=[-0.5, 0.5], outside_covariance=np.diag([0.01, 0.02]), length=5.0, path=[[1.0, 1.0], [7.0, 1.0]],
    )  # fmt: skip


def test_a_plane_is_interpolated_exactly_between_the_middles_of_cells():
    x, y = np.array([[1.0, 3.7], [9.1, 5.0]]), np.array([[1.0, 2.2], [6.9, 3.0]])
    mean, covariance = made().at(x, y)
    np.testing.assert_allclose(mean[..., 0], -0.6 + 0.02 * x, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(mean[..., 1], 0.4 + 0.05 * y, rtol=0.0, atol=1e-12)
    assert covariance.shape == (2, 2, 2, 2)
    np.testing.assert_allclose(covariance[0, 0], 0.0004 * np.array([[1.0, 0.5], [0.5, 2.0]]))
    assert np.linalg.eigvalsh(covariance).min() > 0.0


def test_outside_is_any_ground():
    mean, covariance = made().at([-0.1, 5.0], [1.0, 8.1])
    np.testing.assert_array_equal(mean, [[-0.5, 0.5]] * 2)
    np.testing.assert_array_equal(covariance, [np.diag([0.01, 0.02])] * 2)


def test_a_map_of_one_cell_is_constant():
    one = made(nx=1, ny=1)
    np.testing.assert_allclose(one.at([0.1, 1.9], [0.2, 1.5])[0], np.tile(one.mean[0, 0], (2, 1)))


def test_it_comes_back_from_its_file(tmp_path):
    made().save(tmp_path / "map.npz")
    read = read_ground_map(tmp_path / "map.npz")
    assert read.names == ("slip.p6", "contact.friction")
    assert (read.extent, read.cell, read.length) == ((0.0, 12.0, 0.0, 8.0), 2.0, 5.0)
    np.testing.assert_array_equal(read.mean, made().mean)
    np.testing.assert_allclose(read.covariance, made().covariance, rtol=1e-6)
    np.testing.assert_array_equal(read.path, made().path)


def test_classes_follow_the_parameter_where_it_is_known():
    raster, means = made().classes("slip.p6", 2)
    # Columns 0 to 3 are known; two classes of two columns, the others have none.
    np.testing.assert_array_equal(raster.classes, np.repeat([0, 0, 1, 1, 255, 255], 4).reshape(6, 4))
    np.testing.assert_allclose(means[:, 0], [-0.56, -0.48])
    ground = gr.terrain.soils(gr.terrain.plane(), raster, [gr.contact.Pacejka(friction=0.3), gr.contact.Pacejka()])
    assert len(ground.soils.soils) == 2


def test_mistakes_are_one_sentence(tmp_path):
    with pytest.raises(TerrainError, match=r"no 'slip.a1'; it has slip.p6, contact.friction"):
        made().index("slip.a1")
    with pytest.raises(TerrainError, match=r"saved as \.npz"):
        made().save(tmp_path / "map.tif")
    gr.terrain.SoilRaster(classes=np.zeros((2, 2), dtype=int), cell=1.0).save(tmp_path / "soil.npz")
    with pytest.raises(TerrainError, match="ground-map"):
        read_ground_map(tmp_path / "soil.npz")
    np.savez(tmp_path / "part.npz", schema=np.array("grouser/ground-map@1"), names=np.array(["a"]))
    with pytest.raises(TerrainError, match="not a whole ground map"):
        read_ground_map(tmp_path / "part.npz")
    with pytest.raises(TerrainError, match="finite"):
        made().at(np.nan, 0.0)
