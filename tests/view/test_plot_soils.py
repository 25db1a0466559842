"""The top view tints soils and names them."""

import numpy as np

import grouser as gr
from grouser.view import plot_rollouts

HUSKY = gr.vehicle("husky")
RASTER = gr.terrain.polygons([(1, [(1, -3), (3, -3), (3, 3), (1, 3), (1, -3)])], cell=0.1, background=0)


def tint(axes):
    """The image that covers the ground with see-through colours of soils."""
    (found,) = [i for i in axes.images if i.get_array().ndim == 3 and i.get_array().shape[-1] == 4]
    return found


def test_soils_are_tinted_where_they_lie_and_named_in_the_legend():
    laws = [None, gr.contact.Pacejka(friction=0.1)]
    ground = gr.terrain.soils(gr.terrain.plane(), RASTER, laws, names=["gravel", "ice $1$"])
    run = gr.simulate(gr.Kinematics(HUSKY), ground, gr.drive.arc(1.0), duration=4.0)
    axes = run.plot().axes[0]
    image = tint(axes)
    pixels, (xmin, xmax, _, _) = np.asarray(image.get_array()), image.get_extent()
    x = xmin + (xmax - xmin) * (np.arange(pixels.shape[1]) + 0.5) / pixels.shape[1]
    row = pixels[pixels.shape[0] // 2]
    on_ice = (x >= 1.0) & (x < 3.0)
    assert len(np.unique(row[on_ice], axis=0)) == len(np.unique(row[~on_ice], axis=0)) == 1
    assert not np.array_equal(row[on_ice][0], row[~on_ice][0])
    assert 0.0 < row[:, 3].max() < 0.5
    words = [text.get_text() for text in axes.get_legend().get_texts()]
    assert words[-2:] == ["gravel", r"ice \$1\$"]
    many = gr.rollout(gr.Kinematics(HUSKY), ground, np.full((2, 20, 4), 5.0), every=5)
    words = [text.get_text() for text in plot_rollouts(many, ground).axes[0].get_legend().get_texts()]
    assert words[-2:] == ["gravel", r"ice \$1\$"]


def test_a_ground_without_soils_has_no_tint():
    run = gr.simulate(gr.Kinematics(HUSKY), gr.terrain.plane(), gr.drive.arc(1.0), duration=0.4)
    axes = run.plot().axes[0]
    assert len(axes.images) == 1
