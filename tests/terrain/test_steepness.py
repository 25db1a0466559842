"""Where a ground is steepest, and the sentence about it."""

import math

import numpy as np
import pytest

from grouser import terrain
from grouser.terrain import steep_warning, steepest


def test_slopes_and_ramps_are_as_steep_as_they_say():
    assert steepest(terrain.plane()).degrees == 0.0
    assert steepest(terrain.slope(-30.0)).degrees == 30.0
    degrees, x, y = steepest(terrain.ramp(1.5, 80.0, x=2.0, top=3.0))
    assert degrees == pytest.approx(80.0)
    assert (x, y) == pytest.approx((2.0 + 0.75 / math.tan(math.radians(80.0)), 0.0))


def test_a_ramp_that_ends_in_a_drop_is_vertical_there():
    degrees, x, y = steepest(terrain.ramp(1.0, 45.0, top=2.0, down=False, heading_deg=90.0))
    assert degrees == 90.0
    assert (x, y) == pytest.approx((0.0, 3.0), abs=1e-12)
    assert steepest(terrain.ramp(1.0, 45.0, width=2.0)).degrees == 90.0


def test_a_grid_names_its_steepest_cell():
    heights = np.zeros((5, 4))
    heights[3, 2] = 1.0
    x, y = np.linspace(0.0, 0.8, 5), np.linspace(0.0, 3.0, 4)
    degrees, px, py = steepest(terrain.grid(heights, x, y))
    assert degrees == pytest.approx(math.degrees(math.atan(1.0 / 0.2)))
    assert px in (pytest.approx(0.4), pytest.approx(0.6))
    assert py == pytest.approx(2.0)


def test_a_mesh_knows_its_vertical_triangles():
    vertices = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 0, 1), (1, 1, 1)]
    assert steepest(terrain.mesh(vertices, [(0, 1, 2)])).degrees == pytest.approx(0.0)
    assert steepest(terrain.mesh(vertices, [(0, 1, 2), (1, 3, 4)])).degrees == pytest.approx(90.0)


def test_a_formula_is_sampled_and_a_moved_ground_moves_its_place():
    def hill(x, y):
        return 2.0 * math.tanh(3.0 * (x - 1.0))

    ground = terrain.law(hill)
    degrees, x, _ = steepest(ground)
    assert degrees == pytest.approx(math.degrees(math.atan(6.0)), abs=1.0)
    assert x == pytest.approx(1.0, abs=0.2)
    moved = steepest(terrain.moved(terrain.ramp(1.5, 80.0), x=3.0, yaw=0.5 * math.pi))
    assert moved.degrees == pytest.approx(80.0)
    assert (moved.x, moved.y) == pytest.approx((3.0, 0.75 / math.tan(math.radians(80.0))))


def test_only_ground_too_steep_for_a_height_field_gets_a_sentence():
    assert steep_warning(terrain.ramp(1.5, 60.0)) == ""
    assert "80°" in steep_warning(terrain.ramp(1.5, 80.0))
    said = steep_warning(terrain.stack(terrain.ramp(1.0, 20.0, top=1.0, down=False, base=False), terrain.plane()))
    assert said.startswith("the ground is vertical at (x, y) = (3.747, 0) m")
