"""Laws that answer many points at once say what the law of one point says."""

import numpy as np
import pytest

import grouser as gr
from grouser._compile.jit import entry
from grouser._kernels.law import call_law
from grouser._kernels.terrain.ground import sample_ground
from grouser.collision.contacts import contacts

NODES_X, NODES_Y = np.linspace(-2.0, 3.0, 11), np.linspace(-1.0, 2.0, 13)
HEIGHTS = np.random.default_rng(3).normal(0.0, 0.2, (11, 13))
HOLED = HEIGHTS.copy()
HOLED[4, 5] = np.nan
GROUNDS = {
    "slope": gr.terrain.slope(12.0, heading_deg=30.0),
    "grid": gr.terrain.grid(HEIGHTS, NODES_X, NODES_Y),
    "grid with a hole": gr.terrain.grid(HOLED, NODES_X, NODES_Y),
    "single precision": gr.terrain.grid(HOLED.astype(np.float32), NODES_X, NODES_Y),
}


@entry
def sample_many(address, par, x, out, count):
    call_law(address, par, x, out, count)


def points():
    """Inside, on nodes, edges and corners, just outside, far away, and no place at all."""
    inside = np.random.default_rng(1).uniform((-2.0, -1.0), (3.0, 2.0), (400, 2))
    nodes = [(x, y) for x in NODES_X[[0, 3, -2, -1]] for y in NODES_Y[[0, 6, -2, -1]]]
    odd = [-2.0 - 1e-12, 3.0 + 1e-12, 1e12, -1e12, np.inf, -np.inf, np.nan]
    return np.concatenate([inside, nodes, [(v, 0.5) for v in odd], [(0.5, v) for v in odd]])


@pytest.mark.parametrize("name", GROUNDS)
def test_many_points_are_each_as_one(name):
    ground = GROUNDS[name]
    assert ground.law.many is not None
    xy = points()
    one, many = np.zeros((len(xy), 3)), np.zeros((3, len(xy)))
    sample_ground(*ground.bound.pair, xy, one)
    count = np.array([len(xy)], dtype=float)
    sample_many(ground.law.many.address, ground.bound.par_address, np.ravel(xy.T), many.reshape(-1), count)
    np.testing.assert_array_equal(np.isnan(many[0]), np.isnan(one[:, 0]))
    assert 0 < np.isnan(one[:, 0]).sum() < len(xy)
    there = ~np.isnan(one[:, 0])
    # The sums are the same; a compiler may fuse a product here and not there.
    np.testing.assert_allclose(many.T[there], one[there], rtol=0.0, atol=1e-14)


@pytest.mark.parametrize("name", ["zoe", "pvc"])
def test_contacts_do_not_depend_on_whether_a_ground_answers_many_points(name):
    """A grid moved by nothing has no law for many points, and is looked up point by point."""
    grid = gr.terrain.rough(rms=0.1, length=1.0, seed=2)
    alone = gr.terrain.moved(grid, x=0.0)
    assert alone.law.many is None
    vehicle = gr.vehicle(name)
    for x, y, yaw in np.random.default_rng(5).uniform(-2.0, 2.0, (20, 3)):
        state = gr.settle(vehicle, grid, x=x, y=y, yaw=yaw).state
        together, single = (contacts(vehicle, state, ground) for ground in (grid, alone))
        np.testing.assert_allclose(together.point, single.point, rtol=0.0, atol=1e-11)
        np.testing.assert_allclose(together.height_error, single.height_error, rtol=0.0, atol=1e-12)
        np.testing.assert_allclose(together.angle, single.angle, rtol=0.0, atol=1e-10)
        # The last step is taken without a look at the ground: its slopes are carried on, to second order in 1e-8.
        normal = grid.sample(together.point[:, 0], together.point[:, 1]).normal
        np.testing.assert_allclose(together.rotation[:, :, 2], normal, rtol=0.0, atol=1e-11)
