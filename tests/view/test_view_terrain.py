"""The picture of a map: light from the north-west, holes in their colour, contours at round heights, a scale bar."""

import numpy as np
import pytest
from matplotlib.colors import to_rgb

import grouser as gr
from grouser.errors import TerrainError
from grouser.view.terrain import HOLE, plot_terrain

X, Y = 440_000.0 + np.arange(400.0), 5_310_000.0 + np.arange(300.0)


def hill():
    """A cone-like hill in the middle, and a hole in the south-east."""
    heights = 40.0 * np.exp(-((X[:, None] - X[200]) ** 2 + (Y[None, :] - Y[150]) ** 2) / 4000.0)
    heights[340:380, 20:60] = np.nan
    return gr.terrain.grid(heights.astype(np.float32), X, Y)


def test_light_comes_from_the_north_west_and_holes_have_their_colour(tmp_path):
    figure = plot_terrain(hill(), tmp_path / "map.png")
    axes = figure.axes[0]
    colours = np.asarray(axes.images[0].get_array())
    assert colours.shape == (674, 900, 4)
    # Rows run north from the south: at 40 m from the top, of one height on all sides.
    lit, dark = colours[337 + 64, 450 - 64, :3].sum(), colours[337 - 64, 450 + 64, :3].sum()
    assert lit > 1.2 * dark
    assert colours[90, 810, 3] == 0.0
    assert colours[337, 450, 3] == 1.0
    assert axes.get_facecolor()[:3] == pytest.approx(to_rgb(HOLE))
    assert figure.legends[0].get_texts()[0].get_text() == "no data (1.3 %)"
    assert "400 × 300 nodes of 1 m" in axes.get_title(loc="left") + axes.get_title()
    figure.canvas.draw()
    assert axes.yaxis.get_major_formatter().get_offset() in ("", "+5310000 m")
    assert "e" not in "".join(text.get_text() for text in axes.get_xticklabels())


def test_a_map_without_holes_has_no_legend_and_flat_ones_can_be_drawn():
    flat = gr.terrain.grid(np.zeros((30, 30)), np.arange(30.0), np.arange(30.0))
    assert not flat.plot().legends
    empty = hill()
    assert empty.plot().legends
    with pytest.raises(TerrainError, match="has no edge"):
        gr.terrain.plane().plot()
