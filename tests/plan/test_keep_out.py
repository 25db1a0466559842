"""Keep-outs: distances from their borders."""

import math

import numpy as np
import pytest

import grouser as gr
from grouser.errors import PlanError
from grouser.plan import KeepOut


def to_squares(points, cells, side):
    """Distance of each point from the nearest of the square cells, by trying all."""
    away = np.maximum(np.abs(points[:, None] - cells[None]) - 0.5 * side, 0.0)
    return np.hypot(away[..., 0], away[..., 1]).min(axis=1)


def test_distances_are_those_of_brute_force():
    mask = np.random.default_rng(3).random((13, 9)) < 0.15
    keep = KeepOut(mask, -2.0, 5.0, 0.2)
    i, j = np.indices(mask.shape)
    middles = np.stack([-2.0 + 0.2 * i, 5.0 + 0.2 * j], axis=-1)
    free = to_squares(middles[~mask], middles[mask], 0.2)
    inside = to_squares(middles[mask], middles[~mask], 0.2)
    # The distance from middle to middle less half a cell: towards a corner that is at most (√2 − 1)/2 cells too much.
    most = 0.5 * (math.sqrt(2.0) - 1.0) * 0.2 + 1e-12
    for error in (keep.distance[~mask] - free, -keep.distance[mask] - inside):
        assert error.min() > -1e-12
        assert error.max() < most


def test_the_first_index_goes_along_x():
    mask = np.zeros((6, 4), dtype=bool)
    mask[5, 0] = True
    keep = KeepOut(mask, 10.0, 20.0, 1.0)
    assert keep.clearance(15.0, 20.0) == -0.5
    assert keep.clearance(10.0, 20.0) == 4.5
    assert keep.clearance(15.0, 23.0) == 2.5
    assert keep.clearance(99.0, 20.0) == -0.5
    assert math.isnan(keep.clearance(math.nan, 0.0))


def test_circles_are_as_far_as_their_rims():
    keep = KeepOut.circles([(1.0, -2.0, 1.5), (-3.0, 2.0, 0.5)], (-5, 5, -5, 5), cell=0.1)
    points = np.random.default_rng(1).uniform(-5, 5, (300, 2))
    exact = np.minimum(np.hypot(*(points - [1.0, -2.0]).T) - 1.5, np.hypot(*(points - [-3.0, 2.0]).T) - 0.5)
    found = np.array([keep.clearance(*p) for p in points])
    assert np.abs(found - exact).max() < 0.2  # a rim cut into cells, and the nearest cell for the point
    assert np.abs(found - exact).mean() < 0.05


def test_the_engine_reads_the_same_distances():
    keep = KeepOut.circles([(3.0, 0.5, 1.0)], (-5, 5, -5, 5), cell=0.05)
    ground = gr.terrain.grid(np.zeros((2, 2)), x=[-50, 50], y=[-50, 50])
    model = gr.Kinematics(gr.vehicle("husky"))
    bounds = gr.plan.Bounds(reach=0.2)
    wanted = np.tile([0.5, 0, 0], (2, 30, 1))
    trials = gr.plan.roll_out(
        model, ground, wanted, start=[(0, 3.0, 0), (0.6, -0.1, 0)], dt=0.1, keep_out=keep, bounds=bounds
    )
    assert trials.status.tolist() == ["ok", "keep_out"]
    assert trials.clearance[0] == pytest.approx(math.hypot(1.5, 2.5) - 1.2, abs=0.04)
    # It ends where its origin is within its reach of the rim: (3 − x)² + 0.6² = 1.2².
    assert trials.end_place[1, 0] == pytest.approx(3.0 - math.sqrt(1.2**2 - 0.6**2), abs=0.1)


def test_no_keep_out_is_far_away():
    keep = KeepOut.circles([], (-5, 5, -5, 5))
    assert keep.clearance(0.0, 0.0) > 1e5


BOX = (-5, 5, -5, 5)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: KeepOut(np.zeros((3, 3)), 0, 0, 1), "needs at least 2 × 2 of bool"),
        (lambda: KeepOut(np.zeros(3, dtype=bool), 0, 0, 1), "needs at least 2 × 2 of bool"),
        (lambda: KeepOut(np.zeros((3, 3), dtype=bool), 0, 0, 0), "keep-out cell: 0 is not positive"),
        (lambda: KeepOut(np.zeros((3, 3), dtype=bool), math.nan, 0, 1), "keep-out x: nan"),
        (lambda: KeepOut.circles([(0, 0)], BOX), "a round keep-out: has 2 entries, needs 3"),
        (lambda: KeepOut.circles(5, BOX), "round keep-outs: 5 is not a list"),
        (lambda: KeepOut.circles([(0, 0, -1)], BOX), "radius of a round keep-out: -1 is negative"),
        (lambda: KeepOut.circles([(0, 0, 1)], (5, -5, -5, 5)), "keep-out bounds"),
        (lambda: KeepOut.circles([(0, 0, 1)], gr.terrain.plane().bounds), "keep-out bounds: -inf"),
        (lambda: KeepOut.circles([(0, 0, 1)], BOX, cell=0), "keep-out cell: 0 is not positive"),
        (lambda: KeepOut.circles([(0, 0, 1)], BOX, cell=math.nan), "keep-out cell: nan"),
        (lambda: KeepOut.circles([(0, 0, 1)], BOX, cell=1e-7), "keep-out cell: 1e-07 m makes"),
    ],
)
def test_mistakes_are_refused_in_one_sentence(make, says):
    with pytest.raises(PlanError) as error:
        make()
    assert says in str(error.value)
