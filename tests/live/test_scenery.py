"""The ground that the page draws reaches as far as the vehicle sees, wherever it drives."""

from __future__ import annotations

import numpy as np
import pytest

import grouser as gr
from grouser.live.page import Scenery

ORIGIN = np.array([100.0, -50.0, 0.0])


def test_a_new_patch_is_due_before_the_vehicle_comes_to_the_edge() -> None:
    scenery = Scenery(gr.terrain.slope(deg=5.0), ORIGIN, size=1.0)
    assert scenery.is_due(100.0, -50.0)  # there is none yet
    first = scenery.around(100.0, -50.0)
    assert first is not None
    assert first["x"] == pytest.approx([-14.0, 14.0])  # relative to the origin
    assert first["y"] == pytest.approx([-14.0, 14.0])
    assert not scenery.is_due(100.0, -50.0)
    for x, y in ((108.0, -50.0), (92.0, -50.0), (100.0, -42.0), (100.0, -58.0)):
        assert scenery.is_due(x, y)
    second = scenery.around(108.0, -50.0)
    assert second is not None
    assert second["x"] == pytest.approx([-6.0, 22.0])
    assert not scenery.is_due(108.0, -50.0)


def test_a_small_map_is_drawn_whole_and_once() -> None:
    ground = gr.terrain.rough(rms=0.1, length=1.0, seed=1, size=20.0)
    scenery = Scenery(ground, np.zeros(3), size=1.0)
    patch = scenery.around(9.0, 9.0)
    assert patch is not None
    assert patch["x"] == pytest.approx(list(ground.bounds[:2]))
    assert not scenery.is_due(9.9, -9.9)


def test_at_the_edge_of_a_large_map_there_is_nothing_more_to_draw() -> None:
    ground = gr.terrain.rough(rms=0.1, length=1.0, seed=1, size=100.0, spacing=0.5)
    scenery = Scenery(ground, np.zeros(3), size=1.0)
    patch = scenery.around(45.0, 0.0)
    assert patch is not None
    assert patch["x"] == pytest.approx([31.0, ground.bounds[1]])
    assert not scenery.is_due(49.0, 0.0)
    assert scenery.is_due(49.0, 12.0)
